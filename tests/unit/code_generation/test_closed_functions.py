"""Generated functions of closed mechanisms are those of the library at closed states, projected on the drives."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import setsu
from setsu.code_generation.closed_mechanism import actuated_rates, full_state, linear_drives
from setsu.code_generation.programs import traced_function
from setsu.constraints.system import constraint_system
from setsu.sample_mechanisms import (
    five_bar,
    four_bar,
    six_joint_parallelogram_arm,
    slider_crank,
    two_joint_parallelogram,
)
from setsu.symbolic import evaluate

pytestmark = [pytest.mark.slow, pytest.mark.thin(3)]

DRIVES = ["joint1", "joint2", "joint2p", "joint4", "joint5", "joint6"]
STRICT = ["-std=c99", "-O2", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsanitize=address,undefined"]


def geared() -> setsu.Mechanism:
    """Two links of a planar arm, the second geared to the first."""
    b = setsu.MechanismBuilder("geared arm", gravity=(0.0, -9.81, 0.0))
    for name, parent, x in (("upper", "world", 0.0), ("lower", "upper", 0.5), ("hand", "lower", 0.4)):
        joint = setsu.Revolute((0, 0, 1), name=f"{name}_joint", damping=0.3, armature=0.02)
        b.add_body(name, parent, joint, setsu.placement((x, 0, 0)), mass=1.0, center_of_mass=(0.2, 0.03, 0.0),
                   inertia=np.diag([0.01, 0.02, 0.03]))  # fmt: skip
    b.add_coupling("gear", {"upper_joint": 1.0, "lower_joint": -2.0}, offset=0.0)
    return b.build()


MECHANISMS: dict[str, tuple[Callable[[], setsu.Mechanism], list[str]]] = {
    "example 3": (lambda: six_joint_parallelogram_arm(named=False), DRIVES),
    "example 1": (lambda: two_joint_parallelogram(vertical=True, named=False), ["joint1p", "joint1"]),
    "gear": (geared, ["upper_joint", "hand_joint"]),
}


class Case:
    """A mechanism with random closed states: of the drives (u, du, ddu) and of all joints (q, v, a)."""

    def __init__(self, name: str) -> None:
        make, self.drives = MECHANISMS[name]
        self.m = make()
        self.rates = actuated_rates(self.m, self.drives)
        found = linear_drives(self.m, setsu.minimum_parameters(self.m).reference, self.rates)
        assert found is not None
        self.D = np.array(found.weights).T
        rng = np.random.default_rng(5)
        self.u, self.du, self.ddu = rng.uniform(-1.0, 1.0, (3, 20, len(self.rates)))
        self.q, self.v, self.a = full_state(self.m, found, self.u, self.du, self.ddu)

    def call(self, function: str, **options: str) -> Callable[..., list]:
        code = setsu.generate(self.m, function, "python", actuated=self.drives, **options)
        module: dict = {}
        exec(code.source, module)
        return module[code.name]


@pytest.fixture(params=MECHANISMS, scope="module")
def case(request: pytest.FixtureRequest) -> Case:
    return Case(request.param)


def close(found: object, expected: np.ndarray, tolerance: float = 1e-12) -> None:
    assert np.abs(np.ravel(found) - np.ravel(expected)).max() <= tolerance * max(1.0, np.abs(expected).max())


def test_states_keep_the_loops(case: Case) -> None:
    assert np.abs(setsu.loop_error(case.m, case.q)).max(initial=0.0) <= 1e-12


def test_torques_are_those_of_constrained_inverse_dynamics(case: Case) -> None:
    call = case.call("inverse_dynamics")
    for k in range(20):
        result = setsu.constrained_inverse_dynamics(case.m, case.q[k], case.v[k], case.a[k], actuated=case.drives)
        close(call(case.u[k], case.du[k], case.ddu[k]), result.torque[case.rates])


def test_accelerations_are_those_of_constrained_dynamics(case: Case) -> None:
    call = case.call("constrained_dynamics")
    for k in range(5):
        tau = np.zeros(case.m.nv)
        tau[case.rates] = case.ddu[k]
        result = setsu.constrained_dynamics(case.m, case.q[k], case.v[k], tau)
        close(call(case.u[k], case.du[k], case.ddu[k]), result.acceleration[case.rates], 1e-10)


def test_matrices_are_projected(case: Case) -> None:
    D = case.D
    q, v, a = case.q[0], case.v[0], case.a[0]
    u, du, ddu = case.u[0], case.du[0], case.ddu[0]
    close(case.call("mass_matrix")(u), D.T @ setsu.mass_matrix(case.m, q) @ D)
    close(case.call("coriolis_matrix")(u, du), D.T @ setsu.coriolis_matrix(case.m, q, v) @ D)
    close(case.call("bias_torque")(u, du), D.T @ setsu.bias_torque(case.m, q, v))
    close(case.call("gravity_torque")(u), D.T @ setsu.gravity_torque(case.m, q))
    kept = setsu.minimum_parameters(case.m).independent
    close(case.call("regressor")(u, du, ddu), D.T @ setsu.regressor(case.m, q, v, a)[:, kept])
    body, point = case.m.body_names[-1], np.array([0.1, 0.2, 0.3])
    close(case.call("point_jacobian", body=body)(u, point), setsu.point_jacobian(case.m, q, body, point) @ D)
    close(case.call("body_poses")(u), setsu.body_poses(case.m, q))


def test_derivatives_are_slopes(case: Case) -> None:
    """Central differences of the generated functions themselves, error of order h²; M da = -dτ closes the circle."""
    n, h = len(case.rates), 1e-6
    u, du, ddu = case.u[0], case.du[0], case.ddu[0]
    for function, last in (("inverse_dynamics", "da"), ("constrained_dynamics", "dtau")):
        call, slopes = case.call(function), case.call(f"{function}_derivatives")
        found = [np.reshape(part, (n, n)) for part in slopes(u, du, ddu)]
        for number in range(3):
            for k in range(n):
                step = h * np.eye(3 * n)[number * n + k].reshape(3, n)
                up, down = (np.array(call(*(np.array([u, du, ddu]) + s * step))) for s in (1, -1))
                close(found[number][:, k], (up - down) / (2 * h), 1e-7 * max(1.0, np.abs(found[number]).max()))
        assert last in setsu.generate(case.m, f"{function}_derivatives", actuated=case.drives).header


def test_c_of_a_loop_compiles_and_its_self_test_passes(case: Case, tmp_path: Path) -> None:
    compiler = shutil.which("cc") or shutil.which("gcc")
    assert compiler is not None
    for function in ("inverse_dynamics", "constrained_dynamics_derivatives"):
        code = setsu.generate(case.m, function, actuated=case.drives)
        code.write(tmp_path)
        files = [f"{code.name}.c", f"{code.name}_test.c"]
        done = subprocess.run([compiler, *STRICT, *files, "-o", "self_test", "-lm"], cwd=tmp_path, capture_output=True,
                              text=True)  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert subprocess.run([str(tmp_path / "self_test")]).returncode == 0


@pytest.mark.parametrize(
    ("make", "drives"),
    [(four_bar, ["crank"]), (slider_crank, ["crank"]), (five_bar, None)],
)
def test_loops_without_a_linear_closure(make: Callable[[], setsu.Mechanism], drives: list[str] | None) -> None:
    """Closed states of all joints go in; torques of the drives, or accelerations of all joints, come out."""
    m = make()
    names = drives or list(setsu.independent_coordinates(m))
    rates = [m.joint_names.index(name) for name in names]
    for function in ("inverse_dynamics", "forward_dynamics"):
        traced = traced_function(m, function, drives, None)
        states = traced.states(10, seed=3)
        code = setsu.generate(m, function.replace("forward", "constrained"), "python", actuated=drives)
        module: dict = {}
        exec(code.source, module)
        for state in zip(*states, strict=True):
            if function == "inverse_dynamics":
                expected = setsu.constrained_inverse_dynamics(m, *state, actuated=names).torque[rates]
            else:
                tau = np.zeros(m.nv)
                tau[rates] = state[2]
                expected = setsu.constrained_dynamics(m, *state[:2], tau).acceleration
            # Normal equations square the condition of the loops' rows.
            close(module[code.name](*state), expected, 1e-10)


def test_the_old_name_of_closed_accelerations_says_what_it_is() -> None:
    """setsu.forward_dynamics leaves loops open; generated code of that name closes them, and is called otherwise."""
    m = four_bar()
    code = setsu.generate(m, "constrained_dynamics", actuated=["crank"])
    with pytest.warns(setsu.ModelWarning, match='an alias of "constrained_dynamics"'):
        alias = setsu.generate(m, "forward_dynamics", actuated=["crank"])
    assert code.name.endswith("_constrained_dynamics")
    assert code.operations == alias.operations
    start = code.source.index("\n{")
    assert code.source[start:] == alias.source[alias.source.index("\n{") :]
    # A tree has nothing to close: both names mean the same.
    arm = setsu.sample_mechanisms.planar_arm(2)
    assert setsu.generate(arm, "constrained_dynamics").operations == setsu.generate(arm, "forward_dynamics").operations


def test_other_functions_of_such_loops_are_those_of_the_cut_tree() -> None:
    m = four_bar()
    code = setsu.generate(m, "mass_matrix", "python")
    module: dict = {}
    exec(code.source, module)
    q = m.random_configuration(0)
    close(module[code.name](q), setsu.mass_matrix(m, q))
    assert "of the tree its loops are cut into" in code.source


def moved(
    m: setsu.Mechanism, names: list[str], near: np.ndarray, u: np.ndarray, du: np.ndarray, ddu: np.ndarray
) -> list:
    """The closed state q, v, a with given motion of the driven joints, by the library."""
    rates = [m.joint_names.index(name) for name in names]
    others = [d for d in range(m.nv) if d not in rates]
    q, v, a = near.copy(), np.zeros(m.nv), np.zeros(m.nv)
    q[rates] = u
    q = setsu.close_loops(m, q, fixed=names)
    v[rates], a[rates] = du, ddu
    G = constraint_system(m).linearise(q, v).jacobian
    v[others] = -np.linalg.lstsq(G[:, others], G[:, rates] @ du, rcond=None)[0]
    term = constraint_system(m).linearise(q, v).velocity_term
    a[others] = -np.linalg.lstsq(G[:, others], G[:, rates] @ ddu + term, rcond=None)[0]
    return [q, v, a]


@pytest.mark.parametrize(("make", "drives"), [(four_bar, ["crank"]), (five_bar, None)])
@pytest.mark.parametrize("function", ["inverse_dynamics", "forward_dynamics"])
def test_derivatives_of_such_loops_are_slopes_along_closed_motions(
    make: Callable[[], setsu.Mechanism], drives: list[str] | None, function: str
) -> None:
    """Differences of order 4 of constrained dynamics, the loops closed anew at every point: error of order h⁴."""
    m = make()
    names = drives or list(setsu.independent_coordinates(m))
    rates = [m.joint_names.index(name) for name in names]
    traced = traced_function(m, f"{function}_derivatives", drives, None)
    graph = traced.trace.graph
    inverse = function == "inverse_dynamics"
    n, h = len(rates), 1e-3
    near, v, x = (state[0] for state in traced.states(1, seed=1))
    given = np.array([near[rates], v[rates], x[rates] if inverse else x])

    def value(motion: np.ndarray) -> np.ndarray:
        q, v, a = moved(m, names, near, motion[0], motion[1], motion[2] if inverse else np.zeros(n))
        if inverse:
            return setsu.constrained_inverse_dynamics(m, q, v, a, actuated=names).torque[rates]
        tau = np.zeros(m.nv)
        tau[rates] = motion[2]
        return setsu.constrained_dynamics(m, q, v, tau).acceleration

    q, v, a = moved(m, names, near, given[0], given[1], given[2] if inverse else np.zeros(n))
    arrays = zip([name for name, _ in traced.inputs], (q, v, a if inverse else x), strict=True)
    values = {(name, k): entry for name, array in arrays for k, entry in enumerate(array)}
    for part, expressions in enumerate(traced.trace.outputs.values()):
        found = np.reshape(evaluate(graph, expressions, values), (-1, n))
        for k in range(n):
            step = np.zeros((3, n))
            step[part, k] = h
            near_by, far = (value(given + s * step) - value(given - s * step) for s in (1, 2))
            close(found[:, k], (8 * near_by - far) / (12 * h), 1e-8)


@pytest.mark.parametrize(
    ("make", "actuated", "message"),
    [
        (two_joint_parallelogram, ["joint1"], "do not determine"),
        (four_bar, ["crank", "rocker"], "do not determine"),
        (five_bar, ["left_upper"], "do not determine"),
        (two_joint_parallelogram, ["joint1", "joint1"], "named twice"),
        (two_joint_parallelogram, ["joint9", "joint1"], "joint9"),
        (lambda: setsu.sample_mechanisms.planar_arm(2), ["joint1"], "no loops or couplings"),
    ],
)
def test_refusals(make: Callable[[], setsu.Mechanism], actuated: list[str], message: str) -> None:
    with pytest.raises(setsu.InputError, match=message):
        setsu.generate(make(), "inverse_dynamics", actuated=actuated)


def test_jacobians_ask_for_their_body() -> None:
    with pytest.raises(setsu.InputError, match="say which body"):
        setsu.generate(four_bar(), "point_jacobian")
    with pytest.raises(setsu.InputError, match="is no Jacobian"):
        setsu.generate(setsu.sample_mechanisms.planar_arm(2), "mass_matrix", body="link1")
