"""Print a fingerprint of the bits of some results; run as a script in fresh processes.

python digest_of_results.py              # one line per function and life: name, hash
"""

from __future__ import annotations

import hashlib

import numpy as np

import setsu
from setsu.dynamics.catalogue import native_function
from setsu.sample_mechanisms import random_tree

KERNELS = (
    "inverse_dynamics", "inverse_dynamics world external", "forward_dynamics", "forward_dynamics composite",
    "mass_matrix", "joint_wrenches", "regressor", "momentum", "integrate", "difference",
)  # fmt: skip
SPECIALISED = ("inverse_dynamics", "forward_dynamics composite", "mass_matrix", "joint_wrenches", "integrate")
# What a fresh process computes: compiling everything each time would take minutes.
SAMPLE = (
    ("inverse_dynamics world external", False), ("forward_dynamics", False), ("mass_matrix", False),
    ("integrate", False), ("forward_dynamics composite", True), ("joint_wrenches", True),
)  # fmt: skip
ROWS = 37


def inputs(m: setsu.Mechanism, rows: int = ROWS) -> dict[str, np.ndarray]:
    """Draw arguments by the names kernels give them."""
    rng = np.random.default_rng(11)
    q = np.array([m.random_configuration(rng) for _ in range(rows)])
    drawn = {name: rng.standard_normal((rows, m.nv)) for name in ("v", "a", "tau", "step")}
    return {"q": q, "q0": q, "q1": q[::-1].copy(), "external": rng.standard_normal((rows, m.n_bodies, 6)), **drawn}


def mechanism() -> setsu.Mechanism:
    """A floating tree with every primitive joint and every joint option."""
    types = ("Revolute", "Prismatic", "Helical", "Spherical")
    options = {"damping": 0.3, "armature": 0.1, "coulomb": 0.2, "stiffness": 1.0}
    return random_tree(5, n_bodies=5, joint_types=types, floating_base=True, **options)


def results() -> dict[str, np.ndarray]:
    """Results of the sample in a batch."""
    m = mechanism()
    given = inputs(m)
    found = {}
    for name, specialised in SAMPLE:
        function = native_function(m, name, specialised=specialised)
        arguments = [given[array.name] for array in function.kernel.inputs]
        found[f"{name}{' specialised' if specialised else ''}"] = function(*arguments)
    return found


if __name__ == "__main__":
    for key, value in results().items():
        print(key, hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest(), sep="\t")
