"""Arguments of the constraint functions as arrays of one common batch shape, or the error in them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setsu.errors import InputError, nearest_names
from setsu.mechanism import Mechanism
from setsu.mechanism.joints import Free, Spherical
from setsu.mechanism.velocity_names import coordinate_names, velocities_by_name
from setsu.spatial import listed

__all__ = ["checked_arrays", "coordinate_names", "velocity_indices"]

Floats = NDArray[np.float64]


def checked_arrays(
    function: str, mechanism: Mechanism, arrays: Sequence[tuple[str, ArrayLike, tuple[int, ...]]]
) -> tuple[list[Floats], tuple[int, ...]]:
    """Return arrays (name, value, shape of one state) broadcast to their common leading axes, and those axes.

    Raises:
        InputError: not a mechanism, wrong shape, numbers that are not finite, quaternions of zeros.
    """
    if not isinstance(mechanism, Mechanism):
        raise InputError(
            f"{function}: expected a Mechanism (from setsu.load or MechanismBuilder), got {mechanism!r:.80}"
        )
    taken: list[Floats] = []
    for name, value, shape in arrays:
        numbers = _numbers(function, name, value)
        extra = numbers.ndim - len(shape)
        if extra < 0 or numbers.shape[extra:] != shape:
            raise InputError(
                f"{function}: {name}: expected shape (..., {', '.join(map(str, shape))}) for {mechanism.name}, "
                f"got {numbers.shape}"
            )
        if not np.isfinite(numbers).all():
            where = [int(place) for place in np.argwhere(~np.isfinite(numbers))[0]]
            raise InputError(f"{function}: {name}{where} is {numbers[tuple(where)]}, expected finite numbers")
        if name == "q":
            _refuse_zero_quaternions(function, mechanism, numbers)
        taken.append(numbers)
    leading = [numbers.shape[: numbers.ndim - len(shape)] for numbers, (_, _, shape) in zip(taken, arrays, strict=True)]
    try:
        batch = leading[0] if len(set(leading)) == 1 else np.broadcast_shapes(*leading)
    except ValueError:
        listed = ", ".join(f"{name} {axes}" for (name, _, _), axes in zip(arrays, leading, strict=True))
        raise InputError(f"{function}: leading axes do not broadcast against each other: {listed}") from None
    full = [
        # Most arrays are whole already, and a broadcast takes as long as checking them.
        np.ascontiguousarray(numbers if axes == batch else np.broadcast_to(numbers, (*batch, *shape)))
        for numbers, axes, (_, _, shape) in zip(taken, leading, arrays, strict=True)
    ]
    return full, batch


def velocity_indices(mechanism: Mechanism, names: Sequence[str] | str, what: str) -> list[int]:
    """Return the velocities that names of joints, or of single velocities such as "base.vz", stand for."""
    if isinstance(names, str):
        names = (names,)
    known = velocities_by_name(mechanism)
    indices: list[int] = []
    for name in listed(names, what, "joint names"):
        if not isinstance(name, str) or name not in known:
            raise InputError(f"{what}: unknown joint {name!r} in {mechanism.name}{nearest_names(str(name), known)}")
        indices.extend(known[name])
    return sorted(set(indices))


def _numbers(function: str, name: str, value: ArrayLike) -> Floats:
    try:
        given = np.asarray(value)
        # NumPy would read text as numbers and drop imaginary parts.
        if given.dtype.kind in "biufO":
            return np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        pass
    raise InputError(f"{function}: {name}: expected real numbers, got {type(value).__name__} {value!r:.80}")


def _refuse_zero_quaternions(function: str, m: Mechanism, q: Floats) -> None:
    for body, where in zip(m.moving, m.q_slices, strict=True):
        if isinstance(body.joint, (Spherical, Free)) and (q[..., where.stop - 4 : where.stop] == 0.0).all(-1).any():
            raise InputError(
                f'{function}: q[{where.stop - 4}:{where.stop}], the quaternion of joint "{body.joint.name}", is all '
                "zeros; expected x y z w"
            )
