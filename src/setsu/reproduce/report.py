"""What a reproduction consists of: tables of printed and computed values, figures, and words about deviations."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["Figure", "Report", "Row", "Table"]


@dataclass(frozen=True)
class Row:
    """One printed value beside the computed one.

    tolerance: largest |difference| that counts as agreement, usually half a unit of the last printed digit.
    reason: why the two differ when they do; a difference up to `reach` is then explained, any other is a failure.
    other: the value of a second model, for comparison only. given: the computation is fed with this value, so that
    agreement shows the set-up and no result.
    """

    quantity: str
    unit: str
    printed: float
    computed: float
    tolerance: float
    reason: str = ""
    reach: float = 0.0
    other: float | None = None
    given: bool = False

    @property
    def difference(self) -> float:
        """Computed minus printed."""
        return self.computed - self.printed

    @property
    def verdict(self) -> str:
        """Either "agrees", "given", "explained" or "differs"."""
        if abs(self.difference) <= self.tolerance:
            return "given" if self.given else "agrees"
        return "explained" if self.reason and abs(self.difference) <= self.reach else "differs"


@dataclass(frozen=True)
class Table:
    """A table of the paper, or numbers of its text.

    other_name: heading of the second model's column. printed_name: heading of the values held against, where the paper
    prints none and a law takes their place.
    """

    title: str
    rows: tuple[Row, ...]
    other_name: str = ""
    printed_name: str = "printed"

    @property
    def reasons(self) -> tuple[str, ...]:
        """The reasons of explained rows, each once."""
        return tuple(dict.fromkeys(row.reason for row in self.rows if row.verdict == "explained"))


@dataclass(frozen=True)
class Figure:
    """A figure of the paper as a PNG file."""

    title: str
    path: Path
    caption: str


@dataclass(frozen=True)
class Report:
    """A paper computed again. notes: what a reader has to know, one paragraph each. seconds: time it took."""

    key: str
    title: str
    source: str
    tables: tuple[Table, ...]
    figures: tuple[Figure, ...]
    notes: tuple[str, ...] = field(default=())
    seconds: float = 0.0

    @property
    def failures(self) -> tuple[Row, ...]:
        """Rows that differ from the print without a reason."""
        return tuple(row for table in self.tables for row in table.rows if row.verdict == "differs")

    def count(self, verdict: str) -> int:
        """Number of rows with a verdict."""
        return sum(row.verdict == verdict for table in self.tables for row in table.rows)
