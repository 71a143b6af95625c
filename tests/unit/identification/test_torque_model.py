"""Base parameters times their columns are the torques of the mechanism, whatever its joints, loops and friction."""

import numpy as np
import pytest

import setsu
from setsu.identification.torque_model import torque_model
from setsu.sample_mechanisms import four_bar, planar_arm, puma560, random_tree

TREES = {
    "puma": puma560,
    "floating": lambda: random_tree(3, n_bodies=4, floating_base=True, coulomb=True, damping=True),
    "mixed": lambda: random_tree(5, n_bodies=5, coulomb=True, damping=True),
}
TERMS = ["none", "viscous", "coulomb+viscous", "viscous + coulomb + offset"]


@pytest.mark.parametrize("friction", TERMS)
@pytest.mark.parametrize("name", TREES)
@pytest.mark.parametrize("drive", [True, False], ids=["drive", "no drive"])
def test_regressor_times_base_parameters_is_inverse_dynamics(name: str, friction: str, drive: bool) -> None:
    m = TREES[name]()
    model = torque_model(m, friction, drive)
    rng = np.random.default_rng(0)
    q = np.array([m.random_configuration(rng) for _ in range(20)])
    v, a = rng.standard_normal((2, 20, m.nv))
    expected = setsu.inverse_dynamics(m, q, v, a)
    found = model.regressor(q, v, a) @ model.base_prior + model.known_torque(q, v, a)
    assert np.abs(found - expected).max() <= 1e-11 * np.abs(expected).max()
    # Any parameters at all, not only those of this mechanism: K really regroups.
    other = rng.standard_normal(len(model.prior))
    Y = model.full_regressor(q, v, a)
    full, base = Y @ other, Y[..., model.independent] @ (model.matrix @ other)
    assert np.abs(full - base).max() <= 1e-9 * np.abs(full).max()


def test_columns_of_base_parameters_are_independent() -> None:
    m = puma560()
    model = torque_model(m, "coulomb+viscous+offset", True)
    q, v, a = model.freedom.random_motion(np.random.default_rng(4), 60, m.neutral())
    W = model.regressor(q, v, a).reshape(-1, len(model.names))
    s = np.linalg.svd(W / np.linalg.norm(W, axis=0), compute_uv=False)
    assert s[-1] > 1e-4 * s[0]


def test_drive_inertia_joins_the_link_where_no_torque_can_tell_them_apart() -> None:
    """About a first joint, Izz of the link and the inertia of its drive have the same column: the acceleration."""
    b = setsu.MechanismBuilder("turntable")
    b.add_body("plate", joint=setsu.Revolute((0, 0, 1), name="hub"), mass=3.0, inertia=np.diag([0.1, 0.1, 0.2]))
    model = torque_model(b.build(), "viscous", True)
    assert model.names == ("Izz_plate + Ia_hub", "fv_hub")
    assert model.labels == ("Izz_plate + …", "fv_hub")


def test_free_velocities_of_a_four_bar_feel_the_torque_of_the_crank() -> None:
    """Jᵀ of the tree's torques is what the crank alone has to do, by the constrained inverse dynamics."""
    m = four_bar()
    model = torque_model(m, "none", False)
    q, v, a = model.freedom.random_motion(np.random.default_rng(1), 10, setsu.close_loops(m, [0.3, 0.2, 0.1]))
    found = model.regressor(q, v, a) @ model.base_prior + model.known_torque(q, v, a)
    crank = setsu.constrained_inverse_dynamics(m, q, v, a, actuated=["crank"]).torque[:, 0]
    np.testing.assert_allclose(found[:, 0], crank, atol=1e-8 * np.abs(crank).max())


@pytest.mark.parametrize(
    ("friction", "message"), [("dry", "unknown term 'dry'"), (3, "expected text"), ("viscous+", "unknown term ''")]
)
def test_unknown_friction_is_refused(friction, message: str) -> None:
    with pytest.raises(setsu.InputError, match=message):
        torque_model(planar_arm(2), friction, True)


def test_friction_that_depends_on_load_is_refused_by_joint() -> None:
    b = setsu.MechanismBuilder("journal")
    joint = setsu.Revolute((0, 1, 0), name="crank", bearing_friction=0.1, bearing_radius=0.02)
    b.add_body("bob", joint=joint, mass=1.0, center_of_mass=(0.3, 0, 0))
    with pytest.raises(setsu.InputError, match=r'identify: joint "crank" .* depends on its load'):
        torque_model(b.build(), "viscous", True)


def test_kept_models_know_names() -> None:
    """Equal numbers with other names of bodies and joints, one after the other: each has its own names."""

    def arm(name: str) -> setsu.Mechanism:
        builder = setsu.MechanismBuilder("arm")
        builder.add_body(name, joint=setsu.Revolute((0, 1, 0), f"{name}_joint"), mass=1.0, center_of_mass=(0.1, 0, 0))
        return builder.build()

    for name in ("upper", "lower", "upper"):
        model = torque_model(arm(name), "viscous", False)
        assert all(name in text for text in model.names)
        assert model.rows == (f"{name}_joint",)
