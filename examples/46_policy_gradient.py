"""A policy learns to push a box to its place: its gradient goes through sliding contact, step by step.

Needs JAX: pip install setsu[jax].
"""

import jax
import jax.numpy as jnp
import numpy as np

import setsu

jax.config.update("jax_enable_x64", True)

# A box of 6 kg on the floor; the policy pushes it at its centre of mass, along the floor.
box = setsu.sample_mechanisms.floating_box()
start = box.neutral()
start[2] = 0.1
step = setsu.interop.jax.function(box, "step", step=0.02, environment=setsu.Environment.floor())
targets = np.array([[0.10, 0.02], [0.06, -0.05], [-0.04, 0.08]])
periods = 20


def policy(gains, q, v, target):
    """Force along the floor: gains of distance and velocity, and a push along the way against friction."""
    away = target - q[:2]
    direction = away / jnp.sqrt(away @ away + 1e-4)
    push = 100.0 * (gains[0] * away + gains[1] * direction) - 10.0 * gains[2] * v[:2]
    return jnp.concatenate([push, jnp.zeros(4)])


def cost(gains):
    """Distance left and effort, mean over the targets: all of them in one batch of worlds."""
    q, v = jnp.tile(jnp.asarray(start), (len(targets), 1)), jnp.zeros((len(targets), box.nv))
    effort = 0.0
    for _ in range(periods):
        torque = jax.vmap(policy, in_axes=(None, 0, 0, 0))(gains, q, v, jnp.asarray(targets))
        q, v = step(q, v, torque)
        effort += 1e-8 * (torque**2).sum()
    return (((q[:, :2] - targets) ** 2).sum() + effort) / len(targets)


gains = jnp.array([1.0, 0.55, 0.5])
value_and_gradient = jax.jit(jax.value_and_grad(cost))
first, gradient = value_and_gradient(gains)

# The gradient is that of the simulated motion: differences along it agree.
e, along = 1e-5, gradient / jnp.linalg.norm(gradient)
difference = (cost(gains + e * along) - cost(gains - e * along)) / (2.0 * e)
print(f"slope {float(jnp.linalg.norm(gradient)):.6g}, by differences {float(difference):.6g}")
assert abs(float(difference) / float(jnp.linalg.norm(gradient)) - 1.0) < 1e-3

# Descent, each step half as long until the cost falls.
value, length = first, 1.0
for _ in range(12):
    while cost(gains - length * gradient) >= value and length > 1e-6:
        length *= 0.5
    gains = gains - length * gradient
    value, gradient = value_and_gradient(gains)
    length *= 2.0
print(f"cost {float(first):.2e} -> {float(value):.2e}: gains {np.round(np.asarray(gains), 3)}")
assert float(value) < 0.2 * float(first)
