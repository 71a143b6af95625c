"""One state at a time goes a shorter way: the same bits as the long one, the same refusals."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import threading
import warnings

import numpy as np
import pytest

import setsu
from setsu.native import single_calls

pytestmark = pytest.mark.thin(3)

SAMPLES = ("four_bar", "slider_crank", "delta_robot", "stewart_platform", "jansen_leg", "bricard", "parallelogram_arm")


def moving(name: str) -> tuple[setsu.Mechanism, np.ndarray, np.ndarray, np.ndarray]:
    m = getattr(setsu.sample_mechanisms, name)()
    q = setsu.close_loops(m, m.neutral())
    v = setsu.consistent_velocity(m, q, np.linspace(-1.0, 1.0, m.nv))
    return m, q, v, np.linspace(1.0, 2.0, m.nv)


def assert_same(one: setsu.ConstrainedDynamics, other: setsu.ConstrainedDynamics) -> None:
    # `source` is what the result was computed from, for wrenches at frames; it is not part of the comparison.
    for field in (field for field in dataclasses.fields(one) if field.compare):
        found, expected = getattr(one, field.name), getattr(other, field.name)
        assert found.shape == expected.shape, field.name
        assert found.dtype == expected.dtype, field.name
        assert np.array_equal(found, expected), field.name


@pytest.mark.parametrize("name", SAMPLES)
def test_the_short_way_gives_the_bits_of_the_long_one(name: str) -> None:
    m, *state = moving(name)
    for specialised in (False, True):
        setsu.constrained_dynamics(m, *state, specialised=specialised)  # the first call prepares the short way
        short = setsu.constrained_dynamics(m, *state, specialised=specialised)
        assert_same(short, setsu.constrained_dynamics(m, *(x.tolist() for x in state), specialised=specialised))
        batch = setsu.constrained_dynamics(m, *(x[None] for x in state), specialised=specialised)
        assert np.array_equal(batch.joint_wrenches[0], short.joint_wrenches)


def test_results_are_the_callers_own_and_arguments_stay() -> None:
    m, *state = moving("four_bar")
    kept = [x.copy() for x in state]
    setsu.constrained_dynamics(m, *state)
    first = setsu.constrained_dynamics(m, *state)
    before = first.loop_wrench.copy()
    second = setsu.constrained_dynamics(m, state[0], state[1], 2.0 * state[2])
    assert np.array_equal(first.loop_wrench, before)
    assert not np.array_equal(second.loop_wrench, before)
    assert all(np.array_equal(x, y) for x, y in zip(state, kept, strict=True))


@pytest.mark.parametrize(("place", "name"), [(0, "q"), (1, "v"), (2, "tau")])
def test_numbers_that_are_not_finite_are_named_as_before(place: int, name: str) -> None:
    m, *state = moving("four_bar")
    setsu.constrained_dynamics(m, *state)
    for bad in (np.nan, np.inf):
        state[place] = state[place].copy()
        state[place][1] = bad
        with pytest.raises(setsu.InputError, match=rf"constrained_dynamics: {name}\[1\] is {bad}"):
            setsu.constrained_dynamics(m, *state)
    with pytest.raises(setsu.InputError, match="constrained_dynamics: expected a Mechanism"):
        setsu.constrained_dynamics(None, *state)  # type: ignore[arg-type]


def test_threads_do_not_mix_up_their_states() -> None:
    m, q, v, tau = moving("stewart_platform")
    setsu.constrained_dynamics(m, q, v, tau)
    expected = {k: setsu.constrained_dynamics(m, q, v, k * tau).acceleration for k in (1.0, -3.0)}
    wrong: list[float] = []

    def repeat(k: float) -> None:
        for _ in range(300):
            if not np.array_equal(setsu.constrained_dynamics(m, q, v, k * tau).acceleration, expected[k]):
                wrong.append(k)

    threads = [threading.Thread(target=repeat, args=(k,)) for k in expected]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_batches_and_single_states_of_two_threads_do_not_mix() -> None:
    """They share a work space, and a batch with external wrenches changes what acts in it."""
    m, q, v, tau = moving("stewart_platform")
    many = [np.tile(x, (50, 1)) for x in (q, v, tau)]
    wrenches = np.ones((m.n_bodies, 6))
    setsu.constrained_dynamics(m, q, v, tau)
    expected = setsu.constrained_dynamics(m, q, v, tau).acceleration
    pushed = setsu.constrained_dynamics(m, *many, external_wrenches=wrenches).acceleration
    wrong: list[str] = []

    def repeat() -> None:
        for _ in range(40):
            if not np.array_equal(
                setsu.constrained_dynamics(m, *many, external_wrenches=wrenches).acceleration, pushed
            ):
                wrong.append("batch")

    thread = threading.Thread(target=repeat)
    thread.start()
    while thread.is_alive():
        if not np.array_equal(setsu.constrained_dynamics(m, q, v, tau).acceleration, expected):
            wrong.append("single")
    thread.join()
    assert not wrong


def test_the_builtin_and_its_portable_twin_do_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for portable in (False, True):
        with monkeypatch.context() as patch:
            if portable:
                patch.setattr(single_calls, "headers_as_expected", lambda: False)
            m, q, v, tau = moving("four_bar")
            r = [setsu.constrained_dynamics(m, q, v, tau) for _ in range(2)][1]
            d = setsu.constrained_dynamics_derivatives(m, q, v, tau)
            found.append([r.acceleration, r.loop_wrench, r.residual, d.dq, d.dv, d.dtau, d.loop_wrench_dv])
            solve = m.__dict__["_one_state"][False].solve
            assert (type(solve).__name__ == "function") == portable
            other = [tau.tolist(), tau[:-1], tau.astype(np.float32), tau[None], None, "tau"]
            assert [solve(q, v, x) for x in other] == [None] * len(other)
            strided = solve(q, v, np.repeat(tau, 2)[::2])
            assert strided is not None
            assert np.array_equal(strided[0], r.acceleration)
    assert all(np.array_equal(one, other) for one, other in zip(*found, strict=True))


def test_results_can_be_copied_and_kept() -> None:
    m, *state = moving("four_bar")
    for function in (setsu.constrained_dynamics, setsu.constrained_dynamics_derivatives):
        whole = [function(m, *state) for _ in range(2)][1]
        copies = (copy.copy(whole), copy.deepcopy(whole), pickle.loads(pickle.dumps(whole)), dataclasses.replace(whole))
        for again in copies:
            assert type(again) is type(whole)
            for field in (field for field in dataclasses.fields(whole) if field.compare):
                assert np.array_equal(getattr(again, field.name), getattr(whole, field.name)), field.name
        assert "residual" in repr(whole) or "dq" in repr(whole)
        with pytest.raises(AttributeError, match="has no 'accelerations'"):
            whole.accelerations  # noqa: B018
    r = setsu.constrained_dynamics(m, *state)
    assert np.array_equal(r.wrench_at("rocker"), pickle.loads(pickle.dumps(r)).wrench_at("rocker"))
    d = setsu.constrained_dynamics_derivatives(m, *state)
    assert_same(pickle.loads(pickle.dumps(d)).dynamics, r)


def test_what_has_to_be_said_is_said_on_the_short_way_too() -> None:
    m, q, v, tau = moving("four_bar")
    setsu.constrained_dynamics(m, q, v, tau)
    for function in (setsu.constrained_dynamics, setsu.constrained_dynamics_derivatives):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            function(m, q, v, tau)
        for turn, refused in ((0.6, True), (1e-5, False)):
            off = q.copy()
            off[0] += turn
            if refused:
                with pytest.raises(setsu.InputError, match="q does not satisfy loop"):
                    function(m, off, v, tau)
            else:
                with pytest.warns(setsu.ModelWarning, match="q does not satisfy loop"):
                    function(m, off, v, tau)
        function(m, q, v, tau)  # the next state is solved as if nothing had been


def test_singular_states_and_joints_at_rest_leave_the_short_way() -> None:
    b = setsu.MechanismBuilder("parallelogram", gravity=(0.0, -9.81, 0.0))
    parent, at = "world", (0.0, 0.0, 0.0)
    for k, length in enumerate((1.0, 2.0, 1.0)):
        b.add_body(
            f"r{k}", parent, setsu.Revolute((0, 0, 1)), setsu.placement(at), mass=1.0,
            center_of_mass=(length / 2, 0, 0), inertia=np.eye(3) * length**2 / 12,
        )  # fmt: skip
        parent, at = f"r{k}", (length, 0.0, 0.0)
    b.add_loop("pin", parent, "world", setsu.Revolute((0, 0, 1)), setsu.placement(at), setsu.placement((2, 0, 0)))
    flat, still = b.build(), np.zeros(3)
    bent = np.array([1.0, -1.0, 1.0 - np.pi])
    for q, singular in ((bent, False), (np.array([0.0, 0.0, np.pi]), True), (bent, False)):
        for _ in range(2):
            if singular:
                with pytest.warns(setsu.ModelWarning, match="singular"):
                    setsu.constrained_dynamics(flat, q, still, still)
            else:
                setsu.constrained_dynamics(flat, q, still, still)
    m = setsu.sample_mechanisms.four_bar()
    bodies = tuple(
        dataclasses.replace(body, joint=dataclasses.replace(body.joint, coulomb=(1e3,))) for body in m.bodies
    )
    dry = dataclasses.replace(m, bodies=bodies)
    q = setsu.close_loops(dry, dry.neutral())
    for _ in range(2):
        assert np.abs(setsu.constrained_dynamics(dry, q, still, np.ones(3)).acceleration).max() < 1e-9
