"""Pairs of bodies that a file says never touch: SRDF, and excludes and masks of MJCF."""

from __future__ import annotations

import itertools
import os
import warnings
from pathlib import Path
from typing import Any

from setsu.errors import ModelFileError, ModelWarning
from setsu.mechanism import WORLD
from setsu.model_files.mjcf_bodies import name_all
from setsu.model_files.mujoco_package import mujoco_package
from setsu.model_files.xml_tree import Element, parse_xml

__all__ = ["excluded_pairs"]

Pairs = tuple[tuple[str, str], ...]


def excluded_pairs(path: str | os.PathLike[str]) -> Pairs:
    """Return the pairs of bodies that a file says never touch, for `exclude=` of runs.

    .srdf: `<disable_collisions link1="a" link2="b"/>`. MJCF: `<contact><exclude>`, and bodies none of whose geoms may
    touch by their contype and conaffinity; where masks let only some geoms of two bodies touch, a ModelWarning names
    them, and they do touch. Names are those of `setsu.load`.

    Raises:
        ModelFileError: a file that cannot be read, or is of another kind.

    >>> import tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "robot.srdf"
    >>> _ = file.write_text('<robot name="r"><disable_collisions link1="a" link2="b" reason="Never"/></robot>')
    >>> excluded_pairs(file)
    (('a', 'b'),)
    """
    name = os.fspath(path)
    try:
        data = Path(name).read_bytes()
    except OSError as error:
        raise ModelFileError(name, [f"{name}: cannot be read: {error.strerror or error}"]) from None
    root = parse_xml(data, name)
    if root.tag == "mujoco":
        return _pairs_of_mjcf(name)
    if root.tag == "robot":
        return _pairs_of_srdf(root, name)
    raise ModelFileError(name, [f"{name}: expected <robot> of an SRDF or <mujoco>, got <{root.tag}>"])


def _pairs_of_srdf(root: Element, path: str) -> Pairs:
    found: dict[tuple[str, str], None] = {}
    for element in root.children:
        if element.tag != "disable_collisions":
            continue
        links = [element.attributes.get(key, "") for key in ("link1", "link2")]
        if not all(links):
            raise ModelFileError(path, [f"{path}:{element.line}: disable_collisions: expected link1 and link2"])
        found[links[0], links[1]] = None
    return tuple(found)


def _pairs_of_mjcf(path: str) -> Pairs:
    mujoco = mujoco_package()
    try:
        model = mujoco.MjModel.from_xml_path(os.path.abspath(path))
    except ValueError as error:
        raise ModelFileError(path, [f"{path}: MuJoCo cannot compile the model: {str(error)[:500]}"]) from None
    names = name_all(model).bodies
    found: dict[tuple[str, str], None] = {}
    for signature in model.exclude_signature.tolist():
        first, second = signature >> 16, signature & 0xFFFF
        found[names[first], names[second]] = None
    some = []
    for a, b in itertools.combinations(range(1, model.nbody), 2):
        touching = _touching(model, a, b)
        if touching and not any(touching):
            found[names[a], names[b]] = None
        elif touching and not all(touching):
            some.append(f"{names[a]} and {names[b]}")
    ground = [pair for pair in found if WORLD in pair]
    if ground or some:
        whole = [f"{' and '.join(pair)} (the world's shapes touch every body)" for pair in ground]
        more = [f"{pair} (masks let some of their geoms touch)" for pair in some]
        warnings.warn(f"{path}: not excluded: {'; '.join((whole + more)[:10])}", ModelWarning, stacklevel=3)
    return tuple(pair for pair in found if WORLD not in pair)


def _touching(model: Any, a: int, b: int) -> list[bool]:
    """Whether each pair of geoms of two bodies may touch by its masks; geoms that touch nothing do not count."""
    sides = [
        [
            geom
            for geom in range(int(model.body_geomadr[body]), int(model.body_geomadr[body] + model.body_geomnum[body]))
            if model.geom_contype[geom] or model.geom_conaffinity[geom]
        ]
        for body in (a, b)
    ]
    types, affinities = model.geom_contype, model.geom_conaffinity
    return [bool((types[i] & affinities[j]) or (types[j] & affinities[i])) for i in sides[0] for j in sides[1]]
