"""`compile` for constrained mechanisms too: dynamics compiled for one mechanism, loops and couplings included."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from setsu.constraints.constrained_dynamics import constrained_dynamics
from setsu.dynamics import compiled as tree_functions
from setsu.dynamics.bearings import refuse_bearings
from setsu.dynamics.catalogue import require_mechanism
from setsu.dynamics.compiled import CompiledFunctions
from setsu.mechanism import Mechanism
from setsu.spatial import listed

__all__ = ["compile"]

_CONSTRAINED = "constrained_dynamics"


def compile(mechanism: Mechanism, names: Iterable[str]) -> CompiledFunctions:
    """Return functions compiled for this mechanism alone.

    Args:
        names: functions of the library by name, for example ["inverse_dynamics", "mass_matrix", "forward_dynamics",
            "constrained_dynamics"].

    Code is made when a function is first called (for single states and for batches separately) and kept on disk.
    Where it would be too long to pay (derivatives of a humanoid, a chain of hundreds of links), generic code stands in.

    >>> import setsu
    >>> m = setsu.sample_mechanisms.planar_arm(2)
    >>> fast = setsu.compile(m, ["inverse_dynamics"])
    >>> fast.inverse_dynamics([0.1, 0.2], [0.0, 0.0], [0.0, 0.0]).shape
    (2,)
    """
    require_mechanism(mechanism, "compile")
    wanted = (names,) if isinstance(names, str) else tuple(listed(names, "compile", "function names"))
    others = {}
    if _CONSTRAINED in wanted:
        refuse_bearings(mechanism, f"compile {_CONSTRAINED}")
        others[_CONSTRAINED] = partial(constrained_dynamics, mechanism, specialised=True)
    return tree_functions.compile(mechanism, [name for name in wanted if name != _CONSTRAINED], others)
