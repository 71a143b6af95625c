"""The study of derivatives: through loops beside Pinocchio, through a contact step beside MuJoCo's finite differences.

    measure_derivatives(quick=True)

Loops: `constrained_dynamics_derivatives`, with all loop wrenches, beside `constraintDynamics` and
`computeConstraintDynamicsDerivatives` on the same closed states, by single calls in a loop in Python (both) and as one
batch (which Pinocchio has not).
Trees (`forward_dynamics_derivatives`) stand in `setsu bench` itself.
Derivatives by the torque, which do not depend on how loops are held, are compared before anything is timed.
Contact: `Simulator.derivatives` of a quadruped on its feet beside `mjd_transitionFD`, central differences; that of a
biped with closed legs, in the air and landing, beside its own steps. Times are processor times, the least of several
rounds taken in turn.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import setsu
from setsu.benchmarks.machine import Machine, describe_machine
from setsu.benchmarks.timing import processor_seconds

__all__ = [
    "DERIVATIVES",
    "DerivativesRow",
    "DerivativesStudy",
    "derivatives_as_json",
    "derivatives_tables",
    "measure_derivatives",
    "write_derivatives_json",
]

DERIVATIVES = "derivatives"
_BATCH = 256
_BATCHES = 8  # in a row: about as long as the peer takes for one, both in warm caches
_CALLS = 200  # through contact, one after the other
_STEPS = 400  # of 1 ms
_AGREES = 1e-6
Floats = NDArray[np.float64]
Progress = Callable[[str, float], None]


@dataclass(frozen=True)
class DerivativesRow:
    """Microseconds per state, ours and the peer's; apart: relative difference of ∂a/∂τ, None if not compared."""

    subject: str
    peer: str
    states: int
    ours: float
    theirs: float
    goal: float
    apart: float | None = None

    @property
    def ratio(self) -> float:
        """The peer's time over ours."""
        return self.theirs / self.ours


@dataclass(frozen=True)
class DerivativesStudy:
    """Rows, the machine, versions, and which peers are missing."""

    machine: Machine
    versions: dict[str, str]
    missing: tuple[str, ...]
    rows: tuple[DerivativesRow, ...]

    @property
    def agrees(self) -> bool:
        """Whether all compared numbers are the same."""
        return all(row.apart is None or row.apart < _AGREES for row in self.rows)


def measure_derivatives(*, quick: bool = False, progress: Progress = lambda text, part: None) -> DerivativesStudy:
    """Measure what is installed of the peers."""
    rounds = 3 if quick else 15
    versions, missing, rows = {"Setsu": setsu.__version__}, [], []
    for peer, module, study in (("Pinocchio", "pinocchio", _loops), ("MuJoCo", "mujoco", _contact)):
        try:
            versions[peer] = import_module(module).__version__
        except ImportError:
            missing.append(peer)
            continue
        rows += study(rounds, progress)
    rows += _closed_legs(rounds, progress)
    progress("done", 1.0)
    return DerivativesStudy(describe_machine(), versions, tuple(missing), tuple(rows))


def _least(rounds: int, works: list[Callable[[], object]]) -> list[float]:
    best = [float("inf")] * len(works)
    for work in works:
        work()
    for _ in range(rounds):
        for k, work in enumerate(works):
            best[k] = min(best[k], processor_seconds(work))
    return best


def _loops(rounds: int, progress: Progress) -> list[DerivativesRow]:
    from setsu.benchmarks.engines import pinocchio_loops

    samples = setsu.sample_mechanisms
    subjects = {"four-bar": samples.four_bar(), "five-bar": samples.five_bar(), "five four-bars": samples.n_four_bar(5)}
    rows = []
    for number, (name, m) in enumerate(subjects.items()):
        progress(name, number / (len(subjects) + 1))
        rng = np.random.default_rng(number)
        shifted = setsu.integrate(m, m.neutral(), 0.05 * rng.standard_normal((_BATCH, m.nv)), 1.0)
        q = np.stack([setsu.close_loops(m, row) for row in shifted])
        v = np.stack([setsu.consistent_velocity(m, row, rng.standard_normal(m.nv)) for row in q])
        tau = rng.standard_normal((_BATCH, m.nv))
        theirs = pinocchio_loops.derivatives(m)
        ours = setsu.constrained_dynamics_derivatives(m, q[0], v[0], tau[0]).dtau
        apart = float(np.abs(ours - theirs(q[0], v[0], tau[0])[2]).max() / np.abs(ours).max())

        def single(m: Any = m, q: Floats = q, v: Floats = v, tau: Floats = tau) -> object:
            found = (setsu.constrained_dynamics_derivatives(m, *state) for state in zip(q, v, tau, strict=True))
            return [(d.dq, d.dv, d.dtau) for d in found]

        def batch(m: Any = m, q: Floats = q, v: Floats = v, tau: Floats = tau) -> None:
            for _ in range(_BATCHES):
                setsu.constrained_dynamics_derivatives(m, q, v, tau)

        def peer(theirs: Any = theirs, q: Floats = q, v: Floats = v, tau: Floats = tau) -> object:
            return [theirs(*state) for state in zip(q, v, tau, strict=True)]

        one, many, other = (1e6 * seconds for seconds in _least(rounds, [single, batch, peer]))
        rows.append(DerivativesRow(name, "Pinocchio", 1, one / _BATCH, other / _BATCH, 1.0, apart))
        rows.append(DerivativesRow(name, "Pinocchio", _BATCH, many / _BATCHES / _BATCH, other / _BATCH, 5.0, apart))
    return rows


