"""Rows judge themselves; pages need nothing but themselves; the command refuses unknown papers."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from setsu.command_line import main
from setsu.errors import InputError
from setsu.reproduce import PAPERS, Figure, Report, Row, Table, reproduce
from setsu.reproduce.drawing import new_figure, save_figure
from setsu.reproduce.html_page import write_index, write_page
from setsu.reproduce.report import Deviation, Expected, at_least, at_most, equal, printed

PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c6360606060000000050001a5f645"
    "400000000049454e44ae426082"
)


def report(tmp_path: Path) -> Report:
    (tmp_path / "figure.png").write_bytes(PIXEL)
    slip = Deviation("a slip <of the pen>", 0.03)
    rows = (
        Row("a", "N", printed("1.000"), 1.0004),
        Row("b", "N", printed("1.000"), 1.02, slip, (2.0,)),
        Row("c", "N", printed("1.000"), 1.05, slip),
        Row("d", "N", printed("1.000"), 2.0),
        Row("e", "N", printed("1.000"), 1.02, Deviation("nobody knows", 0.03, explained=False)),
        Row("f", "-", at_most(1 / 3), 0.107),
        Row("g", "s", at_least(0.15), 0.26),
        Row("h", "s", at_least(0.15), 0.14),
        Row("i", "ms", None, 0.7),
    )
    figure = Figure("Figure 1", tmp_path / "figure.png", "a dot", tmp_path / "figure.csv")
    return Report("key", "A & B", "a paper", (Table("Table 1", rows, ("other",)),), (figure,), ("a note",))


def test_a_value_the_computation_is_fed_with_is_no_agreement() -> None:
    assert Row("m", "kg", equal(1.0), 1.0, given=True).verdict == "given"
    assert Row("m", "kg", equal(1.0), 1.1, given=True).verdict == "differs"


def test_verdicts(tmp_path: Path) -> None:
    made = report(tmp_path)
    verdicts = [row.verdict for row in made.tables[0].rows]
    assert verdicts == ["agrees", "explained", "differs", "differs", "unexplained", "agrees", "agrees", "differs", ""]
    assert [row.quantity for row in made.failures] == ["c", "d", "h"]
    assert made.tables[0].reasons == (("explained", "a slip <of the pen>"), ("unexplained", "nobody knows"))


@pytest.mark.parametrize(
    ("expected", "text", "inside", "outside"),
    [
        (printed("-0.120"), "= -0.12 ± 0.0005", -0.1195, -0.1194),
        (printed("36"), "= 36 ± 0.5", 36.5, 36.6),
        (equal(39), "= 39", 39.0, 39.0000001),
        (equal(2.0, 0.1), "= 2 ± 0.1", 2.1, 2.11),
        (at_most(1 / 3), "≤ 0.333333", 0.0, 0.34),
        (at_least(15.0), "≥ 15", 200.0, 14.999),
    ],
)
def test_relations(expected: Expected, text: str, inside: float, outside: float) -> None:
    assert str(expected) == text
    assert expected.holds(inside)
    assert not expected.holds(outside)
    assert not expected.holds(float("nan"))


def test_a_tolerance_belongs_to_an_equation_only() -> None:
    with pytest.raises(InputError, match="cannot stand beside"):
        Expected("<=", 1.0, 0.1)
    with pytest.raises(InputError, match="expected the relation"):
        Expected("~", 1.0)


def test_json_rows_carry_relation_and_tolerance(tmp_path: Path) -> None:
    from setsu.command_line.reproduce_command import _as_data

    rows = _as_data(report(tmp_path))["tables"][0]["rows"]
    first, bound, shown = rows[0], rows[5], rows[8]
    assert (first["relation"], first["expected"], first["tolerance"], first["printed"]) == ("=", 1.0, 0.0005, 1.0)
    assert (bound["relation"], bound["expected"], bound["tolerance"]) == ("<=", 1 / 3, 0.0)
    assert (shown["relation"], shown["expected"], shown["difference"]) == (None, None, None)
    assert rows[1]["others"] == {"other": 2.0}


def test_a_figure_is_kept_as_data_too(tmp_path: Path) -> None:
    canvas, (one, two) = new_figure(3.0, columns=2)
    one.plot([0.0, 1.0], [2.0, 3.0], label="force")
    one.plot([0.5], [2.5], "x", label="printed")
    two.imshow([[1.0, 2.0]])
    two.set_title("pattern")
    two.text(0.0, 0.0, "L1")
    made = save_figure(canvas, tmp_path / "figure.png", "Figure 1", "two panels")
    lines = made.data.read_text(encoding="utf-8").splitlines()
    assert lines[0] == "panel,series,kind,x,y,value"
    assert "1,force,line,1,3," in lines
    assert "1,printed,marker,0.5,2.5," in lines
    assert "pattern,matrix 1,cell,1,0,2" in lines
    assert "pattern,label,text,0,0,L1" in lines


def test_processes_must_be_a_number(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"jobs .*: expected a whole number, at least 0, got -1"):
        reproduce(["kawasaki1995"], tmp_path, lambda text, part: None, jobs=-1)


def test_pages_are_self_contained(tmp_path: Path) -> None:
    made = report(tmp_path)
    write_page(made, tmp_path / "page.html")
    write_index([made], tmp_path / "index.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "a slip &lt;of the pen&gt;" in page
    assert "A &amp; B" in page
    assert "data:image/png;base64," in page
    assert set(re.findall(r'(?:src|href)="(?!data:)([^"]*)', page)) == {"../index.html", "figure.csv"}
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
