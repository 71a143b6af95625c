"""Laws that run without Python: a function (t, q, v) -> torque is run once on symbols, and its operations compiled."""

from __future__ import annotations

import ctypes
import hashlib
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setsu.control.controller import Controller, forget, seeds
from setsu.control.tables import LawGraph, Table
from setsu.errors import InputError, ModelWarning
from setsu.mechanism import Mechanism
from setsu.native.expression_code import expression_code
from setsu.symbolic import evaluate
from setsu.symbolic.graph import Expression, Graph, Scalar
from setsu.symbolic.tracing import Number, Untraceable, scalars, symbols

__all__ = ["CompiledLaw", "SampledLaw", "TracedFunction", "TracedLaw", "law", "sampled_law", "traced_law"]

Floats = NDArray[np.float64]

# Beyond about this many operations LLVM takes longer than calls of Python cost in most runs.
_LARGEST = 24_000
# Largest difference between a law and its trace, as part of the largest torque: the order of sums may differ.
_AGREES = 1e-9
_SEED = 20_000


@dataclass(frozen=True)
class TracedLaw:
    """Code of a law: `void(double *inputs, double *torque)` with inputs t, q, v and the values of the tables, in order.

    function: what was traced. kept: keeps the code in memory.
    """

    function: Any
    address: int
    tables: tuple[Table, ...]
    kept: Any


@dataclass(frozen=True)
class SampledLaw(TracedLaw):
    """Code of a law that is evaluated at instants: inputs also what it remembers and senses, after the tables.

    Its outputs are the torque and what it remembers next. memory: how many numbers that is. sensors: which normal
    forces of the run's contacts it senses. period, delay: s. noise: standard deviations of coordinates, velocities and
    readings. seeds: of the noise of the state and of the sensor. initial: torque (nv,) before the first sample.
    """

    memory: int
    sensors: tuple[int, ...]
    period: float
    delay: float
    noise: tuple[float, float, float]
    seeds: tuple[tuple[int, ...], tuple[int, ...]]
    initial: Floats


def traced_law(function: Callable[..., Any], m: Mechanism) -> TracedLaw:
    """Return the code of a law (t, q, v) -> torque of one state; it is compared with the function at random states.

    Raises:
        Untraceable: it branches, has a memory, or does what symbols cannot; the message says what.
    """
    graph, outputs, names = _traced(function, m, LawGraph())
    if graph.memory:
        raise Untraceable("it integrates over all stages of the steps; `sampled` laws integrate without Python")
    _compare(function, m, graph, outputs, names)
    return TracedLaw(function, *_code(m, graph, outputs, names))


def sampled_law(sampled: Any, m: Mechanism, sensors: tuple[int, ...]) -> SampledLaw:
    """Return the code of the law of a control.Sampled, which may have a memory and a sensor.

    sensors: which contacts of the run its sensor looks at.

    Raises:
        Untraceable: as for `traced_law`.
    """
    law, sensor = sampled.law, sampled.sensor
    graph, outputs, names = _traced(law, m, LawGraph(sensor))
    names += [f"memory {k}" for k in range(len(graph.memory))] + [f"sensed {k}" for k in range(len(sensors))]
    outputs += [after for _, after in graph.memory]
    if graph.memory or sensors:
        _compare_samples(sampled, m, graph, outputs, names, len(sensors))
    else:
        _compare(law, m, graph, outputs, names)
    return SampledLaw(
        sampled,
        *_code(m, graph, outputs, names),
        memory=len(graph.memory),
        sensors=sensors,
        period=sampled.period,
        delay=sampled.delay,
        noise=(sampled.position_noise, sampled.velocity_noise, 0.0 if sensor is None else sensor.noise),
        seeds=(seeds(sampled.seed), () if sensor is None else seeds(sensor.seed)),
        initial=np.zeros(m.nv) if sampled.initial is None else sampled.initial,
    )


class CompiledLaw:
    """A law (t, q, v) -> torque (nv,) of one state, as code; called from Python in about two microseconds.

    One thread at a time: its numbers stand in one place.
    """

    def __init__(self, code: TracedLaw, m: Mechanism) -> None:
        self.code = code
        values = sum(table.coefficients.shape[1] for table in code.tables)
        self._inputs, self._output = np.zeros(1 + m.nq + m.nv + values), np.zeros(m.nv)
        self._q, self._v = self._inputs[1 : 1 + m.nq], self._inputs[1 + m.nq : 1 + m.nq + m.nv]
        self._values = self._inputs[1 + m.nq + m.nv :]
        call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(code.address)
        places = ctypes.c_void_p(self._inputs.ctypes.data), ctypes.c_void_p(self._output.ctypes.data)
        self._go = partial(call, *places)

    def __call__(self, t: float, q: ArrayLike, v: ArrayLike) -> Floats:
        """Return the torque (nv,)."""
        q, v = np.asarray(q), np.asarray(v)
        if q.shape != self._q.shape or v.shape != self._v.shape:
            raise InputError(
                f"compiled law: expected q, v of shapes {self._q.shape}, {self._v.shape}, got {q.shape}, {v.shape}"
            )
        self._inputs[0] = t
        self._q[:] = q
        self._v[:] = v
        place = 0
        for table in self.code.tables:
            found = table(t)
            self._values[place : place + len(found)] = found
            place += len(found)
        self._go()
        return self._output.copy()


