"""kawasaki1995: minimum dynamic parameters of closed-link manipulators, their lists, counts and operation counts."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

from setsu.errors import InputError
from setsu.mechanism import with_gravity
from setsu.minimum_parameters import MinimumParameters, minimum_parameters, serial_equivalence
from setsu.minimum_parameters.parameter_names import combination
from setsu.reproduce.kawasaki1995 import printed
from setsu.reproduce.kawasaki1995.figures import figures
from setsu.reproduce.kawasaki1995.operations import Counted, count_operations, dense_totals
from setsu.reproduce.report import Deviation, Report, Row, Table, at_most, equal
from setsu.sample_mechanisms import (
    five_bar,
    iiwa,
    panda_arm,
    puma560,
    rx90,
    scara,
    six_joint_parallelogram_arm,
    stanford_arm,
    two_joint_parallelogram,
    ur10,
)

__all__ = ["run"]

_FACTOR = (
    "The factor printed as a3/a3' is a3'/a3 in the paper's own indexing: with the printed one, torques change. The two "
    "combinations are found with the corrected factor."
)
_FEWER = (
    "Fewer operations than printed: Newton-Euler with second moments, absolute angles on parallel axes, zeros removed, "
    "sums factored and equal expressions shared. Every count is of a program checked against the library's constrained "
    "inverse dynamics."
)
_MORE_FUNCTIONS = (
    "Cosine and sine of θ2' - θ2 besides those of θ2 and θ2': two functions more, and fewer operations in total."
)
_PASSED_ON = ("M_", "MSz_", "Iyy_")


def run(out: Path, progress: Callable[[str, float], None]) -> Report:
    """Find the lists of examples 1 and 3, count, and draw the mechanisms into `out`."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise InputError("reproduce needs matplotlib for the figures: pip install setsu[plots]") from None
    progress("example 3", 0.0)
    arm = six_joint_parallelogram_arm()
    tree = dataclasses.replace(arm, loops=())
    sigma_o, sigma = minimum_parameters(tree), minimum_parameters(arm)
    progress("examples 1 and 2", 0.3)
    flat, upright = (minimum_parameters(two_joint_parallelogram(vertical=vertical)) for vertical in (False, True))
    derived = _derived(flat, upright)
    progress("operations", 0.5)
    counted = count_operations()
    progress("serial arms", 0.7)
    arms = _serial_arms()
    progress("figures", 0.8)
    lists = {"sigma_o": sigma_o, "sigma": sigma, "example_1_horizontal": flat, "example_1_vertical": upright}
    for name, found in lists.items():
        _write(out / f"{name}.txt", str(found) + "\n")
        _write(out / f"{name}.tex", found.to_latex() + "\n")
    return Report(
        key="kawasaki1995",
        title="kawasaki1995: minimum dynamic parameters of closed-link manipulators",
        source="A symbolic analysis of the minimum dynamic parameters (MDP) of manipulators with closed links: which "
        "combinations of masses, first moments and inertias the joint torques depend on, and what that saves. "
        "Lengths stay names; every relation is proved as an identity of functions.",
        tables=(
            _counts(sigma_o, sigma),
            _sigma_table(sigma),
            derived,
            _operations(counted),
            _dense_table(),
            arms,
        ),
        figures=figures(out),
        notes=_notes(sigma_o, sigma, flat, upright),
    )


def _counts(sigma_o: MinimumParameters, sigma: MinimumParameters) -> Table:
    wanted = printed.SIGMA_COUNTS
    cut_elsewhere = minimum_parameters(six_joint_parallelogram_arm(cut="3p"))
    return Table(
        "Example 3: number of parameters, a3 and a3' different and named",
        (
            Row("original", "-", equal(wanted["original"]), sigma.matrix.shape[1]),
            Row("virtual tree, σ_o", "-", equal(wanted["σ_o"]), sigma_o.count),
            Row("closed, σ", "-", equal(wanted["σ"]), sigma.count),
            Row("closed, σ, cut at 3' instead of 4'", "-", equal(wanted["σ"]), cut_elsewhere.count),
            Row("largest change of a torque by σ, relative", "-", at_most(1e-12), sigma.torque_error()),
        ),
    )


def _sigma_table(sigma: MinimumParameters) -> Table:
    """One row per printed combination: 1 when it is found letter for letter, 0 when not."""
    found = set(_in_tree_parameters(sigma))
    rows = []
    for number, text in enumerate(printed.SIGMA, 1):
        corrected = text.replace("a3/a3p", "a3p/a3")
        explained = corrected != text and corrected in found
        name = f"{number}: {text}"
        rows.append(
            Row(name, "found", equal(1.0), float(text in found), Deviation(_FACTOR, 1.0) if explained else None)
        )
    a3, a3p = 0.7, 0.4
    column = 10 * sigma.mechanism.body_names.index("link3p") + 1
    row = next(k for k, name in enumerate(sigma.names) if name.startswith("MSx_3 "))
    rows.append(
        Row("factor of MSx_3' at a3 = 0.7, a3' = 0.4", "-", equal(-a3 / a3p, 1e-9),
            float(sigma.matrix[row, column]), Deviation(_FACTOR, abs(a3 / a3p - a3p / a3)))
    )  # fmt: skip
    return Table("Example 3: the list σ in the tree's parameters (I_xx stands for I_xx - I_yy)", tuple(rows))


