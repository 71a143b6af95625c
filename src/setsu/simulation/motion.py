"""What an integrator sees of a mechanism: accelerations, powers, and the way back onto the constraints.

Evaluation   everything known of one state: acceleration, torque, forces of the constraints, and the powers
             of the energy ledger (W): actuators, joint friction, dampers of point springs, contact friction
Motion       evaluate(t, q, v), project(q, v); FreeMotion is the one of a mechanism without constraints
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from setsu.dynamics import (
    forward_dynamics,
    kinetic_energy,
    potential_energy,
)
from setsu.dynamics.springs import element_power
from setsu.mechanism import Mechanism
from setsu.simulation.chart import Charts
from setsu.simulation.torque import Torque

__all__ = ["POWERS", "Evaluation", "FreeMotion", "Motion", "damping_powers", "mechanical_energy"]

Floats = NDArray[np.float64]

POWERS = ("actuators", "joint_friction", "spring_dampers", "contact_friction")
"""Names of the entries of Evaluation.powers, in order."""

_NONE = np.zeros(0)


@dataclass(frozen=True)
class Evaluation:
    """One state and what acts in it.

    acceleration, torque (nv,); powers (4,) W, see POWERS;
    normal_force (n_contacts,) N; friction_force (n_contacts, 3) N on the mechanism, world axes;
    multipliers (loop rows,) of the loops that are closed, N or N m;
    sliding (n_contacts, 3): sliding velocity of each contact point along its surface, m/s;
    dry_force (n,): friction along the axes of joints with dry friction, N or N m; dry_rate, dry_change: of those that
    slide, their rates and the rates' derivatives;
    guards: numbers that stay positive until an event; error: largest violation of an active constraint, m or rad;
    redundant: whether active constraints that move something depend on each other.
    """

    t: float
    q: Floats
    v: Floats
    acceleration: Floats
    torque: Floats
    powers: Floats
    normal_force: Floats = field(default_factory=lambda: _NONE)
    friction_force: Floats = field(default_factory=lambda: np.zeros((0, 3)))
    multipliers: Floats = field(default_factory=lambda: _NONE)
    sliding: Floats = field(default_factory=lambda: np.zeros((0, 3)))
    dry_force: Floats = field(default_factory=lambda: _NONE)
    dry_rate: Floats = field(default_factory=lambda: _NONE)
    dry_change: Floats = field(default_factory=lambda: _NONE)
    guards: Floats = field(default_factory=lambda: _NONE)
    error: float = 0.0
    redundant: bool = False


class Motion(Protocol):
    """A mechanism under torques, with or without constraints."""

    mechanism: Mechanism
    charts: Charts
    torque: Torque

    @property
    def constrained(self) -> bool:
        """Whether stages have to be projected."""
        ...

    def energy(self, q: Floats, v: Floats) -> Floats:
        """Return kinetic and potential energy, springs included (J), (...)."""
        ...

    def evaluate(self, t: float, q: Floats, v: Floats, *, complete: bool = True) -> Evaluation:
        """Return accelerations and powers at time t (s) in a state that satisfies the constraints.

        complete: also what only the end of a step needs: wrenches, guards, violation.
        """
        ...

    def project(self, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        """Return the nearest state, in the metric of the mass matrix, that satisfies the constraints."""
        ...


class FreeMotion:
    """A mechanism without loops, couplings, contacts and dry friction."""

    constrained = False

    def __init__(self, mechanism: Mechanism, torque: Torque) -> None:
        self.mechanism, self.torque = mechanism, torque
        self.charts = Charts(mechanism)

    def evaluate(self, t: float, q: Floats, v: Floats, *, complete: bool = True) -> Evaluation:
        """Return accelerations and powers at time t (s); there is nothing more to complete."""
        tau = self.torque(t, q, v)
        a = forward_dynamics(self.mechanism, q, v, tau)
        powers = damping_powers(self.mechanism, q, v)
        powers[0] = tau @ v
        return Evaluation(t, q, v, a, tau, powers)

    def energy(self, q: Floats, v: Floats) -> Floats:
        """Return kinetic and potential energy, springs included (J), (...)."""
        return mechanical_energy(self.mechanism, q, v)

    def project(self, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        """Return the state as it is."""
        return q, v

    # Compiled steps ------------------------------------------------------------------------------------------------

    @cached_property
    def space(self) -> Any:
        """The arrays of compiled steps."""
        from setsu.simulation.compiled_tree import tree_space

        return tree_space(self.mechanism)

    def load(self, q: Floats, v: Floats) -> Any:
        """Put a state into the arrays of compiled steps, and return these."""
        self.space.state.q[:], self.space.state.v[:] = q, v
        return self.space

    def record_widths(self) -> tuple[int, int, int]:
        """How many contacts, axes with dry friction and loop rows there are."""
        return 0, 0, 0

    def run_steps(self, stages: Any, records: Any, steps: Floats, first: int, every: int) -> tuple[int, int]:
        """Take steps from the loaded and evaluated state; return how many, and a status: compiled_tree.run_tree."""
        from setsu.native.array_book import Book
        from setsu.simulation.compiled_tree import run_tree

        arguments: Any = (*self.space.arguments, Book(stages), Book(records), steps, first, every)
        return run_tree(*arguments)

    def gathered(self, t: float, q: Floats, v: Floats, tau: Floats) -> Evaluation:
        """Return what compiled steps have just found of a state, as a record."""
        return Evaluation(t, q, v, self.space.work.a.copy(), tau, self.space.work.powers.copy())


def damping_powers(m: Mechanism, q: Floats, v: Floats) -> Floats:
    """Return (4,): zeros but for the powers of joint friction and of dampers and drag of force elements (W)."""
    powers = np.zeros(len(POWERS))
    powers[1] = -(m.damping @ (v * v))
    if m.has_force_elements:
        powers[2] = element_power(m, q, v)
    return powers


def mechanical_energy(m: Mechanism, q: Floats, v: Floats) -> Floats:
    """Return kinetic and potential energy, springs included (J), (...)."""
    return kinetic_energy(m, q, v) + potential_energy(m, q)
