"""What a simulation leaves behind: time, state, forces, energy and its ledger, events."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from setsu.errors import InputError
from setsu.mechanism import Mechanism
from setsu.simulation.events import EventReport
from setsu.viewers import view

if TYPE_CHECKING:
    from setsu.contact import Environment

__all__ = ["ContactLog", "EnergyLedger", "Recording", "SimulationStopped"]

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
    """What a run with an environment says of its contacts, besides their forces; (T,) each but for `position`.

    position (T, n_contacts, 3): where each contact point, or its force, is, m. The rest is the certificate of the steps
    since the row before, the worst of them: depth: how far a point is inside the environment, m; cone: by how much an
    impulse leaves its friction cone, N s; complementarity: normal impulse times normal velocity, J; dissipation: power
    of friction short of the largest one, J; residual: of the solver, in parts of the largest impulse; rounds: linear
    solves; passes: solves with new points or bent ways; unconverged: 1 where the solver did not reach 1e-10.
    """

    position: Floats
    depth: Floats
    cone: Floats
    complementarity: Floats
    dissipation: Floats
    residual: Floats
    rounds: Floats
    passes: Floats
    unconverged: Floats


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
    with an environment; environment: what could be touched.
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
    acceleration: Floats
    torque: Floats
    joint_wrenches: Floats
    normal_force: Floats
    friction_force: Floats
    contact_force: Floats
    loop_wrench: Floats
    energy: Floats
    constraint_error: Floats
    ledger: EnergyLedger
    events: tuple[EventReport, ...] = ()
    mechanism: Mechanism | None = None
    contact_log: ContactLog | None = None
    environment: Environment | None = None

    def center_of_pressure(self) -> Floats:
        """Return the point (T, 3), m, about which the contact forces have no horizontal moment, on the plane z = 0.

        For forces on a floor at z = 0 it is the zero-moment point. NaN where nothing presses.
        """
        if self.contact_log is None:
            raise InputError("center_of_pressure: expected a recording of a run with an environment")
        f, p = self.contact_force, self.contact_log.position
        vertical = f[:, :, 2].sum(axis=1)
        pressed = vertical > 0.0
        center = np.full((len(self.time), 3), np.nan)
        moment = (p[:, :, :2] * f[:, :, 2:] - p[:, :, 2:] * f[:, :, :2]).sum(axis=1)
        center[pressed, :2], center[pressed, 2] = moment[pressed] / vertical[pressed, None], 0.0
        return center

    def __len__(self) -> int:
        return len(self.time)

    def __repr__(self) -> str:
        return (
            f"Recording({self.name!r}, {len(self.time)} states, 0 to {self.time[-1]:g} s, {self.integrator}, "
            f"{len(self.events)} events)"
        )

    def to_xarray(self) -> Any:
        """Return an xarray.Dataset with named axes and units; needs the extra `data`."""
        from setsu.simulation.recording_files import to_xarray

        return to_xarray(self)

    def save(self, path: str | Path) -> Path:
        """Write to .npz, or to NetCDF (.nc; needs the extra `data`); `Recording.load` gives back equal numbers."""
        from setsu.simulation.recording_files import save

        return save(self, Path(path))

    @staticmethod
    def load(path: str | Path) -> Recording:
        """Read what `save` wrote."""
        from setsu.simulation.recording_files import load

        return load(Path(path))

    def plot(self, quantity: str = "q") -> Any:
        """Draw a quantity over time, axes labelled with units; return the matplotlib figure (extra `plots`).

        quantity: "q", "v", "acceleration", "torque", "joint_wrenches", "normal_force", "friction_force",
        "contact_force", "loop_wrench", "energy", "constraint_error" or "ledger".
        """
        from setsu.simulation.plotting import plot

        return plot(self, quantity)

    def show(self, **options: Any) -> Any:
        """Open a 3D replay with plots in the browser (extra `studio`); waits until Ctrl-C outside interactive sessions.

        Options are those of the studio: block=False returns at once, open_browser=False opens no page, port=8080.
        """
        return view(self, **options)


class SimulationStopped(InputError):  # noqa: N818  (says what happened, as KeyboardInterrupt does)
    """A run that cannot go on; `recording` holds what was recorded until then."""

    def __init__(self, message: str, recording: Recording) -> None:
        super().__init__(message)
        self.recording = recording
