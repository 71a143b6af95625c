"""Model files: URDF, MJCF, the native text format and Denavit-Hartenberg tables into mechanisms."""

from setsu.model_files.load import load, load_with_report
from setsu.model_files.report import Actuator, Ignored, LoadReport

__all__ = ["Actuator", "Ignored", "LoadReport", "load", "load_with_report"]
