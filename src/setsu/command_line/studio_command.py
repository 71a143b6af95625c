"""`setsu studio [FILE]`: a mechanism, a recording or a scenario in the browser."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

__all__ = ["studio"]


def studio(
    file: Path | None = None,
    /,
    *,
    model: Path | None = None,
    floating_base: bool = False,
    package: Annotated[tuple[Path, ...], Parameter(negative=())] = (),
    host: str = "127.0.0.1",
    port: int = 0,
    open_browser: Annotated[bool, Parameter(negative="--no-browser")] = True,
    json: bool = False,
) -> int:
    """Open the studio: move joints, see every force, run, replay, plot, export. Ctrl-C ends it.

    The printed address holds a random token; without it nobody gets in. Only this computer can reach the studio
    unless --host says otherwise.

    Parameters
    ----------
    file
        URDF, MJCF (.xml), SDF, native (.toml), recording (.nc, .npz) or scenario (.toml); may be left out.
    model
        Model file of a recording that does not hold its mechanism.
    floating_base
        Put a free joint under the root link (URDF): the robot stands on the ground.
    package
        Folder that holds the packages of package:// mesh names; may be given several times.
    host
        Address to listen on; 0.0.0.0 lets other computers in that know the token.
    port
        Port to listen on; 0 takes any free one.
    open_browser
        Open the default browser.
    json
        Print the address as JSON.
    """
    from setsu.command_line.output import print_json
    from setsu.errors import InputError
    from setsu.studio import announce, open_studio, wait

    if not 0 <= port <= 65535:
        raise InputError(f"--port: expected a number from 0 to 65535, got {port}")
    opened = None
    if file is not None:
        from setsu.studio.uploads import open_file

        opened = open_file(file, package, model, floating_base)
    running = open_studio(host, port)
    try:
        if opened is not None:
            running.open(opened)
        if note := running.server.guard.who_gets_in:
            print(note, file=sys.stderr, flush=True)
        if json:
            print_json({"address": running.address})
            if open_browser:
                import webbrowser

                webbrowser.open(running.address)
        else:
            announce(running, open_browser)
        wait(running)
    except KeyboardInterrupt:
        # Between the address on the screen and the wait: the same good end.
        running.close()
    except BaseException:
        running.close()
        raise
    return 0
