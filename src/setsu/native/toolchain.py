"""LLVM text to machine code, with a cache on disk.

The cache key is a hash of the kernel sources, the caller's own key (kernel, mechanism, lanes), the processor, LLVM's
version and the options, so that code made from other sources or for another processor can never be picked up. A file
is sealed with its key: under another name, copied there or renamed, it is no cached code. LLVM links cached code too:
its loading costs a process some 20 ms.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import itertools
import os
import platform
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from setsu.errors import CacheWarning, InputError
from setsu.native.notice import notice
from setsu.native.processor import target

__all__ = ["NativeModule", "cache_folder", "lanes", "load_bitcode", "load_native", "source_fingerprint"]

_LOCK = threading.RLock()
_LOADED: dict[str, NativeModule] = {}
_LINKED = itertools.count()

# A process that forks while another of its threads compiles waits for it: the child would find the lock taken forever.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_LOCK.acquire, after_in_parent=_LOCK.release, after_in_child=_LOCK.release)


def cache_folder() -> Path:
    """Return the folder of compiled code: $SETSU_CACHE_DIR or $SETSU_CACHE, else the user's cache folder."""
    given = os.environ.get("SETSU_CACHE_DIR") or os.environ.get("SETSU_CACHE")
    if given:
        return Path(given)
    base = os.environ.get("XDG_CACHE_HOME") or (
        os.environ.get("LOCALAPPDATA")
        if sys.platform == "win32"
        else str(Path.home() / ("Library/Caches" if sys.platform == "darwin" else ".cache"))
    )
    return Path(base or tempfile.gettempdir()) / "setsu"


# What the cache key is made of -----------------------------------------------------------------------------------


def source_fingerprint() -> str:
    """Hash of every source file that decides what code is made: editing one makes all cached code invisible.

    Where sources cannot be read (a package of byte code alone) each call gives another text: nothing is found on disk.
    """
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    digest = hashlib.sha256()
    try:
        files = [
            os.path.join(package, folder, name)
            for folder in ("kernels", "symbolic", "native")
            for name in sorted(os.listdir(os.path.join(package, folder)))
            if name.endswith(".py")
        ]
        others = (os.path.join("mechanism", "tables.py"), "spatial.py", "elementary.py")
        for path in (*files, *(os.path.join(package, name) for name in others)):
            with open(path, "rb", buffering=0) as file:
                digest.update(os.path.basename(path).encode() + b"\0" + file.read() + b"\0")
    except OSError:
        return os.urandom(32).hex()
    return digest.hexdigest()


# Taken while the sources are imported: what is edited later is not what runs in this process.
_IMPORTED_SOURCES = source_fingerprint()


@cache
def _llvm_version() -> str:
    """Version of llvmlite, which brings its own LLVM; read from its folder because importing it takes 20 ms."""
    found = importlib.util.find_spec("llvmlite")
    if found is not None and found.origin is not None:
        with contextlib.suppress(OSError):
            return Path(found.origin).with_name("_version.py").read_text()
    import llvmlite

    return llvmlite.__version__


@cache
def lanes() -> int:
    """States per tile of a batch: doubles per vector of the processor. $SETSU_LANES overrides (1: no vectors)."""
    given = os.environ.get("SETSU_LANES")
    if not given:
        return target().lanes
    if given not in ("1", "2", "4", "8", "16"):
        raise InputError(f"SETSU_LANES: expected 1, 2, 4, 8 or 16, got {given!r}")
    return int(given)


# Loaded code -----------------------------------------------------------------------------------------------------


class NativeModule:
    """Loaded machine code; keep it alive as long as one of its addresses is in use."""

    def __init__(self, image: bytes) -> None:
        self._image = image
        self._linked: Any = None
        self._addresses: dict[str, int] = {}

    def addresses(self, *names: str) -> list[int]:
        """Return the addresses of functions in this module."""
        with _LOCK:
            if not all(name in self._addresses for name in names):
                self._link(names)
            return [self._addresses[name] for name in names]

    def _link(self, names: tuple[str, ...]) -> None:
        import llvmlite.binding as llvm

        builder = llvm.JITLibraryBuilder().add_object_img(self._image).add_current_process()
        for name in names:
            builder.export_symbol(name)
        self._linked = builder.link(_jit(), f"setsu{next(_LINKED)}")
        self._addresses = {name: self._linked[name] for name in names}


def load_native(key: str, make: Callable[[], str], *, optimise: int = 1, passes: bool = False) -> NativeModule:
    """Return the machine code for `key`, made from the LLVM text `make()` when neither memory nor disk have it.

    key: names everything the text depends on besides the kernel sources. optimise: code generation level 0-3.
    passes: run LLVM's middle-end on the text first (worth it for loops, not for straight-line code).
    """

    def image() -> bytes:
        return _compile(make(), optimise, passes)

    def unchanged() -> bool:
        # Modules imported after an edit of theirs do not belong under the name of the sources from before.
        return source_fingerprint() == _IMPORTED_SOURCES

    return _load(["text", key, str(optimise), str(passes), _IMPORTED_SOURCES], image, unchanged)


