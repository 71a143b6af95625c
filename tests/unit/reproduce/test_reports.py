"""Rows judge themselves; pages need nothing but themselves; the command refuses unknown papers."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from setsu.command_line import main
from setsu.errors import InputError
from setsu.reproduce import PAPERS, Figure, Report, Row, Table, reproduce
from setsu.reproduce.html_page import write_index, write_page

PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c6360606060000000050001a5f645"
    "400000000049454e44ae426082"
)


def report(tmp_path: Path) -> Report:
    (tmp_path / "figure.png").write_bytes(PIXEL)
    rows = (
        Row("a", "N", 1.0, 1.0004, 0.0005),
        Row("b", "N", 1.0, 1.02, 0.0005, "a slip <of the pen>", 0.03, other=2.0),
        Row("c", "N", 1.0, 1.05, 0.0005, "a slip <of the pen>", 0.03),
        Row("d", "N", 1.0, 2.0, 0.0005),
    )
    figure = Figure("Figure 1", tmp_path / "figure.png", "a dot")
    return Report("key", "A & B", "a paper", (Table("Table 1", rows, "other"),), (figure,), ("a note",))


def test_a_value_the_computation_is_fed_with_is_no_agreement() -> None:
    assert Row("m", "kg", 1.0, 1.0, 0.0, given=True).verdict == "given"
    assert Row("m", "kg", 1.0, 1.1, 0.0, given=True).verdict == "differs"


def test_verdicts(tmp_path: Path) -> None:
    made = report(tmp_path)
    assert [row.verdict for row in made.tables[0].rows] == ["agrees", "explained", "differs", "differs"]
    assert [row.quantity for row in made.failures] == ["c", "d"]
    assert made.tables[0].reasons == ("a slip <of the pen>",)


def test_pages_are_self_contained(tmp_path: Path) -> None:
    made = report(tmp_path)
    write_page(made, tmp_path / "page.html")
    write_index([made], tmp_path / "index.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "a slip &lt;of the pen&gt;" in page
    assert "A &amp; B" in page
    assert "data:image/png;base64," in page
    assert set(re.findall(r'(?:src|href)="(?!data:)([^"]*)', page)) == {"../index.html"}
    assert "<script" not in page
    assert 'href="key/index.html"' in (tmp_path / "index.html").read_text(encoding="utf-8")


def test_an_unknown_paper_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(InputError, match="unknown paper 'nishiguchi2041'"):
        reproduce(["nishiguchi2041"], tmp_path, lambda text, part: None)
    assert main(["reproduce", "nishiguchi2041", "--out", str(tmp_path)]) == 2
    assert "did you mean" in capsys.readouterr().err


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "taken").write_text("a file")
    assert main(["reproduce", next(iter(PAPERS)), "--out", str(tmp_path / "taken")]) == 2
    assert "cannot make the folder" in capsys.readouterr().err
