"""What closes loops in URDF+, urdfdom#264, SDF and loop files, and what is added to a loaded mechanism."""

import warnings
from pathlib import Path

import numpy as np
import pytest
from rounding import opening

import setsu
from setsu.constraints.system import constraint_system

BODY = '<inertial><mass value="1"/><inertia ixx=".1" ixy="0" ixz="0" iyy=".1" iyz="0" izz=".1"/></inertial>'


def link(name: str) -> str:
    return f'<link name="{name}">{BODY}</link>'


def joint(name: str, parent: str, child: str, xyz: str, more: str = "") -> str:
    return (
        f'<joint name="{name}" type="continuous" {more}><origin xyz="{xyz}"/><parent link="{parent}"/>'
        f'<child link="{child}"/><axis xyz="0 0 1"/></joint>'
    )


FOUR_BAR = (
    "".join(map(link, ("base", "crank", "rod", "rocker")))
    + joint("j1", "base", "crank", "0 0 0")
    + joint("j2", "crank", "rod", "0.3 0 0")
    + joint("j3", "base", "rocker", "0.5 0 0", 'independent="true"')
)
LOOP = """<loop name="pin" type="revolute"><predecessor link="rod"><origin xyz="0.4 0 0"/></predecessor>
<successor link="rocker"><origin xyz="0.35 0 0"/></successor><axis xyz="0 0 1"/></loop>"""
CONSTRAINT = """<constraint name="pin" type="revolute"><parent link="rod"/><parent_origin xyz="0.4 0 0"/>
<parent_axis xyz="0 0 1"/><child link="rocker"/><child_origin xyz="0.35 0 0" rpy="1.5707963267948966 0 0"/>
<child_axis xyz="0 1 0"/></constraint>"""


def urdf(inner: str) -> str:
    return f'<robot name="r">{inner}</robot>'


def four_bar() -> setsu.Mechanism:
    tree = setsu.load(text=urdf(FOUR_BAR), format="urdf")
    return setsu.add_loop(
        tree, "pin", "rod", "rocker", setsu.Revolute(), setsu.placement((0.4, 0, 0)), setsu.placement((0.35, 0, 0))
    )


@pytest.mark.parametrize("closing", [LOOP, CONSTRAINT], ids=["URDF+", "urdfdom#264"])
def test_a_loop_of_a_file_is_the_loop_added_by_hand(closing: str) -> None:
    m, by_hand = setsu.load(text=urdf(FOUR_BAR + closing), format="urdf"), four_bar()
    q = setsu.close_loops(by_hand, [0.7, 0.3, 0.5])
    assert np.abs(setsu.loop_error(m, q)).max() < 1e-12
    tau = np.array([0.3, -0.2, 0.1])
    ours = setsu.constrained_dynamics(m, q, np.zeros(3), tau).acceleration
    np.testing.assert_allclose(ours, setsu.constrained_dynamics(by_hand, q, np.zeros(3), tau).acceleration, rtol=1e-10)
    assert setsu.independent_coordinates(m) == ("j3",)


def test_a_coupling_joins_links_by_the_way_from_their_common_ancestor() -> None:
    """ratio x Σ q(ancestor → predecessor) = Σ q(ancestor → successor)."""
    inner = "".join(map(link, "abcd")) + joint("j1", "a", "b", "0 0 0") + joint("j2", "b", "c", "1 0 0")
    inner += joint("j3", "b", "d", "0 1 0")
    inner += (
        '<coupling name="gear" type="rolling"><predecessor link="c"/><successor link="d"/><ratio value="6"/></coupling>'
    )
    m = setsu.load(text=urdf(inner), format="urdf")
    assert dict(m.couplings[0].factors) == {"j2": 6.0, "j3": -1.0}


def test_an_unknown_element_that_ties_links_is_an_error() -> None:
    closing = '<rope name="r"><parent link="rod"/><child link="rocker"/></rope>'
    with pytest.raises(setsu.ModelFileError, match="<rope>: an unknown element that ties links together"):
        setsu.load(text=urdf(FOUR_BAR + closing), format="urdf")


def test_a_loop_file_beside_the_urdf_is_found(tmp_path: Path) -> None:
    (tmp_path / "r.urdf").write_text(urdf(FOUR_BAR))
    (tmp_path / "r.loops.toml").write_text(
        'independent = ["j1"]\n[[loop]]\nname = "pin"\ntype = "revolute"\nframe_a = "rod"\nframe_b = "rocker"\n'
        "translation_a = [0.4, 0.0, 0.0]\ntranslation_b = [0.35, 0.0, 0.0]\n"
    )
    m = setsu.load(tmp_path / "r.urdf")
    assert m.loops == four_bar().loops
    assert setsu.independent_coordinates(m) == ("j1",)
    (tmp_path / "r.loops.toml").write_text('[[loop]]\nname = "pin"\ntype = "hook"\nframe_a = "rod"\nframe_b = "tip"\n')
    with pytest.raises(setsu.ModelFileError, match="got type 'hook'"):
        setsu.load(tmp_path / "r.urdf")