def _traced(function: Callable[..., Any], m: Mechanism, graph: LawGraph) -> tuple[LawGraph, list[Scalar], list[str]]:
    """Run a law on symbols: what it computes, its torque, and the names of its inputs up to its tables."""
    q, v = (symbols([graph.input(f"{name}{k}") for k in range(n)], (n,)) for name, n in (("q", m.nq), ("v", m.nv)))
    outputs, shape = _answer(function, Number(graph.time), q, v)
    if shape != (m.nv,):
        raise Untraceable(f"it gives shape {shape}, expected ({m.nv},)")
    count = graph.count(outputs).total
    if count > _LARGEST:
        raise Untraceable(f"it takes {count} operations, more than {_LARGEST}")
    n_values = sum(table.coefficients.shape[1] for table in graph.tables)
    names = ["t", *(f"q{k}" for k in range(m.nq)), *(f"v{k}" for k in range(m.nv))]
    names += [f"table {k}" for k in range(n_values)]
    return graph, outputs, names


def _code(m: Mechanism, graph: LawGraph, outputs: list[Scalar], names: list[str]) -> tuple[int, tuple[Table, ...], Any]:
    key = hashlib.sha256(repr(_written(graph, outputs)).encode()).hexdigest()
    module, address = expression_code(f"law {len(names)} {m.nq} {m.nv} {key}", graph, names, outputs)
    return address, tuple(graph.tables), module


def _answer(function: Callable[..., Any], t: Any, q: Any, v: Any) -> tuple[list[Scalar], tuple[int, ...]]:
    try:
        return scalars(function(t, q, v))
    except Untraceable:
        raise
    except Exception as problem:
        raise Untraceable(f"run on symbols it raises {type(problem).__name__}: {problem}") from problem


def _written(graph: Graph, outputs: list[Scalar]) -> list[Any]:
    nodes = graph.needed(outputs)
    number = {index: k for k, index in enumerate(nodes)}
    listed: list[Any] = [
        (
            int(graph.ops[k]),
            *(graph.args[k] if graph.ops[k] < 2 else (number.get(a, graph.args[a]) for a in graph.args[k])),
        )
        for k in nodes
    ]
    return [*listed, [number[value.index] if isinstance(value, Expression) else float(value) for value in outputs]]  # type: ignore[arg-type]


def _compare(function: Any, m: Mechanism, graph: LawGraph, outputs: list[Scalar], names: list[str]) -> None:
    """Raise Untraceable unless the function gives what its trace gives, whatever it was asked before."""
    random = np.random.default_rng(_SEED)
    ends = [(table.knots[0], table.knots[-1]) for table in graph.tables] or [(0.0, 1.0)]
    states = [
        (float(random.uniform(*ends[k % len(ends)])), m.random_configuration(_SEED + k), random.standard_normal(m.nv))
        for k in range(3)
    ]

    def asked() -> list[Floats]:
        try:
            with np.errstate(all="ignore"):
                return [np.array(function(t, q.copy(), v.copy()), dtype=np.float64) for t, q, v in states]
        except Exception as problem:
            raise Untraceable(f"at a random state it raises {type(problem).__name__}: {problem}") from problem

    forward = asked()
    states.reverse()
    backward = asked()[::-1]
    states.reverse()
    if not all(np.array_equal(a, b, equal_nan=True) for a, b in zip(forward, backward, strict=True)):
        raise Untraceable("it has a memory: the same state gives two answers")
    for (t, q, v), expected in zip(states, forward, strict=True):
        if not np.isfinite(expected).all():
            continue
        values = [t, *q.tolist(), *v.tolist(), *(x for table in graph.tables for x in table(t).tolist())]
        with np.errstate(all="ignore"):
            found = np.array(evaluate(graph, outputs, dict(zip(names, values, strict=True))), dtype=np.float64)
        if not np.allclose(found, expected, rtol=0.0, atol=_AGREES * max(1e-300, float(np.abs(expected).max()))):
            raise Untraceable(
                "it gives another answer than its trace: it reads the state in a way that leaves no trace"
            )


