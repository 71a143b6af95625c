"""Why contacts that slide find no forces, in words: which of them jam, and how much friction would be little enough.

Painlevé's paradox: friction turns and presses a sliding point into the surface harder than the point gives way, so that
no finite normal force, and no other mode, satisfies the laws of contact. Without friction forces always exist; the
contacts at fault are those whose own friction, taken away, lets forces exist again, and their critical coefficient is
found by halving.
"""

from __future__ import annotations

import numpy as np

from setsu.constraints.contact_forces import solve_contacts
from setsu.constraints.contact_modes_solve import ContactProblem
from setsu.errors import InputError

__all__ = ["refuse_unsettled"]

_PRECISION = 1e-7


def refuse_unsettled(problem: ContactProblem, names: tuple[str, ...], where: str, *, impossible: bool) -> None:
    """Raise an InputError about one state without contact forces, the first of the problem's.

    Args:
        names: of the contacts.
        where: which state of a batch, or nothing.
        impossible: whether it is proven that no forces exist.
    """
    sliding = np.flatnonzero(problem.slides[0] & (problem.friction > 0.0))
    alone = [[int(k)] for k in sliding if _exists(problem, [int(k)], 0.0)]
    causes = alone or [[int(k) for k in sliding]]
    told = ", or ".join(_told(problem, cause, names) for cause in causes)
    verdict = (
        "no finite forces exist in this state (Painlevé paradox: friction jams)"
        if impossible
        else "no combination of sliding, sticking and open contacts was found that balances the forces"
    )
    listed = ", ".join(f'"{name}"' for name in names)
    raise InputError(
        f"constrained_dynamics: contact{'s' if len(names) > 1 else ''} {listed}{where}: {verdict}; expected {told}"
    )


def _told(problem: ContactProblem, cause: list[int], names: tuple[str, ...]) -> str:
    """What would be little enough friction of these contacts."""
    if not _exists(problem, cause, 0.0):
        return "smaller friction"
    low, high = 0.0, 1.0
    while high - low > _PRECISION:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if _exists(problem, cause, middle) else (low, middle)
    return " and ".join(
        f'a coefficient of friction of "{names[k]}" below the critical value {high * problem.friction[k]:.6g}, '
        f"got {problem.friction[k]:g}"
        for k in cause
    )


def _exists(problem: ContactProblem, contacts: list[int], share: float) -> bool:
    """Return whether forces exist when some contacts have a share of their friction."""
    friction = problem.friction.copy()
    friction[contacts] *= share
    found = solve_contacts(problem.B, problem.b, friction, problem.bilateral, problem.slides)
    return bool(found.converged[0])
