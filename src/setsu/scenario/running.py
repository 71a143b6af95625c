"""Run a scenario."""

from __future__ import annotations

from collections.abc import Callable

from setsu.errors import InputError
from setsu.scenario.preparation import Prepared, prepare
from setsu.scenario.schema import Scenario
from setsu.simulation import Recording, simulate

__all__ = ["run"]

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

    return simulate(
        ready.mechanism,
        ready.q0,
        ready.v0,
        # Constant torques need no call of Python in every step.
        torque=ready.torque.constant if ready.torque.is_constant else ready.torque,
        contacts=ready.contacts,
        events=ready.events,
        progress=progress if stop is None else watched,
        **ready.options,
    )
