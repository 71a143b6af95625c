"""Tasks for learning: a biped with closed legs stands, an arm presses along a wall. No training here.

Needs Gymnasium: pip install setsu[learning].
"""

import numpy as np

import setsu
from setsu.learning import SimulatorEnv, SimulatorVectorEnv, Task, arm_pushes_along_wall, biped_stands

# One world. The script of the task stands in for a policy: observation in, action in [-1, 1] out.
env = SimulatorEnv(arm_pushes_along_wall())
env.reset(seed=1)
truncated, total, forces = False, 0.0, []
while not truncated:
    observation, reward, terminated, truncated, info = env.step(env.scripted_action())
    total += reward
    forces.append(observation[-1])
print(f"arm: reward {total:.1f} in {len(forces)} periods, presses with {np.mean(forces[100:]):.2f} N")
assert abs(np.mean(forces[100:]) - 10.0) < 0.5

# Many worlds in one batched simulator: eight disturbed bipeds, five seconds.
many = SimulatorVectorEnv(biped_stands(disturbance=0.05), 8)
many.reset(seed=1)
done = np.zeros(8, dtype=bool)
while not done.any():
    _, reward, terminated, done, _ = many.step(many.scripted_action())
    assert not terminated.any()
print(f"bipeds: all stand after {many.worlds.sim.time[0]:.2f} s, {many.worlds.sim.q[:, 2].min():.3f} m high")

# A task of one's own is a few functions of N worlds at once.
m = setsu.sample_mechanisms.pendulum()
swing_up = Task(
    name="swing up",
    mechanism=m,
    n_actions=1,
    torque=lambda q, v, action: 2.0 * action,
    start=lambda generator, n: (generator.uniform(-0.1, 0.1, (n, m.nq)), np.zeros((n, m.nv))),
    observe=lambda s: np.concatenate([np.cos(s.q), np.sin(s.q), s.v], axis=1),
    reward=lambda s: -np.cos(s.q[:, 0]),
    terminated=lambda s: np.zeros(len(s.q), dtype=bool),
    step=0.01,
    control_steps=2,
)
own = SimulatorVectorEnv(swing_up, 4)
first, _ = own.reset(seed=0)
assert first.shape == (4, 3)
