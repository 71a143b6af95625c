"""Laws that the dynamics of any mechanism obey, as functions a user runs on an own model.

Each `check_...` takes a mechanism and returns a CheckResult with the worst error and the tolerance; `certify` runs all
of them and adds a look at masses and inertias.

    >>> import setsu
    >>> from setsu.checks import certify, check_forward_undoes_inverse
    >>> from setsu.sample_mechanisms import seven_joint_arm
    >>> check_forward_undoes_inverse(seven_joint_arm()).passed
    True
"""

from setsu.checks.certificate import CHECKS, Certificate, certify
from setsu.checks.derivatives import check_forward_derivatives, check_inverse_derivatives
from setsu.checks.energy import check_coriolis_matrix, check_energy_rate
from setsu.checks.equations import (
    check_equation_of_motion,
    check_formulations,
    check_forward_undoes_inverse,
    check_mass_matrix,
    check_regressor,
)
from setsu.checks.execution import check_batches, check_compiled_code
from setsu.checks.invariances import check_split_bodies, check_turned_world
from setsu.checks.result import CheckResult
from setsu.checks.speed import Speed, measure_speed
from setsu.checks.wrenches import check_joint_wrenches

__all__ = [
    "CHECKS",
    "Certificate",
    "CheckResult",
    "Speed",
    "certify",
    "check_batches",
    "check_compiled_code",
    "check_coriolis_matrix",
    "check_energy_rate",
    "check_equation_of_motion",
    "check_formulations",
    "check_forward_derivatives",
    "check_forward_undoes_inverse",
    "check_inverse_derivatives",
    "check_joint_wrenches",
    "check_mass_matrix",
    "check_regressor",
    "check_split_bodies",
    "check_turned_world",
    "measure_speed",
]
