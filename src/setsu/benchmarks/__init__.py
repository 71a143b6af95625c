"""Speed beside other engines: what `setsu bench` runs.

from setsu.benchmarks import measure, tables
study = measure(["panda"], quick=True)
rich.print(tables(study))
"""

from setsu.benchmarks.dynamics import Row, Study, measure
from setsu.benchmarks.plots import write_plots
from setsu.benchmarks.report import Ratio, ratios, tables, write_json
from setsu.benchmarks.subjects import ROBOTS, SERIES

__all__ = ["ROBOTS", "SERIES", "Ratio", "Row", "Study", "measure", "ratios", "tables", "write_json", "write_plots"]
