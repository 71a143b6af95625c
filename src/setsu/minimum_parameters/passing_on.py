"""What every joint passes on to the body before it: relations that hold for any motion of that body.

Of two bodies and the joint between them, the first moving freely, some parameters of the second are combinations of the
others: mass, first moment along the axis and one moment across it for a revolute joint, all moments for a slide, the
mass for a ball joint. These relations hold in every mechanism the pair stands in. They are found by the same exact
analysis, on two bodies only, whose polynomials are short however large the mechanism is.

    θ_d of body j = Σ k θ_c of body i + Σ k θ_c of body j's kept ones                  (1)
    put in one after the other, parents first: every θ in terms of kept ones           (2)

Source: the tree's parameters σ_o of kawasaki1995, here derived joint by joint. Cost: one small analysis per body.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from setsu.mechanism import Free, Mechanism, MechanismBuilder
from setsu.minimum_parameters.coordinates import no_closure
from setsu.minimum_parameters.energy_rows import polynomial_rows
from setsu.minimum_parameters.linear_relations import as_fraction, rational_relations

__all__ = ["Expression", "passed_on"]

Expression = dict[int, Fraction]
"""A column as a combination of kept columns."""

_LIMIT = 100_000


def passed_on(mechanism: Mechanism, order: list[int]) -> dict[int, Expression]:
    """Return every column in terms of the columns that no joint passes on; those of bodies on the world are all kept.

    order: columns by preference; of one body, later ones are passed on first.
    """
    result: dict[int, Expression] = {}
    for body, declared in enumerate(mechanism.moving):
        parent = mechanism.frame(declared.parent).body
        own = [column % 10 for column in order if column // 10 == body]
        for kind in own:
            result[10 * body + kind] = {10 * body + kind: Fraction(1)}
        if parent < 0:
            continue
        pair = _pair(mechanism, body)
        relations = rational_relations(
            polynomial_rows(pair, no_closure(pair), _LIMIT).rows, 20, [*range(10), *(10 + kind for kind in own)]
        )
        for dependent in relations.dependent:
            total: Expression = {}
            for (independent, column), factor in relations.factors.items():
                if column == dependent:
                    place = 10 * parent + independent if independent < 10 else 10 * body + independent - 10
                    for kept, k in result[place].items():
                        total[kept] = total.get(kept, Fraction(0)) + as_fraction(factor) * k
            result[10 * body + dependent - 10] = {kept: k for kept, k in total.items() if k != 0}
    return result


def _pair(mechanism: Mechanism, body: int) -> Mechanism:
    """The body's carrier, free, with the body on it; named lengths by their values."""
    declared = mechanism.moving[body]
    T = np.array(mechanism.frame(declared.parent).pose.matrix @ declared.pose.matrix, dtype=np.float64)
    builder = MechanismBuilder("pair")
    builder.add_body("first", joint=Free())
    return builder.add_body("second", "first", declared.joint, T.view(np.ndarray)).build()
