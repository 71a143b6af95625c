"""Model files: URDF, MJCF, the native text format and Denavit-Hartenberg tables into mechanisms."""

from setsu.model_files.contact_filters import excluded_pairs
from setsu.model_files.dh import DHRow, from_dh
from setsu.model_files.load import load, load_with_report
from setsu.model_files.report import Actuator, Ignored, LoadReport

__all__ = ["Actuator", "DHRow", "Ignored", "LoadReport", "excluded_pairs", "from_dh", "load", "load_with_report"]
