"""Mass matrix, inverse and forward dynamics of MJCF models, Setsu against MuJoCo.

MuJoCo gives the linear velocity of a free joint in world axes, Setsu in body axes: qvel = B v with B = diag(R, 1, …),
and so qacc = B a + dB/dt v, tau = Bᵀ qfrc, M = Bᵀ M_mj B. MuJoCo softens dry friction into a constraint; it is taken
out there and added by its law, coulomb sign(v). Contacts, limits and equalities are switched off.
"""

from pathlib import Path

import mujoco
import numpy as np
import pytest
from reference_solutions.pinocchio_twin import relative_error

import setsu

pytestmark = pytest.mark.thin(2)

DATA = Path(__file__).parents[1] / "data"
FILES = ("driven_arm.xml", "free_flyers.xml", "cart_and_legs.xml")
AGREEMENT = 1e-10


class MujocoTwin:
    """A mechanism, MuJoCo's model of the same file, and one state in both."""

    def __init__(self, file: str, seed: int) -> None:
        self.mechanism = m = setsu.load(DATA / file)
        self.model = mujoco.MjModel.from_xml_path(str(DATA / file))
        self.model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
        self.model.dof_frictionloss[:] = 0.0
        self.data = mujoco.MjData(self.model)
        rng = np.random.default_rng(seed)
        self.q = m.random_configuration(rng)
        self.v, self.a, self.tau = rng.standard_normal((3, m.nv))
        self.friction = m.coulomb * np.sign(self.v)
        self.B, drift = np.zeros((m.nv, m.nv)), np.zeros(m.nv)
        poses = setsu.body_poses(m, self.q)
        for index, body in enumerate(m.moving):
            joint, where, rate = self.model.joint(body.joint.name), m.v_slices[index], self.v[m.v_slices[index]]
            start, count = joint.dofadr[0], body.joint.nv
            self.B[start : start + count, where] = np.eye(count)
            own = self.q[m.q_slices[index]].copy()
            if body.joint.nq != count:
                own[-4:] = np.roll(own[-4:], 1)  # w x y z there
            if isinstance(body.joint, setsu.Free):
                R = poses[index, :3, :3]
                self.B[start : start + 3, where.start : where.start + 3] = R
                drift[start : start + 3] = R @ np.cross(rate[3:], rate[:3])
            self.data.qpos[joint.qposadr[0] :][: len(own)] = own
        self.data.qvel[:] = self.B @ self.v
        self.drift = drift


@pytest.fixture(params=[(file, seed) for file in FILES for seed in range(3)], ids=lambda p: f"{p[0]}-{p[1]}")
def twin(request: pytest.FixtureRequest) -> MujocoTwin:
    return MujocoTwin(*request.param)


def test_mass_matrix(twin: MujocoTwin) -> None:
    mujoco.mj_forward(twin.model, twin.data)
    M = np.zeros((twin.model.nv, twin.model.nv))
    for row, unit in zip(M, np.eye(twin.model.nv), strict=True):
        mujoco.mj_mulM(twin.model, twin.data, row, unit)
    assert relative_error(setsu.mass_matrix(twin.mechanism, twin.q), twin.B.T @ M @ twin.B) < AGREEMENT


def test_inverse_dynamics(twin: MujocoTwin) -> None:
    twin.data.qacc[:] = twin.B @ twin.a + twin.drift
    mujoco.mj_inverse(twin.model, twin.data)
    theirs = twin.B.T @ twin.data.qfrc_inverse + twin.friction
    for formulation in ("link", "world"):
        ours = setsu.inverse_dynamics(twin.mechanism, twin.q, twin.v, twin.a, formulation=formulation)
        assert relative_error(ours, theirs) < AGREEMENT


def test_forward_dynamics(twin: MujocoTwin) -> None:
    twin.data.qfrc_applied[:] = twin.B @ twin.tau  # B is orthonormal
    mujoco.mj_forward(twin.model, twin.data)
    theirs = twin.B.T @ (twin.data.qacc - twin.drift)
    for method in ("articulated_body", "composite_body", "unit_vector"):
        ours = setsu.forward_dynamics(twin.mechanism, twin.q, twin.v, twin.tau + twin.friction, method=method)
        assert relative_error(ours, theirs) < AGREEMENT


def test_energy(twin: MujocoTwin) -> None:
    """Kinetic energy with armature, and the change of potential energy (gravity and joint springs)."""
    twin.model.opt.enableflags |= mujoco.mjtEnableBit.mjENBL_ENERGY
    mujoco.mj_forward(twin.model, twin.data)
    potential, kinetic = twin.data.energy
    # Compensation of gravity is a force of constant direction: part of our potential energy, not of MuJoCo's.
    lifted = twin.model.body_gravcomp * twin.model.body_mass
    potential += float(lifted @ (twin.data.xipos @ twin.model.opt.gravity))
    assert setsu.kinetic_energy(twin.mechanism, twin.q, twin.v) == pytest.approx(kinetic, rel=AGREEMENT)
    assert setsu.potential_energy(twin.mechanism, twin.q) == pytest.approx(potential, rel=AGREEMENT, abs=1e-9)


def test_bodies_move_alike(twin: MujocoTwin) -> None:
    """World velocity of each named body's origin, as MuJoCo's object velocity (angular part first there)."""
    mujoco.mj_forward(twin.model, twin.data)
    m = twin.mechanism
    velocities = setsu.body_velocities(m, twin.q, twin.v)
    for index, name in enumerate(m.body_names):
        number = mujoco.mj_name2id(twin.model, mujoco.mjtObj.mjOBJ_BODY, name)
        if number < 0:
            continue  # a frame between two joints of one MJCF body
        theirs = np.zeros(6)
        mujoco.mj_objectVelocity(twin.model, twin.data, mujoco.mjtObj.mjOBJ_XBODY, number, theirs, 0)
        assert relative_error(velocities[index], np.roll(theirs, 3)) < AGREEMENT
