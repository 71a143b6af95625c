"""Nodal inverse dynamics of closed systems: loops shared among actuators, objects in hands, changes of structure."""

import numpy as np
import pytest

import setsu
from setsu.sample_mechanisms import delta_robot, five_bar, planar_arm, slider_crank, stewart_platform, ur10


def loop_motion(m: setsu.Mechanism, actuated: list[str], samples: int, seconds: float = 0.4):
    """A simulated motion of a closed mechanism under smooth torques: time, q, v, a that satisfy the loops."""
    columns = [m.v_slices[m.joint_index(name)].start for name in actuated]
    push = np.zeros(m.nv)
    push[columns] = np.linspace(0.4, 1.0, len(columns))
    q0 = setsu.close_loops(m, m.neutral())
    step = seconds / (10 * (samples - 1))
    rec = setsu.simulate(m, q0, np.zeros(m.nv), seconds, step, torque=push, integrator="rk4", record_every=10)
    return rec.time, rec.q, rec.v, rec.acceleration


CLOSED = {
    "five-bar": (five_bar, None),
    "slider-crank": (slider_crank, None),
    "delta robot": (delta_robot, ["arm1", "arm2", "arm3"]),
    "Stewart platform": (stewart_platform, [f"leg{k}" for k in range(1, 7)]),
}


@pytest.mark.parametrize("name", CLOSED)
def test_actuators_of_a_closed_mechanism_as_by_virtual_work(name: str) -> None:
    """τ_tree shared among the actuators equals constrained inverse dynamics for the same motion."""
    build, actuated = CLOSED[name]
    m = build()
    actuated = actuated or list(setsu.independent_coordinates(m))
    t, q, v, a = loop_motion(m, actuated, 9)
    exact = setsu.constrained_inverse_dynamics(m, q, v, a, actuated=actuated).torque
    found = setsu.nodal_inverse_dynamics(m, t, q, "given", v=v, a=a, actuated=actuated)
    assert np.abs(found - exact).max() <= 1e-9 * np.abs(exact).max()


def two_arms() -> setsu.Mechanism:
    """Two planar arms of two links, 0.4 m apart, in a vertical plane."""
    b = setsu.MechanismBuilder("two arms")
    for side, x in (("left", -0.2), ("right", 0.2)):
        parent, place = "world", setsu.placement((x, 0, 0))
        for k in (1, 2):
            b.add_body(
                f"{side}{k}", parent, setsu.Revolute((0, -1, 0), f"{side}_joint{k}"), placement=place, mass=0.4,
                center_of_mass=(0.15, 0, 0), inertia=np.diag([1e-4, 3e-3, 3e-3]),
            )  # fmt: skip
            parent, place = f"{side}{k}", setsu.placement((0.3, 0, 0))
    return b.build()


GRIPS = [("left2", (0.3, 0, 0)), ("right2", (0.3, 0, 0))]


def with_object(mass: float, inertia: float, length: float) -> setsu.Mechanism:
    """The two arms with the object between them: pinned to the left hand, and to the right one by a loop."""
    arms = two_arms()
    b = setsu.MechanismBuilder("two arms and an object")
    for body in arms.bodies:
        b.add_body(
            body.name, body.parent, body.joint, placement=body.pose.matrix, mass=body.mass,
            center_of_mass=body.center_of_mass, inertia=np.diag([1e-4, 3e-3, 3e-3]),
        )  # fmt: skip
    b.add_body(
        "object", "left2", setsu.Revolute((0, -1, 0), "wrist"), placement=setsu.placement((0.3, 0, 0)), mass=mass,
        center_of_mass=(0.5 * length, 0, 0), inertia=np.diag([1e-9, inertia, inertia]),
    )  # fmt: skip
    b.add_loop(
        "hold", "right2", "object", setsu.Revolute((0, -1, 0)), placement_a=setsu.placement((0.3, 0, 0)),
        placement_b=setsu.placement((length, 0, 0)),
    )  # fmt: skip
    return b.build()


