"""Changes of description that change nothing: turn the world, rename, reorder, rescale, split, move away, re-root."""

import dataclasses
from collections.abc import Iterator

import numpy as np
import pytest

import setsu
from setsu.mechanism import Fixed, Pose
from setsu.sample_mechanisms import random_tree
from setsu.spatial import placement, rotation_from_quaternion

EPSILON = np.finfo(float).eps
JOINT_TYPES = ("Revolute", "Prismatic", "Helical", "Cylindrical", "Universal", "Spherical", "Planar")
OPTIONS = {"damping": 0.4, "armature": 0.1, "coulomb": 0.2, "stiffness": 1.0}
CASES = [(seed, floating) for seed in range(4) for floating in (False, True)]
cases = pytest.mark.parametrize(("seed", "floating"), CASES)


def tree(seed: int, floating: bool, **options: float) -> setsu.Mechanism:
    return random_tree(seed, n_bodies=9, joint_types=JOINT_TYPES, floating_base=floating, **options)


def state(m: setsu.Mechanism, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return m.random_configuration(rng), *rng.standard_normal((2, m.nv))


def assert_same(found: np.ndarray, expected: np.ndarray, c: float = 200.0) -> None:
    """Equal within c ε of the largest entry."""
    scale = max(float(np.abs(expected).max(initial=0.0)), 1.0)
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=c * EPSILON * scale)


def reordered(m: setsu.Mechanism, names: tuple[str, ...], slices: tuple[slice, ...]) -> list[int]:
    """Positions in the old q or v of the joints named, in their new order."""
    return [k for name in names for k in range(m.nq)[slices[m.joint_index(name)]]]


@cases
def test_turn_the_world(seed: int, floating: bool) -> None:
    """Everything that stands in the world and gravity turned together: torques stay, poses and wrenches turn."""
    m = tree(seed, floating, **OPTIONS)
    R = rotation_from_quaternion(np.random.default_rng(seed).standard_normal(4))
    T = placement((0.3, -0.8, 0.2), rotation=R)
    bodies = tuple(
        dataclasses.replace(body, pose=Pose.of(T @ body.pose.matrix, body.name)) if body.parent == "world" else body
        for body in m.bodies
    )
    turned = dataclasses.replace(m, bodies=bodies, gravity=tuple(R @ np.array(m.gravity)))
    q, v, a = state(m)
    assert_same(setsu.inverse_dynamics(turned, q, v, a), setsu.inverse_dynamics(m, q, v, a))
    assert_same(setsu.mass_matrix(turned, q), setsu.mass_matrix(m, q))
    assert_same(setsu.body_poses(turned, q), T @ setsu.body_poses(m, q))
    local = [setsu.joint_wrenches(x, q, v, a) for x in (m, turned)]
    assert_same(local[1], local[0])
    assert_same(setsu.momentum(turned, q, v)[:3], R @ setsu.momentum(m, q, v)[:3])


@cases
def test_rename(seed: int, floating: bool) -> None:
    """Names are labels: the same bits under others."""
    m = tree(seed, floating, **OPTIONS)
    new = {"world": "world"} | {body.name: f"Körper {index}" for index, body in enumerate(m.bodies)}
    bodies = tuple(
        dataclasses.replace(
            body, name=new[body.name], parent=new[body.parent],
            joint=dataclasses.replace(body.joint, name=f"Gelenk {index}"),
        )
        for index, body in enumerate(m.bodies)
    )  # fmt: skip
    renamed = dataclasses.replace(m, name="anders", bodies=bodies)
    q, v, a = state(m)
    np.testing.assert_array_equal(setsu.inverse_dynamics(renamed, q, v, a), setsu.inverse_dynamics(m, q, v, a))
    np.testing.assert_array_equal(setsu.forward_dynamics(renamed, q, v, a), setsu.forward_dynamics(m, q, v, a))


