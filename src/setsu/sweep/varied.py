"""Kernels of many mechanisms at once that differ in some of their constants, one mechanism per run.

The kernel is traced for a nominal mechanism with the constants that differ (masses, moments, damping, gravity) left as
inputs, so that runs with different bodies share one straight line of native code and its SIMD lanes:

    constants c = (c_same, c_i) of run i;   f(x_i, c_i) with c_same folded in                 (1)
    a step of h seconds in the same code:  v' = v + h a(q, v, tau),  q' = q + h v'            (2)

Cost: that of the nominal code plus the products that were folded. Refuses mechanisms of another structure.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setsu.dynamics.catalogue import KERNELS, STRAIGHT_KERNELS
from setsu.kernels import interpreter
from setsu.kernels.program import DOF_CONSTANTS, INERTIAL_CONSTANTS, LINK_CONSTANTS, Array, Kernel
from setsu.mechanism import Mechanism
from setsu.mechanism.tables import Tables
from setsu.native.function import NativeFunction
from setsu.native.straight import Trace
from setsu.simulation.joint_friction import has_dry_friction
from setsu.symbolic import Graph

__all__ = ["VariedFunction", "same_structure"]

Floats = NDArray[np.float64]

_STRUCTURE = ("kind", "parent", "q_index", "v_index", "body", "is_body", "carried", "dof_parent", "dof_link")
_INPUT = "varied"


def same_structure(a: Mechanism, b: Mechanism) -> bool:
    """Whether two mechanisms differ in numbers only, and in nothing but trees of bodies."""
    if any(m.loops or m.couplings or m.has_force_elements or has_dry_friction(m) for m in (a, b)):
        return False
    if a.joint_names != b.joint_names:
        return False
    one, other = a.tables, b.tables
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in _STRUCTURE)


@dataclass(frozen=True)
class VariedFunction:
    """A function of the library for runs with mechanisms of their own: call it with arrays of one row per run.

    varied (runs, k): the constants that differ; None where all runs have the nominal mechanism.
    """

    native: NativeFunction
    varied: Floats | None

    def __call__(self, *arrays: Floats) -> Any:
        """Return the function of each run's state and mechanism."""
        return self.native.fast(*arrays) if self.varied is None else self.native.fast(*arrays, self.varied)

    def rows(self, chosen: slice | NDArray[np.int64]) -> VariedFunction:
        """Return the function for some of the runs."""
        return self if self.varied is None else replace(self, varied=np.ascontiguousarray(self.varied[chosen]))

    @staticmethod
    def of(name: str, nominal: Mechanism, mechanisms: Sequence[Mechanism] = ()) -> VariedFunction:
        """Make the function `name` for one mechanism per run, each of the structure of `nominal`, or for that alone."""
        return _made(name, nominal, mechanisms, None)

    @staticmethod
    def step_of(nominal: Mechanism, h: float, mechanisms: Sequence[Mechanism] = ()) -> VariedFunction:
        """Make one semi-implicit step of h seconds: (q, v, tau) -> (q', v'); coordinates must be plain numbers (2)."""
        return _made("forward_dynamics", nominal, mechanisms, h)


def _made(name: str, nominal: Mechanism, mechanisms: Sequence[Mechanism], h: float | None) -> VariedFunction:
    kernel = STRAIGHT_KERNELS.get(name, KERNELS[name])()
    base = _constants(kernel, nominal.tables)
    each = np.stack([_constants(kernel, m.tables) for m in mechanisms]) if mechanisms else base[None]
    places = np.flatnonzero((each != base).any(axis=0))
    inputs, outputs = kernel.inputs, kernel.outputs
    if len(places):
        inputs = (*inputs, Array(_INPUT, "total", len(places)))
    if h is not None:
        outputs = (Array("q_next", "q"), Array("v_next", "v"))
    # The name is part of the key that compiled code is kept under.
    pattern = hashlib.sha256(places.astype("<i8").tobytes() + repr(h).encode()).hexdigest()[:16]
    changed = replace(kernel, name=f"{kernel.name} of runs {pattern}", inputs=inputs, outputs=outputs)
    native = _Native(changed, nominal, name=name, shapes={"energy": ()}, specialised=True)
    native.places, native.original, native.h = places, kernel, h
    return VariedFunction(native, np.ascontiguousarray(each[:, places]) if len(places) else None)


class _Native(NativeFunction):
    """Native code whose trace leaves the constants at `places` as inputs, and may go on to the end of a step."""

    places: NDArray[np.int64]
    original: Kernel
    h: float | None

    @cached_property
    def trace(self) -> Trace:
        """The kernel run on symbols, with symbols for the constants that vary."""
        graph, tables, m = Graph(), self.tables, self.mechanism
        inputs = {
            array.name: [graph.input((array.name, k)) for k in range(array.size(m.nq, m.nv, m.n_bodies, len(m.loops)))]
            for array in self.kernel.inputs
        }
        flat: list[Any] = _constants(self.original, tables).tolist()
        for k, place in enumerate(self.places):
            flat[place] = inputs[_INPUT][k]
        outputs = interpreter.run(self.original, tables, inputs, constants=_unpacked(flat, tables))  # (1)
        if self.h is not None:
            (accelerations,) = outputs.values()
            v = [speed + self.h * a for speed, a in zip(inputs["v"], accelerations, strict=True)]
            q = [place + self.h * speed for place, speed in zip(inputs["q"], v, strict=True)]  # (2)
            outputs = {"q_next": q, "v_next": v}
        return Trace(graph, outputs)


def _columns(tables: Tables, n: int) -> list[tuple[str, int, int]]:
    """Name, rows and width of every constant that may vary, in packed order."""
    links = [(name, n, width) for name, width in LINK_CONSTANTS.items() if name not in ("is_body", "carried")]
    return [*links, *((name, tables.nv, width) for name, width in DOF_CONSTANTS.items()), ("gravity", 1, 3)]


def _constants(kernel: Kernel, tables: Tables) -> Floats:
    """All constants of a mechanism that may vary, as one row."""
    inertias = tables.regrouped if kernel.regrouped else tables.true
    parts = [
        np.ravel(getattr(inertias if name in INERTIAL_CONSTANTS else tables, name))
        for name, _, _ in _columns(tables, tables.n_links)
    ]
    return np.concatenate(parts).astype(np.float64)


def _unpacked(flat: list[Any], tables: Tables) -> dict[str, Any]:
    """Constants by name as the interpreter takes them: a list over links or velocities of numbers or lists."""
    found: dict[str, Any] = {}
    position = 0
    for name, rows, width in _columns(tables, tables.n_links):
        part = flat[position : position + rows * width]
        position += rows * width
        if name == "gravity":
            found[name] = tuple(part)
        else:
            found[name] = part if width == 1 else [part[k * width : (k + 1) * width] for k in range(rows)]
    return found
