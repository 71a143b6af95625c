"""What a run with an environment says of its contacts where their numbers are not what one would expect."""

from __future__ import annotations

import warnings

from setsu.errors import ModelWarning

__all__ = ["warn_of_little_room", "warn_of_unconverged"]


def warn_of_little_room(t: float, room: int) -> None:
    """Say that, before time t (s), more places touched at once than the `room` a problem has."""
    warnings.warn(
        f"simulate: before t = {t:.6g} s more than {room} places touched at once; some were left out",
        ModelWarning,
        stacklevel=6,
    )


def warn_of_unconverged(steps: int) -> None:
    """Say at the end of a run in how many of its steps contact impulses did not converge, if in any."""
    if steps:
        warnings.warn(
            f"simulate: contact impulses of {steps} steps did not converge; these steps took the best impulses "
            "found or, where their residual was above 1e-6, the convex friction problem, which lets sliding "
            "contacts separate. contact_log.unconverged marks them; a shorter step may help.",
            ModelWarning,
            stacklevel=5,
        )
