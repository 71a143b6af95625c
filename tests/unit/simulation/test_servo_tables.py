"""A servo whose targets move with time gives the same motion whether steps are taken one by one or at once."""

import numpy as np

import setsu


def test_steps_one_by_one_and_at_once() -> None:
    m = setsu.sample_mechanisms.planar_arm(2)
    servo = setsu.JointServo(kp=50.0, kd=5.0, position=lambda t: np.array([np.sin(3.0 * t), 0.5 * np.cos(2.0 * t)]))
    worlds = [setsu.Simulator(m, step=1e-3, torque=servo, environment=setsu.Environment.floor(-5.0)) for _ in range(2)]
    for sim in worlds:
        sim.reset([0.1, 0.2], [0.0, 0.0])
    one, many = worlds
    for _ in range(24):
        one.step()
    for steps in (8, 8, 3, 5):  # tables of the same size, and of others
        many.step(steps=steps)
    np.testing.assert_array_equal(one.q, many.q)
    np.testing.assert_array_equal(one.v, many.v)
    again = setsu.Simulator(m, step=1e-3, torque=servo, environment=setsu.Environment.floor(-5.0))
    again.reset([0.1, 0.2], [0.0, 0.0])
    again.step(steps=24)
    np.testing.assert_array_equal(one.q, again.q)
