"""By how much the bodies on free and spherical joints turn in a step: found by iteration, from one trial step.

| symbol | meaning | unit |
|---|---|---|
| Θ, h | turn of the step, step | rad, s |
| R, R', R_t | axes of the body at the beginning, at the end, at the end of the trial step | |
| ω, ω', ω'_t | angular velocities at the beginning and at both ends, in the axes there | rad/s |
| L' | angular momentum of the tree at the end, about its centre (the joint) | N m s |
| J | inertia of the tree about that, in the axes of the body | kg m² |

    R' = R exp(Θ),  Θ = ½ h (ω + ω'),  or h ω' where a contact closes         (1)  flight.py (4)
    ω' = ω'_t + J⁻¹ (R'ᵀ L' - R_tᵀ L'_t)                                      (2)

The joints of a trial step end where they will: whatever the turn, the end of the step is that of the trial, turned, and
so J and the momentum of the joints' motion are those of the trial in the axes of the body. An iteration then costs as
much for a humanoid as for a ball.
"""

from __future__ import annotations

import math

from setsu.contact.flight import first_moment, set_end_velocity, set_pull
from setsu.contact.free_motion import DISPLACEMENT, V_END, StepState
from setsu.contact.tree import NEXT, Tree
from setsu.native.compiled_elementary import cos_sin
from setsu.native.control_flow import inline

__all__ = ["find_turns"]

# rad: to what of a turn the iteration goes, and how often at most.
_TURNED, _TURNS = 1e-14, 20


@inline
def find_turns(tree: Tree, motion: StepState, h):
    """Set the turns of free joints from the velocities at both ends (1); return whether they change.

    The trial step at hand ends with the right joints: whatever the turn, its end is that of the trial, turned.
    """
    change = 0.0
    set_end_velocity(tree, motion, h, False)
    for k in range(len(tree.roots)):
        if tree.roots[k].exact == 1:
            change = max(change, _find_turn(tree, motion, tree.roots[k], h))
    return change > _TURNED


@inline
def _find_turn(tree: Tree, motion: StepState, r, h):
    """Iterate (1), (2) for one tree; return the first change (rad)."""
    R, T, o, L, I = motion.poses_start[r.body], motion.poses_next[r.body], r.turning, r.target, r.inverse  # noqa: E741
    start, end, d, m = motion.start[0], motion.vectors[V_END], motion.vectors[DISPLACEMENT], r.center
    share = 1.0 if tree.jumps[r.body] == 1 else 0.5
    u, v, w = first_moment(tree, r.body, NEXT)
    mx, my, mz = _turn_back(T, u, v, w)
    tx, ty, tz = _turn_back(T, L[3], L[4], L[5])
    wx, wy, wz, first = end[o], end[o + 1], end[o + 2], 0.0
    for n in range(_TURNS):
        x = h * ((1.0 - share) * start[o] + share * wx)
        y = h * ((1.0 - share) * start[o + 1] + share * wy)
        z = h * ((1.0 - share) * start[o + 2] + share * wz)
        change = max(abs(x - d[o]), abs(y - d[o + 1]), abs(z - d[o + 2]))
        d[o], d[o + 1], d[o + 2] = x, y, z
        first = change if n == 0 else first
        half = 0.5 * math.sqrt(x * x + y * y + z * z)
        cosine, sine = cos_sin(half)
        k = sine / (2.0 * half) if half > 1e-9 else 0.5
        x, y, z = k * x, k * y, k * z
        if r.free == 0:
            # Weight acts where it does the work that the step's turn asks for (flight.py (9)).
            f = 0.5 * h * (sine / (cosine * half) if half > 1e-9 else 1.0)
            u, v, w = _spin(cosine, x, y, z, mx, my, mz)
            u, v, w = (
                R[0, 0] * u + R[0, 1] * v + R[0, 2] * w,
                R[1, 0] * u + R[1, 1] * v + R[1, 2] * w,
                R[2, 0] * u + R[2, 1] * v + R[2, 2] * w,
            )
            set_pull(r, tree.gravity, f * (m[0] + u), f * (m[1] + v), f * (m[2] + w))
        if change <= _TURNED:
            break
        u, v, w = _turn_back(R, L[3], L[4], L[5])
        u, v, w = _spin(cosine, -x, -y, -z, u, v, w)
        u, v, w = u - tx, v - ty, w - tz
        u, v, w = (
            T[0, 0] * u + T[0, 1] * v + T[0, 2] * w,
            T[1, 0] * u + T[1, 1] * v + T[1, 2] * w,
            T[2, 0] * u + T[2, 1] * v + T[2, 2] * w,
        )
        u, v, w = I[0] * u + I[3] * v + I[4] * w, I[3] * u + I[1] * v + I[5] * w, I[4] * u + I[5] * v + I[2] * w
        u, v, w = _turn_back(T, u, v, w)
        wx, wy, wz = end[o] + u, end[o + 1] + v, end[o + 2] + w
    return first


@inline
def _turn_back(A, x, y, z):
    """A vector of the world in the axes A."""
    return (
        A[0, 0] * x + A[1, 0] * y + A[2, 0] * z,
        A[0, 1] * x + A[1, 1] * y + A[2, 1] * z,
        A[0, 2] * x + A[1, 2] * y + A[2, 2] * z,
    )


@inline
def _spin(c, x, y, z, u, v, w):
    """The vector u v w turned by the quaternion of c and x y z."""
    i, j, k = 2.0 * (y * w - z * v), 2.0 * (z * u - x * w), 2.0 * (x * v - y * u)
    return u + c * i + (y * k - z * j), v + c * j + (z * i - x * k), w + c * k + (x * j - y * i)
