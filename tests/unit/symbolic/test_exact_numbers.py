"""Exact scalars: ring laws, trigonometric identities, fractions near floats, and kernels run on them."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import setsu
from setsu.kernels.energy_regressor import energy_regressor
from setsu.kernels.interpreter import run
from setsu.minimum_parameters.exact_geometry import rational, rational_angle, rational_rotation
from setsu.minimum_parameters.rational_interpolation import rational_from_residue
from setsu.symbolic.exact_numbers import Angle, PrimeField, PrimeVectors, as_angle
from setsu.symbolic.trigonometric_polynomials import TooManyTermsError, TrigonometricRing

fractions = st.fractions(min_value=-50, max_value=50, max_denominator=1000)


def test_sine_squared_is_replaced() -> None:
    ring = TrigonometricRing(["a", "b"], [], [])
    a, b = ring.angle("a"), ring.angle("b")
    assert ring.raw(a.cosine * a.cosine + a.sine * a.sine) == 1
    both = a + b
    assert ring.raw(both.cosine * both.cosine + both.sine * both.sine) == 1
    assert (both.sine - (a.sine * b.cosine + a.cosine * b.sine)) == 0.0
    # sin 3a = 3 sin a - 4 sin³ a
    cube = a.sine * a.sine * a.sine
    assert a.times(3).sine - (3.0 * a.sine - 4.0 * cube) == 0.0
    assert (a + a.times(-1)).sine == 0.0


def test_unit_quaternion_turns_without_a_division() -> None:
    ring = TrigonometricRing([], ["h"], [])
    x, y, z, w = ring.quaternion("h")
    assert ring.raw(2.0 / (x * x + y * y + z * z + w * w)) == 2


def test_growth_is_stopped() -> None:
    ring = TrigonometricRing([], [], ["x", "y", "z"], limit=50)
    total = ring.generator("x") + ring.generator("y") + ring.generator("z") + 1.0
    square = total * total
    fourth = square * square
    with pytest.raises(TooManyTermsError):
        fourth * fourth


@given(fractions, fractions, fractions)
def test_prime_field_follows_the_rationals(a: Fraction, b: Fraction, c: Fraction) -> None:
    field = PrimeField(2**61 - 1)
    x, y, z = (field.number(number) for number in (a, b, c))
    assert field.raw((x + y) * z - x * 0.5) == field.constant((a + b) * c - a / 2)


def test_many_points_at_once_are_the_points_one_by_one() -> None:
    many, one = PrimeVectors(2**61 - 1), PrimeField(2**61 - 1)
    numbers = [3, 5, 2**60 + 7]
    angle = as_angle(many, many.vector(numbers))
    for k, number in enumerate(numbers):
        alone = as_angle(one, one.wrap(number))
        assert many.broadcast(angle.times(3).sine, 3)[k] == one.raw(alone.times(3).sine)
    assert many.wrap(many.vector([1, 2]).value * 0) == 0.0


@given(fractions)
def test_fraction_comes_back_from_its_residue(number: Fraction) -> None:
    prime = 2**61 - 1
    assert rational_from_residue(PrimeField(prime).constant(number), prime) == number


@given(st.floats(-1e6, 1e6))
def test_rational_is_near(number: float) -> None:
    assert abs(float(rational(number)) - number) <= 1.001e-12 * max(1.0, abs(number))


@given(st.floats(-20.0, 20.0))
def test_rational_rotation_is_exactly_orthonormal_and_near(angle: float) -> None:
    c, s = rational_angle(angle)
    assert c * c + s * s == 1
    assert abs(float(c) - math.cos(angle)) < 1e-8
    R = rational_rotation(setsu.spatial.euler_rotation(angle, 0.3 * angle, 0.1))
    for i in range(3):
        for j in range(3):
            assert sum(R[3 * i + k] * R[3 * j + k] for k in range(3)) == int(i == j)


def test_energy_regressor_gives_the_energies() -> None:
    """Kinetic and potential energy of the library, at rational states in exact arithmetic and in floats."""
    m = setsu.sample_mechanisms.random_tree(3, n_bodies=5, floating_base=True)
    rng = np.random.default_rng(0)
    q, v = m.random_configuration(0), rng.standard_normal(m.nv)
    result = run(energy_regressor(), m.tables, {"q": q.tolist(), "v": v.tolist()})
    theta = setsu.inertial_parameters(m)
    np.testing.assert_allclose(np.array(result["kinetic"]) @ theta, setsu.kinetic_energy(m, q, v), rtol=1e-12)
    np.testing.assert_allclose(np.array(result["potential"]) @ theta, setsu.potential_energy(m, q), rtol=1e-12)


def test_half_angle_tangent() -> None:
    """tan(θ/2) = 1/2 is cos θ = 3/5, sin θ = 4/5."""
    field = PrimeField(2**61 - 1)
    angle = as_angle(field, field.number(Fraction(1, 2)))
    assert isinstance(angle, Angle)
    assert field.raw(angle.cosine) == field.constant(Fraction(3, 5))
    assert field.raw(angle.sine) == field.constant(Fraction(4, 5))
