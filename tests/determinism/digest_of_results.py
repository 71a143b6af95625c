"""Print a fingerprint of the bits of results; run as a script in fresh processes.

python digest_of_results.py              # one line per function and life: name, hash
python digest_of_results.py --store      # write them to stored_digests.json, which every machine is compared with
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

import numpy as np

import setsu
from setsu.dynamics.catalogue import native_function
from setsu.sample_mechanisms import random_tree

STORED = Path(__file__).with_name("stored_digests.json")
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
    """Results of the sample in a batch, of public functions beside the kernels, and of a mechanism read from a file."""
    m = mechanism()
    given = inputs(m)
    found = {"random states": given["q"], "inertial parameters": setsu.inertial_parameters(m)}
    for name, specialised in SAMPLE:
        function = native_function(m, name, specialised=specialised)
        arguments = [given[array.name] for array in function.kernel.inputs]
        found[f"{name}{' specialised' if specialised else ''}"] = function(*arguments)
    state = given["q"][:5], given["v"][:5], given["tau"][:5]
    found["forward_dynamics unit vectors"] = setsu.forward_dynamics(m, *state, method="unit_vector")
    found["point_jacobian"] = setsu.point_jacobian(m, given["q"][:5], m.body_names[-1], (0.1, 0.2, 0.3))
    arm = setsu.load(STORED.parents[1] / "data" / "two_finger_arm.urdf")
    q = np.linspace(-1.0, 1.0, arm.nq)
    found["gravity torque of a file's robot"] = setsu.gravity_torque(arm, q)
    found["compiled inverse dynamics of a file's robot"] = setsu.compile(arm, ["inverse_dynamics"]).inverse_dynamics(
        q, q, q
    )
    return found


def digests() -> dict[str, str]:
    """Hashes of all results by name."""
    return {
        key: hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()[:32] for key, value in results().items()
    }


if __name__ == "__main__":
    if "--store" in sys.argv:
        STORED.write_text(json.dumps(digests(), indent=2) + "\n")
    for key, value in digests().items():
        print(key, value, sep="\t")
