"""Concave collision meshes: named in a warning when their hull is taken, in parts by `with_convex_parts`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import setsu
from setsu.contact.mesh_hulls import mesh_hull
from setsu.contact.mesh_parts import hull_excess

# A channel of 0.3 x 0.2 x 0.2 m, open upwards; its hull fills the channel.
_OUTLINE = 0.1 * np.array([(0, 0), (3, 0), (3, 2), (2.8, 2), (2.8, 0.2), (0.2, 0.2), (0.2, 2), (0, 2)])
_CAP = [(0, 1, 4), (0, 4, 5), (1, 2, 3), (1, 3, 4), (0, 5, 7), (5, 6, 7)]


def _channel(folder: Path, *, open_end: bool = False) -> setsu.Shape:
    n = len(_OUTLINE)
    # x along the outline's first axis, z up.
    corners = [(x, y, z) for y in (0.0, 0.2) for x, z in _OUTLINE]
    faces = list(_CAP) + ([] if open_end else [(c + n, b + n, a + n) for a, b, c in _CAP])
    for k in range(n):
        j = (k + 1) % n
        faces += [(j, k, j + n), (j + n, k, k + n)]
    text = "".join(f"v {x} {y} {z}\n" for x, y, z in corners)
    path = folder / ("open.obj" if open_end else "channel.obj")
    path.write_text(text + "".join(f"f {a + 1} {b + 1} {c + 1}\n" for a, b, c in faces))
    return setsu.Shape("mesh", (1.0, 1.0, 1.0), mesh=str(path))


def _ball_in(shape: setsu.Shape) -> setsu.Mechanism:
    b = setsu.MechanismBuilder("scene")
    b.add_body("channel", joint=setsu.Free(name="a"), mass=2.0, inertia=0.02 * np.eye(3),
               center_of_mass=(0.15, 0.1, 0.05), collisions=[shape])  # fmt: skip
    b.add_body("ball", joint=setsu.Free(name="b"), mass=0.1, inertia=1e-5 * np.eye(3),
               collisions=[setsu.Shape("sphere", (0.03,))])  # fmt: skip
    return b.build()


def test_the_hull_of_a_concave_mesh_is_named(tmp_path: Path) -> None:
    shape = _channel(tmp_path)
    # not rounding: the file holds single precision. Hull 0.012 m³; channel 0.3 x 0.02 + 2 x 0.02 x 0.18 m² times 0.2 m.
    assert hull_excess(shape, "channel") == pytest.approx(0.012 / (0.2 * (0.006 + 0.0072)) - 1.0, rel=1e-6)
    assert hull_excess(_channel(tmp_path, open_end=True), "channel") == 0.0
    m = _ball_in(shape)
    q = m.neutral()
    q[7:10] = 0.15, 0.1, 0.25
    with pytest.warns(setsu.ModelWarning, match=r"hulls of concave meshes: channel \(4.5 times the mesh\)"):
        setsu.simulate(m, q, np.zeros(m.nv), 1e-3, 1e-3, environment=setsu.Environment.floor(), body_contacts=True)


def test_a_ball_falls_into_the_parts_of_a_channel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SETSU_CACHE_DIR", str(tmp_path / "cache"))
    shape = _channel(tmp_path)
    m = setsu.with_convex_parts(_ball_in(shape))
    parts = m.bodies[0].collisions
    assert len(parts) >= 3
    files = {Path(part.mesh): Path(part.mesh).stat().st_mtime_ns for part in parts}
    for part in parts:
        assert hull_excess(part, "channel") < 0.05
    corners = np.concatenate([mesh_hull(part, "channel")[0] for part in parts])
    np.testing.assert_allclose([corners.min(axis=0), corners.max(axis=0)], [(0, 0, 0), (0.3, 0.2, 0.2)], atol=1e-3)
    # The ball comes to rest on the bottom, 20 mm thick; the hull would hold it at the rim.
    q = m.neutral()
    q[7:10] = 0.15, 0.1, 0.06
    rec = setsu.simulate(m, q, np.zeros(m.nv), 0.3, 1e-3, environment=setsu.Environment.floor(), body_contacts=True)
    assert rec.q[-1, 9] == pytest.approx(0.05, abs=1e-3)  # CoACD's parts are exact to some 0.1 mm
    # The second time nothing is made.
    assert setsu.with_convex_parts(_ball_in(shape)) == m
    assert all(path.stat().st_mtime_ns == made for path, made in files.items())


def test_convex_and_other_shapes_stay(tmp_path: Path) -> None:
    m = _ball_in(setsu.Shape("box", (0.1, 0.1, 0.1)))
    assert setsu.with_convex_parts(m) == m
    m = _ball_in(_channel(tmp_path))
    assert setsu.with_convex_parts(m, bodies=["ball"]) == m


@pytest.mark.parametrize(("options", "said"), [({"threshold": 0.0}, "threshold"), ({"bodies": ["no"]}, "no")])
def test_bad_arguments(options: dict, said: str) -> None:
    with pytest.raises(setsu.InputError, match=said):
        setsu.with_convex_parts(setsu.sample_mechanisms.pendulum(), **options)
