"""A result depends on its own row alone: not on batch, threads, lanes, process, cache or processor. Bit for bit."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from determinism.digest_of_results import KERNELS, SAMPLE, SPECIALISED, STORED, inputs, mechanism

import setsu
from setsu.dynamics.catalogue import native_function
from setsu.native import processor
from setsu.native.processor import LEVELS

SCRIPT = Path(__file__).with_name("digest_of_results.py")


@pytest.fixture(scope="module")
def tree() -> setsu.Mechanism:
    return mechanism()


def arguments_of(m: setsu.Mechanism, name: str, specialised: bool, rows: int) -> tuple[Any, list[np.ndarray]]:
    function = native_function(m, name, specialised=specialised)
    given = inputs(m, rows)
    return function, [given[array.name] for array in function.kernel.inputs]


@pytest.mark.parametrize(
    ("name", "specialised"), [(name, False) for name in KERNELS] + [(name, True) for name in SPECIALISED]
)
def test_a_row_alone_is_the_row_in_any_batch(tree: setsu.Mechanism, name: str, specialised: bool) -> None:
    function, arguments = arguments_of(tree, name, specialised, 37)
    together = function(*arguments)
    for row in (0, 1, 7, 8, 17, 36):
        np.testing.assert_array_equal(function(*(x[row] for x in arguments)), together[row])
    for start, stop in ((0, 2), (3, 12), (5, 37), (20, 36)):
        part = function(*(x[start:stop] for x in arguments))
        np.testing.assert_array_equal(part, together[start:stop])
    order = np.random.default_rng(0).permutation(37)
    np.testing.assert_array_equal(function(*(x[order] for x in arguments)), together[order])


@pytest.mark.parametrize("specialised", [False, True], ids=["generic", "specialised"])
@pytest.mark.parametrize("name", ["inverse_dynamics", "forward_dynamics composite", "mass_matrix"])
def test_the_number_of_threads_does_not_matter(tree: setsu.Mechanism, name: str, specialised: bool) -> None:
    function, arguments = arguments_of(tree, name, specialised, 3001)
    before = setsu.get_threads()
    try:
        found = []
        for count in (1, 2, 3, 7):
            setsu.set_threads(count)
            found.append(function(*arguments))
    finally:
        setsu.set_threads(before)
    for result in found[1:]:
        np.testing.assert_array_equal(result, found[0])


def test_the_public_single_call_is_the_batch_row(tree: setsu.Mechanism) -> None:
    given = inputs(tree)
    batch = setsu.inverse_dynamics(tree, given["q"], given["v"], given["a"])
    fast = setsu.compile(tree, ["inverse_dynamics"]).inverse_dynamics
    fast_batch = fast(given["q"], given["v"], given["a"])
    for row in range(len(batch)):
        state = given["q"][row], given["v"][row], given["a"][row]
        np.testing.assert_array_equal(setsu.inverse_dynamics(tree, *state), batch[row])
        np.testing.assert_array_equal(fast(*state), fast_batch[row])


def test_the_same_call_twice_gives_the_same_bits_with_others_between(tree: setsu.Mechanism) -> None:
    """Nothing is left over from one call to the next."""
    given = inputs(tree)
    first = setsu.joint_wrenches(tree, given["q"], given["v"], given["a"])
    setsu.joint_wrenches(tree, given["q1"], given["a"], given["v"])
    setsu.forward_dynamics(tree, given["q1"], given["v"], given["tau"])
    np.testing.assert_array_equal(setsu.joint_wrenches(tree, given["q"], given["v"], given["a"]), first)


def digests(cache: Path, **environment: str) -> dict[str, str]:
    """Hashes of all results in a new process."""
    paths = os.pathsep.join([str(SCRIPT.parents[1]), os.environ.get("PYTHONPATH", "")])
    completed = subprocess.run(
        [sys.executable, "-W", "ignore", str(SCRIPT)],
        env={**os.environ, "SETSU_CACHE_DIR": str(cache), "PYTHONPATH": paths, **environment},
        capture_output=True,
        text=True,
        check=True,
        timeout=1800,
    )
    return dict(line.split("\t") for line in completed.stdout.splitlines())


def stored() -> dict[str, str]:
    return json.loads(STORED.read_text())


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.mark.slow
def test_every_process_gives_the_stored_bits(cache: Path) -> None:
    """From no cache, from the cache the first one wrote, and from none again."""
    assert digests(cache) == stored()
    assert list(cache.glob("*.o")), "the first process left its code"
    assert digests(cache) == stored()
    for file in cache.glob("*.o"):
        file.unlink()
    assert digests(cache) == stored()


@pytest.mark.slow
@pytest.mark.parametrize(
    "lanes", ["1", "4", "8", *(pytest.param(lanes, marks=pytest.mark.nightly) for lanes in ("2", "16"))]
)
def test_the_width_of_vectors_does_not_matter(lanes: str, cache: Path) -> None:
    assert digests(cache, SETSU_LANES=lanes) == stored()


# What other libraries choose by processor: the C library's and NumPy's elementary functions, the kernels of BLAS.
SURROUNDINGS = {
    "as it is": {},
    "C library without FMA and AVX2": {"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA,-FMA4"},
    "NumPy without AVX2 and FMA": {"NPY_DISABLE_CPU_FEATURES": "AVX2,FMA3"},
    "BLAS of an old processor": {"OPENBLAS_CORETYPE": "Nehalem"},
    "array objects of unknown layout": {"SETSU_PORTABLE": "1"},
}


@pytest.mark.slow
@pytest.mark.parametrize("surroundings", SURROUNDINGS)
@pytest.mark.parametrize("level", LEVELS)
def test_the_processor_does_not_matter(level: str, surroundings: str, cache: Path) -> None:
    """Every level this processor has, and libraries that believe to be on another one; stored bits of other machines.

    After a change that is meant to move results: python tests/determinism/digest_of_results.py --store
    """
    try:
        processor._target(level, processor.host())
    except setsu.InputError as lacking:
        pytest.skip(str(lacking))
    with_names = {key: value for key, value in SURROUNDINGS[surroundings].items() if known_to_numpy(key, value)}
    assert digests(cache, SETSU_PROCESSOR=level, **with_names) == stored()


def known_to_numpy(key: str, value: str) -> bool:
    """NumPy refuses to start without features it was built to need."""
    if key != "NPY_DISABLE_CPU_FEATURES":
        return True
    code = "import numpy"
    return not subprocess.run([sys.executable, "-W", "error", "-c", code], env={**os.environ, key: value}).returncode


def test_every_sample_is_stored() -> None:
    assert len(stored()) == len(SAMPLE) + 6
