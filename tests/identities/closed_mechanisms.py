"""Closed mechanisms as graphs of bodies and joints in the world, to be cut into trees in any way.

A graph is read off a mechanism at a closed configuration; there every joint coordinate counts as zero. A spanning tree
chosen by a seed becomes the tree of a new mechanism, the joints left over become its loops: the same machine, cut
elsewhere.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np

import setsu
from setsu.spatial import inverse_placement


@dataclass(frozen=True)
class Edge:
    """A joint by which body `a` moves body `b`; `frame` is its placement in the world."""

    name: str
    a: str
    b: str
    frame: np.ndarray
    joint: setsu.Joint


@dataclass(frozen=True)
class Graph:
    """Bodies as (mass, center of mass in the world, inertia about it in world axes), and joints."""

    bodies: dict[str, tuple[float, np.ndarray, np.ndarray]]
    edges: list[Edge]
    gravity: tuple[float, float, float]


def graph_of(m: setsu.Mechanism, q: np.ndarray) -> Graph:
    """Read the graph of a mechanism off a closed configuration (revolute, prismatic, spherical, universal joints)."""
    poses = dict(zip(m.body_names, setsu.body_poses(m, q), strict=True)) | {"world": np.eye(4)}
    bodies = {}
    for body in m.moving:
        T = poses[body.name]
        R = T[:3, :3]
        bodies[body.name] = (body.mass, (T @ [*body.center_of_mass, 1.0])[:3], R @ body.inertia_matrix @ R.T)
    edges = []
    for body in m.moving:
        socket = poses[body.parent] @ body.pose.matrix
        edges.append(
            Edge(body.joint.name, body.parent, body.name, poses[body.name], _here(body.joint, socket, poses[body.name]))
        )
    for loop in m.loops:
        A, B = poses[loop.body_a] @ loop.pose_a.matrix, poses[loop.body_b] @ loop.pose_b.matrix
        edges.append(Edge(loop.joint.name, loop.body_a, loop.body_b, B, _here(loop.joint, A, B)))
    return Graph(bodies, edges, m.gravity)


def _here(joint: setsu.Joint, A: np.ndarray, B: np.ndarray) -> setsu.Joint:
    """The joint with its present coordinates as zero: only a universal joint's first axis moves in frame B."""
    if isinstance(joint, setsu.Universal):
        axis = B[:3, :3].T @ A[:3, :3] @ joint.axis
        return dataclasses.replace(joint, axis=axis.tolist())
    return joint


def _reversed(joint: setsu.Joint) -> setsu.Joint:
    """The joint seen from its other side."""
    if isinstance(joint, setsu.Universal):
        return dataclasses.replace(joint, axis=joint.second_axis, second_axis=joint.axis)
    return joint


def cut(graph: Graph, seed: int) -> tuple[setsu.Mechanism, dict[str, tuple[str, bool]]]:
    """A mechanism on a random spanning tree; per joint where its wrench stands: (body or loop, whether reversed)."""
    rng = np.random.default_rng(seed)
    builder = setsu.MechanismBuilder(f"cut {seed}", gravity=graph.gravity)
    frames = {"world": np.eye(4)}
    places: dict[str, tuple[str, bool]] = {}
    while len(frames) <= len(graph.bodies):
        reachable = [edge for edge in graph.edges if (edge.a in frames) != (edge.b in frames)]
        edge = reachable[rng.integers(len(reachable))]
        backwards = edge.b in frames
        parent, child = (edge.b, edge.a) if backwards else (edge.a, edge.b)
        mass, center, inertia = graph.bodies[child]
        R = edge.frame[:3, :3]
        builder.add_body(
            child,
            parent,
            _reversed(edge.joint) if backwards else edge.joint,
            inverse_placement(frames[parent]) @ edge.frame,
            mass,
            R.T @ (center - edge.frame[:3, 3]),
            R.T @ inertia @ R,
        )
        frames[child] = edge.frame
        places[edge.name] = (child, backwards)
    for edge in graph.edges:
        if edge.name not in places:
            # Half of the loops are declared the other way round.
            backwards = bool(rng.integers(2))
            a, b = (edge.b, edge.a) if backwards else (edge.a, edge.b)
            joint = _reversed(edge.joint) if backwards else edge.joint
            builder.add_loop(edge.name, a, b, joint, *(inverse_placement(frames[k]) @ edge.frame for k in (a, b)))
            places[edge.name] = (edge.name, backwards)
    return builder.build(), places


def consistent_velocity(m: setsu.Mechanism, q: np.ndarray, seed: int) -> np.ndarray:
    """A random velocity that the loops and couplings allow."""
    v = np.random.default_rng(seed).standard_normal((*np.shape(q)[:-1], m.nv))
    G = setsu.constraints.constraint_system(m).evaluate(q, v).jacobian
    return v - (np.linalg.pinv(G, rcond=1e-9) @ (G @ v[..., None]))[..., 0]


def same_velocity(
    m: setsu.Mechanism, q: np.ndarray, centers: dict[str, np.ndarray], motion: dict[str, np.ndarray]
) -> np.ndarray:
    """The velocity of m in which its bodies move as given: velocity of each center of mass and angular velocity."""
    poses = setsu.body_poses(m, q)
    rows, right = [], []
    for name, T in zip(m.body_names, poses, strict=True):
        local = T[:3, :3].T @ (centers[name] - T[:3, 3])
        rows.append(setsu.frame_jacobian(m, q, name, local))
        right.append(motion[name])
    return np.linalg.lstsq(np.concatenate(rows), np.concatenate(right), rcond=None)[0]
