"""Nothing outside a model's folder is opened, whatever the file says: every `open` of the process is watched."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import trimesh

from setsu.errors import SetsuError
from setsu.studio.geometry import look_of
from setsu.studio.uploads import open_file, open_upload

opened: list[str] | None = None


def _watch(event: str, arguments: tuple[object, ...]) -> None:
    if opened is not None and event == "open":
        opened.append(os.path.realpath(os.fsdecode(arguments[0])) if isinstance(arguments[0], str | bytes) else "")


sys.addaudithook(_watch)


@pytest.fixture
def watched() -> Iterator[list[str]]:
    """Real paths of all files opened during the test."""
    global opened
    opened = []
    yield opened
    opened = None


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    """A mesh outside the model's folder."""
    path = tmp_path / "secret" / "secret.stl"
    path.parent.mkdir()
    trimesh.creation.box((0.1, 0.1, 0.1)).export(path)
    return path


def robot(mesh: str) -> str:
    return f"""<robot name="r"><link name="base"/><link name="arm">
      <inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
      <visual><geometry><mesh filename="{mesh}"/></geometry></visual>
      <collision><geometry><mesh filename="{mesh}"/></geometry></collision></link>
      <joint name="j" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/></joint></robot>"""


def look_at(path: Path) -> list[str]:
    """Open a model as the studio does; return what it remarks on."""
    found = open_file(path)
    return list(look_of(found.mechanism, found.mesh_folders).remarks)


HOSTILE = (
    "../secret/secret.stl",
    "meshes/../../secret/secret.stl",
    "package://../secret/secret.stl",
    "package://../../secret/secret.stl",
    "package://model/../../secret/secret.stl",
    "file://{secret}",
    "{secret}",
    "link.stl",
    "folder/secret.stl",
)


@pytest.mark.parametrize("mesh", HOSTILE)
def test_a_mesh_outside_the_folder_is_not_opened(tmp_path: Path, secret: Path, watched: list[str], mesh: str) -> None:
    model = tmp_path / "model"
    (model / "meshes").mkdir(parents=True)
    (model / "link.stl").symlink_to(secret)
    (model / "folder").symlink_to(secret.parent)
    path = model / "robot.urdf"
    path.write_text(robot(mesh.format(secret=secret)))
    look_at(path)
    assert str(path) in watched
    assert str(secret) not in watched


def test_a_mesh_folder_that_leads_elsewhere_is_not_followed(tmp_path: Path, secret: Path, watched: list[str]) -> None:
    path = tmp_path / "robot" / "urdf" / "robot.urdf"
    path.parent.mkdir(parents=True)
    (tmp_path / "robot" / "meshes").symlink_to(secret.parent)
    path.write_text(robot("../meshes/secret.stl"))
    look_at(path)
    assert str(secret) not in watched


def test_the_same_mesh_inside_the_folder_is_opened(tmp_path: Path, secret: Path, watched: list[str]) -> None:
    path = secret.parent / "robot.urdf"
    path.write_text(robot("secret.stl"))
    assert look_at(path) == []
    assert str(secret) in watched


@pytest.mark.parametrize("mesh", HOSTILE)
def test_a_native_file_names_no_mesh_outside_its_folder(
    tmp_path: Path, secret: Path, watched: list[str], mesh: str
) -> None:
    model = tmp_path / "model"
    model.mkdir()
    (model / "link.stl").symlink_to(secret)
    (model / "folder").symlink_to(secret.parent)
    (model / "plain.urdf").write_text(robot("inside.stl"))
    trimesh.creation.box((0.1, 0.1, 0.1)).export(model / "inside.stl")
    native = model / "robot.toml"
    open_file(model / "plain.urdf").mechanism.save(native)
    text = native.read_text()
    assert "inside.stl" in text
    shown = mesh.format(secret=secret)
    native.write_text(text.replace(str(model / "inside.stl"), shown).replace("inside.stl", shown))
    look_at(native)
    assert str(native) in watched
    assert str(secret) not in watched


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("robot.urdf", robot("{secret}")),
        ("robot.xml", robot("{secret}")),
        ("run.toml", 'model.file = "{secret}"\nsimulation.duration = 1.0'),
        ("run.toml", 'model.file = "../../../../../../../..{secret}"\nsimulation.duration = 1.0'),
        ("run.toml", 'model.sample = "pendulum"\nmodel.package_folders = ["{secret}"]\nsimulation.duration = 1.0'),
        ("study.toml", 'scenario = "{secret}"'),
        ("robot.xml", '<mujoco><include file="{secret}"/></mujoco>'),
        ("robot.xml", '<!DOCTYPE r [<!ENTITY x SYSTEM "file://{secret}">]><robot name="&x;"/>'),
    ],
)
def test_an_upload_opens_nothing_but_itself(secret: Path, watched: list[str], name: str, content: str) -> None:
    try:
        found = open_upload(name, content.replace("{secret}", str(secret)).encode())
        look_of(found.mechanism, found.mesh_folders)
    except SetsuError:
        pass
    assert str(secret) not in watched
