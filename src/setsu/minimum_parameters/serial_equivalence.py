"""Whether a closed mechanism has the dynamics of the serial chain that carries its hand.

| symbol | meaning |
|---|---|
| q_o1 | coordinates of the chain from the world to the hand; they determine all others: q = q_o1   (37) |
| W_11 | columns of the chain's parameters; W_12 + J_o2ᵀ W_22 those of the other branch            (40), (41) |

    equivalent when every column of the other branch is a combination of W_11's                     (42)

The columns are walked chain first, so that this is the case when no column of the other branch is kept.
Source: kawasaki1995, section 4. Cost: one analysis. Refuses a chain whose coordinates do not determine the rest.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from setsu.constraints.system import constraint_system
from setsu.errors import InputError
from setsu.mechanism import WORLD, Mechanism
from setsu.minimum_parameters.parameter_names import preferred_order
from setsu.minimum_parameters.record import MinimumParameters

__all__ = ["SerialEquivalence", "serial_equivalence"]


@dataclass(frozen=True)
class SerialEquivalence:
    """Result of `serial_equivalence`.

    equivalent: the chain alone has the same joint torques with regrouped parameters. chain: its bodies. parameters: the
    minimum parameters, chain first. needed: kept parameters of bodies outside the chain (none when equivalent).
    """

    equivalent: bool
    chain: tuple[str, ...]
    parameters: MinimumParameters
    needed: tuple[str, ...]


def serial_equivalence(
    mechanism: Mechanism, hand: str, *, exact: bool = True, q: ArrayLike | None = None
) -> SerialEquivalence:
    """Return whether the dynamics of a closed mechanism is that of the serial chain from the world to `hand`.

    Args:
        hand: last body of the chain. exact, q: as for `minimum_parameters`.

    Raises InputError when the chain's coordinates do not determine the configuration.

    >>> import setsu
    >>> planar = setsu.sample_mechanisms.two_joint_parallelogram()
    >>> setsu.serial_equivalence(planar, "link2").equivalent
    True
    """
    from setsu.minimum_parameters.analysis import analyse
    from setsu.minimum_parameters.assembly_branch import free_velocities

    if not isinstance(mechanism, Mechanism):
        raise InputError(f"serial_equivalence: expected a Mechanism, got {type(mechanism).__name__}")
    if hand == WORLD or mechanism.frame(hand).body < 0:
        raise InputError(f'serial_equivalence hand: expected a moving body, got "{hand}"')
    chain = _chain(mechanism, mechanism.frame(hand).body)
    order = preferred_order(mechanism)
    inside = set(chain)
    order = [c for c in order if c // 10 in inside] + [c for c in order if c // 10 not in inside]
    parameters = analyse(mechanism, exact, q, order, "serial_equivalence")
    J, _, _ = free_velocities(constraint_system(mechanism), parameters.reference)
    rates = [d for body in chain for d in range(mechanism.v_slices[body].start, mechanism.v_slices[body].stop)]
    if len(rates) != J.shape[1] or np.linalg.matrix_rank(J[rates]) < J.shape[1]:
        raise InputError(
            f'serial_equivalence: expected a chain whose coordinates determine all others: to "{hand}" it has '
            f"{len(rates)} velocities, the mechanism {J.shape[1]} degrees of freedom"
        )
    needed = tuple(
        name
        for name, column in zip(parameters.independent_names, parameters.independent, strict=True)
        if column // 10 not in inside
    )
    return SerialEquivalence(not needed, tuple(mechanism.body_names[k] for k in chain), parameters, needed)


def _chain(mechanism: Mechanism, body: int) -> list[int]:
    path = []
    while body >= 0:
        path.append(body)
        body = mechanism.frame(mechanism.moving[body].parent).body
    return path[::-1]
