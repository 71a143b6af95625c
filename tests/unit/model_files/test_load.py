"""Dispatch on extension and content, and clear refusal of what is no model file."""

import os
import warnings
from pathlib import Path

import pytest

from setsu.errors import InputError, ModelFileError
from setsu.model_files import load, load_with_report

DATA = Path(__file__).parents[2] / "data"


def test_native_files_load_and_come_back_equal(tmp_path):
    mechanism, report = load_with_report(DATA / "four_bar.toml")
    assert mechanism.body_names == ("crank", "coupler", "rocker")
    assert "nothing to report" in str(report)
    mechanism.save(tmp_path / "copy.toml")
    assert load(str(tmp_path / "copy.toml")) == mechanism
    assert load(tmp_path / "copy.toml", gravity=(0, 0, -1)).gravity == (0.0, 0.0, -1.0)


@pytest.mark.filterwarnings("ignore::setsu.errors.ModelWarning")
@pytest.mark.parametrize("file", ["two_finger_arm.urdf", "cart_and_legs.xml"])
def test_what_was_loaded_can_be_saved_and_read_back(file, tmp_path):
    mechanism = load(DATA / file)
    mechanism.save(tmp_path / "copy.toml")
    assert load(tmp_path / "copy.toml") == mechanism


def test_native_inertias_are_reported_and_repaired(tmp_path):
    path = tmp_path / "a.toml"
    path.write_text(
        'format = 1\nname = "m"\n[[body]]\nname = "a"\nmass = 1.0\ninertia = [0.1, 0.0, 0.0, 0.2, 0.0, 0.4]\n'
    )
    with pytest.warns(match=r"a\.toml:4: non-physical inertia") as caught:
        load(path)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mechanism, report = load_with_report(path, repair=True)
    assert report.repaired == ("a",)
    assert mechanism.bodies[0].inertia == pytest.approx((0.15, 0, 0, 0.25, 0, 0.4))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("gone.urdf", "no such file"),
        ("folder", "a folder, expected a model file"),
        ("robot.stl", 'got the extension ".stl", expected one of .urdf, .xml, .mjcf, .sdf, .xacro, .toml'),
        ("robot.urdf.xacro", "needs the package xacrodoc or xacro"),
        ("robot", "got no extension"),
    ],
)
def test_what_is_no_model_file(tmp_path, name, message):
    (tmp_path / "folder").mkdir()
    for file in ("robot.stl", "robot.urdf.xacro", "robot"):
        (tmp_path / file).write_text("x")
    with pytest.raises(ModelFileError) as caught:
        load(tmp_path / name)
    assert message in str(caught.value)
    assert str(tmp_path / name) in str(caught.value)


@pytest.mark.parametrize("path", [None, 3, "", "a\0b.urdf", b"robot.urdf"])
def test_what_is_no_path(path):
    with pytest.raises(InputError, match="expected the path of a model file"):
        load(path)


def test_a_pipe_is_not_waited_for(tmp_path):
    path = tmp_path / "pipe.urdf"
    os.mkfifo(path)
    with pytest.raises(ModelFileError, match="not a regular file"):
        load(path)


@pytest.mark.parametrize("extension", ["urdf", "xml", "toml"])
@pytest.mark.parametrize("content", [b"", b" \n\t "])
def test_empty_files(tmp_path, extension, content):
    path = tmp_path / f"empty.{extension}"
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match="the file is empty"):
        load(path)


def test_the_root_element_must_fit(tmp_path):
    path = tmp_path / "page.xml"
    path.write_text("<html/>")
    with pytest.raises(ModelFileError, match=r"page\.xml:1: root element <html>, expected <mujoco> or <robot>"):
        load(path)
    path = tmp_path / "model.urdf"
    path.write_text("<mujoco/>")
    with pytest.raises(ModelFileError, match=r"model\.urdf:1: root element <mujoco>, expected <robot>"):
        load(path)


def test_floating_base_is_for_urdf():
    with pytest.raises(InputError, match="floating_base is for URDF"):
        load(DATA / "four_bar.toml", floating_base=True)


@pytest.mark.parametrize("kind", ["revolute", "nope"])
def test_a_joint_of_sdf_has_all_its_problems_named_and_no_others(kind: str) -> None:
    text = f"""<sdf version="1.9"><model name="m"><link name="a"/><joint name="j" type="{kind}">
    <axis><xyz>0 0 1</xyz></axis><parent>b</parent><child>c</child></joint></model></sdf>"""
    with pytest.raises(ModelFileError) as failure:
        load(text=text, format="sdf")
    found = str(failure.value)
    for name in "bc":
        assert f'unknown link or frame "{name}"' in found
    assert ("got type 'nope'" in found) == (kind == "nope")
    assert "world" not in found
