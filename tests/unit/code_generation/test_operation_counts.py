"""Operations of generated inverse dynamics: numbers that can only fall, each of a program checked on random states.

Arms have all their minimum parameters, none zero by chance (tests/unit/minimum_parameters counts these).
"""

import math
import re
from pathlib import Path

import numpy as np
import pytest

import setsu
from setsu.code_generation.programs import traced_function
from setsu.reproduce.kawasaki1995.operations import (
    SERIAL_ARMS,
    count_operations,
    dense_totals,
    with_dense_inertias,
)
from setsu.sample_mechanisms import iiwa, panda_arm, planar_arm, puma560, rx90, stanford_arm, ur10
from setsu.symbolic import evaluate

RIGHT = math.pi / 2

# The operations reached, on arms whose minimum parameters are all there.
ARMS = {
    "PUMA 560": (480, lambda: of_rows(PUMA)),
    "RX-90": (430, rx90),
    "Stanford": (404, stanford_arm),
    "UR10": (454, ur10),
    "Panda": (579, panda_arm),
    "iiwa": (546, iiwa),
}
# Modified Denavit-Hartenberg rows of a PUMA 560 without the zeros of its measured inertias: alpha, a, d.
PUMA = [(0, 0, 0), (-RIGHT, 0, 0.2435), (0, 0.4318, -0.0934), (RIGHT, -0.0203, 0.4331), (-RIGHT, 0, 0), (RIGHT, 0, 0)]


def of_rows(table: list[tuple[float, float, float]]) -> setsu.Mechanism:
    rng = np.random.default_rng(1)
    rows = [
        setsu.DHRow(
            alpha=alpha,
            a=a,
            theta=0.0,
            d=d,
            mass=float(rng.uniform(0.5, 2.0)),
            center_of_mass=0.1 * rng.standard_normal(3),
            inertia=np.diag([0.05, 0.06, 0.07]),
        )
        for alpha, a, d in table
    ]
    return setsu.from_dh(rows, name="PUMA 560")


def error_against_newton_euler(m: setsu.Mechanism) -> float:
    """Largest error of the program relative to the largest torque, against Newton-Euler in world axes."""
    traced = traced_function(m, "inverse_dynamics", None, None)
    q, v, a = traced.states(50, seed=7)
    values = {
        (name, k): array[:, k] for name, array in zip("qva", (q, v, a), strict=True) for k in range(array.shape[1])
    }
    found = np.stack(evaluate(traced.trace.graph, traced.trace.outputs["tau"], values), axis=1)
    expected = setsu.inverse_dynamics(m, q, v, a, formulation="world")
    return float(np.abs(found - expected).max() / np.abs(expected).max())


@pytest.mark.parametrize("name", ARMS)
def test_arms_with_all_base_parameters(name: str) -> None:
    m = ARMS[name][1]()
    assert setsu.generate(m, "inverse_dynamics").operations.total <= ARMS[name][0]
    assert error_against_newton_euler(m) <= 1e-12


# Operations with dense random inertias, as docs/generated_code.md and the report of kawasaki1995 state them.
DENSE = {
    "example 3, a2 = a4 = 0": 453,
    "example 3, a2, a4 ≠ 0": 496,
    "PUMA 560": 489,
    "RX-90": 430,
    "Stanford arm": 404,
    "UR10": 454,
    "Panda": 579,
    "LBR iiwa": 546,
}


@pytest.mark.nightly
def test_dense_inertias() -> None:
    """The documented table is what is counted, and the programs are the right functions."""
    assert {found.arm: found.dense for found in dense_totals()} == DENSE
    for make in SERIAL_ARMS.values():
        dense = with_dense_inertias(make())
        assert np.abs(setsu.inertial_parameters(dense)).min() > 1e-6
        assert error_against_newton_euler(dense) <= 1e-12
    page = (Path(__file__).parents[3] / "docs" / "generated_code.md").read_text(encoding="utf-8")
    for name, count in DENSE.items():
        assert re.search(rf"^\| {re.escape(name)} \|.*\| {count} \|$", page, re.MULTILINE), name


def test_time_of_the_search_grows_with_the_program() -> None:
    """Hinges in a row: operations and shared nodes grow by as much per hinge; progress is reported."""
    told: list[tuple[str, float]] = []
    totals = [
        setsu.generate(planar_arm(n), "inverse_dynamics", progress=lambda *words: told.append(words)).operations.total
        for n in (50, 100, 150)
    ]
    assert totals[2] - totals[1] == totals[1] - totals[0]
    assert told
    assert all(0.0 <= part <= 1.0 for _, part in told)


def test_arms_with_zeros_of_their_own() -> None:
    assert setsu.generate(puma560(), "inverse_dynamics").operations.total <= 358
    assert setsu.generate(planar_arm(2), "inverse_dynamics").operations.total <= 29


@pytest.mark.parametrize(("lengths", "most"), [((0.0, 0.0), (569, 480, 444)), ((0.15, 0.1), (617, 523, 487))])
def test_example_3_of_the_paper(lengths: tuple[float, float], most: tuple[int, int, int]) -> None:
    """kawasaki1995, Table 2: 2353 numeric with original parameters, 939 symbolic with σ."""
    counted = count_operations(*lengths)
    assert all(entry.error <= 1e-12 for entry in counted)
    assert all(entry.operations.total <= number for entry, number in zip(counted, most, strict=True))


@pytest.mark.thin(4)
@pytest.mark.parametrize("seed", range(12))
def test_any_tree_agrees_with_newton_euler(seed: int) -> None:
    """All joint types, branches, floating bases, friction: the program is the same function."""
    m = setsu.sample_mechanisms.random_tree(
        seed, n_bodies=5, floating_base=seed % 3 == 0, coulomb=seed % 2 == 0, damping=True
    )
    assert error_against_newton_euler(m) <= 1e-12


@pytest.mark.parametrize("axis", [(0.0, 0.0, 1.0), (0.0, 0.0, -1.0)])
def test_parallel_axes_in_either_sense(axis: tuple[float, float, float]) -> None:
    """Turning an axis over changes signs of inputs and torques only."""
    b = setsu.MechanismBuilder("row", gravity=(1.0, -9.0, 2.0))
    b.add_body("one", joint=setsu.Revolute((0, 1, 0)), mass=1.0, center_of_mass=(0.1, 0.2, 0.3))
    for k, sense in enumerate([(0, 0, 1), axis, (0, 0, 1)]):
        where = setsu.placement((0.3, 0.1, 0.05), rpy=(0.0, 0.0, 0.4 * k))
        b.add_body(f"link{k}", ["one", "link0", "link1"][k], setsu.Revolute(sense), where, mass=1.0 + k,
                   center_of_mass=(0.1, 0.05, 0.02), inertia=np.diag([0.01, 0.02, 0.025]))  # fmt: skip
    assert error_against_newton_euler(b.build()) <= 1e-12
