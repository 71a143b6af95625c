"""Operations of example 3's inverse dynamics with a2 = a4 = 0: original, tree and closed-loop minimum parameters.

Newton-Euler in link frames is run on symbols, which removes zeros and shares equal expressions; what is left is
counted: additions, multiplications, cosines and sines. Work on constants alone is free. The drives' torques follow
from those of the tree:

    θ2' = θ2 + θ3 + π,  θ3' = -θ3 - π                                  closure
    τ_2 = τ_o2 - τ_o3 + τ_o3',   τ_2' = τ_o3 + τ_o2' - τ_o3'           τ_c = (Sᵀ)^-1 Jᵀ τ_o, (10), (11)

Every counted program is run at a random state against the constrained inverse dynamics of the library.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np

from setsu.constraints import constrained_inverse_dynamics
from setsu.kernels.interpreter import run
from setsu.kernels.newton_euler_link import inverse_dynamics_link
from setsu.mechanism import Mechanism
from setsu.mechanism.tables import Inertias, regroup
from setsu.minimum_parameters import MinimumParameters, minimum_parameters
from setsu.sample_mechanisms import six_joint_parallelogram_arm
from setsu.symbolic import Graph, OperationCount, evaluate
from setsu.symbolic.exact_numbers import Angle

__all__ = ["DRIVES", "Counted", "count_operations"]

DRIVES = ("joint1", "joint2", "joint2p", "joint4", "joint5", "joint6")


@dataclass(frozen=True)
class Counted:
    """A counted program: its parameters, its operations, its largest relative error against the library."""

    parameters: str
    operations: OperationCount
    error: float


def count_operations() -> tuple[Counted, ...]:
    """Return the counts with original parameters, with σ_o and with σ."""
    arm = six_joint_parallelogram_arm(a2=0.0, a4=0.0, named=False)
    tree = dataclasses.replace(arm, loops=())
    sigma_o, sigma = minimum_parameters(tree), minimum_parameters(arm)
    true = arm.tables.true
    return (
        _count(arm, "original", true),
        _count(arm, "σ_o", _inertias(arm, sigma_o)),
        _count(arm, "σ", _inertias(arm, sigma)),
    )


def _inertias(arm: Mechanism, found: MinimumParameters) -> Inertias:
    """The minimum parameters as inertias of the links, with second moments along the axes passed on."""
    full = found.full_parameters().reshape(-1, 10)
    xx, xy, yy, xz, yz, zz = full[:, 4:].T
    half = 0.5 * (xx + yy + zz)
    second = np.stack([half - xx, -xy, -xz, half - yy, -yz, half - zz], axis=1)
    t = arm.tables
    passed = regroup(Inertias(full[:, 0], full[:, 1:4], second), t.kind, t.parent, t.rotation, t.translation)
    # What lies on link 1's axis moves nothing when that axis is vertical; rounding is no parameter.
    clean = [np.where(np.abs(part) < 1e-12, 0.0, part) for part in (passed.mass, passed.moment, passed.second_moment)]
    return Inertias(*clean)


def _count(arm: Mechanism, name: str, inertias: Inertias) -> Counted:
    graph = Graph()
    joints = ("1", "2", "3", "4", "5", "6")
    angle = {k: Angle(*graph.input(f"q{k}").cos_sin(), graph.input(f"q{k}")) for k in joints}
    rate: dict[str, Any] = {k: graph.input(f"v{k}") for k in joints}
    acceleration: dict[str, Any] = {k: graph.input(f"a{k}") for k in joints}
    both = angle["2"] + angle["3"]
    # A half turn changes the signs of cosine and sine.
    angle["2p"] = Angle(-both.cosine, -both.sine, both.value)
    angle["3p"] = Angle(-angle["3"].cosine, angle["3"].sine, -angle["3"].value)
    for values in (rate, acceleration):
        values["2p"], values["3p"] = values["2"] + values["3"], -values["3"]
    order = [body.removeprefix("link") for body in arm.body_names]
    inputs = {"q": [angle[k] for k in order], "v": [rate[k] for k in order], "a": [acceleration[k] for k in order]}
    constants = {
        "mass": inertias.mass.tolist(),
        "moment": [tuple(row) for row in inertias.moment.tolist()],
        "second_moment": [tuple(row) for row in inertias.second_moment.tolist()],
    }
    tree = run(inverse_dynamics_link(straight=True), arm.tables, inputs, constants=constants)["tau"]
    o = dict(zip(order, tree, strict=True))
    drives = [o["1"], o["2"] - o["3"] + o["3p"], o["3"] + o["2p"] - o["3p"], o["4"], o["5"], o["6"]]
    return Counted(name, graph.count(drives), _error(arm, graph, drives))


def _error(arm: Mechanism, graph: Graph, drives: list[Any]) -> float:
    rng = np.random.default_rng(0)
    worst = 0.0
    for _ in range(5):
        free = rng.standard_normal((3, 6))
        states = []
        for row, offset in zip(free, (np.pi, 0.0, 0.0), strict=True):
            states.append(np.array([*row, row[1] + row[2] + offset, -row[2] - offset]))
        q, v, a = states
        torque = constrained_inverse_dynamics(arm, q, v, a, actuated=list(DRIVES)).torque
        index = [arm.joint_names.index(name) for name in DRIVES]
        values = {f"{kind}{k + 1}": row[k] for kind, row in zip("qva", free, strict=True) for k in range(6)}
        got = np.array(evaluate(graph, drives, values))
        worst = max(worst, float(np.abs(got - torque[index]).max() / np.abs(torque).max()))
    return worst