def _contact(rounds: int, progress: Progress) -> list[DerivativesRow]:
    from setsu.benchmarks.engines.mujoco_contact import MujocoHumanoid
    from setsu.benchmarks.simulator import standing

    mujoco: Any = import_module("mujoco")
    progress("quadruped on the floor", 0.9)
    m = setsu.sample_mechanisms.quadruped()
    q = standing(m, {"pitch": 0.6, "knee": -1.2})
    sim = setsu.Simulator(m, 1e-3, environment=setsu.Environment.floor())
    sim.reset(q, np.zeros(m.nv))
    twin: Any = MujocoHumanoid(m, q)
    twin.begin(np.zeros(m.nv), driven=False)
    model, data = twin.model, twin.data
    n = 2 * model.nv + model.na
    A, B = np.zeros((n, n)), np.zeros((n, model.nu))
    torque = np.zeros(m.nv)

    def single() -> None:
        for _ in range(_CALLS):
            sim.derivatives(torque)

    def peer() -> None:
        for _ in range(_CALLS):
            mujoco.mjd_transitionFD(model, data, 1e-6, True, A, B, None, None)

    ours, theirs = (1e6 * seconds / _CALLS for seconds in _least(rounds, [single, peer]))
    return [DerivativesRow("quadruped on the floor", "MuJoCo", 1, ours, theirs, 5.0)]


def _closed_legs(rounds: int, progress: Progress) -> list[DerivativesRow]:
    """Derivatives of a step through loops, beside the step: at most five of them."""
    progress("closed legs", 0.95)
    m, rows = setsu.sample_mechanisms.closed_leg_biped(), []
    q, torque = setsu.close_loops(m, m.neutral()), np.zeros(m.nv)
    soles = min((setsu.frame_pose(m, q, p.body) @ [*p.position, 1.0])[2] - p.radius for p in m.contact_points)
    for place, height in (("in the air", 3.0), ("landing", 1e-5)):
        sim = setsu.Simulator(m, 1e-3, environment=setsu.Environment.floor())
        start = q.copy()
        start[2] += height - soles
        falling = np.zeros(m.nv)
        falling[[0, 2]] = 0.3, -0.05
        sim.reset(start, setsu.consistent_velocity(m, start, falling))
        kept = sim.save()

        def single(sim: Any = sim, kept: Any = kept) -> None:
            sim.restore(kept)
            for _ in range(_CALLS):
                sim.derivatives(torque)

        def steps(sim: Any = sim, kept: Any = kept) -> None:
            sim.restore(kept)
            for _ in range(_STEPS):
                sim.step(torque)

        derivatives, run = (1e6 * seconds for seconds in _least(rounds, [single, steps]))
        name, step = f"biped with closed legs, {place}", run / _STEPS
        rows.append(DerivativesRow(name, "its own step", 1, derivatives / _CALLS, step, 0.2))
    return rows


def derivatives_as_json(study: DerivativesStudy) -> dict[str, Any]:
    """Everything in the study as plain data."""
    rows = [{**asdict(row), "ratio": row.ratio, "met": row.ratio >= row.goal} for row in study.rows]
    return {**asdict(study), "rows": rows}


def write_derivatives_json(study: DerivativesStudy, path: Path) -> None:
    """Write the study to a file."""
    import msgspec

    path.write_bytes(msgspec.json.format(msgspec.json.encode(derivatives_as_json(study)), indent=1))


def derivatives_tables(study: DerivativesStudy) -> Any:
    """The table, to print with rich."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    table = Table(title="derivatives, µs per state")
    for title in ("subject", "peer"):
        table.add_column(title)
    for title in ("states", "Setsu", "peer's", "ratio", "goal", "apart"):
        table.add_column(title, justify="right")
    for row in study.rows:
        verdict = "met" if row.ratio >= row.goal else "missed"
        apart = "" if row.apart is None else f"{row.apart:.1e}"
        numbers = (f"{row.ours:.3g}", f"{row.theirs:.3g}", f"{row.ratio:.2f}", f"{row.goal:g} {verdict}", apart)
        table.add_row(row.subject, row.peer, str(row.states), *numbers)
    heads = [str(study.machine), ", ".join(f"{k} {v}" for k, v in study.versions.items())]
    heads += [f"{peer} is not installed" for peer in study.missing]
    if study.machine.busy:
        heads.append(f"{study.machine.load:.1f} of {study.machine.cores} cores were busy with other programs")
    return Group(*map(Text, heads), Text(), table)
