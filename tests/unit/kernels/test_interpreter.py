"""Kernels on plain numbers: any scalar goes in, unknown names are refused, constants may be replaced."""

import dataclasses

import numpy as np
import pytest

import setsu
from setsu.dynamics.catalogue import KERNELS
from setsu.kernels.interpreter import run
from setsu.kernels.program import Array, Kernel, Loop
from setsu.sample_mechanisms import planar_arm, random_tree


@pytest.fixture(scope="module")
def arm() -> setsu.Mechanism:
    return planar_arm(3)


def torques(m: setsu.Mechanism, **options: object) -> list:
    state = {"q": [0.1, 0.2, 0.3], "v": [1.0, -2.0, 0.5], "a": [0.0, 1.0, 2.0]}
    (result,) = run(KERNELS["inverse_dynamics world"](), m.tables, state, **options).values()  # type: ignore[arg-type]
    return result


def test_floats_give_what_the_native_code_gives(arm: setsu.Mechanism) -> None:
    expected = setsu.inverse_dynamics(arm, [0.1, 0.2, 0.3], [1.0, -2.0, 0.5], [0.0, 1.0, 2.0])
    np.testing.assert_allclose(torques(arm), expected, rtol=1e-13)


def test_inertias_may_be_replaced(arm: setsu.Mechanism) -> None:
    """Torques are linear in masses: doubling mass, first and second moments doubles them."""
    true = arm.tables.true
    doubled = {
        "mass": (2 * true.mass).tolist(),
        "moment": (2 * true.moment).tolist(),
        "second_moment": (2 * true.second_moment).tolist(),
    }
    kernel = dataclasses.replace(KERNELS["inverse_dynamics world"](), regrouped=False)
    state = {"q": [0.1, 0.2, 0.3], "v": [1.0, -2.0, 0.5], "a": [0.0, 1.0, 2.0]}
    (once,) = run(kernel, arm.tables, state).values()
    (twice,) = run(kernel, arm.tables, state, constants=doubled).values()
    np.testing.assert_allclose(twice, 2 * np.array(once), rtol=1e-13)


def test_regrouped_inertias_change_no_torque() -> None:
    """What lies on a joint's axis may be given to the parent: torques and mass matrix stay, wrenches would not."""
    m = random_tree(3, n_bodies=9, floating_base=True)
    rng = np.random.default_rng(0)
    state = {"q": m.random_configuration(rng), "v": rng.standard_normal(m.nv), "a": rng.standard_normal(m.nv)}
    for name in ("inverse_dynamics", "inverse_dynamics world", "mass_matrix"):
        kernel = KERNELS[name]()
        inputs = {array.name: state[array.name].tolist() for array in kernel.inputs}
        found = [
            np.array(next(iter(run(dataclasses.replace(kernel, regrouped=r), m.tables, inputs).values())))
            for r in (False, True)
        ]
        np.testing.assert_allclose(found[1], found[0], rtol=0, atol=1e-12 * np.abs(found[0]).max())
    assert not np.allclose(m.tables.regrouped.mass, m.tables.true.mass)


def test_a_step_that_asks_for_an_unknown_name_is_told_so(arm: setsu.Mechanism) -> None:
    def ask(link) -> None:
        link.tau = link.temperature

    kernel = Kernel("thermal", (Array("q", "q"),), (Array("tau", "v"),), (Loop("links", (ask,)),))
    with pytest.raises(AttributeError, match="kernel thermal knows no 'temperature'"):
        run(kernel, arm.tables, {"q": [0.0, 0.0, 0.0]})

    def put(link) -> None:
        link.q = 0.0

    kernel = Kernel("writes", (Array("q", "q"),), (Array("tau", "v"),), (Loop("links", (put,)),))
    with pytest.raises(AttributeError, match="kernel writes cannot write 'q'"):
        run(kernel, arm.tables, {"q": [0.0, 0.0, 0.0]})


def test_an_unknown_loop_is_refused(arm: setsu.Mechanism) -> None:
    kernel = Kernel("odd", (), (Array("tau", "v"),), (Loop("dofs", (Loop("sideways", ()),)),))
    with pytest.raises(ValueError, match="unknown loop 'sideways'"):
        run(kernel, arm.tables, {})


def test_loops_visit_what_they_say() -> None:
    """A branched tree: ancestors of each velocity, tips first and last."""
    builder = setsu.MechanismBuilder("y")
    builder.add_body("stem", joint=setsu.Revolute())
    builder.add_body("left", "stem", setsu.Cylindrical())
    builder.add_body("right", "stem", setsu.Revolute())
    m = builder.build()
    seen: list[tuple[str, int, int]] = []

    def note(label: str):
        def step(d, e=None) -> None:
            seen.append((label, d._place[1], -1 if e is None else e._place[1]))

        return step

    phases = tuple(
        Loop(outer, (Loop(inner, (note(inner),)),)) if inner else Loop(outer, (note(outer),))
        for outer, inner in (
            ("dofs_down", ""), ("links", ""),
            ("dofs", "ancestors"), ("dofs", "strict_ancestors"), ("dofs", "above_joint"),
        )
    )  # fmt: skip
    run(Kernel("visit", (), (Array("tau", "v"),), phases), m.tables, {})
    by_label: dict[str, list[tuple[int, int]]] = {}
    for label, d, e in seen:
        by_label.setdefault(label, []).append((d, e))
    # Velocities: 0 stem, 1 and 2 left (travel, then turn: two links), 3 right.
    assert [d for d, _ in by_label["dofs_down"]] == [3, 2, 1, 0]
    assert [d for d, _ in by_label["links"]] == [0, 1, 2, 3]
    assert by_label["ancestors"] == [(0, 0), (1, 1), (1, 0), (2, 2), (2, 1), (2, 0), (3, 3), (3, 0)]
    assert by_label["strict_ancestors"] == [(1, 0), (2, 1), (2, 0), (3, 0)]
    assert by_label["above_joint"] == [(1, 0), (2, 1), (2, 0), (3, 0)]


@pytest.mark.parametrize("name", KERNELS)
def test_array_sizes_are_those_of_the_mechanism(name: str) -> None:
    kernel = KERNELS[name]()
    sizes = {array.name: array.size(7, 6, 2, 3) for array in (*kernel.inputs, *kernel.outputs)}
    expected = {
        "q": 7,
        "v": 6,
        "a": 6,
        "tau": 6,
        "external": 12,
        "M": 36,
        "poses": 32,
        "point": 3,
        "energy": 1,
        "Y": 120,
        "twist": 18,
        "loop_J": 108,
    }
    for array, size in expected.items():
        assert sizes.get(array, size) == size
    assert kernel.array("nothing of the kind") is None