@cases
def test_reorder_siblings(seed: int, floating: bool) -> None:
    """Any order that keeps parents before children: entries move with their joints, values stay."""
    m = tree(seed, floating, **OPTIONS)
    rng = np.random.default_rng(seed)
    waiting, placed = list(m.bodies), []
    known = {"world"}
    while waiting:
        ready = [body for body in waiting if body.parent in known]
        body = ready[int(rng.integers(len(ready)))]
        waiting.remove(body)
        placed.append(body)
        known.add(body.name)
    shuffled = dataclasses.replace(m, bodies=tuple(placed))
    q, v, a = state(m)
    in_q = reordered(m, shuffled.joint_names, m.q_slices)
    in_v = reordered(m, shuffled.joint_names, m.v_slices)
    moved = q[in_q], v[in_v], a[in_v]
    assert_same(setsu.inverse_dynamics(shuffled, *moved), setsu.inverse_dynamics(m, q, v, a)[in_v])
    assert_same(setsu.mass_matrix(shuffled, moved[0]), setsu.mass_matrix(m, q)[np.ix_(in_v, in_v)])
    in_body = [m.body_names.index(name) for name in shuffled.body_names]
    assert_same(setsu.joint_wrenches(shuffled, *moved), setsu.joint_wrenches(m, q, v, a)[in_body])
    condition = float(np.linalg.cond(setsu.mass_matrix(m, q)))
    forward = setsu.forward_dynamics(m, q, v, a)[in_v]
    assert_same(setsu.forward_dynamics(shuffled, *moved), forward, c=20 * condition)


def travel_flags(m: setsu.Mechanism) -> tuple[np.ndarray, np.ndarray]:
    """Which entries of q and v are lengths."""
    lengths = {"Prismatic": (1,), "Cylindrical": (1, 0), "Planar": (1, 1, 0), "Free": (1, 1, 1)}
    in_q, in_v = np.zeros(m.nq, bool), np.zeros(m.nv, bool)
    for body, where_q, where_v in zip(m.moving, m.q_slices, m.v_slices, strict=True):
        flags = lengths.get(type(body.joint).__name__, ())
        in_q[where_q.start : where_q.start + len(flags)] = flags
        in_v[where_v.start : where_v.start + len(flags)] = flags
    return in_q, in_v


@cases
@pytest.mark.parametrize(("length", "mass"), [(1000.0, 1.0), (1.0, 2.2), (0.25, 64.0)])
def test_rescale_units(seed: int, floating: bool, length: float, mass: float) -> None:
    """Lengths in other units by λ, masses by μ: torques scale by μ λ², forces by μ λ, mass matrix entries alike."""
    m = tree(seed, floating)

    def scaled(body: setsu.Body) -> setsu.Body:
        T = body.pose.matrix
        T[:3, 3] *= length
        joint = body.joint
        if isinstance(joint, setsu.Helical):
            joint = dataclasses.replace(joint, pitch=joint.pitch * length)
        return dataclasses.replace(
            body,
            joint=joint,
            pose=Pose.of(T, body.name),
            mass=body.mass * mass,
            center_of_mass=tuple(length * c for c in body.center_of_mass),
            inertia=tuple(mass * length**2 * i for i in body.inertia),
        )

    gravity = tuple(length * g for g in m.gravity)
    other = dataclasses.replace(m, bodies=tuple(map(scaled, m.bodies)), gravity=gravity)
    in_q, in_v = travel_flags(m)
    q, v, a = state(m)
    scale_q, scale_v = np.where(in_q, length, 1.0), np.where(in_v, length, 1.0)
    force = mass * length**2 / scale_v
    tau = setsu.inverse_dynamics(other, q * scale_q, v * scale_v, a * scale_v)
    assert_same(tau / force, setsu.inverse_dynamics(m, q, v, a))
    M = setsu.mass_matrix(other, q * scale_q) / (mass * length**2) * np.outer(scale_v, scale_v)
    assert_same(M, setsu.mass_matrix(m, q))
    energy = setsu.kinetic_energy(other, q * scale_q, v * scale_v)
    assert energy == pytest.approx(mass * length**2 * setsu.kinetic_energy(m, q, v), rel=1e-13)