def _in_tree_parameters(found: MinimumParameters) -> list[str]:
    """Combinations without what the tree passes on to the parents: masses, MSz, Iyy."""
    return [
        combination(terms[0][1], [term for term in terms[1:] if not term[1].startswith(_PASSED_ON)])
        for terms in found.terms
    ]


def _derived(flat: MinimumParameters, upright: MinimumParameters) -> Table:
    bars = five_bar()
    open_counts = [
        minimum_parameters(dataclasses.replace(found.mechanism, loops=())).count for found in (flat, upright)
    ]
    chain = serial_equivalence(flat.mechanism, "link2")
    return Table(
        "Examples 1 and 2: the printed page is missing; the numbers beside ours are derivations by hand",
        (
            Row("example 1, gravity normal to the plane: tree", "-", equal(8), open_counts[0]),
            Row("example 1, gravity normal to the plane: closed", "-", equal(4), flat.count),
            Row("the same: equivalent to the serial 2R chain (section 4), 1 = yes", "-", equal(1), chain.equivalent),
            Row("example 1, gravity in the plane: tree", "-", equal(12), open_counts[1]),
            Row("example 1, gravity in the plane: closed", "-", equal(8), upright.count),
            Row("five-bar, gravity in the plane", "-", equal(11), minimum_parameters(bars).count),
            Row("five-bar, gravity normal to the plane", "-", equal(7),
                minimum_parameters(with_gravity(bars, (0.0, 9.81, 0.0))).count),
        ),
        expected_name="by hand",
    )  # fmt: skip


def _operations(counted: tuple[Counted, ...]) -> Table:
    by_name = {entry.parameters: entry for entry in counted}
    rows = []
    for (method, parameters), (add, mul, func, total) in printed.OPERATIONS.items():
        ours = by_name[parameters].operations
        route = by_name[parameters].numeric if method == "numeric" else by_name[parameters].symbolic
        for what, number, count, by_route in (
            ("additions", add, ours.add, route.add),
            ("multiplications", mul, ours.mul, route.mul),
            ("functions", func, ours.func, route.func),
            ("total", total, ours.total, route.total),
        ):
            name = f"{method}, {parameters}: {what}"
            known = Deviation(_FEWER, number) if count <= number else None
            if what == "functions" and count > number and ours.total <= total:
                known = Deviation(_MORE_FUNCTIONS, float(count - number))
            rows.append(Row(name, "-", equal(number), count, known, (float(by_route),)))
    worst = max(entry.error for entry in counted)
    rows.append(Row("largest relative error of the counted programs", "-", at_most(1e-12), worst))
    title = "Table 2: operations of the inverse dynamics of example 3, a2 = a4 = 0"
    return Table(title, tuple(rows), ("by the paper's route",))


def _dense_table() -> Table:
    rows = [
        Row(f"{found.arm}: inertias of the sample", "-", None, found.sample, others=(float(found.dense),))
        for found in dense_totals()
    ]
    title = (
        "Operations of our shortest inverse dynamics, by how full the inertias are: those of the samples, which may "
        "have zeros and equal entries, and dense random ones"
    )
    return Table(title, tuple(rows), ("dense random inertias",))


def _serial_arms() -> Table:
    """The same analysis on arms without loops, whose counts are known."""
    makers = {"SCARA": scara, "RX-90": rx90, "Stanford arm": stanford_arm, "UR10": ur10, "PUMA 560": puma560,
              "Panda": panda_arm, "LBR iiwa": iiwa}  # fmt: skip
    rows = (
        Row(name, "-", equal(printed.SERIAL_ARMS[name]), minimum_parameters(make()).count)
        for name, make in makers.items()
    )
    return Table("Number of minimum parameters of serial arms", tuple(rows), expected_name="literature")


def _notes(
    sigma_o: MinimumParameters, sigma: MinimumParameters, flat: MinimumParameters, upright: MinimumParameters
) -> tuple[str, ...]:
    def listed(found: MinimumParameters) -> str:
        return "; ".join(_in_tree_parameters(found))

    return (
        f"σ_o of example 3 ({sigma_o.count}): {listed(sigma_o)}.",
        f"σ of example 3 ({sigma.count}), in σ_o: {listed(sigma)}.",
        f"Example 1, gravity normal to the plane ({flat.count}): {'; '.join(flat.names)}.",
        f"Example 1, gravity in the plane ({upright.count}): {'; '.join(upright.names)}.",
        "The lists with masses and first moments along the axes, which links pass on to their parents, are in the text "
        "and LaTeX files beside this page. A 2p stands for the paper's 2'.",
        "The printed page with the results of examples 1 and 2 is missing from the text this was made from: what "
        "stands as printed there are derivations by hand.",
        "Table 2. Computed: our shortest program, counted on symbols. By the paper's route: Luh's recursion on the "
        "tree, counted on numbers with all zeros (numeric rows) or on symbols with equal expressions shared "
        "(symbolic rows), as the paper says it did; the recursion it uses with σ_o is a reference that it does not "
        "print.",
    )


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as problem:
        raise InputError(f"reproduce: cannot write {path} ({problem.strerror})") from None
