"""Vectors and rotations as tuples of numbers, in compiled code; rotations row by row."""

from __future__ import annotations

import math

from setsu.native.control_flow import inline

__all__ = [
    "add_wrench",
    "back_product",
    "body_motion",
    "body_pose",
    "cross",
    "dot",
    "length",
    "matrix",
    "minus",
    "plus",
    "product",
    "scaled",
    "second_vector",
    "turned",
    "turned_back",
    "vector",
]


@inline
def cross(a, b):
    """a x b."""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@inline
def dot(a, b):
    """a·b."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@inline
def plus(a, b):
    """a + b."""
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


@inline
def minus(a, b):
    """a - b."""
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


@inline
def scaled(a, s):
    """a s."""
    return a[0] * s, a[1] * s, a[2] * s


@inline
def length(a):
    return math.sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2])


@inline
def turned(R, a):
    """R a for a rotation given row by row."""
    return (
        R[0] * a[0] + R[1] * a[1] + R[2] * a[2],
        R[3] * a[0] + R[4] * a[1] + R[5] * a[2],
        R[6] * a[0] + R[7] * a[1] + R[8] * a[2],
    )


@inline
def turned_back(R, a):
    return (
        R[0] * a[0] + R[3] * a[1] + R[6] * a[2],
        R[1] * a[0] + R[4] * a[1] + R[7] * a[2],
        R[2] * a[0] + R[5] * a[1] + R[8] * a[2],
    )


@inline
def product(A, B):
    x = turned(A, (B[0], B[3], B[6]))
    y = turned(A, (B[1], B[4], B[7]))
    z = turned(A, (B[2], B[5], B[8]))
    return x[0], y[0], z[0], x[1], y[1], z[1], x[2], y[2], z[2]


@inline
def back_product(A, B):
    """Aᵀ B."""
    x = turned_back(A, (B[0], B[3], B[6]))
    y = turned_back(A, (B[1], B[4], B[7]))
    z = turned_back(A, (B[2], B[5], B[8]))
    return x[0], y[0], z[0], x[1], y[1], z[1], x[2], y[2], z[2]


@inline
def vector(array, row):
    return array[row, 0], array[row, 1], array[row, 2]


@inline
def second_vector(array, row):
    return array[row, 3], array[row, 4], array[row, 5]


@inline
def matrix(array, row):
    return (
        array[row, 0, 0], array[row, 0, 1], array[row, 0, 2],
        array[row, 1, 0], array[row, 1, 1], array[row, 1, 2],
        array[row, 2, 0], array[row, 2, 1], array[row, 2, 2],
    )  # fmt: skip


@inline
def body_pose(poses, body):
    """Rotation, row by row, and origin of a body; -1 is the world."""
    if body < 0:
        return (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0), (0.0, 0.0, 0.0)
    return (
        poses[body, 0], poses[body, 1], poses[body, 2],
        poses[body, 4], poses[body, 5], poses[body, 6],
        poses[body, 8], poses[body, 9], poses[body, 10],
    ), (poses[body, 3], poses[body, 7], poses[body, 11])  # fmt: skip


@inline
def body_motion(motion, body):
    if body < 0:
        return (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    return vector(motion, body), second_vector(motion, body)


@inline
def add_wrench(poses, out, body, force, moment, place, sign):
    """Add a wrench at a place of the world, times a sign, to those on bodies at their origins; none for the world."""
    if body >= 0:
        _, origin = body_pose(poses, body)
        turn = cross(minus(place, origin), force)
        for i in range(3):
            out[body, i] += sign * force[i]
            out[body, 3 + i] += sign * (moment[i] + turn[i])
