"""Tasks as Gymnasium environments: Gymnasium's own checks, vectors equal to single worlds, scripts that do the task."""

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import setsu
from setsu.learning import SimulatorEnv, SimulatorVectorEnv, Task, arm_pushes_along_wall, biped_stands

TASKS = {"biped": biped_stands, "arm": arm_pushes_along_wall}


def pendulum_task(duration: float = 0.2) -> Task:
    """Hold a pendulum up; falls end the episode."""
    m = setsu.sample_mechanisms.pendulum()
    return Task(
        name="pendulum",
        mechanism=m,
        n_actions=1,
        torque=lambda q, v, action: 2.0 * action,
        start=lambda generator, n: (generator.uniform(-0.1, 0.1, (n, 1)), np.zeros((n, 1))),
        observe=lambda s: np.concatenate([s.q, s.v], axis=1),
        reward=lambda s: np.cos(s.q[:, 0]),
        terminated=lambda s: np.abs(s.q[:, 0]) > 0.5,
        step=0.01,
        control_steps=2,
        duration=duration,
    )


@pytest.mark.parametrize("name", ["pendulum", *TASKS])
@pytest.mark.filterwarnings("ignore:.*:UserWarning")
def test_gymnasium_checks_pass(name: str) -> None:
    task = pendulum_task() if name == "pendulum" else TASKS[name]()
    check_env(SimulatorEnv(task), skip_render_check=True)


@pytest.mark.parametrize("name", TASKS)
def test_worlds_of_a_vector_are_single_environments(name: str) -> None:
    task = TASKS[name]()
    many = SimulatorVectorEnv(task, 3)
    seen, _ = many.reset(seed=5)
    single = [SimulatorEnv(task) for _ in range(3)]
    for k, env in enumerate(single):
        np.testing.assert_array_equal(env.reset(seed=5 + k)[0], seen[k])
    actions = np.random.default_rng(0)
    for _ in range(10):
        action = 0.2 * many.scripted_action() + 0.1 * actions.uniform(-1.0, 1.0, (3, task.n_actions))
        seen, reward, over, late, _ = many.step(action)
        for k, env in enumerate(single):
            one = env.step(action[k])
            np.testing.assert_array_equal(one[0], seen[k])
            assert one[1:4] == (reward[k], over[k], late[k])


def test_ended_episodes_begin_anew_in_the_next_step() -> None:
    """Autoreset NEXT_STEP: the step after the end returns the start of a new episode and no reward."""
    env = SimulatorVectorEnv(pendulum_task(), 2)
    assert isinstance(env, gymnasium.vector.VectorEnv)
    assert env.observation_space.shape == (2, 2)
    env.reset(seed=1)
    push = np.array([[1.0], [0.0]])
    ends = []
    for k in range(30):
        seen, reward, over, late, _ = env.step(push)
        ends.append(over | late)
        if k and ends[-2][0]:
            assert reward[0] == 0.0
            assert abs(seen[0, 0]) <= 0.1
            assert not over[0]
    assert np.array(ends)[:, 0].sum() >= 2
    assert np.flatnonzero(np.array(ends)[:, 1])[0] == 9  # 0.2 s in periods of 0.02 s


@pytest.mark.slow
def test_the_script_holds_the_biped_standing_for_five_seconds() -> None:
    """From disturbed starts; loops stay closed, the trunk upright, soles where they were."""
    task = biped_stands(disturbance=0.05)
    env = SimulatorVectorEnv(task, 3)
    env.reset(seed=0)
    steps = 0
    while True:
        _, _, over, late, _ = env.step(env.scripted_action())
        steps += 1
        assert not over.any()
        if late.any():
            break
    assert steps == 500
    q = env.worlds.sim.q
    assert np.abs(q[:, :2]).max() < 0.03
    assert (1.0 - 2.0 * (q[:, 3] ** 2 + q[:, 4] ** 2)).min() > 0.99
    assert max(np.abs(setsu.loop_error(task.mechanism, row)).max() for row in q) < 1e-8


def test_the_arm_presses_and_moves_on() -> None:
    """Once on its way the script presses with 10 N to a tenth, at the speed asked."""
    task = arm_pushes_along_wall()
    env = SimulatorEnv(task)
    env.reset(seed=2)
    late, rows = False, []
    while not late:
        seen, reward, over, late, _ = env.step(env.scripted_action())
        rows.append([*seen[-3:], reward])
        assert not over
    settled = np.array(rows)[100:]
    np.testing.assert_allclose(settled[:, 2], 10.0, atol=1.0)
    np.testing.assert_allclose(settled[:, 1], 0.15, atol=0.02)


def test_bad_input_is_named() -> None:
    with pytest.raises(setsu.InputError, match="control_steps"):
        Task(**{**pendulum_task().__dict__, "control_steps": 0})
    env = SimulatorEnv(pendulum_task())
    env.reset(seed=0)
    for action in ([0.0, 0.0], [np.nan]):
        with pytest.raises(setsu.InputError, match="action"):
            env.step(action)
    with pytest.raises(setsu.InputError, match="has no script"):
        env.scripted_action()
    with pytest.raises(setsu.InputError, match="num_envs"):
        SimulatorVectorEnv(pendulum_task(), 0)
