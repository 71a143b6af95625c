"""First derivatives of motion and forces under loops, couplings and surface contacts, exact.

With a, λ, f the accelerations, multipliers and contact forces of `constrained_dynamics`, in their present modes,

    M a + b = τ + Gᵀ λ + Jᵀ f,   G a + γ = 0,   each contact open, sliding, sticking or starting           (1)

is differentiated as it stands: forces and accelerations are held while geometry and velocities change
(constraint_partials.py), and the change of all unknowns answers to that

    [M  -Hᵀ] (da, dλ) = -∂(1)/∂(q, v, τ),   H the rows that hold                                           (2)
    [H   0 ]

Contacts come on top, by their compliance (contact_force_derivatives.py); where loops are redundant their forces are
divided as `constrained_dynamics` divides them (internal_force_derivatives.py). Loops and couplings that need neither
go through compiled code (compiled_derivatives.py), trees through that of `forward_dynamics_derivatives`.
Source: Carpentier and Mansard 2018 for trees.
Refuses: see general_derivatives.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setsu.constraints.block_fields import BlockFields, Part, part
from setsu.constraints.constrained_dynamics import ConstrainedDynamics, constrained_dynamics
from setsu.constraints.contact import SurfaceContact
from setsu.constraints.derivative_tiles import ALMOST_SINGULAR, CompiledDerivatives, derivative_tiles
from setsu.constraints.general_derivatives import BY, NAME, STICK_SPEED, general_derivatives
from setsu.constraints.prescribed import Prescribed
from setsu.constraints.stacked import Floats
from setsu.constraints.states import checked_arrays
from setsu.constraints.system import constraint_system
from setsu.dynamics.bearings import refuse_bearings
from setsu.dynamics.catalogue import require_mechanism
from setsu.dynamics.wrenches import ExternalWrenches
from setsu.errors import InputError
from setsu.mechanism import Mechanism
from setsu.mechanism.loop_constraints import refuse_loop_constraints

__all__ = ["ConstrainedDynamicsDerivatives", "constrained_dynamics_derivatives"]

# In the order of TileDerivatives.
_TILE_FIELDS = (*BY, *(f"loop_wrench_{by}" for by in BY), *(f"coupling_force_{by}" for by in BY))


@dataclass(frozen=True)
class ConstrainedDynamicsDerivatives(BlockFields):
    """Derivatives of `constrained_dynamics`; the last axis is the coordinate, velocity or torque, nv each.

    Those by q are along velocities, as `integrate` adds them. Forces in world axes, contacts in their present modes.

    dq, dv, dtau: of the acceleration, (..., nv, nv).
    loop_wrench_dq, _dv, _dtau: (..., n_loops, 6, nv).
    normal_force_dq, ...: (..., n_contacts, nv). friction_force_dq, ...: (..., n_contacts, 3, nv).
    coupling_force_dq, ...: (..., n_couplings, nv).
    dynamics: what is differentiated, the record of `constrained_dynamics`; solved when first asked for.
    """

    dq: Floats
    dv: Floats
    dtau: Floats
    loop_wrench_dq: Floats
    loop_wrench_dv: Floats
    loop_wrench_dtau: Floats
    normal_force_dq: Floats
    normal_force_dv: Floats
    normal_force_dtau: Floats
    friction_force_dq: Floats
    friction_force_dv: Floats
    friction_force_dtau: Floats
    coupling_force_dq: Floats
    coupling_force_dv: Floats
    coupling_force_dtau: Floats
    solve: Callable[[], ConstrainedDynamics] = field(repr=False, compare=False)

    @cached_property
    def dynamics(self) -> ConstrainedDynamics:
        """What is differentiated."""
        return self.solve()


def constrained_dynamics_derivatives(
    mechanism: Mechanism,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    contacts: Iterable[SurfaceContact] = (),
    *,
    loop_torque: ArrayLike | None = None,
    external_wrenches: ExternalWrenches | None = None,
    stick_speed: float = STICK_SPEED,
    sticking: ArrayLike | None = None,
    prescribed: Iterable[Prescribed] = (),
    time: float = 0.0,
) -> ConstrainedDynamicsDerivatives:
    """Return the exact derivatives of accelerations and forces of `constrained_dynamics`, whose arguments these are.

    Contacts stay in their modes: open, sliding, sticking, or starting to slide. Where loops are redundant, forces are
    differentiated along motions that keep the loops closed; other directions leave their division undefined.

    Raises:
        InputError: as `constrained_dynamics`, and in singular configurations, for friction that depends on loads, and
            for dry friction at rest whose forces nothing divides.

    >>> import setsu
    >>> m = setsu.sample_mechanisms.four_bar()
    >>> d = setsu.constrained_dynamics_derivatives(m, [0.0] * 3, [0.0] * 3, [0.0] * 3)
    >>> d.dtau.shape, d.loop_wrench_dq.shape
    ((3, 3), (1, 6, 3))
    """
    plain = loop_torque is None and external_wrenches is None and sticking is None and contacts == prescribed == ()
    found = _compiled(mechanism, q, v, tau, stick_speed) if plain else None
    if found is not None:
        return found
    fields, dynamics = general_derivatives(
        mechanism, q, v, tau, tuple(contacts), loop_torque, external_wrenches, stick_speed, sticking,
        tuple(prescribed), time,
    )  # fmt: skip
    return ConstrainedDynamicsDerivatives(**fields, solve=partial(_known, dynamics))


class _Way(NamedTuple):
    """How plain states of a mechanism are differentiated; kept with it.

    tiles: None where the general way is taken. dry: velocities under dry friction. shapes: of the fields of one state.
    parts: those of them that stand in a row with the state.
    """

    tiles: CompiledDerivatives | None
    dry: NDArray[np.int64]
    shapes: dict[str, tuple[int, ...]]
    parts: dict[str, Part]


def _way(m: Any) -> _Way:
    """The way of a mechanism, made once."""
    try:
        return m.__dict__["_derivative_way"]
    except (AttributeError, KeyError):
        require_mechanism(m, NAME)
    system = constraint_system(m)

    def general(q: Floats, v: Floats, tau: Floats) -> list[Floats]:
        found, _ = general_derivatives(m, q, v, tau)
        return [found[name].reshape(len(q), -1) for name in _TILE_FIELDS]

    refuse_bearings(m, NAME)
    refuse_loop_constraints(m, NAME)
    before = {"": (m.nv,), "loop_wrench_": (len(m.loops), 6), "coupling_force_": (len(m.couplings),)}
    before |= {"normal_force_": (0,), "friction_force_": (0, 3)}
    shapes = {f"{name}{by}": (*shape, m.nv) for name, shape in before.items() for by in BY}
    parts, first = {}, m.nq + 2 * m.nv
    for name, shape in list(shapes.items())[len(BY) :]:
        parts[name] = part(first, shape)
        first += math.prod(shape)
    way = _Way(derivative_tiles(system, general), np.flatnonzero(m.coulomb), shapes, parts)
    return m.__dict__.setdefault("_derivative_way", way)


def _compiled(m: Any, q: Any, v: Any, tau: Any, stick_speed: float) -> ConstrainedDynamicsDerivatives | None:
    """Derivatives by compiled code; None where the general way has to look."""
    tiles, dry, shapes, parts = _way(m)
    if tiles is None:
        return None
    if not dry.size or (type(v) is np.ndarray and v.shape == (m.nv,) and (np.abs(v[dry]) > stick_speed).all()):
        found = tiles.one(q, v, tau)
        if found is not None:
            result = object.__new__(ConstrainedDynamicsDerivatives)
            own = result.__dict__
            own["dq"], own["dv"], own["dtau"], own["_block"] = found
            own["_parts"], own["solve"] = parts, partial(_solved, m, found[3], stick_speed)
            return result
    return _compiled_batch(m, tiles, dry, shapes, q, v, tau, stick_speed)


def _compiled_batch(
    m: Mechanism,
    tiles: CompiledDerivatives,
    dry: NDArray[np.int64],
    shapes: dict[str, tuple[int, ...]],
    q: Any,
    v: Any,
    tau: Any,
    stick_speed: float,
) -> ConstrainedDynamicsDerivatives | None:
    """The same for any batch; states that are left over, by the general way."""
    taken, batch = checked_arrays(NAME, m, [("q", q, (m.nq,)), ("v", v, (m.nv,)), ("tau", tau, (m.nv,))])
    if dry.size and (np.abs(taken[1][..., dry]) <= stick_speed).any():
        return None
    states = [array.reshape(-1, array.shape[-1]) for array in taken]
    found = tiles.many(*states)
    blocks: dict[str, Any] = dict(zip(_TILE_FIELDS, found, strict=False))
    if found.outcome.any():
        left = np.flatnonzero(found.outcome)
        if (found.outcome[left] != ALMOST_SINGULAR).any():
            return None  # whose messages know the shape of the batch
        try:
            q, v, tau = (array[left] for array in states)
            general, _ = general_derivatives(m, q, v, tau, stick_speed=stick_speed)
        except InputError:
            return None
        for name, block in blocks.items():
            block[left] = general[name].reshape(len(left), *block.shape[1:])
    fields = {
        name: blocks[name].reshape(*batch, *shape) if name in blocks else np.zeros((*batch, *shape))
        for name, shape in shapes.items()
    }
    solve = partial(constrained_dynamics, m, *(array.copy() for array in taken), stick_speed=stick_speed)
    return ConstrainedDynamicsDerivatives(**fields, solve=solve)


def _solved(m: Mechanism, row: Floats, stick_speed: float) -> ConstrainedDynamics:
    """The motion at the state that a row begins with."""
    q, v, tau, _ = np.split(row, [m.nq, m.nq + m.nv, m.nq + 2 * m.nv])
    return constrained_dynamics(m, q, v, tau, stick_speed=stick_speed)


def _known(found: ConstrainedDynamics) -> ConstrainedDynamics:
    return found
