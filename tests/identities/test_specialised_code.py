"""The three lives agree: generic loops, code specialised for the mechanism, and the kernel run on plain floats."""

import numpy as np
import pytest
from identities.zoo import EPSILON, animal

from setsu.dynamics.catalogue import KERNELS, native_function
from setsu.kernels.interpreter import run
from setsu.spatial import placement

pytestmark = pytest.mark.thin(3)

NAMES = ("floating 1", "fixed 2")
# What the laws of these kernels divide by: their results carry the condition number of the mass matrix.
SOLVED = ("forward_dynamics",)


def agree(left: np.ndarray, right: np.ndarray, condition: float) -> bool:
    scale = max(float(np.abs(right).max(initial=0.0)), 1e-3)
    return bool(np.abs(np.ravel(left) - np.ravel(right)).max(initial=0.0) <= 500 * condition * EPSILON * scale)


@pytest.mark.thin(2)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kernel", [name for name in KERNELS if not name.endswith("springs")])
def test_kernel(kernel: str, name: str) -> None:
    x = animal(name)
    m = x.mechanism
    given = {"q": x.q, "q0": x.q, "q1": x.q[::-1], "v": x.v, "a": x.a, "tau": x.tau, "step": 0.3 * x.v}
    if kernel.startswith("nodal"):
        given["q0"] = 0.1 - x.q[::-1]
    # Samples of nodal differences are apart: the distance of equal ones has no direction.
    given |= {"q2": 0.2 + x.q, "q3": 0.3 - x.q, "q4": 0.4 + x.q[::-1], "rate": np.ones((len(x.q), 1))}
    rng = np.random.default_rng(6)
    given |= {name: rng.normal(size=(len(x.q), 12 * m.n_bodies)) for name in ("rates", "curves")}
    given["weights"] = rng.normal(size=(len(x.q), 8))
    given |= {"external": x.external, "point": np.tile([0.1, -0.4, 0.2], (len(x.q), 1))}
    given["turn"] = np.tile(placement(rpy=(0.3, -0.5, 1.1))[:3, :3].ravel(), (len(x.q), 1))
    target = m.n_bodies - 1 if "jacobian" in kernel or kernel.startswith("frame_") else -1
    condition = 1.0
    if kernel.startswith(SOLVED):
        condition = float(np.linalg.cond(native_function(m, "mass_matrix")(x.q)).max())
    function = native_function(m, kernel, target=target)
    arguments = [given[array.name] for array in function.kernel.inputs]
    lives = {
        "generic": function(*arguments),
        "specialised": native_function(m, kernel, specialised=True, target=target)(*arguments),
    }
    inputs = {array.name: np.ravel(given[array.name][0]).tolist() for array in function.kernel.inputs}
    reference = list(run(function.kernel, m.tables, inputs, target=target).values())
    for life, results in lives.items():
        results = results if isinstance(results, tuple) else (results,)
        for result, expected in zip(results, reference, strict=True):
            assert agree(result[0], np.array(expected), condition), life
