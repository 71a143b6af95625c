"""Speed beside other engines: what `setsu bench` runs.

from setsu.benchmarks import measure, tables
study = measure(["panda"], quick=True)
rich.print(tables(study))
"""

from setsu.benchmarks.dynamics import STARTUP, Row, Study, measure
from setsu.benchmarks.goals import Goal, goals
from setsu.benchmarks.plots import write_plots
from setsu.benchmarks.ratios import Ratio, ratios
from setsu.benchmarks.report import as_json, tables, write_json
from setsu.benchmarks.subjects import ROBOTS, SERIES

__all__ = [
    "ROBOTS",
    "SERIES",
    "STARTUP",
    "Goal",
    "Ratio",
    "Row",
    "Study",
    "as_json",
    "goals",
    "measure",
    "ratios",
    "tables",
    "write_json",
    "write_plots",
]
