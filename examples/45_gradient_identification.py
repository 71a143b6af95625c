"""Identify what an arm carries by gradients: torques through JAX, inertias that are possible at every step.

Needs JAX: pip install setsu[jax].
"""

import jax
import jax.numpy as jnp
import numpy as np

import setsu

jax.config.update("jax_enable_x64", True)

# The arm, and what it carries in truth: known to the measurement only.
arm = setsu.sample_mechanisms.puma560()
hand = arm.body_names[-1]
center, inertia = np.array([0.02, -0.01, 0.09]), np.diag([4e-3, 5e-3, 3e-3])
loaded = setsu.with_payload(arm, hand, 2.3, center, inertia)

# Measured: 200 states of a motion, torques with noise.
rng = np.random.default_rng(0)
q = np.array([arm.random_configuration(k) for k in range(200)])
v, a = rng.uniform(-2.0, 2.0, (200, arm.nv)), rng.uniform(-5.0, 5.0, (200, arm.nv))
noise = 0.01
measured = setsu.inverse_dynamics(loaded, q, v, a) + noise * rng.standard_normal((200, arm.nv))

# Torques as a function of the hand's inertial parameters: its own, known, and the load's.
torques = setsu.interop.jax.function(arm, "inverse_dynamics", parameters=[hand])
own = setsu.inertial_parameters(arm)[-10:]


def load_of(z):
    """Inertial parameters of a load from ten free numbers, all of them possible: its pseudo-inertia is U Uᵀ.

    exp(2 z0) is its mass, z[7:] its centre of mass, the others its extent and how it is turned.
    """
    extent = jnp.zeros((3, 3)).at[jnp.triu_indices(3, 1)].set(z[4:7]) + jnp.diag(jnp.exp(z[1:4]))
    U = jnp.exp(z[0]) * jnp.block([[extent, z[7:, None]], [jnp.zeros((1, 3)), jnp.ones((1, 1))]])
    P = U @ U.T  # second moments (3 x 3), first moments, mass
    turning = jnp.trace(P[:3, :3]) * jnp.eye(3) - P[:3, :3]
    return jnp.concatenate([P[3:, 3], P[:3, 3], turning[jnp.array([0, 0, 1, 0, 1, 2]), jnp.array([0, 1, 1, 2, 2, 2])]])


def residuals(z):
    return ((torques(q, v, a, own + load_of(z)) - measured) / noise).ravel()


# Levenberg and Marquardt's steps with the exact Jacobian; at first a ball of 1 kg at the wrist.
z = jnp.array([0.0, -3.0, -3.0, -3.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])
slopes = jax.jit(jax.jacfwd(residuals))
cost, damping = float((residuals(z) ** 2).sum()), 1.0
for step in range(1, 41):
    J, r = slopes(z), residuals(z)
    change = jnp.linalg.solve(J.T @ J + damping * jnp.diag(jnp.diag(J.T @ J)), -J.T @ r)
    lower = float((residuals(z + change) ** 2).sum())
    print(f"step {step}: cost {cost:.1f}, damping {damping:.0e}")
    if lower >= cost:
        damping *= 10.0
        continue
    z, damping, gain, cost = z + change, 0.1 * damping, cost - lower, lower
    if gain < 1e-6 * cost:
        break
load = np.asarray(load_of(z))
print(f"the load: {load[0]:.3f} kg at {np.round(1e3 * load[1:4] / load[0], 1)} mm")

# Right to what the noise leaves: 1200 measurements, ten numbers.
assert abs(cost / (measured.size - 10) - 1.0) < 0.15
J, of_load = slopes(z), jax.jacfwd(load_of)(z)
spread = np.sqrt(np.diag(of_load @ np.linalg.inv(J.T @ J) @ of_load.T))
truth = setsu.inertial_parameters(loaded)[-10:] - own
assert (np.abs(load - truth) < 5.0 * spread).all()

# The gradient of the whole cost is that of the regressor.
gradient = jax.grad(lambda theta: 0.5 * ((torques(q, v, a, theta) - measured) ** 2).sum())(jnp.asarray(own))
Y = setsu.regressor(arm, q, v, a)[..., -10:]
expected = np.einsum("nij,ni->j", Y, setsu.inverse_dynamics(arm, q, v, a) - measured)
assert np.allclose(gradient, expected, rtol=1e-9)
