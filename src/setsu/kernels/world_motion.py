"""Steps shared by the kernels that work on pairs of velocities: spatial vectors in world axes about one point.

All links of a tree use one reference point O, the origin of the tree's first link, so that the velocity d of an
ancestor and the force of a descendant multiply without a transformation. Where a tree stands in the world then does not
enter, and nothing is lost far from the world's origin. (Kernels over several trees use the world's origin instead.)

| symbol | meaning | unit |
|---|---|---|
| R, x | rotation of a link, its origin relative to O | -, m |
| S | motion of a joint velocity: (velocity at O, angular velocity) | |
| V | spatial velocity (at O, angular) | m/s, rad/s |
| A | spatial acceleration, gravity counted as an acceleration of the world | m/s², rad/s² |
| m, h, E | mass, first moment and second moments about O | kg, kg m, kg m² |

    S = (R s_l + x x R s_a, R s_a)                                            (1)
    V_j = V_i + Σ S v,   A_j = A_i + V_j x Σ S v + Σ S a                      (2)
    h = m x + R s,   E = R Σ Rᵀ + x (R s)ᵀ + (R s) xᵀ + m x xᵀ                (3)
    I (v, w) = (m v + w x h, J w + h x v),  J = tr(E) 1 - E                   (4)

Source: Featherstone, Rigid Body Dynamics Algorithms (2008), ch. 2 and 5, with linear parts first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from setsu.kernels.joint_forces import as_scalar_or_tuple, as_tuple
from setsu.kernels.joints import joint_columns, joint_pose
from setsu.kernels.vectors import (
    IDENTITY,
    ZERO,
    Scalar,
    Symmetric,
    Vector,
    add,
    cross,
    inertia_times,
    multiply,
    rotate,
    scale,
    turn_symmetric,
)

__all__ = [
    "BODY_FIELDS",
    "FRAME_FIELDS",
    "combine",
    "cross_force",
    "cross_motion",
    "each",
    "gather_body",
    "inertia_about_reference",
    "outward_columns",
    "outward_frame",
    "outward_frame_absolute",
    "per_column",
    "start_body",
    "start_frame",
    "times_inertia",
]

FRAME_FIELDS = {"R": 9, "x": 3}
BODY_FIELDS = {"m": 1, "h": 3, "E": 6}

Spatial = tuple[Scalar, Scalar, Scalar, Scalar, Scalar, Scalar]


def start_frame(world: Any) -> None:
    """The world frame."""
    world.R, world.x = IDENTITY, ZERO


def outward_frame(link: Any) -> None:
    """Rotation of the link, and its origin relative to the tree's first link."""
    R, p = joint_pose(link)
    link.x = add(link.parent.x, rotate(link.parent.R, scale(p, link.carried)))
    link.R = multiply(link.parent.R, R)


def outward_frame_absolute(link: Any) -> None:
    """Rotation and origin of the link in the world, for sums over several trees."""
    R, p = joint_pose(link)
    link.x = add(link.parent.x, rotate(link.parent.R, p))
    link.R = multiply(link.parent.R, R)


def outward_columns(link: Any) -> None:
    """Motion of each joint velocity (1)."""
    columns = []
    for linear, angular in joint_columns(link):
        a = rotate(link.R, angular)
        columns.append((*add(rotate(link.R, linear), cross(link.x, a)), *a))
    link.S = as_scalar_or_tuple(tuple(columns))


def each(values: tuple) -> tuple[tuple, ...]:
    """Vectors per velocity of a joint as a tuple of vectors also for one velocity."""
    return values if isinstance(values[0], tuple) else (values,)


def per_column(link: Any, function: Callable[[tuple], tuple]) -> Any:
    """Apply a function to each column of the joint; the result in the form views take."""
    return as_scalar_or_tuple(tuple(function(column) for column in each(link.S)))


def combine(link: Any, rates: Any) -> Spatial:
    """Sum of columns times rates."""
    total: Any = (0.0,) * 6
    for column, rate in zip(each(link.S), as_tuple(rates), strict=True):
        total = add(total, scale(column, rate))
    return total


def start_body(world: Any) -> None:
    """Nothing gathered yet."""
    world.m, world.h, world.E = 0.0, ZERO, (0.0,) * 6


def inertia_about_reference(link: Any) -> None:
    """Inertia of the link about O (3)."""
    x, m = link.x, link.mass
    s = rotate(link.R, link.moment)
    E = turn_symmetric(link.R, link.second_moment)
    # x sᵀ + s xᵀ + m x xᵀ = x (s + m x / 2)ᵀ + (s + m x / 2) xᵀ
    y = add(s, scale(x, 0.5 * m))
    mixed = (
        2.0 * x[0] * y[0], x[0] * y[1] + x[1] * y[0], x[0] * y[2] + x[2] * y[0],
        2.0 * x[1] * y[1], x[1] * y[2] + x[2] * y[1], 2.0 * x[2] * y[2],
    )  # fmt: skip
    link.m, link.h, link.E = m, add(s, scale(x, m)), add(E, mixed)


def gather_body(link: Any) -> None:
    """Add the inertia of the subtree to the parent's."""
    parent = link.parent
    parent.m, parent.h, parent.E = parent.m + link.m, add(parent.h, link.h), add(parent.E, link.E)


def times_inertia(m: Scalar, h: Vector, E: Symmetric, motion: tuple) -> Spatial:
    """Momentum or force of a motion (4)."""
    v, w = motion[:3], motion[3:]
    return (*add(scale(v, m), cross(w, h)), *add(inertia_times(E, w), cross(h, v)))


def cross_motion(a: tuple, b: tuple) -> Spatial:
    """a x b for motions."""
    return (*add(cross(a[3:], b[:3]), cross(a[:3], b[3:])), *cross(a[3:], b[3:]))


def cross_force(a: tuple, f: tuple) -> Spatial:
    """a x* f: motion on force."""
    return (*cross(a[3:], f[:3]), *add(cross(a[3:], f[3:]), cross(a[:3], f[:3])))
