"""Names of inertial parameters and of their combinations, as text and as LaTeX; which ones are kept by preference.

Per body: M, MSx, MSy, MSz, Ixx, Ixy, Iyy, Ixz, Iyz, Izz (about the body origin), followed by the body: "MSx_3" for a
body called link3 when all bodies are called link..., "MSx_elbow" otherwise.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

from setsu.mechanism import Mechanism, Prismatic
from setsu.minimum_parameters.named_angles import with_cosines_and_sines

__all__ = ["KINDS", "body_suffixes", "combination", "factor_text", "latex", "parameter_names", "preferred_order"]

KINDS = ("M", "MSx", "MSy", "MSz", "Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz")

# What a revolute joint about an axis leaves to the parent: mass, first moment along it, one moment across.
_LEFT_TO_PARENT = {0: ("M", "MSx", "Izz"), 1: ("M", "MSy", "Ixx"), 2: ("M", "MSz", "Iyy")}
_MOMENTS = KINDS[4:]
_ORDER = ("MSx", "MSy", "MSz", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz", "M")


def body_suffixes(mechanism: Mechanism) -> tuple[str, ...]:
    """Return what stands behind the underscore for each body: its name without a word that all of them begin with."""
    names = mechanism.body_names
    length = 0
    while len(names) > 1 and len({name[: length + 1] for name in names}) == 1 and length < len(names[0]):
        length += 1
    common = names[0][:length].rstrip("0123456789") if len(names) > 1 else ""
    short = [name[len(common) :] for name in names]
    return tuple(short) if all(text[:1].isdigit() for text in short) else names


def parameter_names(mechanism: Mechanism) -> tuple[str, ...]:
    """Return the names of all 10 n_bodies parameters, in the order of `inertial_parameters`."""
    return tuple(f"{kind}_{suffix}" for suffix in body_suffixes(mechanism) for kind in KINDS)


def preferred_order(mechanism: Mechanism) -> list[int]:
    """Return all columns, those to keep first: what a joint cannot pass on to its parent, body by body."""
    first: list[int] = []
    last: list[int] = []
    for body, declared in enumerate(mechanism.moving):
        joint = declared.joint
        if isinstance(joint, Prismatic):
            left = _MOMENTS
            order = ("M", *(kind for kind in _ORDER if kind != "M"))
        else:
            axis = max(range(3), key=lambda k: abs(joint.axis[k]))
            left = _LEFT_TO_PARENT[axis] if joint.nv == 1 else ("M",)
            order = _ORDER
        for kind in order:
            (last if kind in left else first).append(10 * body + KINDS.index(kind))
    return first + last


def combination(own: str, others: list[tuple[str, str]]) -> str:
    """Return "own + factor*other ..." from factor texts: sign first, empty for one."""
    parts = [own]
    for factor, name in others:
        sign, size = factor[0], factor[1:]
        parts.append(f" {sign} {size}*{name}" if size else f" {sign} {name}")
    return "".join(parts)


def factor_text(value: Any, symbols: tuple[str, ...] = ()) -> str:
    """Return a factor as sign and size: "+", "-a3p/a3", "+2*a3", "-(a2 + a3)", "+0.0996031"."""
    if isinstance(value, tuple):
        numerator, denominator = value
        return _fraction_text(numerator, denominator, symbols)
    if isinstance(value, Fraction):
        return _signed(_number_text(value), value < 0)
    return _signed(f"{abs(value):.6g}", value < 0)


def _signed(size: str, negative: bool) -> str:
    return ("-" if negative else "+") + ("" if size == "1" else size)


def _number_text(value: Fraction) -> str:
    size = abs(value)
    decimal = 10**6 % size.denominator == 0
    return str(size) if not decimal and size.denominator <= 20 and size.numerator <= 1000 else f"{float(size):.6g}"


def _fraction_text(numerator: Any, denominator: Any, symbols: tuple[str, ...]) -> str:
    terms, below, symbols = with_cosines_and_sines(_terms(numerator), _terms(denominator), symbols)
    negative = all(coefficient < 0 for _, coefficient in terms)
    if negative:
        terms = [(exponents, -coefficient) for exponents, coefficient in terms]
    above = _sum_text(terms, symbols)
    if len(below) == 1 and not any(below[0][0]):
        scale = below[0][1]
        terms = [(exponents, coefficient / scale) for exponents, coefficient in terms]
        above = _sum_text(terms, symbols)
        return _signed(above if len(terms) == 1 else f"({above})", negative)
    under = _sum_text(below, symbols)
    simple = len(below) == 1 and sum(map(bool, below[0][0])) == 1 and below[0][1] == 1
    above = above if len(terms) == 1 else f"({above})"
    return _signed(f"{above}/{under if simple else f'({under})'}", negative)


def _terms(polynomial: Any) -> list[tuple[tuple[int, ...], Fraction]]:
    return [
        (tuple(int(e) for e in exponents), Fraction(int(coefficient.p), int(coefficient.q)))
        for exponents, coefficient in polynomial.to_dict().items()
    ]


def _sum_text(terms: list[tuple[tuple[int, ...], Fraction]], symbols: tuple[str, ...]) -> str:
    text = ""
    for exponents, coefficient in sorted(terms, key=lambda term: term[1] < 0):
        factors = [
            name if exponent == 1 else f"{name}**{exponent}"
            for name, exponent in zip(symbols, exponents, strict=True)
            if exponent
        ]
        size = _number_text(coefficient)
        if size != "1" or not factors:
            factors.insert(0, size)
        term = "*".join(factors)
        if text:
            text += f" - {term}" if coefficient < 0 else f" + {term}"
        else:
            text = f"-{term}" if coefficient < 0 else term
    return text


def latex(text: str) -> str:
    r"""Return a combination's text as LaTeX: "MSx_3 - a3p/a3*MSx_3p" is MS_{x,3} - \frac{a_{3p}}{a_{3}} MS_{x,3p}."""
    text = re.sub(
        r"\b(MS|I|M)([xyz]{0,2})_([^\s*]+)",
        lambda found: f"{found[1]}_{{{found[2] + ',' if found[2] else ''}{_escaped(found[3])}}}",
        text,
    )
    text = re.sub(r"(?<![\w{,])([A-Za-z])(\d\w*)", r"\1_{\2}", text)
    text = re.sub(r"\*\*(\d+)", r"^{\1}", text)
    text = re.sub(r"\b(cos|sin)\(([^()]*)\)", r"\\\1{\2}", text)
    text = re.sub(r"(\([^()]*\)|[\\\w{}^.*]+)/(\([^()]*\)|[\\\w{}^.]+)", _as_fraction, text)
    text = re.sub(r"\\(cos|sin)\{([^{}]*)\}(\^\{\d+\})?", r"\\\1\3(\2)", text)
    return text.replace("*", r"\,")


def _as_fraction(found: re.Match[str]) -> str:
    above, under = (part[1:-1] if part.startswith("(") else part for part in (found[1], found[2]))
    return rf"\frac{{{above}}}{{{under}}}"


def _escaped(text: str) -> str:
    return text.replace("_", r"\_")
