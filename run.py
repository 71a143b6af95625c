#!/usr/bin/env python3
"""Set up a private environment in .venv and run one of the project's commands in it.

    python3 run.py demo          a tour (a robot, its certificate, dynamics, a plot), then published results again
    python3 run.py test [...]    ruff, pyright and the tests; further words go to pytest
    python3 run.py bench [...]   speed beside Pinocchio, MuJoCo, Drake and CasADi, as far as they can be installed
    python3 run.py docs          build the documentation into site/
    python3 run.py setup         only make the environment for development

Needs Python 3.11 or later, nothing else. The environment is made once and again when pyproject.toml
or requirements-dev.txt changes.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.abspath(__file__))
ENVIRONMENT = os.path.join(ROOT, ".venv")
OLDEST = (3, 11)

# Versions of every package for development, so that a new release elsewhere cannot fail the tests of old code.
LOCK = os.path.join(ROOT, "requirements-dev.txt")
EXTRAS = {"demo": "plots,symbolic", "test": "dev", "setup": "dev", "bench": "bench", "docs": "docs"}


def python_in_environment():
    folder, name = ("Scripts", "python.exe") if os.name == "nt" else ("bin", "python")
    return os.path.join(ENVIRONMENT, folder, name)


def fail(message):
    sys.exit("run.py: " + message)


def newer_python():
    """Find a Python that is new enough beside the one this script was started with."""
    for minor in (13, 12, 11, 14):
        found = shutil.which(f"python3.{minor}")
        if found:
            return found
    return None


def make_environment():
    """Make .venv; return the words that start an installer into it."""
    with_pip = [python_in_environment(), "-m", "pip", "install", "--disable-pip-version-check"]
    with_uv = ["uv", "pip", "install", "--python", python_in_environment()]
    if os.path.exists(python_in_environment()):
        has_pip = (
            subprocess.run([python_in_environment(), "-c", "import pip"], stderr=subprocess.DEVNULL).returncode == 0
        )
        return with_pip if has_pip else with_uv
    try:
        import ensurepip  # noqa: F401
    except ImportError:
        # Debian and Ubuntu keep the pip of the venv module in a package of its own.
        if not shutil.which("uv"):
            fail(
                "this Python cannot make virtual environments: its ensurepip module is missing.\n"
                "  On Debian or Ubuntu:  sudo apt install python3-venv\n"
                "  or install uv (https://docs.astral.sh/uv), and run the same command again."
            )
        made, installer = subprocess.run(["uv", "venv", "--quiet", "--python", sys.executable, ENVIRONMENT]), with_uv
    else:
        made, installer = subprocess.run([sys.executable, "-m", "venv", ENVIRONMENT]), with_pip
    if made.returncode:
        fail(f"making the environment {ENVIRONMENT} failed; remove the folder and try again.")
    return installer


def install(extra):
    """Install the project with one extra, unless that was done for this very pyproject.toml and these versions."""
    stamp = os.path.join(ENVIRONMENT, "installed-" + extra)
    digest = hashlib.sha256()
    for name in (os.path.join(ROOT, "pyproject.toml"), LOCK):
        with open(name, "rb") as file:
            digest.update(file.read())
    wanted = digest.hexdigest()
    if os.path.exists(stamp) and os.path.exists(python_in_environment()):
        with open(stamp) as file:
            if file.read() == wanted:
                return
    print(f"Setting up .venv with setsu[{extra}] (once; downloads packages) ...", flush=True)
    installer = make_environment()
    versions = ["--constraint", LOCK] if extra == "dev" else []
    installed = subprocess.run([*installer, "--quiet", *versions, "-e", ROOT + "[" + extra + "]"])
    if installed.returncode:
        fail(f"installing setsu[{extra}] failed; the lines above say why.")
    with open(stamp, "w") as file:
        file.write(wanted)


def need_compiler():
    """Generated C and C++ are compiled by the tests: find compilers, or install Debian's where that is allowed."""

    def found(*names):
        return any(shutil.which(name) for name in names)

    if found("cc", "gcc", "clang") and found("c++", "g++", "clang++"):
        return
    if shutil.which("apt-get") and hasattr(os, "geteuid") and os.geteuid() == 0:
        print("Installing a C and C++ compiler ...", flush=True)
        subprocess.run(["apt-get", "update", "-qq"])
        subprocess.run(["apt-get", "install", "-y", "-qq", "gcc", "g++", "make", "libc6-dev"])
    if not (found("cc", "gcc", "clang") and found("c++", "g++", "clang++")):
        fail(
            "the tests compile generated C and C++ and found no compiler for both.\n"
            "  On Debian or Ubuntu:  sudo apt install gcc g++ make"
        )


