"""A robot for other simulators: a Functional Mock-up Unit that moves as `simulate` does.

The unit is written, unpacked and called through the C functions of the standard (FMI 2.0), here with ctypes, as a
co-simulation tool would; no such tool is needed. It needs a C compiler. Held against `setsu.simulate`.
"""

import ctypes
import tempfile
import xml.etree.ElementTree as ElementTree
import zipfile
from pathlib import Path

import numpy as np

import setsu

arm = setsu.sample_mechanisms.puma560()
code = setsu.generate(arm, "forward_dynamics", language="fmu")
folder = Path(tempfile.mkdtemp())
(unit,) = code.write(folder)
print(f"{unit.name}: {unit.stat().st_size} bytes, {code.operations.total} operations per evaluation")

with zipfile.ZipFile(unit) as archive:
    archive.extractall(folder)
description = ElementTree.parse(folder / "modelDescription.xml").getroot()
reference = {v.get("name", ""): int(v.get("valueReference", "0")) for v in description.iter("ScalarVariable")}
library = ctypes.CDLL(str(next((folder / "binaries").rglob("*.*"))))
library.fmi2Instantiate.restype = ctypes.c_void_p
instance = ctypes.c_void_p(
    library.fmi2Instantiate(b"arm", 1, description.get("guid", "").encode(), b"", None, 0, 0)
)  # 1: co-simulation


def put(prefix: str, values: np.ndarray) -> None:
    """Set the variables that begin so."""
    numbers = [number for name, number in reference.items() if name.startswith(prefix)]
    status = library.fmi2SetReal(
        instance, (ctypes.c_uint * len(numbers))(*numbers), ctypes.c_size_t(len(numbers)),
        (ctypes.c_double * len(numbers))(*values),
    )  # fmt: skip
    assert status == 0


def get(names: list[str]) -> np.ndarray:
    """Read variables."""
    values = (ctypes.c_double * len(names))()
    numbers = (ctypes.c_uint * len(names))(*(reference[name] for name in names))
    assert library.fmi2GetReal(instance, numbers, ctypes.c_size_t(len(names)), values) == 0
    return np.array(values)


rng = np.random.default_rng(0)
q0, v0, tau = 0.5 * rng.standard_normal(6), np.zeros(6), 5.0 * rng.standard_normal(6)
put("q_start_", q0)
put("tau_", tau)
zero, step = ctypes.c_double(0.0), ctypes.c_double(0.01)
assert library.fmi2SetupExperiment(instance, 0, zero, zero, 0, zero) == 0
assert library.fmi2EnterInitializationMode(instance) == 0
assert library.fmi2ExitInitializationMode(instance) == 0

outputs = [f"q_{joint}" for joint in arm.joint_names]
path = [get(outputs)]
for k in range(50):
    assert library.fmi2DoStep(instance, ctypes.c_double(0.01 * k), step, 1) == 0
    path.append(get(outputs))
library.fmi2FreeInstance(instance)

# The unit takes Runge-Kutta steps of at most a millisecond inside: the same as these.
run = setsu.simulate(arm, q0, v0, 0.5, step=1e-3, torque=tau, record_every=10)
error = np.abs(np.array(path) - run.q).max()
print(f"half a second in steps of 10 ms: largest difference from simulate {error:.1e} rad")
assert error < 1e-11
