"""The result of a minimum-parameter analysis: which parameters, how they combine, and the check of their torques."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setsu.constraints.system import constraint_system
from setsu.dynamics import inertial_parameters, regressor
from setsu.mechanism import Mechanism
from setsu.minimum_parameters.parameter_names import latex, parameter_names

__all__ = ["MinimumParameters"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class MinimumParameters:
    """The minimum dynamic parameters of a mechanism: the fewest combinations that its joint torques depend on.

    Attributes:
        mechanism: what was analysed.
        names: one readable combination per parameter, for example "MSx_3 - a3p/a3*MSx_3p"; the first term is the
            parameter whose column stands for the combination.
        matrix: (count, 10 n_bodies): matrix @ inertial_parameters(mechanism) = values.
        independent: (count,) columns of the regressor that are kept: regressor[:, independent] @ values is the
            torque, projected on the loops' free motions where there are loops.
        method: how it was found: "identity" (exact, proved as an identity of functions), "points" (joint by joint,
            the rest at random points modulo primes), "field" (exact modulo primes on the loops' solutions), "numeric".
        terms: per parameter its combination as pairs (factor, name), factors as texts with their sign.
        reference: (nq,) configuration on the assembly branch that was analysed.
    """

    mechanism: Mechanism
    names: tuple[str, ...]
    matrix: Floats
    independent: NDArray[np.int64]
    method: str
    terms: tuple[tuple[tuple[str, str], ...], ...]
    reference: Floats = field(repr=False)

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self.names)

    @property
    def values(self) -> Floats:
        """Their values for the mechanism as it is, (count,); kg, kg m, kg m²."""
        return self.matrix @ inertial_parameters(self.mechanism)

    @property
    def independent_names(self) -> tuple[str, ...]:
        """Names of the parameters whose columns are kept."""
        names = parameter_names(self.mechanism)
        return tuple(names[column] for column in self.independent)

    @property
    def without_effect(self) -> tuple[str, ...]:
        """Names of the parameters that enter no combination: no torque depends on them."""
        names = parameter_names(self.mechanism)
        return tuple(name for name, column in zip(names, self.matrix.T, strict=True) if not column.any())

    def regressor(self, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> Floats:
        """Return the columns of the tree's regressor that are kept, (..., nv, count)."""
        return regressor(self.mechanism, q, v, a)[..., self.independent]

    def full_parameters(self, values: ArrayLike | None = None) -> Floats:
        """Return inertial parameters (10 n_bodies,) with the same torques: values in place, zeros elsewhere."""
        full = np.zeros(self.matrix.shape[1])
        full[self.independent] = self.values if values is None else np.asarray(values, dtype=np.float64)
        return full

    def torque_error(self, seed: int = 0, count: int = 20) -> float:
        """Return the largest change of a torque by using the minimum parameters, relative to the largest torque.

        Random states of the analysed branch, with velocities and accelerations that keep the loops.
        """
        from setsu.minimum_parameters.assembly_branch import branch_points, free_velocities

        m = self.mechanism
        system = constraint_system(m)
        rng = np.random.default_rng(seed)
        # Random inertias rather than the mechanism's own: symmetric bodies could hide a wrong combination.
        theta = rng.standard_normal(10 * m.n_bodies)
        sigma = self.matrix @ theta
        worst = largest = 0.0
        for q in branch_points(m, self.reference, count, seed):
            J = free_velocities(system, q)[0]
            v = J @ rng.standard_normal(J.shape[1])
            a = J @ rng.standard_normal(J.shape[1])
            if system.n_rows:
                rows = system.linearise(q, v)
                a = a - np.linalg.lstsq(rows.jacobian, rows.jacobian @ a + rows.velocity_term, rcond=None)[0]
            Y = regressor(m, q, v, a)
            full, minimum = J.T @ (Y @ theta), J.T @ (Y[:, self.independent] @ sigma)
            worst = max(worst, float(np.abs(full - minimum).max(initial=0.0)))
            largest = max(largest, float((np.abs(J.T) @ (np.abs(Y) @ np.abs(theta))).max(initial=0.0)))
        return worst / largest if largest else 0.0

    def to_latex(self) -> str:
        """Return the list as a LaTeX array, one parameter per line."""
        lines = [rf"  {number} & {latex(name)} \\" for number, name in enumerate(self.names, start=1)]
        return "\n".join([r"\begin{array}{rl}", *lines, r"\end{array}"])

    def to_json(self) -> str:
        """Return everything as JSON text."""
        return json.dumps(
            {
                "mechanism": self.mechanism.name,
                "count": self.count,
                "original": self.matrix.shape[1],
                "method": self.method,
                "parameters": [
                    {"name": name, "kept": kept, "value": value, "terms": [list(term) for term in terms]}
                    for name, kept, value, terms in zip(
                        self.names, self.independent_names, self.values.tolist(), self.terms, strict=True
                    )
                ],
                "without_effect": list(self.without_effect),
            },
            indent=2,
        )

    def __str__(self) -> str:
        width = len(str(self.count))
        return "\n".join(f"{number:{width}d}  {name}" for number, name in enumerate(self.names, start=1))
