"""Four states at once in compiled code: one number of each in the lanes of a vector.

Numba's own code is not vectorised (bitcode.py), so that its bits are the same everywhere. Vectors that the source asks
for keep this: each lane is rounded by itself. Functions of vectors and rotations as tuples (compiled_vectors.py) take
lanes as they take numbers.

    a + b, a - b, a * b, a / b, -a    of lanes; a number joins by `spread`

Arrays of lanes have them as their last axis, of length LANES. Numba learns of all this from numba_lanes.py.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from setsu.native.control_flow import Intrinsic

__all__ = [
    "LANES",
    "LaneIntrinsic",
    "gather",
    "lane",
    "load",
    "load_at",
    "load_from",
    "root",
    "spread",
    "store",
    "store_at",
    "store_from",
    "total",
    "transposed",
]

LANES = 4
# Code depends on what numba_lanes.py makes of these, which therefore has to be part of their names. A checkout under
# Windows may have other line ends.
_SOURCE = (Path(__file__).parent / "numba_lanes.py").read_bytes().replace(b"\r\n", b"\n")
_MADE_BY = hashlib.sha256(_SOURCE).hexdigest()[:12]


class LaneIntrinsic(Intrinsic):
    """Something that compiled code can do with lanes."""

    def __init__(self, name: str) -> None:
        super().__init__(f"lanes.{name} {_MADE_BY}")


# The lanes at [i] of an array (n, LANES), at [i, j] of one (n, m, LANES).
load: Callable[[Any, int], Any] = LaneIntrinsic("load")
load_at: Callable[[Any, int, int], Any] = LaneIntrinsic("load_at")
store: Callable[[Any, int, Any], None] = LaneIntrinsic("store")
store_at: Callable[[Any, int, int, Any], None] = LaneIntrinsic("store_at")
# The LANES numbers of an array (n,) from [k] on.
load_from: Callable[[Any, int], Any] = LaneIntrinsic("load_from")
store_from: Callable[[Any, int, Any], None] = LaneIntrinsic("store_from")
# Entry k of each row of an array (LANES, n).
gather: Callable[[Any, int], Any] = LaneIntrinsic("gather")
# A number in all lanes.
spread: Callable[[float], Any] = LaneIntrinsic("spread")
root: Callable[[Any], Any] = LaneIntrinsic("root")
# The number in lane k; all of them added up, in pairs: (0 + 1) + (2 + 3).
lane: Callable[[Any, int], float] = LaneIntrinsic("lane")
total: Callable[[Any], float] = LaneIntrinsic("total")
# Rows of a matrix from its columns: lanes 0 of all four, lanes 1, and so on.
transposed: Callable[[Any, Any, Any, Any], tuple[Any, Any, Any, Any]] = LaneIntrinsic("transposed")
