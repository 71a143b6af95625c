"""A sweep: how far a controller lets an arm sag under hands of different weight, and what a stiffer one changes.

The study holds a two-link arm by joint feedback without gravity compensation. At rest the sag of each joint follows
from statics: K (q_d - q) = gravity torque at q, which the last lines solve beside the sweep.
"""

import tempfile
from pathlib import Path

import numpy as np

import setsu

study = {
    "scenario": {
        "model": {"sample": "planar_arm", "payloads": [{"body": "tip", "mass": 1.0}]},
        "torque": {"kind": "joint_feedback", "stiffness": 200.0, "damping": {"joint1": 40.0, "joint2": 10.0},
                   "target": {"joint1": 0.3, "joint2": 0.5}},
        "simulation": {"duration": 6.0, "step": 1e-3, "integrator": "semi_implicit", "record_every": 100},
    },
    "sampling": "latin_hypercube",
    "runs": 60,
    "chunk": 20,
    "parameters": [
        {"path": "model.payloads.0.mass", "name": "hand", "low": 0.0, "high": 4.0},
        {"path": "torque.stiffness", "name": "stiffness", "low": 150.0, "high": 600.0, "spacing": "log"},
        {"path": "start.q.joint1", "name": "start", "low": -0.5, "high": 0.5},
    ],
}  # fmt: skip

with tempfile.TemporaryDirectory() as folder:
    data = setsu.sweep(study, Path(folder) / "sag.zarr", jobs=1).load()

sag = np.array([0.3, 0.5]) - data["final_q"].values
print(f"{data.sizes['run']} runs, {int((data['status'] == 2).sum())} failed")
for least, most in ((150, 300), (300, 600)):
    some = (data["stiffness"].values >= least) & (data["stiffness"].values < most)
    print(f"stiffness {least} to {most} N m/rad: sag of the first joint up to {np.degrees(sag[some, 0].max()):.1f}°")

assert (data["status"] == 1).all()
# All arms are at rest where stiffness and gravity agree.
assert np.abs(data["final_v"].values).max() < 1e-6
for run in range(data.sizes["run"]):
    arm = setsu.with_payload(setsu.sample_mechanisms.planar_arm(2), "tip", float(data["hand"][run]))
    weight = setsu.gravity_torque(arm, data["final_q"].values[run])
    assert np.allclose(float(data["stiffness"][run]) * sag[run], weight, atol=1e-4)