def load_bitcode(key: str, make: Callable[[], bytes], what: str) -> NativeModule:
    """Return the machine code of the LLVM bitcode `make()` when neither memory nor disk have it.

    key: names all that decides the bitcode. what: the kind of code, for a person who waits.
    """

    def image() -> bytes:
        import llvmlite.binding as llvm

        with notice(what):
            machine = _target_machine(2)
            module = llvm.parse_bitcode(make())
            # Shipped code is that of no system in particular.
            module.triple, module.data_layout = llvm.get_default_triple(), str(machine.target_data)
            return machine.emit_object(module)

    return _load(["bitcode", key], image, lambda: True)


def _load(key: list[str], make: Callable[[], bytes], may_keep: Callable[[], bool]) -> NativeModule:
    name = hashlib.sha256("|".join([*key, target().identity, _llvm_version()]).encode()).hexdigest()
    with _LOCK:
        module = _LOADED.get(name)
        if module is None:
            path = cache_folder() / f"{name}.o"
            image = _read_image(path)
            if image is None:
                image = make()
                if may_keep():
                    _write_image(path, image)
            module = _LOADED[name] = NativeModule(image)
        return module


# Files -----------------------------------------------------------------------------------------------------------

_MAGIC = b"setsu-object-3\n"


def _seal(path: Path, image: bytes) -> bytes:
    """Checksum of code and key together: a whole file in another's place does not pass for it."""
    return hashlib.sha256(path.stem.encode() + b"\0" + image).digest()


def _read_image(path: Path) -> bytes | None:
    """Return cached code, or None when absent, damaged or stored under another key."""
    try:
        content = path.read_bytes()
    except OSError:
        return None
    head = len(_MAGIC) + 32
    image = content[head:]
    if content[: len(_MAGIC)] != _MAGIC or _seal(path, image) != content[len(_MAGIC) : head]:
        return None
    with contextlib.suppress(OSError):
        os.utime(path)  # used just now: the last to be forgotten
    return image


def _write_image(path: Path, image: bytes) -> None:
    """Store code atomically; a cache that cannot be written is no error, but worth a warning."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(dir=path.parent)
    except OSError as problem:
        _warn_once(path.parent, problem)
        return
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(_MAGIC + _seal(path, image) + image)
        os.replace(temporary, path)
    except OSError as problem:  # a full disk, or Windows while another process reads the file
        os.unlink(temporary)
        if not path.exists():
            _warn_once(path.parent, problem)
        return
    _trim(path.parent)


@cache
def _warned() -> set[str]:
    return set()


def _warn_once(folder: Path, problem: OSError) -> None:
    if str(folder) not in _warned():
        _warned().add(str(folder))
        warnings.warn(
            f"compiled code cannot be kept in {folder} ({problem.strerror or problem}): every process compiles it "
            "again. Let SETSU_CACHE_DIR name a folder that can be written",
            CacheWarning,
            stacklevel=2,
        )


# When the folder holds more objects than the first number, the least recently used go until the second is left.
_MOST_OBJECTS, _KEPT_OBJECTS = 4000, 3000


def _trim(folder: Path) -> None:
    """Forget code that was not used for long: other mechanisms, former versions, edited sources."""
    objects = list(folder.glob("*.o"))
    if len(objects) > _MOST_OBJECTS:
        ages = []
        for path in objects:
            with contextlib.suppress(OSError):  # another process may trim at the same time
                ages.append((path.stat().st_mtime, path))
        for _, path in sorted(ages)[: len(ages) - _KEPT_OBJECTS]:
            path.unlink(missing_ok=True)


# LLVM ------------------------------------------------------------------------------------------------------------


@cache
def _prepare_llvm() -> None:
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    # Rewriting the addresses of loops takes a quarter of the back end's time, and the code is no faster for it. LLVM
    # keeps this option for the process and accepts it once.
    llvm.set_option("setsu", "-disable-lsr")


@cache
def _target_machine(optimise: int) -> Any:
    import llvmlite.binding as llvm

    _prepare_llvm()
    # Small code with constants addressed relative to it: absolute addressing costs an instruction per constant.
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=target().name, features=target().features, opt=optimise, reloc="pic", codemodel="small"
    )


@cache
def _jit() -> Any:
    import llvmlite.binding as llvm

    # LLVM's older linker is the quicker one, but may put data out of reach of ARM's instructions for addresses.
    newer = platform.machine().lower() in ("arm64", "aarch64")
    return llvm.create_lljit_compiler(_target_machine(1), use_jit_link=newer, suppress_errors=False)


def _compile(text: str, optimise: int, passes: bool) -> bytes:
    import llvmlite.binding as llvm

    machine = _target_machine(optimise)
    module = llvm.parse_assembly(text)
    module.verify()
    if passes:
        options = llvm.create_pipeline_tuning_options(speed_level=1)
        options.slp_vectorization = False
        options.loop_vectorization = False
        builder = llvm.create_pass_builder(machine, options)
        builder.getModulePassManager().run(module, builder)
    return machine.emit_object(module)
