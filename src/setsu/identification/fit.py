"""What an identification leaves behind."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setsu.errors import InputError, nearest_names
from setsu.identification.alarms import Alarm
from setsu.identification.motion import SmoothMotion
from setsu.identification.payload import IdentifiedPayload
from setsu.identification.physically_consistent import PhysicallyConsistent
from setsu.identification.torque_model import TorqueModel

__all__ = ["Fit", "Further", "Validation"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Validation:
    """Measured and predicted torques (T, joints) of a motion that was not used for the fit; r2, rms per joint."""

    source: str
    time: Floats
    measured: Floats
    predicted: Floats
    r2: Floats
    rms: Floats


@dataclass(frozen=True)
class Further:
    """Unknowns beside base parameters: names ("delay", "fs_elbow", "vs_elbow", "gain_elbow"), values, std; SI units."""

    names: tuple[str, ...]
    values: Floats
    std: Floats

    def __getitem__(self, name: str) -> float:
        if name not in self.names:
            raise InputError(f"Fit.further: unknown {name!r}{nearest_names(name, self.names)}")
        return float(self.values[self.names.index(name)])


@dataclass(frozen=True)
class Fit:
    """Identified parameters.

    parameters, std: base parameters (b,) with their standard deviations, by weighted least squares; `names` says what
    they are (SI units); covariance (b, b). essential (b,): which of them stand out from their σ;
    essential_parameters (b,): estimated with those alone, the others zero. r2: share of the torque's variance that
    is explained, per joint; r2_unseen: the same for fifths of the time predicted from the rest. noise: standard
    deviation of the residual per joint, N m or N; correlation: samples per independent sample of it. condition_number:
    of the regressor with columns of length one. motion, measured, predicted: what was compared, (T, joints), logs one
    after the other. physically_consistent: full parameters of bodies that can exist; true if every pseudo-inertia is
    positive definite; r2_consistent: R² with these. further: delay, Stribeck friction, drive gains. payloads: what was
    found of them. alarms: what is wrong with the data, empty for a clean log; notes: alarms that were accepted.
    """

    model: TorqueModel
    source: str
    friction: str
    motion: SmoothMotion
    measured: Floats
    predicted: Floats
    parameters: Floats
    std: Floats
    covariance: Floats
    essential: NDArray[np.bool_]
    essential_parameters: Floats
    further: Further
    payloads: tuple[IdentifiedPayload, ...]
    noise: Floats
    correlation: Floats
    condition_number: float
    r2: Floats
    r2_unseen: Floats
    r2_consistent: Floats
    physically_consistent: PhysicallyConsistent
    alarms: tuple[Alarm, ...] = ()
    notes: tuple[Alarm, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the base parameters (b,)."""
        return self.model.names

    @property
    def prior(self) -> Floats:
        """Base parameters of the mechanism as it was given, (b,)."""
        return self.model.base_prior

    def predict(self, q: ArrayLike, v: ArrayLike, a: ArrayLike, parameters: str = "least_squares") -> Floats:
        """Return the torques (..., nv) of a motion, friction and springs included, without payload and delay.

        q, v, a: (..., nq), (..., nv), (..., nv). parameters: "least_squares", "essential", "consistent" or "prior".
        With loops or couplings the torques are those on the independent coordinates.
        """
        model = self.model
        arrays = [np.asarray(x, dtype=np.float64) for x in (q, v, a)]
        beta = self._chosen(parameters)
        return model.regressor(*arrays) @ beta + model.known_torque(*arrays) + self._stribeck(arrays[0], arrays[1])

    def _stribeck(self, q: Floats, v: Floats) -> Floats:
        """Return the Stribeck part of the friction, (..., rows)."""
        from setsu.constraints.states import coordinate_names

        total = np.zeros_like(v)
        for d, name in enumerate(coordinate_names(self.model.mechanism)):
            if f"fs_{name}" in self.further.names:
                fs, vs = self.further[f"fs_{name}"], self.further[f"vs_{name}"]
                total[..., d] = fs * np.sign(v[..., d]) * np.exp(-np.minimum((v[..., d] / vs) ** 2, 700.0))
        return self.model.freedom.reduce_torque(q, total)

    def validate(
        self,
        time: ArrayLike,
        q: ArrayLike,
        tau: ArrayLike,
        v: ArrayLike | None = None,
        parameters: str = "least_squares",
    ) -> Validation:
        """Predict the torques of another motion, smoothed like the first, and compare."""
        from setsu.identification.identify import validate

        return validate(self, time, q, tau, v, parameters)

    def save_report(self, folder: str | Path, validation: Validation | None = None) -> Path:
        """Write report.html and its figures (PNG) into a folder; return the page's path. Needs the extra `plots`."""
        from setsu.identification.report import write_report

        return write_report(self, Path(folder), validation)

    def _chosen(self, parameters: str) -> Floats:
        choices = {
            "least_squares": self.parameters,
            "essential": self.essential_parameters,
            "consistent": self.physically_consistent.base_parameters,
            "prior": self.prior,
        }
        if parameters not in choices:
            raise InputError(f"Fit.predict: unknown parameters {parameters!r}{nearest_names(parameters, choices)}")
        return choices[parameters]

    def __repr__(self) -> str:
        return (
            f"Fit({self.model.mechanism.name!r}, {len(self.names)} base parameters, {self.essential.sum()} essential, "
            f"r2 {self.r2.min():.4f} to {self.r2.max():.4f})"
        )
