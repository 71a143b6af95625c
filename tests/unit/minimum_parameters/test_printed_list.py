"""kawasaki1995's lists of minimum parameters, with the factor a3'/a3 the right way up."""

from __future__ import annotations

import dataclasses

import numpy as np

import setsu

samples = setsu.sample_mechanisms

# The printed list is in tree parameters σ_o, in which I_ixx stands for I_ixx - I_iyy and masses are passed on already.
PRINTED = [
    "Izz_1",
    "MSx_2 + MSx_3p",
    "MSy_2",
    "Ixx_2 + Ixx_3p",
    "Ixy_2 + Ixy_3p",
    "Ixz_2 + Ixz_3p",
    "Iyz_2 + Iyz_3p",
    "Izz_2 + Izz_3p",
    "MSx_3 - a3p/a3*MSx_3p",
    "MSy_3",
    "Ixx_3 + Ixx_2p",
    "Ixy_3 + Ixy_2p",
    "Ixz_3 - Ixz_2p",
    "Iyz_3 - Iyz_2p",
    "Izz_3 + Izz_2p",
]
WRIST = ("MSx", "MSy", "Ixx", "Ixy", "Ixz", "Iyz", "Izz")
PRINTED += [f"{kind}_{link}" for link in (4, 5, 6) for kind in WRIST]
PRINTED += ["MSx_2p - a3p/a3*MSx_3p", "MSy_2p", "MSy_3p"]

PASSED_ON = ("M_", "MSz_", "Iyy_")


def _in_tree_parameters(p: setsu.MinimumParameters) -> list[str]:
    """Combinations without the parameters that the tree has passed on to the parents already."""
    result = []
    for terms in p.terms:
        (_, own), *others = terms
        text = own
        for factor, name in others:
            if not name.startswith(PASSED_ON):
                text += f" {factor[0]} {factor[1:]}*{name}" if factor[1:] else f" {factor} {name}"
        result.append(text)
    return result


def test_example_3_gives_the_printed_list() -> None:
    p = setsu.minimum_parameters(samples.six_joint_parallelogram_arm())
    assert p.matrix.shape == (39, 80)
    assert _in_tree_parameters(p) == PRINTED


def test_printed_factor_upside_down_leaves_an_error() -> None:
    """With a3/a3' in place of a3'/a3 the column of MSx_3' is far off; with the right factor it fits to rounding."""
    arm = samples.six_joint_parallelogram_arm()
    p = setsu.minimum_parameters(arm)
    wrong = p.matrix.copy()
    column = 10 * arm.body_names.index("link3p") + 1
    rows = [k for k, name in enumerate(p.names) if "a3p/a3*MSx_3p" in name]
    assert len(rows) == 2
    wrong[rows, column] = -0.7 / 0.4
    assert dataclasses.replace(p, matrix=wrong).torque_error() > 1e-3
    assert p.torque_error() < 1e-14


def test_tree_of_example_3_keeps_seven_parameters_per_link() -> None:
    tree = dataclasses.replace(samples.six_joint_parallelogram_arm(), loops=())
    kept = setsu.minimum_parameters(tree).independent_names
    links = ("2", "3", "4", "5", "6", "2p", "3p")
    assert kept == ("Izz_1", *(f"{kind}_{link}" for link in links for kind in WRIST))


def test_example_1_lists() -> None:
    horizontal = setsu.minimum_parameters(samples.two_joint_parallelogram())
    assert horizontal.names == (
        "Izz_1 + a2**2*M_2 + Izz_2p",
        "MSx_2 - a2p/a2*MSx_2p",
        "MSy_2 + a2p/a2*MSy_2p",
        "Izz_2 + Izz_1p + a2p**2*M_2p",
    )
    vertical = setsu.minimum_parameters(samples.two_joint_parallelogram(vertical=True))
    assert vertical.names[-2:] == ("MSx_1p + a2p*M_2p - a2p/a2*MSx_2p", "MSy_1p + a2p/a2*MSy_2p")


def test_values_of_names_do_not_enter_the_list() -> None:
    """Named geometry is generic: other lengths, the same list."""
    first = setsu.minimum_parameters(samples.six_joint_parallelogram_arm())
    other = setsu.minimum_parameters(samples.six_joint_parallelogram_arm(0.3, 0.5, 0.25, 0.2, 0.9))
    assert first.names == other.names
    assert not np.allclose(first.matrix, other.matrix)


def test_serial_equivalence_of_section_4() -> None:
    flat = setsu.serial_equivalence(samples.two_joint_parallelogram(), "link2")
    assert flat.equivalent
    assert flat.needed == ()
    assert flat.chain == ("link1", "link2")
    upright = setsu.serial_equivalence(samples.two_joint_parallelogram(vertical=True), "link2")
    assert not upright.equivalent
    assert upright.needed == ("MSx_1p", "MSy_1p")
    arm = setsu.serial_equivalence(samples.six_joint_parallelogram_arm(), "link6")
    assert arm.needed == ("MSx_2p", "MSy_2p", "MSy_3p")
