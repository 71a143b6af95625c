"""Simulators in files: their options, and the state of their worlds; every bit is kept."""

from __future__ import annotations

import io
import pickle
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from setsu.errors import InputError
from setsu.simulation.setting_up import Settings
from setsu.spatial import file_path

__all__ = ["read_simulator", "simulator_kind", "write_simulator"]

_FORMAT = b"setsu simulator 1\n"

# A file may come from anybody: only classes of Setsu and what NumPy's arrays need may be made from it.
_OF_OTHERS = {
    *(("builtins", name) for name in ("frozenset", "set", "complex", "slice", "range", "bytearray")),
    *(("numpy", name) for name in ("ndarray", "dtype")),
    *((f"numpy.{core}.multiarray", name) for core in ("_core", "core") for name in ("_reconstruct", "scalar")),
    *((f"numpy.{core}.numeric", "_frombuffer") for core in ("_core", "core")),
    ("_codecs", "encode"),
    ("collections", "OrderedDict"),
}


def simulator_kind(settings: Settings, count: int, codes: Sequence[Any]) -> str:
    """Return what two simulators have to have in common for one to go on from the other's state."""
    sampled = [(c.memory, c.period, c.delay) for c in codes if hasattr(c, "period")]
    return repr((settings.kind, count, sampled))


def write_simulator(path: str | Path, settings: Settings, count: int | None, threads: int | None, kept: dict) -> None:
    """Write a simulator; its torque function must be one that can be pickled."""
    path, s, mechanisms = file_path(path, "save"), settings, list(settings.mechanisms)
    options = {
        "mechanism": mechanisms if len(mechanisms) > 1 else mechanisms[0],
        "step": s.step,
        "torque": s.law,
        "contacts": s.contacts,
        "environment": s.environment,
        "contact_solver": s.contact_solver,
        "body_contacts": s.body_contacts,
        "exclude": s.exclude,
        "integrator": s.integrator,
        "tolerance": s.tolerance if s.integrator == "adaptive" else None,
        "record": s.record,
        "events": s.events,
        "joint_stops": s.joint_stops,
        "baumgarte": s.baumgarte,
        "prescribed": s.prescribed,
        "count": count if len(mechanisms) == 1 else None,
        "threads": threads,
    }
    try:
        content = pickle.dumps((options, kept))
    except (pickle.PicklingError, AttributeError, TypeError) as problem:
        raise InputError(
            f"Simulator.save: cannot write the torque function or a prescribed motion ({problem}); expected a "
            "function of a module, an object of one, or none: give it to `step` or `run` instead"
        ) from None
    try:
        path.write_bytes(_FORMAT + content)
    except OSError as problem:
        raise InputError(f"Simulator.save: cannot write {path} ({problem.strerror or problem})") from None


class _Careful(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) in _OF_OTHERS:
            return super().find_class(module, name)
        if module.startswith("setsu.") and isinstance(found := super().find_class(module, name), type):
            return found
        raise InputError(
            f"Simulator.load: the file holds {module}.{name}, which is no class of Setsu; build the simulator with its "
            "torque function and give it the state by `restore`"
        )


def read_simulator(path: str | Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the arguments of a simulator and the state of its worlds."""
    path = file_path(path, "Simulator.load")
    try:
        content = path.read_bytes()
    except OSError as problem:
        raise InputError(f"Simulator.load: cannot read {path} ({problem.strerror or problem})") from None
    if not content.startswith(_FORMAT):
        raise InputError(f"Simulator.load: {path} is no file of Simulator.save")
    try:
        return _Careful(io.BytesIO(content[len(_FORMAT) :])).load()
    except InputError:
        raise
    except Exception as problem:
        raise InputError(f"Simulator.load: {path} is damaged ({problem})") from None
