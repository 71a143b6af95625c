"""The builder takes what is sound and refuses the rest with a message that names body, value and expectation."""

import numpy as np
import pytest

from setsu.errors import InputError, ModelWarning
from setsu.mechanism import (
    Cylindrical,
    Fixed,
    Free,
    Material,
    MechanismBuilder,
    Revolute,
    Shape,
    Spherical,
    Universal,
)
from setsu.spatial import placement


def arm() -> MechanismBuilder:
    builder = MechanismBuilder("arm")
    builder.add_body("upper", joint=Revolute((0, 1, 0), "shoulder"), mass=2.0, inertia=np.eye(3))
    return builder.add_body("fore", "upper", Revolute((0, 1, 0)), placement((0, 0, 0.5)), mass=1.0)


def test_a_body_keeps_what_it_was_given():
    box = Shape("box", (1, 2, 3), color=(1, 0, 0))
    m = (
        MechanismBuilder("m", gravity=(0, 0, 0))
        .add_body("a", "world", Revolute((0, 0, 2), "j"), placement((1, 2, 3)), 4.0, (5, 6, 7), np.eye(3), [box], [box])
        .build()
    )
    (body,) = m.bodies
    assert (body.name, body.parent, body.joint.name, body.joint.axis) == ("a", "world", "j", (0.0, 0.0, 1.0))
    assert body.pose.translation == (1.0, 2.0, 3.0)
    assert (body.mass, body.center_of_mass, body.inertia) == (4.0, (5.0, 6.0, 7.0), (1.0, 0.0, 0.0, 1.0, 0.0, 1.0))
    assert body.visuals == body.collisions == (box,)
    assert m.gravity == (0.0, 0.0, 0.0)


def test_a_joint_without_a_name_takes_its_body_s_and_a_loop_joint_the_loop_s():
    m = arm().add_loop("pin", "fore", "world", Spherical()).build()
    assert m.joint_names == ("shoulder", "fore_joint")
    assert m.loops[0].joint.name == "pin"


def test_the_default_joint_is_fixed_and_its_body_a_frame():
    m = arm().add_body("tool", "fore", placement=placement((0, 0, 0.1)), mass=0.5).build()
    assert isinstance(m.bodies[-1].joint, Fixed)
    assert m.body_names == ("upper", "fore")
    assert m.frame("tool").body == 1
    assert m.total_mass == 3.5


def test_equal_calls_give_equal_mechanisms_with_equal_digests():
    first, second = arm().build(), arm().build()
    assert first == second
    assert first.digest == second.digest
    assert hash(first) == hash(second)
    minus_zero = MechanismBuilder("m", gravity=(-0.0, 0, 0)).add_body("a", mass=-0.0, joint=Revolute((0, -0.0, 1)))
    zero = MechanismBuilder("m", gravity=(0, 0, 0)).add_body("a", joint=Revolute())
    assert minus_zero.build().digest == zero.build().digest


def test_a_builder_may_go_on_after_build():
    builder = arm()
    before = builder.build()
    builder.add_body("hand", "fore")
    assert len(before.bodies) == 2
    assert len(builder.build().bodies) == 3


def test_joint_springs_in_parallel_add_up_to_one_with_the_same_force():
    builder = arm().add_joint_spring("shoulder", 30.0, rest=0.1, damping=1.0)
    builder.add_joint_spring("shoulder", 10.0, rest=0.5, damping=0.5)
    joint = builder.build().bodies[0].joint
    # 30 (q - 0.1) + 10 (q - 0.5) = 40 (q - 0.2)
    assert joint.stiffness == (40.0,)
    assert joint.spring_rest == pytest.approx((0.2,))
    assert joint.damping == (1.5,)


def test_coupling_keeps_order_and_leaves_out_zero_factors():
    m = arm().add_coupling("gear", {"fore_joint": -3.0, "shoulder": 0.0}, offset=0.5).build()
    assert m.couplings[0].factors == (("fore_joint", -3.0),)
    assert m.couplings[0].offset == 0.5


