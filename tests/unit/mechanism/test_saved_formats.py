"""`save` as URDF and MJCF over every sample and test file: the same dynamics come back, or what is lost is named."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import numpy as np
import pinocchio
import pytest

import setsu
from setsu import sample_mechanisms as samples
from setsu.mechanism.reductions import without_dissipation, without_joint_extras

DATA = Path(__file__).parents[2] / "data"
FILES = sorted(path.name for path in DATA.iterdir() if path.suffix in (".urdf", ".xml", ".toml"))
SAME = 1e-12


def subject(name: str) -> setsu.Mechanism:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", setsu.ModelWarning)
        if name in FILES:
            return setsu.load(DATA / name)
        make = getattr(samples, name)
        return make(7) if name in ("chain", "binary_tree", "random_tree") else make()


def carried(old: setsu.Mechanism, new: setsu.Mechanism, rows: np.ndarray, kind: str) -> np.ndarray:
    """Coordinates (kind "q") or velocities ("v") by joint name; MJCF has a joint `name[k]` per axis."""
    slices = {"q": (old.q_slices, new.q_slices), "v": (old.v_slices, new.v_slices)}[kind]
    result = np.zeros((len(rows), new.nq if kind == "q" else new.nv))
    for k, name in enumerate(new.joint_names):
        axis = re.fullmatch(r"(.*)\[(\d)\]", name)
        if name in old.joint_names:
            source = slices[0][old.joint_index(name)]
        else:
            assert axis, f"{name} is not in {old.joint_names}"
            start = slices[0][old.joint_index(axis[1])].start + int(axis[2])
            source = slice(start, start + 1)
        result[:, slices[1][k]] = rows[:, source]
    return result


def saved(m: setsu.Mechanism, path: Path) -> tuple[str, str]:
    """Save; what the warnings call lost, and why it was refused."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            m.save(path)
        except setsu.InputError as refusal:
            return "", str(refusal)
    texts = [str(warning.message) for warning in caught if issubclass(warning.category, setsu.ModelWarning)]
    return " ".join(texts), ""


@pytest.mark.parametrize("ending", ["urdf", "xml"])
@pytest.mark.parametrize("name", [*samples.__all__, *FILES])
def test_dynamics_come_back(name: str, ending: str, tmp_path: Path) -> None:
    m, path = subject(name), tmp_path / f"saved.{ending}"
    lost, refused = saved(m, path)
    if refused:
        assert re.search(r'joint ".+"|body ".+"', refused), refused
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", setsu.ModelWarning)
        back = setsu.load(path, gravity=m.gravity, snap_angles=False)
    assert back.nv == m.nv
    rng = np.random.default_rng(0)
    q = np.array([m.random_configuration(rng) for _ in range(3)])
    v, a = rng.standard_normal((2, 3, m.nv))
    there = carried(m, back, q, "q"), carried(m, back, v, "v"), carried(m, back, a, "v")

    def assert_same(one: setsu.Mechanism, other: setsu.Mechanism) -> None:
        ours = carried(m, back, setsu.inverse_dynamics(one, q, v, a), "v")
        theirs = setsu.inverse_dynamics(other, *there)
        assert np.abs(ours - theirs).max(initial=0.0) <= SAME * max(1.0, np.abs(ours).max(initial=0.0)), lost

    # Mass and geometry always; the rest unless the save said that the format cannot hold it.
    if "placement of free joint" not in lost:
        assert_same(without_joint_extras(m), without_joint_extras(back))
        if not re.search(r"spring|tendon|gravity compensation|fluid|friction|drive|bearing", lost):
            assert_same(m, back)
            assert_same(without_dissipation(m), without_dissipation(back))
    if m.loops and "loop" not in lost.replace("friction, drive or spring of loop", ""):
        closed = setsu.close_loops(m, m.reference_configuration())
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", setsu.ModelWarning)
            error = setsu.loop_error(back, carried(m, back, closed[None], "q")[0])
        assert np.abs(error).max() < 1e-11
    assert len(m.loops) <= len(back.loops) or "loop" in lost
    for coupling in m.couplings:
        assert coupling.name in lost or len(back.couplings) >= len(m.couplings)


def test_an_ellipsoid_is_kept_or_named(tmp_path: Path) -> None:
    """MJCF has them, URDF has not."""
    b = setsu.MechanismBuilder("egg")
    egg = setsu.Shape("ellipsoid", (0.1, 0.2, 0.3))
    b.add_body("egg", joint=setsu.Free("egg"), mass=1.0, inertia=np.eye(3) * 0.01, collisions=[egg])
    m = b.build()
    assert not saved(m, tmp_path / "egg.xml")[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", setsu.ModelWarning)
        back = setsu.load(tmp_path / "egg.xml")
    (shape,) = back.moving[0].collisions
    assert (shape.kind, shape.size) == ("ellipsoid", (0.1, 0.2, 0.3))
    assert 'collision ellipsoid of body "egg"' in saved(m, tmp_path / "egg.urdf")[0]
    assert "ellipsoid" not in (tmp_path / "egg.urdf").read_text()


INF = float("inf")


@pytest.mark.parametrize("ends", [(-INF, INF), (-1.0, INF), (-INF, 2.0), (-1.0, 2.0)], ids=str)
@pytest.mark.parametrize("effort", [10.0, INF])
@pytest.mark.parametrize("speed", [3.0, INF])
@pytest.mark.parametrize("kind", [setsu.Revolute, setsu.Prismatic])
def test_limits_come_back_and_other_readers_take_them(
    kind: type[setsu.Joint], ends: tuple[float, float], effort: float, speed: float, tmp_path: Path
) -> None:
    """urdfdom, behind Pinocchio and ROS, refuses <limit> without effort and velocity and takes absent ends for 0."""
    b = setsu.MechanismBuilder("slide")
    options = {"lower": ends[0], "upper": ends[1], "effort_limit": effort, "velocity_limit": speed}
    b.add_body("a", joint=kind((1, 0, 0), "j", **options), mass=1.0, inertia=np.eye(3))  # type: ignore[call-arg]
    m = b.build()
    for ending in ("urdf", "xml"):
        path = tmp_path / f"slide.{ending}"
        saved(m, path)
        back = setsu.load(path)
        for name in ("lower", "upper", "effort_limit", *(["velocity_limit"] if ending == "urdf" else [])):
            assert getattr(back.moving[0].joint, name) == getattr(m.moving[0].joint, name), (ending, name)
    model = pinocchio.buildModelFromUrdf(str(tmp_path / "slide.urdf"))
    assert model.nv == 1
    if kind is setsu.Prismatic:
        assert model.lowerPositionLimit[0] == max(ends[0], -1e30)
        assert model.upperPositionLimit[0] == min(ends[1], 1e30)


@pytest.mark.parametrize("name", [" a", "a ", " ", "a\tb", "a\nb", "a\x00b", "a b", "a/b", '"a"', "<a>", "é"])
@pytest.mark.parametrize("ending", ["urdf", "xml", "toml"])
def test_names_come_back_or_are_refused_when_saved(name: str, ending: str, tmp_path: Path) -> None:
    b = setsu.MechanismBuilder("named")
    b.add_body(name, joint=setsu.Revolute((0, 0, 1), f"{name}j"), mass=1.0, inertia=np.eye(3))
    m = b.build()
    lost, refusal = saved(m, tmp_path / f"named.{ending}")
    if refusal:
        assert ending != "toml"
        assert not name.isprintable() or name != name.strip()
        return
    back = setsu.load(tmp_path / f"named.{ending}")
    assert (back.body_names, back.joint_names, lost) == (m.body_names, m.joint_names, "")