def test_sidecars_of_example_parallel_robots_are_read_as_they_are(tmp_path: Path) -> None:
    ends = "".join(
        f'<link name="{name}"/><joint name="{name}_frame" type="fixed"><origin xyz="{x} 0 0"/><parent link="{parent}"/>'
        f'<child link="{name}"/></joint>'
        for name, parent, x in (("A", "rod", 0.4), ("B", "rocker", 0.35))
    )
    (tmp_path / "r.urdf").write_text(urdf(FOUR_BAR + ends))
    (tmp_path / "robot.yaml").write_text("closed_loop: [['A', 'B_frame']]\ntype: ['3d']\nname_mot: ['j1']\n")
    m = setsu.load(tmp_path / "r.urdf", loops=tmp_path / "robot.yaml")
    assert isinstance(m.loops[0].joint, setsu.Spherical)
    assert m.independent == ("j1",)
    assert np.abs(setsu.loop_error(m, setsu.close_loops(four_bar(), [0.7, 0.3, 0.5]))).max() < 1e-12


SDF = """<sdf version="1.9"><model name="m">
<link name="base"><pose>0 0 1 0 0 0</pose>{inertia}</link>
<link name="crank"><pose relative_to="base">0.1 0 0 0 0 0.3</pose>{inertia}</link>
<link name="rod"><pose relative_to="crank">0.3 0 0 0 0 -0.1</pose>{inertia}</link>
<link name="rotor"><pose relative_to="base">0.1 0 0 0 0 0</pose>{inertia}</link>
<frame name="tool" attached_to="rod"><pose>0.2 0 0 0 0 0</pose></frame>
<joint name="fix" type="fixed"><parent>world</parent><child>base</child></joint>
<joint name="j1" type="revolute"><parent>base</parent><child>crank</child>
 <axis><xyz>0 0 1</xyz><dynamics><damping>0.2</damping><spring_stiffness>3</spring_stiffness></dynamics></axis></joint>
<joint name="j2" type="revolute"><pose>0.05 0.02 0 0 0 0</pose><parent>crank</parent><child>rod</child>
 <axis><xyz expressed_in="__model__">0 0 1</xyz></axis></joint>
<joint name="j3" type="revolute"><parent>base</parent><child>rotor</child><axis><xyz>0 0 -1</xyz></axis></joint>
<joint name="close" type="ball"><pose relative_to="tool"/><parent>base</parent><child>rod</child></joint>
<joint name="gear" type="gearbox"><parent>crank</parent><child>rotor</child>
 <gearbox_reference_body>base</gearbox_reference_body><gearbox_ratio>5</gearbox_ratio>
 <axis><xyz>0 0 1</xyz></axis><axis2><xyz>0 0 1</xyz></axis2></joint>
</model></sdf>"""
INERTIA = "<inertial><mass>1</mass><inertia><ixx>.1</ixx><iyy>.1</iyy><izz>.1</izz></inertia></inertial>"


def test_sdf_graphs_with_loops_gears_and_frames() -> None:
    m = setsu.load(text=SDF.format(inertia=INERTIA), format="sdf")
    q = m.reference_configuration()
    assert [loop.name for loop in m.loops] == ["close"]
    assert np.abs(setsu.loop_error(m, q)).max() <= opening(m, q)
    # theta_2 = -5 theta_1 about z; j3 turns about -z.
    assert dict(m.couplings[0].factors) == {"j1": 5.0, "j3": -1.0}
    assert m.damping.tolist() == [0.2, 0.0, 0.0]
    frame = m.frames["tool"]
    pose = setsu.body_poses(m, q)[frame.body] @ frame.pose.matrix
    np.testing.assert_allclose(
        pose[:3, 3], [0.1 + 0.3 * np.cos(0.3) + 0.2 * np.cos(0.2), 0.3 * np.sin(0.3) + 0.2 * np.sin(0.2), 1.0]
    )


@pytest.fixture(scope="module")
def cassies() -> dict[str, setsu.Mechanism]:
    import pinocchio

    places = (folder / "share" / "example-robot-data" / "robots" for folder in Path(pinocchio.__file__).parents)
    folder = next(place for place in places if place.is_dir())  # of the development environment
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", setsu.ModelWarning)
        found = sorted((folder / "cassie_description" / "robots").glob("cassie*.sdf"))
        return {path.stem: setsu.load(path) for path in found}


