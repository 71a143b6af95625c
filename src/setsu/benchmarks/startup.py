"""What a user waits for before the first result: import, the command line, first calls with and without cached code.

Each time is taken in a fresh process; the code cache is a fresh folder, so that "cold" is cold. Python's byte code is
there, as after the first start of any installed program.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass

__all__ = ["StartupTime", "measure_startup"]

FAMILIES = ("tree", "constrained", "loop", "contact")
FUNCTIONS = ("inverse_dynamics", "forward_dynamics", "mass_matrix")

FIRST_CALL = """
import time, numpy, setsu
from setsu.sample_mechanisms import seven_joint_arm
m = seven_joint_arm()
q, v, a = m.neutral(), numpy.zeros(m.nv), numpy.zeros(m.nv)
arguments = (q,) if "{name}" == "mass_matrix" else (q, v, a)
start = time.perf_counter()
{call}
print(time.perf_counter() - start)
"""
# Prints processor time (s), and whether Numba had to be loaded: the shipped code was not used then.
FAMILY_CALL = """
import sys, time
start = time.process_time()
from setsu.warming import FIRST_CALLS
FIRST_CALLS["{name}"]()
print(time.process_time() - start if "numba" not in sys.modules else -1.0)
"""
GENERIC = "setsu.{name}(m, *arguments)"
COMPILED = 'setsu.compile(m, ["{name}"]).{name}(*arguments)'

IMPORT = "import time; start = time.perf_counter(); import setsu; print(time.perf_counter() - start)"


@dataclass(frozen=True)
class StartupTime:
    """A wait in seconds, and the longest one we are content with.

    fallback: the shipped code of this family was stale or missing, so that Numba was measured: the time means nothing.
    """

    what: str
    seconds: float
    goal: float
    fallback: bool = False


def measure_startup(repeats: int) -> list[StartupTime]:
    """Time import, `setsu --help` and first calls; the fastest of `repeats` processes counts."""
    with tempfile.TemporaryDirectory() as byte_code:
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
        environment["PYTHONPYCACHEPREFIX"] = byte_code
        _outer(environment)
        return _measure(repeats, environment)


def _measure(repeats: int, environment: dict[str, str]) -> list[StartupTime]:
    times = [
        StartupTime("import setsu", min(_inner(IMPORT, environment) for _ in range(repeats)), 0.5),
        StartupTime("setsu --help", min(_outer(environment) for _ in range(repeats)), 0.4),
    ]
    for kind, call in (("generic", GENERIC), ("compiled", COMPILED)):
        for name in FUNCTIONS:
            script = FIRST_CALL.format(name=name, call=call.format(name=name))
            cold, cached = float("inf"), float("inf")
            for _ in range(repeats):
                with tempfile.TemporaryDirectory() as cache:
                    with_cache = {**environment, "SETSU_CACHE_DIR": cache}
                    cold = min(cold, _inner(script, with_cache))
                    cached = min(cached, _inner(script, with_cache))
            words = name.replace("_", " ")
            times.append(StartupTime(f"first {words}, {kind}, cold cache", cold, 2.0))
            times.append(StartupTime(f"first {words}, {kind}, cached", cached, 0.01))
    return [*times, *_first_calls(repeats, environment)]


def _first_calls(repeats: int, environment: dict[str, str]) -> list[StartupTime]:
    """Processor time of the first call of each family of compiled code, imports included: empty cache, then cached."""
    times = []
    for name in FAMILIES:
        script, cold, cached = FAMILY_CALL.format(name=name), [], []
        for _ in range(repeats):
            with tempfile.TemporaryDirectory() as cache:
                with_cache = {**environment, "SETSU_CACHE_DIR": cache}
                cold.append(_inner(script, with_cache))
                cached.append(_inner(script, with_cache))
        for what, found, goal in (("empty cache", cold, 5.0), ("cached", cached, 1.0)):
            times.append(StartupTime(f"first {name}, {what}, processor time", min(found), goal, min(found) < 0.0))
    return times


def _inner(script: str, environment: dict[str, str]) -> float:
    """Run a script that prints the seconds it measured."""
    finished = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
    )
    return float(finished.stdout)


def _outer(environment: dict[str, str]) -> float:
    """Seconds of a whole process that prints the help."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-m", "setsu", "--help"], env=environment, capture_output=True, check=True)
    return time.perf_counter() - start
