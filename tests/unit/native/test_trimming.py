"""The folder of compiled code does not grow without bound: the least recently used code is forgotten first."""

import os
from pathlib import Path

import pytest

from setsu.native import toolchain


def test_oldest_objects_go_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toolchain, "_MOST_OBJECTS", 10)
    monkeypatch.setattr(toolchain, "_KEPT_OBJECTS", 6)
    for k in range(10):
        (tmp_path / f"{k}.o").write_bytes(b"")
        os.utime(tmp_path / f"{k}.o", (1000 + k, 1000 + k))
    (tmp_path / "other.txt").write_text("not ours")
    toolchain._trim(tmp_path)
    assert len(list(tmp_path.glob("*.o"))) == 10
    (tmp_path / "10.o").write_bytes(b"")
    toolchain._trim(tmp_path)
    assert {path.stem for path in tmp_path.glob("*.o")} == {"5", "6", "7", "8", "9", "10"}
    assert (tmp_path / "other.txt").exists()
