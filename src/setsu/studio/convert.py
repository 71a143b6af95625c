"""`python -m setsu.studio.convert SOURCE TARGET`: an uploaded MJCF file into native TOML, a recording into .npz.

Runs in a process of its own, because MuJoCo and HDF5 read the file here; exit code 2 with the message for bad input.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

from setsu.errors import SetsuError

__all__ = ["main"]


def main(words: list[str]) -> int:
    """Convert; return the exit code."""
    source, target = Path(words[0]), Path(words[1])
    warnings.simplefilter("ignore")
    try:
        if target.suffix == ".npz":
            from setsu.simulation import Recording

            Recording.load(source).save(target)
        else:
            from setsu.model_files import load

            load(source).save(target)
    except SetsuError as problem:
        print(problem, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
