"""One small call per family of compiled code: after them, no function of the library has to be compiled again.

What depends on a mechanism (its kinds of joints) is small and compiled when first used; `warm_up` takes mechanisms too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

import setsu

__all__ = ["FIRST_CALLS", "OWN", "run_family", "warm_up"]


def tree() -> setsu.Recording:
    """A run of a tree."""
    m = setsu.sample_mechanisms.puma560()
    return setsu.simulate(m, m.neutral(), np.zeros(m.nv), duration=0.02, step=0.01)


def constrained() -> setsu.ConstrainedDynamics:
    """Accelerations and forces of a mechanism with a loop."""
    m = setsu.sample_mechanisms.four_bar()
    zero = np.zeros(m.nv)
    return setsu.constrained_dynamics(m, m.neutral(), zero, zero)


def loop() -> setsu.Recording:
    """A run of a mechanism with a loop."""
    m = setsu.sample_mechanisms.four_bar()
    return setsu.simulate(m, m.neutral(), np.zeros(m.nv), duration=0.02, step=0.01)


def friction() -> setsu.Recording:
    """A run of a block that comes to rest by dry friction."""
    builder = setsu.MechanismBuilder("block")
    builder.add_body("block", joint=setsu.Prismatic((1, 0, 0), coulomb=1.0), mass=1.0)
    return setsu.simulate(builder.build(), [0.0], [0.01], duration=0.02, step=0.01)


def contact() -> setsu.Recording:
    """A run of a box that stands on the floor, and of another on it."""
    box, edge = setsu.Shape("box", (0.1, 0.1, 0.1)), 0.05
    corners = [(x, y, z) for x in (-edge, edge) for y in (-edge, edge) for z in (-edge, edge)]
    builder = setsu.MechanismBuilder("two boxes")
    for name in ("lower", "upper"):
        builder.add_body(name, joint=setsu.Free(name=name), mass=1.0, inertia=np.eye(3) / 600, collisions=[box])
        builder.add_contact_points(name, corners, setsu.Material(0.5, 0.4))
    m = builder.build()
    q = [0.0, 0.0, 0.05, 0.0, 0.0, 0.0, 1.0, 0.01, 0.0, 0.15, 0.0, 0.0, 0.0, 1.0]
    floor = setsu.Environment.floor()
    return setsu.simulate(m, q, np.zeros(12), 0.02, 2e-3, environment=floor, body_contacts=True)


def derivatives() -> setsu.ConstrainedDynamicsDerivatives:
    """Derivatives of a mechanism with loops."""
    m = setsu.sample_mechanisms.delta_robot()
    zero = np.zeros(m.nv)
    return setsu.constrained_dynamics_derivatives(m, setsu.close_loops(m, m.neutral()), zero, zero)


def contact_derivatives() -> object:
    """Derivatives of a step of a box on the floor."""
    m = setsu.sample_mechanisms.floating_box()
    q = m.neutral()
    q[2] = 0.1
    sim = setsu.Simulator(m, environment=setsu.Environment.floor())
    sim.reset(q, np.zeros(m.nv))
    return sim.derivatives()


def inverse_kinematics() -> setsu.InverseKinematics:
    """A posture of an arm."""
    m = setsu.sample_mechanisms.puma560()
    return setsu.inverse_kinematics(m, {m.body_names[-1]: setsu.frame_pose(m, m.neutral(), m.body_names[-1])})


FIRST_CALLS: dict[str, Callable[[], object]] = {
    "tree": tree,
    "rows": constrained,
    "constrained": constrained,
    "loop": loop,
    "contact": contact,
    "derivatives": derivatives,
    "contact_derivatives": contact_derivatives,
    "inverse_kinematics": inverse_kinematics,
}
# Where the functions of a family are, if its call needs those of others too. Constrained dynamics and runs both need
# rows of loops and their pivots: neither is to load the code of the other.
OWN: dict[str, str | tuple[str, ...]] = {
    "rows": ("setsu.constraints.loop_motion.", "setsu.constraints.sparse_factor."),
    "constrained": "setsu.constraints.sparse_solve.",
    "loop": "setsu.simulation.",
    "contact_derivatives": "setsu.simulation.contact_step_",
}
# What else calls compiled functions of a family.
_OTHERS: dict[str, tuple[Callable[[], object], ...]] = {"loop": (friction,), "rows": (loop,)}


def run_family(name: str) -> None:
    """Call every function of a family that Python can call."""
    for call in (FIRST_CALLS[name], *_OTHERS.get(name, ())):
        call()


def warm_up(mechanisms: Iterable[setsu.Mechanism] = ()) -> None:
    """Compile all families of code for this machine, and the dynamics of some mechanisms, into the cache on disk.

    >>> setsu.warming.warm_up([setsu.sample_mechanisms.puma560()])
    """
    for name in FIRST_CALLS:
        run_family(name)
    for m in mechanisms:
        q, v = m.neutral(), np.zeros(m.nv)
        for count in (1, 64):
            states = np.tile(q, (count, 1)), np.tile(v, (count, 1)), np.tile(v, (count, 1))
            setsu.inverse_dynamics(m, *states)
            setsu.forward_dynamics(m, *states)
            setsu.mass_matrix(m, states[0])
