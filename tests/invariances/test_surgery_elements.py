"""Surgery keeps the meaning of every element: forces, motions and states agree before and after; files read back."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest

import setsu
from setsu.mechanism import Actuator
from setsu.mechanism.actuators import Keyframe
from setsu.mechanism.force_elements import Fluid, FluidBox, Segment

SOLID = {"inertia": np.diag([0.02, 0.03, 0.04])}


def machine() -> setsu.Mechanism:
    """A chain of five with every kind of element: couplings, tendons, springs, fluid, sites, actuators, keyframes."""
    b = setsu.MechanismBuilder("machine")
    parent = "world"
    for k in range(1, 6):
        axis = [(0, 0, 1), (0, 1, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)][k - 1]
        b.add_body(
            f"l{k}",
            parent=parent,
            joint=setsu.Revolute(axis, name=f"j{k}", damping=0.1),
            placement=setsu.placement((0.3, 0.0, 0.1), rpy=(0.1 * k, 0.2, -0.1)),
            mass=1.0 + k,
            center_of_mass=(0.1, 0.02, 0.0),
            gravity_compensation=0.5 if k == 4 else 0.0,
            **SOLID,
        )
        parent = f"l{k}"
    b.add_coupling("gear", {"j2": 1.0, "j3": -2.0}, offset=0.1)
    b.add_coupling("cam", ["j5", "j4"], polynomial=(0.1, 0.5, 0.2, 0.3), reference=0.1)
    b.add_spring("rope", "l3", (0, 0, 0.1), "l5", (0.1, 0, 0), stiffness=50.0, rest_length=0.2, damping=1.0)
    b.add_site("eye", "l5", setsu.placement((0, 0.1, 0), rpy=(0.3, 0, 0)))
    b.add_site("mark", "world", setsu.placement((1, 0, 0)))
    b.add_tendon("cable", {"j4": 0.3, "j5": -0.2}, stiffness=40.0, rest=(0.05, 0.1), damping=2.0, lower=-1.0, upper=1.0)
    b.add_tendon("line", None, [Segment("l3", (0, 0, 0.1), "l4", (0, 0.1, 0))], stiffness=30.0, rest=0.1)
    b.set_fluid(Fluid(1.2, 0.1, (0.1, 0.0, 0.0), (FluidBox("l4", (0.1, 0.2, 0.3)), FluidBox("l2", (0.1, 0.1, 0.3)))))
    b.add_actuator(Actuator("servo", joint="j4", gain=(10.0, 0, 0), bias=(0.0, -10.0, -1.0)))
    b.add_actuator(Actuator("motor", joint="j2", gear=(3.0,)))
    b.add_actuator(Actuator("puller", tendon="cable", gear=(2.0,), bias=(0.0, -5.0, 0.0)))
    b.add_actuator(Actuator("jet", site="eye", gear=(1.0, 0, 0, 0, 0, 0)))
    b.add_keyframe("home", [0.1, 0.3, 0.2, 0.3, 0.4], [0.1, 0.2, 0.3, 0.4, 0.5], [1.0, 2.0, 3.0, 4.0])
    b.add_keyframe("zero", np.zeros(5))
    b.exclude_contact("l1", "l4").exclude_contact("l3", "l5")
    return b.build()


def reloaded(m: setsu.Mechanism, tmp_path) -> setsu.Mechanism:
    """The same from a file: what surgery makes, `load` takes."""
    m.save(tmp_path / "part.toml")
    back = setsu.load(tmp_path / "part.toml")
    assert back == m
    return back


def test_a_geared_base_joint_takes_its_gear_along(tmp_path) -> None:
    """The base that replaces j2 is not the base's x position tied to j3: the gear is refused, or dropped by name."""
    m = machine()
    for base, freedoms in (("floating", 9), ("fixed", 3)):
        with pytest.raises(setsu.InputError, match=r'coupling "gear" \(it reaches j2\)'):
            setsu.extract(m, "l2", base=base)
        with pytest.warns(setsu.ModelWarning, match='left out coupling "gear".*actuator "motor"'):
            part = setsu.extract(m, "l2", base=base, drop=True)
        assert part.nv == freedoms
        assert [coupling.name for coupling in part.couplings] == ["cam"]
        assert setsu.degrees_of_freedom(part, setsu.close_loops(part, part.neutral())) == freedoms - 1
        assert "j2" not in part.joint_names
        reloaded(part, tmp_path)
    part = setsu.extract(m, "l2", base="joint")
    assert [coupling.name for coupling in part.couplings] == ["gear", "cam"]
    reloaded(part, tmp_path)