def swing(m: setsu.Mechanism, samples: int = 41):
    """A simulated swing of the held object: states on the loop with their accelerations; joint order left, right."""
    q0 = setsu.close_loops(m, [2.0, -1.0, 1.1, 1.0, -1.0])
    return setsu.simulate(m, q0, np.zeros(m.nv), 0.4, 0.4 / (samples - 1), torque=[0.5, 0.2, 0.0, 0.9, -0.1])


def test_two_arms_hold_an_object_with_the_wanted_force() -> None:
    """Torques of the arms put into the closed mechanism's dynamics return the motion and 0.5 N between the hands."""
    mass, inertia, length = 0.3, 2e-3, 0.25
    closed = with_object(mass, inertia, length)
    names = closed.joint_names
    rec = swing(closed)
    arms = two_arms()
    pick = [names.index(name) for name in arms.joint_names]
    q, v, a = rec.q[:, pick], rec.v[:, pick], rec.acceleration[:, pick]
    thing = setsu.HeldObject(mass, GRIPS, inertia, grip_force=0.5)
    tau = setsu.nodal_inverse_dynamics(arms, rec.time, q, "given", v=v, a=a, held_objects=[thing])
    torque = np.zeros_like(rec.q)
    torque[:, pick] = tau
    back = setsu.constrained_dynamics(closed, rec.q, rec.v, torque)
    assert np.abs(back.acceleration - rec.acceleration).max() <= 1e-10 * np.abs(rec.acceleration).max()
    # Along the line the right hand gives half of m (a - g), and presses with 0.5 N towards the left one.
    hands = [
        setsu.body_poses(arms, q)[:, k, :3, :3] @ np.array([0.3, 0, 0]) + setsu.body_poses(arms, q)[:, k, :3, 3]
        for k in (1, 3)
    ]
    u = (hands[1] - hands[0]) / length
    from_right = np.sum(back.loop_wrench[:, 0, :3] * u, axis=1)
    from_left = np.sum(back.joint_wrenches[:, names.index("wrist"), :3] * u, axis=1)
    np.testing.assert_allclose(0.5 * (from_left - from_right), 0.5, rtol=0, atol=1e-10)


def test_order_two_of_the_two_arm_system() -> None:
    """The arms move so that their hands keep their distance: circles of equal phase, exact by geometry."""
    arms = two_arms()

    def torques(samples: int):
        t = np.linspace(0.0, 1.0, samples)
        wave, rate = 0.4 * np.sin(2.0 * t), 0.8 * np.cos(2.0 * t)
        swing = -1.6 * np.sin(2.0 * t)
        # Parallel arms: equal angles keep the hands 0.4 m apart.
        one = np.stack([1.2 + wave, -0.8 - 0.5 * wave], axis=1)
        q, v, a = (
            np.concatenate([x, x], axis=1)
            for x in (one, np.stack([rate, -0.5 * rate], axis=1), np.stack([swing, -0.5 * swing], axis=1))
        )
        thing = [setsu.HeldObject(0.3, GRIPS, 1e-3, share=0.3, grip_force=0.5)]
        exact = setsu.nodal_inverse_dynamics(arms, t, q, "given", v=v, a=a, held_objects=thing)
        found = setsu.nodal_inverse_dynamics(arms, t, q, held_objects=thing)
        return float(np.abs(found - exact).max() / np.abs(exact).max())

    errors = [torques(samples) for samples in (101, 201, 401)]
    assert abs(np.log2(errors[1] / errors[2]) - 2.0) < 0.1


