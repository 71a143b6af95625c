"""From a scenario to what `setsu.simulate` takes: the mechanism with its changes, arrays by joint names, contacts."""

from __future__ import annotations

import dataclasses
import inspect
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setsu import sample_mechanisms
from setsu.constraints import Cylinder, ImplicitSurface, Plane, Sphere, SurfaceContact, close_loops
from setsu.contact import Environment, Polygon
from setsu.errors import InputError, ModelFileError, ModelWarning, nearest_names
from setsu.mechanism import Mechanism, with_contact_points, with_gravity, with_payload
from setsu.model_files import load_with_report
from setsu.scenario import schema
from setsu.scenario.effects import note_idle_settings
from setsu.scenario.expressions import Formula, parse_formula
from setsu.scenario.torques import TorqueLaw, single_velocities
from setsu.simulation import CloseLoop, OpenLoop, consistent_velocity

__all__ = ["Prepared", "mechanism_of", "prepare", "start_state"]

Floats = NDArray[np.float64]
KeyPath = tuple[str | int, ...]


@dataclass(frozen=True)
class Prepared:
    """A scenario with every name looked up: mechanism, state at t = 0, torque law, contacts, events.

    options: the remaining arguments of setsu.simulate. warnings: what was doubtful in the model file.
    """

    scenario: schema.Scenario
    mechanism: Mechanism
    q0: Floats
    v0: Floats
    torque: TorqueLaw
    contacts: tuple[SurfaceContact, ...]
    events: tuple[CloseLoop | OpenLoop, ...]
    options: dict[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


def prepare(scenario: schema.Scenario, mechanism: Mechanism | None = None) -> Prepared:
    """Return the scenario ready to run; ModelFileError lists every wrong name and value with its line.

    mechanism: the scenario's own, where it has been made before by `mechanism_of`.
    """
    notes: tuple[str, ...] = ()
    if mechanism is None:
        mechanism, notes = _mechanism(scenario)
    problems = _Problems(scenario)
    contacts = _contacts(scenario, mechanism, problems)
    events = tuple(_events(scenario, mechanism, problems))
    q0, v0 = _start(scenario, mechanism, problems)
    torque = _torque(scenario, mechanism, q0, problems)
    options = _options(scenario, problems)
    note_idle_settings(scenario, mechanism, bool(single_velocities(mechanism)), problems.note)
    problems.raise_if_any()
    if scenario.start.close_loops:
        with problems.at(("start", "close_loops")):
            q0 = close_loops(mechanism, q0, scenario.start.fixed)
            v0 = consistent_velocity(mechanism, q0, v0, contacts, scenario.start.fixed)
        problems.raise_if_any()
        held = q0[torque.coordinates[list(torque.held)]] if torque.held else None
        if held is not None:
            torque.target[list(torque.held)] = held
    return Prepared(scenario, mechanism, q0, v0, torque, contacts, events, options, notes)


def mechanism_of(scenario: schema.Scenario) -> Mechanism:
    """Return the mechanism of a scenario, its changes included."""
    return _mechanism(scenario)[0]


def start_state(scenario: schema.Scenario, mechanism: Mechanism) -> tuple[Floats, Floats]:
    """Return coordinates (nq,) and velocities (nv,) of [start], loops not closed."""
    problems = _Problems(scenario)
    state = _start(scenario, mechanism, problems)
    problems.raise_if_any()
    return state


class _Problems:
    """Collects what is wrong with the names and values of a scenario."""

    def __init__(self, scenario: schema.Scenario) -> None:
        self.origin, self.found = scenario.origin, list[str]()

    def note(self, path: KeyPath, text: str) -> None:
        self.found.append(f"{self.origin.where(path)}: {'.'.join(map(str, path))}: {text}")

    def at(self, path: KeyPath) -> _Noting:
        """Note an InputError raised inside a `with` block."""
        return _Noting(self, path)

    def known(self, path: KeyPath, name: str, names: Iterable[str], what: str) -> bool:
        """Whether a name is among the known ones; note it otherwise."""
        listed = list(names)
        if name in listed:
            return True
        self.note(path, f"unknown {what} {name!r}{nearest_names(name, listed)}")
        return False

    def raise_if_any(self) -> None:
        if self.found:
            raise ModelFileError(self.origin.name, self.found)


class _Noting:
    def __init__(self, problems: _Problems, path: KeyPath) -> None:
        self.problems, self.path = problems, path

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, problem: BaseException | None, trace: object) -> bool:
        if isinstance(problem, InputError):
            self.problems.note(self.path, str(problem))
            return True
        return False


