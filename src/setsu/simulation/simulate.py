"""`simulate`: from a state and torques to a recorded motion."""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setsu.constraints.contact import SurfaceContact, checked_contacts
from setsu.contact import Environment
from setsu.dynamics.catalogue import fast_function, require_mass, require_mechanism
from setsu.errors import InputError, ModelWarning
from setsu.mechanism import Mechanism, with_contact_points
from setsu.simulation.constrained_motion import ConstrainedMotion
from setsu.simulation.contact_run import ContactRun
from setsu.simulation.events import CloseLoop, OpenLoop, checked_events, initially_open
from setsu.simulation.integrators import REAL_STABILITY, Driver, chosen_integrator
from setsu.simulation.joint_friction import has_dry_friction
from setsu.simulation.joint_servo import JointServo
from setsu.simulation.motion import FreeMotion
from setsu.simulation.recording import Recording, SimulationStopped
from setsu.simulation.run import Run
from setsu.simulation.stability import fastest_decay
from setsu.simulation.torque import Torque, TorqueInput

__all__ = ["simulate"]

Floats = NDArray[np.float64]
Progress = Callable[[str, float], None]

_MOST_STEPS = 100_000_000


def simulate(
    mechanism: Mechanism,
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
    integrator: str = "rk4",
    record_every: int = 1,
    progress: bool | Progress = False,
    tolerance: float = 1e-10,
    events: Sequence[CloseLoop | OpenLoop] = (),
    joint_stops: bool = False,
    baumgarte: float | None = None,
    exclude: Sequence[tuple[str, str]] = (),
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
        progress: True for a bar on stderr, or a function (text, part from 0 to 1).
        tolerance: of the adaptive integrator, per step, relative to 1 + |v| and absolute in rad or m.
        events: CloseLoop and OpenLoop records: changes of structure in mid-run; with an environment at the first step
            that begins at their time or later.
        joint_stops: let joints end at their limits, by plastic impacts; otherwise limits do not matter.
        baumgarte: rate (1/s) of Baumgarte's stabilisation instead of projection, for comparison; constraints drift.
        exclude: with an environment, pairs of names of bodies that never touch each other.

    Raises:
        InputError: bad arguments, before any work.
        SimulationStopped: an InputError of the run itself, which names the time; its `recording` keeps what was done.

    >>> import setsu
    >>> m = setsu.sample_mechanisms.pendulum()
    >>> rec = setsu.simulate(m, [1.0], [0.0], duration=0.1, step=0.01)
    >>> rec.q.shape
    (11, 1)
    """
    require_mechanism(mechanism, "simulate")
    q, v = _state(mechanism, q0, v0)
    times = _times(_positive(duration, "duration"), _positive(step, "step"))
    if isinstance(record_every, bool) or not isinstance(record_every, int) or record_every < 1:
        raise InputError(f"simulate: record_every: expected a whole number, at least 1, got {record_every!r}")
    chosen_integrator(integrator)
    if environment is not None:
        _refuse_with_environment(environment, integrator, baumgarte)
        require_mass(mechanism, "simulate with an environment")
        held = checked_contacts(mechanism, contacts, "simulate")
        contact_run = ContactRun(
            _able_to_touch(mechanism),
            environment,
            torque,
            held,
            float(step),
            times,
            record_every,
            contact_solver,
            body_contacts,
            checked_events(mechanism, events, float(duration)),
            bool(joint_stops),
            exclude,
        )
        contact_run.begin(q, v)
        with _Bar(progress) as report:
            try:
                contact_run.go(report)
            except InputError as problem:
                raise SimulationStopped(str(problem), contact_run.recording()) from problem
        return contact_run.recording()
    driver = Driver(integrator, float(step), _positive(tolerance, "tolerance"))
    changes = checked_events(mechanism, events, float(duration))
    drive = Torque(mechanism, torque)
    rate = None if baumgarte is None else _positive(baumgarte, "baumgarte")
    motion = _motion(mechanism, drive, contacts, changes, rate, bool(joint_stops))
    _warn_of_instability(motion.mechanism, q, integrator, float(step))
    run = Run(mechanism, motion, driver, tuple(getattr(motion, "contact_names", ())))
    run.begin(q, v)
    with _Bar(progress) as report:
        try:
            run.go(times, record_every, changes, report)
        except InputError as problem:
            where = "" if " t = " in str(problem) else f" (after t = {run.state.t:.9g} s)"
            raise SimulationStopped(f"{problem}{where}", run.recording()) from problem
    return run.recording()


def _able_to_touch(m: Mechanism) -> Mechanism:
    """The mechanism with points that can touch: its own, or those of its collision shapes if it has none."""
    if m.contact_points:
        return m
    found = with_contact_points(m)
    if not found.contact_points and not any(body.collisions for body in m.bodies):
        warnings.warn(
            f"simulate: {m.name} has neither contact points nor collision shapes: nothing of it can touch the "
            "environment; see MechanismBuilder.add_contact_points",
            ModelWarning,
            stacklevel=3,
        )
    return found


def _refuse_with_environment(environment: object, integrator: str, baumgarte: float | None) -> None:
    """Contact runs take semi-implicit steps; what they cannot do is refused by name."""
    if not isinstance(environment, Environment):
        raise InputError(f"simulate: environment: expected an Environment, got {environment!r:.80}")
    if integrator not in ("rk4", "semi_implicit"):  # the first is the default of runs without environment
        raise InputError(
            f"simulate: integrator {integrator!r} cannot step over impacts; with an environment it is 'semi_implicit'"
        )
    if baumgarte is not None:
        raise InputError(
            "simulate: baumgarte cannot be combined with an environment: loops hold at the end of every step there, by "
            "the contact solve itself, which has no gains"
        )


def _motion(
    m: Mechanism,
    torque: Torque,
    contacts: Sequence[SurfaceContact],
    changes: Sequence[CloseLoop | OpenLoop],
    baumgarte: float | None,
    joint_stops: bool,
) -> FreeMotion | ConstrainedMotion:
    contacts = checked_contacts(m, contacts, "simulate")
    if not (m.loops or m.couplings or contacts or joint_stops or has_dry_friction(m)):
        return FreeMotion(m, torque)
    return ConstrainedMotion(
        m, torque, contacts, open_loops=initially_open(changes), baumgarte=baumgarte, joint_stops=joint_stops
    )


def _state(m: Mechanism, q0: ArrayLike, v0: ArrayLike) -> tuple[Floats, Floats]:
    """Check the initial state by the rules of all other functions, and scale quaternions to length one."""
    for value, length, what in ((q0, m.nq, "q0"), (v0, m.nv, "v0")):
        shape = np.shape(value) if not isinstance(value, str) else ()
        if shape != (length,):
            raise InputError(f"simulate: {what}: expected shape ({length},) for {m.name}, got {shape}")
    try:
        q, v = np.array(q0, dtype=np.float64), np.array(v0, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"simulate: q0, v0: expected real numbers, got {q0!r:.60} and {v0!r:.60}") from None
    for numbers, what in ((q, "q0"), (v, "v0")):
        if not np.isfinite(numbers).all():
            index = int(np.flatnonzero(~np.isfinite(numbers))[0])
            raise InputError(f"simulate: {what}[{index}] is {numbers[index]}, expected finite numbers")
    return fast_function(m, "integrate")(q, np.zeros(m.nv)), v


def _times(duration: float, step: float) -> Floats:
    steps = duration / step * (1.0 - 1e-12) - 1e-9
    count = max(1, math.ceil(min(steps, _MOST_STEPS + 1)))
    if count > _MOST_STEPS:
        raise InputError(
            f"simulate: {duration} s in steps of {step} s are {steps:.3g} steps; expected at most {_MOST_STEPS}"
        )
    times = step * np.arange(count + 1, dtype=np.float64)
    times[-1] = duration
    return times


def _positive(value: float, what: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | np.floating | np.integer):
        raise InputError(f"simulate: {what}: expected a positive number, got {value!r:.80}")
    if not (math.isfinite(value) and value > 0.0):
        raise InputError(f"simulate: {what}: expected a positive finite number, got {value}")
    return float(value)


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
