"""The application: its commands, loaded when they are called, and the one place where errors become messages."""

from __future__ import annotations

import contextlib
import os
import sys
import warnings
from collections.abc import Iterator, Sequence

from cyclopts import App, CycloptsError, Parameter

from setsu.command_line.output import INTERRUPTED, console
from setsu.errors import ModelWarning, SetsuError

__all__ = ["build_application", "run"]

BAD_INPUT = 2

# Name, where the function lives, one line of help: so that `setsu --help` imports no command.
COMMANDS = (
    (
        "inspect",
        "setsu.command_line.inspect_command:inspect",
        "Show what a model file holds and what was ignored in it.",
    ),
    (
        "check",
        "setsu.command_line.check_command:check",
        "Certify a model: inertias, identities of its dynamics, worst errors.",
    ),
    (
        "parameters",
        "setsu.command_line.parameters_command:parameters",
        "List the minimum dynamic parameters of a model: table, LaTeX, JSON.",
    ),
    (
        "generate",
        "setsu.command_line.generate_command:generate",
        "Write source code (C99, Python) or an FMU of one function for one mechanism.",
    ),
    (
        "simulate",
        "setsu.command_line.simulate_command:simulate",
        "Run a scenario file: model, start, torques, contacts; write its recording.",
    ),
    (
        "identify",
        "setsu.command_line.identify_command:identify",
        "Identify inertias, drive inertias and friction from a log.",
    ),
    (
        "sweep",
        "setsu.command_line.sweep_command:sweep",
        "Run a scenario over parameters, up to millions of times, into one store.",
    ),
    (
        "reproduce",
        "setsu.command_line.reproduce_command:reproduce",
        "Compute published tables and figures again, beside what is printed.",
    ),
    (
        "studio",
        "setsu.command_line.studio_command:studio",
        "Open a mechanism, a recording or a scenario in the browser: move, run, replay, export.",
    ),
    (
        "warm-up",
        "setsu.command_line.warm_up_command:warm_up",
        "Compile all code for this machine into the cache: for images and cluster workers.",
    ),
    ("bench", "setsu.command_line.bench_command:bench", "Measure speed beside the other engines that are installed."),
)


def build_application() -> App:
    """Return the application with all commands."""
    application = App(
        name="setsu",
        help="Dynamics of robots and multibody systems: torques, motions, every internal force, generated code.",
        version=_version,
        default_parameter=Parameter(negative=(), show_default=False),
        help_format="plaintext",
        # The help of cyclopts is bold even where no colour is wanted; its own console is loaded later than ours.
        console=console() if os.environ.get("NO_COLOR") else None,
    )
    for name, place, text in COMMANDS:
        application.command(place, name=name, help=text)
    application.register_install_completion_command(help="Let the shell complete commands: bash, zsh, fish.")
    return application


def run(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return the exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        with _warnings_on_stderr():
            code = build_application()(words, exit_on_error=False, print_error=False, result_action="return_value")
    except CycloptsError as error:
        known = {name for name, _, _ in COMMANDS}
        command = f"setsu {words[0]}" if words and words[0] in known else "setsu"
        return _complain(f"{error}\nTry: {command} --help")
    except SetsuError as error:
        return _complain(str(error))
    except KeyboardInterrupt:
        print("setsu: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of our output is gone, as after `| head`: nothing is wrong, and nothing is left to say.
        sys.stderr.close()
        return 0
    except OSError as error:
        # A disk that is full or a folder that vanished: the user's to mend, not a fault to trace.
        return _complain(f"{error.filename or 'file'}: {error.strerror or error}")
    return code if isinstance(code, int) else 0


@contextlib.contextmanager
def _warnings_on_stderr() -> Iterator[None]:
    """Print each warning of the library once, on stderr: tables, JSON and LaTeX on stdout stay as they are."""

    def show(message: Warning | str, category: type[Warning], *place: object, **more: object) -> None:
        if str(message) not in shown:
            shown.add(str(message))
            print(f"setsu: {'warning: ' if issubclass(category, ModelWarning) else ''}{message}", file=sys.stderr)

    shown: set[str] = set()
    with warnings.catch_warnings():
        warnings.simplefilter("always", ModelWarning)
        warnings.showwarning = show
        yield


def _complain(message: str) -> int:
    print(f"setsu: {message}", file=sys.stderr)
    return BAD_INPUT


def _version() -> str:
    from importlib.metadata import version

    return version("setsu")
