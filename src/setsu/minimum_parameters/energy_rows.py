"""The coefficient matrix B of a mechanism: every parameter's energies in fundamental functions, or at exact points.

Why energies: a combination of parameters changes no joint torque at any q, v, a exactly when it changes neither the
kinetic energy nor, but for a constant, the potential energy of any motion the joints and loops allow. (If τ vanishes
identically, its part in a gives M = 0, hence T = 0, and what is left is the gradient of V.) The linear relations of the
torque regressor's columns W* are therefore those of the energies' rows, which need no accelerations and no rate of J.

    T = Σ_k T_k(q, v) θ_k,   V = Σ_k V_k(q) θ_k                                       (1)
    rows: coefficients of the monomials in c, s, rates of T_k, and of V_k without 1   (2)
    or:   values T_k(q, v) at random points, and V_k(q) - V_k(q0)                     (3)
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np

from setsu.kernels.energy_regressor import energy_regressor
from setsu.kernels.interpreter import run
from setsu.mechanism import Mechanism
from setsu.mechanism.tables import Kind
from setsu.minimum_parameters.coordinates import (
    LinearClosure,
    coordinates_in,
    polynomial_ring,
)
from setsu.minimum_parameters.exact_geometry import exact_constants, split_symbols
from setsu.symbolic.exact_numbers import Angle, ExactRing, PrimeVectors, Value, as_angle
from setsu.symbolic.flint_package import flint
from setsu.symbolic.trigonometric_polynomials import TrigonometricRing

__all__ = ["SymbolRows", "energies", "polynomial_rows", "residue_rows", "symbolic_setting"]

Row = dict[int, Any]


def energies(mechanism: Mechanism, constants: dict[str, Any], q: list, v: list) -> tuple[list[Value], list[Value]]:
    """Return T_k and V_k of all parameters, (10 n_bodies,) each (1)."""
    result = run(energy_regressor(), mechanism.tables, {"q": q, "v": v}, constants=constants)
    return result["kinetic"], result["potential"]


class SymbolRows:
    """Rows of B with entries in the rationals (symbols empty) or in a polynomial ring over them.

    symbols: names of the generators of the entries: named lengths, and tan(name/2) for named angles.
    """

    def __init__(self, rows: list[Row], symbols: tuple[str, ...]) -> None:
        self.rows, self.symbols = rows, symbols


def symbolic_setting(
    mechanism: Mechanism, closure: LinearClosure, limit: int
) -> tuple[TrigonometricRing, dict[str, Any], list, list]:
    """Return the polynomial ring of a mechanism, its geometry there, and q and v of a generic state."""
    symbols = split_symbols(mechanism)
    ring = polynomial_ring(mechanism, closure, symbols.angles, symbols.lengths, limit)
    lengths = {name: ring.generator(f"S_{name}") for name in symbols.lengths}
    angles = {name: ring.angle(f"S_{name}") for name in symbols.angles}
    constants = exact_constants(mechanism, ring, lengths, angles)
    names = set(ring.names)
    independent = [ring.angle(f"u{k}") if f"c_u{k}" in names else None for k in range(closure.freedom)]
    travels = [ring.generator(f"x{k}") if f"x{k}" in names else 0.0 for k in range(closure.freedom)]
    rates = [ring.generator(f"du{k}") for k in range(closure.freedom)]
    quaternions: dict[int, tuple[Value, ...]] = {}
    for link, kind in enumerate(mechanism.tables.kind.tolist()):
        if Kind(kind) in (Kind.SPHERICAL, Kind.FREE):
            place = tuple(ring.generator(f"{axis}{link}") for axis in ("px", "py", "pz")) if kind == Kind.FREE else ()
            quaternions[link] = (*place, *ring.quaternion(f"h{link}"))
    q, v = coordinates_in(mechanism, closure, ring, independent, travels, rates, quaternions)
    return ring, constants, q, v


def polynomial_rows(mechanism: Mechanism, closure: LinearClosure, limit: int) -> SymbolRows:
    """Return the rows of (2); TooManyTermsError when the polynomials grow beyond the limit."""
    ring, constants, q, v = symbolic_setting(mechanism, closure, limit)
    kinetic, potential = energies(mechanism, constants, q, v)
    geometry = split_symbols(mechanism)
    lengths = [ring.names.index(f"S_{name}") for name in geometry.lengths]
    angles = [(ring.names.index(f"s_S_{name}"), ring.names.index(f"c_S_{name}")) for name in geometry.angles]
    ours = set(lengths) | {place for pair in angles for place in pair}
    others = [place for place in range(len(ring.names)) if place not in ours]
    split: dict[tuple, dict[int, dict[tuple, Any]]] = {}
    for kind, values in (("T", kinetic), ("V", potential)):
        for column, value in enumerate(values):
            for exponents, coefficient in ring.raw(value).to_dict().items():
                function = tuple(int(exponents[place]) for place in others)
                if kind == "V" and not any(function):
                    continue
                symbol_part = tuple(
                    int(exponents[place]) for place in (*lengths, *(p for pair in angles for p in pair))
                )
                entry = split.setdefault((kind, *function), {}).setdefault(column, {})
                entry[symbol_part] = coefficient
    if not ours:
        return SymbolRows([{column: entry[()] for column, entry in row.items()} for row in split.values()], ())
    symbols = (*geometry.lengths, *(f"tan({name}/2)" for name in geometry.angles))
    return SymbolRows([_with_half_tangents(row, symbols, len(lengths)) for row in split.values()], symbols)


def _with_half_tangents(row: dict[int, dict[tuple, Any]], symbols: tuple[str, ...], n_lengths: int) -> Row:
    """Write sines and cosines of named angles by half-angle tangents and clear the row of denominators."""
    ordering = flint().Ordering
    fmpq_mpoly_ctx = flint().fmpq_mpoly_ctx

    context = fmpq_mpoly_ctx.get(list(symbols), ordering.lex)
    generators = context.gens()
    n_angles = len(symbols) - n_lengths
    most = [
        max(key[n_lengths + 2 * k] + key[n_lengths + 2 * k + 1] for entry in row.values() for key in entry)
        for k in range(n_angles)
    ]
    result = {}
    for column, entry in row.items():
        if n_angles == 0:
            result[column] = context.from_dict(entry)
            continue
        total = context.constant(0)
        for key, coefficient in entry.items():
            term = context.from_dict({(*key[:n_lengths], *(0,) * n_angles): coefficient})
            for k in range(n_angles):
                t = generators[n_lengths + k]
                s, c = key[n_lengths + 2 * k], key[n_lengths + 2 * k + 1]
                term = term * (2 * t) ** s * (1 - t * t) ** c * (1 + t * t) ** (most[k] - s - c)
            total = total + term
        result[column] = total
    return result


def residue_rows(mechanism: Mechanism, closure: LinearClosure, count: int, prime: int, seed: int) -> list[list[int]]:
    """Return rows of (3) modulo a prime at random states, all at once; named geometry by its values.

    One row per state, T + w (V - V0) with a random weight w: what is zero for all states and weights is zero in both.
    """
    ring = PrimeVectors(prime)
    constants = exact_constants(mechanism, ring, {}, {})
    generator = random.Random(seed)

    def draw() -> Value:
        return ring.vector([generator.randrange(2, prime) for _ in range(count)])

    kinetic, potential = energies(mechanism, constants, *random_state(mechanism, closure, ring, draw))
    T, V = (np.stack([ring.broadcast(value, count) for value in values], axis=1) for values in (kinetic, potential))
    weights = np.array([generator.randrange(1, prime) for _ in range(count)], dtype=object)
    return ((T + weights[:, None] * (V - V[:1])) % prime).tolist()


def random_state(
    mechanism: Mechanism, closure: LinearClosure, ring: ExactRing, draw: Callable[[], Value]
) -> tuple[list, list]:
    """Return q and v of a random state that obeys the closure."""
    angles: list[Angle | None] = [as_angle(ring, draw()) for _ in range(closure.freedom)]
    travels = [draw() for _ in range(closure.freedom)]
    rates = [draw() for _ in range(closure.freedom)]
    quaternions = {
        link: (*(draw() for _ in range(Kind(kind).nq - 1)), 1.0)
        for link, kind in enumerate(mechanism.tables.kind.tolist())
        if Kind(kind) in (Kind.SPHERICAL, Kind.FREE)
    }
    return coordinates_in(mechanism, closure, ring, angles, travels, rates, quaternions)