def _compare_samples(
    sampled: Any, m: Mechanism, graph: LawGraph, outputs: list[Scalar], names: list[str], sensed: int
) -> None:
    """Raise Untraceable unless a fresh copy of a law gives what its trace gives along some samples."""
    copied = sampled.for_world(0)
    forget(copied)
    random = np.random.default_rng(_SEED)
    memory = [0.0] * len(graph.memory)
    for k in range(4):
        t, q, v = k * sampled.period, m.random_configuration(_SEED + k), random.standard_normal(m.nv)
        reading = random.standard_normal(sensed)
        if copied.sensor is not None:
            copied.sensor.reading = reading
        try:
            with np.errstate(all="ignore"):
                expected = np.array(copied.law(t, q.copy(), v.copy()), dtype=np.float64)
        except Exception as problem:
            raise Untraceable(f"at a random state it raises {type(problem).__name__}: {problem}") from problem
        values = [t, *q.tolist(), *v.tolist(), *(x for table in graph.tables for x in table(t).tolist())]
        values += [*memory, *reading.tolist()]
        with np.errstate(all="ignore"):
            found = evaluate(graph, outputs, dict(zip(names, values, strict=True)))
        memory = found[m.nv :]
        if not np.allclose(found[: m.nv], expected, rtol=0.0, atol=_AGREES * max(1e-300, np.abs(expected).max())):
            raise Untraceable("along some samples it gives other answers than its trace")


class TracedFunction(Controller):
    """What `law` makes of a function (t, q, v) -> torque."""

    traceable = True
    reason: str | None = None
    """Why the law is called from Python; None when it is not, or has not run yet."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.__name__ = getattr(function, "__name__", type(function).__name__)
        self.__doc__ = getattr(function, "__doc__", None)
        self._codes: dict[str, TracedLaw | None] = {}
        self._answers: dict[str, bytes] = {}

    def __call__(self, *state: Any) -> Any:  # type: ignore[override]
        """Return the torque (nv,), or what the function of time gives."""
        return self.function(*state)

    def __reduce__(self) -> Any:
        return TracedFunction, (self.function,)

    def _has_changed(self, m: Mechanism) -> bool:
        """Whether the function answers otherwise than when it was traced: gains it reads from outside have changed."""
        if self._codes[m.digest] is None:
            return False
        random = np.random.default_rng(_SEED)
        t, q, v = float(random.uniform()), m.random_configuration(_SEED), random.standard_normal(m.nv)
        with np.errstate(all="ignore"):
            answer = np.array(self.function(t, q, v), dtype=np.float64).tobytes()
        before = self._answers.get(m.digest, answer)
        self._answers[m.digest] = answer
        return answer != before

    def traced(self, m: Mechanism) -> TracedLaw | None:
        """Return the code of the law for a mechanism, or None after a warning."""
        if m.digest not in self._codes or self._has_changed(m):
            try:
                self._codes[m.digest] = traced_law(self.function, m)
                self._has_changed(m)  # keeps the answer
            except Untraceable as problem:
                self._codes[m.digest] = None
                self.reason = str(problem)
                warnings.warn(
                    f"control.law: {self.__name__} is called from Python at every stage: {problem}",
                    ModelWarning,
                    stacklevel=2,
                )
        return self._codes[m.digest]


def law(function: Callable[..., Any]) -> TracedFunction:
    """Let a function (t, q, v) -> torque (nv,) run without Python where it can; use it as a decorator.

    Written with arithmetic, NumPy's, `setsu.control.where` instead of branches, and functions of a mechanism (inverse
    dynamics, gravity, Jacobians, poses), it is run once on symbols when a simulator meets it, compared with itself at
    random states asked in two orders, and compiled. A law that branches on the state, remembers what it was asked or
    does what symbols cannot is called like any function, and one warning per law says why. What it reads from outside
    (gains, targets) is read at that moment; the next simulator or run that meets it traces it anew where its answer at
    a random state has changed.

    A function of time, t -> x, (x, x') or (x, x', x''), that is decorated may be the target or path of a controller
    that runs without Python.

    >>> import setsu
    >>> arm = setsu.sample_mechanisms.planar_arm(2)
    >>> @setsu.control.law
    ... def hold(t, q, v):
    ...     return setsu.gravity_torque(arm, q) - 20.0 * q - 2.0 * v
    >>> run = setsu.simulate(arm, [0.2, 0.1], [0.0, 0.0], 0.1, torque=hold)
    >>> hold.reason is None  # it ran without Python
    True
    """
    if not callable(function):
        raise InputError(f"control.law: expected a function (t, q, v) -> torque, got {function!r:.80}")
    return TracedFunction(function)
