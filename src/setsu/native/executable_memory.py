"""Memory that holds machine code: written first, then made executable, never both at once."""

from __future__ import annotations

import ctypes
import os
import sys
from functools import cache
from typing import Any

__all__ = ["place_code", "runs_x86_64_code"]


def runs_x86_64_code() -> bool:
    """Tell whether this process is a 64-bit one on an x86-64 processor under Linux, the only kind we link for."""
    return sys.platform == "linux" and os.uname().machine == "x86_64" and sys.maxsize > 2**32


def place_code(code: bytes) -> int:
    """Copy position-independent code to fresh pages of its own and return the address.

    The pages stay until the process ends: a thread may still run in them while the interpreter shuts down. A forked
    process has them too. Raises an OSError where the system allows no new executable memory.
    """
    import mmap

    library = _c_library()
    size = max(len(code), 1)
    anonymous = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    address = library.mmap(None, size, mmap.PROT_READ | mmap.PROT_WRITE, anonymous, -1, 0)
    if address in (None, ctypes.c_void_p(-1).value):
        raise OSError(ctypes.get_errno(), "no memory for machine code")
    ctypes.memmove(address, code, len(code))
    if library.mprotect(address, size, mmap.PROT_READ | mmap.PROT_EXEC) != 0:
        error = ctypes.get_errno()
        library.munmap(address, size)
        raise OSError(error, "the system does not allow this process to make memory executable")
    return address


@cache
def _c_library() -> Any:
    library = ctypes.CDLL(None, use_errno=True)
    pointer, size, number = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
    library.mmap.restype, library.mmap.argtypes = pointer, (pointer, size, number, number, number, ctypes.c_long)
    library.mprotect.argtypes = (pointer, size, number)
    library.munmap.argtypes = (pointer, size)
    return library
