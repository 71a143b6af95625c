"""Is an inertia that of a real body, which inequality fails if not, and the nearest inertia that is one.

Symbols, about the center of mass in body axes:
    I          rotational inertia, 3x3, kg m²
    J1<=J2<=J3 principal moments, the eigenvalues of I
    E          second moment of mass, ∫ x xᵀ dm = tr(I)/2 · 1 - I, 3x3, kg m²

A body made of non-negative mass has E positive semi-definite, which says the same as

    J1 >= 0  and  J1 + J2 >= J3                                                        (1)

Repair replaces the negative eigenvalues of E by zero: the nearest E that is possible, in the Frobenius norm,
with I = tr(E) · 1 - E.                                                                (2)

Source: Wensing, Kim, Slotine, "Linear Matrix Inequalities for Physically Consistent Inertial Parameter
Identification", IEEE Robotics and Automation Letters 3(1), 2018.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setsu.errors import InputError
from setsu.spatial import finite_vector, real_array

__all__ = ["InertiaReport", "inertia_report", "repair_inertia", "symmetric_inertia"]

RELATIVE_TOLERANCE = 1e-9
"""Slack of the inequalities, as a part of the largest moment: files carry six to ten digits at best."""


@dataclass(frozen=True)
class InertiaReport:
    """Whether a mass and inertia are those of a real body; `problems` names each violated inequality, with numbers."""

    name: str
    valid: bool
    problems: tuple[str, ...]
    principal_moments: tuple[float, float, float]

    def __str__(self) -> str:
        if self.valid:
            return f'body "{self.name}": inertia is physically consistent'
        return f'body "{self.name}": ' + "; ".join(self.problems)


def symmetric_inertia(inertia: ArrayLike | None, what: str) -> NDArray[np.float64]:
    """Return a 3x3 inertia (kg m²) checked for shape, finiteness and symmetry; None is a point mass.

    A matrix that is symmetric up to 1e-9 of its largest entry is made exactly so; a more skewed one is refused.
    """
    if inertia is None:
        return np.zeros((3, 3))
    try:
        matrix = real_array(inertia)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{what}: expected a 3x3 matrix (kg m²), got {inertia!r}") from None
    if matrix.shape != (3, 3):
        raise InputError(f"{what}: expected a 3x3 matrix (kg m²), got an array of shape {matrix.shape}")
    if not np.isfinite(matrix).all():
        raise InputError(f"{what}: expected finite numbers, got {matrix.tolist()}")
    skewness = np.abs(matrix - matrix.T)
    if not skewness.any():
        return matrix + 0.0
    row, column = (int(index) for index in np.unravel_index(int(np.argmax(skewness)), (3, 3)))
    if skewness[row, column] > RELATIVE_TOLERANCE * np.abs(matrix).max():
        raise InputError(
            f"{what}: expected a symmetric matrix, got entries [{row}, {column}] = {matrix[row, column]} "
            f"and [{column}, {row}] = {matrix[column, row]}"
        )
    return 0.5 * matrix + 0.5 * matrix.T


def inertia_report(
    mass: float, center_of_mass: ArrayLike, inertia: ArrayLike | None, name: str = "body"
) -> InertiaReport:
    """Check (1) for a mass (kg) and a 3x3 inertia about the center of mass (kg m²).

    A point mass (no inertia) and a rod (one moment zero, the others equal) are real bodies. So is, as a limit, a
    spinning part whose mass is counted elsewhere: zero mass with an inertia that satisfies (1).

    >>> inertia_report(1.0, (0, 0, 0), np.diag([0.1, 0.2, 0.4]), "link").problems[0]
    'Ixx + Iyy >= Izz violated: 0.1 + 0.2 < 0.4'
    """
    what = f'body "{name}"'
    if not np.isfinite(mass):
        raise InputError(f"{what} mass: expected a finite number (kg), got {mass!r}")
    finite_vector(center_of_mass, 3, f"{what} center_of_mass")
    matrix = symmetric_inertia(inertia, f"{what} inertia")
    problems = [] if mass >= 0.0 else [f"mass >= 0 violated: {mass:g} < 0"]
    xx, yy, zz = (float(entry) for entry in np.diag(matrix))
    if matrix[0, 1] == 0.0 and matrix[0, 2] == 0.0 and matrix[1, 2] == 0.0:
        labelled = sorted([(xx, "Ixx"), (yy, "Iyy"), (zz, "Izz")])
        note = ""
    else:
        eigenvalues = np.linalg.eigvalsh(matrix).tolist()
        labelled = [(moment, f"J{index}") for index, moment in enumerate(eigenvalues, start=1)]
        note = " (J1, J2, J3: principal moments; diagonal of the matrix: " + f"{xx:.6g}, {yy:.6g}, {zz:.6g})"
    (j1, name1), (j2, name2), (j3, name3) = labelled
    slack = RELATIVE_TOLERANCE * max(abs(j1), abs(j3))
    problems += [f"{label} >= 0 violated: {moment:.6g} < 0{note}" for moment, label in labelled if moment < -slack]
    if j1 + j2 < j3 - slack:
        problems.append(f"{name1} + {name2} >= {name3} violated: {j1:.6g} + {j2:.6g} < {j3:.6g}{note}")
    return InertiaReport(name, not problems, tuple(problems), (j1, j2, j3))


def repair_inertia(mass: float, center_of_mass: ArrayLike, inertia: ArrayLike | None) -> NDArray[np.float64]:
    """Return the nearest inertia about the center of mass (3x3, kg m²) that a real body can have, by (2).

    An inertia that is valid already comes back as it is.

    >>> repair_inertia(1.0, (0, 0, 0), np.diag([1.0, 1.0, 4.0])).diagonal().tolist()
    [2.0, 2.0, 4.0]
    """
    matrix = symmetric_inertia(inertia, "inertia")
    if not (np.isfinite(mass) and mass >= 0.0):
        raise InputError(f"repair_inertia mass: expected a number of kg, at least 0, got {mass}")
    if inertia_report(mass, center_of_mass, matrix).valid:
        return matrix
    second_moment = 0.5 * np.trace(matrix) * np.eye(3) - matrix
    moments, axes = np.linalg.eigh(second_moment)
    possible = (axes * np.maximum(moments, 0.0)) @ axes.T
    possible = 0.5 * (possible + possible.T)
    return np.trace(possible) * np.eye(3) - possible
