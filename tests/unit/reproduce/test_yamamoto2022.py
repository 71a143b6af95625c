"""The lecture's exercises: every row agrees, every figure is drawn."""

from pathlib import Path

from setsu.reproduce.yamamoto2022 import run


def test_every_row_agrees_and_every_figure_is_drawn(tmp_path: Path) -> None:
    report = run(tmp_path, lambda text, part: None)
    assert report.failures == ()
    assert report.count("agrees") == 17
    assert len(report.figures) == 6
    assert all(figure.path.stat().st_size > 10_000 for figure in report.figures)