# The mechanism -----------------------------------------------------------------------------------------------------


def _mechanism(scenario: schema.Scenario) -> tuple[Mechanism, tuple[str, ...]]:
    model, problems = scenario.model, _Problems(scenario)
    if (model.file is None) == (model.sample is None):
        problems.note(("model",), "expected either file or sample")
        problems.raise_if_any()
    notes: tuple[str, ...] = ()
    if model.file is not None:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", ModelWarning)
            mechanism, _ = load_with_report(
                scenario.origin.folder / model.file,
                floating_base=model.floating_base,
                gravity=model.gravity,
                package_dirs=[scenario.origin.folder / folder for folder in model.package_folders],
                repair=model.repair,
            )
        notes = tuple(str(warning.message) for warning in caught)
    else:
        mechanism = _sample(model, problems)
        if model.gravity is not None:
            mechanism = with_gravity(mechanism, model.gravity)
    if scenario.environment is not None and not mechanism.contact_points:
        with problems.at(("environment",)):
            mechanism = with_contact_points(mechanism)
    mechanism = _changed(mechanism, model, problems)
    problems.raise_if_any()
    return mechanism, notes


def _sample(model: schema.Model, problems: _Problems) -> Mechanism:
    assert model.sample is not None
    if not problems.known(("model", "sample"), model.sample, sample_mechanisms.__all__, "sample mechanism"):
        problems.raise_if_any()
    function = getattr(sample_mechanisms, model.sample)
    try:
        inspect.signature(function).bind(*model.sample_arguments)
        with problems.at(("model", "sample_arguments")):
            return function(*model.sample_arguments)
    except TypeError as problem:
        problems.note(("model", "sample_arguments"), f"{problem} in {model.sample}{inspect.signature(function)}")
    problems.raise_if_any()
    raise AssertionError("a problem was noted")


def _changed(m: Mechanism, model: schema.Model, problems: _Problems) -> Mechanism:
    declared = {body.name: body for body in m.bodies}
    for name, change in model.bodies.items():
        if problems.known(("model", "bodies", name), name, declared, "body"):
            body = declared[name]
            if change.mass is not None:
                # A denser body of the same shape; without mass before there is nothing to scale.
                factor = change.mass / body.mass if body.mass > 0.0 else 0.0
                inertia = tuple(factor * moment for moment in body.inertia) if body.mass > 0.0 else body.inertia
                body = dataclasses.replace(body, mass=change.mass, inertia=inertia)
            if change.center_of_mass is not None:
                body = dataclasses.replace(body, center_of_mass=change.center_of_mass)
            declared[name] = body
    carriers = {body.joint.name: body.name for body in m.moving}
    for name, change in model.joints.items():
        if problems.known(("model", "joints", name), name, carriers, "joint"):
            body = declared[carriers[name]]
            values = _given(change)
            with problems.at(("model", "joints", name)):
                declared[body.name] = dataclasses.replace(body, joint=dataclasses.replace(body.joint, **values))
    springs = {spring.name: spring for spring in m.springs}
    for name, change in model.springs.items():
        if problems.known(("model", "springs", name), name, springs, "spring"):
            values = _given(change)
            springs[name] = dataclasses.replace(springs[name], **values)
    result = dataclasses.replace(m, bodies=tuple(declared.values()), springs=tuple(springs.values()))
    if model.material is not None:
        values = _given(model.material)
        with problems.at(("model", "material")):
            points = [
                dataclasses.replace(p, material=dataclasses.replace(p.material, **values)) for p in m.contact_points
            ]
            result = dataclasses.replace(result, contact_points=tuple(points))
    for index, payload in enumerate(model.payloads):
        with problems.at(("model", "payloads", index)):
            result = with_payload(result, payload.body, payload.mass, payload.center_of_mass)
    return result


def _given(change: Any) -> dict[str, Any]:
    """The entries of a change that are there."""
    return {key: value for key in change.__struct_fields__ if (value := getattr(change, key)) is not None}


