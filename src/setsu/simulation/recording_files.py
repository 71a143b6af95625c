"""Recordings in files: .npz with NumPy alone, .nc (NetCDF-4) through xarray and h5netcdf; both keep every bit."""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np

from setsu.constraints import SurfaceContact
from setsu.constraints.surfaces import Cylinder, ImplicitSurface, Plane, Sphere
from setsu.contact import Environment, Polygon
from setsu.errors import InputError, ModelFileError
from setsu.mechanism import Material, Pose, Shape
from setsu.mechanism.native_text import from_text, to_text
from setsu.simulation.events import EventReport
from setsu.simulation.lazy_field import NotRecorded
from setsu.simulation.recording import BodyContacts, ContactLog, EnergyLedger, Recording

__all__ = ["load", "save", "to_xarray"]

FORMAT = "setsu recording 1"

# Array, its axes after time, its unit.
ARRAYS: dict[str, tuple[tuple[str, ...], str]] = {
    "q": (("coordinate",), "rad or m"),
    "v": (("velocity",), "rad/s or m/s"),
    "acceleration": (("velocity",), "rad/s² or m/s²"),
    "torque": (("velocity",), "N m or N"),
    "joint_wrenches": (("body", "wrench"), "N, N m"),
    "normal_force": (("contact",), "N"),
    "friction_force": (("contact", "xyz"), "N"),
    "contact_force": (("contact", "xyz"), "N"),
    "loop_wrench": (("loop", "wrench"), "N, N m"),
    "energy": ((), "J"),
    "constraint_error": ((), "m or rad"),
}
_NAMES = ("joint_names", "body_names", "velocity_names", "coordinate_names", "contact_names", "loop_names")
_SURFACES = {kind.__name__: kind for kind in (Plane, Sphere, Cylinder, ImplicitSurface)}
_LEDGER = tuple(entry.name for entry in fields(EnergyLedger))
_LOG = tuple(entry.name for entry in fields(ContactLog))
_LOG_AXES = {"position": ("contact", "xyz"), "stop_torque": ("velocity",)}
_LOG_UNITS = {
    "position": "m",
    "stop_torque": "N m or N",
    "depth": "m",
    "cone": "N s",
    "complementarity": "J",
    "dissipation": "J",
}
_PAIRS: dict[str, tuple[tuple[str, ...], str]] = {
    "force": (("pair", "xyz"), "N"),
    "moment": (("pair", "xyz"), "N m"),
    "position": (("pair", "xyz"), "m"),
    "normal_force": (("pair",), "N"),
}


def to_xarray(recording: Recording) -> Any:
    """Return an xarray.Dataset of the recording."""
    _refuse_many(recording)
    try:
        import xarray
    except ImportError:
        raise InputError("to_xarray needs xarray: pip install setsu[data]") from None
    variables: dict[str, Any] = {
        name: (("time", *axes), getattr(recording, name), {"units": unit})
        for name, (axes, unit) in ARRAYS.items()
        if recording.has(name)
    }
    for name in _LEDGER if recording.has("ledger") else ():
        variables[f"ledger_{name}"] = (("time",), getattr(recording.ledger, name), {"units": "J"})
    for name in _log_entries(recording):
        values = getattr(recording.contact_log, name)
        variables[f"contact_log_{name}"] = (
            ("time", *_LOG_AXES.get(name, ())),
            values,
            {"units": _LOG_UNITS.get(name, "1")},
        )
    for name, (axes, unit) in _PAIRS.items() if recording.body_contacts is not None else ():
        variables[f"body_contacts_{name}"] = (("time", *axes), getattr(recording.body_contacts, name), {"units": unit})
    coordinates = {
        "time": ("time", recording.time, {"units": "s"}),
        "coordinate": list(recording.coordinate_names),
        "velocity": list(recording.velocity_names),
        "body": list(recording.body_names),
        "contact": list(recording.contact_names),
        "loop": list(recording.loop_names),
        "wrench": ["fx", "fy", "fz", "nx", "ny", "nz"],
        "xyz": ["x", "y", "z"],
    }
    if recording.body_contacts is not None:
        coordinates["pair"] = [" - ".join(pair) for pair in recording.body_contacts.pairs]
    return xarray.Dataset(variables, coordinates, {"title": recording.name, "setsu": _header(recording)})


