"""Xacro files: expanded by whichever of the packages xacro and xacrodoc is installed."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from setsu.errors import ModelFileError

__all__ = ["expanded"]


def expanded(path: str) -> bytes:
    """Return the URDF that a .xacro file expands to; ModelFileError when no package can do it or the file is bad."""
    xacrodoc, xacro = _package("xacrodoc"), _package("xacro")
    if xacrodoc is None and xacro is None:
        raise ModelFileError(
            path,
            [
                f'{path}: expanding xacro needs the package xacrodoc or xacro: pip install "setsu[xacro]"; or run '
                "`xacro file.xacro > file.urdf` and load that"
            ],
        )
    try:
        if xacrodoc is not None:
            return xacrodoc.XacroDoc.from_file(path, resolve_packages=False).to_urdf_string().encode()
        return xacro.process_file(path).toxml().encode()
    except Exception as error:  # whatever the expansion finds wrong
        raise ModelFileError(path, [f"{path}: xacro cannot expand it: {' '.join(str(error).split())[:300]}"]) from None


def _package(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        return None
