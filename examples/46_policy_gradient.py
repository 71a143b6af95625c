"""A policy learns to steer a sliding box: its gradient goes through sliding contact, step by step.

Needs JAX: pip install setsu[jax].
"""

import jax
import jax.numpy as jnp
import numpy as np

import setsu

jax.config.update("jax_enable_x64", True)

# A box of 6 kg slides on the floor at 1 m/s; the policy pushes it at its centre of mass, along the floor.
box = setsu.sample_mechanisms.floating_box()
start = box.neutral()
start[2] = 0.1
moving = np.array([1.0, 0.0, 0.0, 0.0, 0.0, 0.0])
step = setsu.interop.jax.function(box, "step", step=0.02, environment=setsu.Environment.floor())
targets = np.array([[0.20, 0.02], [0.17, -0.03]])
periods = 10


def policy(gains, q, v, target):
    """Force along the floor: towards the target, along the motion against friction, and against the motion across."""
    along = jnp.array([1.0, 0.0])
    push = 300.0 * gains[0] * (target - q[:2]) + 10.0 * gains[1] * along - 10.0 * gains[2] * v[:2] * (1.0 - along)
    return jnp.concatenate([push, jnp.zeros(4)])


def cost(gains):
    """Squared distance at the end, mean over the targets: all of them in one batch of worlds."""
    q, v = (jnp.tile(jnp.asarray(x), (len(targets), 1)) for x in (start, moving))
    for _ in range(periods):
        torque = jax.vmap(policy, in_axes=(None, 0, 0, 0))(gains, q, v, jnp.asarray(targets))
        q, v = step(q, v, torque)
    return ((q[:, :2] - targets) ** 2).sum() / len(targets)


gains = jnp.array([0.5, 1.0, 0.5])
value_and_gradient = jax.jit(jax.value_and_grad(cost))
first, gradient = value_and_gradient(gains)

# The gradient is that of the simulated motion: differences along it agree.
size = float(jnp.linalg.norm(gradient))
e, along = 1e-4, gradient / size
difference = float((cost(gains + e * along) - cost(gains - e * along)) / (2.0 * e))
print(f"slope {size:.8g}, by differences {difference:.8g}")
assert abs(difference / size - 1.0) < 1e-4

# Descent by BFGS, which learns the curvature from the gradients; each step is halved until the cost falls.
value, H = first, 0.1 * float(first) / size**2 * np.eye(3)
for _ in range(12):
    change = -H @ gradient
    while cost(gains + change) >= value and np.abs(change).max() > 1e-9:
        change = 0.5 * change
    gains, before = gains + change, gradient
    value, gradient = value_and_gradient(gains)
    s, y = np.asarray(change), np.asarray(gradient - before)
    if s @ y > 0.0:
        left = np.eye(3) - np.outer(s, y) / (s @ y)
        H = left @ H @ left.T + np.outer(s, s) / (s @ y)
reached = [1e3 * float(x) ** 0.5 for x in (first, value)]
print(f"distance {reached[0]:.1f} -> {reached[1]:.2f} mm: gains {np.round(np.asarray(gains), 3)}")
assert reached[1] < 0.5 * reached[0]
