"""The member-length matrix [L]: how the structure of a mechanism turns nodal forces into joint torques.

| symbol | meaning | unit | frame |
|---|---|---|---|
| P_j | [f_j, n_j, Q_a, Q_b, ...]: force of link j at its centroid, moment, its children's forces | N, N m | world |
| c_j, d_c | joint to centroid; joint to the joint of child c, at coordinate 0 | m | link j |
| a_d, b_d | angular and linear axis of velocity d | - | world |
| e_k, s_c(q) | unit axes of link j; how far the joint of child c has slid | -, m | link j |
| L_j | [ [c_j]x  1  [d_a]x  [d_b]x ... ] of link j | m | link j |

    tau_d = b_d · (f_i + Σ_c Q_c) + Σ_{j carried by i} a_d · R_j L_j R_jᵀ P_j, i the link d moves  (1)  (2), (4)-(6)
          = [L]_d [T(q)] P                                                                              (2)

[L] has a row for every velocity and holds lengths and ones only: for each link j carried, c_j against the rows of [T]
that give the moment about a_d of f_j at unit arms along e_k, 1 against that of n_j, and d_c, 1 likewise for each
child and its slide; for a sliding joint 1 against the force along it. In the plane all rows share one axis and blocks
repeat, as printed in (4)-(6): upper triangular for a chain, one triangle per chain where chains close at passive
joints, extra rows where a branch leaves. All three are one rule, "link j is carried by joint i", which the tree of
the mechanism answers: no equation is written anew when the structure changes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setsu.dynamics.catalogue import fast_function, require_mechanism
from setsu.dynamics.parameters import inertial_parameters
from setsu.mechanism import Mechanism
from setsu.spatial import finite_vector, skew

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["MemberLengthMatrix", "carried_bodies", "member_length_matrix", "parent_bodies"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class _Entry:
    """One column of [L]: its row, its length or 1, and which moment or force stands against it in [T].

    kind: "along" (force on the sliding joint), "arm" (moment of a force at a unit arm along axis k of the link),
    "moment", "slide" (moment of a child's force at how far its joint has slid).
    """

    row: int
    value: float
    kind: str
    link: int
    columns: slice
    axis: int = 0
    child: int = -1


@dataclass(frozen=True)
class MemberLengthMatrix:
    """[L] of a mechanism.

    names: of the links. carried: (n, n), entry (i, j) says whether joint i carries link j. blocks: L_j of each link,
    (3, 6 + 3 children), m. children: indices of each link's children, in the order of its block.
    """

    mechanism: Mechanism
    names: tuple[str, ...]
    carried: NDArray[np.bool_]
    blocks: tuple[Floats, ...]
    children: tuple[tuple[int, ...], ...]

    @property
    def spans(self) -> tuple[slice, ...]:
        """Where P_j stands in P, for each link: force, moment, forces of its children, three numbers each."""
        ends = np.cumsum([0, *(block.shape[1] for block in self.blocks)])
        return tuple(slice(int(a), int(b)) for a, b in pairwise(ends))

    @property
    def matrix(self) -> Floats:
        """The whole matrix (nv, columns): lengths (m) and ones."""
        made = np.zeros((self.mechanism.nv, len(self._entries)))
        for column, entry in enumerate(self._entries):
            made[entry.row, column] = entry.value
        return made

    def transformation(self, q: ArrayLike) -> Floats:
        """[T(q)], (columns of L, length of P): moments about joint axes of forces at unit arms, q (nq,)."""
        m = self.mechanism
        place = finite_vector(q, m.nq, "member_length_matrix: q")
        poses, axes = fast_function(m, "body_poses")(place), fast_function(m, "joint_axes")(place)
        R, x = poses[:, :3, :3], poses[:, :3, 3]
        made = np.zeros((len(self._entries), self.spans[-1].stop if self.spans else 0))
        for row, entry in enumerate(self._entries):
            linear, angular = axes[:3, entry.row], axes[3:, entry.row]
            turned = R[entry.link]
            match entry.kind:
                case "along":
                    for start in range(entry.columns.start, entry.columns.stop, 3):
                        made[row, start : start + 3] = linear
                    # The moment of the link stands second.
                    made[row, entry.columns.start + 3 : entry.columns.start + 6] = 0.0
                case "arm":
                    made[row, entry.columns] = np.cross(angular, turned[:, entry.axis])
                case "moment":
                    made[row, entry.columns] = angular
                case _:
                    slid = x[entry.child] - x[entry.link] - turned @ self._attached[entry.child]
                    made[row, entry.columns] = np.cross(angular, slid)
        return made

    @cached_property
    def _attached(self) -> Floats:
        """Places (n, 3) of the links' joints at coordinate 0, in the axes of the parent link."""
        return _joint_places(self.mechanism)

    @cached_property
    def _entries(self) -> tuple[_Entry, ...]:
        m, spans = self.mechanism, self.spans
        axes = fast_function(m, "joint_axes")(m.neutral())
        found = []
        for i in range(m.n_bodies):
            for d in range(m.v_slices[i].start, m.v_slices[i].stop):
                if _has_linear_axis(axes, d):
                    found.append(_Entry(d, 1.0, "along", i, spans[i]))
                if _has_angular_axis(axes, d):
                    for j in np.flatnonzero(self.carried[i]):
                        found += self._of_link(d, int(j), spans[j].start)
        return tuple(found)

    def _of_link(self, d: int, j: int, at: int) -> list[_Entry]:
        """Columns of row d for the forces of link j, whose P starts at `at`."""
        centroid = _unskew(self.blocks[j][:, 0:3])
        found = [_Entry(d, float(centroid[k]), "arm", j, slice(at, at + 3), k) for k in range(3)]
        found.append(_Entry(d, 1.0, "moment", j, slice(at + 3, at + 6)))
        for number, child in enumerate(self.children[j]):
            span = slice(at + 6 + 3 * number, at + 9 + 3 * number)
            arm = _unskew(self.blocks[j][:, 6 + 3 * number : 9 + 3 * number])
            found += [_Entry(d, float(arm[k]), "arm", j, span, k) for k in range(3)]
            if _slides(self.mechanism, child):
                found.append(_Entry(d, 1.0, "slide", j, span, child=child))
        return found

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

    `L.matrix @ L.transformation(q[k]) @ nodal_forces(mechanism, time, q)[k]` is the torque of sample k without
    armature, joint friction and springs.

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
    places = _joint_places(mechanism)
    blocks = []
    for j, own_children in enumerate(children):
        arms = [skew(places[child]) for child in own_children]
        blocks.append(np.hstack([skew(centroids[j]), np.eye(3), *arms]))
    return MemberLengthMatrix(mechanism, mechanism.body_names, carried_bodies(mechanism), tuple(blocks), children)


def _joint_places(m: Mechanism) -> Floats:
    """Where the joint of each link sits on its parent (n, 3), m, in the parent's axes (or the world's)."""
    tables, parents = m.tables, parent_bodies(m)
    places = np.zeros((m.n_bodies, 3))
    for j, parent in enumerate(parents):
        # The first link of a body's joint sits at the joint; its translation is in the axes of the parent's last link.
        first = int(np.flatnonzero(tables.body == j)[0])
        axes = tables.axes[tables.body_link[parent]] if parent >= 0 else np.eye(3)
        places[j] = axes @ tables.translation[first]
    return places


def _slides(m: Mechanism, body: int) -> bool:
    axes = fast_function(m, "joint_axes")(m.neutral())
    span = m.v_slices[body]
    return any(_has_linear_axis(axes, d) for d in range(span.start, span.stop))


def _has_linear_axis(axes: Floats, d: int) -> bool:
    return bool(np.abs(axes[:3, d]).max() > 0.0)


def _has_angular_axis(axes: Floats, d: int) -> bool:
    return bool(np.abs(axes[3:, d]).max() > 0.0)


def _unskew(matrix: Floats) -> Floats:
    return np.array([matrix[2, 1], matrix[0, 2], matrix[1, 0]])


def parent_bodies(mechanism: Mechanism) -> NDArray[np.int64]:
    """Index of the moving body that carries each moving body; -1 for the world."""
    return np.array([mechanism.frame(body.parent).body for body in mechanism.moving], dtype=np.int64)


def carried_bodies(mechanism: Mechanism) -> NDArray[np.bool_]:
    """(n, n): entry (i, j) says whether the joint of body i carries body j."""
    carried = np.eye(mechanism.n_bodies, dtype=bool)
    for j, parent in enumerate(parent_bodies(mechanism)):
        if parent >= 0:
            carried[:, j] |= carried[:, parent]
    return carried
