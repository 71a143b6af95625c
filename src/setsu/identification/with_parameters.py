"""A mechanism with other inertias, drive inertias and frictions: geometry stays, numbers change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setsu.dynamics.catalogue import require_mechanism
from setsu.errors import InputError
from setsu.mechanism import Body, Mechanism

__all__ = ["with_parameters"]

Floats = NDArray[np.float64]

_JOINT_VALUES = ("armature", "damping", "coulomb")
_ORDER = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))


def with_parameters(
    mechanism: Mechanism, parameters: ArrayLike, joint_values: Mapping[str, ArrayLike] | None = None
) -> Mechanism:
    """Return the mechanism with other inertial parameters.

    Args:
        parameters: (10 n_bodies,) in the order of `inertial_parameters`: m, m c, inertia about the body origin.
        joint_values: "armature", "damping", "coulomb" by name, (nv,) each; those not given stay.

    What bodies behind fixed joints weigh is part of the body that carries them, so that they become massless.

    >>> import numpy as np, setsu
    >>> m = setsu.sample_mechanisms.puma560()
    >>> heavier = setsu.with_parameters(m, 2.0 * setsu.inertial_parameters(m))
    >>> bool(np.allclose(setsu.mass_matrix(heavier, m.neutral()), 2.0 * setsu.mass_matrix(m, m.neutral())))
    True
    """
    require_mechanism(mechanism, "with_parameters")
    m = mechanism
    try:
        theta = np.array(parameters, dtype=np.float64)
        values = {name: np.array(value, dtype=np.float64) for name, value in (joint_values or {}).items()}
    except (TypeError, ValueError, OverflowError):
        raise InputError("with_parameters: expected real numbers") from None
    if theta.shape != (10 * m.n_bodies,) or not np.isfinite(theta).all():
        raise InputError(f"with_parameters: parameters: expected {10 * m.n_bodies} finite numbers, got {theta.shape}")
    for name, value in values.items():
        if name not in _JOINT_VALUES or value.shape != (m.nv,):
            raise InputError(
                f"with_parameters: joint_values: expected {', '.join(_JOINT_VALUES)} of shape ({m.nv},), "
                f"got {name!r} of shape {value.shape}"
            )
    moving = {name: k for k, name in enumerate(m.body_names)}
    return replace(m, bodies=tuple(_changed(m, body, moving.get(body.name), theta, values) for body in m.bodies))


def _changed(m: Mechanism, body: Body, index: int | None, theta: Floats, values: dict[str, Floats]) -> Body:
    if index is None:
        on_world = m.frame(body.name).body < 0
        return body if on_world else replace(body, mass=0.0, inertia=(0.0,) * 6)
    mass, *rest = theta[10 * index : 10 * index + 10].tolist()
    moment = np.array(rest[:3])
    # A body without mass has no center; its first moments cannot be kept, so they have to be zero.
    if mass == 0.0 and moment.any():
        raise InputError(f'with_parameters: body "{body.name}": first moments {rest[:3]} with zero mass')
    center = moment / mass if mass else np.zeros(3)
    xx, xy, yy, xz, yz, zz = rest[3:]
    about_origin = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    inertia = about_origin - mass * (center @ center * np.eye(3) - np.outer(center, center))
    where = m.v_slices[index]
    return replace(
        body,
        joint=replace(body.joint, **{name: value[where].tolist() for name, value in values.items()}),
        mass=mass,
        center_of_mass=tuple(center.tolist()),
        inertia=tuple(float(inertia[i, j]) for i, j in _ORDER),
    )
