"""Uploads are read by the strict readers, name no other files, and say what is wrong under the name they came with."""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

import setsu
from setsu.errors import InputError
from setsu.studio import convert, uploads
from setsu.studio.uploads import LARGEST_UPLOAD, open_file, open_upload

ROOT = Path(__file__).resolve().parents[3]
ARM = ROOT / "examples" / "models" / "arm.urdf"


def test_an_uploaded_model_is_the_one_load_gives() -> None:
    opened = open_upload("C:\\robots\\arm.urdf", ARM.read_bytes())
    assert opened.mechanism == setsu.load(ARM)
    assert opened.mesh_folders == ()


def test_a_recording_keeps_its_mechanism_through_its_file(tmp_path: Path) -> None:
    pendulum = setsu.sample_mechanisms.pendulum()
    recording = setsu.simulate(pendulum, [1.0], [0.0], duration=0.05, step=0.01)
    assert recording.mechanism == pendulum
    for name in ("run.nc", "run.npz"):
        path = recording.save(tmp_path / name)
        for opened in (open_file(path), open_upload(name, path.read_bytes())):
            assert opened.mechanism == pendulum
            assert opened.recording is not None
            np.testing.assert_array_equal(opened.recording.q, recording.q)


def test_an_uploaded_scenario_may_use_samples_and_no_files() -> None:
    opened = open_upload("swing.toml", b'model.sample = "pendulum"\nsimulation.duration = 0.5\n')
    assert opened.prepared is not None
    assert opened.mechanism == setsu.sample_mechanisms.pendulum()
    with pytest.raises(InputError, match="an upload is one file"):
        open_upload("swing.toml", b'model.file = "/etc/passwd"\nsimulation.duration = 0.5\n')


@pytest.mark.parametrize(
    "inside",
    ['<include file="/etc/passwd"/>', '<asset><mesh file="../x.stl"/></asset>', '<compiler meshdir="/etc"/>'],
)
def test_an_uploaded_mjcf_file_that_names_others_is_refused(inside: str) -> None:
    text = f'<mujoco>\n{inside}<worldbody><body><joint/><geom size="1"/></body></worldbody></mujoco>'
    with pytest.raises(InputError, match=r"robot.xml: line 2: .* names another file"):
        open_upload("robot.xml", text.encode())


def test_an_uploaded_mjcf_file_is_read_in_a_second_process() -> None:
    text = '<mujoco model="m"><worldbody><body name="b"><joint name="j"/><geom size="0.1"/></body></worldbody></mujoco>'
    assert open_upload("robot.xml", text.encode()).mechanism.joint_names == ("j",)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("robot.exe", b"x", "expected a file that ends in"),
        ("robot.urdf", b"  ", "the file is empty"),
        ("robot.urdf", b"\x00" * 20, "robot.urdf"),
        ("robot.urdf", b"<robot name='r'><link name='a'/></robot>", "no moving joint"),
        ("run.npz", b"PK", "no recording"),
        ("../../etc/run.nc", b"CDF", "run.nc"),
    ],
)
def test_what_cannot_be_read_is_explained_under_its_own_name(name: str, content: bytes, message: str) -> None:
    with pytest.raises(InputError) as problem:
        open_upload(name, content)
    assert message in str(problem.value)
    assert "setsu_studio_" not in str(problem.value)
    assert ".." not in str(problem.value).split(":")[0]


def test_sizes_are_limited_also_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="expected at most"):
        open_upload("robot.urdf", b"x" * (LARGEST_UPLOAD + 1))
    bomb = tmp_path / "bomb.npz"
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("q.npy", bytes(100_000))
    monkeypatch.setattr(convert, "LARGEST_UNPACKED", 50_000)
    with pytest.raises(InputError, match="100000 bytes unpacked, expected at most 50000"):
        convert._convert(bomb, tmp_path / "converted")


def test_a_reader_that_crashes_hangs_or_eats_memory_is_a_message(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever happens in the second process, the studio's own goes on; no model is read in this one."""

    def reader(code: str) -> None:
        monkeypatch.setattr(uploads, "READER", (sys.executable, "-c", code))

    arm = ARM.read_bytes()
    reader("import os; os.abort()")
    with pytest.raises(InputError, match=r"arm\.urdf: the reader of this format gave up"):
        open_upload("arm.urdf", arm)
    monkeypatch.setattr(uploads, "CONVERSION_SECONDS", 0.5)
    reader("import time; time.sleep(60)")
    with pytest.raises(InputError, match="took longer than"):
        open_upload("arm.urdf", arm)
    monkeypatch.setattr(uploads, "CONVERSION_SECONDS", 30.0)
    reader("from setsu.studio.convert import _limit_memory; _limit_memory(); b'x' * 20 * 2**30")
    with pytest.raises(InputError, match="gave up"):
        open_upload("arm.urdf", arm)


@pytest.mark.parametrize("name", ["a.urdf", "a.xml", "a.mjcf", "a.sdf", "a.toml"])
def test_no_uploaded_model_is_parsed_in_the_process_of_the_studio(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploads, "READER", (sys.executable, "-c", "import sys; sys.exit('not read')"))
    for reader in ("studio.uploads.load_with_report", "studio.uploads.load_model", "model_files.xml_tree.parse_xml"):
        monkeypatch.setattr(f"setsu.{reader}", lambda *_, **__: pytest.fail("parsed here"))
    with pytest.raises(InputError, match="gave up"):
        open_upload(name, b"<robot/>")
