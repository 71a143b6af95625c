"""What the numbers were measured on: processor, vector instructions, versions."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Machine", "describe_machine"]


@dataclass(frozen=True)
class Machine:
    """Processor name, number of usable cores, whether AVX2 and AVX-512 are there, system, Python, load average."""

    processor: str
    cores: int
    avx2: bool
    avx512: bool
    system: str
    python: str
    load: float = 0.0

    @property
    def busy(self) -> bool:
        """Whether other programs were running: more than a quarter of a core on average."""
        return self.load > 0.25

    def __str__(self) -> str:
        vectors = "AVX-512" if self.avx512 else "AVX2, no AVX-512" if self.avx2 else "neither AVX2 nor AVX-512"
        return f"{self.processor}, {self.cores} cores, {vectors}; {self.system}, Python {self.python}"


def describe_machine() -> Machine:
    """Look at the machine this runs on."""
    from llvmlite import binding

    features = binding.get_host_cpu_features()
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)
    return Machine(
        processor=_processor_name() or binding.get_host_cpu_name(),
        cores=cores,
        avx2=bool(features.get("avx2")),
        avx512=bool(features.get("avx512f")),
        system=f"{platform.system()} {platform.machine()}",
        python=platform.python_version(),
        load=round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else 0.0,
    )


def _processor_name() -> str:
    """The name the system gives the processor, or nothing."""
    information = Path("/proc/cpuinfo")
    if information.is_file():
        for line in information.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor()