def test_contact_points_take_one_point_or_many():
    material = Material(static_friction=0.8, kinetic_friction=0.6)
    m = (
        arm()
        .add_contact_points("fore", np.array([0, 0, 1]))
        .add_contact_points("fore", np.eye(3), material, 0.1)
        .build()
    )
    assert [point.position for point in m.contact_points][:2] == [(0.0, 0.0, 1.0), (1.0, 0.0, 0.0)]
    assert m.contact_points[3].material == material
    assert m.contact_points[3].radius == 0.1


def test_a_massless_end_body_is_legal():
    assert MechanismBuilder("m").add_body("a", joint=Revolute()).build().nv == 1


def test_a_slightly_skewed_inertia_is_made_symmetric():
    skewed = np.eye(3)
    skewed[0, 1] = 1e-10
    m = MechanismBuilder("m").add_body("a", mass=1.0, inertia=skewed).build()
    assert np.array_equal(m.bodies[0].inertia_matrix, m.bodies[0].inertia_matrix.T)


def test_a_non_physical_inertia_is_kept_with_a_warning_that_names_body_and_inequality():
    with pytest.warns(ModelWarning, match=r'body "a": Ixx \+ Iyy >= Izz violated: 0.1 \+ 0.2 < 0.4') as caught:
        m = MechanismBuilder("m").add_body("a", mass=1.0, inertia=np.diag([0.1, 0.2, 0.4])).build()
    assert m.bodies[0].inertia == (0.1, 0.0, 0.0, 0.2, 0.0, 0.4)
    assert caught[0].filename == __file__


