"""The pictures of the identification tutorial: a log with a late torque and Stribeck friction, fitted twice.

    python -m setsu.benchmarks.identification_pictures --out docs/tutorials

A planar arm that differs from its model is measured with 1 % noise; its torques come 8 ms late and its dry friction
falls with speed. The plain fit explains more than 99 % of the torques and raises alarms; the fit with both modelled
raises none.
"""

from __future__ import annotations

import argparse
import json
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setsu.benchmarks.identification import drawn_mechanism, measured
from setsu.dynamics import inertial_parameters, inverse_dynamics
from setsu.errors import ModelWarning
from setsu.identification import Fit, excitation_trajectory, identify
from setsu.sample_mechanisms import planar_arm

__all__ = ["TwoFits", "two_fits", "write_pictures"]

Floats = NDArray[np.float64]

DELAY = 0.008
_PLAIN, _MODELLED, _MEASURED = "#c2410c", "#2a7f62", "#9aa7b5"
_LABELS = ("plain fit", "delay and Stribeck friction modelled")


@dataclass(frozen=True)
class TwoFits:
    """The same log fitted without and with what is in it; true: base parameters (b,) of the arm that was measured."""

    plain: Fit
    modelled: Fit
    true: Floats

    @property
    def both(self) -> tuple[tuple[str, str, Fit], ...]:
        """Label, colour and fit."""
        return ((_LABELS[0], _PLAIN, self.plain), (_LABELS[1], _MODELLED, self.modelled))


def two_fits(seed: int = 1) -> TwoFits:
    """Make the log and fit it twice."""
    nominal = planar_arm(2)
    motion = excitation_trajectory(nominal, duration=8.0, trials=60)
    rng = np.random.default_rng(seed)
    truth = drawn_mechanism(nominal, rng)
    q, tau = measured(truth, motion, rng)
    before = motion.time - DELAY
    late = inverse_dynamics(truth, motion.position(before), motion.velocity(before), motion.acceleration(before))
    now = inverse_dynamics(truth, motion.q, motion.v, motion.a)
    rates = motion.velocity(before)
    stribeck = 0.04 * np.abs(now).max(axis=0) * np.sign(rates)
    stribeck *= np.exp(-((rates / (0.1 * np.abs(motion.v).max(axis=0))) ** 2))
    tau = tau - now + late + stribeck
    v = motion.v + 1e-3 * rng.standard_normal(motion.v.shape)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        plain = identify(nominal, motion.time, q, tau, v)
    modelled = identify(nominal, motion.time, q, tau, v, friction="coulomb+viscous+stribeck", delay=True)
    joint_values = np.concatenate([truth.armature, truth.damping, truth.coulomb])
    return TwoFits(plain, modelled, plain.model.matrix @ np.concatenate([inertial_parameters(truth), joint_values]))


def spectrum(residual: Floats, step: float, pieces: int = 8) -> tuple[Floats, Floats]:
    """Return frequencies (Hz) and the residual's spectral density over that of white noise of the same variance."""
    length = 2 * len(residual) // (pieces + 1)
    window: Floats = np.hanning(length)
    starts = [k * length // 2 for k in range(pieces)]
    parts = [np.abs(np.fft.rfft(window * residual[k : k + length])) ** 2 for k in starts if k + length <= len(residual)]
    power = np.asarray(parts, dtype=np.float64).mean(axis=0) / float(np.sum(window**2) * np.var(residual))
    return np.asarray(np.fft.rfftfreq(length, step), dtype=np.float64)[1:], power[1:]


def write_pictures(fits: TwoFits, folder: Path) -> list[Path]:
    """Write fit, residual, spectrum and intervals as PNG files; return their paths."""
    from matplotlib.figure import Figure

    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, draw in (("fit", _fit), ("residual", _residual), ("spectrum", _spectrum), ("intervals", _intervals)):
        figure = Figure(figsize=(10.0, 4.2), layout="constrained")
        draw(figure, fits)
        path = folder / f"identification_{name}.png"
        figure.savefig(path, dpi=100)
        written.append(path)
    return written


def _panels(figure: Any, fits: TwoFits) -> list[tuple[int, str, Any]]:
    axes = figure.subplots(1, len(fits.plain.model.rows), squeeze=False)[0]
    for panel in axes:
        panel.grid(alpha=0.3)
    return [(j, joint, panel) for j, (joint, panel) in enumerate(zip(fits.plain.model.rows, axes, strict=True))]


def _legend(figure: Any) -> None:
    figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)