def test_taking_and_releasing_jumps_by_the_load_alone() -> None:
    """Open, closed, branched by input data: each jump of the torque is Jᵀ F of what is taken over, nothing else."""
    arms = two_arms()
    t = np.linspace(0.0, 1.5, 301)
    one = np.stack([1.2 + 0.3 * np.sin(2 * t), -0.8 + 0.2 * np.cos(2 * t)], axis=1)
    q = np.concatenate([one, one], axis=1)
    both = setsu.HeldObject(0.3, GRIPS, grip_force=0.5, during=(0.5, 1.0))
    alone = setsu.HeldObject(0.3, GRIPS[:1], during=(1.0, np.inf))
    free = setsu.nodal_inverse_dynamics(arms, t, q)
    tau = setsu.nodal_inverse_dynamics(arms, t, q, held_objects=[both, alone])
    J = [setsu.point_jacobian(arms, q, body, place) for body, place in GRIPS]
    poses = setsu.body_poses(arms, q)
    hand = poses[:, 1, :3, :3] @ np.array([0.3, 0, 0]) + poses[:, 1, :3, 3]
    a = np.gradient(np.gradient(hand, t, axis=0), t, axis=0)
    W, u = 0.3 * (a - np.array(arms.gravity)), np.array([1.0, 0, 0])
    held, last = (t >= 0.5) & (t < 1.0), t >= 1.0
    load = np.einsum("tij,ti->tj", J[0], held[:, None] * (0.5 * W + 0.5 * u) + last[:, None] * W)
    load += np.einsum("tij,ti->tj", J[1], held[:, None] * (0.5 * W - 0.5 * u))
    inside = slice(3, -3)
    np.testing.assert_allclose((tau - free)[inside], load[inside], atol=2e-3)
    # Between the changes nothing jumps: steps as small as those of the motion without an object.
    steps = np.abs(np.diff(tau, axis=0)).max(axis=1)
    calm = np.ones(len(steps), dtype=bool)
    calm[[np.searchsorted(t, 0.5) - 1, np.searchsorted(t, 1.0) - 1]] = False
    assert steps[calm].max() < 0.05
    assert steps[~calm].min() > 0.2


@pytest.mark.parametrize(
    ("thing", "message"),
    [
        (lambda: setsu.HeldObject(0.3, []), "at least one pair"),
        (lambda: setsu.HeldObject(-0.3, GRIPS), "at least 0"),
        (lambda: setsu.HeldObject(0.3, GRIPS, during=(1.0, 0.5)), "start before the end"),
        (lambda: setsu.HeldObject(0.3, [("nobody", (0, 0, 0))]), "unknown body 'nobody'"),
        (lambda: setsu.HeldObject(0.3, [("world", (0, 0, 0))]), "does not move"),
        (lambda: setsu.HeldObject(0.3, [GRIPS[0], ("right2", (np.nan, 0, 0))]), "finite"),
        (lambda: setsu.HeldObject(0.3, GRIPS, grip_force=[1.0, 2.0]), "grip_force"),
        (lambda: "a stone", "HeldObject records"),
    ],
)
def test_refused_objects(thing, message: str) -> None:
    arms = two_arms()
    with pytest.raises(setsu.InputError, match=message):
        setsu.nodal_inverse_dynamics(arms, np.arange(5.0), np.zeros((5, 4)), held_objects=[thing()])


def test_hands_that_drift_apart_hold_nothing() -> None:
    t = np.linspace(0.0, 1.0, 21)
    q = np.outer(t, [0.1, 0.0, 0.0, 0.0])
    with pytest.raises(setsu.InputError, match="keep their distance"):
        setsu.nodal_inverse_dynamics(two_arms(), t, q, held_objects=[setsu.HeldObject(0.1, GRIPS)])


def test_too_few_actuators_are_named() -> None:
    m = five_bar()
    t, q, v, a = loop_motion(m, list(setsu.independent_coordinates(m)), 5)
    with pytest.raises(setsu.InputError, match="cannot produce this motion"):
        setsu.nodal_inverse_dynamics(m, t, q, "given", v=v, a=a, actuated=[m.joint_names[0]])
    with pytest.raises(setsu.InputError, match="unknown joint"):
        setsu.nodal_inverse_dynamics(planar_arm(2), t, np.zeros((5, 2)), actuated=["elbow"])


