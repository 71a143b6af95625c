"""Does identification keep its word? Parameters of known mechanisms from noisy data, over many seeds.

Each run draws a mechanism whose bodies differ from the nominal one (pseudo-inertias A P Aᵀ with A = 1 + 0.1 N, which
stay those of real bodies) and whose drives have friction and inertia, lets it follow one exciting motion, adds noise to
coordinates and torques, and identifies with the nominal mechanism as prior. Counted are the deviations of the base
parameters from the true ones in units of the reported standard deviations.

    python -m setsu.benchmarks.identification --runs 100 --out benchmarks/identification
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setsu.dynamics import inertial_parameters, inverse_dynamics
from setsu.errors import InputError
from setsu.identification import ExcitationTrajectory, excitation_trajectory, identify, pseudo_inertia, with_parameters
from setsu.mechanism import Mechanism
from setsu.sample_mechanisms import planar_arm, puma560, seven_joint_arm

__all__ = ["SUBJECTS", "RecoveryStudy", "drawn_mechanism", "measured", "plot_recovery", "recovery_study"]

Floats = NDArray[np.float64]

SUBJECTS: dict[str, Callable[[], Mechanism]] = {
    "planar arm": lambda: planar_arm(2),
    "PUMA 560": puma560,
    "seven-joint arm": seven_joint_arm,
}
COORDINATE_NOISE = 2e-5
TORQUE_NOISE = 0.01
WANTED = 0.95


@dataclass(frozen=True)
class RecoveryStudy:
    """Deviations (runs, b) of the base parameters in their reported σ; consistent: runs with real bodies throughout."""

    subject: str
    names: tuple[str, ...]
    condition_number: float
    deviations: Floats
    consistent: int

    @property
    def within(self) -> float:
        """Share of all estimates within 3σ."""
        return float(np.mean(np.abs(self.deviations) <= 3.0))

    @property
    def worst_parameter(self) -> float:
        """Share of the runs within 3σ, for the parameter for which it is least."""
        return float(np.mean(np.abs(self.deviations) <= 3.0, axis=0).min())

    @property
    def whole_runs(self) -> float:
        """Share of the runs in which every parameter is within 3σ."""
        return float(np.mean(np.all(np.abs(self.deviations) <= 3.0, axis=1)))


def drawn_mechanism(nominal: Mechanism, rng: np.random.Generator) -> Mechanism:
    """Draw a mechanism of the same geometry with other, possible bodies, friction and drive inertia."""
    m = nominal
    P = pseudo_inertia(inertial_parameters(m))
    A = np.eye(4) + 0.1 * rng.standard_normal((m.n_bodies, 4, 4))
    # The mass may change, but no body may grow by moving its homogeneous coordinate.
    A[:, 3, :3] = 0.0
    parameters = np.array([_ten_numbers(a @ p @ a.T) for a, p in zip(A, P, strict=True)])
    size = np.abs(inverse_dynamics(m, m.neutral(), np.zeros(m.nv), np.ones(m.nv))) + 0.1
    return with_parameters(
        m,
        parameters.ravel(),
        {
            "armature": 0.05 * size * rng.uniform(0.5, 1.5, m.nv),
            "damping": 0.05 * size * rng.uniform(0.5, 1.5, m.nv),
            "coulomb": 0.05 * size * rng.uniform(0.5, 1.5, m.nv),
        },
    )


def measured(truth: Mechanism, motion: ExcitationTrajectory, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Return coordinates and torques (T, nv) of a motion with noise: white, torques by 1 % of each joint's largest."""
    tau = inverse_dynamics(truth, motion.q, motion.v, motion.a)
    noise = TORQUE_NOISE * np.abs(tau).max(axis=0)
    return (
        motion.q + COORDINATE_NOISE * rng.standard_normal(motion.q.shape),
        tau + noise * rng.standard_normal(tau.shape),
    )