# State, torque, contacts, events -------------------------------------------------------------------------------------


def _start(scenario: schema.Scenario, m: Mechanism, problems: _Problems) -> tuple[Floats, Floats]:
    start = scenario.start
    q, v = m.neutral(), np.zeros(m.nv)
    if start.keyframe is not None:
        if start.seed is not None:
            problems.note(("start", "keyframe"), "expected a keyframe or a seed, got both")
        elif problems.known(("start", "keyframe"), start.keyframe, m.keyframes, "keyframe"):
            q, v = m.keyframe(start.keyframe).q, m.keyframe(start.keyframe).v
    if start.seed is not None:
        q = m.random_configuration(start.seed)
        # Another stream than the configuration's, so that neither depends on how many numbers the other draws.
        v = start.velocity_spread * np.random.default_rng([start.seed, 1]).standard_normal(m.nv)
    places = {name: index for index, name in enumerate(m.joint_names)}
    for key, array, slices in (("q", q, m.q_slices), ("v", v, m.v_slices)):
        for name, value in getattr(start, key).items():
            path = ("start", key, name)
            if not problems.known(path, name, places, "joint"):
                continue
            where = slices[places[name]]
            numbers = np.atleast_1d(np.array(value, dtype=np.float64))
            if numbers.shape != (where.stop - where.start,):
                problems.note(path, f"expected {where.stop - where.start} numbers, got {numbers.size}")
            else:
                array[where] = numbers
    for name in start.fixed:
        problems.known(("start", "fixed"), name, places, "joint")
    return q, v


def _torque(scenario: schema.Scenario, m: Mechanism, q0: Floats, problems: _Problems) -> TorqueLaw:
    given = scenario.torque
    velocities = single_velocities(m)
    law = TorqueLaw(m, np.zeros(m.nv))
    if isinstance(given, schema.ConstantTorque | schema.ExpressionTorque):
        parameters = getattr(given, "parameters", {})
        numbers, formulas = _numbers_and_formulas(given.values, parameters, velocities, ("torque", "values"), problems)
        for index, value in numbers.items():
            law.constant[index] = value
        return dataclasses.replace(law, formulas=formulas, parameters=parameters)
    if isinstance(given, schema.ActuatorTorque):
        return _actuators(scenario, given, law, problems)
    if isinstance(given, schema.JointFeedbackTorque):
        coordinates = np.zeros(m.nv, dtype=np.int64)
        for body, q, v in zip(m.moving, m.q_slices, m.v_slices, strict=True):
            if body.joint.name in velocities:
                coordinates[v.start] = q.start
        path = ("torque", "target")
        numbers, formulas = _numbers_and_formulas(given.target, given.parameters, velocities, path, problems)
        target = q0[coordinates] if m.nq else np.zeros(0)
        for index, value in numbers.items():
            target[index] = value
        gains = {key: _gains(getattr(given, key), key, m, velocities, problems) for key in ("stiffness", "damping")}
        return dataclasses.replace(
            law,
            feedback=True,
            parameters=given.parameters,
            coordinates=coordinates,
            target=target,
            target_formulas=formulas,
            held=tuple(index for index in velocities.values() if index not in numbers and index not in formulas),
            shared=tuple(key for key in gains if not isinstance(getattr(given, key), Mapping)),
            gravity_compensation=given.gravity_compensation,
            limit=given.limit,
            **gains,
        )
    return law


def _actuators(
    scenario: schema.Scenario, given: schema.ActuatorTorque, law: TorqueLaw, problems: _Problems
) -> TorqueLaw:
    """The law of the model's own actuators, their controls by name."""
    m = law.mechanism
    names = {actuator.name: index for index, actuator in enumerate(m.actuators)}
    if not names:
        problems.note(("torque", "kind"), f"{m.name} has no actuators, expected another kind of torque")
    controls = np.zeros(len(names))
    keyframe = m.keyframes.get(scenario.start.keyframe or "")
    if keyframe is not None and len(keyframe.controls) == len(names):
        controls = keyframe.control
    formulas: dict[int, Formula] = {}
    for name, value in given.control.items():
        if not problems.known(("torque", "control", name), name, names, "actuator"):
            continue
        if isinstance(value, str):
            with problems.at(("torque", "control", name)):
                formulas[names[name]] = parse_formula(value, list(given.parameters), "formula")
        else:
            controls[names[name]] = value
    return dataclasses.replace(law, controls=controls, control_formulas=formulas, parameters=given.parameters)


