"""`setsu warm-up`: compile before anybody waits for it."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from setsu.command_line.model_argument import load_model
from setsu.command_line.output import print_json
from setsu.errors import InputError

__all__ = ["warm_up"]


def warm_up(
    *files: Path,
    floating_base: bool = False,
    package: Annotated[tuple[Path, ...], Parameter(negative=())] = (),
    json: bool = False,
) -> int:
    """Compile all code of the library for this machine into the cache, so that no process has to wait for it.

    Run it while an image is built, or once on a cluster's shared folder; SETSU_CACHE_DIR names the folder of the cache.
    Where machines differ, let SETSU_PROCESSOR name a level that all of them have, such as x86-64-v3, for this command
    and for the processes that use the cache. Exit code 2: the cache cannot be written.

    Parameters
    ----------
    files
        Models (URDF, MJCF, SDF, native) whose kinds of joints the dynamics are compiled for too.
    floating_base
        Put a free joint under the root link (URDF).
    package
        Folder that holds the packages of package:// mesh names; may be given several times.
    json
        Print JSON instead of text.
    """
    import setsu.warming
    from setsu.native.processor import target
    from setsu.native.toolchain import cache_folder

    folder, start = cache_folder(), time.monotonic()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as problem:
        raise InputError(
            f"warm-up: {folder} cannot be written ({problem.strerror or problem}); "
            "expected SETSU_CACHE_DIR to name a folder that can be"
        ) from None
    mechanisms = [load_model(file, floating_base, package)[0] for file in files]
    setsu.warming.warm_up(mechanisms)
    sizes = [path.stat().st_size for path in folder.glob("*.o")]
    level, name, seconds = target().level, target().name, time.monotonic() - start
    if json:
        found = {"folder": str(folder), "level": level, "processor": name, "files": len(sizes), "bytes": sum(sizes)}
        print_json({**found, "seconds": seconds})
    else:
        print(f"code for {level} ({name}): {len(sizes)} files, {sum(sizes) / 1e6:.1f} MB in {folder}")
        print(f"ready after {seconds:.1f} s")
    return 0
