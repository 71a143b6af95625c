"""Pairs of bodies that files say never touch."""

from __future__ import annotations

from pathlib import Path

import pytest

import setsu

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
    pytest.importorskip("mujoco")
    file = tmp_path / "robot.xml"
    file.write_text(_MJCF.format(""))
    with pytest.warns(setsu.ModelWarning, match="a and d"):
        pairs = setsu.excluded_pairs(file)
    assert {frozenset(pair) for pair in pairs} == {frozenset(p) for p in ("ab", "ac", "bc")}


def test_a_body_excluded_from_the_world_is_named(tmp_path: Path) -> None:
    pytest.importorskip("mujoco")
    file = tmp_path / "robot.xml"
    file.write_text(_MJCF.format('<exclude body1="world" body2="c"/>'))
    with pytest.warns(setsu.ModelWarning, match="world and c"):
        pairs = setsu.excluded_pairs(file)
    assert all("world" not in pair for pair in pairs)


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
    if "mujoco" in text:
        pytest.importorskip("mujoco")
    file = tmp_path / "robot.srdf"
    file.write_text(text)
    with pytest.raises(setsu.ModelFileError, match=said):
        setsu.excluded_pairs(file)


def test_a_missing_file() -> None:
    with pytest.raises(setsu.ModelFileError, match=r"none\.srdf"):
        setsu.excluded_pairs("none.srdf")
