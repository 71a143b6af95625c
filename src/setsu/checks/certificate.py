"""A certificate: masses and inertias of a model, and every law evaluated on it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

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
from setsu.checks.states import condition_number, draw_states
from setsu.checks.wrenches import check_joint_wrenches
from setsu.errors import InputError
from setsu.mechanism import InertiaReport, Mechanism, inertia_report

__all__ = ["CHECKS", "Certificate", "certify"]

# Straight-line code grows with the mechanism; compiling it takes many seconds beyond this size.
LARGEST_COMPILED = 60

CHECKS: tuple[Callable[..., CheckResult], ...] = (
    check_mass_matrix,
    check_equation_of_motion,
    check_forward_undoes_inverse,
    check_formulations,
    check_regressor,
    check_coriolis_matrix,
    check_energy_rate,
    check_joint_wrenches,
    check_turned_world,
    check_split_bodies,
    check_inverse_derivatives,
    check_forward_derivatives,
    check_batches,
    check_compiled_code,
)


@dataclass(frozen=True)
class Certificate:
    """What was found on one model.

    `inertia_problems` holds the reports of non-physical bodies only; `left_out` says which checks were not run and why;
    `missing` what the model file has and the mechanism does not (`Mechanism.missing`).
    """

    name: str
    total_mass: float
    nv: int
    condition_number: float
    inertia_problems: tuple[InertiaReport, ...]
    results: tuple[CheckResult, ...]
    left_out: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether the whole file is in the model, every inertia is possible and every law holds."""
        return not self.missing and not self.inertia_problems and all(result.passed for result in self.results)

    @property
    def verdict(self) -> str:
        """One line: certified, or why not."""
        if self.passed:
            return "certified: every law holds"
        reasons = []
        if self.missing:
            count = len(self.missing)
            what = "1 element of the file is" if count == 1 else f"{count} elements of the file are"
            reasons.append(f"{what} not in the model")
        if self.inertia_problems:
            reasons.append(f"{len(self.inertia_problems)} impossible inertia{'s' * (len(self.inertia_problems) > 1)}")
        failed = [result.name for result in self.results if not result.passed]
        if failed:
            reasons.append(f"fails: {', '.join(failed)}")
        return f"not certified: {'; '.join(reasons)}"


def certify(
    m: Mechanism, *, seed: int = 0, progress: Callable[[str, float], None] = lambda text, part: None
) -> Certificate:
    """Run all checks on a mechanism with seeded states.

    `progress(text, part)` is called before each check with its name and the part done, 0 to 1.
    """
    reports = [inertia_report(body.mass, body.center_of_mass, body.inertia_matrix, body.name) for body in m.bodies]
    condition = condition_number(m, draw_states(m, seed, 5).q) if m.nv else 1.0
    checks, left_out = _applicable(m, condition)
    results = []
    for index, check in enumerate(checks):
        name = _words(check)
        progress(name, index / len(checks))
        try:
            results.append(check(m, seed=seed))
        except InputError as reason:
            # Some functions refuse some mechanisms, such as derivatives with springs between points.
            left_out.append(f"{name}: {reason}")
    return Certificate(
        name=m.name,
        total_mass=m.total_mass,
        nv=m.nv,
        condition_number=condition,
        inertia_problems=tuple(report for report in reports if not report.valid),
        results=tuple(results),
        left_out=tuple(left_out),
        missing=m.missing,
    )


def _applicable(m: Mechanism, condition: float) -> tuple[tuple[Callable[..., CheckResult], ...], list[str]]:
    """Return the checks that make sense for a mechanism, and why the others do not."""
    if m.nv == 0:
        return (), ["all laws of motion: the mechanism cannot move"]
    needless: dict[Callable[..., CheckResult], str] = {}
    if m.nv > LARGEST_COMPILED:
        needless[check_compiled_code] = f"above {LARGEST_COMPILED} velocities the generic code is the one to use"
    if condition == float("inf"):
        for check in (check_forward_undoes_inverse, check_forward_derivatives, check_batches, check_compiled_code):
            needless[check] = "there are no accelerations where the mass matrix is singular"
    left_out = [f"{_words(check)}: {reason}" for check, reason in needless.items()]
    return tuple(check for check in CHECKS if check not in needless), left_out


def _words(check: Callable[..., CheckResult]) -> str:
    return check.__name__.removeprefix("check_").replace("_", " ")
