"""Newmark's recurrence as isobe2003 runs it, sample by sample, and the start that leaves it without a sawtooth.

| symbol | meaning |
|---|---|
| u_k | rotation and origin of every link at sample k, and the joint coordinates |
| s_k | the smooth solution of the recurrence |

    v_{k+1} = 2 (u_{k+1} - u_k)/h - v_k                                                       (1)
    a_{k+1} = 2 (v_{k+1} - v_k)/h - a_k                                                       (2)
    from any start:  v_k = s_k + e (-1)^k,  so that  Σ_i (6 over i) (-1)^i v_i = 64 e + O(h⁶)     (3)
    ¼ a_{k-1} + ½ a_k + ¼ a_{k+1} = (u_{k+1} - 2 u_k + u_{k-1})/h²   whatever the start       (4)

By (2) an error e of the starting velocity grows in the acceleration as 4 k e/h, and even the exact velocity differs
from s_0 by h²/12 of the jerk: that is the sawtooth which a jerk at the start leaves at any step. The start is
therefore found by (3) from the first eight samples. By (4) the 1-2-1 average of the recurrence is the central
difference: the default scheme "newmark" is computed so, and has no start at all.
"""

from __future__ import annotations

from math import comb

import numpy as np
from numpy.typing import NDArray

from setsu.dynamics.catalogue import fast_function, native_function
from setsu.errors import InputError
from setsu.mechanism import Mechanism
from setsu.nodal.motion import ByNewmark, ByRates

__all__ = ["START_SAMPLES", "Recurrence"]

Floats = NDArray[np.float64]

START_SAMPLES = 8
"""Samples from which a start is found."""
_ORDER = START_SAMPLES - 2
# Two neighbouring windows must agree on the start: what their difference grows to in so many samples may be this
# part of the accelerations among the first samples.
_HORIZON, _CONSISTENT = 50, 0.05
# A start that is given must agree with the samples to this part.
_GIVEN = 1e-2


