"""Xacro files: expanded by whichever of the packages xacro and xacrodoc is installed."""

from __future__ import annotations

from setsu.errors import ModelFileError

__all__ = ["expanded"]


def expanded(path: str) -> bytes:
    """Return the URDF that a .xacro file expands to; ModelFileError when no package can do it or the file is bad."""
    try:
        from xacrodoc import XacroDoc
    except ImportError:
        XacroDoc = None
    try:
        if XacroDoc is not None:
            return XacroDoc.from_file(path, resolve_packages=False).to_urdf_string().encode()
        import xacro
    except ImportError:
        raise ModelFileError(
            path,
            [
                f'{path}: expanding xacro needs the package xacrodoc or xacro: pip install "setsu[xacro]"; or run '
                "`xacro file.xacro > file.urdf` and load that"
            ],
        ) from None
    except Exception as error:  # whatever the expansion finds wrong
        raise ModelFileError(path, [f"{path}: xacro cannot expand it: {' '.join(str(error).split())[:300]}"]) from None
    try:
        return xacro.process_file(path).toxml().encode()
    except Exception as error:
        raise ModelFileError(path, [f"{path}: xacro cannot expand it: {' '.join(str(error).split())[:300]}"]) from None
