"""Error of a step of the adaptive method along the motion, and the length that it advises.

    err = h |e5|² / sqrt((|e5|² + 0.01 |e3|²) n),  |.| weighted by tolerance (1 + |v|)            (1)
    accept when err < 1; next step h · min(6, max(1/3, 0.9 err^(-1/8)))                          (2)

e5 and e3, differences to methods of lower order over h, are taken along the motion that the constraints leave: the rest
of them the projection takes away, but for its square. With it, err may be up to 1/sqrt(tolerance). Where a state of the
step is close to a change point, errors are rounding, which does not fall with the order: there err = h |e5| / sqrt(n).

Source: Hairer, Nørsett and Wanner 1993, Solving Ordinary Differential Equations I, ch. II.10.
"""

from __future__ import annotations

import math

from setsu.native.control_flow import inline
from setsu.simulation.compiled_projection import along_motion, hold_fading_rows

__all__ = ["accepts_length"]


@inline
def _error(method, e, g, y, h, s, kernels, x, F, w, net, u):
    """Error of an adaptive step in units of the tolerance (1), by the factors of its last stage."""
    nv = y.v.shape[1]
    for k in range(2 * nv):
        e.errors[0, k] = e.errors[1, k] = 0.0
        for i in range(len(method.b)):
            e.errors[0, k] += method.error[0, i] * g.slopes[i, 0, k]
            e.errors[1, k] += method.error[1, i] * g.slopes[i, 0, k]
    whole = _size_of_errors(e, g, y, h)
    if e.held[0] == 0 or w.size[0] == 0:
        return whole
    hold_fading_rows(kernels, F, w)
    for i in range(2):
        along_motion(s, x, F, w, net, u, e.errors[i, :nv])
        along_motion(s, x, F, w, net, u, e.errors[i, nv:])
    return max(_size_of_errors(e, g, y, h), math.sqrt(e.tolerance[0]) * whole)


@inline
def _size_of_errors(e, g, y, h):
    """The size (1) of what stands in e.errors."""
    nv = y.v.shape[1]
    e5, e3 = 0.0, 0.0
    for k in range(2 * nv):
        scale = e.tolerance[0]
        if k >= nv:
            scale *= 1.0 + max(abs(g.v0[0, k - nv]), abs(y.v[0, k - nv]))
        e5 += (e.errors[0, k] / scale) ** 2
        e3 += (e.errors[1, k] / scale) ** 2
    if e.fades[0] == 1:
        e3 = 0.0
    return 0.0 if e5 == 0.0 else h * e5 / math.sqrt((e5 + 0.01 * e3) * 2 * nv)


@inline
def accepts_length(method, c, e, g, y, s, kernels, x, F, w, net, u):
    """Whether the error of an adaptive step is small enough; otherwise c.h is shorter."""
    if e.adaptive[0] == 0 or e.locating[0] > 0:
        return True
    h = c.h[0]
    error = _error(method, e, g, y, h, s, kernels, x, F, w, net, u)
    if not error < math.inf:
        advised = h / 3.0
    elif error == 0.0:
        advised = 6.0 * h
    else:
        # error^(-1/8) by three square roots: the same bits everywhere.
        advised = h * min(6.0, max(1.0 / 3.0, 0.9 / math.sqrt(math.sqrt(math.sqrt(error)))))
    if error < 1.0:
        # A step cut short by the end of an interval says little about how long the next may be.
        e.proposed[0] = max(advised, e.proposed[0]) if h < e.proposed[0] else advised
        return True
    c.h[0] = advised
    e.whole[0] = 0
    return False
