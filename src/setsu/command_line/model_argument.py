"""Load the model file a command was given."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from setsu.errors import ModelWarning

if TYPE_CHECKING:
    from setsu.mechanism import Mechanism
    from setsu.model_files import LoadReport

__all__ = ["load_model"]


def load_model(
    file: Path, floating_base: bool, packages: tuple[Path, ...], repair: bool = False, *, quiet: bool = False
) -> tuple[Mechanism, LoadReport]:
    """Return the mechanism and the load report; quiet: the command prints the report, which has all warnings."""
    from setsu.model_files import load_with_report

    with warnings.catch_warnings():
        if quiet:
            warnings.simplefilter("ignore", ModelWarning)
        return load_with_report(file, floating_base=floating_base, package_dirs=packages, repair=repair)