def _numbers_and_formulas(
    values: Mapping[str, float | str],
    parameters: Mapping[str, float],
    velocities: Mapping[str, int],
    path: KeyPath,
    problems: _Problems,
) -> tuple[dict[int, float], dict[int, Formula]]:
    """Split entries by joint into numbers and formulas, by velocity index."""
    numbers: dict[int, float] = {}
    formulas: dict[int, Formula] = {}
    for name, value in values.items():
        if not problems.known((*path, name), name, velocities, "joint (with one coordinate)"):
            continue
        if isinstance(value, str):
            with problems.at((*path, name)):
                formulas[velocities[name]] = parse_formula(value, list(parameters), "formula")
        else:
            numbers[velocities[name]] = value
    return numbers, formulas


def _gains(
    given: float | Mapping[str, float], key: str, m: Mechanism, velocities: Mapping[str, int], problems: _Problems
) -> Floats:
    gains = np.zeros(m.nv)
    if not isinstance(given, Mapping):
        gains[list(velocities.values())] = given
        return gains
    for name, value in given.items():
        if problems.known(("torque", key, name), name, velocities, "joint (with one coordinate)"):
            if value < 0.0:
                problems.note(("torque", key, name), f"expected a number that is not negative, got {value}")
            gains[velocities[name]] = value
    return gains


_SURFACES: dict[type[Any], Callable[[Any], Any]] = {
    schema.PlaneShape: lambda shape: Plane(shape.normal, shape.offset),
    schema.SphereShape: lambda shape: Sphere(shape.center, shape.radius),
    schema.CylinderShape: lambda shape: Cylinder(shape.point, shape.axis, shape.radius),
    schema.ImplicitShape: lambda shape: ImplicitSurface(shape.expression),
}


def _contacts(scenario: schema.Scenario, m: Mechanism, problems: _Problems) -> tuple[SurfaceContact, ...]:
    made = []
    for index, contact in enumerate(scenario.contacts):
        if not problems.known(("contacts", index, "body"), contact.body, m.frames, "body"):
            continue
        with problems.at(("contacts", index)):
            surface = _SURFACES[type(contact.surface)](contact.surface)
            friction, e = contact.friction, contact.restitution
            made.append(
                SurfaceContact(contact.body, contact.point, surface, friction, contact.bilateral, contact.name, e)
            )
    return tuple(made)


def _events(scenario: schema.Scenario, m: Mechanism, problems: _Problems) -> Iterable[CloseLoop | OpenLoop]:
    for index, event in enumerate(scenario.events):
        path = ("events", index)
        problems.known((*path, "loop"), event.loop, [loop.name for loop in m.loops], "loop")
        if event.time > scenario.simulation.duration:
            problems.note(
                (*path, "time"), f"expected a time up to {scenario.simulation.duration:g} s, got {event.time:g}"
            )
        if isinstance(event, schema.CloseLoopEvent):
            yield CloseLoop(event.time, event.loop, here=event.here)
        else:
            yield OpenLoop(event.time, event.loop)


def _options(scenario: schema.Scenario, problems: _Problems) -> dict[str, Any]:
    s = scenario.simulation
    world = scenario.environment
    surroundings: dict[str, Any] = {}
    if world is not None:
        polygons = (
            list(Environment.slope(world.slope, height=world.height, name="floor").polygons) if world.floor else []
        )
        for index, corners in enumerate(world.polygons):
            with problems.at(("environment", "polygons", index)):
                polygons.append(Polygon(corners, f"polygon {index}"))
        surroundings = {
            "environment": Environment(polygons),
            "contact_solver": world.contact_solver,
            "body_contacts": world.body_contacts,
        }
    return {
        **surroundings,
        "duration": s.duration,
        "step": s.step,
        "integrator": None if s.integrator == "default" else s.integrator,
        "record_every": s.record_every,
        "tolerance": s.tolerance if s.integrator == "adaptive" else None,
        "joint_stops": s.joint_stops,
    }
