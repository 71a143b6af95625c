"""Repairing a URDF changes the impossible inertias and nothing else."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np

from setsu.command_line.urdf_repair import ENTRIES, write_repaired_urdf
from setsu.mechanism import inertia_report

ARM = Path(__file__).resolve().parents[3] / "examples" / "models" / "arm.urdf"


def elements(path: Path) -> list[tuple[str, dict[str, str]]]:
    return [(element.tag, dict(element.attrib)) for element in ElementTree.parse(path).getroot().iter()]


def test_only_the_named_inertias_change(tmp_path: Path) -> None:
    thin, repaired = tmp_path / "thin.urdf", tmp_path / "repaired.urdf"
    thin.write_text(ARM.read_text().replace('izz="0.0041"', 'izz="0.41"'))
    write_repaired_urdf(thin, repaired, {"forearm"})
    changed = [(old, new) for old, new in zip(elements(thin), elements(repaired), strict=True) if old != new]
    ((_, (tag, values)),) = changed
    assert tag == "inertia"
    matrix = np.zeros((3, 3))
    for key, row, column in ENTRIES:
        matrix[row, column] = matrix[column, row] = float(values[key])
    assert inertia_report(1.0, (0, 0, 0), matrix).valid
    assert "made up for the examples" in repaired.read_text(), "comments stay"