def save(recording: Recording, path: Path) -> Path:
    """Write the recording; the ending of the path decides the format."""
    _refuse_many(recording)
    try:
        if path.suffix == ".npz":
            arrays = {name: getattr(recording, name) for name in ("time", *ARRAYS) if recording.has(name)}
            if recording.has("ledger"):
                arrays.update({f"ledger_{name}": getattr(recording.ledger, name) for name in _LEDGER})
            log = recording.contact_log
            arrays.update({f"contact_log_{name}": getattr(log, name) for name in _log_entries(recording)})
            if recording.body_contacts is not None:
                arrays.update({f"body_contacts_{name}": getattr(recording.body_contacts, name) for name in _PAIRS})
            np.savez_compressed(path, header=np.array(_header(recording)), **arrays)
        elif path.suffix == ".nc":
            _require_h5netcdf()
            to_xarray(recording).to_netcdf(path, engine="h5netcdf")
        elif path.suffix == ".mcap":
            from setsu.simulation.recording_mcap import mcap_bytes

            path.write_bytes(mcap_bytes(recording))
        else:
            raise InputError(f"Recording.save: expected a path that ends in .npz, .nc or .mcap, got {str(path)!r}")
    except OSError as problem:
        raise InputError(f"Recording.save: cannot write {path} ({problem.strerror or problem})") from None
    return path


def _log_entries(recording: Recording) -> tuple[str, ...]:
    """Entries of the contact log that were recorded."""
    log = recording.contact_log
    return () if log is None else tuple(name for name in _LOG if not isinstance(log.__dict__[name], NotRecorded))


def load(path: Path) -> Recording:
    """Read a recording written by `save`."""
    arrays: dict[str, Any]
    try:
        if path.suffix == ".npz":
            with np.load(path, allow_pickle=False) as file:
                arrays = dict(file)
                header = str(arrays.pop("header"))
        elif path.suffix == ".nc":
            _require_h5netcdf()
            import xarray

            with xarray.open_dataset(path, engine="h5netcdf") as data:
                arrays = {str(name): np.asarray(data[name].values) for name in ("time", *data.data_vars)}
                header = str(data.attrs["setsu"])
        else:
            raise InputError(f"Recording.load: expected a path that ends in .npz or .nc, got {str(path)!r}")
        return _rebuild(json.loads(header), arrays)
    except (InputError, ModelFileError):
        raise
    except FileNotFoundError:
        raise InputError(f"Recording.load: there is no file {path}") from None
    except (OSError, ValueError, KeyError, TypeError, EOFError) as problem:
        raise InputError(f"Recording.load: {path} is no recording ({problem})") from None


def _refuse_many(recording: Recording) -> None:
    if recording.q.ndim != 2:
        raise InputError(
            f"Recording: a file or dataset holds one run, got {len(recording.q)}; take them one by one, by recording[k]"
        )


def _header(recording: Recording) -> str:
    """Names, settings and events as text."""
    events = [
        {
            "time": event.time,
            "kind": event.kind,
            "name": event.name,
            "velocity_jump": event.velocity_jump.tolist(),
            "impulse": event.impulse.tolist(),
            "energy_lost": event.energy_lost,
        }
        for event in recording.events
    ]
    settings = {key: getattr(recording, key) for key in ("name", "integrator", "step", *_NAMES)}
    model = None if recording.mechanism is None else to_text(recording.mechanism)
    surroundings = None if recording.environment is None else _environment_record(recording.environment)
    pairs = None if recording.body_contacts is None else recording.body_contacts.pairs
    content = {"events": events, "mechanism": model, "environment": surroundings, "body_contacts": pairs}
    content["surface_contacts"] = [_surface_contact_record(contact) for contact in recording.surface_contacts]
    return json.dumps({"format": FORMAT, **settings, **content})


