"""Generated code of loops that close by any joint, with drive inertia, friction and springs there: as the library."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

import setsu
from setsu.code_generation.nonlinear_loops import closed_states
from setsu.code_generation.programs import traced_function
from setsu.minimum_parameters.assembly_branch import reference_configuration
from setsu.sample_mechanisms import four_bar, slider_crank, two_joint_parallelogram
from setsu.symbolic import evaluate

FORCES = {"damping": 0.7, "coulomb": 0.4, "stiffness": 3.0, "spring_rest": 0.2, "armature": 0.15}


def with_forces(m: setsu.Mechanism, **forces: float) -> setsu.Mechanism:
    """The mechanism with something acting in the joints that close its loops."""
    loops = tuple(replace(loop, joint=replace(loop.joint, **forces)) for loop in m.loops)
    return replace(m, loops=loops)


def spatial(joint: setsu.Joint) -> setsu.Mechanism:
    """A ring of seven joints whose last body is tied to the world by `joint`."""
    b = setsu.MechanismBuilder(f"ring closed by {type(joint).__name__}", gravity=(1.0, -2.0, -9.0))
    inertia = np.diag([0.02, 0.03, 0.025])
    b.add_body("one", joint=setsu.Revolute((0, 0, 1), damping=0.1), mass=1.0, center_of_mass=(0.1, 0.05, 0.02),
               inertia=inertia)  # fmt: skip
    for k, (name, parent) in enumerate([("two", "one"), ("three", "two_turn")]):
        axis = [(0, 1, 0.3), (1, 0.2, 0)][k]
        where = setsu.placement((0.4, 0.1 * k, 0.2), rpy=(0.3 * k, 0.2, -0.4))
        b.add_body(name, parent, setsu.Revolute(axis), where, mass=0.8, center_of_mass=(0.1, 0.0, 0.1), inertia=inertia)
        where = setsu.placement((0.1, 0.3, 0.1), rpy=(0.5, 0.1, 0.2 * k))
        b.add_body(f"{name}_slide", name, setsu.Prismatic((0.2, 0.1, 1)), where, mass=0.5, inertia=inertia)
        b.add_body(f"{name}_turn", f"{name}_slide", setsu.Revolute((1, 0.5, 0.2)), mass=0.4, inertia=inertia)
    m = b.build()
    last = m.body_names[-1]
    half = setsu.body_poses(m, m.neutral())[-1]
    b.add_loop("ring", "world", last, joint, placement_a=half, placement_b=np.eye(4))
    return b.build()


def agrees(m: setsu.Mechanism, names: list[str]) -> None:
    rates = [m.joint_names.index(name) for name in names]
    states = closed_states(m, reference_configuration(m, None, "test"))(4, 2)
    for function in ("inverse_dynamics", "forward_dynamics"):
        traced = traced_function(m, function, names, None)
        graph, (outputs,) = traced.trace.graph, traced.trace.outputs.values()
        whole = not traced.actuated
        for q, v, x in zip(*states, strict=True):
            if function == "inverse_dynamics":
                given = (q, v, x) if whole else (q[rates], v[rates], x[rates])
                expected = setsu.constrained_inverse_dynamics(m, q, v, x, actuated=names).torque[rates]
            else:
                given = (q, v, x[rates]) if whole else (q[rates], v[rates], x[rates])
                tau = np.zeros(m.nv)
                tau[rates] = x[rates]
                expected = setsu.constrained_dynamics(m, q, v, tau).acceleration
                expected = expected if whole else expected[rates]
            names_of = [name for name, _ in traced.inputs]
            values = {(n, k): x for n, part in zip(names_of, given, strict=True) for k, x in enumerate(part)}
            found = np.array(evaluate(graph, outputs, values))
            # Normal equations square the condition of the loops' rows.
            assert np.abs(found - expected).max() <= 1e-9 * max(1.0, np.abs(expected).max())


@pytest.mark.parametrize(
    ("make", "names"),
    [
        (four_bar, ["crank"]),
        (slider_crank, ["crank"]),
        (lambda: two_joint_parallelogram(vertical=True, named=False), ["joint1p", "joint1"]),
    ],
)
def test_forces_in_loop_joints(make: Callable[[], setsu.Mechanism], names: list[str]) -> None:
    """Constrained inverse and forward dynamics of the library count what acts along the free axes of loop joints."""
    agrees(with_forces(make(), **FORCES), names)


@pytest.mark.thin(2)
@pytest.mark.parametrize(
    "joint",
    [
        setsu.Revolute((0.3, 0.2, 1.0), damping=0.5, coulomb=0.2, armature=0.1),
        setsu.Prismatic((0.3, 0.2, 1.0), damping=0.5, stiffness=20.0, spring_rest=0.05, armature=0.1),
        setsu.Cylindrical((0.3, 0.2, 1.0), damping=(0.5, 0.3), armature=(0.1, 0.2)),
        setsu.Spherical(damping=0.4, armature=(0.1, 0.2, 0.3)),
        setsu.Planar((0.3, 0.2, 1.0), damping=0.4, coulomb=0.1),
        setsu.Universal((0.3, 0.2, 1.0), second_axis=(1.0, 0.1, 0.0)),
        setsu.Helical((0.3, 0.2, 1.0), pitch=0.05, damping=0.3, armature=0.2),
        setsu.Fixed(),
    ],
    ids=lambda joint: type(joint).__name__,
)
def test_loops_close_by_any_joint(joint: setsu.Joint) -> None:
    """Every joint type as the closing one, in space, against constrained dynamics."""
    m = spatial(joint)
    agrees(m, list(setsu.independent_coordinates(m)))


def test_what_has_no_code_is_refused() -> None:
    m = spatial(setsu.Revolute((0.3, 0.2, 1.0), stiffness=2.0))
    with pytest.raises(setsu.InputError, match=r"ring .* no code for a spring on a turn"):
        setsu.generate(m, "inverse_dynamics")
    m = spatial(setsu.Universal((0.3, 0.2, 1.0), second_axis=(1.0, 0.1, 0.0), damping=0.2))
    with pytest.raises(setsu.InputError, match=r"ring .* no code for damping in a Universal"):
        setsu.generate(m, "inverse_dynamics")
