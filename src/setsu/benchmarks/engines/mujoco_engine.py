"""MuJoCo without contacts, limits and sensors: its functions called from Python on a state that is set beforehand."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setsu.benchmarks.engines import Call, States
from setsu.benchmarks.engines.frames import FreeBase

__all__ = ["Engine"]

Array = NDArray[np.float64]
CHECKED = 4


class Engine:
    """MuJoCo on one mechanism."""

    name = "MuJoCo"

    def __init__(self, urdf: Path, states: States) -> None:
        self.mj: Any = import_module("mujoco")
        self.version = str(self.mj.__version__)
        spec = self.mj.MjSpec.from_string(urdf.read_text(encoding="utf-8"))
        # The file's numbers as they are: no repair of inertias, no lower bounds, fixed links merged as everywhere.
        spec.compiler.fusestatic = True
        spec.compiler.balanceinertia = False
        spec.compiler.boundmass = 0.0
        spec.compiler.boundinertia = 0.0
        if states.floating_base:
            spec.worldbody.first_body().add_freejoint(name="free_base")
        self.model = spec.compile()
        self.model.opt.gravity[:] = (0.0, 0.0, -9.81)
        flags = self.mj.mjtDisableBit
        self.model.opt.disableflags = int(flags.mjDSBL_CONSTRAINT | flags.mjDSBL_SENSOR | flags.mjDSBL_ACTUATION)
        self.data = self.mj.MjData(self.model)
        self.states = states
        self._order(states)

    def _order(self, states: States) -> None:
        base = 1 if states.floating_base else 0
        indices = [self.model.joint(name).id for name in states.joint_names[base:]]
        self.q_places = np.array([self.model.jnt_qposadr[index] for index in indices], dtype=int)
        self.v_places = np.array([self.model.jnt_dofadr[index] for index in indices], dtype=int)
        if base:
            self.v_places = np.concatenate([np.arange(6), self.v_places])

    def calls(self) -> list[Call]:
        """One call for a whole evaluation where MuJoCo has it, and the smooth part alone."""
        mj, model, data = self.mj, self.model, self.data
        force = np.zeros(model.nv)
        make_mass_matrix = getattr(mj, "mj_makeM", mj.mj_crb)

        def newton_euler() -> None:
            mj.mj_kinematics(model, data)
            mj.mj_comPos(model, data)
            mj.mj_comVel(model, data)
            mj.mj_rne(model, data, 1, force)

        def mass_matrix() -> None:
            mj.mj_kinematics(model, data)
            mj.mj_comPos(model, data)
            make_mass_matrix(model, data)

        inverse: Callable[[], object] = partial(mj.mj_inverse, model, data)
        forward: Callable[[], object] = partial(mj.mj_forward, model, data)
        prepare: Callable[[], object] = partial(self._set, 0)
        return [
            Call(quantity, "single", variant, run, self._results(run, read), prepare=prepare)
            for quantity, variant, run, read in (
                ("inverse_dynamics", "mj_inverse", inverse, lambda k: self._force_back(k, data.qfrc_inverse)),
                ("inverse_dynamics", "kinematics + mj_rne", newton_euler, lambda k: self._force_back(k, force)),
                ("forward_dynamics", "mj_forward", forward, self._acceleration_back),
                ("mass_matrix", "kinematics + mass matrix", mass_matrix, self._mass_matrix_back),
            )
        ]

    def _results(self, run: Callable[[], object], read: Callable[[int], Array]) -> Callable[[], Array]:
        def result() -> Array:
            rows = []
            for k in range(CHECKED):
                self._set(k)
                run()
                rows.append(read(k))
            return np.array(rows)

        return result

    def _base(self, k: int) -> FreeBase:
        return FreeBase(self.states.q[k], self.states.v[k], angular_in_world=False)

    def _set(self, k: int) -> None:
        """Write state k into the data record."""
        states, data = self.states, self.data
        q, v, a, tau = states.q[k], states.v[k], states.a[k], states.tau[k]
        if states.floating_base:
            base = self._base(k)
            data.qpos[:7] = q[[0, 1, 2, 6, 3, 4, 5]]
            q, v, a, tau = q[7:], base.velocity(v), base.acceleration(a), base.force(tau)
        data.qpos[self.q_places] = q
        data.qvel[self.v_places] = v
        data.qacc[self.v_places] = a
        data.qfrc_applied[self.v_places] = tau

    def _force_back(self, k: int, force: Array) -> Array:
        ours = force[self.v_places]
        return self._base(k).force_back(ours) if self.states.floating_base else ours.copy()

    def _acceleration_back(self, k: int) -> Array:
        ours = self.data.qacc[self.v_places]
        return self._base(k).acceleration_back(ours) if self.states.floating_base else ours.copy()

    def _mass_matrix_back(self, k: int) -> Array:
        full = np.zeros((self.model.nv, self.model.nv))
        try:
            self.mj.mj_fullM(self.model, self.data, full)
        except TypeError:  # before MuJoCo 4 the arguments were the model, the target and the sparse matrix
            self.mj.mj_fullM(self.model, full, self.data.qM)
        ours = full[np.ix_(self.v_places, self.v_places)]
        return self._base(k).matrix_back(ours) if self.states.floating_base else ours
