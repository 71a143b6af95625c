"""Make the shipped code anew, after compiled functions or their workspaces were edited: one command, some minutes.

    python -m setsu.warming.refresh          families that are stale, or whose workspaces have changed
    python -m setsu.warming.refresh all      all

Each family is made in a process of its own with an empty cache: the first call of the family (first_calls.py) shows
which functions it needs and with which layouts; they are lowered by Numba, linked into one module and optimised. The
same sources give the same bytes.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time

from setsu.native.shipped_code import describe_family, families, is_stale
from setsu.warming.first_calls import FIRST_CALLS, OWN, run_family

__all__ = ["main"]

_MAKE = "import sys; from setsu.warming.refresh import make; make(sys.argv[1])"
_LOOK = """import sys
from setsu.warming.first_calls import run_family
run_family(sys.argv[1])
sys.exit("numba" in sys.modules)"""


def main(words: list[str]) -> int:
    """Make stale families, or all with "all"; two at a time."""
    if words not in ([], ["all"]):
        print(__doc__)
        return 2
    known = families()
    wanted = [name for name in FIRST_CALLS if words or name not in known or is_stale(known[name]) or _falls_back(name)]
    for family in known.values():
        if family.name not in wanted:
            # Sources edited without effect on code: the quick look at their bytes is to succeed again.
            describe_family(family.name, family.entries, family.bitcode)
    if not wanted:
        print("shipped code is up to date")
        return 0
    start, running, failed = time.monotonic(), {}, []
    with tempfile.TemporaryDirectory() as cache:
        # The largest first.
        waiting = wanted.copy()
        while waiting or running:
            while waiting and len(running) < min(2, os.cpu_count() or 1):
                name = waiting.pop()
                print(f"{name}: lowering ...", flush=True)
                environment = {**os.environ, "SETSU_SHIPPED": "0", "SETSU_CACHE_DIR": os.path.join(cache, name)}
                running[name] = subprocess.Popen([sys.executable, "-c", _MAKE, name], env=environment)
            for name, process in list(running.items()):
                if process.poll() is not None:
                    del running[name]
                    failed += [name] if process.returncode else []
            time.sleep(0.1)
    print(f"failed: {', '.join(failed)}" if failed else f"done in {time.monotonic() - start:.0f} s", flush=True)
    return 1 if failed else 0


def _falls_back(name: str) -> bool:
    """Whether the first call of a family compiles although its sources are known: its workspaces have changed."""
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "SETSU_CACHE_DIR": cache}
        return subprocess.run([sys.executable, "-c", _LOOK, name], env=environment).returncode != 0


def make(name: str) -> None:
    """Make one family in this process."""
    from setsu.native.bitcode import optimised
    from setsu.native.compiled_code import requests
    from setsu.native.numba_lowering import lower
    from setsu.native.shipped_code import FOLDER, write_family

    start = time.monotonic()
    run_family(name)
    own = OWN.get(name, "setsu.")
    asked = [(function, signature) for function, signature in requests if function.name.startswith(own)]
    bitcode = optimised(lower(asked), lambda symbol: symbol.startswith("enter"))
    write_family(name, asked, bitcode)
    size = (FOLDER / f"{name}.bc.xz").stat().st_size
    print(f"{name}: {len(asked)} functions, {size / 1e3:.0f} kB, {time.monotonic() - start:.0f} s", flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
