"""A tour: load a robot from a file, move it, see every force inside it, draw the torques, certify it.

Run by `python3 run.py demo`. Writes torques.png and joint_forces.png into out/demo (or the folder given).
"""

import sys
from pathlib import Path

import numpy as np

import setsu
from setsu.checks import certify

out = Path(sys.argv[1] if len(sys.argv) > 1 else "out/demo")
out.mkdir(parents=True, exist_ok=True)

# 1. A robot from its file. Friction and damping in the file are used, the tool's mass is not lost.
arm = setsu.load(Path(__file__).parent / "models" / "arm.urdf")
print(arm.summary(), end="\n\n")

# 2. A motion: every joint swings by half a radian, each at its own pace.
time = np.linspace(0.0, 4.0, 801)
rate = 2.0 * np.pi * np.array([0.25, 0.5, 0.5, 0.75, 1.0, 1.25])
phase = time[:, None] * rate
q, v, a = 0.5 * np.sin(phase), 0.5 * rate * np.cos(phase), -0.5 * rate**2 * np.sin(phase)

# 3. Torques of all 801 states in one call, and back: forward dynamics returns the accelerations.
tau = setsu.inverse_dynamics(arm, q, v, a)
back = setsu.forward_dynamics(arm, q, v, tau)
print(f"forward(inverse) returns the accelerations within {np.abs(back - a).max():.1e} rad/s²")

# 4. Every internal force: what each link receives from the one before it.
wrenches = setsu.joint_wrenches(arm, q, v, a)
force = np.linalg.norm(wrenches[..., :3], axis=-1)
print(f"largest force in a joint: {force.max():.1f} N, in {arm.joint_names[int(force.max(axis=0).argmax())]}")


def draw(values: np.ndarray, label: str, name: str) -> None:
    """Write one curve per joint."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(8, 4), constrained_layout=True)
    axes.plot(time, values, label=arm.joint_names)
    axes.set_xlabel("time (s)")
    axes.set_ylabel(label)
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    axes.grid(alpha=0.3)
    figure.savefig(out / name, dpi=130)
    pyplot.close(figure)
    print(f"written: {out / name}")


draw(tau, "torque (N m)", "torques.png")
draw(force, "force in the joint (N)", "joint_forces.png")

# 5. Its certificate: laws that hold for any mechanism, evaluated on this one.
certificate = certify(arm)
for result in certificate.results:
    print(result)
print()

# 6. Code for this robot alone.
fast = setsu.compile(arm, ["inverse_dynamics"])
difference = np.abs(fast.inverse_dynamics(q, v, a) - tau).max()
print(f"specialised code differs from the generic code by {difference:.1e} N m")

assert certificate.passed
assert np.allclose(back, a, atol=1e-8)
assert difference < 1e-9
