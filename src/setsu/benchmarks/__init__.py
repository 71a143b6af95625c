"""Speed beside other engines: what `setsu bench` runs.

from setsu.benchmarks import measure, tables
study = measure(["panda"], quick=True)
rich.print(tables(study))
"""

from setsu.benchmarks.dynamics import STARTUP, Row, Study, measure
from setsu.benchmarks.goals import Goal, goals
from setsu.benchmarks.loops import LOOPS, LoopStudy, measure_loops
from setsu.benchmarks.loops_report import loop_goals, loop_tables, loops_as_json, write_loop_plots, write_loops_json
from setsu.benchmarks.plots import write_plots
from setsu.benchmarks.ratios import Ratio, ratios
from setsu.benchmarks.report import as_json, tables, write_json
from setsu.benchmarks.subjects import ROBOTS, SERIES

__all__ = [
    "LOOPS",
    "ROBOTS",
    "SERIES",
    "STARTUP",
    "Goal",
    "LoopStudy",
    "Ratio",
    "Row",
    "Study",
    "as_json",
    "goals",
    "loop_goals",
    "loop_tables",
    "loops_as_json",
    "measure",
    "measure_loops",
    "ratios",
    "tables",
    "write_json",
    "write_loop_plots",
    "write_loops_json",
    "write_plots",
]