nan = float("nan")


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (lambda b: b.add_body(""), "body name: expected a text that is not empty, got ''"),
        (lambda b: b.add_body(3), "got 3"),
        (lambda b: b.add_body("\ud800"), "lone surrogate"),
        (lambda b: b.add_body("world"), '"world" is the fixed frame'),
        (lambda b: b.add_body("fore"), 'body "fore": a body of this name was added before'),
        (lambda b: b.add_body("x", joint=Revolute(name="shoulder")), 'taken by the joint of body "upper"'),
        (lambda b: b.add_body("x", "uper"), "parent: expected a body added before, got 'uper' .did you mean \"upper\""),
        (lambda b: b.add_body("x", "x"), 'body "x" parent'),
        (lambda b: b.add_body("x", None), "got None"),
        (lambda b: b.add_body("x", joint="Revolute"), 'body "x" joint: expected a joint such as Revolute'),
        (lambda b: b.add_body("x", mass=-1), 'body "x" mass: expected at least 0, got -1.0'),
        (lambda b: b.add_body("x", mass=nan), 'body "x" mass: expected a finite number, got nan'),
        (lambda b: b.add_body("x", mass="heavy"), "mass: expected a number, got 'heavy'"),
        (lambda b: b.add_body("x", center_of_mass=(0, 0)), r"center_of_mass: expected 3 numbers, got .* \(2,\)"),
        (lambda b: b.add_body("x", center_of_mass=(0, 0, nan)), "center_of_mass: expected finite numbers"),
        (lambda b: b.add_body("x", inertia=(1, 2, 3)), r"inertia: expected a 3x3 matrix .*shape \(3,\)"),
        (lambda b: b.add_body("x", inertia="I"), "inertia: expected a 3x3 matrix"),
        (lambda b: b.add_body("x", inertia=np.full((3, 3), nan)), "inertia: expected finite numbers"),
        (lambda b: b.add_body("x", inertia=np.triu(np.ones((3, 3)))), r"symmetric matrix, got entries \[0, 1\] = 1.0"),
        (lambda b: b.add_body("x", placement=np.eye(3)), r"placement: expected a 4x4 placement.*\(3, 3\)"),
        (lambda b: b.add_body("x", placement=2 * np.eye(4)), "placement: expected a rotation"),
        (lambda b: b.add_body("x", placement=np.diag([1.0, 1.0, -1.0, 1.0])), "placement: expected a rotation"),
        (lambda b: b.add_body("x", visuals=["box"]), "visuals: expected Shape entries, got 'box'"),
        (lambda b: b.add_body("x", visuals=3), "visuals: expected a list of Shape"),
        (lambda b: b.add_loop("l", "upper", "foe", Revolute()), "body_b: .* got 'foe' .did you mean \"fore\""),
        (lambda b: b.add_loop("l", "upper", "upper", Revolute()), 'got "upper" twice'),
        (lambda b: b.add_loop("l", "upper", "fore", Free()), "expected a joint type that holds something"),
        (lambda b: b.add_loop("shoulder", "upper", "fore", Fixed()), 'loop "shoulder" joint: the name "shoulder"'),
        (lambda b: b.add_coupling("c", {"elbow": 1.0}), "coupling \"c\": expected the joint of a body, got 'elbow'"),
        (lambda b: b.add_coupling("c", {}), "at least one joint"),
        (lambda b: b.add_coupling("c", {"shoulder": nan}), 'factor of joint "shoulder": expected a finite number'),
        (lambda b: b.add_coupling("c", ["shoulder"]), "expected a mapping"),
        (lambda b: b.add_spring("s", "upper", (0, 0, 0), "world", (0, 0, 0), -1.0), "stiffness: expected at least 0"),
        (lambda b: b.add_spring("s", "upper", (0, 0, 0), "wrld", (0, 0, 0), 1.0), 'did you mean "world"'),
        (lambda b: b.add_joint_spring("elbow", 1.0), "expected the joint of a body, got 'elbow'"),
        (lambda b: b.add_contact_points("world", [(0, 0, 0)]), "got the world"),
        (lambda b: b.add_contact_points("fore", [(0, 0)]), "point 0: expected 3 numbers"),
        (lambda b: b.add_contact_points("fore", 3), "expected positions"),
        (lambda b: b.add_contact_points("fore", [(0, 0, 0)], material=0.5), "expected a Material, got 0.5"),
        (lambda _: MechanismBuilder("m", gravity=(0, 0)), 'mechanism "m" gravity: expected 3 numbers'),
        (lambda _: MechanismBuilder(""), "mechanism name"),
        (lambda _: Revolute((0, 0, 0)), "axis: expected a non-zero direction"),
        (lambda _: Revolute((0, 0, nan)), "axis: expected finite numbers"),
        (lambda _: Revolute(damping=-1.0), "damping: expected at least 0, got -1.0"),
        (lambda _: Revolute(damping="much"), "damping: expected one number or 1, got 'much'"),
        (lambda _: Cylindrical(damping=(1, 2, 3)), "damping: expected one number or 2, got 3"),
        (lambda _: Revolute(lower=1.0, upper=0.0), "lower <= upper limit, got 1.0 > 0.0"),
        (lambda _: Revolute(lower=float("inf")), "leave a position free"),
        (lambda _: Spherical(stiffness=(1.0, 2.0, 3.0)), "one stiffness for its three turns"),
        (lambda _: Universal((1, 0, 0), second_axis=(2, 0, 0)), "not parallel"),
        (lambda _: Shape("cone", (1, 1)), "Shape kind: expected one of box, .* got 'cone'"),
        (lambda _: Shape("box", (1, 1)), "Shape box size: expected 3 numbers"),
        (lambda _: Shape("sphere", (-1,)), "at least 0"),
        (lambda _: Shape("mesh", (1, 1, 1)), "expected a file name"),
        (lambda _: Material(static_friction=0.1, kinetic_friction=0.2), "kinetic_friction <= static_friction"),
    ],
)
def test_bad_input_is_refused_by_name(action, message):
    with pytest.raises(InputError, match=message):
        action(arm())


def test_a_coupling_of_a_joint_with_several_coordinates_is_refused():
    builder = arm().add_body("ball", "fore", Spherical(name="wrist"))
    with pytest.raises(InputError, match='got "wrist", a Spherical joint with 3'):
        builder.add_coupling("c", {"wrist": 1.0})


def test_a_refused_call_leaves_the_builder_as_it_was():
    builder = arm()
    before = builder.build()
    with pytest.raises(InputError):
        builder.add_body("x", mass=-1.0)
    with pytest.raises(InputError):
        builder.add_loop("l", "upper", "fore", Fixed(), placement_a=np.eye(3))
    assert builder.build() == before
    builder.add_body("x").add_loop("l", "upper", "fore", Fixed())
