"""Model-predictive control by sampling over a batch: a cart-pole swings up, a five-bar goes round a circle.

At every period many random plans are tried at once on copies of the plant (`Simulator(count=...)`); their mean,
weighted by cost, is the next plan, and its first torque acts on the plant.
"""

import numpy as np

import setsu


def follow(plant, planner, cost, limit, actuated, horizon, periods, steps, spread, seed=0):
    """Drive the plant for so many periods of `steps` steps each; return its states and the torques."""
    random, count = np.random.default_rng(seed), planner.q.shape[0]
    plan = np.zeros((horizon, len(actuated)))
    # Plans differ by straight lines between a few random points: smooth torques, and few numbers to try.
    knots = np.linspace(0.0, horizon - 1.0, 4)
    lines = np.stack([np.interp(np.arange(horizon), knots, row) for row in np.eye(4)], axis=1)
    states, torques = [(plant.q, plant.v)], []
    for _ in range(periods):
        tried = plan + spread * lines @ random.standard_normal((count, 4, len(actuated)))
        tried[0] = plan  # the plan as it is competes too
        tried = np.clip(tried, -limit, limit)
        planner.reset(np.tile(plant.q, (count, 1)), np.tile(plant.v, (count, 1)), time=plant.time)
        total = np.zeros(count)
        for k in range(horizon):
            torque = np.zeros((count, planner.mechanism.nv))
            torque[:, actuated] = tried[:, k]
            planner.step(torque)
            total += cost(planner.time[0], planner.q, planner.v, tried[:, k])
        best = total.min()
        weight = np.exp(-10.0 * (total - best) / max(np.median(total) - best, 1e-12))
        plan = np.tensordot(weight / weight.sum(), tried, axes=1)
        torque = np.zeros(plant.mechanism.nv)
        torque[actuated] = plan[0]
        plant.step(torque, steps=steps)
        states.append((plant.q, plant.v))
        torques.append(plan[0].copy())
        plan = np.concatenate([plan[1:], plan[-1:]])
    return states, np.array(torques)


# A cart of 1 kg on a rail, a rod of 0.3 kg that hangs from it; only the cart is pushed.
builder = setsu.MechanismBuilder("cart-pole")
builder.add_body("cart", joint=setsu.Prismatic((1, 0, 0), name="rail", damping=0.1), mass=1.0)
builder.add_body(
    "pole", "cart", setsu.Revolute((0, 1, 0), name="hinge", damping=0.002), mass=0.3, center_of_mass=(0, 0, -0.3),
    inertia=np.diag([0.009, 0.009, 1e-5]),
)  # fmt: skip
cart_pole = builder.build()
period = 0.04
plant = setsu.Simulator(cart_pole, 0.005)
plant.reset([0.0, 0.0], [0.0, 0.0])
planner = setsu.Simulator(cart_pole, period, count=300)


def upright(t, q, v, u):
    """Far from upright costs most; so do the ends of the rail, at 1 m."""
    return 4.0 * (1.0 + np.cos(q[:, 1])) + q[:, 0] ** 2 + 0.05 * (v**2).sum(axis=1) + 50.0 * (np.abs(q[:, 0]) > 1.0)


states, _ = follow(plant, planner, upright, 12.0, [0], horizon=30, periods=100, steps=8, spread=6.0)
angle = np.array([np.abs(np.angle(-np.exp(1j * q[1]))) for q, _ in states])
print(f"cart-pole: within {np.degrees(angle[-12:].max()):.1f} degrees of upright over the last half second")
assert angle[-12:].max() < 0.3

# A five-bar: two motors, one closed loop; the pin at its tip is to go round a circle.
five_bar = setsu.sample_mechanisms.five_bar()
motors = [five_bar.joint_names.index(name) for name in ("left_upper", "right_upper")]
q0 = setsu.close_loops(five_bar, five_bar.neutral())


def place(q):
    """Where the pin that joins both arms is, (..., 2) m."""
    pose = setsu.frame_pose(five_bar, q, "left_fore")
    return (pose[..., :3, 3] + 0.6 * pose[..., :3, 0])[..., [0, 2]]


center = place(q0) - np.array([0.04, 0.0])


def circle(t):
    """Where the tip should be."""
    return center + 0.04 * np.array([np.cos(4.0 * t), np.sin(4.0 * t)])


def off_circle(t, q, v, u):
    """Distance from the circle, and a little effort."""
    return 1e4 * ((place(q) - circle(t)) ** 2).sum(axis=1) + 1e-2 * (v[:, motors] ** 2).sum(axis=1)


plant = setsu.Simulator(five_bar, 0.005)
plant.reset(q0, np.zeros(five_bar.nv))
planner = setsu.Simulator(five_bar, 0.02, count=48)
states, _ = follow(plant, planner, off_circle, 20.0, motors, horizon=8, periods=50, steps=4, spread=3.0)
times = 0.02 * np.arange(len(states))
error = np.array([np.linalg.norm(place(q) - circle(t)) for t, (q, _) in zip(times, states, strict=True)])
closed = plant.constraint_error
print(f"five-bar: {1e3 * error[10:].mean():.1f} mm off its circle of 40 mm; loop closed to {closed:.0e} m")
assert error[10:].mean() < 0.01
assert closed < 1e-10
