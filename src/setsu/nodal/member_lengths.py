"""The member-length matrix [L]: how the structure of a link system turns nodal forces into joint moments.

| symbol | meaning | frame |
|---|---|---|
| L_j | [ [c_j]x  1  [d_a]x  [d_b]x ... ] of link j: joint to centroid, moment, joint to each child's joint | body j |
| [L] | block (i, j) is L_j where link j is carried by joint i, else 0 | |

    serial chain: upper triangular                                            (1)  isobe2003 (4)
    chains closed at passive joints: one such block per chain                 (2)  (5)
    a branch: its columns stand in the rows of all joints that carry it too   (3)  (6)

All three are one rule, "link j is carried by joint i", which the tree of the mechanism answers: no equation is written
anew when the structure changes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from setsu.dynamics.catalogue import require_mechanism
from setsu.dynamics.parameters import inertial_parameters
from setsu.mechanism import Mechanism
from setsu.spatial import skew

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["MemberLengthMatrix", "carried_bodies", "member_length_matrix", "parent_bodies"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class MemberLengthMatrix:
    """[L] of a mechanism at coordinate 0 of its sliding joints.

    names: of the links. carried: (n, n), entry (i, j) tells whether joint i carries link j. blocks: L_j of each link,
    (3, 6 + 3 children), m. children: indices of each link's children, in the order of its block.
    """

    names: tuple[str, ...]
    carried: NDArray[np.bool_]
    blocks: tuple[Floats, ...]
    children: tuple[tuple[int, ...], ...]

    @property
    def matrix(self) -> Floats:
        """The whole matrix (3 n, all columns); moments come out in the axes of the link that makes them."""
        rows = [
            np.hstack(
                [block if carried else np.zeros_like(block) for block, carried in zip(self.blocks, row, strict=True)]
            )
            for row in self.carried
        ]
        return np.vstack(rows)

    def __str__(self) -> str:
        width = len(f"L{len(self.names)}")
        lines = [
            " ".join((f"L{j + 1}" if carried else ".").rjust(width) for j, carried in enumerate(row))
            for row in self.carried
        ]
        return "\n".join(lines)

    def plot(self) -> Figure:
        """Draw the pattern of blocks as a figure of its own."""
        from matplotlib.figure import Figure

        size = 0.5 * len(self.names)
        figure = Figure(figsize=(size + 2.5, size + 2.0), layout="constrained")
        self.draw(figure.add_subplot())
        return figure

    def draw(self, axes: Any) -> None:
        """Draw the pattern into matplotlib axes: a named square for each link that a joint carries."""
        count = len(self.names)
        axes.imshow(self.carried, cmap="Blues", vmin=0, vmax=1.8)
        for i, j in zip(*np.nonzero(self.carried), strict=True):
            axes.text(j, i, f"L{j + 1}", ha="center", va="center", fontsize="small" if count < 20 else 5)
        for k in range(1, count):
            axes.axhline(k - 0.5, color="white", linewidth=1.0)
            axes.axvline(k - 0.5, color="white", linewidth=1.0)
        axes.set_xticks(range(count), self.names, rotation=45, ha="right", fontsize="small")
        axes.set_yticks(range(count), self.names, fontsize="small")
        axes.set_xlabel("force of link")
        axes.set_ylabel("acts in the joint of link")


def member_length_matrix(mechanism: Mechanism) -> MemberLengthMatrix:
    """Return the member-length matrix; `print` shows its block picture, `.plot()` draws it.

    >>> import setsu
    >>> print(setsu.member_length_matrix(setsu.sample_mechanisms.planar_arm(3)))
    L1 L2 L3
     . L2 L3
     .  . L3
    """
    require_mechanism(mechanism, "member_length_matrix")
    parents = parent_bodies(mechanism)
    children = tuple(tuple(np.flatnonzero(parents == j).tolist()) for j in range(mechanism.n_bodies))
    masses = inertial_parameters(mechanism).reshape(-1, 10)
    centroids = masses[:, 1:4] / np.where(masses[:, :1] == 0.0, 1.0, masses[:, :1])
    tables = mechanism.tables
    # The first link of a body's joint sits at the joint; its translation is in the axes of the parent's last link.
    first = [int(np.flatnonzero(tables.body == j)[0]) for j in range(mechanism.n_bodies)]
    blocks = []
    for j, own_children in enumerate(children):
        axes = tables.axes[tables.body_link[j]]
        arms = [skew(axes @ tables.translation[first[child]]) for child in own_children]
        blocks.append(np.hstack([skew(centroids[j]), np.eye(3), *arms]))
    return MemberLengthMatrix(mechanism.body_names, carried_bodies(mechanism), tuple(blocks), children)


def parent_bodies(mechanism: Mechanism) -> NDArray[np.int64]:
    """Index of the moving body that carries each moving body; -1 for the world."""
    return np.array([mechanism.frame(body.parent).body for body in mechanism.moving], dtype=np.int64)


def carried_bodies(mechanism: Mechanism) -> NDArray[np.bool_]:
    """(n, n): entry (i, j) tells whether the joint of body i carries body j."""
    carried = np.eye(mechanism.n_bodies, dtype=bool)
    for j, parent in enumerate(parent_bodies(mechanism)):
        if parent >= 0:
            carried[:, j] |= carried[:, parent]
    return carried