def test_the_cassies_of_example_robot_data_load_with_loops_and_gears(cassies: dict[str, setsu.Mechanism]) -> None:
    assert {name: (len(m.loops), len(m.couplings)) for name, m in cassies.items()} == {
        "cassie": (6, 10),
        "cassie_reduced": (4, 0),
        "cassie_simple": (4, 0),
        "cassie_v2": (4, 0),
        "cassie_wo_gearbox_spring": (4, 0),
    }
    for m in cassies.values():
        assert not m.missing
        q = m.reference_configuration()
        assert np.abs(setsu.loop_error(m, q)).max() <= opening(m, q)


def test_forces_of_a_loop_that_its_own_joints_lock_are_not_silently_huge(cassies: dict[str, setsu.Mechanism]) -> None:
    """The shin springs of this file are sliders on two hinges whose axes are one but for its last digits."""
    m = cassies["cassie"]
    q = setsu.close_loops(m, m.random_configuration(1))
    with pytest.warns(setsu.ModelWarning, match=r'loop "(left|right)-shin-spring-joint" carries .* N'):
        setsu.constrained_inverse_dynamics(m, q, np.zeros(m.nv), np.zeros(m.nv))


def within_limits(m: setsu.Mechanism, q: np.ndarray) -> bool:
    plain = [k for k, body in enumerate(m.moving) if body.joint.nq == body.joint.nv]
    values = np.concatenate([q[m.q_slices[k]] for k in plain])
    low, high = (np.concatenate([limit[m.v_slices[k]] for k in plain]) for limit in (m.lower, m.upper))
    return bool(np.all((low <= values) & (values <= high)))


@pytest.mark.parametrize(
    "name", ["cassie_wo_gearbox_spring", *(pytest.param(n, marks=pytest.mark.nightly) for n in ("cassie", "cassie_v2"))]
)
def test_cassies_close_within_their_limits(cassies: dict[str, setsu.Mechanism], name: str) -> None:
    """They are drawn with straight feet, outside the limits; the gears of `cassie` then turn rotors by 30 rad."""
    m = cassies[name]
    assert not within_limits(m, m.reference_configuration())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", setsu.ModelWarning)  # redundant rows that do not fit, below 1e-8 m
        q = setsu.close_loops(m)
    assert within_limits(m, q)
    assert np.abs(setsu.loop_error(m, q)).max() < 1e-8


@pytest.mark.parametrize("name", ["cassie_reduced", "cassie_simple"])
def test_cassies_whose_feet_are_locked_close_where_they_are_drawn(
    cassies: dict[str, setsu.Mechanism], name: str
) -> None:
    """These two files give the pin of the plantar rod 0.1 rad off the axis of its crank: the foot cannot move.

    Its limits leave out the place where it is drawn.
    """
    m = cassies[name]
    q = setsu.close_loops(m, respect_limits=False)
    assert (
        np.abs(setsu.difference(m, m.reference_configuration(), q)).max() < 1e-12
    )  # not rounding: closing ends at 1e-13
    rows = constraint_system(m).placed_jacobian_and_error(q[None])[0][0]
    free = np.linalg.svd(rows)[2][np.linalg.matrix_rank(rows, 1e-9) :]
    crank = m.v_slices[m.joint_index("left-tarsus-crank-joint")]
    assert np.abs(free[:, crank]).max() < 1e-9
    with pytest.raises(setsu.InputError, match=r"outside the limits of left-tarsus-crank-joint.*respect_limits=False"):
        setsu.close_loops(m)


def test_with_drives_takes_numbers_arrays_and_names() -> None:
    m = setsu.load(text=urdf(FOUR_BAR), format="urdf")
    assert setsu.with_drives(m, armature=0.5).armature.tolist() == [0.5, 0.5, 0.5]
    assert setsu.with_drives(m, damping={"j2": 0.1}).damping.tolist() == [0.0, 0.1, 0.0]
    with pytest.raises(setsu.InputError, match="unknown joint 'j9'"):
        setsu.with_drives(m, coulomb={"j9": 1.0})


def test_a_polynomial_coupling_added_by_hand() -> None:
    m = setsu.add_coupling(
        setsu.load(text=urdf(FOUR_BAR), format="urdf"), "cam", {"j3": 1.0, "j1": 1.0}, polynomial=[0.1, 0.5, 0.3]
    )
    q = setsu.close_loops(m, [0.4, 0.0, 0.0], fixed=["j1"])
    assert q[2] == pytest.approx(0.1 + 0.5 * 0.4 + 0.3 * 0.16, abs=1e-14)
