"""Operations of example 3's inverse dynamics with a2 = a4 = 0: original, tree and closed-loop minimum parameters.

The shortest program that code generation finds is counted: additions, multiplications, cosines and sines. Work on
constants alone is free. Its arguments are the driven joints'; the others follow:

    θ3 = θ2' - θ2 - π,  θ3' = θ2 - θ2'                                 closure
    τ_2 = τ_o2 - τ_o3 + τ_o3',   τ_2' = τ_o3 + τ_o2' - τ_o3'           τ_c = (Sᵀ)^-1 Jᵀ τ_o, (10), (11)

Every counted program is run at random states against the constrained inverse dynamics of the library.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np

from setsu.code_generation.closed_mechanism import actuated_rates, full_state, linear_drives, minimum_inertias
from setsu.constraints import constrained_inverse_dynamics
from setsu.mechanism import Mechanism
from setsu.minimum_parameters import minimum_parameters
from setsu.native.inverse_dynamics_program import Program, inverse_dynamics_program
from setsu.native.linear_coordinates import Drives, tree_drives
from setsu.reproduce.kawasaki1995.luh import numeric_count, symbolic_count
from setsu.sample_mechanisms import iiwa, panda_arm, puma560, rx90, six_joint_parallelogram_arm, stanford_arm, ur10
from setsu.symbolic import OperationCount, evaluate

__all__ = ["DRIVES", "SERIAL_ARMS", "Counted", "Totals", "count_operations", "dense_totals", "with_dense_inertias"]

DRIVES = ("joint1", "joint2", "joint2p", "joint4", "joint5", "joint6")


SERIAL_ARMS = {
    "PUMA 560": puma560,
    "RX-90": rx90,
    "Stanford arm": stanford_arm,
    "UR10": ur10,
    "Panda": panda_arm,
    "LBR iiwa": iiwa,
}


@dataclass(frozen=True)
class Counted:
    """A counted program: its parameters, its operations, its largest relative error against the library.

    numeric, symbolic: operations of the recursion the paper counts (luh.py), on numbers and on symbols.
    """

    parameters: str
    operations: OperationCount
    error: float
    numeric: OperationCount
    symbolic: OperationCount


@dataclass(frozen=True)
class Totals:
    """Operations of the shortest program of an arm: with the inertias of the sample, and with dense random ones."""

    arm: str
    sample: int
    dense: int


def count_operations(a2: float = 0.0, a4: float = 0.0) -> tuple[Counted, ...]:
    """Return the counts with original parameters, with σ_o and with σ; lengths in m."""
    arm = six_joint_parallelogram_arm(a2=a2, a4=a4, named=False)
    tree = dataclasses.replace(arm, loops=())
    sigma_o, sigma = minimum_parameters(tree), minimum_parameters(arm)
    drives = linear_drives(arm, sigma.reference, actuated_rates(arm, DRIVES))
    assert drives is not None
    sets = {
        "original": arm.tables.true,
        "σ_o": minimum_inertias(arm, sigma_o),
        "σ": minimum_inertias(arm, sigma),
    }
    counted = []
    for name, inertias in sets.items():
        program = inverse_dynamics_program(arm.tables, inertias, drives)
        luh = (arm.tables, inertias, drives, arm.gravity)
        counted.append(
            Counted(
                name,
                program.graph.count(program.torques),
                _error(arm, drives, program),
                numeric_count(*luh),
                symbolic_count(*luh),
            )
        )
    return tuple(counted)


def dense_totals() -> tuple[Totals, ...]:
    """Count with inertias without a zero or two equal entries beside those of the sample: example 3 and serial arms."""
    samples = {
        "example 3, a2 = a4 = 0": six_joint_parallelogram_arm(a2=0.0, a4=0.0, named=False),
        "example 3, a2, a4 ≠ 0": six_joint_parallelogram_arm(a2=0.15, a4=0.05, named=False),
        **{name: make() for name, make in SERIAL_ARMS.items()},
    }
    return tuple(Totals(name, _total(arm), _total(with_dense_inertias(arm))) for name, arm in samples.items())


def _total(arm: Mechanism) -> int:
    if not arm.loops:
        return inverse_dynamics_program(arm.tables, arm.tables.regrouped, tree_drives(arm.tables)).operations.total
    sigma = minimum_parameters(arm)
    drives = linear_drives(arm, sigma.reference, actuated_rates(arm, DRIVES))
    assert drives is not None
    program = inverse_dynamics_program(arm.tables, minimum_inertias(arm, sigma), drives)
    return program.operations.total


def with_dense_inertias(arm: Mechanism) -> Mechanism:
    """Return the arm with links of any shape: every mass, centre and inertia different, none zero."""
    rng = np.random.default_rng(1)
    bodies = []
    for body in arm.bodies:
        points, masses = rng.uniform(-0.2, 0.2, (8, 3)), rng.uniform(0.1, 0.5, 8)
        mass = float(masses.sum())
        center = masses @ points / mass
        away = points - center
        inertia = np.einsum("k,kij->ij", masses, (away**2).sum(axis=1)[:, None, None] * np.eye(3)
                            - away[:, :, None] * away[:, None, :])  # fmt: skip
        six = tuple(inertia[[0, 0, 0, 1, 1, 2], [0, 1, 2, 1, 2, 2]].tolist())
        bodies.append(dataclasses.replace(body, mass=mass, center_of_mass=tuple(center.tolist()), inertia=six))
    return dataclasses.replace(arm, bodies=tuple(bodies))


def _error(arm: Mechanism, drives: Drives, program: Program) -> float:
    rng = np.random.default_rng(0)
    index = [arm.joint_names.index(name) for name in DRIVES]
    worst = 0.0
    for _ in range(5):
        free = rng.standard_normal((3, 6))
        q, v, a = full_state(arm, drives, *free)
        torque = constrained_inverse_dynamics(arm, q, v, a, actuated=list(DRIVES)).torque
        values = {(kind, k): row[k] for kind, row in zip("qva", free, strict=True) for k in range(6)}
        got = np.array(evaluate(program.graph, program.torques, values))
        worst = max(worst, float(np.abs(got - torque[index]).max() / np.abs(torque).max()))
    return worst