def need_cross_compiler():
    """Single-precision C is compiled for a Cortex-M4F: find a cross compiler, or install Debian's where allowed."""
    if shutil.which("arm-none-eabi-gcc"):
        return
    if shutil.which("apt-get") and hasattr(os, "geteuid") and os.geteuid() == 0:
        print("Installing a compiler for Cortex-M ...", flush=True)
        subprocess.run(["apt-get", "update", "-qq"])
        packages = ["gcc-arm-none-eabi", "libnewlib-arm-none-eabi"]
        subprocess.run(["apt-get", "install", "-y", "-qq", "--no-install-recommends", *packages])
    if not shutil.which("arm-none-eabi-gcc"):
        fail(
            "the tests compile generated C for a Cortex-M4F and found no arm-none-eabi-gcc.\n"
            "  On Debian or Ubuntu:  sudo apt install gcc-arm-none-eabi libnewlib-arm-none-eabi"
        )


def need_browser():
    """The studio is tested in a real browser: find Chromium, or install Debian's where that is allowed."""
    names = ("chromium", "chromium-browser", "google-chrome")
    if any(shutil.which(name) for name in names):
        return
    if shutil.which("apt-get") and hasattr(os, "geteuid") and os.geteuid() == 0:
        print("Installing Chromium ...", flush=True)
        subprocess.run(["apt-get", "update", "-qq"])
        subprocess.run(["apt-get", "install", "-y", "-qq", "--no-install-recommends", "chromium"])
    if not any(shutil.which(name) for name in names):
        fail("the tests open the studio in Chromium and found none.\n  On Debian or Ubuntu:  sudo apt install chromium")


def variables():
    """Let Python keep byte code, in .venv: without, each of some hundred processes compiles all sources again."""
    kept = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    return {"PYTHONPYCACHEPREFIX": os.path.join(ENVIRONMENT, "byte_code"), **kept}


def run(*words):
    """Run Python in the environment, from the project's folder; return its exit code."""
    print("$ python " + " ".join(words), flush=True)
    return subprocess.run([python_in_environment(), *words], cwd=ROOT, env=variables()).returncode


def demo(*words):
    """Run the tour, then the papers, and say how long each took after set-up."""
    start = time.monotonic()
    code = run(os.path.join("examples", "01_tour.py"), *words)
    if code:
        return code
    plots = time.monotonic() - start
    code = run("-m", "setsu", "reproduce", "all")
    print(f"after set-up: the tour took {plots:.0f} s, everything {time.monotonic() - start:.0f} s", flush=True)
    return code


def test(*pytest_words):
    """Run every check even when an early one fails, so that one run shows all there is to mend."""
    codes = {
        "ruff check": run("-m", "ruff", "check", "."),
        "ruff format": run("-m", "ruff", "format", "--check", "."),
    }
    # One process that takes two minutes: it works beside the tests, and its words follow theirs.
    types = [python_in_environment(), "-m", "pyright", "--pythonpath", python_in_environment()]
    with tempfile.TemporaryFile("w+", encoding="utf-8") as said:
        pyright = subprocess.Popen(types, cwd=ROOT, stdout=said, stderr=subprocess.STDOUT)
        codes["pytest"] = run("-m", "pytest", "-q", "-n", "auto", "--dist", "worksteal", *pytest_words)
        codes["pyright"] = pyright.wait()
        said.seek(0)
        print("$ " + " ".join(types[1:]) + "\n" + said.read(), flush=True)
    failed = [name for name, code in codes.items() if code]
    print("failed: " + ", ".join(failed) if failed else "all checks passed", flush=True)
    return 1 if failed else 0


def main():
    command, words = (sys.argv[1] if len(sys.argv) > 1 else ""), sys.argv[2:]
    if command not in EXTRAS:
        print(__doc__)
        return 0 if command in ("", "-h", "--help") else 2
    if sys.version_info[:2] < OLDEST:
        newer = newer_python()
        if newer is None:
            major, minor = sys.version_info[:2]
            fail(f"Python 3.11 or later is needed, this is {major}.{minor}; install a newer one.")
        return subprocess.run([newer, os.path.abspath(__file__), *sys.argv[1:]]).returncode
    install(EXTRAS[command])
    if command == "demo":
        return demo(*words)
    if command == "test":
        need_compiler()
        need_cross_compiler()
        need_browser()
        return test(*words)
    if command == "bench":
        return run("-m", "setsu", "bench", *words)
    if command == "docs":
        return run("-m", "zensical", "build", *words)
    return 0


if __name__ == "__main__":
    sys.exit(main())
