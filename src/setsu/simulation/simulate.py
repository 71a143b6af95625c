"""`simulate`: from a state and torques to a recorded motion."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setsu.constraints.contact import SurfaceContact
from setsu.constraints.prescribed import Prescribed
from setsu.contact import Environment
from setsu.errors import InputError, ModelWarning
from setsu.kernels.tableaus import REAL_STABILITY
from setsu.mechanism import Mechanism
from setsu.simulation.arguments import shape_of
from setsu.simulation.events import CloseLoop, OpenLoop, checked_events
from setsu.simulation.joint_servo import JointServo
from setsu.simulation.recording import Recording
from setsu.simulation.setting_up import positive
from setsu.simulation.stability import fastest_decay
from setsu.simulation.torques import TorqueInput

__all__ = ["simulate"]

Floats = NDArray[np.float64]
Progress = Callable[[str, float], None]


def simulate(
    mechanism: Mechanism | Sequence[Mechanism],
    q0: ArrayLike,
    v0: ArrayLike,
    duration: float,
    step: float = 1e-3,
    torque: TorqueInput | JointServo = None,
    contacts: Sequence[SurfaceContact] = (),
    *,
    environment: Environment | None = None,
    contact_solver: str = "default",
    body_contacts: bool | str = False,
    exclude: Sequence[tuple[str, str]] = (),
    integrator: str | None = None,
    record_every: int = 1,
    record: Sequence[str] | None = None,
    progress: bool | Progress = False,
    tolerance: float | None = None,
    events: Sequence[CloseLoop | OpenLoop] = (),
    joint_stops: bool = False,
    baumgarte: float | None = None,
    prescribed: Iterable[Prescribed] = (),
    threads: int | None = None,
) -> Recording:
    """Return the motion of a mechanism under torques, with loops, couplings and contacts held to rounding.

    Args:
        q0, v0: coordinates (nq,) and velocities (nv,) at t = 0; loops and contacts must be satisfied there.
        duration, step: s; the last step is shortened when the step does not divide the duration.
        torque: None, an array (nv,), or a function (t, q, v) -> (nv,), N m or N.
        contacts: SurfaceContact records: points held on surfaces, with friction; released when they would pull.
        environment: what the mechanism's contact points can touch (without any: points of its collision shapes, as
            `with_contact_points` makes them); the step is then semi-implicit and of fixed length, a JointServo as
            `torque` is treated implicitly, and surface contacts must be bilateral and frictionless.
        contact_solver: "default", or "sugihara2002" for the method of that paper.
        body_contacts: with an environment, let the collision shapes of bodies touch each other too (meshes by their
            convex hulls, extra `geometry`); "coal" to find where with that library, in Python before each step.
        integrator: "rk4" (order 4), "semi_implicit" (1), "rk8" (8), "adaptive" (8, own steps by `tolerance` between the
            recorded ones), "radau" (5, implicit, for stiff springs, dampers and controllers).
        record_every: keep every so many steps; the first and the last are always kept.
        record: names of quantities to keep, as ("q", "v", "contact_force"); all when not given, of N runs time, q, v,
            torque and what the state does not tell. time, q, v and torque are always kept, and what follows from them
            (energy, forces without an environment, ...) is computed when asked for; reading another one is an error.
        progress: True for a bar on stderr, or a function (text, part from 0 to 1).
        tolerance: of the adaptive integrator (1e-10), per step, relative to 1 + |v| and absolute in rad or m.
        events: CloseLoop and OpenLoop records: changes of structure in mid-run; with an environment at the first step
            that begins at their time or later.
        joint_stops: let joints end at their limits, by plastic impacts; otherwise limits do not matter.
        baumgarte: rate (1/s) of Baumgarte's stabilisation instead of projection, for comparison; constraints drift.
        prescribed: setsu.Prescribed records: joints that are driven along a given motion; q0 and v0 agree with it.
            `torque` of the recording includes what the drives take, and limits do not stop them.
        exclude: with an environment, pairs of names of bodies that never touch each other, beside `mechanism.excluded`.

    Raises:
        InputError: bad arguments, before any work.
        SimulationStopped: an InputError of the run itself, which names the time; its `recording` keeps what was done.

    >>> import setsu
    >>> m = setsu.sample_mechanisms.pendulum()
    >>> rec = setsu.simulate(m, [1.0], [0.0], duration=0.1, step=0.01)
    >>> rec.q.shape
    (11, 1)
    """
    # Here, so that reading a recording does not load the compiler.
    from setsu.simulation.simulator import Simulator

    shape = shape_of(q0, "q0")
    batched = len(shape) == 2 or not isinstance(mechanism, Mechanism)
    count = shape[0] if batched and isinstance(mechanism, Mechanism) else None
    positive(duration, "duration")
    sim = Simulator(
        mechanism, step, torque, contacts, environment=environment, contact_solver=contact_solver,
        body_contacts=body_contacts, exclude=exclude, integrator=integrator, tolerance=tolerance, record=record,
        events=events, joint_stops=joint_stops, baumgarte=baumgarte, prescribed=prescribed, count=count,
        threads=threads,
    )  # fmt: skip
    checked_events(sim.mechanism, events, float(duration))
    with _Bar(progress) as report:
        sim.reset(q0, v0)
        _warn_of_instability(sim.mechanism, sim.q[0] if batched else sim.q, sim.settings.integrator, sim.settings.step)
        return sim.run(duration, record_every=record_every, progress=report)


def _warn_of_instability(m: Mechanism, q: Floats, integrator: str, step: float) -> None:
    """An explicit method with fixed step diverges when a joint's damping is faster than the step."""
    limit = REAL_STABILITY.get(integrator)
    if limit is None:
        return
    fastest = fastest_decay(m, q)
    if fastest * step >= limit:
        warnings.warn(
            f"simulate: damping of {m.name} decays at {fastest:.4g} 1/s, times the step {step:g} s is "
            f"{fastest * step:.3g}; {integrator} diverges beyond {limit:g}: "
            f"take a step below {limit / fastest:.2g} s or integrator='radau'",
            ModelWarning,
            stacklevel=3,
        )


class _Bar:
    """A progress bar on stderr when asked for with True; a user's own function otherwise."""

    def __init__(self, progress: bool | Progress) -> None:
        if not (isinstance(progress, bool) or callable(progress)):
            raise InputError(f"simulate: progress: expected True, False or a function, got {progress!r:.80}")
        self._progress, self._bar = progress, None

    def __enter__(self) -> Progress:
        if callable(self._progress):
            return self._progress
        if not self._progress:
            return lambda text, part: None
        from rich.console import Console
        from rich.progress import Progress as RichProgress

        self._bar = RichProgress(console=Console(file=sys.stderr), transient=True)
        task = self._bar.add_task("simulating", total=1.0)
        self._bar.start()
        bar = self._bar
        return lambda text, part: bar.update(task, completed=part, description=f"simulating {text}")

    def __exit__(self, *problem: object) -> None:
        if self._bar is not None:
            self._bar.stop()
