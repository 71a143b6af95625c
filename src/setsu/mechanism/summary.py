"""A mechanism as plain text tables that fit a page's width."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import zip_longest

from setsu.mechanism.elements import Body, Coupling
from setsu.mechanism.joints import Fixed
from setsu.mechanism.record import Mechanism

__all__ = ["summary"]

_NARROWEST = 40
"""Columns: a narrower page would show single letters."""


def summary(mechanism: Mechanism, width: int = 100) -> str:
    """Return what a mechanism is made of: bodies and joints, totals, loops, couplings, springs, contacts, frames.

    Ranges in rad or m, masses in kg, centers of mass in m in the body frame. width: columns of the page, at least 40.

    >>> from setsu.mechanism import MechanismBuilder
    >>> print(summary(MechanismBuilder("empty").build()))
    empty
    0 moving bodies, nq = 0, nv = 0, 0 kg
    gravity (0, 0, -9.81) m/s²
    """
    width = max(width, _NARROWEST)
    gravity = ", ".join(_short(entry) for entry in mechanism.gravity)
    parts = [
        "\n".join(_folded(mechanism.name, width)) + "\n"
        f"{_count(mechanism.n_bodies, 'moving body', 'moving bodies')}, nq = {mechanism.nq}, nv = {mechanism.nv}, "
        f"{_short(mechanism.total_mass)} kg\n"
        f"gravity ({gravity}) m/s²"
    ]
    if mechanism.moving:
        head = ("#", "body", "joint", "type", "parent", "q range", "mass", "center of mass")
        rows = [_body_row(mechanism, index, body) for index, body in enumerate(mechanism.moving)]
        parts.append(_table(head, rows, width))
    frames = [body for body in mechanism.bodies if isinstance(body.joint, Fixed)]
    if frames:
        head = ("frame", "fixed to", "carried by", "mass")
        rows = [(body.name, body.parent, _carrier(mechanism, body), _short(body.mass)) for body in frames]
        parts.append(_table(head, rows, width))
    if mechanism.loops:
        head = ("loop", "type", "body a", "body b")
        rows = [(loop.name, type(loop.joint).__name__, loop.body_a, loop.body_b) for loop in mechanism.loops]
        parts.append(_table(head, rows, width))
    if mechanism.couplings:
        rows = [
            (
                coupling.name,
                " ".join(f"{factor:+g}·{joint}" for joint, factor in coupling.factors) + _polynomial(coupling),
                _short(coupling.offset),
            )
            for coupling in mechanism.couplings
        ]
        parts.append(_table(("coupling", "sum + offset = 0", "offset"), rows, width))
    if mechanism.springs:
        head = ("spring", "body a", "body b", "stiffness", "rest length", "damping")
        rows = [
            (
                spring.name,
                spring.body_a,
                spring.body_b,
                *map(_short, (spring.stiffness, spring.rest_length, spring.damping)),
            )
            for spring in mechanism.springs
        ]
        parts.append(_table(head, rows, width))
    if mechanism.contact_points:
        counts: dict[str, int] = {}
        for point in mechanism.contact_points:
            counts[point.body] = counts.get(point.body, 0) + 1
        parts.append(_table(("body", "contact points"), [(body, str(count)) for body, count in counts.items()], width))
    return "\n\n".join(parts)


def _body_row(mechanism: Mechanism, index: int, body: Body) -> tuple[str, ...]:
    center = " ".join(_short(entry, 3) for entry in body.center_of_mass)
    where = mechanism.v_slices[index]
    limits = list(zip(mechanism.lower[where].tolist(), mechanism.upper[where].tolist(), strict=True))
    is_free = all(low == -math.inf and high == math.inf for low, high in limits)
    span = "free" if is_free else ", ".join(f"{_short(low, 3)}..{_short(high, 3)}" for low, high in limits)
    kind = type(body.joint).__name__
    return (str(index), body.name, body.joint.name, kind, body.parent, span, _short(body.mass), center)


def _carrier(mechanism: Mechanism, body: Body) -> str:
    index = mechanism.frames[body.name].body
    return "world" if index < 0 else mechanism.body_names[index]


def _polynomial(coupling: Coupling) -> str:
    """The polynomial of a coupling as the end of its sum."""
    if not coupling.polynomial:
        return ""
    inside = " ".join(f"{factor:+g}·{joint}" for joint, factor in coupling.argument)
    terms = ", ".join(_short(number) for number in coupling.polynomial)
    return f" - P({inside} {-coupling.reference:+g}), P: {terms}"


def _short(value: float, digits: int = 4) -> str:
    return f"{value:.{digits}g}"


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


def _folded(text: str, width: int) -> list[str]:
    """A cell as lines of a width, whole."""
    visible = "".join(character if character.isprintable() else "?" for character in text)
    return [visible[k : k + width] for k in range(0, len(visible), width)] or [""]


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], page: int) -> str:
    """Lay out columns two blanks apart; the widest are folded, one column at a time, until a line fits the page."""
    widths = [max(len(row[column]) for row in [head, *rows]) for column in range(len(head))]
    while sum(widths) + 2 * (len(widths) - 1) > page:
        widths[widths.index(max(widths))] -= 1
    rule = "-" * (sum(widths) + 2 * (len(widths) - 1))
    lines = []
    for number, row in enumerate([head, *rows]):
        cells = [_folded(cell, width) for cell, width in zip(row, widths, strict=True)]
        for line in zip_longest(*cells, fillvalue=""):
            lines.append("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())
        if number == 0:
            lines.append(rule)
    return "\n".join(lines)
