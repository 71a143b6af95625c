"""A person who waits for code to be compiled is told so, once, and nobody else."""

from __future__ import annotations

import io
import time

import pytest

from setsu.native import notice as subject
from setsu.native.notice import notice


def listen(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """Called inside a test: pytest puts its own stderr in place between fixtures and test."""
    stream = io.StringIO()
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.delenv("SETSU_QUIET", raising=False)
    monkeypatch.setattr(subject, "_DELAY", 0.01)
    return stream


def wait_for(stream: io.StringIO) -> None:
    for _ in range(10000):
        if stream.getvalue():
            return
        time.sleep(0.001)
    raise AssertionError("nothing was said")


def test_what_takes_long_is_named_and_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    stderr = listen(monkeypatch)
    with notice("contact"):
        wait_for(stderr)
        assert stderr.getvalue() == "setsu: compiling contact code for this machine, once: "
    assert stderr.getvalue() == "setsu: compiling contact code for this machine, once: 0 s\n"


def test_a_notice_inside_another_is_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    stderr = listen(monkeypatch)
    with notice("loop"):
        wait_for(stderr)
        with notice("tree"):
            time.sleep(0.05)
    assert "tree" not in stderr.getvalue()


def test_what_is_quick_or_not_wanted_is_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    stderr = listen(monkeypatch)
    monkeypatch.setattr(subject, "_DELAY", 60.0)
    with notice("tree"):
        pass
    monkeypatch.setattr(subject, "_DELAY", 0.0)
    monkeypatch.setenv("SETSU_QUIET", "1")
    with notice("tree"):
        time.sleep(0.05)
    assert stderr.getvalue() == ""


def test_an_error_ends_the_line_and_a_process_without_stderr_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stderr = listen(monkeypatch)
    with pytest.raises(ZeroDivisionError), notice("tree"):  # noqa: PT012
        wait_for(stderr)
        raise ZeroDivisionError
    assert stderr.getvalue().endswith("s\n")
    monkeypatch.setattr("sys.stderr", None)
    with notice("tree"):
        time.sleep(0.05)
