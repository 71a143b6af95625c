"""Logs of motions: CSV, Parquet, NetCDF and MCAP files with time, coordinates, torques and perhaps velocities.

Columns are `t`, `q1...`, `v1...`, `tau1...`, in any order when there is a header (`time`, `position_1`, `dq1`,
`torque[0]`, `q_elbow` and the like are understood too). Without a header the order is t, q, v, tau, or t, q, tau.
Numbers are separated by commas, semicolons, tabs or blanks; lines that begin with # are comments. A NetCDF
file may hold one variable per column, or tables q, v, tau over time as recordings of `simulate` do. An MCAP file
holds ROS 2 joint states, whose names are those of the joints.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setsu.constraints.states import coordinate_names
from setsu.errors import InputError
from setsu.identification.motion import MeasuredMotion, measured_motion
from setsu.mechanism import Mechanism
from setsu.message_logs.mcap_log import read_joint_states
from setsu.spatial import file_path

__all__ = ["read_log"]

Floats = NDArray[np.float64]

_WORDS = {
    "t": ("t", "time", "times", "stamp", "timestamp"),
    "q": ("q", "pos", "position", "positions", "angle"),
    "v": ("v", "dq", "qd", "vel", "velocity", "velocities", "speed"),
    "tau": ("tau", "torque", "torques", "effort", "efforts", "force"),
}
_KIND = {word: kind for kind, words in _WORDS.items() for word in words}
_ENDINGS = ".csv .txt .dat .tsv .parquet .nc .mcap"


def read_log(mechanism: Mechanism, path: str | Path, *, topic: str | None = None) -> MeasuredMotion:
    """Read a log for a mechanism; every fault is reported with its file and line.

    topic: of the joint states in an MCAP file; the only one, or /joint_states, when not given.

    >>> import setsu, tempfile, os
    >>> m = setsu.sample_mechanisms.pendulum()
    >>> path = os.path.join(tempfile.mkdtemp(), "log.csv")
    >>> _ = open(path, "w").write("t,q1,tau1\\n" + "".join(f"{k/100},{k*k/1e4},0.5\\n" for k in range(20)))
    >>> setsu.read_log(m, path).q.shape
    (20, 1)
    """
    file = file_path(path, "read_log")
    if not file.is_file():
        raise InputError(f"{file}: no such file")
    if topic is not None and file.suffix != ".mcap":
        raise InputError(f"{file}: topic: only MCAP files have topics, got {topic!r}")
    if file.suffix == ".mcap":
        return _read_mcap(mechanism, file, topic)
    readers: dict[str, Callable[[Mechanism, Path], MeasuredMotion]] = {".parquet": _read_parquet, ".nc": _read_netcdf}
    if file.suffix not in _ENDINGS.split():
        raise InputError(f"{file}: expected a log that ends in {_ENDINGS.replace(' ', ', ')}")
    return readers.get(file.suffix, _read_text)(mechanism, file)


def _read_text(m: Mechanism, file: Path) -> MeasuredMotion:
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as problem:
        raise InputError(f"{file}: cannot be read as text ({problem})") from None
    lines = [(number, line.strip()) for number, line in enumerate(text.splitlines(), 1)]
    lines = [(number, line) for number, line in lines if line and not line.startswith("#")]
    if not lines:
        raise InputError(f"{file}: the log is empty")
    separator = next((mark for mark in (";", "\t", ",") if mark in lines[0][1]), None)
    cells = [(number, [cell.strip() for cell in line.split(separator)]) for number, line in lines]
    head: list[str] | None = None
    if any(_number(cell) is None for cell in cells[0][1]):
        head, cells = [cell.strip("\"'") for cell in cells[0][1]], cells[1:]
    if not cells:
        raise InputError(f"{file}, line {lines[0][0]}: a header and no numbers")
    width = len(head) if head is not None else len(cells[0][1])
    rows: list[list[float]] = []
    for number, row in cells:
        if len(row) != width:
            raise InputError(f"{file}, line {number}: expected {width} columns, got {len(row)}")
        values = [_number(cell) for cell in row]
        if None in values:
            column = values.index(None)
            raise InputError(f"{file}, line {number}, column {column + 1}: expected a number, got {row[column]!r:.40}")
        rows.append([value for value in values if value is not None])
    where = lines[0][0]
    order = _headless(m, file, where, width) if head is None else _by_name(m, f"{file}, line {where}", head)
    numbers = [number for number, _ in cells]
    return _motion(m, file, np.array(rows), order, lambda sample: f"line {numbers[sample]}")


def _read_parquet(m: Mechanism, file: Path) -> MeasuredMotion:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise InputError(f"{file}: Parquet files need pyarrow: pip install setsu[data]") from None
    try:
        table = parquet.read_table(file)
        columns = [column.to_numpy().astype(np.float64) for column in table.columns]
    except (OSError, ValueError, TypeError, pyarrow.ArrowException) as problem:
        raise InputError(f"{file}: cannot be read as a Parquet table of numbers ({problem})") from None
    order = _by_name(m, str(file), table.column_names)
    return _motion(m, file, np.column_stack(columns), order, "row {}".format)


def _read_netcdf(m: Mechanism, file: Path) -> MeasuredMotion:
    try:
        import h5netcdf  # noqa: F401
        import xarray
    except ImportError:
        raise InputError(f"{file}: NetCDF files need xarray and h5netcdf: pip install setsu[data]") from None
    try:
        with xarray.open_dataset(file, engine="h5netcdf") as data:
            times = [name for name in data.variables if _kind(str(name)) == "t" and data[name].ndim == 1]
            # Only what runs along time: other variables may be labels of axes.
            axis = data[times[0]].dims[0] if times else ""
            arrays: dict[str, Any] = {
                str(name): np.asarray(data[name].values)
                for name in data.variables
                if _kind(str(name)) is not None and data[name].dims[:1] == (axis,)
            }
    except (OSError, ValueError, KeyError) as problem:
        raise InputError(f"{file}: cannot be read as NetCDF ({problem})") from None
    names, columns = [], []
    for name, array in arrays.items():
        if array.ndim == 2:
            names += [f"{name}{k + 1}" for k in range(array.shape[1])]
            columns += list(array.T)
        elif array.ndim == 1:
            names.append(name)
            columns.append(array)
    if not columns:
        raise InputError(f"{file}: expected variables t, q, tau (and v) along time, found none of them")
    try:
        table = np.column_stack([np.asarray(column, dtype=np.float64) for column in columns])
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{file}: expected variables of real numbers") from None
    return _motion(m, file, table, _by_name(m, str(file), names), "record {}".format)


def _read_mcap(m: Mechanism, file: Path, topic: str | None) -> MeasuredMotion:
    several = next((body.joint for body in m.moving if body.joint.nq != 1), None)
    if several is not None:
        raise InputError(
            f"{file}: joint states have one number a joint, and {several.name} of {m.name} has {several.nq} of them; "
            "expected a .csv, .parquet or .nc log with columns for all"
        )
    wanted = set(m.joint_names)
    places: list[str] = []
    stamps: list[int] = []
    tables: dict[str, list[Floats]] = {"position": [], "velocity": [], "effort": []}
    seen: set[str] = set()
    for where, state in read_joint_states(file, topic):
        seen.update(state.names)
        # Grippers and bases often publish on the same topic.
        if not wanted & set(state.names):
            continue
        if missing := wanted - set(state.names):
            raise InputError(f"{file}, {where}: no joint {sorted(missing)[0]!r} among {', '.join(state.names)}")
        columns = [state.names.index(name) for name in m.joint_names]
        for kind, rows in tables.items():
            values = getattr(state, kind)
            if len(values) == 0 and kind != "velocity":
                raise InputError(f"{file}, {where}: {kind}: expected a number per joint, got none")
            if len(values):
                rows.append(values[columns])
        places.append(where)
        stamps.append(state.stamp)
    if not stamps:
        raise InputError(f"{file}: no joint of {m.name} among those of the log: {', '.join(sorted(seen)[:12])}")
    if 0 < len(tables["velocity"]) < len(stamps):
        raise InputError(f"{file}: velocity: {len(tables['velocity'])} of {len(stamps)} messages have it, expected all")
    # In whole nanoseconds first: seconds since 1970 leave no digits for microseconds.
    time = np.array([stamp - stamps[0] for stamp in stamps], dtype=np.float64) * 1e-9
    v = np.array(tables["velocity"]) if tables["velocity"] else None
    q, tau = np.array(tables["position"]), np.array(tables["effort"])
    return measured_motion(m, time, q, tau, v, source=str(file), place=places.__getitem__)


def _motion(
    m: Mechanism, file: Path, table: Floats, order: dict[str, list[int]], place: Callable[[int], str]
) -> MeasuredMotion:
    v = table[:, order["v"]] if order["v"] else None
    return measured_motion(
        m, table[:, order["t"][0]], table[:, order["q"]], table[:, order["tau"]], v, source=str(file), place=place
    )


def _headless(m: Mechanism, file: Path, line: int, width: int) -> dict[str, list[int]]:
    short, long = 1 + m.nq + m.nv, 1 + m.nq + 2 * m.nv
    if width not in (short, long):
        raise InputError(
            f"{file}, line {line}: {width} columns without a header; expected {short} (t, {m.nq} q, {m.nv} tau) or "
            f"{long} (t, {m.nq} q, {m.nv} v, {m.nv} tau) for {m.name}"
        )
    ends = [1, 1 + m.nq, width - m.nv, width]
    return {
        "t": [0],
        "q": list(range(ends[0], ends[1])),
        "v": list(range(ends[1], ends[2])),
        "tau": list(range(ends[2], ends[3])),
    }


def _by_name(m: Mechanism, where: str, head: Sequence[str]) -> dict[str, list[int]]:
    """Find the columns by their names: numbered from 0 or 1, or called after the joint."""
    found: dict[str, dict[int | str, int]] = {kind: {} for kind in _WORDS}
    for column, name in enumerate(head):
        kind = _kind(name)
        if kind is None:
            continue
        key = _key(name)
        if key in found[kind]:
            raise InputError(f"{where}: column {name!r} is there twice")
        found[kind][key] = column
    if len(found["t"]) != 1:
        raise InputError(f"{where}: expected one column t (or time), got the columns {', '.join(head)}")
    wanted = {"q": m.nq, "v": m.nv, "tau": m.nv}
    order = {"t": list(found["t"].values())}
    for kind, count in wanted.items():
        if kind == "v" and not found["v"]:
            order["v"] = []
            continue
        order[kind] = _ordered(m, where, kind, count, found[kind])
    return order


def _ordered(m: Mechanism, where: str, kind: str, count: int, found: dict[int | str, int]) -> list[int]:
    joints = list(coordinate_names(m)) if kind != "q" or m.nq == m.nv else []
    for keys in (joints, range(1, count + 1), range(count)):
        if len(keys) == count and all(key in found for key in keys):
            if len(found) > count:
                break
            return [found[key] for key in keys]
    shown = ", ".join(f"{kind}{key}" if isinstance(key, int) else f"{kind}_{key}" for key in found) or "none"
    raise InputError(f"{where}: expected {count} columns {kind}1 ... {kind}{count} for {m.name}, got {shown}")


def _kind(name: str) -> str | None:
    word = re.match(r"[A-Za-z]+", name.strip())
    return _KIND.get(word.group().lower()) if word else None


def _key(name: str) -> int | str:
    """What stands behind the word: a number, or the name of a joint."""
    rest = re.sub(r"^[A-Za-z]+", "", name.strip())
    rest = re.sub(r"\s*[(\[](rad|rad/s|m|m/s|N|N m|Nm|s)[)\]]$", "", rest)
    plain = re.fullmatch(r"[\s_.\-/]*[\[(]?(\d+)[\])]?", rest)
    return int(plain.group(1)) if plain else rest.lstrip(" _.-/")


def _number(text: str) -> float | None:
    if text == "":
        return math.nan
    try:
        return float(text)
    except ValueError:
        return None
