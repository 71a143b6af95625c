"""Optimal control with CasADi and IPOPT: a closed five-bar swings up, a Panda reaches with little effort.

The dynamics are generated C with exact first and second derivatives, loaded by `casadi.external`. Where adam-robotics
is installed, its CasADi expressions of the same Panda find the same optimum, and the times stand beside each other.
Needs CasADi and a C compiler: pip install setsu[casadi].
"""

import subprocess
import tempfile
import time
from pathlib import Path

import casadi as ca
import numpy as np

import setsu

folder = Path(tempfile.mkdtemp())


def external(mechanism, function, **options):
    """Generate, compile and load a function for CasADi."""
    code = setsu.generate(mechanism, function, language="casadi", **options)
    [path] = code.write(tempfile.mkdtemp(dir=folder))
    library = path.with_suffix(".so")
    subprocess.run(["cc", "-O1", "-fPIC", "-shared", path, "-o", library, "-lm"], check=True)
    return ca.external(code.name, str(library))


def solved(cost, constraints, variables, start, limits=(), hessian="exact"):
    """Let IPOPT solve a problem with equality constraints and bounds; return variables, cost, iterations, seconds."""
    problem = {"x": variables, "f": cost, "g": ca.vertcat(*constraints)}
    quiet = {"ipopt.print_level": 0, "print_time": False, "ipopt.sb": "yes", "ipopt.tol": 1e-9}
    if hessian != "exact":
        # By BFGS from gradients, which take more rounds and never get as close.
        quiet |= {"ipopt.hessian_approximation": hessian, "ipopt.limited_memory_max_history": 30}
        quiet |= {"ipopt.tol": 1e-4, "ipopt.max_iter": 3000}
    solver = ca.nlpsol("solver", "ipopt", problem, quiet)
    low, high = limits or (-np.inf, np.inf)
    begin = time.process_time()
    found = solver(x0=start, lbx=low, ubx=high, lbg=0.0, ubg=0.0)
    assert solver.stats()["success"], solver.stats()["return_status"]
    return np.array(found["x"]).ravel(), float(found["f"]), solver.stats()["iter_count"], time.process_time() - begin


# The five-bar: on its way up it would take 7.3 N m to hold it, more than the motors have; so it has to swing.
m = setsu.sample_mechanisms.five_bar()
driven = [0, 2]  # left_upper, right_upper
rest = setsu.Simulator(m, step=0.005, torque=lambda t, q, v: -4.0 * v)
rest.reset(setsu.close_loops(m, m.neutral()), setsu.consistent_velocity(m, m.neutral(), [0.5, 0.0, 0.4, 0.0]))
rest.run(12.0)
hanging, upright = rest.q, setsu.close_loops(m, m.neutral())
accelerations = external(m, "constrained_dynamics", actuated=["left_upper", "right_upper"])

# The pin that closes the loop, seen from both forearms: places and Jacobians.
poses = external(m, "body_poses")
q, v = ca.MX.sym("q", m.nq), ca.MX.sym("v", m.nv)
[loop] = m.loops
gap = rate = 0.0
for sign, body, frame in ((1.0, loop.body_a, loop.pose_a), (-1.0, loop.body_b, loop.pose_b)):
    number = m.body_names.index(body)
    T = ca.reshape(poses(q)[16 * number : 16 * (number + 1)], 4, 4).T
    gap += sign * (T @ frame.matrix)[[0, 2], 3]
    rate += sign * (external(m, "point_jacobian", body=body)(q, frame.matrix[:3, 3])[[0, 2], :] @ v)
closed = ca.Function("closed", [q, v], [ca.vertcat(gap, rate)])

nodes, duration, limit = 30, 1.0, 7.0
h = duration / nodes
Q, V, U = (ca.MX.sym(name, size, nodes + 1) for name, size in (("Q", m.nq), ("V", m.nv), ("U", 2)))
A = [accelerations(Q[:, k], V[:, k], U[:, k]) for k in range(nodes + 1)]
constraints = [(Q[:, 0] - hanging)[driven], (Q[:, -1] - upright)[driven], V[driven, 0], V[driven, -1]]
for k in range(nodes + 1):
    # Only the driven joints are integrated; the others follow from the loop.
    constraints.append(closed(Q[:, k], V[:, k]))
for k in range(nodes):
    constraints.append((Q[:, k + 1] - Q[:, k] - 0.5 * h * (V[:, k] + V[:, k + 1]))[driven])
    constraints.append((V[:, k + 1] - V[:, k] - 0.5 * h * (A[k] + A[k + 1]))[driven])
