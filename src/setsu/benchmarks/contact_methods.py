"""Ways to solve the same contact problems, measured: Newton's method of the product, ADMM, projected Gauss-Seidel.

| symbol | meaning | unit |
|---|---|---|
| W, b | contact velocities for unit impulses, with the compliance; contact velocities without any | 1/kg, m/s |
| λ, v | impulses, velocities v = W λ + b; normal, two tangents per contact | N s, m/s |
| s | μ |v_t| on the normal: makes the projection onto the cone K Coulomb's law (De Saxcé) | m/s |

    ADMM:  x = (W + (ρ+η) 1)⁻¹ (ρ y + η x - z - b - s),  y = Π(x + z/ρ),  z += ρ (x - y)    (1)
    Gauss-Seidel:  λ_i = Π(λ_i - r_i (v_i + s_i)), contact after contact     (2)  r_i = 3 / tr W_ii

Source of (1): Carpentier, Le Lidec and Montaut 2024, with ρ balanced between the two residuals; of (2): Jean 1999.
Problems are those of a humanoid that stands and falls, met in steps of 1 ms. All methods stop at the same residual,
F of cone_laws.py below 1e-10 of the largest impulse, or at 5000 rounds. "Warm" starts from the impulses of the step
before. Gauss-Seidel and ADMM get W ready made, and Newton's method the articulated inertias: neither is counted.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import setsu
from setsu.contact.scene import N_CONTACTS
from setsu.native.workspace import Workspace

__all__ = ["MethodRow", "measure_methods"]

Floats = NDArray[np.float64]
STEP = 1e-3
MOST = 5000


@dataclass(frozen=True)
class MethodRow:
    """One method on the problems of one motion: median rounds and µs, share solved, largest residual."""

    motion: str
    method: str
    start: str
    problems: int
    rounds: float
    microseconds: float
    solved: float
    residual: float


def measure_methods(
    mechanism: setsu.Mechanism, motions: list[tuple[str, Any, Floats, list[int]]], q: Floats, repeats: int
) -> list[MethodRow]:
    """Measure all methods on the problems at the given steps of each motion: (name, torque, v0, steps)."""
    solvers = _compiled()
    rows = []
    for motion, torque, v, steps in motions:
        problems = [_record(mechanism, q, v, torque, step) for step in steps]
        for method in ("newton", "admm", "gauss-seidel"):
            for start in ("warm", "cold"):
                results = [_solve(solvers[method], problem, method, start, repeats) for problem in problems]
                rounds, residual, seconds = (np.array(values) for values in zip(*results, strict=True))
                rows.append(
                    MethodRow(
                        motion,
                        method,
                        start,
                        len(problems),
                        float(np.median(rounds)),
                        1e6 * float(np.median(seconds)),
                        float((residual <= 1e-10).mean()),
                        float(residual.max()),
                    )
                )
    return rows


def _record(m: setsu.Mechanism, q: Floats, v: Floats, torque: Any, step: int) -> dict[str, Any]:
    """The contact problem of the step that begins at a number of steps: as arrays of the run, and dense."""
    sim = setsu.Simulator(m, STEP, torque, environment=setsu.Environment.floor())
    sim.reset(q, v)
    sim.step(steps=step)
    run: Any = sim._blocks[0]
    state, points = sim.q, run.scene.points.copy()
    sim.step()
    contacts = run.problem.contacts[: run.problem.counts[N_CONTACTS]]
    inertia = run.tree.joint_inertia
    H = setsu.mass_matrix(m, state) + np.diag(inertia[1] - inertia[0])
    poses = setsu.body_poses(m, state)
    rows = []
    for c in contacts:
        body = int(c["body_a"])
        place = poses[body, :3, :3].T @ (c["position"] - poses[body, :3, 3])
        rows.append(c["axes"] @ setsu.point_jacobian(m, state, m.moving[body].name, place))
    K = np.concatenate(rows)
    scale = contacts["scale"].copy()
    W = K @ np.linalg.solve(H, K.T) + 5e-7 * float((1.0 / scale).mean()) * np.eye(len(K))
    warm = np.zeros((len(contacts), 3))
    for k, c in enumerate(contacts):
        point = points[c["point"]]
        for slot in range(3):
            if point["face"][slot] == c["face"]:
                warm[k] = point["impulse"][slot]
    return {
        "run": run,
        "W": np.ascontiguousarray(W),
        "b": (contacts["free"] + contacts["shift"]).ravel().copy(),
        "mu": contacts["friction"].copy(),
        "scale": scale,
        "warm": warm.ravel().copy(),
    }


def _solve(solver: Any, problem: dict[str, Any], method: str, start: str, repeats: int) -> tuple[int, float, float]:
    begin = problem["warm"] if start == "warm" else np.zeros_like(problem["warm"])
    impulse = np.empty_like(begin)
    best, rounds, residual = float("inf"), 0, 0.0
    for _ in range(repeats):
        impulse[:] = begin
        if method == "newton":
            run = problem["run"]
            run.problem.contacts["impulse"][: len(begin) // 3] = begin.reshape(-1, 3)
            tree, contacts = Workspace(run.tree), Workspace(run.problem)
            t = time.perf_counter()
            residual, rounds, _ = solver(tree, contacts)
        else:
            t = time.perf_counter()
            residual, rounds = solver(problem["W"], problem["b"], problem["mu"], problem["scale"], impulse, MOST)
        best = min(best, time.perf_counter() - t)
    return int(rounds), float(residual), best


def _compiled() -> dict[str, Any]:
    """The methods as compiled functions."""
    import numba

    from setsu.contact import newton_solver
    from setsu.native.control_flow import jit

    solve_contacts = newton_solver.solve

    @jit
    def newton(tree, problem):
        return solve_contacts(tree, problem)

    @numba.njit
    def project(n, s, t, mu):
        r = np.sqrt(s * s + t * t)
        if n >= 0.0 and r <= mu * n:
            return n, s, t
        if mu * r <= -n:
            return 0.0, 0.0, 0.0
        normal = (n + mu * r) / (1.0 + mu * mu)
        along = mu * normal / r if r > 0.0 else 0.0
        return normal, along * s, along * t

    @numba.njit
    def residual_of(W, b, mu, scale, x):
        """Largest entry of F (cone_laws.py), in parts of the largest impulse."""
        v = W @ x + b
        worst, largest = 0.0, 1e-300
        for i in range(len(mu)):
            rho, o = scale[i], 3 * i
            for k in range(3):
                largest = max(largest, rho * abs(b[o + k]))
            n, s, t = x[o] - rho * v[o], x[o + 1] - rho * v[o + 1], x[o + 2] - rho * v[o + 2]
            if n <= 0.0:
                worst = max(worst, abs(x[o]), abs(x[o + 1]), abs(x[o + 2]))
                continue
            r = np.sqrt(s * s + t * t)
            f = mu[i] * n / r if r > mu[i] * n else 1.0
            worst = max(worst, abs(rho * v[o]), abs(x[o + 1] - f * s), abs(x[o + 2] - f * t))
        return worst / largest

    @numba.njit
    def gauss_seidel(W, b, mu, scale, x, most):
        n = len(b)
        for rounds in range(most):
            if rounds % 5 == 0 and residual_of(W, b, mu, scale, x) <= 1e-10:
                return residual_of(W, b, mu, scale, x), rounds
            for i in range(len(mu)):
                o = 3 * i
                v0, v1, v2 = b[o], b[o + 1], b[o + 2]
                for j in range(n):
                    v0 += W[o, j] * x[j]
                    v1 += W[o + 1, j] * x[j]
                    v2 += W[o + 2, j] * x[j]
                v0 += mu[i] * np.sqrt(v1 * v1 + v2 * v2)
                r = scale[i]
                x[o], x[o + 1], x[o + 2] = project(x[o] - r * v0, x[o + 1] - r * v1, x[o + 2] - r * v2, mu[i])  # (2)
        return residual_of(W, b, mu, scale, x), most

    @numba.njit
    def admm(W, b, mu, scale, y, most):
        n = len(b)
        eta = 1e-6 * np.trace(W) / n
        rho = 10.0 * np.sqrt(eta * np.linalg.norm(W))
        x, z, s = y.copy(), -(W @ y + b), np.zeros(n)
        inverse = np.linalg.inv(W + (rho + eta) * np.eye(n))
        for rounds in range(most):
            if rounds % 5 == 0 and residual_of(W, b, mu, scale, y) <= 1e-10:
                return residual_of(W, b, mu, scale, y), rounds
            for i in range(len(mu)):
                s[3 * i] = mu[i] * np.sqrt(z[3 * i + 1] ** 2 + z[3 * i + 2] ** 2)
            x = inverse @ (rho * y + eta * x - z - b - s)  # (1)
            dual = 0.0
            for i in range(len(mu)):
                o = 3 * i
                p0, p1, p2 = project(x[o] + z[o] / rho, x[o + 1] + z[o + 1] / rho, x[o + 2] + z[o + 2] / rho, mu[i])
                dual = max(dual, abs(p0 - y[o]), abs(p1 - y[o + 1]), abs(p2 - y[o + 2]))
                y[o], y[o + 1], y[o + 2] = p0, p1, p2
            primal = np.abs(x - y).max()
            z += rho * (x - y)
            if rounds % 20 == 19 and (primal > 10.0 * dual or dual > 10.0 * primal):
                rho *= 3.0 if primal > dual else 1.0 / 3.0
                inverse = np.linalg.inv(W + (rho + eta) * np.eye(n))
        return residual_of(W, b, mu, scale, y), most

    return {"newton": newton, "admm": admm, "gauss-seidel": gauss_seidel}
