"""Compiled loops call native kernels by address and give what the public functions give."""

from __future__ import annotations

import io

import numba
import numpy as np
import pytest
from numba.core import event

import setsu
from setsu.dynamics.catalogue import native_function
from setsu.native import control_flow
from setsu.native.control_flow import compiled, run_bound


@compiled
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


@compiled
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


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_person_at_a_terminal_is_told_once_that_code_is_made(monkeypatch) -> None:
    def twice(x):
        return 2.0 * x

    def thrice(x):
        return 3.0 * x

    for listener in event._registered["numba:compile"]:
        if isinstance(listener, control_flow._Notice):
            monkeypatch.setattr(listener, "given", False)
    terminal, pipe = _Terminal(), io.StringIO()
    for stream in (pipe, terminal):
        monkeypatch.setattr("sys.stderr", stream)
        for function in (twice, thrice):
            function.__module__ = "setsu.example"
            numba.njit(function)(1.0)
    assert pipe.getvalue() == ""
    assert terminal.getvalue().count("making code for this processor") == 1
