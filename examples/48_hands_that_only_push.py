"""Two arms carry an object between fingers that can only push: nodal torques, friction, and what a weak grip does.

Nodal inverse dynamics gives torques for a motion with a grip force. The simulation joins nothing: the object is a free
body, and each finger presses on a face of it within a cone of friction. 2 μ F has to carry the weight.
"""

import numpy as np

from setsu.reproduce.isobe2003.pushing_hands import FALLEN, FRICTION, carry
from setsu.reproduce.isobe2003.systems import OBJECT_MASS

needed = OBJECT_MASS * 9.81 / (2.0 * FRICTION)
print(f"friction {FRICTION}: two fingers carry {OBJECT_MASS} kg from {needed:.2f} N on")
for grip in (1.0, 0.7, 0.5):
    run = carry(grip)
    used = np.max(run.rubbing / np.maximum(run.pressing, 1e-9))
    end = (
        "carried for 4 s" if run.dropped is None else f"dropped: {1e3 * FALLEN:.0f} mm below after {run.dropped:.3f} s"
    )
    least, most = run.pressing.min(), run.pressing.max()
    print(f"grip {grip} N: {end}; a finger presses with {least:.3f} to {most:.3f} N, friction used {used:.2f}")
    # No finger ever pulls, no friction leaves its cone; a strong grip carries, a weak one drops.
    assert run.pressing.min() >= 0.0
    assert (run.rubbing - FRICTION * run.pressing).max() < 1e-9
    assert (run.dropped is None) == (grip > needed)
