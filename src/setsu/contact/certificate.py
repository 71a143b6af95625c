"""How well the impulses of a step satisfy the contact problem: what its certificate says.

| entry | meaning | zero when |
|---|---|---|
| depth | largest depth of a point inside a polygon after the step, m | nothing penetrates |
| cone | max (|f_t| - μ f_n, -f_n), N s | every impulse lies in its cone |
| complementarity | max |f_n v_n|, J | no impulse acts on a contact that opens |
| dissipation | max |f_t·v_t + μ f_n |v_t||, J | friction opposes sliding with all it has |
| residual | largest entry of F (newton_solver.py) in parts of the largest impulse | the solver is done |

v is the velocity at the end of the step, measured from what the contact was asked for (gap over step, restitution).
The entries are kept in `Recording.contact_log`, the worst since the row before.
"""

from __future__ import annotations

import math

from setsu.contact.scene import BEFORE, N_CONTACTS, TURNING, TWIST, Problem
from setsu.contact.turning_friction import set_turn
from setsu.native.control_flow import inline

__all__ = [
    "COMPLEMENTARITY",
    "CONE",
    "DEPTH",
    "DISSIPATION",
    "ENTRIES",
    "FAILED",
    "FRICTION_WORK",
    "NORMAL_WORK",
    "PASSES",
    "RESIDUAL",
    "ROUNDS",
    "add_up_work",
    "certify",
]

# Where the entries stand; the last two are the work of friction and of normal impulses (J).
DEPTH, CONE, COMPLEMENTARITY, DISSIPATION, RESIDUAL, ROUNDS, PASSES, FAILED, FRICTION_WORK, NORMAL_WORK = range(10)

ENTRIES = ("depth", "cone", "complementarity", "dissipation", "residual", "rounds", "passes", "unconverged")
"""Names of the entries, in order."""


@inline
def certify(problem: Problem, certificate):
    """Cone, complementarity and dissipation residuals of the impulses (certificate.py)."""
    cone = together = dissipation = 0.0
    for index in range(problem.counts[N_CONTACTS]):
        c = problem.contacts[index]
        f, v, mu = c.impulse, c.velocity, c.friction
        ft, vt = math.sqrt(f[1] * f[1] + f[2] * f[2]), math.sqrt(v[1] * v[1] + v[2] * v[2])
        cone = max(cone, ft - mu * f[0], -f[0])
        together = max(together, abs(f[0] * v[0]), -v[0] * c.scale * abs(v[0]))
        dissipation = max(dissipation, abs(f[1] * v[1] + f[2] * v[2] + mu * f[0] * vt))
    certificate[CONE], certificate[COMPLEMENTARITY], certificate[DISSIPATION] = cone, together, dissipation


@inline
def add_up_work(problem: Problem, certificate):
    """Work of friction, couples included, and of normal impulses in this step (J), with the mean of both velocities."""
    certificate[FRICTION_WORK] = certificate[NORMAL_WORK] = 0.0
    for index in range(problem.counts[N_CONTACTS]):
        c = problem.contacts[index]
        for k in range(3):
            after = c.velocity[k] - c.shift[k]
            if k == 0:
                after -= c.soft * c.impulse[0]
            certificate[NORMAL_WORK if k == 0 else FRICTION_WORK] += 0.5 * c.impulse[k] * (c.before[k] + after)
        if problem.counts[TURNING] > 0:
            set_turn(problem, index, BEFORE, c.turn)
            set_turn(problem, index, TWIST, c.slope)
            for k in range(3):
                certificate[FRICTION_WORK] += 0.5 * c.couple[k] * (c.turn[k] + c.slope[k])
