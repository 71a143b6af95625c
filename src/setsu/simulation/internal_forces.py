"""Loop wrenches of recorded states where redundant rows leave them open: the same choice as constrained_dynamics makes.

Compiled steps take the least multipliers, which is quick and right for the motion, but depends on where a loop was
cut. Forces that are recorded are the least over all joints instead (constraints/internal_forces.py (1)).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from setsu.constraints.dense_dynamics import DenseMotion, States
from setsu.constraints.internal_forces import left_out_rows_matter
from setsu.constraints.system import ConstraintSystem, ForceGeometry, Linearisation, constraint_system
from setsu.dynamics import joint_wrenches
from setsu.dynamics.equations import bare_inverse_dynamics

__all__ = ["make_least"]

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


def make_least(
    system: ConstraintSystem,
    rows: Linearisation | ForceGeometry,
    motion: tuple[Floats, Floats, Floats],
    loop_wrench: Floats,
    contact_force: Floats,
    pushed: Floats,
    axis_force: Floats,
    left_out: Bools,
    redundant: Bools,
) -> None:
    """Change loop wrenches (T, loops, 6) in place where another choice loads the joints less.

    motion: q (T, nq), v, a (T, nv). contact_force: (T, contacts, 3). pushed: (T, n_bodies, 6) wrenches on bodies from
    outside. axis_force: (T, f) dry friction and stops along the free axes of loop joints. left_out: (T, loop rows) rows
    that move nothing. redundant: (T,) where others depend on each other.
    """
    if not (redundant.any() or left_out.any()):
        return
    m, (q, v, a) = system.mechanism, motion
    external = system.body_wrenches(rows, loop_wrench, contact_force) + pushed
    through = joint_wrenches(m, q, v, a, external, "world")
    some = np.flatnonzero(redundant | left_out_rows_matter(system, rows, q, left_out, loop_wrench, through))
    if not some.size:
        return
    q, v = q[some], v[some]
    # What loops and couplings do not give is what makes the motion come out as it was.
    tau = bare_inverse_dynamics(m, q, v, a[some], external[some])
    others = (system.body_wrenches(rows, np.zeros_like(loop_wrench), contact_force) + pushed)[some]
    dense = DenseMotion(constraint_system(m), States(q, v, tau, axis_force[some], others), "default", (len(some),))
    loop_wrench[some] = dense.solve(0.0, None, "world")["loop_wrench"]
