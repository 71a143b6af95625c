"""A walking humanoid is pushed sideways, and walks over a bump it does not know of: steps, soles and torso catch it.

The plan of example 23 alone falls over. `Stabiliser` moves its footsteps and their time by the capture point, presses
where the body is pushed back, leans where soles do not reach, and takes the ground where the feet find it.
"""

import sys
from pathlib import Path

import numpy as np

import setsu
from setsu.control.humanoid import Biped, Stabiliser, Walk, plan_walk
from setsu.control.humanoid.balance import tilt, with_fall

m = setsu.sample_mechanisms.hoap1_like()
biped = Biped(m)
motion = plan_walk(biped, Walk(steps=5, standing=0.4))
floor = [[-1, -1, 0], [2, -1, 0], [2, 1, 0], [-1, 1, 0]]
bar = [[0.1, -1, 0.01], [0.2, -1, 0.01], [0.2, 1, 0.01], [0.1, 1, 0.01]]
level, bumpy = setsu.Environment([setsu.Polygon(floor)]), setsu.Environment([setsu.Polygon(floor), setsu.Polygon(bar)])


def walked(law, ground, push=(0.0, 0.0), at=1.15):
    """A run whose body gets `push` (m/s) within 10 ms at a time (s)."""
    sim = setsu.Simulator(m, 1e-3, torque=law, environment=ground)
    sim.reset(motion.q[0], np.zeros(m.nv))
    before = sim.run(at, record_every=10)
    sim.push("torso", np.array([*push, 0.0]) * m.total_mass / 0.01)
    sim.step(steps=10)
    return before, with_fall(biped, sim.run(motion.time[-1] + 2.0 - sim.time, record_every=10))


servo = setsu.JointServo(300.0, 4.0, motion.position, motion.velocity, motion.feed_forward)
cases = {
    "pushed by 0.3 m/s to the left, plan alone": (servo, level, (0.0, 0.3)),
    "pushed by 0.3 m/s to the left": (Stabiliser(motion), level, (0.0, 0.3)),
    "over a bump of 10 mm": (Stabiliser(motion), bumpy, (0.0, 0.0)),
}
runs = {name: walked(*case) for name, case in cases.items()}
for name, (_, run) in runs.items():
    falls = [event for event in run.events if event.kind == "fall"]
    ahead = biped.sole_corners(run.q[-1]).mean(axis=(0, 1))[0]
    end = f"falls at {falls[0].time:.2f} s" if falls else f"arrives at {ahead:.3f} m"
    print(f"{name}: {end}, leans by at most {np.degrees(tilt(biped, run.q)).max():.1f}°")
    assert bool(falls) == ("alone" in name)

if len(sys.argv) > 1:
    # python examples/47_humanoid_is_pushed.py FOLDER draws the second run from in front.
    from matplotlib.figure import Figure

    from setsu.reproduce.sugihara2002.snapshots import View, draw_floor, draw_mechanism

    figure = Figure(figsize=(11.0, 3.6), layout="constrained")
    axes, view = figure.add_subplot(), View(20.0, 10.0)
    before, after = runs["pushed by 0.3 m/s to the left"]
    shown = [(before, before.time[-1]), *((after, t) for t in (1.3, 1.5, 1.8, 2.2, 2.8, after.time[-1]))]
    draw_floor(axes, view, (-0.1, -0.2), (0.1, 0.36 * len(shown) - 0.16))
    for place, (run, t) in enumerate(shown):
        row = int(np.searchsorted(run.time, t - 1e-9))
        shift = np.array([-run.q[row, 0], 0.36 * place, 0.0])
        draw_mechanism(axes, m, run.q[row], view, shift)
        axes.text(*view.project(np.array([0.0, 0.36 * place, -0.08])), f"{run.time[row]:.2f} s", ha="center")
    axes.set_aspect("equal")
    axes.autoscale_view()
    axes.axis("off")
    figure.savefig(Path(sys.argv[1]) / "humanoid_is_pushed.png", dpi=130)
