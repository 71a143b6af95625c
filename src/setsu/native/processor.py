"""Which processor code is made for: the one this process runs on, or a named level below it.

$SETSU_PROCESSOR, read once, names the level: `native` (default), `generic`, `x86-64-v2`, `x86-64-v3`, `x86-64-v4`.
Kernels, specialised code and compiled loops all follow it. The numbers computed do not depend on it; what does is the
width of vectors, and whether a fused multiply-add is an instruction or a call of the C library.
"""

from __future__ import annotations

import os
from functools import cache
from typing import NamedTuple

from setsu.errors import InputError

__all__ = ["LEVELS", "Target", "host", "target"]

# What each level adds to the one before, in LLVM's words (System V ABI for x86-64, chapter "Processor levels").
_ADDED = {
    "x86-64-v2": ("cx16", "popcnt", "sahf", "sse3", "ssse3", "sse4.1", "sse4.2"),
    "x86-64-v3": ("avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe"),
    "x86-64-v4": ("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"),
}
LEVELS = ("native", "generic", *_ADDED)


class Target(NamedTuple):
    """A processor in LLVM's words, and how many doubles its vectors hold."""

    level: str
    name: str
    features: str
    lanes: int

    @property
    def identity(self) -> str:
        """A text that differs where the code made differs: it keeps cached code apart."""
        return f"{self.name} {self.features}"


class Host(NamedTuple):
    """This process's processor: architecture (first word of LLVM's triple), name, and what it has."""

    architecture: str
    name: str
    features: dict[str, bool]


@cache
def host() -> Host:
    """Ask LLVM for the processor this process runs on."""
    import llvmlite.binding as llvm

    architecture = llvm.get_process_triple().split("-")[0]
    return Host(architecture, llvm.get_host_cpu_name(), dict(llvm.get_host_cpu_features()))


@cache
def target() -> Target:
    """Return the target of this process: $SETSU_PROCESSOR, else the processor itself."""
    return _target(os.environ.get("SETSU_PROCESSOR") or "native", host())


def _target(level: str, here: Host) -> Target:
    if level not in LEVELS:
        raise InputError(f"SETSU_PROCESSOR: expected one of {', '.join(LEVELS)}, got {level!r}")
    if level == "native":
        features = ",".join(f"{'+' if has else '-'}{feature}" for feature, has in sorted(here.features.items()))
        return Target(level, here.name, features, _lanes({name for name, has in here.features.items() if has}))
    if level == "generic":
        return Target(level, "x86-64" if here.architecture == "x86_64" else "generic", "", 2)
    needed: list[str] = []
    for name, added in _ADDED.items():
        needed += added
        if name == level:
            break
    lacking = [feature for feature in needed if not here.features.get(feature)]
    if here.architecture != "x86_64" or lacking:
        why = f"it lacks {', '.join(lacking)}" if here.architecture == "x86_64" else f"it is {here.architecture}"
        raise InputError(
            f"SETSU_PROCESSOR={level}: this processor ({here.name}) cannot run code of that level: {why}; "
            "take a lower level or native"
        )
    return Target(level, level, ",".join(f"+{feature}" for feature in needed), _lanes(set(needed)))


def _lanes(features: set[str]) -> int:
    return 8 if "avx512f" in features else 4 if "avx" in features else 2
