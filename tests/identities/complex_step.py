"""Exact directional derivatives: the kernel itself, run on complex numbers.

f(x + i h d) = f(x) + i h f'(x) d + O(h²) holds to the last digit with h = 1e-30, since nothing is subtracted.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from identities.zoo import tangent

import setsu
from setsu.dynamics.catalogue import KERNELS
from setsu.kernels.interpreter import run

_STEP = 1e-30


def directional(
    m: setsu.Mechanism,
    kernel: str,
    state: Mapping[str, np.ndarray],
    along: Mapping[str, np.ndarray],
    *,
    target: int = -1,
) -> dict[str, np.ndarray]:
    """Derivative of each output of a kernel at one state, along velocities for "q", plain directions for the rest."""
    inputs = {}
    for name, value in state.items():
        direction = along.get(name, np.zeros(0))
        if name == "q" and direction.size:
            direction = tangent(m, value, direction)
        step = np.zeros(value.size) if not direction.size else direction.ravel()
        inputs[name] = (value.ravel() + 1j * _STEP * step).tolist()
    outputs = run(KERNELS[kernel](), m.tables, inputs, target=target)
    return {name: np.imag(np.array(values, dtype=complex)) / _STEP for name, values in outputs.items()}