def test_forces_on_an_object_in_space_balance_its_motion() -> None:
    """Two hands on rails along x, y, z turn a rod about a tilted axis: ΣF = m (a - g), ΣM = d(I u x u')/dt."""
    b = setsu.MechanismBuilder("two hands")
    for side in ("left", "right"):
        parent = "world"
        for k, axis in enumerate(np.eye(3)):
            b.add_body(f"{side}{k}", parent, setsu.Prismatic(axis, f"{side}_{k}"), mass=0.1 if k == 2 else 0.0)
            parent = f"{side}{k}"
    hands = b.build()
    mass, inertia, length, center, share, grip = 0.7, 0.02, 0.5, 0.3, 0.8, 4.0
    t = np.linspace(0.0, 1.0, 2001)
    w, axis = 2.0, np.array([1.0, 2.0, 2.0]) / 3.0
    across, other = np.array([2.0, -2.0, 1.0]) / 3.0, np.array([2.0, 1.0, -2.0]) / 3.0
    angle = (w * t)[:, None]
    u = 0.6 * axis + 0.8 * (np.cos(angle) * across + np.sin(angle) * other)
    middle = np.stack([0.1 * np.sin(3 * t), 0.2 * np.cos(2 * t), 0.1 * t**2], axis=1)
    ddmiddle = np.stack([-0.9 * np.sin(3 * t), -0.8 * np.cos(2 * t), np.full(len(t), 0.2)], axis=1)
    ddu = -(w**2) * (u - 0.6 * axis)
    arms = [-center * length * u, (1.0 - center) * length * u]
    q = np.concatenate([middle + arm for arm in arms], axis=1)
    thing = setsu.HeldObject(
        mass, [("left2", (0, 0, 0)), ("right2", (0, 0, 0))], inertia, center=center, share=share, grip_force=grip
    )
    with_object = setsu.nodal_inverse_dynamics(hands, t, q, held_objects=[thing])
    force = (with_object - setsu.nodal_inverse_dynamics(hands, t, q)).reshape(len(t), 2, 3)
    W = mass * (ddmiddle - np.array(hands.gravity))
    np.testing.assert_allclose(force.sum(axis=1), W, atol=1e-4)
    moments = np.cross(arms[0], force[:, 0]) + np.cross(arms[1], force[:, 1])
    np.testing.assert_allclose(moments, inertia * np.cross(u, ddu), atol=1e-5)
    along = np.sum(W * u, axis=1)
    np.testing.assert_allclose(np.sum(force[:, 0] * u, axis=1), share * along + grip, atol=1e-4)


def test_an_object_in_one_hand_is_a_payload() -> None:
    """Mass, offset and inertia as with_payload has them: the same nodes, so the same torques up to rounding over h²."""
    m = ur10()
    t = np.arange(41) * 5e-3
    q = 0.5 * np.sin(np.outer(t, np.linspace(1.0, 3.0, m.nv)) + np.linspace(0.0, 2.0, m.nv))
    tip = m.body_names[-1]
    inertia = np.array([[0.03, 0.002, 0.001], [0.002, 0.05, -0.004], [0.001, -0.004, 0.06]])
    grip, offset = np.array([0.02, 0.01, 0.1]), np.array([0.05, -0.03, 0.04])
    thing = setsu.HeldObject(3.0, [(tip, grip)], inertia, center=offset)
    loaded = setsu.with_payload(m, tip, 3.0, grip + offset, inertia)
    expected = setsu.nodal_inverse_dynamics(loaded, t, q)
    found = setsu.nodal_inverse_dynamics(m, t, q, held_objects=[thing])
    assert np.abs(found - expected).max() <= 1e-9 * np.abs(expected).max()


def rails(count: int) -> setsu.Mechanism:
    """Hands on rails along x, y, z, so that joint forces are the forces of the hands."""
    b = setsu.MechanismBuilder("hands")
    for hand in range(count):
        parent = "world"
        for k, axis in enumerate(np.eye(3)):
            b.add_body(f"hand{hand}_{k}", parent, setsu.Prismatic(axis, f"{hand}_{k}"), mass=0.1 if k == 2 else 0.0)
            parent = f"hand{hand}_{k}"
    return b.build()


