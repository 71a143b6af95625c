"""Which rows are redundant does not depend on rounded axes, on the first configuration, or on small eccentricities."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest

import setsu
from setsu.constraints.redundancy import redundancy
from setsu.constraints.system import constraint_system
from setsu.mechanism import Mechanism, Pose

SAMPLES = (
    "four_bar", "slider_crank", "five_bar", "parallelogram_arm", "excavator_boom",
    "jansen_leg", "bricard", "delta_robot", "stewart_platform", "spatial_slider_crank",
)  # fmt: skip


def tilted(m: Mechanism, size: float, seed: int) -> Mechanism:
    """Every body's pose turned by a random rotation of `size` rad."""
    rng = np.random.default_rng(seed)

    def turned(pose: Pose) -> Pose:
        axis = rng.standard_normal(3)
        T = np.eye(4)
        x, y, z = size * axis / np.linalg.norm(axis)
        K = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
        T[:3, :3] += np.sin(size) / size * K + (1.0 - np.cos(size)) / size**2 * (K @ K)
        return Pose.of(pose.matrix @ T, "tilted")

    return replace(m, bodies=tuple(replace(body, pose=turned(body.pose)) for body in m.bodies))


def in_line(lengths: tuple[float, ...], end: float) -> Mechanism:
    """Rods in line along x, hinged about z, whose last end is pinned to the world."""
    b = setsu.MechanismBuilder("rods in line", gravity=(0, -9.81, 0))
    parent, at = "world", (0.0, 0.0, 0.0)
    for k, length in enumerate(lengths):
        b.add_body(
            f"r{k}", parent, setsu.Revolute((0, 0, 1), f"j{k}"), placement=setsu.placement(at), mass=1.0,
            center_of_mass=(length / 2, 0, 0), inertia=np.eye(3) * max(length, 0.1) ** 2 / 12,
        )  # fmt: skip
        parent, at = f"r{k}", (length, 0.0, 0.0)
    b.add_loop("pin", parent, "world", setsu.Revolute((0, 0, 1)), setsu.placement(at), setsu.placement((end, 0, 0)))
    return b.build()


@pytest.mark.parametrize("name", SAMPLES)
def test_rounded_axes_change_neither_the_rows_that_are_kept_nor_accelerations_nor_closing(name: str) -> None:
    m = getattr(setsu.sample_mechanisms, name)()
    kept = redundancy(constraint_system(m)).kept
    q = m.neutral()
    v = setsu.consistent_velocity(m, q, np.random.default_rng(1).standard_normal(m.nv))
    a = setsu.constrained_dynamics(m, q, v, np.zeros(m.nv)).acceleration
    scale = 1.0 + np.abs(a).max()
    for k, size in enumerate(10.0 ** np.arange(-12.0, -5.0)):
        other = tilted(m, size, k)
        assert (redundancy(constraint_system(other)).kept == kept).all()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", setsu.ModelWarning)  # the redundant rows are open by about `size`
            closed = setsu.close_loops(other, q)
            near = setsu.consistent_velocity(other, closed, v)
            b = setsu.constrained_dynamics(other, closed, near, np.zeros(m.nv)).acceleration
        assert np.abs(closed - q).max() < 10.0 * size
        assert np.abs(near - v).max() < 100.0 * size * (1.0 + np.abs(v).max())
        assert np.abs(b - a).max() < 1e3 * size * scale


def test_what_redundant_rows_leave_open_is_said() -> None:
    m = tilted(setsu.sample_mechanisms.four_bar(), 1e-6, 0)
    with pytest.warns(setsu.ModelWarning, match="redundant constraints do not fit"):
        setsu.close_loops(m, m.neutral())


@pytest.mark.parametrize("ratio", [1e-1, 1e-2, 1e-3, 1e-4, 1e-5])
def test_a_parallelogram_on_eccentrics_keeps_its_weak_row(ratio: float) -> None:
    m = in_line((ratio, 1.0, ratio), 1.0)
    report = setsu.constraint_report(m, [0.3, -0.3, 0.3 + np.pi])
    assert (report.generic_degrees_of_freedom, report.degrees_of_freedom, report.singular) == (1, 1, False)


@pytest.mark.parametrize(("lengths", "end"), [((1.0, 2.0, 1.0), 2.0), ((1.0, 1.0, 1.0, 1.0), 4.0)])
def test_rods_in_line_are_a_singular_start_of_a_planar_loop(lengths: tuple[float, ...], end: float) -> None:
    m = in_line(lengths, end)
    q = np.zeros(m.nv)
    q[-1] = np.pi if len(lengths) == 3 else 0.0
    report = setsu.constraint_report(m, q)
    assert report.generic_degrees_of_freedom == m.nv - 2
    assert report.degrees_of_freedom == m.nv - 1
    assert report.singular
    assert report.distance_to_singularity < 1e-9
    assert len(report.redundant) == 3


def test_axes_out_of_line_by_more_than_rounding_are_refused_by_name() -> None:
    m = tilted(setsu.sample_mechanisms.four_bar(), 5e-3, 0)
    with pytest.raises(setsu.InputError, match='loops "pin" are stuck: the axes of crank, coupler, rocker'):
        setsu.constrained_dynamics(m, m.neutral(), np.zeros(3), np.zeros(3))


def test_open_loops_are_refused_and_slightly_open_ones_warned_of() -> None:
    m = setsu.sample_mechanisms.four_bar()
    with pytest.raises(setsu.InputError, match='does not satisfy loop "pin"'):
        setsu.constrained_dynamics(m, [0.6, 0.0, 0.0], np.zeros(3), np.zeros(3))
    with pytest.warns(setsu.ModelWarning, match='does not satisfy loop "pin"'):
        setsu.constrained_dynamics(m, [1e-4, 0.0, 0.0], np.zeros(3), np.zeros(3))


def test_rows_of_a_batch_that_closes_loops_do_not_depend_on_their_neighbours() -> None:
    m = setsu.sample_mechanisms.five_bar()
    guesses = np.random.default_rng(0).normal(size=(6, m.nv))
    guesses[3] = guesses[0]
    together = setsu.close_loops(m, guesses)
    np.testing.assert_array_equal(together[3], together[0])
    for guess, row in zip(guesses, together, strict=True):
        np.testing.assert_array_equal(setsu.close_loops(m, guess), row)


def test_polynomial_couplings_are_judged_by_their_slopes() -> None:
    """y = x² and y = 2 x - x² meet in points only: both hold, though factors and coefficients have equal sizes."""
    b = setsu.MechanismBuilder("cams")
    for name in "xyz":
        b.add_body(name, joint=setsu.Prismatic((1, 0, 0), name=name), mass=1.0)
    b.add_coupling("up", ["y", "x"], polynomial=[0.0, 0.0, 1.0])
    b.add_coupling("down", ["y", "x"], polynomial=[0.0, 0.0, -1.0, 0.0, 2.0])
    m = b.build()
    assert setsu.constraint_report(m, np.zeros(3)).redundant == ()
    twice = setsu.add_coupling(m, "again", ["y", "x"], polynomial=[0.0, 0.0, 1.0])
    assert len(setsu.constraint_report(twice, np.zeros(3)).redundant) == 1
