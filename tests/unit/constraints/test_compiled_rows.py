"""Rows along the paths of loops equal those of many states, and both are rates of what they hold, for every joint."""

from __future__ import annotations

import numpy as np
import pytest

import setsu
from setsu.constraints.compiled_rows import fill_rows
from setsu.constraints.row_tables import bound_kernels, row_state, row_tables
from setsu.constraints.system import constraint_system
from setsu.native.control_flow import jit
from setsu.native.workspace import Workspace


@jit
def _fill(tables, state, kernels):
    return fill_rows(tables, state, kernels)


def _zoo() -> setsu.Mechanism:
    """All joint types in a branched mechanism, and a loop by each of those that can close one."""
    rng = np.random.default_rng(0)

    def anywhere() -> np.ndarray:
        return setsu.placement(translation=rng.normal(size=3), rpy=rng.normal(size=3))

    b = setsu.MechanismBuilder("zoo")
    joints = [
        setsu.Revolute((0, 0, 1), name="a"),
        setsu.Spherical(name="b"),
        setsu.Prismatic((1, 0, 0), name="c"),
        setsu.Universal((1, 0, 0), second_axis=(0, 1, 0), name="d"),
        setsu.Free(name="e"),
        setsu.Cylindrical((0, 1, 0), name="f"),
        setsu.Planar((0, 0, 1), name="g"),
        setsu.Helical((0, 0, 1), pitch=0.1, name="h"),
    ]
    parents = ["world", "l0", "l1", "l0", "world", "l4", "l4", "world"]
    for k, (joint, parent) in enumerate(zip(joints, parents, strict=True)):
        b.add_body(f"l{k}", parent=parent, joint=joint, placement=anywhere(), mass=1.0, inertia=np.eye(3))
    closings = [
        ("l2", "l3", setsu.Revolute((0, 0, 1))),
        ("world", "l6", setsu.Spherical()),
        ("l3", "l7", setsu.Prismatic((1, 2, 0))),
        ("l5", "l2", setsu.Universal((1, 0, 0), second_axis=(0, 1, 0.3))),
        ("l6", "l1", setsu.Fixed()),
        ("l7", "l4", setsu.Cylindrical((0, 1, 1))),
        ("l2", "l5", setsu.Planar((0, 1, 1))),
        ("l1", "l2", setsu.Helical((0, 1, 1), pitch=0.05)),
    ]
    for k, (a, c, joint) in enumerate(closings):
        b.add_loop(f"loop{k}", body_a=a, body_b=c, joint=joint, placement_a=anywhere(), placement_b=anywhere())
    b.add_coupling("gear", {"a": 1.0, "c": -3.0}, offset=0.2)
    return b.build()


@pytest.mark.parametrize("seed", range(4))
def test_rows_along_paths_equal_those_of_many_states(seed: int) -> None:
    m = _zoo()
    point = (0.1, 0.2, 0.3)
    contacts = [
        setsu.SurfaceContact("l2", point, setsu.Plane((0, 1, 1), 0.2)),
        setsu.SurfaceContact("l3", point, setsu.Sphere((0, 1, 1), 0.2)),
        setsu.SurfaceContact("l6", point, setsu.Cylinder((0, 1, 1), (1, 2, 3), 0.2)),
        setsu.SurfaceContact("l7", point, setsu.ImplicitSurface("z - x**2 - sin(y)*x")),
    ]
    system = constraint_system(m, contacts)
    tables, state = row_tables(system), row_state(system)
    tables.place[:] = np.arange(system.n_held)  # redundant rows too
    kernels, kept = bound_kernels(system, state)
    q, v = m.random_configuration(seed), np.random.default_rng(seed).normal(size=m.nv)
    state.q[:], state.v[:] = q, v
    assert _fill(Workspace(tables), Workspace(state), Workspace(kernels)) == -1
    rows = system.linearise(q, v)
    pairs = {
        "jacobian": (state.G, rows.jacobian),
        "velocity term": (state.gamma, rows.velocity_term),
        "error": (state.error, rows.error),
        "wrench": (state.wrench, rows.loop_wrench),
        "free jacobian": (state.free, rows.free_jacobian),
        "free wrench": (state.free_wrench, rows.free_wrench),
        "free rate": (state.free_rate, rows.motion.free_rate),
        "free velocity term": (state.free_gamma, rows.motion.free_velocity_term),
        "free coordinate": (state.free_coordinate, rows.loop_poses.coordinate),
        "contact jacobian": (state.contact_jacobian, rows.contact_jacobian),
        "contact velocity term": (state.contact_gamma, rows.contact_velocity_term),
        "normal": (state.contact_normal, rows.normal),
    }
    for name, (compiled_rows, vectorised) in pairs.items():
        scale = 1.0 + np.abs(vectorised).max()
        np.testing.assert_allclose(compiled_rows, vectorised, atol=1e-13 * scale, err_msg=name)
    assert kept


@pytest.mark.parametrize("seed", range(4))
def test_velocity_terms_are_rates_of_the_rows(seed: int) -> None:
    """γ = (dG/dt) v along q(t) with constant velocity; fourth-order differences."""
    m = _zoo()
    system, h = constraint_system(m), 1e-3
    q, v = m.random_configuration(seed), np.random.default_rng(seed).normal(size=m.nv)
    moved = np.array([setsu.integrate(m, q, v, h * k) for k in (-2, -1, 1, 2)])
    near, here = system.linearise(moved, np.tile(v, (4, 1))), system.linearise(q, v)
    differences = np.array([1.0, -8.0, 8.0, -1.0]) / (12.0 * h) @ (near.jacobian @ v)
    # Truncation: h⁴ times fifth derivatives, which grow with the rates to the sixth power.
    scale = 1.0 + np.abs(here.velocity_term).max()
    np.testing.assert_allclose(differences, here.velocity_term, atol=1e-6 * scale)
    rates = (here.jacobian @ v)[: system.n_loop_rows]
    np.testing.assert_allclose(here.motion.rate, rates, atol=1e-13 * (1.0 + np.abs(rates).max()))
