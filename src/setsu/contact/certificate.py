"""How well the impulses of a step satisfy the contact problem: what its certificate says.

| entry | meaning | zero when |
|---|---|---|
| depth | largest depth of a point inside a polygon after the step, m | nothing penetrates |
| cone | max (|f_t| - μ f_n, -f_n), N s | every impulse lies in its cone |
| complementarity | max |f_n v_n|, J | no impulse acts on a contact that opens |
| dissipation | max |f_t·v_t + μ f_n |v_t||, J | friction opposes sliding with all it has |
| residual | largest entry of F (newton_solver.py) in parts of the largest impulse | the solver is done |

v is the velocity at the end of the step, measured from what the contact was asked for (gap over step, restitution).
The entries are filled in step.py and kept in `Recording.contact_log`, the worst since the row before.
"""

from __future__ import annotations

__all__ = ["ENTRIES"]

ENTRIES = ("depth", "cone", "complementarity", "dissipation", "residual", "rounds", "passes", "unconverged")
"""Names of the entries, in order."""
