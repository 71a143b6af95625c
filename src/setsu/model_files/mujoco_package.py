"""The optional package mujoco, imported when an MJCF file is read and not before."""

from __future__ import annotations

import importlib
from typing import Any

from setsu.errors import InputError

__all__ = ["mujoco_package"]


def mujoco_package() -> Any:
    """Return the module `mujoco`; InputError that says how to install it when it is missing.

    Its type is left open: the module is a compiled one without complete stubs, and type checks must not need it.
    """
    try:
        return importlib.import_module("mujoco")
    except ImportError:
        raise InputError(
            'reading MJCF needs the package mujoco, which is not installed: pip install "setsu[mjcf]"'
        ) from None
