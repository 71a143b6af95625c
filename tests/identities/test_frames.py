"""Laws of frames: pose, velocity, acceleration, Jacobian and its rate agree, for every frame of every mechanism."""

from __future__ import annotations

import numpy as np
import pytest
from identities.zoo import animal, assert_law, over_the_zoo, times

import setsu

pytestmark = pytest.mark.thin(3)

FUNCTIONS = ["frame_pose", "frame_velocity", "frame_acceleration", "frame_jacobian", "frame_jacobian_rate"]


@over_the_zoo
def test_velocity_and_acceleration_follow_from_the_jacobian(name: str) -> None:
    one = animal(name)
    m, q, v, a = one.mechanism, one.q, one.v, one.a
    rng = np.random.default_rng(1)
    for frame in m.frame_names:
        point = rng.standard_normal((len(q), 3))
        R = setsu.frame_pose(m, q, frame)[:, :3, :3]
        for axes in ("world", "frame"):
            J = setsu.frame_jacobian(m, q, frame, point, axes=axes)
            rate = setsu.frame_jacobian_rate(m, q, v, frame, point, axes=axes)
            velocity = setsu.frame_velocity(m, q, v, frame, point, axes=axes)
            acceleration = setsu.frame_acceleration(m, q, v, a, frame, point, axes=axes)
            assert_law(times(J, v), velocity, [J, velocity], 50 * m.nv)
            assert_law(times(J, a) + times(rate, v), acceleration, [J, rate, acceleration], 200 * m.nv)
            if axes == "frame":  # the same vectors, turned
                world = setsu.frame_acceleration(m, q, v, a, frame, point).reshape(-1, 2, 3)
                turned = np.einsum("nji,nkj->nki", R, world).reshape(-1, 6)
                assert_law(acceleration, turned, [acceleration], 50)
        assert_law(setsu.frame_jacobian(m, q, frame, point)[:, :3], setsu.point_jacobian(m, q, frame, point), [J], 10)


@over_the_zoo
def test_velocity_is_the_rate_of_the_pose(name: str) -> None:
    """Fourth-order differences along `integrate`: the error is that of rounding and of h⁴."""
    one = animal(name)
    m, q, v = one.mechanism, one.q, one.v
    h = 1e-3
    for frame in m.frame_names:
        steps = [setsu.frame_pose(m, setsu.integrate(m, q, v, k * h), frame) for k in (-2, -1, 1, 2)]
        dT = (steps[0] - 8.0 * steps[1] + 8.0 * steps[2] - steps[3]) / (12.0 * h)
        R, velocity = setsu.frame_pose(m, q, frame)[:, :3, :3], setsu.frame_velocity(m, q, v, frame)
        spin = dT[:, :3, :3] @ np.swapaxes(R, 1, 2)
        angular = np.stack([spin[:, 2, 1], spin[:, 0, 2], spin[:, 1, 0]], axis=1)
        scale = 1.0 + np.abs(velocity).max() ** 5
        assert np.abs(dT[:, :3, 3] - velocity[:, :3]).max() < 1e-9 * scale
        assert np.abs(angular - velocity[:, 3:]).max() < 1e-9 * scale


@pytest.mark.parametrize("name", ["fixed 1", "floating 2"])
def test_specialised_single_and_batched_calls_agree(name: str) -> None:
    one = animal(name)
    m, q, v, a = one.mechanism, one.q, one.v, one.a
    fast = setsu.compile(m, [*FUNCTIONS, "point_jacobian", "point_jacobian_rate"])
    point = (0.1, -0.2, 0.3)
    states = {"frame_pose": (q,), "frame_velocity": (q, v), "frame_acceleration": (q, v, a)}
    states |= {"frame_jacobian": (q,), "frame_jacobian_rate": (q, v)}
    for frame in m.frame_names:
        for function, state in states.items():
            options = [{}] if function == "frame_pose" else [{"axes": "world"}, {"axes": "frame", "point": point}]
            for option in options:
                generic = getattr(setsu, function)(m, *state, frame, **option)
                special = getattr(fast, function)(*state, frame, **option)
                assert_law(special, generic, [generic], 500)
                for k in range(len(q)):
                    single = getattr(setsu, function)(m, *(x[k] for x in state), frame, **option)
                    assert np.array_equal(single, generic[k])


def test_frames_behind_fixed_joints_and_body_keyword() -> None:
    m = setsu.sample_mechanisms.planar_arm(2)
    assert m.frame_names == ("world", "link1", "link2", "tip")
    J = setsu.frame_jacobian(m, [0.3, 0.4], "link2", (0.5, 0.0, 0.0))
    assert np.array_equal(setsu.frame_jacobian(m, [0.3, 0.4], body="tip"), J)
    assert np.array_equal(setsu.frame_pose(m, np.zeros((4, 2)), "world"), np.tile(np.eye(4), (4, 1, 1)))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m: setsu.frame_pose(m, [0.0, 0.0], "tipp"), "did you mean .tip"),
        (lambda m: setsu.frame_pose(m, [0.0], "tip"), "frame_pose: q: expected shape"),
        (lambda m: setsu.frame_pose(m, [0.0], "world"), "frame_pose: q: expected shape"),
        (lambda m: setsu.frame_velocity(m, [0.0, np.nan], [0.0, 0.0], "world"), "frame_velocity: q"),
        (lambda m: setsu.frame_velocity(m, [0.0, 0.0], [0.0, 0.0], "tip", axes="body"), 'axes: expected "world"'),
        (lambda m: setsu.frame_jacobian(m, [0.0, 0.0], "tip", body="tip"), "expected the name of one frame"),
        (lambda m: setsu.frame_jacobian(m, [0.0, 0.0]), "expected the name of one frame"),
        (lambda m: setsu.frame_jacobian(m, [0.0, 0.0], "tip", (0.0, np.inf, 0.0)), "point"),
        (lambda m: setsu.compile(m, ["frame_pose"]).operations("frame_pose"), "depends on the frame"),
    ],
)
def test_bad_arguments(call, message: str) -> None:
    with pytest.raises(setsu.InputError, match=message):
        call(setsu.sample_mechanisms.planar_arm(2))
