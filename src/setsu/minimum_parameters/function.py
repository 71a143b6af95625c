"""`minimum_parameters`, the public function; the analysis behind it loads when it is first called."""

from __future__ import annotations

from numpy.typing import ArrayLike

from setsu.errors import InputError
from setsu.mechanism import Mechanism
from setsu.minimum_parameters.parameter_names import preferred_order
from setsu.minimum_parameters.record import MinimumParameters

__all__ = ["minimum_parameters"]


def minimum_parameters(mechanism: Mechanism, *, exact: bool = True, q: ArrayLike | None = None) -> MinimumParameters:
    """Return the minimum dynamic parameters: the fewest combinations of inertial parameters that torques depend on.

    Args:
        mechanism: any; loops and couplings included. Named lengths and angles (`setsu.symbol`) stay names.
        exact: rational and symbolic algebra; False uses floating-point ranks at random states.
        q: configuration (nq,) on the assembly branch meant, for mechanisms with loops; when not given, neutral if it
            closes, else one that is found, parallelograms before crossed ones.

    Armature, friction and springs are not part of it. Raises InputError when loops cannot be closed.

    >>> import setsu
    >>> p = minimum_parameters(setsu.sample_mechanisms.planar_arm(2))
    >>> p.count, p.names[0]
    (6, 'MSx_1 + 0.5*M_2')
    """
    # Loaded when first used: importing the package stays quick.
    from setsu.minimum_parameters.analysis import analyse

    if not isinstance(mechanism, Mechanism):
        raise InputError(f"minimum_parameters: expected a Mechanism, got {type(mechanism).__name__}")
    return analyse(mechanism, exact, q, preferred_order(mechanism), "minimum_parameters")
