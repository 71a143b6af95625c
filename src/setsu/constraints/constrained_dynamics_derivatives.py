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
class ConstrainedDynamicsDerivatives:
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

    def __getattr__(self, name: str) -> Floats:
        """Make a field of a single state: to make all takes longer than to compute them."""
        if name not in self.__dataclass_fields__ or "_found" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__} has no {name!r}")
        rows, shape = self.__dict__["_parts"][name]
        value = self.__dict__[name] = self.__dict__["_found"][rows].reshape(shape)
        return value

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

    tiles: None where the general way is taken. shapes: of q, v, tau of one state. dry: velocities under dry friction.
    parts: rows and shape of each field in the block of results of a single state.
    """

    tiles: CompiledDerivatives | None
    shapes: list[tuple[int, ...]]
    dry: NDArray[np.int64]
    parts: dict[str, tuple[slice, tuple[int, ...]]]


def _way(m: Any) -> _Way:
    """The way of a mechanism, made once."""
    try:
        return m.__dict__["_derivative_way"]
    except (AttributeError, KeyError):
        require_mechanism(m, NAME)
    system = constraint_system(m)

    def general(q: Floats, v: Floats, tau: Floats) -> list[Floats]:
        found, _ = general_derivatives(m, q, v, tau)
        return [found[name].reshape(len(q), -1, m.nv) for name in _TILE_FIELDS]

    refuse_bearings(m, NAME)
    refuse_loop_constraints(m, NAME)
    parts: dict[str, tuple[slice, tuple[int, ...]]] = {}
    first = 0
    for name in _TILE_FIELDS:
        shape = (len(m.loops), 6) if "loop" in name else (len(m.couplings),) if "coupling" in name else (m.nv,)
        stop = first + math.prod(shape)
        parts[name], first = (slice(first, stop), (*shape, m.nv)), stop
    for by in BY:
        parts[f"normal_force_{by}"] = slice(0, 0), (0, m.nv)
        parts[f"friction_force_{by}"] = slice(0, 0), (0, 3, m.nv)
    shapes: list[tuple[int, ...]] = [(m.nq,), (m.nv,), (m.nv,)]
    way = _Way(derivative_tiles(system, general), shapes, np.flatnonzero(m.coulomb), parts)
    return m.__dict__.setdefault("_derivative_way", way)


def _compiled(m: Any, q: Any, v: Any, tau: Any, stick_speed: float) -> ConstrainedDynamicsDerivatives | None:
    """Derivatives by compiled code; None where the general way has to look."""
    tiles, shapes, dry, parts = _way(m)
    if tiles is None:
        return None
    try:
        single = [q.shape, v.shape, tau.shape] == shapes and q.dtype == v.dtype == tau.dtype == np.float64
    except AttributeError:
        single = False
    if not single:
        return _compiled_batch(m, tiles, dry, parts, q, v, tau, stick_speed)
    if dry.size and (np.abs(v[dry]) <= stick_speed).any():
        return None
    state = np.concatenate((q, v, tau))
    found = tiles.one(state)
    if found is None:
        return None
    result, nv = object.__new__(ConstrainedDynamicsDerivatives), shapes[1][0]
    # Fields of forces are made when asked for.
    result.__dict__.update(
        dq=found[:nv], dv=found[nv : 2 * nv], dtau=found[2 * nv : 3 * nv], _found=found, _parts=parts,
        solve=partial(_solved, m, state, stick_speed),
    )  # fmt: skip
    return result


def _compiled_batch(
    m: Mechanism,
    tiles: CompiledDerivatives,
    dry: NDArray[np.int64],
    parts: dict[str, tuple[slice, tuple[int, ...]]],
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
    left = np.flatnonzero(found.outcome)
    blocks: dict[str, Any] = dict(zip(_TILE_FIELDS, found, strict=False))
    if left.size:
        if (found.outcome[left] != ALMOST_SINGULAR).any():
            return None  # whose messages know the shape of the batch
        try:
            q, v, tau = (array[left] for array in states)
            general, _ = general_derivatives(m, q, v, tau, stick_speed=stick_speed)
        except InputError:
            return None
        for name, block in blocks.items():
            block[left] = general[name].reshape(len(left), -1, m.nv)
    fields = {
        name: blocks[name].reshape(*batch, *shape) if name in blocks else np.zeros((*batch, *shape))
        for name, (_, shape) in parts.items()
    }
    solve = partial(constrained_dynamics, m, *(array.copy() for array in taken), stick_speed=stick_speed)
    return ConstrainedDynamicsDerivatives(**fields, solve=solve)


def _solved(m: Mechanism, state: Floats, stick_speed: float) -> ConstrainedDynamics:
    q, v, tau = np.split(state, [m.nq, m.nq + m.nv])
    return constrained_dynamics(m, q, v, tau, stick_speed=stick_speed)


def _known(found: ConstrainedDynamics) -> ConstrainedDynamics:
    return found
