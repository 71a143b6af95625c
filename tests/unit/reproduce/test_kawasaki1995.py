"""kawasaki1995: every count and list agrees or deviates for a reason given; operations can only fall."""

from pathlib import Path

import pytest

from setsu.reproduce.kawasaki1995 import run
from setsu.reproduce.kawasaki1995.operations import count_operations

# Reached so far, original, σ_o and σ; lower these when the counts fall.
REACHED = (569, 480, 444)


@pytest.mark.slow
def test_every_row_agrees_or_is_explained(tmp_path: Path) -> None:
    report = run(tmp_path, lambda text, part: None)
    assert report.failures == ()
    # All but operation counts, of which the two functions more of the symbolic rows are explained.
    assert report.count("agrees") == 57
    assert len(report.figures) == 6
    assert all(figure.path.stat().st_size > 10_000 for figure in report.figures)
    assert len((tmp_path / "sigma.txt").read_text(encoding="utf-8").splitlines()) == 39
    assert len((tmp_path / "sigma_o.txt").read_text(encoding="utf-8").splitlines()) == 50
    assert r"\begin{array}" in (tmp_path / "sigma.tex").read_text(encoding="utf-8")


def test_operations_only_fall() -> None:
    counted = count_operations()
    assert all(entry.error <= 1e-12 for entry in counted)
    assert all(entry.operations.total <= most for entry, most in zip(counted, REACHED, strict=True))
