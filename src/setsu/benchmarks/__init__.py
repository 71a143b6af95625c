"""Speed beside other engines: what `setsu bench` runs.

from setsu.benchmarks import measure, tables
study = measure(["panda"], quick=True)
rich.print(tables(study))
"""

from setsu.benchmarks.contact import (
    CONTACT,
    ContactStudy,
    contact_as_json,
    contact_tables,
    measure_contact,
    write_contact_json,
    write_contact_plots,
)
from setsu.benchmarks.dynamics import STARTUP, Row, Study, measure
from setsu.benchmarks.goals import Goal, goals
from setsu.benchmarks.inverse_kinematics import (
    INVERSE_KINEMATICS,
    InverseKinematicsStudy,
    inverse_kinematics_as_json,
    inverse_kinematics_tables,
    measure_inverse_kinematics,
    write_inverse_kinematics_json,
)
from setsu.benchmarks.loops import LOOPS, LoopStudy, measure_loops
from setsu.benchmarks.loops_report import loop_goals, loop_tables, loops_as_json, write_loop_plots, write_loops_json
from setsu.benchmarks.nodal import (
    NODAL,
    NodalStudy,
    measure_nodal,
    nodal_as_json,
    nodal_goals,
    nodal_tables,
    write_nodal_json,
    write_nodal_plots,
)
from setsu.benchmarks.plots import write_plots
from setsu.benchmarks.ratios import Ratio, ratios
from setsu.benchmarks.report import as_json, tables, write_json
from setsu.benchmarks.subjects import ROBOTS, SERIES
from setsu.benchmarks.sweeps import SWEEP, SweepStudy, measure_sweep, sweep_as_json, sweep_tables, write_sweep_json

__all__ = [
    "CONTACT",
    "INVERSE_KINEMATICS",
    "LOOPS",
    "NODAL",
    "ROBOTS",
    "SERIES",
    "STARTUP",
    "SWEEP",
    "ContactStudy",
    "Goal",
    "InverseKinematicsStudy",
    "LoopStudy",
    "NodalStudy",
    "Ratio",
    "Row",
    "Study",
    "SweepStudy",
    "as_json",
    "contact_as_json",
    "contact_tables",
    "goals",
    "inverse_kinematics_as_json",
    "inverse_kinematics_tables",
    "loop_goals",
    "loop_tables",
    "loops_as_json",
    "measure",
    "measure_contact",
    "measure_inverse_kinematics",
    "measure_loops",
    "measure_nodal",
    "measure_sweep",
    "nodal_as_json",
    "nodal_goals",
    "nodal_tables",
    "ratios",
    "sweep_as_json",
    "sweep_tables",
    "tables",
    "write_contact_json",
    "write_contact_plots",
    "write_inverse_kinematics_json",
    "write_json",
    "write_loop_plots",
    "write_loops_json",
    "write_nodal_json",
    "write_nodal_plots",
    "write_plots",
    "write_sweep_json",
]
