"""Many runs of a scenario together: one simulator with a world for each run, row by row the bits of single runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from setsu.dynamics import gravity_torque
from setsu.mechanism import Mechanism
from setsu.scenario import Prepared
from setsu.scenario.torques import TorqueLaw
from setsu.simulation.simulator import Simulator

__all__ = ["Outcome", "can_batch", "run_batch", "same_structure"]

Floats = NDArray[np.float64]

_NUMBERS = 20_000_000
"""Recorded numbers that runs may hold at once; more go through time in blocks."""


@dataclass(frozen=True)
class Outcome:
    """What is kept of the runs, one row each; `errors` is empty where a run went well."""

    final_q: Floats
    final_v: Floats
    largest_speed: Floats
    largest_torque: Floats
    energy_start: Floats
    energy_end: Floats
    constraint_error: Floats
    end_time: Floats
    errors: list[str]


def can_batch(ready: Prepared) -> bool:
    """Whether runs of a scenario go through time together: those without contacts, whose worlds are small."""
    return ready.scenario.environment is None and not ready.contacts


def same_structure(a: Mechanism, b: Mechanism) -> bool:
    """Whether two mechanisms differ in numbers only."""
    one, other = a.tables, b.tables
    return a.joint_names == b.joint_names and all(
        np.array_equal(getattr(one, name), getattr(other, name)) for name in _STRUCTURE
    )


_STRUCTURE = ("kind", "parent", "q_index", "v_index", "body", "is_body", "carried", "dof_parent", "dof_link")


def run_batch(ready: Prepared, mechanisms: Sequence[Mechanism], q0: Floats, v0: Floats, law: TorqueLaw) -> Outcome:
    """Take runs from states q0 (runs, nq), v0 (runs, nv) to the end.

    mechanisms: one for all runs, or one each. law: of all runs (`TorqueLaw.for_runs`).
    """
    m, settings = ready.mechanism, ready.scenario.simulation
    rows = settings.duration / (settings.step * settings.record_every) + 2
    size = max(1, int(_NUMBERS / (rows * (m.nq + 3 * m.nv))))
    parts = []
    for start in range(0, len(q0), size):
        chosen = slice(start, min(start + size, len(q0)))
        each = mechanisms[0] if len(mechanisms) == 1 else list(mechanisms[chosen])
        parts.append(_block(ready, each, q0[chosen], v0[chosen], law.rows(chosen)))
    names = [name for name in Outcome.__dataclass_fields__ if name != "errors"]
    arrays = {name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
    return Outcome(**arrays, errors=[error for part in parts for error in part.errors])


def _block(ready: Prepared, mechanism: Mechanism | list[Mechanism], q0: Floats, v0: Floats, law: TorqueLaw) -> Outcome:
    n = len(q0)
    options = {name: value for name, value in ready.options.items() if name in _OF_SIMULATORS}
    torque = law.constant if law.is_constant else _OfRuns(law, mechanism)
    count = n if isinstance(mechanism, Mechanism) else None
    sim = Simulator(mechanism, torque=torque, contacts=ready.contacts, events=ready.events, count=count, **options)
    sim.reset(q0, v0)
    rec = sim.run(ready.options["duration"], record_every=ready.options.get("record_every", 1))
    good = np.array([k not in rec.stopped for k in range(n)])
    errors = ["" if good[k] else rec.stopped[k][1] for k in range(n)]
    end_time = np.array([rec.time[-1] if good[k] else rec.stopped[k][0] for k in range(n)])
    energy = rec.energy

    def kept(values: Floats) -> Floats:
        return np.where(good.reshape(-1, *[1] * (values.ndim - 1)), values, np.nan)

    return Outcome(
        kept(rec.q[:, -1]), kept(rec.v[:, -1]), kept(np.abs(rec.v).max(axis=1)), kept(np.abs(rec.torque).max(axis=1)),
        energy[:, 0], kept(energy[:, -1]), kept(rec.constraint_error.max(axis=1)), end_time, errors,
    )  # fmt: skip


_OF_SIMULATORS = (
    "step", "environment", "contact_solver", "body_contacts", "integrator", "tolerance", "joint_stops", "baumgarte",
)  # fmt: skip


class _OfRuns:
    """The law of a scenario for worlds that are all at the same time."""

    stateless = True

    def __init__(self, law: TorqueLaw, mechanism: Mechanism | list[Mechanism]) -> None:
        self._law, self._mechanisms = law, None if isinstance(mechanism, Mechanism) else mechanism

    def __call__(self, t: Floats, q: Floats, v: Floats) -> Floats:
        """Return the torques (runs, nv)."""
        return self._law(float(t[0]), q, v, None if self._mechanisms is None else self._gravity)

    def _gravity(self, q: Floats) -> Floats:
        assert self._mechanisms is not None
        return np.stack([gravity_torque(m, row) for m, row in zip(self._mechanisms, q, strict=True)])
