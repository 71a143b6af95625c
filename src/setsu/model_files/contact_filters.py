"""Pairs of bodies that a file says never touch: SRDF, and excludes and masks of MJCF."""

from __future__ import annotations

import itertools
import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from setsu.errors import ModelFileError, ModelWarning
from setsu.mechanism import WORLD
from setsu.mechanism.builder import MechanismBuilder
from setsu.mechanism.record import Mechanism
from setsu.model_files.mjcf_bodies import MjcfNames, name_all
from setsu.model_files.mjcf_lines import Lines
from setsu.model_files.mujoco_package import mujoco_package
from setsu.model_files.reading import Reading
from setsu.model_files.xml_tree import Element, parse_xml

__all__ = ["add_excludes", "excluded_pairs", "srdf_beside", "with_srdf"]

MAX_NAMES = 5
Pairs = tuple[tuple[str, str], ...]


def excluded_pairs(path: str | os.PathLike[str]) -> Pairs:
    """Return the pairs of bodies that a file says never touch, for `exclude=` of runs of another model.

    `setsu.load` uses them by itself, where they are in its file or in an SRDF beside it.

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
    root = _parsed(name)
    if root.tag == "mujoco":
        return _pairs_of_mjcf(name)
    if root.tag == "robot":
        return _pairs_of_srdf(root, name)
    raise ModelFileError(name, [f"{name}: expected <robot> of an SRDF or <mujoco>, got <{root.tag}>"])


def srdf_beside(path: str) -> str | None:
    """Return the SRDF of a model file: NAME.srdf beside NAME.urdf, or in a folder srdf beside its folder."""
    folder, name = os.path.split(os.path.splitext(path)[0])
    places = (folder, os.path.join(folder, os.pardir, "srdf"))
    candidates = (os.path.normpath(os.path.join(place, f"{name}.srdf")) for place in places)
    return next((found for found in candidates if os.path.isfile(found)), None)


def with_srdf(mechanism: Mechanism, path: str) -> tuple[Mechanism, tuple[str, ...]]:
    """Return the mechanism with the pairs of an SRDF that never touch, and the links it names that do not exist."""
    root = _parsed(path)
    if root.tag != "robot":
        raise ModelFileError(path, [f"{path}:{root.line}: expected <robot> of an SRDF, got <{root.tag[:40]}>"])
    known, unknown = mechanism.bodies_by_name, dict[str, None]()
    builder = MechanismBuilder.of(mechanism)
    for pair in _pairs_of_srdf(root, path):
        unknown |= dict.fromkeys(name for name in pair if name not in known and name != WORLD)
        if all(name in known for name in pair) and pair[0] != pair[1]:
            builder.exclude_contact(*pair)
    return builder.build(), tuple(unknown)


def add_excludes(builder: MechanismBuilder, model: Any, names: MjcfNames, lines: Lines, reading: Reading) -> None:
    """Add every <exclude> of a compiled MJCF.

    Those with the world, and pairs that touch against their masks, are reported. Masks of geoms are data of the
    collision shapes.
    """
    apart = set()
    for first, second in _signatures(model):
        pair = names.bodies[first], names.bodies[second]
        apart.add(frozenset((first, second)))
        if WORLD in pair:
            what = f'contact/exclude: "{pair[0]}" and "{pair[1]}": bodies touch every ground of an environment'
            reading.notes.doubt(_at(lines.first("exclude"), what))
        elif first != second:
            builder.exclude_contact(*pair)
    kept_apart: dict[str, None] = {}
    of_pairs: dict[str, None] = {}
    for index in range(model.npair):
        geoms = int(model.pair_geom1[index]), int(model.pair_geom2[index])
        bodies = [int(model.geom_bodyid[geom]) for geom in geoms]
        first, second = (names.bodies[body] for body in bodies)
        if not (_masks_meet(model, *geoms) and frozenset(bodies) not in apart) and 0 not in bodies:
            kept_apart[f'"{first}" and "{second}"'] = None
        elif not _rubs_as_its_geoms(model, index, *geoms):
            of_pairs[f'"{first}" and "{second}"'] = None
    for found, what in (
        (kept_apart, "bodies that touch in the file, against their masks or an exclude, and not here"),
        (of_pairs, "friction or condim of the pair is not used, shapes rub by their own materials"),
    ):
        if found:
            more = f"; and {len(found) - MAX_NAMES} more" if len(found) > MAX_NAMES else ""
            some = "; ".join(list(found)[:MAX_NAMES])
            reading.notes.lose(f"contact/pair: {what}: {some}{more}", lines.first("pair"))


def _rubs_as_its_geoms(model: Any, pair: int, first: int, second: int) -> bool:
    """Whether a pair's friction and condim are those its geoms would have without it."""
    priority = model.geom_priority[[first, second]].tolist()
    judges = [first, second] if priority[0] == priority[1] else [first if priority[0] > priority[1] else second]
    slide, turn, roll = model.geom_friction[judges].max(axis=0)
    same = np.allclose(model.pair_friction[pair], [slide, slide, turn, roll, roll], rtol=1e-9)
    return bool(same) and int(model.pair_dim[pair]) == int(model.geom_condim[judges].max())


def _at(line: int, what: str) -> str:
    return f"line {line}: {what}" if line else what


def _parsed(path: str) -> Element:
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise ModelFileError(path, [f"{path}: cannot be read: {error.strerror or error}"]) from None
    return parse_xml(data, path)


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
    for first, second in _signatures(model):
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


def _signatures(model: Any) -> list[tuple[int, int]]:
    """Numbers of the bodies of every <exclude>."""
    return [(int(signature) >> 16, int(signature) & 0xFFFF) for signature in model.exclude_signature]


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
    return [_masks_meet(model, i, j) for i in sides[0] for j in sides[1]]


def _masks_meet(model: Any, i: int, j: int) -> bool:
    types, affinities = model.geom_contype, model.geom_conaffinity
    return bool((types[i] & affinities[j]) or (types[j] & affinities[i]))
