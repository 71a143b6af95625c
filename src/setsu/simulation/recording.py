"""What a simulation leaves behind: time, state, forces, energy and its ledger, events."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setsu.constraints import SurfaceContact
from setsu.contact import Environment, Polygon
from setsu.contact.support import center_of_pressure, plane_axes, support_margin, support_polygon
from setsu.errors import InputError
from setsu.mechanism import Mechanism
from setsu.simulation.events import EventReport
from setsu.simulation.lazy_field import LazyField, NotRecorded
from setsu.spatial import file_path
from setsu.viewers import view

__all__ = ["BodyContacts", "ContactLog", "EnergyLedger", "Recording", "SimulationStopped"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class EnergyLedger:
    """Where the energy went since t = 0 (J), (T,) each; all entries together are energy - energy[0].

    actuators: work of the torques. joint_friction: damping and Coulomb friction of joints. spring_dampers: dampers of
    springs between points. contact_friction: sliding of contacts. projection: steps back onto the constraints.
    impacts: velocity jumps of contacts and of loops that close. integration: the rest, the error of the integrator.
    What springs store is part of the energy.
    """

    actuators: Floats
    joint_friction: Floats
    spring_dampers: Floats
    contact_friction: Floats
    projection: Floats
    impacts: Floats
    integration: Floats

    @property
    def total(self) -> Floats:
        """Sum of all entries (T,)."""
        return np.sum([getattr(self, entry.name) for entry in fields(self)], axis=0)


@dataclass(frozen=True)
class ContactLog:
    """What a run with an environment says of its contacts, besides their forces; (T,) each but for these two.

    position (T, n_contacts, 3): where each contact point, or its force, is, m. stop_torque (T, nv): of joint stops, N m
    or N. The rest is the certificate of the steps since the row before, the worst of them: depth: how far a point is
    inside the environment, m; cone: by how much an impulse leaves its friction cone, N s; complementarity: normal
    impulse times normal velocity, J; dissipation: power of friction short of the largest one, J; residual: of the
    solver, in parts of the largest impulse; rounds: linear solves, for the island that took most; passes: solves with
    new points or bent ways; unconverged: 1 where the solver did not reach 1e-8 and took the convex problem.
    """

    stop_torque: Floats
    depth: Floats
    cone: Floats
    complementarity: Floats
    dissipation: Floats
    residual: Floats
    rounds: Floats
    passes: Floats
    unconverged: Floats
    position: LazyField[Floats] = LazyField()  # noqa: RUF009  (a descriptor: one for all records)

    def __getstate__(self) -> dict[str, Any]:
        # What is still to be computed needs the run, which stays in its process.
        return {
            **self.__dict__,
            **({} if isinstance(self.__dict__["position"], NotRecorded) else {"position": self.position}),
        }


@dataclass(frozen=True)
class BodyContacts:
    """Contacts between bodies of a mechanism, for the pairs that touched; world axes.

    pairs: names of two bodies each. force (T, n_pairs, 3): on the first body by the second, N. moment (T, n_pairs, 3):
    likewise, about `position`, N m. position (T, n_pairs, 3): center of pressure of the pair, m, NaN while apart.
    normal_force (T, n_pairs): N.
    """

    pairs: tuple[tuple[str, str], ...]
    force: Floats
    moment: Floats
    position: Floats
    normal_force: Floats


@dataclass(frozen=True)
class Recording:
    """A simulated motion; the first axis of every array is time, t = 0 included.

    time (T,) s; q (T, nq); v, acceleration, torque (T, nv); joint_wrenches (T, n_bodies, 6): by the parent on the body
    at the body origin, world axes, N and N m; normal_force (T, n_contacts) N; friction_force and contact_force, the
    whole force of each contact, (T, n_contacts, 3) N, on the mechanism, world axes; loop_wrench (T, n_loops, 6) by
    body_a on body_b at the loop joint, world axes; energy (T,) J: kinetic and potential, springs
    included; constraint_error (T,): largest violation of loops, couplings and contacts at position level, m or rad;
    ledger: where the energy went; events: what happened in mid-run; mechanism: what moved, so that a recording can be
    shown, None in files written without it; contact_log: where contacts were and how well they were solved, of runs
    with an environment; environment: what could be touched; body_contacts: forces between bodies, of runs that record
    them;
    surface_contacts: points held on surfaces, in the order of contact_names in runs without an environment.
    joint_wrenches, loop_wrench and the forces of contacts are computed when first asked for.
    Of N runs at once every array but `time` has a leading axis N, `recording[k]` is run k alone, and `stopped` names
    the runs that stopped: number -> (time in s, why). `time` is (N, T) where worlds have other times than each other.
    """

    name: str
    integrator: str
    step: float
    joint_names: tuple[str, ...]
    body_names: tuple[str, ...]
    velocity_names: tuple[str, ...]
    coordinate_names: tuple[str, ...]
    contact_names: tuple[str, ...]
    loop_names: tuple[str, ...]
    time: Floats
    q: Floats
    v: Floats
    torque: Floats
    energy: LazyField[Floats] = LazyField()  # noqa: RUF009
    constraint_error: LazyField[Floats] = LazyField()  # noqa: RUF009
    ledger: LazyField[EnergyLedger] = LazyField()  # noqa: RUF009
    acceleration: LazyField[Floats] = LazyField()  # noqa: RUF009
    normal_force: LazyField[Floats] = LazyField()  # noqa: RUF009
    friction_force: LazyField[Floats] = LazyField()  # noqa: RUF009
    joint_wrenches: LazyField[Floats] = LazyField()  # noqa: RUF009
    contact_force: LazyField[Floats] = LazyField()  # noqa: RUF009
    loop_wrench: LazyField[Floats] = LazyField()  # noqa: RUF009
    events: tuple[EventReport, ...] = ()
    mechanism: Mechanism | None = None
    contact_log: ContactLog | None = None
    environment: Environment | None = None
    body_contacts: BodyContacts | None = None
    surface_contacts: tuple[SurfaceContact, ...] = ()
    stopped: dict[int, tuple[float, str]] = field(default_factory=dict)
    one: Callable[[int], Recording] | None = field(default=None, repr=False, compare=False)

    def has(self, name: str) -> bool:
        """Return whether a quantity was recorded, or follows from what was (`record` of `simulate`)."""
        return self.__dict__.get(name) is not None and not isinstance(self.__dict__[name], NotRecorded)

    def __getitem__(self, run: int) -> Recording:
        """Return the recording of one run of many."""
        if self.one is None:
            raise InputError("Recording: expected a recording of many runs; this one has no runs to choose from")
        return self.one(run)

    def wrench_at(self, frame: str, *, axes: str = "frame") -> Floats:
        """Return the wrench through the weld, mount or joint that carries a frame, (T, 6), N and N m.

        It is what the base's side exerts on the far side, at the frame's origin: a force/torque sensor's reading
        where its mount is a frame. Loops, springs and contacts count on the declared bodies they act on.

        frame: one of `mechanism.frame_names`. axes: of the result, "frame" or "world".
        """
        from setsu.simulation.recorded_wrench import recorded_wrench

        return recorded_wrench(self, frame, axes)

    def imu(self, frame: str) -> Floats:
        """Return what an inertial sensor at a frame reads, (T, 6), in the frame's axes; of N runs (N, T, 6).

        First the accelerometer, m/s²: acceleration of the frame's origin less gravity, so that at rest it shows the
        support, 9.81 upwards; then the gyroscope, rad/s.

        frame: one of `mechanism.frame_names`.
        """
        from setsu.simulation.recorded_sensors import imu

        return imu(self, frame)

    def contact_wrench(self, body: str) -> Floats:
        """Return what all contacts exert on a body, (T, 6): force (N) and moment about the body's origin (N m).

        World axes; contact points, shapes of the body and other bodies, of runs with an environment; of N runs
        (N, T, 6).
        """
        from setsu.simulation.recorded_sensors import contact_wrench

        return contact_wrench(self, body)

    def center_of_pressure(self, plane: Polygon | None = None) -> Floats:
        """Return the point (T, 3), m, in a plane about which contact forces have no moment but across the plane.

        plane: a polygon in it; the floor z = 0, where this is the zero-moment point, if not given. NaN where nothing
        presses on the plane. Of N runs (N, T, 3).
        """
        if self.one is not None:
            return np.stack([self[k].center_of_pressure(plane) for k in range(len(self.q))])
        position, force, _ = self._on_ground("center_of_pressure")
        return center_of_pressure(position, force, *_plane(plane))

    def support_polygon(self, row: int = -1, plane: Polygon | None = None) -> Floats:
        """Return the corners (k, 3), m, of the hull of the points that press at a row of the recording.

        They go around counter-clockwise in the plane, as for `center_of_pressure`; fewer than three when at most two
        points press. A shape that touches the world counts with the point its force acts at.
        """
        points, presses, origin, axes = self._in_plane("support_polygon", plane)
        return origin + support_polygon(points[row, presses[row]]) @ axes

    def support_margin(self, plane: Polygon | None = None) -> Floats:
        """Return how far the center of pressure is inside the support polygon (T,), m; NaN where there is none.

        A polygon of less than three corners has no inside.
        """
        points, presses, origin, axes = self._in_plane("support_margin", plane)
        center = (self.center_of_pressure(plane) - origin) @ axes.T
        return support_margin(center, points, presses)

    def _in_plane(self, what: str, plane: Polygon | None) -> tuple[Floats, NDArray[np.bool_], Floats, Floats]:
        """Contact points in axes of a plane (T, n, 2), which press (T, n), its origin (3,) and these axes (2, 3)."""
        normal, offset = _plane(plane)
        axes = plane_axes(normal)
        position, _, presses = self._on_ground(what)
        return position @ axes.T, presses, offset * normal, axes

    def _on_ground(self, what: str) -> tuple[Floats, Floats, NDArray[np.bool_]]:
        """Places (T, n, 3) and forces of contact points and of shapes that touch the world, and which press (T, n)."""
        if self.contact_log is None:
            raise InputError(f"{what}: expected a recording of a run with an environment")
        places, forces, normal = [self.contact_log.position], [self.contact_force], [self.normal_force]
        if self.body_contacts is not None:
            world = [k for k, (_, other) in enumerate(self.body_contacts.pairs) if other not in self.body_names]
            places.append(np.nan_to_num(self.body_contacts.position[:, world]))
            forces.append(self.body_contacts.force[:, world])
            normal.append(self.body_contacts.normal_force[:, world])
        return np.concatenate(places, axis=1), np.concatenate(forces, axis=1), np.concatenate(normal, axis=1) > 0.0

    def __getstate__(self) -> dict[str, Any]:
        # What is still to be computed needs the run, which stays in its process.
        kept = {entry.name: getattr(self, entry.name) for entry in fields(self) if self.has(entry.name)}
        return {**self.__dict__, **kept, "one": None}

    def __len__(self) -> int:
        return self.time.shape[-1]

    def __repr__(self) -> str:
        return (
            f"Recording({self.name!r}, {len(self)} states, 0 to {self.time.max():g} s, {self.integrator}, "
            f"{len(self.events)} events)"
        )

    def to_xarray(self) -> Any:
        """Return an xarray.Dataset with named axes and units; needs the extra `data`."""
        from setsu.simulation.recording_files import to_xarray

        return to_xarray(self)

    def save(self, path: str | Path) -> Path:
        """Write to .npz, or to NetCDF (.nc; needs the extra `data`); `Recording.load` gives back equal numbers.

        .mcap (extra `data`) is for ROS 2 tools and log viewers: joint states, transforms, the robot and its forces.
        """
        from setsu.simulation.recording_files import save

        return save(self, file_path(path, "save"))

    @staticmethod
    def load(path: str | Path) -> Recording:
        """Read what `save` wrote."""
        from setsu.simulation.recording_files import load

        return load(file_path(path, "Recording.load"))

    def plot(self, quantity: str = "q") -> Any:
        """Draw a quantity over time, axes labelled with units; return the matplotlib figure (extra `plots`).

        quantity: "q", "v", "acceleration", "torque", "joint_wrenches", "normal_force", "friction_force",
        "contact_force", "loop_wrench", "energy", "constraint_error" or "ledger".
        """
        from setsu.simulation.plotting import plot

        return plot(self, quantity)

    def with_event(self, time: float, kind: str, name: str) -> Recording:
        """Return the recording with one event more, in its place by time (s): what somebody saw in the motion."""
        event = EventReport(float(time), kind, name, np.zeros(self.v.shape[-1]), np.zeros(0))
        reported = copy.copy(self)
        before = [known for known in self.events if known.time <= event.time]
        object.__setattr__(reported, "events", (*before, event, *self.events[len(before) :]))
        return reported

    def show(self, **options: Any) -> Any:
        """Open a 3D replay with plots in the browser (extra `studio`); waits until Ctrl-C outside interactive sessions.

        Options are those of the studio: block=False returns at once, open_browser=False opens no page, port=8080.
        """
        return view(self, **options)


def _plane(polygon: Polygon | None) -> tuple[Floats, float]:
    if polygon is None:
        return np.array([0.0, 0.0, 1.0]), 0.0
    if not isinstance(polygon, Polygon):
        raise InputError(f"Recording: plane: expected a Polygon, got {polygon!r:.80}")
    return polygon.normal, polygon.offset


class SimulationStopped(InputError):  # noqa: N818  (says what happened, as KeyboardInterrupt does)
    """A run that cannot go on; `recording` holds what was recorded until then."""

    def __init__(self, message: str, recording: Recording) -> None:
        super().__init__(message)
        self.recording = recording
