"""Accuracy of nodal inverse dynamics: orders, errors, member lengths, the stepper, and noise with and without filter.

    python -m setsu.benchmarks.nodal_accuracy

prints the tables of docs/nodal.md. Trees follow sines of up to 4 rad/s with a jerk at the start and are compared with
Newton-Euler; closed mechanisms follow sines of their motors and are compared with constrained inverse dynamics.
Errors are parts of the largest torque. UR10 and Panda come from URDF, with the package example-robot-data.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

import setsu
from setsu.benchmarks.subjects import robot_file
from setsu.sample_mechanisms import delta_robot, random_tree, seven_joint_arm, stanford_arm, stewart_platform

__all__ = ["SCHEMES", "accuracy", "closed_accuracy", "main", "member_length_error", "noise_table", "trees"]

Floats = NDArray[np.float64]

SCHEMES: dict[str, dict[str, Any]] = {
    "central": {},
    "Newmark": {"scheme": "newmark"},
    "plain Newmark": {"scheme": "newmark", "average": False},
}
"""What stands in the columns: the options of each scheme."""
CLOSED: dict[str, tuple[Callable[[], setsu.Mechanism], list[str]]] = {
    "Stewart platform": (stewart_platform, [f"leg{k}" for k in range(1, 7)]),
    "Delta robot": (delta_robot, ["arm1", "arm2", "arm3"]),
}
"""Closed mechanisms and their motors."""
STEPS = (200, 400)
NOISE, HALF_WIDTHS = 1e-5, (0, 2, 5, 10, 20)


def trees() -> dict[str, setsu.Mechanism]:
    """Return the trees by name; robots from files only where those are installed."""
    made = {
        "24 joints, some sliding": random_tree(5, n_bodies=24, joint_types=[setsu.Revolute, setsu.Prismatic]),
        "joints of five kinds": random_tree(
            2, n_bodies=8,
            joint_types=[setsu.Revolute, setsu.Cylindrical, setsu.Universal, setsu.Planar, setsu.Helical],
        ),
        "Stanford arm": stanford_arm(),
        "seven joints": seven_joint_arm(),
    }  # fmt: skip
    for name, key in (("UR10 from URDF", "ur10"), ("Panda from URDF", "panda"), ("UR5 from URDF", "ur5")):
        path = robot_file(key)
        if path is not None:
            made[name] = setsu.load(path)
    return made


def accuracy(m: setsu.Mechanism) -> dict[str, tuple[float, float]]:
    """Return the order and the error at 400 steps a second (ω h = 0.01) of every scheme on a tree."""
    found = {}
    for name, options in SCHEMES.items():
        errors = []
        for steps in STEPS:
            t, q, v, a = _waves(m, steps)
            errors.append(_error(setsu.nodal_inverse_dynamics(m, t, q, **options), setsu.inverse_dynamics(m, q, v, a)))
        found[name] = math.log2(errors[0] / errors[1]), errors[1]
    return found


def closed_accuracy(m: setsu.Mechanism, motors: list[str]) -> dict[str, tuple[float, float]]:
    """Return the same of a closed mechanism driven by its motors, in motions of half a second."""
    found = {}
    motions = [_closed_motion(m, motors, steps) for steps in (100, 200)]
    exact = [setsu.constrained_inverse_dynamics(m, q, v, a, actuated=motors).torque for _, q, v, a in motions]
    for name, options in SCHEMES.items():
        errors = [
            _error(setsu.nodal_inverse_dynamics(m, t, q, actuated=motors, **options), torque)
            for (t, q, _, _), torque in zip(motions, exact, strict=True)
        ]
        found[name] = math.log2(errors[0] / errors[1]), errors[1]
    return found


def member_length_error(m: setsu.Mechanism) -> float:
    """Return the largest difference of L T(q) P from the torques, over the largest torque.

    Joints have no friction and no armature in it: those are no forces of nodes.
    """
    m = _bare(m)
    t, q = _curve(m, 24)
    L, P = setsu.member_length_matrix(m), setsu.nodal_forces(m, t, q)
    torque = setsu.nodal_inverse_dynamics(m, t, q)
    found = np.array([L.matrix @ L.transformation(q[k]) @ P[k] for k in range(len(t))])
    return _error(found, torque)


def stepper_is_the_batch_form(m: setsu.Mechanism) -> bool:
    """Whether one sample at a time gives the digits of all samples at once."""
    t, q = _curve(m, 24)
    stepper = setsu.NodalStepper(m, float(t[1] - t[0]))
    batch = setsu.nodal_inverse_dynamics(m, t, q)
    rows = [stepper.torque(row) for row in q]
    # The first and the last sample of the batch have neighbours on one side only.
    return all((rows[k + stepper.delay] == batch[k]).all() for k in range(1, len(q) - 1 - stepper.delay))


def noise_table(m: setsu.Mechanism) -> list[tuple[int, float, float]]:
    """Return half-width, and RMS errors (N m) with 1e-5 rad of noise at 1 kHz and without."""
    t, q, v, a = _waves(m, 1000)
    exact = setsu.inverse_dynamics(m, q, v, a)
    noisy = q + NOISE * np.random.default_rng(0).standard_normal(q.shape)
    inner = slice(25, -25)
    rows = []
    for n in HALF_WIDTHS:
        options: dict[str, Any] = {"smoothing": n} if n else {}
        rms = [
            float(np.sqrt(np.mean((setsu.nodal_inverse_dynamics(m, t, x, **options) - exact)[inner] ** 2)))
            for x in (noisy, q)
        ]
        rows.append((n, rms[0], rms[1]))
    return rows


def main() -> None:
    """Print all tables as Markdown."""
    shown = trees()
    print("| mechanism | " + " | ".join(f"order, {name} | error" for name in SCHEMES) + " |")
    print("|---|" + "---|" * (2 * len(SCHEMES)))
    for name, m in shown.items():
        _print_orders(name, accuracy(m))
    for name, (make, motors) in CLOSED.items():
        _print_orders(f"{name}, by its motors", closed_accuracy(make(), motors))
    spatial = {**shown, **{f"{name}, cut": make() for name, (make, _) in CLOSED.items()}}
    spatial["24 turning joints"] = random_tree(11, n_bodies=24, joint_types=[setsu.Revolute])
    print("\n| mechanism | L T P against the torques | stepper = batch, bit for bit |\n|---|---|---|")
    for name, m in spatial.items():
        same = "yes" if stepper_is_the_batch_form(m) else "no"
        print(f"| {name} | {member_length_error(m):.1e} | {same} |")
    arm = shown.get("UR10 from URDF", shown["seven joints"])
    print(
        f"\n| half-width (samples of 1 ms; the delay) | RMS error with {NOISE} rad of noise | without |\n|---|---|---|"
    )
    for n, noisy, clean in noise_table(arm):
        print(f"| {n or 'no filter'} | {noisy:.3g} N m | {clean:.2g} N m |")


def _print_orders(name: str, found: dict[str, tuple[float, float]]) -> None:
    print(f"| {name} | " + " | ".join(f"{order:.3f} | {error:.1e}" for order, error in found.values()) + " |")


def _waves(m: setsu.Mechanism, steps: int) -> tuple[Floats, Floats, Floats, Floats]:
    """Sines of seeded size, rate and phase in a second: time, q, v, a."""
    random = np.random.default_rng(0)
    t = np.linspace(0.0, 1.0, steps + 1)
    size, rate, phase = random.uniform(-0.6, 0.6, m.nv), random.uniform(1.0, 4.0, m.nv), random.uniform(0, 6.0, m.nv)
    angle = np.outer(t, rate) + phase
    return t, size * np.sin(angle), size * rate * np.cos(angle), -size * rate**2 * np.sin(angle)


def _curve(m: setsu.Mechanism, steps: int) -> tuple[Floats, Floats]:
    """The same along the tangent at the neutral configuration, for joints with quaternions too: time, q."""
    t, wave, _, _ = _waves(m, steps)
    return t, setsu.integrate(m, np.tile(m.neutral(), (len(t), 1)), wave, 1.0)


def _closed_motion(m: setsu.Mechanism, motors: list[str], steps: int) -> tuple[Floats, Floats, Floats, Floats]:
    """Half a second in which motors follow sines of up to 4 rad/s, and all else the loops: time, q, v, a."""
    start = setsu.close_loops(m, m.neutral())
    places = [m.q_slices[m.joint_index(name)].start for name in motors]
    driven = []
    for k, (name, place) in enumerate(zip(motors, places, strict=True)):
        size, rate = 0.03 * (1.0 - 0.1 * k), 4.0 - 0.3 * k

        def motion(
            t: float, rest: float = float(start[place]), A: float = size, w: float = rate
        ) -> tuple[float, float, float]:
            # From rest: no loop has to be opened at the start.
            return rest + A * (1.0 - math.cos(w * t)), A * w * math.sin(w * t), A * w**2 * math.cos(w * t)

        driven.append(setsu.Prescribed(name, motion))
    run = setsu.simulate(
        m, start, np.zeros(m.nv), 0.5, 0.25 / steps, integrator="rk4", record_every=2, prescribed=driven
    )  # fmt: skip
    return run.time, run.q, run.v, run.acceleration


def _bare(m: setsu.Mechanism) -> setsu.Mechanism:
    """The mechanism without armature, friction and springs of joints."""
    keys = ("armature", "damping", "coulomb", "stiffness")

    def stripped(joint: setsu.Joint) -> setsu.Joint:
        return dataclasses.replace(joint, **{key: np.zeros_like(getattr(joint, key)).tolist() for key in keys})

    bodies = (
        dataclasses.replace(body, joint=stripped(body.joint)) if body.joint.nv else body for body in m.bodies
    )  # fmt: skip
    return dataclasses.replace(m, bodies=tuple(bodies))


def _error(found: Floats, exact: Floats) -> float:
    return float(np.abs(found - exact).max() / np.abs(exact).max())


if __name__ == "__main__":
    main()
