"""The full parameters of bodies that can exist, as a record and as a mechanism."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setsu.identification.least_squares import Estimate
from setsu.identification.pseudo_inertia import nearest_consistent, possible_prior, pseudo_inertia
from setsu.identification.torque_model import TorqueModel
from setsu.mechanism import Body, Fixed, Mechanism

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
        m = self.model.mechanism
        moving = {name: k for k, name in enumerate(m.body_names)}
        bodies = tuple(self._changed(body, moving.get(body.name)) for body in m.bodies)
        return replace(m, bodies=bodies)

    def _changed(self, body: Body, index: int | None) -> Body:
        if index is None:
            assert isinstance(body.joint, Fixed)
            on_world = self.model.mechanism.frame(body.name).body < 0
            return body if on_world else replace(body, mass=0.0, inertia=(0.0,) * 6)
        mass, *rest = self.parameters[10 * index : 10 * index + 10].tolist()
        center = np.array(rest[:3]) / mass
        xx, xy, yy, xz, yz, zz = rest[3:]
        about_origin = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        inertia = about_origin - mass * (center @ center * np.eye(3) - np.outer(center, center))
        where = self.model.mechanism.v_slices[index]
        joint = replace(
            body.joint,
            **{_FIELDS[term]: self.terms[term][where].tolist() for term in self.model.terms if term in _FIELDS},
        )
        return replace(
            body,
            joint=joint,
            mass=mass,
            center_of_mass=tuple(center.tolist()),
            inertia=tuple(inertia[i, j] for i, j in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))),
        )


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