def _environment_record(environment: Environment) -> dict[str, Any]:
    polygons = [
        {
            "vertices": polygon.vertices.tolist(),
            "name": polygon.name,
            "unbounded": polygon.unbounded,
            "material": None if polygon.material is None else asdict(polygon.material),
            "velocity": polygon.velocity,
        }
        for polygon in environment.polygons
    ]
    return {"polygons": polygons, "shapes": [asdict(shape) for shape in environment.shapes]}


def _environment(record: Any) -> Environment:
    """The environment of a header; those of version 0.1 are a list of polygons."""
    polygons, shapes = (record, []) if isinstance(record, list) else (record["polygons"], record["shapes"])
    return Environment(
        [Polygon(**{**p, "material": Material(**p["material"]) if p.get("material") else None}) for p in polygons],
        [_shape(shape) for shape in shapes],
    )


def _shape(record: dict[str, Any]) -> Shape:
    pose, material = record["pose"], record.get("material")
    placed = Pose(tuple(pose["rotation"]), tuple(pose["translation"]))
    return Shape(**{**record, "pose": placed, "material": None if material is None else Material(**material)})


def _surface_contact_record(contact: SurfaceContact) -> dict[str, Any]:
    record = {entry.name: getattr(contact, entry.name) for entry in fields(contact)}
    surface: Any = contact.surface
    numbers = {entry.name: getattr(surface, entry.name) for entry in fields(surface) if entry.init}
    return record | {"surface": [type(surface).__name__, numbers]}


def _surface_contact(record: dict[str, Any]) -> SurfaceContact:
    kind, numbers = record["surface"]
    return SurfaceContact(**{**record, "surface": _SURFACES[kind](**numbers)})


def _rebuild(header: dict[str, Any], arrays: dict[str, Any]) -> Recording:
    if header.pop("format") != FORMAT:
        raise ValueError("its header is not of this format")
    events = tuple(
        EventReport(
            **{**event, "velocity_jump": np.array(event["velocity_jump"]), "impulse": np.array(event["impulse"])}
        )
        for event in header.pop("events")
    )
    model = header.pop("mechanism", None)
    mechanism = None if model is None else from_text(model, "the mechanism inside the recording")
    surroundings = header.pop("environment", None)
    environment = None if surroundings is None else _environment(surroundings)
    surfaces = tuple(_surface_contact(record) for record in header.pop("surface_contacts", ()))
    ledger: Any = NotRecorded("ledger")
    if "ledger_actuators" in arrays:
        ledger = EnergyLedger(**{name: arrays.pop(f"ledger_{name}") for name in _LEDGER})
    missing: dict[str, Any] = {name: NotRecorded(name) for name in ARRAYS if name not in arrays}
    log = None
    if "contact_log_depth" in arrays:
        entries = {name: arrays.pop(f"contact_log_{name}", NotRecorded("contact_log")) for name in _LOG}
        log = ContactLog(**entries)
    pairs, between = header.pop("body_contacts", None), None
    if pairs is not None:
        values = {name: arrays.pop(f"body_contacts_{name}") for name in _PAIRS}
        between = BodyContacts(tuple((first, second) for first, second in pairs), **values)
    names = {key: tuple(header.pop(key)) for key in _NAMES}
    return Recording(
        **header,
        **names,
        **arrays,
        **missing,
        ledger=ledger,
        events=events,
        mechanism=mechanism,
        contact_log=log,
        environment=environment,
        body_contacts=between,
        surface_contacts=surfaces,
    )


def _require_h5netcdf() -> None:
    try:
        import h5netcdf  # noqa: F401
        import xarray  # noqa: F401
    except ImportError:
        raise InputError("NetCDF files need xarray and h5netcdf: pip install setsu[data]; .npz needs nothing") from None
