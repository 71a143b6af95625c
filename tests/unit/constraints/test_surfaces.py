"""Surfaces: derivatives against differences, closed forms, and texts that are refused."""

import numpy as np
import pytest

from setsu import Cylinder, ImplicitSurface, InputError, Plane, Sphere

SURFACES = [
    Plane((1, 2, -2), 0.3),
    Sphere((0.1, -0.2, 0.3), 0.7),
    Cylinder((0.1, 0.0, 0.2), (1, 1, 0), 0.4),
    ImplicitSurface("x**2 + y**2 - z"),
    ImplicitSurface("sin(2*x)*cos(y) - sqrt(1 + z**2) / (2 + x*y)**1.5 + tan(x/5)**-2 + pi"),
]


@pytest.mark.parametrize("surface", SURFACES, ids=lambda surface: str(surface)[:30])
def test_gradient_and_second_derivatives_are_those_of_the_value(surface):
    points = np.random.default_rng(1).uniform(0.3, 1.0, (6, 3))
    h = 1e-6
    gradient, hessian = surface.gradient(points), surface.hessian(points)
    assert surface.value(points).shape == (6,)
    for k, step in enumerate(h * np.eye(3)):
        slope = (surface.value(points + step) - surface.value(points - step)) / (2 * h)
        np.testing.assert_allclose(gradient[:, k], slope, rtol=1e-6, atol=1e-7)
        bend = (surface.gradient(points + step) - surface.gradient(points - step)) / (2 * h)
        np.testing.assert_allclose(hessian[:, :, k], bend, rtol=1e-5, atol=1e-6)


def test_values_are_distances():
    assert Plane((0, 0, 2), 0.5).value((3, 4, 0.7)) == pytest.approx(0.2)
    assert Sphere((0, 0, 1), 0.5).value((0, 2, 1)) == pytest.approx(1.5)
    assert Cylinder((0, 0, 0), (0, 0, 3), 0.5).value((3, 4, 9)) == pytest.approx(4.5)
    distance, normal, _, _ = ImplicitSurface("2*z - 1").frame((0.0, 0.0, 0.75))
    assert distance == pytest.approx(0.25)
    np.testing.assert_allclose(normal, [0, 0, 1])


@pytest.mark.parametrize(
    ("surface", "point"),
    [
        (Sphere((0, 0, 1), 0.5), (0, 0, 1)),
        (Cylinder((0, 0, 0), (0, 0, 1), 1.0), (0, 0, 3)),
        (ImplicitSurface("x**2 + y**2 - z**2"), (0, 0, 0)),
        (ImplicitSurface("sqrt(x) - z"), (-1, 0, 0)),
    ],
)
def test_a_point_without_normal_is_refused_by_surface_and_point(surface, point):
    with pytest.raises(InputError, match=r"(?s)hand.*gradient of .*(Sphere|Cylinder|Implicit).*point \("):
        surface.frame(point, "hand")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("__import__('os').system('true')", "not allowed"),
        ("x.__class__", "not allowed"),
        ("(lambda: x)()", "not allowed"),
        ("[x][0]", "not allowed"),
        ("x if y else z", "not allowed"),
        ("exp(x)", "not allowed"),
        ("w + 1", "not allowed"),
        ("'x'", "not allowed"),
        ("True * x", "not allowed"),
        ("x +", "cannot read"),
        ("x**y", "power"),
        ("x**0.3", "whole or half"),
        ("x**1000000", "power"),
        ("x/0", "divides by zero"),
        ("1e999*x", "finite"),
        ("2 + 3", "depends on"),
        ("x - x", "depends on"),
        ("(" * 300 + "x" + ")" * 300, "cannot read"),
        ("-" * 3000 + "x", "nested|cannot read"),
        ("x+" * 5000 + "x", "characters"),
        (3.0, "text"),
    ],
)
def test_texts_that_are_no_surface_are_refused(text, says):
    with pytest.raises(InputError, match=says):
        ImplicitSurface(text)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Plane((0, 0, 0), 1),
        lambda: Plane((0, 0, 1), np.nan),
        lambda: Sphere((0, 0), 1),
        lambda: Sphere((0, 0, 0), -1),
        lambda: Cylinder((0, 0, 0), (0, 0, 0), 1),
        lambda: Cylinder((0, 0, 0), (0, 0, 1), 0),
    ],
)
def test_impossible_surfaces_are_refused(make):
    with pytest.raises(InputError, match="expected"):
        make()
