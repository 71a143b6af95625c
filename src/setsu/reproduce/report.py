"""What a reproduction consists of: tables of expected and computed values, figures, and reasons of deviations."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from setsu.errors import InputError

__all__ = [
    "VERDICTS",
    "Deviation",
    "Expected",
    "Figure",
    "Report",
    "Row",
    "Table",
    "at_least",
    "at_most",
    "equal",
    "printed",
]

VERDICTS = ("agrees", "given", "explained", "unexplained", "differs")
"""agrees: the relation holds. given: it holds for a value the computation was fed with. explained, unexplained: it does
not, by no more than a stated deviation whose cause is known, or is not. differs: none of these; a failure."""

# A value that sits on a bound counts as within it whatever the last bit of the subtraction says.
_ON_THE_BOUND = 1.0 + 1e-9


@dataclass(frozen=True)
class Expected:
    """What a computed value is held against.

    relation: "=", "<=" or ">=". tolerance: largest |difference| that counts as equal; inequalities have none.
    """

    relation: str
    value: float
    tolerance: float = 0.0

    def __post_init__(self) -> None:
        if self.relation not in ("=", "<=", ">="):
            raise InputError(f'report: expected the relation "=", "<=" or ">=", got {self.relation!r}')
        if self.tolerance < 0.0 or (self.tolerance and self.relation != "="):
            raise InputError(f"report: a tolerance of {self.tolerance} cannot stand beside {self.relation!r}")

    def holds(self, computed: float) -> bool:
        """Whether a computed value keeps the relation; NaN keeps none."""
        if self.relation == "<=":
            return computed <= self.value
        if self.relation == ">=":
            return computed >= self.value
        return abs(computed - self.value) <= self.tolerance * _ON_THE_BOUND

    def __str__(self) -> str:
        if self.relation != "=":
            return f"{'≤' if self.relation == '<=' else '≥'} {self.value:.6g}"
        return f"= {self.value:.6g}" + (f" ± {self.tolerance:.2g}" if self.tolerance else "")


def equal(value: float, tolerance: float = 0.0) -> Expected:
    """Return `= value ± tolerance`."""
    return Expected("=", float(value), float(tolerance))


def at_most(value: float) -> Expected:
    """Return `≤ value`."""
    return Expected("<=", float(value))


def at_least(value: float) -> Expected:
    """Return `≥ value`."""
    return Expected(">=", float(value))


def printed(text: str) -> Expected:
    """Return a number as printed, with half a unit of its last digit as tolerance.

    >>> str(printed("-0.120"))
    '= -0.12 ± 0.0005'
    """
    decimals = len(text.partition(".")[2])
    return Expected("=", float(text), 0.5 * 10.0**-decimals)


@dataclass(frozen=True)
class Deviation:
    """A known deviation: what is known of its cause, and how far it may go.

    limit: largest |difference| it covers. explained: whether the cause is known; otherwise the row stays an open
    question, shown as such.
    """

    reason: str
    limit: float
    explained: bool = True


@dataclass(frozen=True)
class Row:
    """One expected value beside the computed one.

    expected: None where a value is only shown, measured or listed, and nothing is claimed of it. deviation: what is
    known of a difference beyond the tolerance. others: values of further models, for comparison only. given: the
    computation is fed with this value, so that agreement shows the set-up and no result.
    """

    quantity: str
    unit: str
    expected: Expected | None
    computed: float
    deviation: Deviation | None = None
    others: tuple[float | None, ...] = ()
    given: bool = False

    @property
    def difference(self) -> float | None:
        """Computed minus expected; for an inequality, minus its bound."""
        return None if self.expected is None else self.computed - self.expected.value

    @property
    def verdict(self) -> str:
        """One of VERDICTS, or nothing where nothing is expected."""
        if self.expected is None or self.difference is None:
            return ""
        if self.expected.holds(self.computed):
            return "given" if self.given else "agrees"
        known = self.deviation
        if known is None or not abs(self.difference) <= known.limit * _ON_THE_BOUND:
            return "differs"
        return "explained" if known.explained else "unexplained"

    @property
    def reason(self) -> str:
        """The reason of a deviation that is known; else empty."""
        known = self.verdict in ("explained", "unexplained")
        return self.deviation.reason if known and self.deviation is not None else ""


@dataclass(frozen=True)
class Table:
    """A table of the paper, or numbers of its text.

    other_names: headings of the columns of further models. expected_name: heading of the values held against;
    "printed" only where the paper prints them.
    """

    title: str
    rows: tuple[Row, ...]
    other_names: tuple[str, ...] = ()
    expected_name: str = "printed"

    @property
    def heads(self) -> tuple[str, ...]:
        """Headings of all columns but the verdict's; without those of expectations where there are none."""
        if not self.judged:
            return ("quantity", "unit", "computed", *self.other_names)
        return ("quantity", "unit", self.expected_name, "computed", "difference", *self.other_names)

    @property
    def judged(self) -> bool:
        """Whether anything is expected of any row."""
        return any(row.expected is not None for row in self.rows)

    def cells(self, row: Row) -> tuple[str, ...]:
        """A row as text under these headings."""
        expected = "" if row.expected is None else str(row.expected)
        difference = "" if row.difference is None else f"{row.difference:+.1e}"
        return (
            row.quantity,
            row.unit,
            *((expected, f"{row.computed:.6g}", difference) if self.judged else (f"{row.computed:.6g}",)),
            *("" if other is None else f"{other:.6g}" for other in row.others),
            *("" for _ in self.other_names[len(row.others) :]),
        )

    @property
    def reasons(self) -> tuple[tuple[str, str], ...]:
        """Verdict and reason of the rows that deviate, each once."""
        return tuple(dict.fromkeys((row.verdict, row.reason) for row in self.rows if row.reason))


@dataclass(frozen=True)
class Figure:
    """A figure as a PNG file, and its curves, markers and labels as a CSV file."""

    title: str
    path: Path
    caption: str
    data: Path


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
        """Rows whose relation does not hold and whose deviation nobody has stated."""
        return tuple(row for table in self.tables for row in table.rows if row.verdict == "differs")

    def count(self, verdict: str) -> int:
        """Number of rows with a verdict."""
        return sum(row.verdict == verdict for table in self.tables for row in table.rows)