@pytest.mark.parametrize("count", [3, 5])
def test_many_hands_balance_the_motion_of_the_object(count: int) -> None:
    """ΣF = m (a - g) and ΣM = dL/dt about the centroid for a body that turns about a tilted axis."""
    m = rails(count)
    mass, inertia, grip_force = 0.7, np.diag([0.02, 0.05, 0.03]), 4.0
    t = np.linspace(0.0, 0.5, 2001)
    axis, w = np.array([1.0, 2.0, 2.0]) / 3.0, 2.0
    K = setsu.spatial.skew(axis)
    R = np.eye(3) + np.sin(w * t)[:, None, None] * K + (1 - np.cos(w * t))[:, None, None] * (K @ K)
    arms = np.random.default_rng(1).uniform(-0.3, 0.3, (count, 3))
    middle = np.stack([0.1 * np.sin(3 * t), 0.2 * np.cos(2 * t), 0.1 * t**2], axis=1)
    ddmiddle = np.stack([-0.9 * np.sin(3 * t), -0.8 * np.cos(2 * t), np.full(len(t), 0.2)], axis=1)
    places = middle[:, None] + np.einsum("tij,nj->tni", R, arms)
    grips = [(f"hand{k}_2", (0, 0, 0)) for k in range(count)]
    shares = np.linspace(1.0, 2.0, count) / np.linspace(1.0, 2.0, count).sum()
    thing = setsu.HeldObject(mass, grips, inertia, center=-arms[0], share=shares, grip_force=grip_force)
    q = places.reshape(len(t), -1)
    free = setsu.nodal_inverse_dynamics(m, t, q)
    force = (setsu.nodal_inverse_dynamics(m, t, q, held_objects=[thing]) - free).reshape(len(t), count, 3)
    np.testing.assert_allclose(force.sum(axis=1), mass * (ddmiddle - np.array(m.gravity)), atol=1e-4)
    levers = places - middle[:, None]
    omega = w * axis
    momentum = R @ inertia @ np.swapaxes(R, -1, -2) @ omega
    np.testing.assert_allclose(np.cross(levers, force).sum(axis=1), np.cross(omega, momentum), atol=1e-4)


def test_three_grips_on_a_line_are_refused_without_moments() -> None:
    m = rails(3)
    q = np.tile([0.0, 0, 0, 0.1, 0, 0, 0.2, 0, 0], (6, 1))
    grips = [(f"hand{k}_2", (0, 0, 0)) for k in range(3)]
    with pytest.raises(setsu.InputError, match="lie on one line"):
        setsu.nodal_inverse_dynamics(m, np.arange(6.0), q, held_objects=[setsu.HeldObject(1.0, grips, 0.1)])


def test_hands_with_moments_share_the_whole_load() -> None:
    """Two arms that hold rigidly: the sum of both wrenches is that of one hand alone."""
    arms = two_arms()
    t = np.arange(30) * 0.01
    q = np.tile([2.0, -1.0, 1.1, 1.0], (30, 1))
    inertia = np.diag([0.01, 0.02, 0.03])
    offset = np.array([0.1, 0.05, 0.0])
    shared = setsu.HeldObject(2.0, GRIPS, inertia, center=offset, share=(0.25, 0.75), moments=True)
    alone = setsu.HeldObject(2.0, GRIPS[:1], inertia, center=offset)
    free = setsu.nodal_inverse_dynamics(arms, t, q)
    both = setsu.nodal_inverse_dynamics(arms, t, q, held_objects=[shared]) - free
    one = setsu.nodal_inverse_dynamics(arms, t, q, held_objects=[alone]) - free
    np.testing.assert_allclose(both[:, :2], 0.25 * one[:, :2], atol=1e-9)
