"""Loop wrenches of recorded states where redundant rows leave them open: the same choice as constrained_dynamics makes.

Compiled steps take the least multipliers, which is quick and right for the motion, but depends on where a loop was
cut. Forces that are recorded are the least over all joints instead (constraints/internal_forces.py (1)).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from setsu.constraints.dense_dynamics import DenseMotion, States
from setsu.constraints.internal_forces import left_out_rows_matter
from setsu.constraints.system import ConstraintSystem, ForceGeometry, Linearisation, constraint_system
from setsu.dynamics import joint_wrenches
from setsu.dynamics.equations import bare_inverse_dynamics

__all__ = ["InternalForces"]

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class InternalForces:
    """T states: q (T, nq), v, a (T, nv); loop wrenches (T, loops, 6) and contact forces (T, contacts, 3) in them.

    pushed (T, n_bodies, 6): wrenches on bodies from outside.
    """

    system: ConstraintSystem
    rows: Linearisation | ForceGeometry
    q: Floats
    v: Floats
    a: Floats
    loop_wrench: Floats
    contact_force: Floats
    pushed: Floats

    def make_least(self, left_out: Bools, redundant: Bools, axis_force: Floats) -> None:
        """Change the loop wrenches in place where another choice loads the joints less.

        left_out: (T, loop rows) rows that move nothing. redundant: (T,) where others depend on each other.
        axis_force: (T, f) dry friction and stops along the free axes of loop joints.
        """
        if not (redundant.any() or left_out.any()):
            return
        m, system = self.system.mechanism, self.system
        external = system.body_wrenches(self.rows, self.loop_wrench, self.contact_force) + self.pushed
        through = joint_wrenches(m, self.q, self.v, self.a, external, "world")
        open_to_choice = redundant | left_out_rows_matter(
            system, self.rows, self.q, left_out, self.loop_wrench, through
        )
        some = np.flatnonzero(open_to_choice)
        if not some.size:
            return
        q, v = self.q[some], self.v[some]
        # What loops and couplings do not give is what makes the motion come out as it was.
        tau = bare_inverse_dynamics(m, q, v, self.a[some], external[some])
        others = system.body_wrenches(self.rows, np.zeros_like(self.loop_wrench), self.contact_force) + self.pushed
        states = States(q, v, tau, axis_force[some], others[some])
        motion = DenseMotion(constraint_system(m), states, "default", (len(some),))
        self.loop_wrench[some] = motion.solve(0.0, None, "world")["loop_wrench"]
