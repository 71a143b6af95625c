"""Logs are read whatever their separator, header and format; every fault is told with file and line."""

from pathlib import Path

import numpy as np
import pytest

import setsu
from setsu.sample_mechanisms import pendulum, planar_arm

M = planar_arm(2)
NAMED = f"time,tau_{M.joint_names[1]},tau_{M.joint_names[0]},q_{M.joint_names[0]},q_{M.joint_names[1]}"


def table(rows: int = 30) -> np.ndarray:
    """Columns t, q1, q2, v1, v2, tau1, tau2."""
    rng = np.random.default_rng(0)
    return np.column_stack([0.01 * np.arange(rows), rng.standard_normal((rows, 6))])


def write(path: Path, head: str, data: np.ndarray, separator: str = ",") -> Path:
    np.savetxt(path, data, fmt="%.17g", delimiter=separator, header=head, comments="")
    if not head:
        path.write_text(path.read_text().lstrip("\n"))
    return path


@pytest.mark.parametrize(
    ("head", "columns", "separator"),
    [
        ("", [0, 1, 2, 3, 4, 5, 6], ","),
        ("", [0, 1, 2, 5, 6], ","),
        ("", [0, 1, 2, 5, 6], ";"),
        ("", [0, 1, 2, 5, 6], " "),
        ("t,q1,q2,v1,v2,tau1,tau2", [0, 1, 2, 3, 4, 5, 6], ","),
        ("tau2\ttau1\tt\tq2\tq1", [6, 5, 0, 2, 1], "\t"),
        ("t;q0;q1;torque[0];torque[1]", [0, 1, 2, 5, 6], ";"),
        ('"time (s)","q_1","q_2","effort.1","effort.2"', [0, 1, 2, 5, 6], ","),
        (NAMED, [0, 6, 5, 1, 2], ","),
        ("t,q1,q2,tau1,tau2,temperature", [0, 1, 2, 5, 6, 3], ","),
        ("# a comment\nt,q1,q2,dq1,dq2,tau1,tau2", [0, 1, 2, 3, 4, 5, 6], ","),
    ],
)
def test_columns_are_found(head: str, columns: list[int], separator: str, tmp_path: Path) -> None:
    data = table()
    log = setsu.read_log(M, write(tmp_path / "log.csv", head, data[:, columns], separator))
    np.testing.assert_array_equal(log.time, data[:, 0])
    np.testing.assert_array_equal(log.q, data[:, 1:3])
    np.testing.assert_array_equal(log.tau, data[:, 5:7])
    if 3 in columns and len(columns) == 7:
        np.testing.assert_array_equal(log.v, data[:, 3:5])
    else:
        assert log.v is None


def test_parquet_and_netcdf_hold_the_same(tmp_path: Path) -> None:
    import pyarrow
    import xarray
    from pyarrow import parquet

    data = table()
    names = ["t", "q1", "q2", "v1", "v2", "tau1", "tau2"]
    parquet.write_table(pyarrow.table(dict(zip(names, data.T, strict=True))), tmp_path / "log.parquet")
    xarray.Dataset({n: ("row", c) for n, c in zip(names, data.T, strict=True)}).to_netcdf(
        tmp_path / "log.nc", engine="h5netcdf"
    )
    for name in ("log.parquet", "log.nc"):
        log = setsu.read_log(M, tmp_path / name)
        assert log.v is not None
        np.testing.assert_array_equal(np.column_stack([log.time, log.q, log.v, log.tau]), data)


def test_a_recording_of_simulate_is_a_log(tmp_path: Path) -> None:
    run = setsu.simulate(M, [0.3, 0.2], [0.0, 0.0], 0.2, step=0.01, torque=[0.5, 0.1])
    log = setsu.read_log(M, run.save(tmp_path / "run.nc"))
    np.testing.assert_array_equal(log.q, run.q)
    np.testing.assert_array_equal(log.v, run.v)
    np.testing.assert_array_equal(log.tau, run.torque)


GOOD = "t,q1,tau1\n" + "".join(f"{k / 100},{k * k / 1e4},0.5\n" for k in range(20))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (GOOD.replace("0.05,0.0025,0.5", "0.05,0.0025,nan"), "log.csv, line 7: tau1 is nan"),
        (GOOD.replace("0.05,0.0025,0.5", "0.05,,0.5"), "log.csv, line 7: q1 is nan"),
        (GOOD.replace("0.05,0.0025,0.5", "0.05,fast,0.5"), "line 7, column 2: expected a number, got 'fast'"),
        (GOOD.replace("0.05,0.0025,0.5", "0.05,0.0025"), "log.csv, line 7: expected 3 columns, got 2"),
        (GOOD.replace("0.05,0.0025", "0.04,0.0025"), "line 7: t = 0.04 s is the same time stamp as line 6"),
        (GOOD.replace("0.05,0.0025", "0.01,0.0025"), "line 7: t = 0.01 s is an earlier time stamp than line 6"),
        (GOOD.replace("0.19,", "0.9,"), "log.csv, line 21: gap of 0.72 s after t = 0.18 s"),
        (GOOD.replace("tau1", "current"), "line 1: expected 1 columns tau1 ... tau1 for .*, got none"),
        (GOOD.replace("t,q1", "x,q1"), "line 1: expected one column t"),
        (GOOD.replace("q1", "q1,q2,q3"), "log.csv, line 2: expected 5 columns, got 3"),
        ("0,1,2,3,4\n", "line 1: 5 columns without a header; expected 3 .t, 1 q, 1 tau. or 4"),
        ("t,q1,q1,tau1\n0,0,0,0\n", "line 1: column 'q1' is there twice"),
        ("t,q1,tau1\n", "line 1: a header and no numbers"),
        ("# nothing\n\n", "the log is empty"),
    ],
)
def test_faults_are_told_with_their_line(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text(text)
    with pytest.raises(setsu.InputError, match=message) as caught:
        setsu.read_log(pendulum(), path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("log.xlsx", b"x", "expected a log that ends in .csv"),
        ("log.parquet", b"no parquet", "cannot be read as a Parquet table"),
        ("log.nc", b"no netcdf", "cannot be read as NetCDF"),
        ("log.csv", b"\xff\xfe\x00", "cannot be read as text"),
    ],
)
def test_other_files_are_refused(name: str, content: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(setsu.InputError, match=message):
        setsu.read_log(pendulum(), tmp_path / name)
    with pytest.raises(setsu.InputError, match="no such file"):
        setsu.read_log(pendulum(), tmp_path / f"absent_{name}")
