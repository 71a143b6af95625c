"""The progress bar stays away from short work and from output that is not a terminal."""

from __future__ import annotations

import json

import pytest

from setsu.command_line import output


def test_progress_bar_is_silent_when_stderr_is_no_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(output, "PATIENCE_SECONDS", 0.0)
    with output.ProgressBar("work") as bar:
        bar("half", 0.5)
    assert capsys.readouterr() == ("", "")


def test_progress_bar_appears_on_a_terminal_after_its_patience(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(output, "PATIENCE_SECONDS", 0.0)
    with output.ProgressBar("work") as bar:
        bar("half", 0.5)
    assert "work: half" in capsys.readouterr().err


def test_progress_bar_waits(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(output, "PATIENCE_SECONDS", 3600.0)
    with output.ProgressBar("work") as bar:
        bar("half", 0.5)
    assert capsys.readouterr().err == ""


def test_json_has_no_words_outside_the_standard(capsys: pytest.CaptureFixture[str]) -> None:
    """Infinity and NaN are no JSON: they become null."""
    output.print_json({"limit": float("inf"), "value": float("nan"), "text": "é"})
    assert json.loads(capsys.readouterr().out) == {"limit": None, "value": None, "text": "é"}
