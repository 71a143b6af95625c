"""What inverse kinematics is asked for: frames and the centre of mass in their places, loops closed.

| symbol | meaning | unit | frame |
|---|---|---|---|
| p, R | place of a point of a frame, rotation of the frame; * wanted | m, - | world |
| e | error of a task, wanted less present | m, rad | world |
| J | its Jacobian: de = -J dv to first order | | |

    e = (p* - p, log(R* Rᵀ)),   J = frame Jacobian at the point                        (1)
    e = c* - c,                 J = Jacobian of the centre of mass                     (2)
    e = -position error of loops and couplings, J = their rows                         (3)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setsu.constraints import constraint_system
from setsu.dynamics import center_of_mass, center_of_mass_jacobian, frame_jacobian, frame_pose, point_jacobian
from setsu.dynamics.numbers import finite_array
from setsu.errors import InputError
from setsu.lie_groups import rotation_log
from setsu.mechanism import Mechanism

__all__ = ["CENTER_OF_MASS", "FrameTarget", "Tasks", "make_tasks"]

Floats = NDArray[np.float64]
CENTER_OF_MASS = "center_of_mass"
# Loops come first: a tenth of a millimetre of theirs counts as much as a millimetre of a task.
_LOOP_WEIGHT = 10.0


@dataclass(frozen=True)
class FrameTarget:
    """Where a frame should be, in part: `position` (..., 3), m, of its `point`, `rotation` (..., 3, 3), or both.

    weight: of this task's errors against those of others where not all can be met; rotation_weight (m/rad): of radians
    against metres.
    """

    position: ArrayLike | None = None
    rotation: ArrayLike | None = None
    point: ArrayLike = (0.0, 0.0, 0.0)
    weight: float = 1.0
    rotation_weight: float = 1.0


@dataclass(frozen=True)
class _Frame:
    frame: str
    position: Floats | None  # (count, 3)
    rotation: Floats | None  # (count, 3, 3)
    point: Floats
    weights: Floats  # (rows,)

    def error(self, m: Mechanism, q: Floats, rows: NDArray[np.intp]) -> Floats:
        """Wanted less present (1), (n, k)."""
        T = frame_pose(m, q, self.frame)
        errors = []
        if self.position is not None:
            place = T[:, :3, :3] @ self.point + T[:, :3, 3] if self.point.any() else T[:, :3, 3]
            errors.append(self.position[rows] - place)
        if self.rotation is not None:
            errors.append(_turn(self.rotation[rows] @ np.swapaxes(T[:, :3, :3], 1, 2)))
        return np.concatenate(errors, axis=1)

    def jacobian(self, m: Mechanism, q: Floats) -> Floats:
        """J of (1), (n, k, nv)."""
        if self.rotation is None:
            return point_jacobian(m, q, self.frame, self.point)
        J = frame_jacobian(m, q, self.frame, self.point)
        return J if self.position is not None else J[:, 3:]


def _turn(R: Floats) -> Floats:
    """Rotation vectors (n, 3) of rotations (n, 3, 3): `rotation_log`, in fewer operations but near half a turn."""
    skew = 0.5 * (R - np.swapaxes(R, 1, 2))[:, [2, 0, 1], [1, 2, 0]]
    sine = np.sqrt(np.einsum("ni,ni->n", skew, skew))
    cosine = 0.5 * (np.einsum("nii->n", R) - 1.0)
    ratio = np.where(sine > 1e-9, np.arctan2(sine, cosine) / np.maximum(sine, 1e-9), 1.0)
    result = skew * ratio[:, None]
    half = (sine < 1e-3) & (cosine < 0.0)
    if half.any():
        result[half] = rotation_log(R[half])
    return result


@dataclass(frozen=True)
class _Center:
    position: Floats
    weights: Floats

    def error(self, m: Mechanism, q: Floats, rows: NDArray[np.intp]) -> Floats:
        """Wanted less present (2), (n, 3)."""
        return self.position[rows] - center_of_mass(m, q)

    def jacobian(self, m: Mechanism, q: Floats) -> Floats:
        """J of (2), (n, 3, nv)."""
        return center_of_mass_jacobian(m, q)


@dataclass(frozen=True)
class Tasks:
    """All tasks of a batch of `count` problems.

    names: of the tasks, in the order of their rows; parts: rows of each. n_rows: of all tasks, loops not counted.
    """

    mechanism: Mechanism
    names: tuple[str, ...]
    tasks: tuple[Any, ...]
    parts: tuple[slice, ...]
    n_rows: int
    batch: tuple[int, ...]
    count: int

    def evaluate(self, q: Floats, rows: NDArray[np.intp]) -> tuple[Floats, Floats, Floats, Floats]:
        """Return errors (n, k) and Jacobian (n, k, nv), weighted, and the plain errors of tasks and of loops.

        q (n, nq): postures of the problems `rows`.
        """
        m = self.mechanism
        found = [task.error(m, q, rows) for task in self.tasks]
        plain = np.concatenate(found, axis=1)
        weighted = [e * task.weights for e, task in zip(found, self.tasks, strict=True)]
        jacobians = [task.jacobian(m, q) * task.weights[:, None] for task in self.tasks]
        loops = np.zeros((len(q), 0))
        if m.loops or m.couplings:
            G, error = constraint_system(m).placed_jacobian_and_error(q)  # (3)
            loops = error
            weighted.append(-_LOOP_WEIGHT * error)
            jacobians.append(_LOOP_WEIGHT * G)
        return np.concatenate(weighted, axis=1), np.concatenate(jacobians, axis=1), plain, loops

    def errors(self, q: Floats, rows: NDArray[np.intp]) -> Floats:
        """Return the plain errors of the tasks (n, k) in postures q (n, nq) of the problems `rows`."""
        return np.concatenate([task.error(self.mechanism, q, rows) for task in self.tasks], axis=1)


def make_tasks(
    mechanism: Mechanism,
    function: str,
    targets: Mapping[str, Any],
    weights: Mapping[str, float] | None,
    center: ArrayLike | None,
    others: tuple[tuple[int, ...], ...] = (),
) -> Tasks:
    """Return the tasks of checked targets; leading axes of all of them broadcast.

    others: leading axes of further arguments.
    """
    m = mechanism
    if not isinstance(targets, Mapping):
        raise InputError(f"{function}: targets: expected a dict frame name -> pose or point, got {targets!r:.80}")
    if not targets and center is None:
        raise InputError(f"{function}: targets: expected at least one frame or a center_of_mass")
    wanted = {name: _target(m, function, name, value) for name, value in targets.items()}
    given = dict(weights or {})
    for name in given:
        if name not in wanted and name != CENTER_OF_MASS:
            raise InputError(f"{function}: weights: expected names of targets or {CENTER_OF_MASS}, got {name!r}")
    com = None if center is None else finite_array(center, (3,), f"{function}: center_of_mass")
    leading = [*others, *([] if com is None else [com.shape[:-1]])]
    for position, rotation, *_ in wanted.values():
        leading += [part.shape[:-k] for part, k in ((position, 1), (rotation, 2)) if part is not None]
    try:
        batch = np.broadcast_shapes(*leading)
    except ValueError:
        listed = ", ".join(map(str, leading))
        raise InputError(f"{function}: leading axes of the arguments do not broadcast: {listed}") from None
    count = int(np.prod(batch))

    def flat(part: Floats | None, shape: tuple[int, ...]) -> Any:
        return None if part is None else np.array(np.broadcast_to(part, (*batch, *shape))).reshape(-1, *shape)

    names, tasks, parts, start = [], [], [], 0
    for name, (position, rotation, point, weight, turning) in wanted.items():
        weight *= _positive(given.get(name, 1.0), f"{function}: weights[{name!r}]")
        rows = np.concatenate(
            [[weight] * 3 if position is not None else [], [weight * turning] * 3 if rotation is not None else []]
        )
        tasks.append(_Frame(name, flat(position, (3,)), flat(rotation, (3, 3)), point, rows))
        names.append(name)
        parts.append(slice(start, start + len(rows)))
        start += len(rows)
    if com is not None:
        weight = _positive(given.get(CENTER_OF_MASS, 1.0), f"{function}: weights[{CENTER_OF_MASS!r}]")
        tasks.append(_Center(flat(com, (3,)), np.full(3, weight)))
        names.append(CENTER_OF_MASS)
        parts.append(slice(start, start + 3))
        start += 3
    return Tasks(m, tuple(names), tuple(tasks), tuple(parts), start, batch, count)


def _target(m: Mechanism, function: str, name: str, value: Any) -> tuple:
    """Position, rotation, point and weights of one entry."""
    m.frame(name)
    what = f'{function}: targets["{name}"]'
    if isinstance(value, FrameTarget):
        if value.position is None and value.rotation is None:
            raise InputError(f"{what}: expected a position or a rotation, got neither")
        position = None if value.position is None else finite_array(value.position, (3,), f"{what} position")
        rotation = None
        if value.rotation is not None:
            rotation = _rotations(finite_array(value.rotation, (3, 3), f"{what} rotation"), what)
        point = finite_array(value.point, (3,), f"{what} point")
        if point.shape != (3,):
            raise InputError(f"{what} point: expected 3 numbers, got shape {point.shape}")
        weights = _positive(value.weight, f"{what} weight"), _positive(value.rotation_weight, f"{what} rotation_weight")
        return position, rotation, point, *weights
    numbers = finite_array(value, (), what)
    if numbers.ndim >= 2 and numbers.shape[-2:] == (4, 4):
        last = np.array([0.0, 0.0, 0.0, 1.0])
        if not (numbers[..., 3, :] == last).all():
            raise InputError(f"{what}: expected placements with a last row 0 0 0 1")
        return numbers[..., :3, 3], _rotations(numbers[..., :3, :3], what), np.zeros(3), 1.0, 1.0
    if numbers.ndim >= 1 and numbers.shape[-1] == 3:
        return numbers, None, np.zeros(3), 1.0, 1.0
    raise InputError(f"{what}: expected poses (..., 4, 4) or positions (..., 3), got an array of shape {numbers.shape}")


def _rotations(R: Floats, what: str) -> Floats:
    error = np.abs(R @ np.swapaxes(R, -1, -2) - np.eye(3)).max(initial=0.0)
    if error > 1e-6 or (R.size and np.linalg.det(R).min() < 0.0):
        raise InputError(f"{what}: expected rotations, orthonormal within 1e-6, got an error of {error:.3g}")
    return R


def _positive(value: object, what: str) -> float:
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        number = np.nan
    if not 0.0 < number < np.inf:
        raise InputError(f"{what}: expected a positive number, got {value!r}")
    return number