class Recurrence:
    """The state of the recurrence at a sample: derivatives of the links' poses (n, 12) and of the joints (nv,)."""

    def __init__(self, m: Mechanism, h: float, where: str) -> None:
        self.m, self.h, self.where = m, h, where
        self._rate = np.array([1.0 / h])
        self._step = native_function(m, "nodal_newmark")
        self.q = self.v = self.a = np.zeros(0)
        self.speeds = self.curves = np.zeros((m.n_bodies, 12))

    def start(self, samples: Floats, v: Floats | None, a: Floats | None) -> ByNewmark:
        """Set the state of the first sample: as given, or as (3) finds it from START_SAMPLES of them."""
        enough = len(samples) >= START_SAMPLES
        if not enough and (v is None or a is None):
            raise InputError(
                f"{self.where}: newmark without average finds its start from {START_SAMPLES} samples, got "
                f"{len(samples)}; expected more, or v and a of the first"
            )
        found = self._found(samples[:START_SAMPLES]) if enough else None
        if v is not None and a is not None:
            if found is not None:
                steps = fast_function(self.m, "difference")(samples[: START_SAMPLES - 1], samples[1:START_SAMPLES])
                self._compare(v, found[2], float(np.abs(steps).max()) / self.h)
            self.v, self.a = v, a
            self.speeds, self.curves = self._rigid(samples[0], v, a)
        elif found is not None:
            self.speeds, self.curves, self.v, self.a = found
        self.q = samples[0]
        seen = ByRates(self.m, self.q[None], self.v[None], self.a[None])
        return self._seen(seen.torques(), seen.forces())

    def advance(self, q: Floats) -> ByNewmark:
        """Go on to the next sample."""
        n = self.m.n_bodies
        torque, forces, speeds, curves, self.v, self.a = self._step(
            self.q, q, self.speeds.reshape(-1), self.curves.reshape(-1), self.v, self.a, self._rate
        )
        self.q, self.speeds, self.curves = q, speeds.reshape(n, 12), curves.reshape(n, 12)
        return self._seen(torque[None], forces[None])

    def _seen(self, torque: Floats, forces: Floats) -> ByNewmark:
        return ByNewmark(self.m, self.q[None], torque, forces, self.v[None], self.speeds[None], self.curves[None])

    def _places(self, q: Floats) -> Floats:
        """u of links (T, n, 12), in the axes of their last joints."""
        poses = fast_function(self.m, "body_poses")(q)
        R = poses[..., :3, :3] @ self.m.tables.axes[self.m.tables.body_link]
        return np.concatenate([R.reshape(*R.shape[:-2], 9), poses[..., :3, 3]], axis=-1)

    def _found(self, samples: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        steps = fast_function(self.m, "difference")(samples[:-1], samples[1:])
        links = np.diff(self._places(samples), axis=0).reshape(len(samples) - 1, -1)
        both = np.concatenate([links, steps], axis=1)
        v, doubt = _smooth_start(2.0 / self.h * both)
        a, _ = _smooth_start(2.0 / self.h * np.diff(v, axis=0))
        drift, scale = 4.0 * _HORIZON * doubt / self.h, 1.0 + float(np.abs(a).max())
        if drift > _CONSISTENT * scale:
            raise InputError(
                f"{self.where}: the first {START_SAMPLES} samples give no consistent start for newmark without "
                f"average: an error of {drift:.2g} would grow in {_HORIZON} samples, where accelerations are "
                f"{scale:.2g}; the motion jumps there, or is noisy or coarse; expected a smoother start, v and a of "
                "the first sample, average=True, or smoothing"
            )
        split = links.shape[1]
        shape = (self.m.n_bodies, 12)
        return v[0, :split].reshape(shape), a[0, :split].reshape(shape), v[0, split:], a[0, split:]

    def _compare(self, given: Floats, found: Floats, fastest: float) -> None:
        """Refuse a start whose velocity is not that of the samples; fastest: the largest velocity among the first."""
        off = np.abs(given - found)
        if (off > _GIVEN * max(fastest, float(np.abs(given).max())) + 1e-12 / self.h).any():
            k = int(np.argmax(off))
            raise InputError(
                f"{self.where}: v: the samples start with {found[k]:.6g} where v[0, {k}] is {given[k]:.6g}; expected "
                "velocities of this motion, or none: they are found from the samples"
            )

    def _rigid(self, q: Floats, v: Floats, a: Floats) -> tuple[Floats, Floats]:
        """Derivatives (n, 12) of the links' poses for joint velocities and accelerations."""
        V = fast_function(self.m, "body_velocities")(q, v)
        A = fast_function(self.m, "body_accelerations")(q, v, a)
        R = self._places(q[None])[0, :, :9].reshape(-1, 3, 3)
        w, dw = V[:, None, 3:], A[:, None, 3:]
        columns = np.swapaxes(R, -1, -2)
        turning = np.cross(w, columns)
        bending = np.cross(dw, columns) + np.cross(w, turning)
        made = [np.swapaxes(each, -1, -2).reshape(-1, 9) for each in (turning, bending)]
        return np.concatenate([made[0], V[:, :3]], axis=1), np.concatenate([made[1], A[:, :3]], axis=1)


def _smooth_start(doubled: Floats) -> tuple[Floats, float]:
    """Solve x_{k+1} + x_k = doubled_k from the start without an alternating part (3); and how sure that start is."""
    x = np.zeros((len(doubled) + 1, doubled.shape[1]))
    for k, row in enumerate(doubled):
        x[k + 1] = row - x[k]
    order = min(_ORDER, len(x) - 1)
    signs = np.array([(-1.0) ** i * comb(order, i) for i in range(order + 1)]) / 2.0**order
    e = np.sum(signs[:, None] * x[: order + 1], axis=0)
    doubt = 0.0
    if len(x) > order + 1:
        again = np.sum(signs[:, None] * x[1 : order + 2], axis=0)
        doubt = float(np.abs(e + again).max())
    alternating = (-1.0) ** np.arange(len(x))
    return x - alternating[:, None] * e, doubt
