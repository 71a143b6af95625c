"""Where the mesh files a model names are on this computer."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import unquote

__all__ = ["MeshFinder"]


class MeshFinder:
    """Finds mesh files named by `package://name/...`, `file://...`, or a path relative to the model file.

    A package is looked up in `package_dirs` and in the folders of ROS_PACKAGE_PATH (each may hold the package or be
    it), then in the folders above the model file.
    """

    def __init__(self, model_path: str, package_dirs: Sequence[str | os.PathLike[str]] = ()) -> None:
        self.folder = Path(os.path.abspath(model_path)).parent
        environment = [entry for entry in os.environ.get("ROS_PACKAGE_PATH", "").split(os.pathsep) if entry]
        named = [Path(os.path.abspath(entry)) for entry in [*package_dirs, *environment]]
        self.places = [*named, self.folder, *self.folder.parents]

    def find(self, name: str) -> str | None:
        """Return the absolute path of an existing file, or None."""
        for scheme in ("package://", "model://"):
            if name.startswith(scheme):
                package, _, rest = unquote(name.removeprefix(scheme)).partition("/")
                return self._find_in_package(package, rest)
        is_address = name.startswith("file://")
        path = Path(unquote(name.removeprefix("file://"))) if is_address else self.folder / name
        return os.path.normpath(path) if os.path.isfile(path) else None

    def _find_in_package(self, package: str, rest: str) -> str | None:
        for place in self.places:
            for candidate in (place / package / rest, place / rest if place.name == package else None):
                if candidate is not None and os.path.isfile(candidate):
                    return os.path.normpath(candidate)
        return None