def test_extracted_part_carries_its_elements_and_keyframes(tmp_path) -> None:
    m = machine()
    part = reloaded(setsu.extract(m, "l3", base="floating"), tmp_path)
    assert [one.name for one in part.tendons] == ["cable", "line"]
    assert [one.name for one in part.sites] == ["eye"]
    assert [one.name for one in part.actuators] == ["servo", "puller", "jet"]
    assert part.fluid is not None
    assert [box.body for box in part.fluid.boxes] == ["l4"]
    key, old = part.keyframes["home"], m.keyframes["home"]
    assert key.control.tolist() == [1.0, 3.0, 4.0]
    # Every frame of the part is where the keyframe of the whole has it, and moves alike.
    for frame in part.frame_names[1:]:
        assert np.abs(setsu.frame_pose(part, key.q, frame) - setsu.frame_pose(m, old.q, frame)).max() < 1e-14
        there = setsu.frame_velocity(m, old.q, old.v, frame)
        assert np.abs(setsu.frame_velocity(part, key.q, key.v, frame) - there).max() < 1e-14
    # The elements inside do what they did: the wrench through l3's joint is what the base of the part feels.
    a = np.zeros((1, m.nv))
    q, v = old.q[None], old.v[None]
    whole = setsu.joint_wrenches(m, q, v, a, frame="world")[0, m.body_names.index("l3")]
    base = np.zeros(part.nv)
    motion = setsu.frame_acceleration(m, old.q, old.v, np.zeros(5), "l3", axes="frame")
    speed = setsu.frame_velocity(m, old.q, old.v, "l3", axes="frame")
    base[:6] = motion
    base[:3] -= np.cross(speed[3:], speed[:3])
    cut = setsu.joint_wrenches(part, key.q, key.v, base, frame="world")[0]
    assert np.abs(whole - cut).max() < 1e-12 * np.abs(whole).max()


@pytest.mark.parametrize("joints", [{"j4": 0.3}, {"j4": 0.3, "j5": 0.4}, {"j2": 0.3}, {"j1": 0.1}])
def test_locked_joints_leave_forces_of_the_others_as_they_are(joints: dict, tmp_path) -> None:
    """Torques of the free joints, by elements too, are those of the whole with locked joints at rest."""
    m = machine()
    if set(joints) == {"j4", "j5"}:  # locked where the cam does not hold
        with pytest.raises(setsu.InputError, match='coupling "cam" does not hold'):
            setsu.lock_joints(m, joints)
        c, x = (0.1, 0.5, 0.2, 0.3), 0.2
        joints = {"j4": 0.3, "j5": sum(ck * x**k for k, ck in enumerate(c))}
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        locked = setsu.lock_joints(m, joints)
    reloaded(locked, tmp_path)
    rng = np.random.default_rng(0)
    q, v, a = rng.standard_normal((3, 5))
    for name, value in joints.items():
        k = m.joint_index(name)
        q[k], v[k], a[k] = value, 0.0, 0.0
    free = [m.joint_index(name) for name in locked.joint_names]
    tau, reduced = setsu.inverse_dynamics(m, q, v, a), setsu.inverse_dynamics(locked, q[free], v[free], a[free])
    assert np.abs(tau[free] - reduced).max() < 1e-12 * np.abs(tau).max()
    for coupling in locked.couplings:
        old = next(one for one in m.couplings if one.name == coupling.name)
        assert abs(_error(coupling, locked, q[free]) - _error(old, m, q)) < 1e-13
    text = " ".join(str(one.message) for one in told)
    for name, drive in (("j4", "servo"), ("j2", "motor")):
        assert (f'actuator "{drive}"' in text) == (name in joints)
    same = all(abs(m.keyframes["home"].q[m.joint_index(name)] - value) < 1e-9 for name, value in joints.items())
    assert ("home" in locked.keyframes) == same
    assert ('keyframe "home"' in text) != same


