"""Pairs of bodies that files say never touch."""

from __future__ import annotations

from pathlib import Path

import pytest

import setsu
from setsu.contact.shape_pairs import shape_pairs

_MJCF = """<mujoco><worldbody>
<body name="a"><freejoint/><geom size=".1"/></body>
<body name="b"><freejoint/><geom size=".1"/></body>
<body name="c"><freejoint/><geom size=".1" contype="2" conaffinity="2"/></body>
<body name="d"><freejoint/><geom size=".1"/><geom size=".1" contype="2" conaffinity="2"/></body>
</worldbody><contact><exclude body1="a" body2="b"/>{}</contact></mujoco>"""


def test_disable_collisions_of_an_srdf(tmp_path: Path) -> None:
    file = tmp_path / "robot.srdf"
    file.write_text(
        '<robot name="r"><group name="arm"/><disable_collisions link1="a" link2="b" reason="Adjacent"/>'
        '<disable_collisions link1="c" link2="a"/></robot>'
    )
    assert setsu.excluded_pairs(file) == (("a", "b"), ("c", "a"))


def test_excludes_and_masks_of_an_mjcf(tmp_path: Path) -> None:
    file = tmp_path / "robot.xml"
    file.write_text(_MJCF.format(""))
    with pytest.warns(setsu.ModelWarning, match="a and d"):
        pairs = setsu.excluded_pairs(file)
    assert {frozenset(pair) for pair in pairs} == {frozenset(p) for p in ("ab", "ac", "bc")}


def test_a_body_excluded_from_the_world_is_named(tmp_path: Path) -> None:
    file = tmp_path / "robot.xml"
    file.write_text(_MJCF.format('<exclude body1="world" body2="c"/>'))
    with pytest.warns(setsu.ModelWarning, match="world and c"):
        pairs = setsu.excluded_pairs(file)
    assert all("world" not in pair for pair in pairs)


def pairs_of(m: setsu.Mechanism) -> set[frozenset[str]]:
    """Bodies whose shapes a run lets touch each other."""
    found = shape_pairs(m)
    return {frozenset((found.shapes[i].owner, found.shapes[j].owner)) for i, j in found.pairs}


def mujoco_pairs(path: Path) -> set[frozenset[str]]:
    """Bodies that MuJoCo lets touch, all of them in one place."""
    import mujoco

    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    bodies = [[model.body(int(model.geom_bodyid[geom])).name for geom in contact.geom] for contact in data.contact]
    return {frozenset(pair) for pair in bodies}


def test_load_uses_excludes_and_masks_of_an_mjcf_as_mujoco_does(tmp_path: Path) -> None:
    """Also a part of the geoms of a body: d touches a by its first geom, c by its second."""
    file = tmp_path / "robot.xml"
    file.write_text(_MJCF.format(""))
    m = setsu.load(file)
    assert m.excluded == (("a", "b"),)
    assert not m.missing
    assert pairs_of(m) == mujoco_pairs(file) == {frozenset("ad"), frozenset("bd"), frozenset("cd")}
    for ending in ("toml", "xml"):
        m.save(tmp_path / f"again.{ending}")
        again = setsu.load(tmp_path / f"again.{ending}")
        assert again.excluded == m.excluded
        assert pairs_of(again) == pairs_of(m)
    with pytest.warns(setsu.ModelWarning, match="1 pairs of bodies that never touch.*contype and conaffinity"):
        m.save(tmp_path / "again.urdf")


def test_an_srdf_beside_a_urdf_is_used(tmp_path: Path) -> None:
    ball = '<link name="{}"><collision><geometry><sphere radius="1"/></geometry></collision></link>'
    joint = '<joint name="j{0}" type="continuous"><parent link="base"/><child link="{0}"/></joint>'
    links = ball.format("base") + "".join(ball.format(x) + joint.format(x) for x in "abc")
    (tmp_path / "robot.urdf").write_text(f'<robot name="r">{links}</robot>')
    assert pairs_of(setsu.load(tmp_path / "robot.urdf")) == {frozenset("ab"), frozenset("ac"), frozenset("bc")}
    pair = '<disable_collisions link1="{}" link2="{}" reason="Never"/>'
    (tmp_path / "other.srdf").write_text(f'<robot name="r">{pair.format("c", "b")}</robot>')
    (tmp_path / "robot.srdf").write_text(f'<robot name="r">{pair.format("a", "b")}{pair.format("a", "lost")}</robot>')
    with pytest.warns(setsu.ModelWarning, match="links that r does not have: lost"):
        m, report = setsu.load_with_report(tmp_path / "robot.urdf")
    assert pairs_of(m) == {frozenset("ac"), frozenset("bc")}
    assert any("1 pairs of bodies that never touch" in note for note in report.notes)
    m = setsu.load(tmp_path / "robot.urdf", srdf=tmp_path / "other.srdf")
    assert pairs_of(m) == {frozenset("ab"), frozenset("ac")}
    again = tmp_path / "again.toml"
    m.save(again)
    assert setsu.load(again) == m
    assert m.digest != setsu.extract(m, "base").digest
    (tmp_path / "other.srdf").write_text("<sdf/>")
    with pytest.raises(setsu.ModelFileError, match="expected <robot> of an SRDF"):
        setsu.load(tmp_path / "robot.urdf", srdf=tmp_path / "other.srdf")


def test_pairs_and_excludes_that_are_not_used_are_told(tmp_path: Path) -> None:
    file = tmp_path / "robot.xml"
    text = _MJCF.format('<exclude body1="world" body2="c"/><pair geom1="ga" geom2="gc"/><pair geom1="ga" geom2="gd"/>')
    for body in "acd":
        text = text.replace(
            f'<body name="{body}"><freejoint/><geom', f'<body name="{body}"><freejoint/><geom name="g{body}"'
        )
    file.write_text(text)
    with pytest.warns(setsu.ModelWarning) as caught:
        m = setsu.load(file)
    told = [str(warning.message) for warning in caught]
    assert len(told) == 2
    assert '"world" and "c"' in told[0]
    assert 'and not here: "a" and "c"' in told[1]
    assert len(m.missing) == 1


def test_exclude_contact_checks_its_names() -> None:
    b = setsu.MechanismBuilder("m").add_body("a", mass=1.0)
    for pair in (("a", "a"), ("a", "world"), ("a", "b")):
        with pytest.raises(setsu.InputError, match="exclude_contact"):
            b.exclude_contact(*pair)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("<sdf/>", "expected <robot>"),
        ('<robot name="r"><disable_collisions link1="a"/></robot>', "link1 and link2"),
        ("<mujoco><nonsense/></mujoco>", "MuJoCo cannot compile"),
        ("<robot", "robot.srdf"),
    ],
)
def test_bad_files(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "robot.srdf"
    file.write_text(text)
    with pytest.raises(setsu.ModelFileError, match=said):
        setsu.excluded_pairs(file)


def test_a_missing_file() -> None:
    with pytest.raises(setsu.ModelFileError, match=r"none\.srdf"):
        setsu.excluded_pairs("none.srdf")
