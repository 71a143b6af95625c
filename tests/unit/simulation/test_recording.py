"""Recordings: what they hold, files that give back every bit, figures with labelled axes."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

import setsu
from setsu.sample_mechanisms import four_bar, planar_arm


@pytest.fixture(scope="module")
def recording() -> setsu.Recording:
    """A four-bar with a loop, a contact far below it, damping, and an event."""
    m = four_bar()
    v0 = setsu.consistent_velocity(m, m.neutral(), [1.0, 0.0, 0.0], fixed=["crank"])
    below = setsu.SurfaceContact("rocker", (0.0, 0, 0), setsu.Plane((0, 0, 1), -3.0), name="floor")
    events = [setsu.OpenLoop(0.05, "pin")]
    return setsu.simulate(m, m.neutral(), v0, 0.1, 0.01, torque=[0.1, 0.0, 0.0], contacts=[below], events=events)


def test_shapes_and_names(recording: setsu.Recording) -> None:
    assert recording.time == pytest.approx(0.01 * np.arange(11))
    assert recording.q.shape == recording.v.shape == recording.torque.shape == (11, 3)
    assert recording.joint_wrenches.shape == (11, 3, 6)
    assert recording.normal_force.shape == (11, 1)
    assert recording.friction_force.shape == recording.contact_force.shape == (11, 1, 3)
    assert recording.loop_wrench.shape == (11, 1, 6)
    assert recording.contact_names == ("floor",)
    assert recording.loop_names == ("pin",)
    assert [event.kind for event in recording.events] == ["open"]
    assert "11 states" in repr(recording)
    assert str(recording.events[0]) == "t = 0.05 s: open pin"


def test_the_last_state_is_kept_and_the_last_step_shortened() -> None:
    run = setsu.simulate(planar_arm(2), [0, 0], [0, 0], 0.105, 0.01, record_every=4)
    assert run.time == pytest.approx([0.0, 0.04, 0.08, 0.105])
    whole = setsu.simulate(planar_arm(2), [0, 0], [0, 0], 0.1 * 3, 0.1)
    assert len(whole) == 4


def test_the_ledger_closes_at_every_instant(recording: setsu.Recording) -> None:
    assert np.abs(recording.ledger.total - (recording.energy - recording.energy[0])).max() < 1e-14
    assert np.abs(recording.ledger.integration).max() < 1e-6
    assert recording.ledger.actuators[-1] == pytest.approx(0.1 * (recording.q[-1, 0] - recording.q[0, 0]), rel=1e-6)


@pytest.mark.parametrize("name", ["run.npz", "run.nc"])
def test_files_give_back_every_bit(recording: setsu.Recording, tmp_path: Path, name: str) -> None:
    again = setsu.Recording.load(recording.save(tmp_path / name))
    for entry in fields(recording):
        first, second = getattr(recording, entry.name), getattr(again, entry.name)
        if isinstance(first, np.ndarray):
            assert np.array_equal(first, second), entry.name
        elif entry.name == "ledger":
            assert all(np.array_equal(getattr(first, e.name), getattr(second, e.name)) for e in fields(first))
        elif entry.name == "events":
            assert [str(event) for event in first] == [str(event) for event in second]
            assert np.array_equal(first[0].velocity_jump, second[0].velocity_jump)
        else:
            assert first == second, entry.name


def test_files_give_back_every_kind_of_surface(tmp_path: Path) -> None:
    surfaces = [
        setsu.Plane((1, 2, 6), -9.0),
        setsu.Sphere((0, 0, -9.0), 0.5),
        setsu.Cylinder((0, 0, -9.0), (1, 2, 3), 0.5),
        setsu.ImplicitSurface("z - x**2 + 9"),
    ]
    contacts = [
        setsu.SurfaceContact("link2", (0.5, 0, 0), surface, friction=0.1, name=f"s{k}")
        for k, surface in enumerate(surfaces)
    ]
    run = setsu.simulate(planar_arm(2), [0, 0], [0, 0], 0.02, 0.01, contacts=contacts)
    assert setsu.Recording.load(run.save(tmp_path / "run.npz")).surface_contacts == tuple(contacts)


def test_the_data_set_has_named_axes_and_units(recording: setsu.Recording) -> None:
    data = recording.to_xarray()
    assert data["joint_wrenches"].dims == ("time", "body", "wrench")
    assert data["q"].attrs["units"] == "rad or m"
    assert list(data["velocity"].values) == ["crank", "coupler", "rocker"]
    assert float(data["q"].sel(coordinate="crank").isel(time=5)) == recording.q[5, 0]


def test_bad_files_are_refused(recording: setsu.Recording, tmp_path: Path) -> None:
    with pytest.raises(setsu.InputError, match=r"ends in \.npz, \.nc or \.mcap"):
        recording.save(tmp_path / "run.csv")
    with pytest.raises(setsu.InputError, match="there is no file"):
        setsu.Recording.load(tmp_path / "none.npz")
    with pytest.raises(setsu.InputError, match="cannot write"):
        recording.save(tmp_path / "nowhere" / "run.npz")
    (tmp_path / "bad.npz").write_bytes(b"not a zip file")
    with pytest.raises(setsu.InputError, match="is no recording"):
        setsu.Recording.load(tmp_path / "bad.npz")
    np.savez(tmp_path / "other.npz", header=np.array("{}"))
    with pytest.raises(setsu.InputError, match="is no recording"):
        setsu.Recording.load(tmp_path / "other.npz")


@pytest.mark.parametrize(
    ("quantity", "label", "curves"),
    [
        ("q", "q (rad or m)", 3),
        ("joint_wrenches", "joint wrenches (N, N m)", 18),
        ("normal_force", "normal force (N)", 1),
        ("energy", "energy (J)", 1),
        ("ledger", "ledger (J)", 7),
    ],
)
def test_figures_name_their_axes(recording: setsu.Recording, quantity: str, label: str, curves: int) -> None:
    (axes,) = recording.plot(quantity).axes
    assert axes.get_xlabel() == "time (s)"
    assert axes.get_ylabel() == label
    assert len(axes.get_lines()) == curves


def test_an_unknown_quantity_is_refused(recording: setsu.Recording) -> None:
    with pytest.raises(setsu.InputError, match="unknown quantity 'normal_forces'"):
        recording.plot("normal_forces")


def test_progress_is_told() -> None:
    told: list[float] = []
    setsu.simulate(planar_arm(2), [0, 0], [0, 0], 0.1, 0.01, progress=lambda text, part: told.append(part))
    assert told[-1] == 1.0
    assert told == sorted(told)
