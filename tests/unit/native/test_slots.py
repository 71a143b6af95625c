"""Passed fields of a link live in a slot until its last child has read them."""

import numpy as np
import pytest

import setsu
from setsu.kernels.newton_euler_link import inverse_dynamics_link
from setsu.native.layout import HEADER_INTS, LINK_INTS, pack


def slots_of(m: setsu.Mechanism) -> tuple[np.ndarray, np.ndarray]:
    ints, _ = pack(inverse_dynamics_link(), m.tables)
    links = ints[HEADER_INTS : HEADER_INTS + m.tables.n_links * LINK_INTS].reshape(-1, LINK_INTS)
    return links[:, 6], links[:, 7]


@pytest.mark.parametrize("seed", range(20))
def test_no_slot_is_taken_while_a_child_still_needs_it(seed):
    m = setsu.sample_mechanisms.random_tree(seed, n_bodies=25)
    own, of_parent = slots_of(m)
    held = {-1: 0}
    for link, parent in enumerate(m.tables.parent.tolist()):
        assert of_parent[link] == held[parent]
        waiting = {held[i] for i in m.tables.parent[link:].tolist() if i in held}
        assert own[link] not in waiting
        held[link] = own[link]


def test_a_chain_of_any_length_needs_three():
    own, _ = slots_of(setsu.sample_mechanisms.chain(200))
    assert set(own) == {1, 2}