def recovery_study(
    subject: str, runs: int, seed: int = 0, progress: Callable[[str, float], None] = lambda text, part: None
) -> RecoveryStudy:
    """Run the study on one of SUBJECTS."""
    if subject not in SUBJECTS:
        raise InputError(f"recovery_study: expected one of {', '.join(SUBJECTS)}, got {subject!r}")
    nominal = SUBJECTS[subject]()
    motion = excitation_trajectory(nominal, seed=seed)
    deviations, consistent, names = [], 0, ()
    for run in range(runs):
        progress(f"{subject}, run {run + 1}", run / runs)
        rng = np.random.default_rng([seed, run])
        truth = drawn_mechanism(nominal, rng)
        q, tau = measured(truth, motion, rng)
        fit = identify(nominal, motion.time, q, tau)
        names = fit.names
        joint_values = np.concatenate([truth.armature, truth.damping, truth.coulomb])
        true = fit.model.matrix @ np.concatenate([inertial_parameters(truth), joint_values])
        deviations.append((fit.parameters - true) / fit.std)
        consistent += bool(fit.physically_consistent)
    return RecoveryStudy(subject, names, motion.condition_number, np.array(deviations), consistent)


def _ten_numbers(P: Floats) -> Floats:
    E = P[:3, :3]
    inertia = np.trace(E) * np.eye(3) - E
    return np.array([P[3, 3], *P[:3, 3], *(inertia[i, j] for i, j in ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2)))])


def plot_recovery(studies: list[RecoveryStudy]) -> Any:
    """Return a figure: per parameter all deviations and the share within 3σ, beside the normal distribution."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12.0, 3.4 * len(studies)), layout="constrained")
    panels = figure.subplots(len(studies), 2, squeeze=False, width_ratios=(3, 1))
    for study, (left, right) in zip(studies, panels, strict=True):
        runs, count = study.deviations.shape
        spread = np.random.default_rng(0).uniform(-0.25, 0.25, (runs, count))
        left.axhspan(-3.0, 3.0, color="#2a9d8f", alpha=0.12)
        left.plot((np.arange(count) + spread).ravel(), study.deviations.ravel(), ".", color="#33658a", markersize=2.0)
        left.set(xlim=(-1, count), ylim=(-6.0, 6.0), xlabel="base parameter", ylabel="(identified - true) / σ")
        left.set_title(
            f"{study.subject}: {count} base parameters, {runs} runs; {100.0 * study.within:.2f} % within 3σ, "
            f"worst parameter {100.0 * study.worst_parameter:.1f} % of the runs",
            fontsize="medium",
        )
        bins = np.linspace(-5.0, 5.0, 51)
        right.hist(study.deviations.ravel(), bins=bins.tolist(), density=True, color="#9aa7b5", label="runs")
        right.plot(bins, np.exp(-(bins**2) / 2.0) / np.sqrt(2.0 * np.pi), color="#c2410c", label="normal distribution")
        right.set(xlabel="(identified - true) / σ", ylabel="density", ylim=(0.0, 0.65))
        right.legend(frameon=False, fontsize="small", loc="upper center")
        for panel in (left, right):
            panel.grid(alpha=0.3)
    return figure


def main() -> int:
    """Run the whole study; write recovery.png and recovery.json; exit code 1 when less than 95 % are within 3σ."""
    parser = argparse.ArgumentParser(prog="python -m setsu.benchmarks.identification", description="recovery study")
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--out", type=Path, default=Path("out/identification"))
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    studies = [recovery_study(subject, options.runs) for subject in SUBJECTS]
    rows = [
        {
            "subject": study.subject,
            "parameters": len(study.names),
            "runs": len(study.deviations),
            "condition_number": study.condition_number,
            "within_3_sigma": study.within,
            "worst_parameter_within_3_sigma": study.worst_parameter,
            "runs_with_all_within_3_sigma": study.whole_runs,
            "rms_deviation": float(np.sqrt(np.mean(study.deviations**2))),
            "physically_consistent_runs": study.consistent,
        }
        for study in studies
    ]
    (options.out / "recovery.json").write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")
    plot_recovery(studies).savefig(options.out / "recovery.png", dpi=110)
    for row in rows:
        print(", ".join(f"{key} {value:.4g}" if isinstance(value, float) else f"{value}" for key, value in row.items()))
    print("written:", options.out / "recovery.png")
    return 0 if all(study.worst_parameter >= WANTED for study in studies) else 1


if __name__ == "__main__":
    raise SystemExit(main())
