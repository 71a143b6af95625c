"""Run a scenario."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from setsu.errors import InputError
from setsu.scenario.preparation import Prepared, prepare
from setsu.scenario.schema import Scenario
from setsu.simulation import Recording, simulate

if TYPE_CHECKING:
    from setsu.simulation.simulator import Simulator

__all__ = ["make_simulator", "run"]

Progress = Callable[[str, float], None]


def run(
    scenario: Scenario | Prepared, progress: bool | Progress = False, stop: Callable[[], bool] | None = None
) -> Recording:
    """Return the recorded motion of a scenario.

    Args:
        scenario: from `load` or `parse`, or prepared by `prepare`.
        progress: True for a bar on stderr, or a function (text, part from 0 to 1), called again and again.
        stop: asked as often; when it answers True the run ends there.

    Raises:
        ModelFileError: a name or value in the scenario is wrong; all of them with their lines, before any work.
        SimulationStopped: the run could not go on or was stopped; its `recording` keeps what was done.

    >>> from setsu.scenario import parse
    >>> run(parse('model.sample = "pendulum"\\nsimulation.duration = 0.01')).q.shape
    (11, 1)
    """
    ready = scenario if isinstance(scenario, Prepared) else prepare(scenario)

    def watched(text: str, part: float) -> None:
        if callable(progress):
            progress(text, part)
        if stop is not None and stop() and part < 1.0:
            raise InputError("the run was stopped")

    report = progress if stop is None else watched
    return simulate(ready.mechanism, ready.q0, ready.v0, progress=report, **_arguments(ready), **ready.options)


def make_simulator(prepared: Prepared) -> Simulator:
    """Return a simulator at the start of a scenario, to be stepped from outside."""
    from setsu.simulation.simulator import Simulator

    options = {name: value for name, value in prepared.options.items() if name not in ("duration", "record_every")}
    sim = Simulator(prepared.mechanism, **_arguments(prepared), **options)
    sim.reset(prepared.q0, prepared.v0)
    return sim


def _arguments(ready: Prepared) -> dict[str, Any]:
    """Torque, contacts and events of a run."""
    # Constant torques need no call of Python in every step.
    torque = ready.torque.constant if ready.torque.is_constant else ready.torque
    return {"torque": torque, "contacts": ready.contacts, "events": ready.events}
