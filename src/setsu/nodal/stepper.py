"""Nodal inverse dynamics one sample at a time, as a controller runs it: the same digits as the batch form.

A stepper keeps the last samples. Central differences (and averaged Newmark, which is the same) need the next sample:
the torque that comes out belongs to the sample before, delay 1; a filter of half-width n delays by n. The plain Newmark
recurrence needs none, delay 0, and finds its start from the first 8 samples where v and a are not given.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setsu.dynamics.catalogue import fast_function, require_mechanism
from setsu.errors import InputError, nearest_names
from setsu.mechanism import Mechanism
from setsu.mechanism.checks import finite_number
from setsu.nodal.closed_loops import share_among_actuators
from setsu.nodal.exerted import Grasp, HeldObject, grasp, held_forces
from setsu.nodal.inverse_dynamics import Tips, checked_objects, checked_tips, exerted_wrenches
from setsu.nodal.link_forces import torques_of_forces
from setsu.nodal.motion import ByDifferences, ByRates, SeenMotion, spring_torques
from setsu.nodal.newmark import START_SAMPLES, Recurrence
from setsu.nodal.samples import central
from setsu.nodal.smoothing import checked_smoothing, smoothed
from setsu.spatial import real_array

__all__ = ["NodalStepper"]

Floats = NDArray[np.float64]
_WHERE = "NodalStepper"
_SCHEMES = ("central", "newmark")


class NodalStepper:
    """Torques of a motion that comes in sample by sample.

    Args:
        mechanism: what moves.
        step: time between samples, s.
        scheme, average, smoothing, actuated: as in nodal_inverse_dynamics.
        tip_forces, held_objects: likewise, with forces (3,) and grip forces of one number; both may be set anew between
            samples (a grasp, a hand-over, a release) and then hold for the samples still to come out.
        v, a: (nv,) of the first sample, for "newmark" without average.
        start: time of the first sample, s.

    `delay` is the number of samples between the newest one and the one whose torque comes out.

    >>> import numpy as np, setsu
    >>> m = setsu.sample_mechanisms.planar_arm(2)
    >>> t = np.arange(101) * 0.01
    >>> q = np.stack([np.sin(t), t**2], axis=1)
    >>> stepper = setsu.NodalStepper(m, 0.01)
    >>> torques = np.array([stepper.torque(row) for row in q])
    >>> stepper.delay, bool((torques[2:] == setsu.nodal_inverse_dynamics(m, t, q)[1:-1]).all())
    (1, True)
    """

    def __init__(
        self,
        mechanism: Mechanism,
        step: float,
        scheme: str = "central",
        *,
        average: bool = True,
        smoothing: int = 0,
        tip_forces: Tips | None = None,
        held_objects: Sequence[HeldObject] = (),
        actuated: Sequence[str] | None = None,
        v: ArrayLike | None = None,
        a: ArrayLike | None = None,
        start: float = 0.0,
    ) -> None:
        require_mechanism(mechanism, _WHERE)
        if scheme not in _SCHEMES:
            raise InputError(f"{_WHERE}: unknown scheme {scheme!r}{nearest_names(scheme, _SCHEMES)}")
        self.mechanism = mechanism
        self.step = finite_number(step, f"{_WHERE} step", minimum=0.0)
        if self.step == 0.0:
            raise InputError(f"{_WHERE}: step: expected a positive time, got 0 s")
        self._start_time = finite_number(start, f"{_WHERE} start")
        self._smoothing = checked_smoothing(smoothing, _WHERE)
        self._plain = scheme == "newmark" and not average and not self._smoothing
        self._actuated = actuated
        self._given = tuple(None if x is None else _vector(x, mechanism.nv, name) for x, name in ((v, "v"), (a, "a")))
        self.delay = self._smoothing or (0 if self._plain else 1)
        """Samples between the newest one and the one whose torque comes out."""
        self.tip_forces, self.held_objects = tip_forces, held_objects
        self.reset()

    @property
    def tip_forces(self) -> Tips | None:
        """What the mechanism shall exert at its tips, from the next torque on."""
        return self._tip_forces

    @tip_forces.setter
    def tip_forces(self, value: Tips | None) -> None:
        self._tips = checked_tips(self.mechanism, value, 1, _WHERE)
        self._tip_forces = value

    @property
    def held_objects(self) -> Sequence[HeldObject]:
        """What hands carry, from the next torque on."""
        return self._objects

    @held_objects.setter
    def held_objects(self, value: Sequence[HeldObject]) -> None:
        objects = checked_objects(value, _WHERE)
        for thing in objects:
            if np.ndim(thing.grip_force) != 0:
                raise InputError(
                    f"{_WHERE}: held object: grip_force: expected one number, got {thing.grip_force!r:.60}"
                )
        self._objects = objects

    def reset(self) -> None:
        """Forget all samples: the next one is the first again."""
        self._count = 0
        self._samples: list[Floats] = []
        self._grasps: dict[int, tuple[HeldObject, Grasp]] = {}
        self._recurrence = Recurrence(self.mechanism, self.step, _WHERE) if self._plain else None
        self._started = False

    @property
    def first(self) -> int:
        """The first sample whose torque comes out: those before need samples that a stepper does not wait for."""
        if not self._plain:
            return self._smoothing or 1
        return 0 if self._given[0] is not None and self._given[1] is not None else START_SAMPLES - 1

    def torque(self, q: ArrayLike) -> Floats:
        """Take the coordinates (nq,) of the next sample; return the torques (nv,) of the one `delay` before it.

        NaN until the first sample that is defined (`first`).
        """
        row = _vector(q, self.mechanism.nq, "q")
        k = self._count
        self._count += 1
        self._samples.append(row)
        self._grasp(k, row)
        seen = self._recur(row) if self._recurrence is not None else self._look()
        return np.full(self.mechanism.nv, np.nan) if seen is None else self._finish(seen, k - self.delay)

    def law(self, target: Callable[[float], ArrayLike]) -> Callable[[float, Floats, Floats], Floats]:
        """Return a torque function (t, q, v) -> (nv,) for runs: feed-forward of a planned motion target(t) -> q (nq,).

        It takes the plan one sample after another, looking ahead by the delay, and holds each torque for a step, as a
        sampled controller does. The plan is asked for `first` samples before the start too. Times must not go back.
        """
        self.reset()
        # Enough of the plan before the start that the first torque is defined.
        self._count = -self.first
        held = np.zeros(self.mechanism.nv)

        def torque(t: float, q: Floats, v: Floats) -> Floats:
            nonlocal held
            wanted = int(np.floor((t - self._start_time) / self.step + 1e-9)) + self.delay
            while self._count <= wanted:
                found = self.torque(target(self._time(self._count)))
                held = found if np.isfinite(found).all() else held
            return held

        return torque

    def _time(self, k: int) -> float:
        return self._start_time + k * self.step

    def _grasp(self, k: int, q: Floats) -> None:
        """Keep how objects sit in the hands at the first sample at which they are held."""
        for thing in self._objects:
            if thing.during[0] <= self._time(k) < thing.during[1] and id(thing) not in self._grasps:
                self._grasps[id(thing)] = (
                    thing,
                    grasp(self.mechanism, thing, fast_function(self.mechanism, "body_poses")(q)),
                )

    def _recur(self, row: Floats) -> SeenMotion | None:
        run = self._recurrence
        if run is None:
            return None
        if self._started:
            return run.advance(row)
        v, a = self._given
        if v is not None and a is not None:
            self._started = True
            return run.start(np.array(self._samples), v, a)
        if len(self._samples) < START_SAMPLES:
            return None
        self._started = True
        seen: SeenMotion = run.start(np.array(self._samples), None, None)
        for sample in self._samples[1:]:
            seen = run.advance(sample)
        self._samples.clear()
        return seen

    def _look(self) -> SeenMotion | None:
        """How the scheme sees the sample `delay` before the newest, when enough samples around it are there."""
        m, n = self.mechanism, self._smoothing
        width = 2 * n + 1 if n else 3
        del self._samples[:-width]
        if len(self._samples) < width:
            return None
        window = np.array(self._samples)
        if n:
            return ByRates(m, *smoothed(m, window, self.step, n, np.array([n]), 2 * n))
        return ByDifferences(m, window, central(self.step, 1, 2))

    def _finish(self, seen: SeenMotion, at: int) -> Floats:
        m = self.mechanism
        torque = seen.torques()
        made = list(self._tips)
        for number, tip in enumerate(made):
            made[number] = type(tip)(tip.point, tip.force.reshape(1, 3), tip.moment.reshape(1, 3))
        for thing in self._objects:
            if thing.during[0] <= self._time(at) < thing.during[1]:
                if id(thing) not in self._grasps:
                    self._grasps[id(thing)] = thing, grasp(m, thing, seen.poses[0])
                squeeze = np.array([float(np.asarray(thing.grip_force))])
                sits = self._grasps[id(thing)][1]
                made += held_forces(m, thing, np.array([True]), squeeze, seen.points(), sits)
        wrenches = exerted_wrenches(m, seen, made) if made else None
        if m.has_force_elements:
            pull = spring_torques(m, seen)
            wrenches = pull if wrenches is None else wrenches + pull
        if wrenches is not None:
            torque = torque + torques_of_forces(m, seen.q, seen.poses[..., :3, 3], wrenches)
        if self._actuated is not None:
            torque = share_among_actuators(m, seen.q, torque, self._actuated)
        return torque[0]


def _vector(value: ArrayLike, width: int, name: str) -> Floats:
    try:
        row = real_array(value)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{_WHERE}: {name}: expected numbers, got {type(value).__name__}") from None
    if row.shape != (width,) or not np.isfinite(row).all():
        raise InputError(f"{_WHERE}: {name}: expected {width} finite numbers, got {value!r:.80}")
    return row
