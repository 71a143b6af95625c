"""The full parameters of bodies that can exist, as a record and as a mechanism."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setsu.identification.least_squares import Estimate
from setsu.identification.pseudo_inertia import nearest_consistent, possible_prior, pseudo_inertia
from setsu.identification.torque_model import TorqueModel
from setsu.identification.with_parameters import with_parameters
from setsu.mechanism import Mechanism

__all__ = ["PhysicallyConsistent", "physically_consistent"]

Floats = NDArray[np.float64]

_SIGN_BOUND = ("drive", "viscous", "coulomb")
_FIELDS = {"drive": "armature", "viscous": "damping", "coulomb": "coulomb"}


@dataclass(frozen=True)
class PhysicallyConsistent:
    """Inertial parameters (10 n_bodies,) with a positive definite pseudo-inertia for every body; true when that holds.

    pseudo_inertias: (n_bodies, 4, 4). base_parameters: the base parameters they amount to (b,).
    terms: drive inertia and friction by name, (nv,) each. deviation: root mean square distance of base_parameters from
    the least-squares ones in units of their standard deviations, correlations included. Where an array is expected the
    record stands for its inertial parameters.
    """

    model: TorqueModel
    parameters: Floats
    pseudo_inertias: Floats
    base_parameters: Floats
    terms: dict[str, Floats]
    deviation: float

    def __bool__(self) -> bool:
        return bool(np.linalg.eigvalsh(self.pseudo_inertias).min() > 0.0)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Floats:
        return np.array(self.parameters, dtype=dtype)

    def to_mechanism(self) -> Mechanism:
        """Return the mechanism with these inertias, drive inertias and frictions.

        What bodies behind fixed joints weigh is part of the body that carries them: they become massless. An offset is
        no property of a mechanism and is left out.
        """
        values = {_FIELDS[term]: values for term, values in self.terms.items() if term in _FIELDS}
        return with_parameters(self.model.mechanism, self.parameters, values)


def physically_consistent(model: TorqueModel, estimate: Estimate, weight: float) -> PhysicallyConsistent:
    """Find the parameters nearest to the mechanism's own among those that explain the data."""
    n = model.n_inertial
    prior = model.prior.copy()
    prior[:n] = possible_prior(prior[:n])
    positive = np.concatenate(
        [np.full(model.mechanism.nv, term in _SIGN_BOUND) for term in model.terms] or [np.zeros(0, dtype=bool)]
    )
    found = nearest_consistent(model.matrix, estimate.parameters, estimate.covariance, prior, positive, weight)
    return PhysicallyConsistent(
        model=model,
        parameters=found.parameters[:n],
        pseudo_inertias=pseudo_inertia(found.parameters[:n]),
        base_parameters=model.matrix @ found.parameters,
        terms={term: found.parameters[model.columns_of(term)] for term in model.terms},
        deviation=found.deviation,
    )
