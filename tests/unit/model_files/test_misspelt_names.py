"""A misspelt element or attribute is refused or warned of by name, not just dropped."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator

import pytest

import setsu

SOLID = """<inertial><origin xyz="0.1 0.2 0" rpy="0.1 0 0"/><mass value="1.5"/>
<inertia ixx="0.1" ixy="0.01" ixz="0.01" iyy="0.12" iyz="0.01" izz="0.1"/></inertial>"""
URDF = f"""<robot name="r"><material name="red"><color rgba="1 0 0 1"/></material><link name="base"/>
<link name="a">{SOLID}<collision><origin xyz="0.1 0 0.2" rpy="0 0.1 0"/><geometry><box size="0.1 0.2 0.3"/></geometry>
</collision><visual><origin xyz="0 0 0.1"/><geometry><cylinder radius="0.1" length="0.4"/></geometry>
<material name="red"/></visual></link>
<link name="b">{SOLID}</link>
<joint name="j1" type="revolute"><parent link="base"/><child link="a"/><origin xyz="0 0 1" rpy="0.3 0 0"/>
<axis xyz="0 1 0"/><limit lower="-1" upper="2" effort="10" velocity="3"/>
<dynamics damping="0.5" friction="0.2"/></joint>
<joint name="j2" type="prismatic"><parent link="a"/><child link="b"/><axis xyz="0 1 1"/>
<limit lower="-0.5" upper="0.6" effort="5" velocity="1"/><mimic joint="j1" multiplier="0.5" offset="0.1"/></joint>
</robot>"""
SDF = """<sdf version="1.7"><model name="r"><pose>0 0 0.5 0 0.1 0</pose>
<joint name="fix" type="fixed"><parent>world</parent><child>base</child></joint>
<link name="base"><inertial><pose>0.1 0 0 0 0 0.2</pose><mass>2</mass><inertia><ixx>0.1</ixx><ixy>0.01</ixy>
<iyy>0.12</iyy><izz>0.1</izz></inertia></inertial></link>
<link name="a"><pose relative_to="j1">0.1 0 0 0 0.2 0</pose><inertial><mass>1.5</mass></inertial>
<collision name="c"><pose>0.1 0 0 0 0 0.3</pose><geometry><box><size>0.1 0.2 0.3</size></box></geometry>
<surface><friction><ode><mu>0.7</mu></ode></friction><bounce><restitution_coefficient>0.3</restitution_coefficient></bounce>
</surface></collision></link>
<joint name="j1" type="revolute"><pose relative_to="base">0 0 0.3 0.1 0 0</pose><parent>base</parent><child>a</child>
<axis><xyz expressed_in="base">0 1 0.5</xyz><limit><lower>-1</lower><upper>2</upper><effort>10</effort></limit>
<dynamics><damping>0.5</damping><friction>0.2</friction><spring_stiffness>3</spring_stiffness></dynamics></axis></joint>
</model></sdf>"""


def misspelt(text: str) -> Iterator[tuple[str, str]]:
    """Yield what is misspelt, and the document: one name of an attribute or element at a time."""
    for found in re.finditer(r'(?<=\s)(\w+)(?==")', text):
        start, end = found.span()
        yield found[0], f"{text[: end - 1]}q{text[end:]}"
    for found in re.finditer(r"<(\w+)", text):
        start, tag = found.start(1), found[1]
        after = text[start + len(tag) :]
        closes = re.match(r"[^<>]*?(/?)>", after)
        assert closes is not None
        if not closes[1]:  # elements of one kind do not stand in each other here
            after = after.replace(f"</{tag}>", f"</{tag}q>", 1)
        yield f"<{tag}>", f"{text[:start]}{tag}q{after}"


@pytest.mark.parametrize(("form", "text"), [("urdf", URDF), ("sdf", SDF)])
def test_a_misspelt_name_is_refused_or_named(form: str, text: str) -> None:
    with warnings.catch_warnings(action="error"):
        setsu.load(text=text, format=form)
    silent = []
    for what, document in misspelt(text):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                setsu.load(text=document, format=form)
            except setsu.ModelFileError:
                continue
        if not caught:
            silent.append(what)
    assert silent == []


def test_the_warning_says_where_and_what_was_meant() -> None:
    with pytest.warns(setsu.ModelWarning, match=r':\d+: <joint/limit/@lowr> is not read; did you mean "lower"\?'):
        setsu.load(text=URDF.replace("lower", "lowr", 1), format="urdf")


def test_friction_and_restitution_of_an_sdf_become_the_material_of_the_shape() -> None:
    shape = setsu.load(text=SDF, format="sdf").bodies_by_name["a"].collisions[0]
    assert shape.material == setsu.Material(0.7, 0.7, 0.3)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("<box><size>0.1 0.2 0.3</size></box>", "<plane/>", "geometry <plane> is left out"),
        ("<mu>0.7</mu>", "<mu>0.7</mu><mu2>0.2</mu2>", "friction mu 0.7 and mu2 0.2"),
        (
            "<pose>0.1 0 0 0 0 0.3</pose>",
            '<pose relative_to="base">0 0 0 0 0 0</pose>',
            "is left out: its pose is relative",
        ),
    ],
)
def test_what_an_sdf_says_of_collisions_and_is_not_used_is_named(old: str, new: str, message: str) -> None:
    with pytest.warns(setsu.ModelWarning, match=re.escape(message)):
        setsu.load(text=SDF.replace(old, new), format="sdf")
