"""How many threads work on a batch, and the pool they come from."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor

from setsu.spatial import whole_number

__all__ = ["get_threads", "pool", "set_threads"]

_lock = threading.Lock()
_count = max(1, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)
_pool: ThreadPoolExecutor | None = None
_pool_size = 0
_pool_owner = 0


def set_threads(count: int) -> None:
    """Set how many threads large batches use (1: no threads). The numbers computed do not depend on it.

    >>> set_threads(1)
    """
    global _count
    _count = whole_number(count, "set_threads")


def get_threads() -> int:
    """Return how many threads large batches use; as many as there are cores unless set."""
    return _count


def pool(size: int) -> ThreadPoolExecutor:
    """Return a pool with at least `size` threads; a forked process gets its own."""
    global _pool, _pool_size, _pool_owner
    with _lock:
        if _pool is None or _pool_size < size or _pool_owner != os.getpid():
            _pool = ThreadPoolExecutor(size, thread_name_prefix="setsu")
            _pool_size, _pool_owner = size, os.getpid()
        return _pool