def _error(coupling: setsu.Coupling, m: setsu.Mechanism, q: np.ndarray) -> float:
    """Σ factor x coordinate + offset - P(Σ argument x coordinate - reference)."""

    def total(terms) -> float:
        return sum(factor * q[m.joint_index(joint)] for joint, factor in terms)

    x = total(coupling.argument) - coupling.reference
    return total(coupling.factors) + coupling.offset - sum(c * x**k for k, c in enumerate(coupling.polynomial))


def test_servo_on_a_tendon_counts_from_the_shortened_length() -> None:
    m = machine()
    with pytest.warns(setsu.ModelWarning):
        locked = setsu.lock_joints(m, {"j5": 0.4})
    old, new = (next(one for one in x.actuators if one.name == "puller") for x in (m, locked))
    length = 0.3 * 0.7 - 0.2 * 0.4  # of the cable, j4 = 0.7
    force = old.bias[0] + old.bias[1] * old.gear[0] * length
    assert new.bias[0] + new.bias[1] * new.gear[0] * (0.3 * 0.7) == pytest.approx(force, rel=1e-14)


def test_merged_mechanisms_have_the_elements_of_both(tmp_path) -> None:
    m, tool = machine(), machine()
    both = reloaded(setsu.merge(m, tool, parent="l5", prefix="t_"), tmp_path)
    assert len(both.tendons) == 2 * len(m.tendons)
    assert [one.joint or one.tendon or one.site for one in both.actuators[4:]] == ["t_j4", "t_j2", "t_cable", "t_eye"]
    assert both.frame("t_mark").body == both.frame("l5").body
    key = both.keyframes["home"]
    assert np.array_equal(key.q, np.tile(m.keyframes["home"].q, 2))
    assert np.array_equal(key.control, np.tile([1.0, 2.0, 3.0, 4.0], 2))
    # Energies of parts that do not touch add up: the tool on the world beside the first.
    beside = setsu.merge(m, tool, prefix="t_")
    q = np.concatenate([m.random_configuration(0), tool.random_configuration(1)])
    v = np.arange(10.0) / 10.0
    energies = setsu.potential_energy(m, q[:5]) + setsu.potential_energy(tool, q[5:])
    assert setsu.potential_energy(beside, q) == pytest.approx(energies, rel=1e-13)
    torque = np.concatenate([setsu.bias_torque(m, q[:5], v[:5]), setsu.bias_torque(tool, q[5:], v[5:])])
    assert np.abs(setsu.bias_torque(beside, q, v) - torque).max() < 1e-12 * np.abs(torque).max()
    back = setsu.extract(both, "t_l1", base="joint", drop=True, placement=tool.bodies[0].pose.matrix)
    assert len(back.tendons) == 2
    assert len(back.actuators) == 4