def _fit(figure: Any, fits: TwoFits) -> None:
    for j, joint, panel in _panels(figure, fits):
        panel.plot(fits.plain.motion.time, fits.plain.measured[:, j], color=_MEASURED, linewidth=2.2, label="measured")
        for label, colour, fit in fits.both:
            panel.plot(fit.motion.time, fit.predicted[:, j], color=colour, linewidth=1.0, label=label)
        r2 = " and ".join(f"{fit.r2[j]:.4f}" for _, _, fit in fits.both)
        panel.set(xlim=(2.0, 5.0), xlabel="time (s)", ylabel="torque (N m)", title=f"{joint}: R² {r2}")
    _legend(figure)


def _residual(figure: Any, fits: TwoFits) -> None:
    for j, joint, panel in _panels(figure, fits):
        for label, colour, fit in fits.both:
            rest = fit.measured[:, j] - fit.predicted[:, j]
            panel.plot(fit.motion.time, rest, ".", color=colour, markersize=2.0, label=label)
        sigma = fits.modelled.noise[j]
        panel.axhspan(-2.0 * sigma, 2.0 * sigma, color=_MODELLED, alpha=0.15)
        panel.set(xlabel="time (s)", ylabel="measured - predicted (N m)", title=f"{joint}: noise σ = {sigma:.3g} N m")
    _legend(figure)


def _spectrum(figure: Any, fits: TwoFits) -> None:
    for j, joint, panel in _panels(figure, fits):
        for label, colour, fit in fits.both:
            rest = fit.measured[:, j] - fit.predicted[:, j]
            panel.loglog(*spectrum(rest, float(np.diff(fit.motion.time).mean())), color=colour, label=label)
        panel.axhline(1.0, color="black", linewidth=0.8, label="white noise")
        panel.set(xlabel="frequency (Hz)", ylabel="spectral density / that of white noise", title=joint)
    _legend(figure)


def _intervals(figure: Any, fits: TwoFits) -> None:
    panel = figure.subplots()
    labels = fits.plain.model.labels
    panel.axhspan(-1.96, 1.96, color=_MODELLED, alpha=0.12)
    for shift, (label, colour, fit) in zip((-0.15, 0.15), fits.both, strict=True):
        off = (fit.parameters - fits.true) / fit.std
        inside = int((np.abs(off) <= 1.96).sum())
        text = f"{label}: {inside} of {len(off)} truths inside 95 %"
        panel.errorbar(np.arange(len(off)) + shift, off, 1.96, fmt="o", color=colour, markersize=4, label=text)
    panel.axhline(0.0, color="black", linewidth=0.8)
    panel.set_xticks(range(len(labels)), labels, rotation=30, ha="right", fontsize="small")
    panel.set(ylabel="(identified - true) / σ")
    panel.grid(alpha=0.3)
    panel.legend(frameon=False)


def main() -> int:
    """Write the pictures and print what they show; exit code 1 when alarms are not as the tutorial says."""
    parser = argparse.ArgumentParser(prog="python -m setsu.benchmarks.identification_pictures")
    parser.add_argument("--out", type=Path, default=Path("out/identification"))
    options = parser.parse_args()
    fits = two_fits()
    for path in write_pictures(fits, options.out):
        print("written:", path)
    shown = {
        "alarms of the plain fit": [str(alarm) for alarm in fits.plain.alarms],
        "alarms with both modelled": [str(alarm) for alarm in fits.modelled.alarms],
        "further": dict(zip(fits.modelled.further.names, fits.modelled.further.values.round(5).tolist(), strict=True)),
        "r2": [fit.r2.round(4).tolist() for _, _, fit in fits.both],
    }
    print(json.dumps(shown, indent=2, ensure_ascii=False))
    kinds = {alarm.kind for alarm in fits.plain.alarms}
    return 0 if {"delay", "friction shape"} <= kinds and not fits.modelled.alarms else 1


if __name__ == "__main__":
    raise SystemExit(main())
