"""LLVM text to machine code, with a cache on disk.

The cache key is a hash of the text itself, the CPU, LLVM's version and the options, so that code made from other
sources can never be picked up. Callers that know a cheaper key for the text (a hash of the kernel sources and of the
mechanism) pass `make` instead of text: it runs only when the key is new.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
import tempfile
import threading
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

__all__ = ["NativeModule", "cache_folder", "lanes", "load_native", "source_fingerprint"]

_LOCK = threading.RLock()
_LOADED: dict[str, NativeModule] = {}


def cache_folder() -> Path:
    """Return the folder of compiled code: $SETSU_CACHE_DIR, else the user's cache folder."""
    given = os.environ.get("SETSU_CACHE_DIR")
    if given:
        return Path(given)
    base = os.environ.get("XDG_CACHE_HOME") or (
        os.environ.get("LOCALAPPDATA")
        if sys.platform == "win32"
        else str(Path.home() / ("Library/Caches" if sys.platform == "darwin" else ".cache"))
    )
    return Path(base or tempfile.gettempdir()) / "setsu"


@cache
def source_fingerprint() -> str:
    """Hash of every source file that decides what code is made: editing one makes all cached code invisible."""
    package = Path(__file__).parent.parent
    files = [
        *(path for folder in ("kernels", "symbolic", "native") for path in sorted((package / folder).glob("*.py"))),
        package / "mechanism" / "tables.py",
        package / "spatial.py",
    ]
    digest = hashlib.sha256()
    for path in files:
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


@cache
def _host() -> tuple[str, str]:
    """CPU name and features as LLVM sees them."""
    import llvmlite.binding as llvm

    return llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()


@cache
def _host_fingerprint() -> str:
    import llvmlite

    return f"{llvmlite.__version__} {_host()}"


@cache
def lanes() -> int:
    """Doubles per SIMD instruction: 8 with AVX-512, 4 with AVX2, else 2. $SETSU_LANES overrides."""
    given = os.environ.get("SETSU_LANES")
    if given in ("1", "2", "4", "8", "16"):
        return int(given)
    features = _host()[1].split(",")
    if "+avx512f" in features:
        return 8
    return 4 if "+avx2" in features or "+avx" in features else 2


@cache
def _target_machine(optimise: int) -> Any:
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    name, features = _host()
    # Small code with constants addressed relative to it: absolute addressing costs an instruction per constant.
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=name, features=features, opt=optimise, reloc="pic", codemodel="small"
    )


class NativeModule:
    """Loaded machine code; keep it alive as long as one of its addresses is in use."""

    def __init__(self, image: bytes) -> None:
        import llvmlite.binding as llvm

        _target_machine(1)
        builder = llvm.JITLibraryBuilder().add_object_img(image).add_current_process()
        self._names: list[str] = []
        self._builder = builder
        self._library: Any = None
        self._image = image

    def addresses(self, *names: str) -> list[int]:
        """Return the addresses of functions in this module."""
        with _LOCK:
            if self._library is None:
                for name in names:
                    self._builder.export_symbol(name)
                self._library = self._builder.link(_jit(), f"setsu{id(self)}")
                self._names = list(names)
            return [self._library[name] for name in names]


@cache
def _jit() -> Any:
    import llvmlite.binding as llvm

    return llvm.create_lljit_compiler(_target_machine(1), use_jit_link=False, suppress_errors=False)


def load_native(key: str, make: Callable[[], str], *, optimise: int = 1, passes: bool = False) -> NativeModule:
    """Return the machine code for `key`, made from the LLVM text `make()` when neither memory nor disk have it.

    key: names everything the text depends on besides the kernel sources. optimise: code generation level 0-3.
    passes: run LLVM's middle-end on the text first (worth it for loops, not for straight-line code).
    """
    name = hashlib.sha256(
        f"{key}|{optimise}|{passes}|{source_fingerprint()}|{_host_fingerprint()}".encode()
    ).hexdigest()
    with _LOCK:
        module = _LOADED.get(name)
        if module is None:
            path = cache_folder() / f"{name}.o"
            image = _read_image(path)
            if image is None:
                image = _compile(make(), optimise, passes)
                _write_image(path, image)
            module = _LOADED[name] = NativeModule(image)
        return module


_MAGIC = b"setsu-object-1\n"


def _read_image(path: Path) -> bytes | None:
    """Return cached code, or None when absent or damaged (a checksum guards against truncated files)."""
    try:
        content = path.read_bytes()
    except OSError:
        return None
    head = len(_MAGIC) + 32
    image = content[head:]
    if content[: len(_MAGIC)] != _MAGIC or hashlib.sha256(image).digest() != content[len(_MAGIC) : head]:
        return None
    return image


def _write_image(path: Path, image: bytes) -> None:
    """Store code atomically; a cache that cannot be written is no error."""
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(dir=path.parent)
        with os.fdopen(descriptor, "wb") as file:
            file.write(_MAGIC + hashlib.sha256(image).digest() + image)
        os.replace(temporary, path)


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
