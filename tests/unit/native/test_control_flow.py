"""Compiled loops call native kernels by address and give what the public functions give."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import pytest

import setsu
from setsu.dynamics.catalogue import native_function
from setsu.native.control_flow import inline, jit, run_bound
from setsu.native.workspace import Workspace


@jit
def _euler(handle, q, v, a, h, steps):
    status = -1
    for _ in range(steps):
        status = run_bound(handle)
        if status >= 0:
            return status
        for i in range(len(v)):
            v[i] += h * a[i]
            q[i] += h * v[i]
    return status


@jit
def _once(handle):
    return run_bound(handle)


@pytest.mark.parametrize("specialised", [False, True])
def test_a_compiled_time_loop_takes_the_same_steps_as_python(specialised: bool) -> None:
    m = setsu.sample_mechanisms.seven_joint_arm()
    function = native_function(m, "forward_dynamics", specialised=specialised)
    q, v, a, tau = (np.zeros(m.nv) for _ in range(4))
    bound = function.bind([q, v, tau], [a])
    assert _euler(bound.handle, q, v, a, 1e-3, 100) == -1
    expected_q, expected_v = np.zeros(m.nv), np.zeros(m.nv)
    for _ in range(100):
        expected_v = expected_v + 1e-3 * function(expected_q, expected_v, tau)
        expected_q = expected_q + 1e-3 * expected_v
    np.testing.assert_allclose(q, expected_q, rtol=1e-12, atol=1e-12)


def test_batches_are_computed_in_tiles_and_shared_inputs_repeat() -> None:
    m = setsu.sample_mechanisms.seven_joint_arm()
    function = native_function(m, "forward_dynamics")
    rng = np.random.default_rng(3)
    q, v, tau = rng.normal(size=(37, m.nq)), rng.normal(size=(37, m.nv)), rng.normal(size=m.nv)
    a = np.zeros((37, m.nv))
    bound = function.bind([q, v, tau], [a])
    assert _once(bound.handle) == -1
    np.testing.assert_array_equal(a, setsu.forward_dynamics(m, q, v, tau))


def test_a_bad_number_is_reported_by_the_tile_it_stands_in() -> None:
    m = setsu.sample_mechanisms.seven_joint_arm()
    q, v, tau, a = np.zeros((20, m.nq)), np.zeros((20, m.nv)), np.zeros((20, m.nv)), np.zeros((20, m.nv))
    v[11, 2] = np.nan
    bound = native_function(m, "forward_dynamics").bind([q, v, tau], [a])
    assert _once(bound.handle) // 2 in range(4, 12)


class _Two(NamedTuple):
    a: np.ndarray
    b: np.ndarray


class _Pair(NamedTuple):
    first: Workspace
    second: Workspace


@jit
def _everything(workspaces, array, count, factor, negative):
    total = 0.0
    for i in range(array.shape[0]):
        for j in range(array.shape[3]):
            total += factor * array[i, 0, 1, j]
    for k in range(len(workspaces.second.b)):
        workspaces.first.a[k] = workspaces.second.b[k] + count
    if negative:
        total = -total
    return total, count + 1, negative


@jit
def _nothing(x):
    x[0] += 1.0


@jit
def _is_positive(x):
    return x > 0.0


def test_numbers_arrays_workspaces_and_tuples_of_them_go_in_and_come_out() -> None:
    workspaces = _Pair(*(Workspace(_Two(np.zeros(3), np.arange(3))) for _ in range(2)))
    array = np.arange(2.0 * 3 * 4 * 5).reshape(2, 3, 4, 5)
    expected = 0.5 * array[:, 0, 1].sum()
    assert _everything(workspaces, array, 7, 0.5, True) == (-expected, 8, True)
    assert _everything(workspaces, array, np.int64(7), np.float64(0.5), np.bool_(False)) == (expected, 8, False)
    assert workspaces.first.fields.a.tolist() == [7.0, 8.0, 9.0]
    x = np.zeros(1)
    assert _nothing(x) is None
    assert x[0] == 1.0
    assert _is_positive(2.0) is True
    assert _is_positive(np.float64(-2.0)) is False


@pytest.mark.parametrize("bad", [np.zeros((4, 4))[:, ::2], np.zeros(3, dtype=np.float32), np.zeros(()), "text", None])
def test_what_compiled_code_cannot_take_is_refused(bad: object) -> None:
    with pytest.raises(TypeError, match="compiled code takes"):
        _nothing(bad)


@inline
def _inner(x):
    return 2.0 * x


@jit
def _calls_the_c_library(x):
    return math.tan(x)


def test_what_only_compiled_code_can_call_says_so() -> None:
    with pytest.raises(TypeError, match=r"test_control_flow\._inner can be called by compiled functions only"):
        _inner(1.0)
    with pytest.raises(TypeError, match="run_bound can be called by compiled functions only"):
        run_bound(np.zeros(7, dtype=np.int64))


def test_functions_of_the_c_library_are_refused() -> None:
    """Their last bits differ between systems."""
    with pytest.raises(ValueError, match=r"compiled code calls tan; expected the functions of .*compiled_elementary"):
        _calls_the_c_library(1.0)


@jit
def _split(x, out):
    for k in range(len(x)):
        out[k, 0], power = math.frexp(x[k])
        out[k, 1] = power
        out[k, 2] = math.sqrt(x[k])


@jit
def _scale(x, n, out):
    for k in range(len(x)):
        out[k] = math.ldexp(x[k], n[k])


def test_exact_functions_give_the_bits_of_the_c_library() -> None:
    """Subnormal, zero, infinite and not a number included; results that round into the subnormal range too."""
    rng = np.random.default_rng(0)
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, -5e-324, 2.0**-1022, 1.7976931348623157e308]
    x = np.concatenate([special, rng.normal(size=200) * 10.0 ** rng.uniform(-320, 307, size=200)])
    out = np.zeros((len(x), 3))
    _split(x, out)
    m, e = np.frexp(x)
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(out, np.stack([m, e, np.sqrt(x)], axis=1))
    assert np.array_equal(np.signbit(out[:, 0]), np.signbit(m))
    for powers in (rng.integers(-2200, 2200, size=len(x)), rng.integers(-1100, -1000, size=len(x))):
        scaled = np.zeros(len(x))
        _scale(x, powers, scaled)
        with np.errstate(over="ignore", under="ignore"):
            expected = np.ldexp(x, powers)
        np.testing.assert_array_equal(scaled, expected)
        assert np.array_equal(np.signbit(scaled[x == x]), np.signbit(expected[x == x]))
