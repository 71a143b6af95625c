"""The peers, given our states in their own orders and frames, give back our numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import setsu
from setsu.benchmarks.engines import States, engine_class
from setsu.benchmarks.engines.setsu_engine import Engine as SetsuEngine
from setsu.benchmarks.subjects import Subject, robot, tree


def states_of(urdf: Path, subject: Subject) -> States:
    m = setsu.load(urdf, floating_base=subject.floating_base)
    random = np.random.default_rng(5)
    q = np.array([m.random_configuration(random) for _ in range(16)])
    return States(m.joint_names, subject.floating_base, q, *(random.normal(size=(16, m.nv)) for _ in range(3)))


@pytest.mark.parametrize("peer", ["Pinocchio", "MuJoCo"])
@pytest.mark.parametrize(
    "subject",
    [robot("two_link"), pytest.param(robot("anymal"), marks=pytest.mark.nightly), tree(7)],
    ids=lambda subject: subject.name,
)
def test_peers_agree_with_us(peer: str, subject: Subject, tmp_path: Path) -> None:
    urdf = tmp_path / "robot.urdf"
    urdf.write_text(subject.urdf)
    states = states_of(urdf, subject)
    ours = {(call.quantity, call.variant): call.result() for call in SetsuEngine(urdf, states).calls()}
    for call in engine_class(peer)(urdf, states).calls():
        if call.prepare is not None:
            call.prepare()
        for variant in ("generic", "compiled"):
            expected = ours[call.quantity, variant]
            # Rounding times the condition number of the mass matrix, which stays below 1e5 for these.
            assert np.abs(call.result() - expected).max() < 1e-9 * np.abs(expected).max(), (call.quantity, variant)
