"""Pinocchio: calls from Python, and its own C++ loop over states (`rneaInParallel`, `abaInParallel`)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setsu.benchmarks.engines import Call, NotMeasuredError, States

__all__ = ["Engine"]

# Its Data takes about nv³ numbers: 1.7 GB at 300 joints, more than most machines have at 1000.
LARGEST_NV = 300
LARGEST_NV_ON_TWO_THREADS = 100
CHECKED = 4


class Engine:
    """Pinocchio on one mechanism."""

    name = "Pinocchio"

    def __init__(self, urdf: Path, states: States) -> None:
        self.pin: Any = import_module("pinocchio")
        self.version = str(self.pin.__version__)
        nv = states.v.shape[1]
        if nv > LARGEST_NV:
            raise NotMeasuredError(f"its Data needs about nv³ memory, too much above {LARGEST_NV} joints")
        if states.floating_base:
            self.model = self.pin.buildModelFromUrdf(str(urdf), self.pin.JointModelFreeFlyer())
        else:
            self.model = self.pin.buildModelFromUrdf(str(urdf))
        self.data = self.model.createData()
        self.states = states
        self._order(states)

    def _order(self, states: States) -> None:
        """Find where our columns stand in Pinocchio's vectors."""
        self.q_columns = np.zeros(self.model.nq, dtype=int)
        self.v_columns = np.zeros(self.model.nv, dtype=int)
        q_start = v_start = 0
        for index, name in enumerate(states.joint_names):
            if states.floating_base and index == 0:
                joint = self.model.joints[1]
            else:
                joint = self.model.joints[self.model.getJointId(name)]
            self.q_columns[joint.idx_q : joint.idx_q + joint.nq] = q_start + np.arange(joint.nq)
            self.v_columns[joint.idx_v : joint.idx_v + joint.nv] = v_start + np.arange(joint.nv)
            q_start += joint.nq
            v_start += joint.nv
        self.back = np.argsort(self.v_columns)
        self.q = np.ascontiguousarray(states.q[:, self.q_columns])
        self.v, self.a, self.tau = (
            np.ascontiguousarray(part[:, self.v_columns]) for part in (states.v, states.a, states.tau)
        )

    def calls(self) -> list[Call]:
        """Python calls of the five quantities, and the loops Pinocchio offers."""
        pin, model, data = self.pin, self.model, self.data
        q, v, a, tau = self.q[0].copy(), self.v[0].copy(), self.a[0].copy(), self.tau[0].copy()
        functions: dict[str, tuple[Callable[[], Any], Callable[[int], NDArray[np.float64]]]] = {
            "inverse_dynamics": (
                partial(pin.rnea, model, data, q, v, a),
                lambda k: pin.rnea(model, data, self.q[k], self.v[k], self.a[k]),
            ),
            "forward_dynamics": (
                partial(pin.aba, model, data, q, v, tau),
                lambda k: pin.aba(model, data, self.q[k], self.v[k], self.tau[k]),
            ),
            "mass_matrix": (partial(pin.crba, model, data, q), self._mass_matrix),
            "inverse_dynamics_derivatives": (
                partial(pin.computeRNEADerivatives, model, data, q, v, a),
                self._inverse_derivatives,
            ),
            "forward_dynamics_derivatives": (
                partial(pin.computeABADerivatives, model, data, q, v, tau),
                self._forward_derivatives,
            ),
        }
        calls = []
        for quantity, (run, one) in functions.items():
            result = lambda one=one: np.array([self._ours(one(k)) for k in range(CHECKED)])  # noqa: E731
            calls.append(Call(quantity, "single", "Python call", run, result))
        return calls + self._loops()

    def _loops(self) -> list[Call]:
        pin = self.pin
        q, v, a, tau = (np.asfortranarray(part.T) for part in (self.q, self.v, self.a, self.tau))
        out = np.asfortranarray(np.zeros_like(v))
        calls = []
        # Every thread needs a Data record of its own, which is large for large mechanisms.
        for threads in (1, 2) if self.model.nv <= LARGEST_NV_ON_TWO_THREADS else (1,):
            pool = pin.ModelPool(self.model, threads)
            for quantity, loop, last in (
                ("inverse_dynamics", pin.rneaInParallel, a),
                ("forward_dynamics", pin.abaInParallel, tau),
            ):
                run = partial(loop, threads, pool, q, v, last, out)

                def result(run: Callable[[], object] = run) -> NDArray[np.float64]:
                    run()
                    return out.T[:CHECKED, self.back].copy()

                calls.append(Call(quantity, "batch", "C++ loop", run, result, self.states.count, threads))
        return calls

    def _mass_matrix(self, k: int) -> NDArray[np.float64]:
        # Older versions fill the upper triangle only.
        upper = np.triu(self.pin.crba(self.model, self.data, self.q[k]))
        return upper + np.triu(upper, 1).T

    def _inverse_derivatives(self, k: int) -> NDArray[np.float64]:
        dq, dv, da = self.pin.computeRNEADerivatives(self.model, self.data, self.q[k], self.v[k], self.a[k])
        upper = np.triu(da)
        return np.array([dq, dv, upper + np.triu(upper, 1).T])

    def _forward_derivatives(self, k: int) -> NDArray[np.float64]:
        dq, dv, dtau = self.pin.computeABADerivatives(self.model, self.data, self.q[k], self.v[k], self.tau[k])
        upper = np.triu(dtau)
        return np.array([dq, dv, upper + np.triu(upper, 1).T])

    def _ours(self, value: NDArray[np.float64]) -> NDArray[np.float64]:
        """Bring a vector, matrix or stack of matrices to our order of joints."""
        value = np.array(value)
        if value.ndim == 1:
            return value[self.back]
        return value[..., self.back, :][..., :, self.back]
