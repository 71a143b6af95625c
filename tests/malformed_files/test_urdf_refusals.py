"""Each mistake in a URDF gives its own message with line, value and expectation; all mistakes come at once."""

from pathlib import Path

import pytest

from setsu.errors import ModelFileError, ModelWarning
from setsu.model_files import load

INERTIA = '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/>'


def joint(name: str, parent: str, child: str, kind: str = "continuous", inner: str = "") -> str:
    return f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>{inner}</joint>'


def links(names: str) -> str:
    return "".join(f'<link name="{name}"/>' for name in names)


def refusal(tmp_path: Path, inner: str, head: str = '<robot name="r">') -> list[str]:
    """Write a robot with `inner` from line 2 on; return the problems, each of which starts with file and line."""
    path = tmp_path / "robot.urdf"
    path.write_text(f"{head}\n{inner}\n</robot>", encoding="utf-8")
    with pytest.raises(ModelFileError) as caught:
        load(path)
    for problem in caught.value.problems:
        assert problem.startswith(f"{path}:")
    return [problem.removeprefix(f"{path}:") for problem in caught.value.problems]


MASS = '<link name="a"><inertial><mass value="{}"/>' + INERTIA + "</inertial></link>"
ORIGIN = links("ab") + '<joint name="j" type="fixed"><parent link="a"/><child link="b"/><origin xyz="{}"/></joint>'
SHAPE = '<link name="a"><visual><geometry>{}</geometry></visual></link>'
CASES = {
    # numbers
    "not_a_number": (MASS.format("nan"), "2: <mass value=\"...\">: got 'nan', expected a finite number"),
    "infinite": (MASS.format("-inf"), "got '-inf', expected a finite number"),
    "overflow": (MASS.format("1e999"), "got '1e999', beyond the range of numbers"),
    "huge": (MASS.format("1e99"), "got 1e+99, expected a magnitude up to 1e+50"),
    "decimal_comma": (MASS.format("1,5"), "got '1,5' (decimals take a point, vectors are separated by spaces)"),
    "word": (MASS.format("heavy"), "got 'heavy', expected a finite number"),
    "hexadecimal": (MASS.format("0x10"), "got '0x10', expected a finite number"),
    "underscore": (MASS.format("1_000"), "got '1_000', expected a finite number"),
    "other_digits": (MASS.format("١"), "expected a finite number"),
    "nothing": (MASS.format(""), "got '', expected a finite number"),
    "xacro_value": (MASS.format("${m}"), "an unexpanded xacro expression: run xacro on the file first"),
    "negative_mass": (MASS.format("-2"), '2: <mass value="...">: got -2, expected at least 0'),
    "two_numbers": (ORIGIN.format("1 2"), "got 2 numbers in '1 2', expected 3"),
    "four_numbers": (ORIGIN.format("1 2 3 4"), "got 4 numbers in '1 2 3 4', expected 3"),
    "commas": (ORIGIN.format("1, 2, 3"), "got '1,'"),
    "nan_vector": (ORIGIN.format("0 NaN 0"), "got 'NaN', expected 3 finite numbers"),
    # parts
    "no_mass": (f'<link name="a"><inertial>{INERTIA}</inertial></link>', "2: <inertial>: missing element <mass>"),
    "no_inertia": (
        '<link name="a"><inertial><mass value="1"/></inertial></link>',
        "<inertial>: missing element <inertia>",
    ),
    "no_moment": (MASS.format("1").replace('iyy="1" ', ""), '<inertia>: missing attribute "iyy"'),
    "no_link_name": ("<link/>", '2: <link>: missing attribute "name"'),
    "empty_link_name": ('<link name=""/>', 'empty attribute "name"'),
    "no_parent": (
        links("ab") + '<joint name="j" type="fixed"><child link="b"/></joint>',
        "<joint>: missing element <parent>",
    ),
    "two_inertials": (
        MASS.format("1").replace("</link>", '<inertial><mass value="1"/></inertial></link>'),
        "got 2 <inertial> elements (again in line 2), expected one",
    ),
    "no_links": ("", 'robot "r": got no <link>, expected at least one'),
    "unexpanded": (
        links("a") + '<xacro:leg name="front"/>',
        "<xacro:leg>: an unexpanded xacro element, expected plain URDF",
    ),
    # joints
    "unknown_type": (links("ab") + joint("j", "a", "b", "hinge"), "joint \"j\": got 'hinge', expected type revolute"),
    "no_type": (links("ab") + joint("j", "a", "b").replace(' type="continuous"', ""), 'joint "j": got no type'),
    "zero_axis": (
        links("ab") + joint("j", "a", "b", inner='<axis xyz="0 0 0"/>'),
        '2: Revolute joint "j" axis: expected a non-zero direction, got (0, 0, 0)',
    ),
    "negative_damping": (
        links("ab") + joint("j", "a", "b", inner='<dynamics damping="-1"/>'),
        '<dynamics damping="...">: got -1, expected at least 0',
    ),
    # tree
    "unknown_parent": (
        links("ab") + "\n" + joint("j", "bse", "b").replace("bse", "aa"),
        '3: joint "j": unknown parent link "aa"',
    ),
    "unknown_child": (links("ab") + joint("j", "a", "c"), 'joint "j": unknown child link "c" (known: a, b)'),
    "two_roots": (
        '<link name="a"/>\n<link name="b"/>',
        '3: got 2 root links, "a" (line 2), "b" (line 3), expected one link without a parent',
    ),
    "cycle": (
        links("abc") + joint("i", "a", "b") + joint("j", "b", "c") + joint("k", "c", "a"),
        'links form a cycle: "a" -> "b" -> "c" -> "a", expected a tree',
    ),
    "cycle_beside_a_root": (links("rab") + joint("i", "a", "b") + joint("j", "b", "a"), "links form a cycle"),
    "own_parent": (links("ra") + joint("i", "a", "a"), 'links form a cycle: "a" -> "a"'),
    "two_parents": (
        links("abc") + joint("i", "a", "c") + "\n" + joint("j", "b", "c"),
        '3: link "c" is the child of joint "j" and of "i" (line 2), expected one parent',
    ),
    "same_link_twice": (links("a") + "\n" + links("a"), '3: link "a": the name is taken in line 2'),
    "same_joint_twice": (
        links("abc") + joint("j", "a", "b") + "\n" + joint("j", "b", "c"),
        '3: joint "j": the name is taken in line 2',
    ),
    # mimic
    "mimic_ring": (
        links("abc")
        + joint("i", "a", "b", inner='<mimic joint="j"/>')
        + joint("j", "b", "c", inner='<mimic joint="i"/>'),
        'joints mimic each other in a ring: "i" -> "j" -> "i"',
    ),
    "mimic_itself": (links("ab") + joint("i", "a", "b", inner='<mimic joint="i"/>'), "in a ring"),
    "mimic_fixed": (
        links("abc") + joint("i", "a", "b", inner='<mimic joint="j"/>') + joint("j", "b", "c", "fixed"),
        'mimic of fixed joint "j", expected a joint of one coordinate',
    ),
    "mimic_word": (
        links("abc") + joint("j", "a", "b") + joint("i", "a", "c", inner='<mimic joint="j" multiplier="twice"/>'),
        "got 'twice', expected a finite number",
    ),
}

