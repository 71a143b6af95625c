"""Shapes that overlap at the start of a run: refused by name, or left out for good where the model itself overlaps.

Two links of one mechanism that overlap in its neutral pose too do so by construction (bearings, covers): such a pair
never touches, with a warning. Any other overlap deeper than 1e-4 m, or 1 % of the smaller shape, is an error in the
start. Nothing shallower is looked at: contacts take it back.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setsu.contact.convex_tables import ConvexShapes
from setsu.contact.free_motion import StepState
from setsu.contact.pair_detection import find_now, find_pairs, place_shapes
from setsu.contact.scene import N_PAIRS, Problem
from setsu.contact.shape_pairs import ShapePairs
from setsu.dynamics import body_poses
from setsu.errors import InputError, ModelWarning
from setsu.mechanism import Free, Mechanism
from setsu.native.control_flow import jit

__all__ = ["count_overlaps", "drop_overlaps"]

Floats = NDArray[np.float64]

# m, part of the smaller shape: deeper, an overlap is refused; m: the same for the ground.
_DEEP, _PART, _IN_GROUND = 1e-4, 0.01, 1e-3


@jit
def count_overlaps(tables: ConvexShapes, problem: Problem, motion: StepState):
    """How many contacts of the poses at hand are deeper than a start may be: 0 where `drop_overlaps` does nothing."""
    for body in range(len(tables.velocities)):
        for i in range(6):
            tables.velocities[body, i] = 0.0
    place_shapes(tables, motion.poses, tables.velocities)
    find_pairs(tables, problem, 0.0)
    count = 0
    for k in range(problem.counts[N_PAIRS]):
        p = problem.pairs[k]
        allowed = _IN_GROUND
        if p.shapes < len(tables.pairs):
            pair = tables.pairs[p.shapes]
            size = min(tables.shapes[pair.first].reach, tables.shapes[pair.second].reach)
            allowed = min(_DEEP, _PART * size)
        if -p.gap > allowed:
            count += 1
    problem.counts[N_PAIRS] = 0
    return count


def drop_overlaps(
    mechanism: Mechanism,
    pairs: ShapePairs,
    tables: ConvexShapes,
    workspaces: tuple[Any, Any],
    problem: Problem,
    q: Floats,
) -> None:
    """Refuse overlaps at q (nq,), or take their pairs out of `tables`; workspaces: of tables and problem."""
    if not len(tables.shapes):
        return
    deep, ground = _depths(mechanism, tables, workspaces, problem, q)
    if ground is not None:
        body, depth = ground
        raise InputError(
            f'simulate: body "{mechanism.body_names[body]}" starts {depth:.3g} m inside the ground; expected at most '
            f"{_IN_GROUND:g} m (lift the mechanism at t = 0)"
        )
    if not deep:
        return
    always, _ = _depths(mechanism, tables, workspaces, problem, mechanism.neutral())
    # By bodies: a link made of several shapes may meet its neighbour with another one here.
    by_construction = {pairs.log[number] for number in always if _belong_together(mechanism, pairs, number)}
    left_out = []
    for number, depth in deep.items():
        names = pairs.names[pairs.log[number]]
        if pairs.log[number] in by_construction:
            tables.pairs["skip"][tables.pairs["log"] == pairs.log[number]] = 1
            left_out.append(names)
            continue
        raise InputError(
            f'simulate: bodies "{names[0]}" and "{names[1]}" overlap by {depth:.3g} m at t = 0; expected them apart '
            f"(move them, or leave the pair out: exclude=[{names!r}])"
        )
    if left_out:
        listed = ", ".join(" - ".join(names) for names in sorted(set(left_out)))
        warnings.warn(
            f"simulate: {mechanism.name}: shapes overlap in the neutral pose of the model; these pairs of bodies never "
            f"touch each other: {listed}",
            ModelWarning,
            stacklevel=4,
        )


def _depths(
    m: Mechanism, tables: ConvexShapes, workspaces: tuple[Any, Any], problem: Problem, q: Floats
) -> tuple[dict[int, float], tuple[int, float] | None]:
    """How deep (m) pairs of shapes overlap that do so too much, by number; and the body deepest in the ground."""
    tables.velocities[:] = 0.0
    find_now(*workspaces, np.ascontiguousarray(body_poses(m, q)))
    found = problem.pairs[: problem.counts[N_PAIRS]]
    problem.counts[N_PAIRS] = 0
    deep: dict[int, float] = {}
    ground = None
    for row in found:
        number, depth = int(row["shapes"]), -float(row["gap"])
        if number >= len(tables.pairs):
            if depth > max(_IN_GROUND, 0.0 if ground is None else ground[1]):
                ground = int(row["body_a"]), depth
            continue
        pair = tables.pairs[number]
        size = min(tables.shapes["reach"][[pair["first"], pair["second"]]])
        if depth > min(_DEEP, _PART * size) and depth > deep.get(number, 0.0):
            deep[number] = depth
    return deep, ground


def _belong_together(m: Mechanism, pairs: ShapePairs, number: int) -> bool:
    """Whether two shapes hang on one tree, or the one on a tree that begins at the body of the other."""
    first, second = (pairs.shapes[k] for k in pairs.pairs[number])
    root = _root(m, second.body)
    if first.body >= 0:
        return root == _root(m, first.body)
    own = any(body.name == first.owner for body in m.bodies)
    return own and not isinstance(m.moving[root].joint, Free)


def _root(m: Mechanism, body: int) -> int:
    while (parent := m.frame(m.moving[body].parent).body) >= 0:
        body = parent
    return body