def halves(m: setsu.Mechanism, seed: int) -> Iterator[setsu.Body]:
    """Each body loses half of its mass to a part welded on at some other place."""
    rng = np.random.default_rng(seed)
    for body in m.bodies:
        half = dataclasses.replace(body, mass=body.mass / 2, inertia=tuple(i / 2 for i in body.inertia))
        yield half
        R = rotation_from_quaternion(rng.standard_normal(4))
        p = rng.standard_normal(3)
        inertia = R.T @ (body.inertia_matrix / 2) @ R
        yield setsu.Body(
            name=f"{body.name} half",
            parent=body.name,
            joint=Fixed(name=f"{body.name} weld"),
            pose=Pose.of(placement(p, rotation=R), "half"),
            mass=body.mass / 2,
            center_of_mass=tuple(R.T @ (np.array(body.center_of_mass) - p)),
            inertia=tuple(inertia[i, j] for i, j in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))),
        )


@cases
def test_split_a_body_by_a_fixed_joint(seed: int, floating: bool) -> None:
    m = tree(seed, floating, **OPTIONS)
    split = dataclasses.replace(m, bodies=tuple(halves(m, seed)))
    assert split.body_names == m.body_names
    q, v, a = state(m)
    assert_same(setsu.inertial_parameters(split), setsu.inertial_parameters(m))
    assert_same(setsu.inverse_dynamics(split, q, v, a), setsu.inverse_dynamics(m, q, v, a))
    assert_same(setsu.joint_wrenches(split, q, v, a), setsu.joint_wrenches(m, q, v, a))
    assert_same(setsu.center_of_mass(split, q), setsu.center_of_mass(m, q))


@pytest.mark.parametrize("seed", range(4))
def test_move_a_floating_base_far_away(seed: int) -> None:
    """1000 km away torques are the same bits in link frames, and lose no more than the digits of the distance else."""
    m = tree(seed, True, **OPTIONS)
    q, v, a = state(m)
    far = q.copy()
    far[:3] += 1e6
    np.testing.assert_array_equal(setsu.inverse_dynamics(m, far, v, a), setsu.inverse_dynamics(m, q, v, a))
    np.testing.assert_array_equal(setsu.forward_dynamics(m, far, v, a), setsu.forward_dynamics(m, q, v, a))
    np.testing.assert_array_equal(setsu.mass_matrix(m, far), setsu.mass_matrix(m, q))
    near_world = setsu.inverse_dynamics(m, q, v, a, formulation="world")
    assert_same(setsu.inverse_dynamics(m, far, v, a, formulation="world"), near_world, c=200 * 1e6)


def motion_of(m: setsu.Mechanism, body: str, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
    """Acceleration of three points of a declared body, world axes."""
    points = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]])
    J = setsu.point_jacobian(m, q, body, points)
    return J @ a + setsu.point_jacobian_rate(m, q, v, body, points) @ v


@cases
@pytest.mark.parametrize("root", ["body4", "body9"])
def test_reroot(seed: int, floating: bool, root: str) -> None:
    """Seen from another body with that body floating: same kinetic energy, and, left to itself, the same motion.

    A mechanism that stood in the world lets go of it when re-rooted on a floating base: motions are compared for those
    that floated before.
    """
    m = tree(seed, floating)
    result = setsu.reroot(m, root)
    q, v, _ = state(m)
    new_q, new_v = result.convert(q, v)
    other = result.mechanism
    energy = setsu.kinetic_energy(m, q, v)
    assert setsu.kinetic_energy(other, new_q, new_v) == pytest.approx(energy, rel=1e-12)
    assert_same(setsu.center_of_mass(other, new_q), setsu.center_of_mass(m, q))
    assert_same(setsu.momentum(other, new_q, new_v), setsu.momentum(m, q, v), c=1000)
    if not floating:
        return
    conditions = [np.linalg.cond(setsu.mass_matrix(x, y)) for x, y in ((m, q), (other, new_q))]
    a = setsu.forward_dynamics(m, q, v, np.zeros(m.nv))
    new_a = setsu.forward_dynamics(other, new_q, new_v, np.zeros(other.nv))
    for body in m.bodies:
        found, expected = motion_of(other, body.name, new_q, new_v, new_a), motion_of(m, body.name, q, v, a)
        assert_same(found, expected, c=20 * max(conditions))
