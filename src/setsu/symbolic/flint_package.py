"""The python-flint package, loaded when exact algebra is first used, with a message that says how to get it."""

from __future__ import annotations

import importlib
from typing import Any

from setsu.errors import InputError

__all__ = ["flint"]


def flint() -> Any:
    """Return the module `flint`; InputError that names the extra to install when it is missing."""
    try:
        return importlib.import_module("flint")
    except ImportError:
        raise InputError(
            'exact algebra needs the package python-flint: pip install "setsu[symbolic]", or ask for exact=False'
        ) from None
