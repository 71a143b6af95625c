"""Write a URDF again with other inertias and everything else as it was."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from xml.dom import minidom

import numpy as np

from setsu.errors import InputError
from setsu.mechanism import repair_inertia

__all__ = ["write_repaired_urdf"]

ENTRIES = (("ixx", 0, 0), ("ixy", 0, 1), ("ixz", 0, 2), ("iyy", 1, 1), ("iyz", 1, 2), ("izz", 2, 2))


def write_repaired_urdf(source: Path, target: Path, links: Collection[str]) -> None:
    """Copy a URDF file that could be read, with the inertias of `links` replaced by the nearest possible ones.

    Comments, shapes and all else stay. The repair does not depend on the axes, so it is done in those of the file.
    """
    # A document of nodes keeps comments before the root element too, where licences stand.
    with minidom.parse(str(source)) as document:
        for link in document.getElementsByTagName("link"):
            if link.getAttribute("name") in links:
                for inertia in link.getElementsByTagName("inertia"):
                    _repair(inertia)
        text = document.toxml(encoding="utf-8")
    try:
        target.write_bytes(text)
    except OSError as problem:
        raise InputError(f"check --repair: cannot write {target} ({problem.strerror})") from None


def _repair(element: minidom.Element) -> None:
    """Replace the six numbers of an <inertia> element."""
    matrix = np.zeros((3, 3))
    for key, row, column in ENTRIES:
        matrix[row, column] = matrix[column, row] = float(element.getAttribute(key) or "0")
    repaired = repair_inertia(1.0, (0.0, 0.0, 0.0), matrix)
    for key, row, column in ENTRIES:
        element.setAttribute(key, repr(float(repaired[row, column])))
