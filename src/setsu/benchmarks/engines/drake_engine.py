"""Drake's MultibodyPlant called from Python; setting the state is part of the time, since it starts the computation."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from functools import partial
from importlib import import_module
from importlib.metadata import version
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
    """Drake on one mechanism."""

    name = "Drake"

    def __init__(self, urdf: Path, states: States) -> None:
        parsing: Any = import_module("pydrake.multibody.parsing")
        plants: Any = import_module("pydrake.multibody.plant")
        trees: Any = import_module("pydrake.multibody.tree")
        self.version = version("drake")
        self.plant: Any = plants.MultibodyPlant(0.0)
        parsing.Parser(self.plant).AddModels(str(urdf))
        root = self.plant.GetBodyByName(_root_link(urdf))
        # A root link called "world" is the world to Drake.
        if not states.floating_base and root.name() != "world":
            self.plant.WeldFrames(self.plant.world_frame(), root.body_frame())
        self.plant.mutable_gravity_field().set_gravity_vector([0.0, 0.0, -9.81])
        self.plant.Finalize()
        self.context: Any = self.plant.CreateDefaultContext()
        self.forces: Any = trees.MultibodyForces(self.plant)
        self.torque_port: Any = self.plant.get_applied_generalized_force_input_port()
        self.acceleration_port: Any = self.plant.get_generalized_acceleration_output_port()
        self.states = states
        self._order(root)

    def _order(self, root: Any) -> None:
        names = self.states.joint_names[1:] if self.states.floating_base else self.states.joint_names
        joints = [self.plant.GetJointByName(name) for name in names]
        self.q_places = np.array([joint.position_start() for joint in joints], dtype=int)
        self.v_places = np.array([joint.velocity_start() for joint in joints], dtype=int)
        if self.states.floating_base:
            self.base_q = root.floating_positions_start()
            base_v = root.floating_velocities_start_in_v()
            # Drake keeps angular before linear velocity.
            self.v_places = np.concatenate([base_v + np.array([3, 4, 5, 0, 1, 2]), self.v_places])

    def calls(self) -> list[Call]:
        """Inverse dynamics, forward dynamics and mass matrix."""
        plant, context = self.plant, self.context
        state, acceleration, torque = self._vectors(0)

        def inverse(state: Array = state, acceleration: Array = acceleration) -> Array:
            plant.SetPositionsAndVelocities(context, state)
            self.forces.SetZero()
            plant.CalcForceElementsContribution(context, self.forces)
            return plant.CalcInverseDynamics(context, acceleration, self.forces)

        def forward(state: Array = state) -> Array:
            plant.SetPositionsAndVelocities(context, state)
            return self.acceleration_port.Eval(context)

        def mass_matrix(state: Array = state) -> Array:
            plant.SetPositionsAndVelocities(context, state)
            return plant.CalcMassMatrix(context)

        def inverse_at(k: int) -> Array:
            state, acceleration, _ = self._vectors(k)
            force = inverse(state, acceleration)[self.v_places]
            return self._base(k).force_back(force) if self.states.floating_base else force

        def forward_at(k: int) -> Array:
            state, _, torque = self._vectors(k)
            self.torque_port.FixValue(context, torque)
            result = forward(state)[self.v_places]
            return self._base(k).acceleration_back(result) if self.states.floating_base else result

        def mass_matrix_at(k: int) -> Array:
            M = mass_matrix(self._vectors(k)[0])[np.ix_(self.v_places, self.v_places)]
            return self._base(k).matrix_back(M) if self.states.floating_base else M

        prepare: Callable[[], object] = partial(self.torque_port.FixValue, context, torque)
        return [
            Call(quantity, "single", "Python call", run, _rows(one), prepare=prepare)
            for quantity, run, one in (
                ("inverse_dynamics", inverse, inverse_at),
                ("forward_dynamics", forward, forward_at),
                ("mass_matrix", mass_matrix, mass_matrix_at),
            )
        ]

    def _base(self, k: int) -> FreeBase:
        return FreeBase(self.states.q[k], self.states.v[k], angular_in_world=True)

    def _vectors(self, k: int) -> tuple[Array, Array, Array]:
        """State (positions, velocities), acceleration and torque of state k in Drake's order and frames."""
        states, plant = self.states, self.plant
        q, v, a, tau = states.q[k], states.v[k], states.a[k], states.tau[k]
        positions = np.zeros(plant.num_positions())
        if states.floating_base:
            base = self._base(k)
            positions[self.base_q : self.base_q + 7] = q[[6, 3, 4, 5, 0, 1, 2]]
            q, v, a, tau = q[7:], base.velocity(v), base.acceleration(a), base.force(tau)
        positions[self.q_places] = q
        velocities, acceleration, torque = (np.zeros(plant.num_velocities()) for _ in range(3))
        velocities[self.v_places] = v
        acceleration[self.v_places] = a
        torque[self.v_places] = tau
        return np.concatenate([positions, velocities]), acceleration, torque


def _root_link(urdf: Path) -> str:
    """Name of the link that no joint has as its child."""
    robot = ElementTree.parse(urdf).getroot()
    children = {child.get("link") for child in robot.findall("joint/child")}
    (root,) = (link.get("name", "") for link in robot.findall("link") if link.get("name") not in children)
    return root


def _rows(one: Callable[[int], Array]) -> Callable[[], Array]:
    return lambda: np.array([one(k) for k in range(CHECKED)])