# What is cosmetic, or is not used by the dynamics, never stops a model.
WARNED = {
    "unknown_shape": (SHAPE.format("<cone/>"), "<geometry>: got <cone>, expected <box>"),
    "empty_shape": (SHAPE.format(""), "<geometry>: got nothing, expected <box>"),
    "negative_radius": (SHAPE.format('<sphere radius="-1"/>'), '<sphere radius="...">: got -1, expected at least 0'),
    "negative_box": (SHAPE.format('<box size="1 -1 1"/>'), "expected lengths of at least 0"),
    "mesh_without_file": (SHAPE.format("<mesh/>"), 'missing attribute "filename"'),
    "limits_swapped": (
        links("ab") + joint("j", "a", "b", "revolute", '<limit lower="1" upper="-1" effort="1" velocity="1"/>'),
        'joint "j": lower limit 1 above upper limit -1; neither is used',
    ),
}


@pytest.mark.parametrize(("inner", "message"), CASES.values(), ids=CASES.keys())
def test_mistake(tmp_path, inner, message):
    problems = refusal(tmp_path, inner)
    assert any(message in problem for problem in problems), problems


@pytest.mark.parametrize(("inner", "message"), WARNED.values(), ids=WARNED.keys())
def test_cosmetic_mistake_is_a_warning(tmp_path, inner, message):
    path = tmp_path / "robot.urdf"
    path.write_text(f'<robot name="r">\n{inner}\n</robot>', encoding="utf-8")
    with pytest.warns(ModelWarning) as caught:
        m = load(path)
    texts = [str(warning.message) for warning in caught]
    assert any(text.startswith(f"{path}:2: ") and message in text for text in texts), texts
    assert "a" in m.frames


def test_robot_without_name(tmp_path):
    assert refusal(tmp_path, links("a"), "<robot>") == ['1: <robot>: missing attribute "name"']


def test_all_problems_come_at_once_in_the_order_of_lines(tmp_path):
    inner = "\n".join(
        [
            MASS.format("-1"),
            '<link name="b"/>',
            '<link name="b"/>',
            joint("j", "a", "b", "hinge"),
            joint("k", "a", "nowhere", inner='<axis xyz="0 0 0"/>'),
        ]
    )
    problems = refusal(tmp_path, inner)
    assert [int(problem.split(":")[0]) for problem in problems] == [2, 4, 5, 6, 6]


def test_a_thousand_problems_are_cut_at_a_hundred(tmp_path):
    path = tmp_path / "robot.urdf"
    path.write_text('<robot name="r">' + "<link/>\n" * 1000 + "</robot>")
    with pytest.raises(ModelFileError) as caught:
        load(path)
    assert len(caught.value.problems) == 101
    assert caught.value.problems[-1] == "and 900 more"
