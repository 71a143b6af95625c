"""How far rounding alone may move a result: c κ ε times the largest number it was made of, with κ measured.

c is a small number of the order of the operations in a row, κ the condition number of the linear system solved on the
way (1 where none is solved), and the scale the largest entry among the terms: what cancels counts too.
"""

from __future__ import annotations

import numpy as np

from setsu.constraints.system import constraint_system
from setsu.mechanism import Mechanism

EPSILON = float(np.finfo(float).eps)


def watch(measured: float, allowed: float) -> None:
    """Called with every comparison: the place where `pytest --roundings` listens."""


def rounding(terms: list[np.ndarray], c: float, condition: float = 1.0) -> float:
    """Largest error that rounding is allowed: c κ ε of the largest entry among the terms."""
    return c * condition * EPSILON * _scale(terms)


def assert_law(left: np.ndarray, right: np.ndarray, terms: list[np.ndarray], c: float, condition: float = 1.0) -> None:
    """Both sides agree within c κ ε of the largest entry among the terms, over all states."""
    limit = rounding(terms, c, condition)
    error = float(np.abs(np.asarray(left) - right).max(initial=0.0))
    watch(error, limit)
    assert error <= limit, f"error {error:.2e}, allowed {limit:.2e} = {c:g} x {condition:.1e} x ε x {_scale(terms):.2e}"


def assert_in_cones(forces: np.ndarray, friction: float, c: float, condition: float = 1.0) -> None:
    """Forces or impulses (n, t1, t2) per row press and stay within K n, each within rounding of their scale.

    Which of several equal answers is found, and on which side of zero the last bit of a force falls that is zero, is
    the processor's choice.
    """
    forces = np.reshape(forces, (-1, 3))
    limit = rounding([forces], c, condition)
    pull = float(-forces[:, 0].min(initial=0.0))
    beyond = float((np.hypot(forces[:, 1], forces[:, 2]) - friction * forces[:, 0]).max(initial=0.0))
    watch(max(pull, beyond), limit)
    assert pull <= limit, f"a normal force pulls by {pull:.2e}, allowed {limit:.2e}"
    assert beyond <= limit, f"friction exceeds its cone by {beyond:.2e}, allowed {limit:.2e}"


def condition_of(matrix: np.ndarray) -> float:
    """Condition number of a symmetric matrix on its range: largest over smallest singular value above rounding."""
    values = np.linalg.svd(matrix, compute_uv=False)
    return float(values[0] / values[values > len(values) * EPSILON * values[0]].min())


def opening(mechanism: Mechanism, q: np.ndarray, c: float = 4.0) -> float:
    """How far loops may stay open by rounding: c ε per body of the mechanism's length, more as angles are large.

    Poses are products along the bodies; an angle θ is known to ε θ and moves what hangs on it by as much of a length.
    """
    return c * mechanism.n_bodies * EPSILON * constraint_system(mechanism).length * (1.0 + float(np.abs(q).max()))


def _scale(terms: list[np.ndarray]) -> float:
    return max(float(np.abs(term).max(initial=0.0)) for term in terms)
