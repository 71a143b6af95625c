"""Chains and binary trees of any size, for measuring how cost grows with the number of joints."""

from __future__ import annotations

from setsu.errors import InputError
from setsu.mechanism import Mechanism, MechanismBuilder, Revolute
from setsu.sample_mechanisms.solid_inertias import cylinder_inertia
from setsu.spatial import placement

__all__ = ["binary_tree", "chain"]

_LENGTH, _RADIUS, _MASS = 0.1, 0.02, 0.2
_AXES = ((0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (1.0, 0.0, 0.0))


def chain(n: int) -> Mechanism:
    """Return n cylinders of 0.1 m and 0.2 kg in series, on revolute joints about y, z, x in turn.

    >>> chain(10).nv
    10
    """
    return _tree(f"chain of {n}", n, [index - 1 for index in range(n)])


def binary_tree(n: int) -> Mechanism:
    """Return n cylinders of 0.1 m and 0.2 kg in a full binary tree, on revolute joints about y, z, x in turn.

    >>> [body.parent for body in binary_tree(4).bodies]
    ['world', 'link1', 'link1', 'link2']
    """
    return _tree(f"binary tree of {n}", n, [(index - 1) // 2 if index else -1 for index in range(n)])


def _tree(name: str, n: int, parents: list[int]) -> Mechanism:
    if n < 1:
        raise InputError(f"{name}: expected at least 1 link, got {n}")
    builder = MechanismBuilder(name)
    inertia = cylinder_inertia(_MASS, _RADIUS, _LENGTH, axis=0)
    occupied: set[int] = set()
    for index, parent in enumerate(parents):
        # The first child sits at the end of its parent, the second at its middle.
        along = 0.0 if parent < 0 else 0.5 * _LENGTH if parent in occupied else _LENGTH
        occupied.add(parent)
        builder.add_body(
            f"link{index + 1}",
            "world" if parent < 0 else f"link{parent + 1}",
            Revolute(_AXES[index % 3], f"joint{index + 1}"),
            placement=placement((along, 0, 0)),
            mass=_MASS,
            center_of_mass=(0.5 * _LENGTH, 0, 0),
            inertia=inertia,
        )
    return builder.build()