def test_rerooted_machine_moves_as_before(tmp_path) -> None:
    m = machine()
    turned = setsu.reroot(m, "l3")
    new = reloaded(turned.mechanism, tmp_path)
    key, old = new.keyframes["home"], m.keyframes["home"]
    q, v = turned.convert(old.q, old.v)
    assert np.array_equal(key.q, q)
    assert np.array_equal(key.v, v)
    for frame in ("l5", "l3", "eye"):
        assert np.abs(setsu.frame_pose(new, q, frame) - setsu.frame_pose(m, old.q, frame)).max() < 1e-14
    assert new.frame("mark").body == new.frame("old_world").body
    # Joint torques of a free joint motion: the old world is held by the wrench its joint carries.
    assert setsu.kinetic_energy(new, q, v) == pytest.approx(setsu.kinetic_energy(m, old.q, old.v), rel=1e-13)
    assert setsu.potential_energy(new, q) == pytest.approx(setsu.potential_energy(m, old.q), rel=1e-13)
    assert len(new.actuators) == 4


def _four_bar() -> setsu.Mechanism:
    m = setsu.sample_mechanisms.four_bar()
    q = setsu.close_loops(m, m.neutral())
    drives = tuple(Actuator(f"drive {name}", joint=name) for name in m.joint_names)
    keys = (
        Keyframe("closed", tuple(q.tolist()), (0.0,) * m.nv, (1.0, 2.0, 3.0)),
        Keyframe("open", tuple((q + np.array([0.0, 0.3, 0.0])).tolist()), (0.0,) * m.nv, (0.0,) * 3),
    )
    return replace(m, actuators=drives, keys=keys)


def test_moved_cut_keeps_closed_keyframes_and_drops_the_drive_of_the_cut_joint(tmp_path) -> None:
    m = _four_bar()
    with pytest.warns(setsu.ModelWarning, match='actuator "drive crank".*keyframe "open"'):
        moved = setsu.move_cut(m, "pin", "crank")
    new = reloaded(moved.mechanism, tmp_path)
    assert [one.name for one in new.actuators] == ["drive coupler", "drive rocker"]
    key = new.keyframes["closed"]
    assert np.abs(setsu.loop_error(new, key.q)).max() < 1e-12
    for body in m.body_names:
        there = setsu.frame_pose(m, m.keyframes["closed"].q, body)
        assert np.abs(setsu.frame_pose(new, key.q, body) - there).max() < 1e-9


def test_payload_on_a_site_sits_where_the_site_is() -> None:
    m = machine()
    center, inertia = (0.1, -0.05, 0.02), np.diag([0.01, 0.02, 0.025])
    on_site = setsu.with_payload(m, "eye", 2.0, center, inertia)
    T = m.sites[0].pose.matrix
    by_hand = setsu.with_payload(m, "l5", 2.0, T[:3, :3] @ center + T[:3, 3], T[:3, :3] @ inertia @ T[:3, :3].T)
    q, v, a = np.random.default_rng(1).standard_normal((3, 5))
    expected = setsu.inverse_dynamics(by_hand, q, v, a)
    assert np.abs(setsu.inverse_dynamics(on_site, q, v, a) - expected).max() < 1e-13 * np.abs(expected).max()
    with pytest.raises(setsu.InputError, match=r"site .*mark.* of the world"):
        setsu.with_payload(m, "mark", 1.0)
    with pytest.warns(setsu.ModelWarning, match="gravity compensation"):
        setsu.with_payload(m, "l4", 1.0)


def test_pairs_that_never_touch_are_carried(tmp_path) -> None:
    m = machine()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", setsu.ModelWarning)
        part = setsu.extract(m, "l3", drop=True)
        both = setsu.merge(m, part, prefix="x_")
        others = [setsu.lock_joints(m, {"j1": 0.2}), setsu.with_payload(m, "l5", 1.0), setsu.reroot(m, "l3").mechanism]
    assert part.excluded == (("l3", "l5"),)
    assert both.excluded == (("l1", "l4"), ("l3", "l5"), ("x_l3", "x_l5"))
    assert reloaded(both, tmp_path).digest == both.digest != replace(both, excluded=()).digest
    assert all(other.excluded == m.excluded for other in others)
