"""Sampled laws that run without Python: the machines take their samples between steps, and hold their torques.

At t_k = k period a law sees the state, and its sensor the forces of the evaluation at hand, through noise; its torque
acts `delay` later, until the next one does. What it remembers and the torques under way stand in arrays, so that save
and restore are copies. `control.Sampled` means the same; it is asked in Python where a law cannot be compiled.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from setsu.native.compiled_elementary import cos_sin, log
from setsu.native.control_flow import inline, run_code
from setsu.noise import noise_key
from setsu.simulation.clock import LAWS, look_up

__all__ = ["Sampling", "forget_samples", "make_sampling", "samples"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Handle = NDArray[np.int64]

# Part of a period that counts as rounding of the time.
_ROUNDING = 1e-6
# The number of a sample before the first one.
_NONE = -(1 << 62)


class Sampling(NamedTuple):
    """K sampled laws in N worlds."""

    code: Handle  # (K,) addresses
    sizes: Ints  # (K, 3) values of tables, numbers remembered, torques under way
    times: Floats  # (K, 2) period, delay, s
    noise: Floats  # (K, 3) standard deviations of coordinates, velocities, readings
    keys: Ints  # (K, N, 2) of the noise of the state and of the sensor
    initial: Floats  # (K, nv) torque before the first sample
    sensors: Ints  # (K, S) which of the forces `sensed` a law reads; -1: none
    taken: Ints  # (K, N) number of the last sample
    first: Ints  # (K, N) number of the first one
    acts: Ints  # (K, N) number of the one whose torque acts
    under_way: Floats  # (K, N, D nv) torques of the last D samples, sample number j in place j modulo D
    memory: Floats  # (K, N, M)
    sensed: Floats  # (N, forces) N: normal forces of surface contacts, or, with an environment, what each body exerts
    output: Floats  # torque and memory of one sample


def make_sampling(laws: Sequence[Any], rows: int, nv: int, forces: int, worlds: Sequence[int] | None) -> Sampling:
    """Return sampled laws (control.law.SampledLaw) for so many rows; worlds: their numbers, where there are many."""
    rings = [math.ceil(law.delay / law.period) + 2 for law in laws]
    memory = max((law.memory for law in laws), default=0)
    sensors = np.full((len(laws), max((len(law.sensors) for law in laws), default=0)), -1, dtype=np.int64)
    for row, law in zip(sensors, laws, strict=True):
        row[: len(law.sensors)] = law.sensors
    numbers = [()] * rows if worlds is None else [(world,) for world in worlds]
    keys = [[[noise_key(*seed, *number) for seed in law.seeds] for number in numbers] for law in laws]
    values = [sum(table.coefficients.shape[1] for table in law.tables) for law in laws]
    made = Sampling(
        code=np.array([law.address for law in laws], dtype=np.int64),
        sizes=np.array([*zip(values, (law.memory for law in laws), rings, strict=True)], dtype=np.int64).reshape(-1, 3),
        times=np.array([(law.period, law.delay) for law in laws]).reshape(-1, 2),
        noise=np.array([law.noise for law in laws]).reshape(-1, 3),
        keys=np.array(keys, dtype=np.int64).reshape(-1, rows, 2),
        initial=np.array([law.initial for law in laws]).reshape(-1, nv),
        sensors=sensors,
        taken=np.full((len(laws), rows), _NONE),
        first=np.full((len(laws), rows), _NONE),
        acts=np.full((len(laws), rows), _NONE + 1),
        under_way=np.zeros((len(laws), rows, max(rings, default=0) * nv)),
        memory=np.zeros((len(laws), rows, memory)),
        sensed=np.zeros((rows, forces)),
        output=np.zeros(nv + memory),
    )
    for array in (made.sizes, made.times, made.noise, made.keys, made.initial, made.sensors):
        array.flags.writeable = False  # no part of the state
    return made


def forget_samples(p: Sampling, rows: Any) -> None:
    """Let the laws of some rows begin anew."""
    p.taken[:, rows], p.first[:, rows], p.acts[:, rows], p.memory[:, rows] = _NONE, _NONE, _NONE + 1, 0.0
    p.sensed[rows] = 0.0


@inline
def samples(p, d, y):
    """Take the samples that are due; True when another torque acts now, under which the state is to be evaluated."""
    changed = 0
    for k in range(len(p.code)):
        for n in range(len(y.q)):
            changed += _let_act(p, d, k, n, y.t[n])
    if changed == 0:
        # Sensors have now seen the state under the torque that acts.
        for k in range(len(p.code)):
            for n in range(len(y.q)):
                number = math.floor(y.t[n] / p.times[k, 0] + _ROUNDING)
                if number > p.taken[k, n]:
                    _take(p, d, y, k, n, number)
                    changed += _let_act(p, d, k, n, y.t[n])
    return changed > 0


@inline
def _let_act(p, d, k, n, t):
    """Let the torque of a law act that is due; 1 when it is another one than before."""
    due = min(math.floor((t - p.times[k, 1]) / p.times[k, 0] + _ROUNDING), p.taken[k, n])
    if p.taken[k, n] == _NONE or due < p.first[k, n]:
        due = _NONE
    if due == p.acts[k, n]:
        return 0
    p.acts[k, n] = due
    nv = d.sampled.shape[1]
    for i in range(nv):
        total = 0.0
        for law in range(len(p.code)):
            if p.acts[law, n] <= _NONE + 1:
                total += p.initial[law, i]
            else:
                total += p.under_way[law, n, p.acts[law, n] % p.sizes[law, 2] * nv + i]
        d.sampled[n, i] = total
    return 1


@inline
def _take(p, d, y, k, n, number):
    """Evaluate a law at an instant, and keep its torque for the time it acts at."""
    nq, nv = y.q.shape[1], y.v.shape[1]
    x, ring = d.inputs, p.sizes[k, 2]
    x[0] = y.t[n]
    for i in range(nq):
        x[1 + i] = y.q[n, i]
        if p.noise[k, 0] > 0.0 or p.noise[k, 1] > 0.0:
            x[1 + i] += p.noise[k, 0] * _normal(p.keys[k, n, 0], number, i)
    for i in range(nv):
        x[1 + nq + i] = y.v[n, i]
        if p.noise[k, 0] > 0.0 or p.noise[k, 1] > 0.0:
            x[1 + nq + i] += p.noise[k, 1] * _normal(p.keys[k, n, 0], number, nq + i)
    place = 1 + nq + nv
    look_up(d, LAWS + k, y.t[n], place)
    place += p.sizes[k, 0]
    for i in range(p.sizes[k, 1]):
        x[place + i] = p.memory[k, n, i]
    place += p.sizes[k, 1]
    for i in range(p.sensors.shape[1]):
        if p.sensors[k, i] >= 0:
            x[place + i] = p.sensed[n, p.sensors[k, i]]
            if p.noise[k, 2] > 0.0:
                x[place + i] += p.noise[k, 2] * _normal(p.keys[k, n, 1], number, i)
    run_code(p.code[k], x, p.output)
    for i in range(p.sizes[k, 1]):
        p.memory[k, n, i] = p.output[nv + i]
    # Instants between two samples that no step met are covered by the earlier one.
    if p.taken[k, n] == _NONE:
        p.first[k, n] = number
    else:
        for skipped in range(max(p.taken[k, n] + 1, number - ring + 1), number):
            for i in range(nv):
                p.under_way[k, n, skipped % ring * nv + i] = p.under_way[k, n, p.taken[k, n] % ring * nv + i]
    for i in range(nv):
        p.under_way[k, n, number % ring * nv + i] = p.output[i]
    p.taken[k, n] = number


@inline
def _normal(key, sample, entry):
    """A number of setsu.noise, with its bits."""
    h = _mix(_mix(_mix(np.uint64(key)) ^ np.uint64(sample)) ^ np.uint64(entry))
    u = float((h >> np.uint64(11)) + np.uint64(1)) * 2.0**-53
    w = float(_mix(h) >> np.uint64(11)) * 2.0**-53
    cosine, _ = cos_sin(2.0 * math.pi * w)
    return math.sqrt(-2.0 * log(u)) * cosine


@inline
def _mix(x):
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