variables = ca.vertcat(ca.vec(Q), ca.vec(V), ca.vec(U))
path = np.array([setsu.close_loops(m, row) for row in np.linspace(hanging, upright, nodes + 1)])
speed = np.gradient(path, h, axis=0)
start = np.concatenate([path.ravel(), speed.ravel(), np.zeros(2 * (nodes + 1))])
# Postures stay off the stretched forearms, where the loop is singular.
low = np.concatenate([np.tile([-0.4, -2.2, -2.7, -0.4], nodes + 1), np.full(4 * (nodes + 1), -12.0)])
high = np.concatenate([np.tile([2.7, 0.4, 0.4, 2.2], nodes + 1), np.full(4 * (nodes + 1), 12.0)])
pulls = np.full(2 * (nodes + 1), limit)
limits = np.concatenate([low, -pulls]), np.concatenate([high, pulls])
x, cost, iterations, seconds = solved(h * ca.sumsqr(U), constraints, variables, start, limits)
print(f"five-bar swings up within {limit:g} N m: cost {cost:.3f}, {iterations} iterations, {seconds:.2f} s")

# Held against the library: accelerations at the nodes, loops closed.
states, rates = x[: 4 * (nodes + 1)].reshape(-1, 4), x[4 * (nodes + 1) : 8 * (nodes + 1)].reshape(-1, 4)
torques = np.zeros((nodes + 1, 4))
torques[:, driven] = x[8 * (nodes + 1) :].reshape(-1, 2)
exact = setsu.constrained_dynamics(m, states, rates, torques).acceleration
found = np.array([accelerations(*row) for row in zip(states, rates, torques[:, driven], strict=True)])[..., 0]
assert np.abs(found - exact).max() < 1e-6 * np.abs(exact).max()
assert max(np.abs(setsu.loop_error(m, row)).max() for row in states) < 1e-7
assert np.abs(torques).max() <= limit * (1.0 + 1e-6)


# The Panda: effort ∫ |τ|² dt of a motion from rest to rest, by direct collocation of the third order.
def reach(inverse_dynamics, nodes=12, duration=1.0, hessian="exact"):
    """Minimise effort for τ = f(q, v, a)."""
    n, h = 7, duration / nodes
    first, last = np.array([0, -0.6, 0, -2.0, 0, 1.5, 0.3]), np.array([0.9, 0.3, 0.4, -1.2, -0.3, 2.1, 0.8])
    Q, V, A = (ca.MX.sym(name, n, nodes + 1) for name in "QVA")
    tau = [inverse_dynamics(Q[:, k], V[:, k], A[:, k]) for k in range(nodes + 1)]
    constraints = [Q[:, 0] - first, Q[:, -1] - last, V[:, 0], V[:, -1]]
    for k in range(nodes):
        constraints.append(V[:, k + 1] - V[:, k] - 0.5 * h * (A[:, k] + A[:, k + 1]))
        constraints.append(Q[:, k + 1] - Q[:, k] - h * V[:, k] - h * h / 6.0 * (2.0 * A[:, k] + A[:, k + 1]))
    weight = [h * (0.5 if k in (0, nodes) else 1.0) for k in range(nodes + 1)]
    cost = sum(w * ca.sumsqr(t) for w, t in zip(weight, tau, strict=True))
    line = np.linspace(first, last, nodes + 1)
    start = np.concatenate([line.ravel(), np.zeros(2 * n * (nodes + 1))])
    return solved(cost, constraints, ca.vertcat(ca.vec(Q), ca.vec(V), ca.vec(A)), start, hessian=hessian)


panda = setsu.sample_mechanisms.panda_arm()
ours = external(panda, "inverse_dynamics")
results = {hessian: reach(ours, hessian=hessian) for hessian in ("exact", "limited-memory")}
for hessian, (_, cost, iterations, seconds) in results.items():
    print(f"Panda reaches, Hessian {hessian}: effort {cost:.4f}, {iterations} iterations, {seconds:.2f} s")
assert abs(results["limited-memory"][1] - results["exact"][1]) < 1e-4 * results["exact"][1]

try:
    from adam.casadi import KinDynComputations
except ImportError:
    print("adam-robotics is not installed: nothing to compare with")
else:
    panda.save(folder / "panda.urdf")
    down = np.array([*panda.gravity, 0.0, 0.0, 0.0])
    theirs = KinDynComputations(str(folder / "panda.urdf"), list(panda.joint_names), gravity=down)
    q, v, a = (ca.SX.sym(name, 7) for name in "qva")
    still = ca.SX.zeros(6)
    M, bias = theirs.mass_matrix_fun()(ca.SX.eye(4), q), theirs.bias_force_fun()(ca.SX.eye(4), q, still, v)
    peer = ca.Function("peer", [q, v, a], [M[6:, 6:] @ a + bias[6:]])
    for hessian, (_, cost, _, seconds) in results.items():
        try:
            _, other, rounds, longer = reach(peer, hessian=hessian)
        except AssertionError as stopped:
            assert hessian != "exact"
            print(f"by adam, {hessian}: IPOPT does not converge ({stopped})")
            continue
        print(
            f"by adam, {hessian}: effort {other:.4f}, {rounds} iterations, {longer:.2f} s: ratio {longer / seconds:.1f}"
        )
        assert abs(other - cost) < (1e-6 if hessian == "exact" else 1e-4) * cost
