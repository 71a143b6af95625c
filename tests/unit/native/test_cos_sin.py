"""Cosine and sine of the native code against exact arithmetic, up to the largest angle that is accepted.

The reference is a Taylor series in rational arithmetic after reduction by 60 digits of pi; angles are exact fractions.
A pendulum of unit mass and length shows both functions: its gravity torque is g sin(q), its tip is at (sin q, -cos q).
"""

from fractions import Fraction

import numpy as np
import pytest
from rounding import EPSILON

import setsu

PI = Fraction(31415926535897932384626433832795028841971693993751058209749445923, 10**64)
# Units in the last place of results near 1; polynomial and reduction are each good to about half of one.
ALLOWED_ULPS = 1.0


def exact_cos_sin(angle: float) -> tuple[float, float]:
    """cos and sin to the nearest double."""
    quarter = round(Fraction(angle) / (PI / 2))
    x = Fraction(angle) - quarter * (PI / 2)
    x = Fraction(round(x * 10**45), 10**45)
    cosine, sine, term = Fraction(0), Fraction(0), Fraction(1)
    for k in range(26):
        if k % 2 == 0:
            cosine += term if k % 4 == 0 else -term
        else:
            sine += term if k % 4 == 1 else -term
        term = Fraction(round(term * x / (k + 1) * 10**45), 10**45)
    pairs = [(cosine, sine), (-sine, cosine), (-cosine, -sine), (sine, -cosine)]
    c, s = pairs[quarter % 4]
    return float(c), float(s)


def angles() -> np.ndarray:
    rng = np.random.default_rng(4)
    spread = [rng.uniform(-size, size, 40) for size in (1e-8, 1e-3, 1.0, 10.0, 1e3, 1e5, 1e7, 0.999e9)]
    # Near multiples of a quarter turn the reduction cancels most.
    quarters = [1, 2, 3, 4, 7, 101, 12345, 999_999, 636_000_000]
    near = [k * np.pi / 2 + d for k in quarters for d in (0.0, 1e-12, -1e-9, 1e-5)]
    return np.concatenate([*spread, near, [0.0, -0.0, np.pi / 4, -np.pi / 4]])


def test_the_reference_is_right_where_values_are_known() -> None:
    assert exact_cos_sin(0.0) == (1.0, 0.0)
    assert exact_cos_sin(np.pi / 6) == pytest.approx((np.sqrt(0.75), 0.5), abs=EPSILON)
    assert exact_cos_sin(np.pi)[1] == pytest.approx(1.2246467991473532e-16, rel=1e-12)


@pytest.mark.parametrize("life", ["generic", "specialised"])
def test_within_one_unit_in_the_last_place(life: str) -> None:
    builder = setsu.MechanismBuilder("wheel")
    builder.add_body("wheel", joint=setsu.Revolute((0, 0, 1)), mass=1.0, center_of_mass=(1, 0, 0))
    m = builder.build()
    x = angles()
    poses = (
        setsu.body_poses(m, x[:, None])
        if life == "generic"
        else setsu.compile(m, ["body_poses"]).body_poses(x[:, None])
    )
    found = poses[:, 0, :2, 0]
    exact = np.array([exact_cos_sin(angle) for angle in x])
    error = np.abs(found - exact) / np.spacing(np.maximum(np.abs(exact), 2.0**-53))
    # Below 2^-53 absolute error counts: no pose needs more.
    assert error.max() <= ALLOWED_ULPS, (x[error.max(axis=1).argmax()], error.max())


def test_larger_angles_are_refused() -> None:
    m = setsu.sample_mechanisms.pendulum()
    setsu.body_poses(m, [0.999e9])
    for angle in (1.001e9, -2e9, 1e300):
        with pytest.raises(setsu.InputError, match=r"q\[0\] is .*, expected .* below 1e\+09"):
            setsu.body_poses(m, [angle])
