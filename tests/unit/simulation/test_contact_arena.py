"""Memory of a world with an environment."""

from typing import NamedTuple

import numpy as np

from setsu.simulation.contact_arena import in_arena

Floats = np.ndarray


class _Fields(NamedTuple):
    a: "Floats"
    b: "Floats"


def test_arrays_begin_at_cache_lines_whatever_memory_is_given() -> None:
    """Vectors that cross a cache line take twice as long to load."""
    for size in (1, 9, 1000):
        (moved,), arena, begins = in_arena(_Fields(np.ones((size, 3)), np.zeros(5)), last=())
        assert [array.ctypes.data % 64 for array in (*moved, arena)] == [0, 0, 0], size
        assert (moved.a == 1.0).all()
        assert begins == []
