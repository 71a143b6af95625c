"""The generated C++ class compiles without a warning, passes its self-test and computes what the library computes."""

import ctypes
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

import setsu
from setsu.code_generation.closed_mechanism import actuated_rates
from setsu.command_line import main
from setsu.sample_mechanisms import (
    five_bar,
    four_bar,
    planar_arm,
    puma560,
    random_tree,
    stewart_platform,
    two_joint_parallelogram,
)

pytestmark = pytest.mark.thin(2)

STRICT = ["-std=c++17", "-O1", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror"]
FUNCTIONS = ["inverse_dynamics", "gravity_torque"]
Case = tuple[Callable[[], setsu.Mechanism], list[str] | None]
LEGS = [f"leg{k}" for k in range(1, 7)]
TREES: dict[str, Case] = {
    "puma": (puma560, None),
    "floating": (lambda: random_tree(3, n_bodies=5, floating_base=True, coulomb=True, damping=True), None),
}
CLOSED: dict[str, Case] = {
    "parallelogram": (lambda: two_joint_parallelogram(vertical=True), ["joint1", "joint1p"]),
    "four-bar": (four_bar, None),
    "five-bar": (five_bar, None),
    "Stewart platform": (stewart_platform, LEGS),
}


# A minute for the compiler: twelve passive joints in one function.
LARGE = pytest.param("Stewart platform", marks=pytest.mark.nightly)


def compiler() -> str:
    found = shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")
    assert found is not None, "these tests need a C++ compiler"
    return found


def build(folder: Path, *words: str) -> None:
    done = subprocess.run([compiler(), *words], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def run(path: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(path)], capture_output=True, text=True)


def made(name: str, tmp_path: Path, **options: str) -> tuple[setsu.Mechanism, setsu.GeneratedCode, str]:
    make, actuated = {**TREES, **CLOSED}[name]
    m = make()
    frame = m.frame_names[-1]
    code = setsu.generate(m, FUNCTIONS, "cpp", frames=[frame], actuated=actuated, **options)
    code.write(tmp_path)
    return m, code, frame


@pytest.mark.parametrize("name", [*TREES, *list(CLOSED)[:-1], LARGE])
def test_self_test_passes_and_notices_a_wrong_constant(name: str, tmp_path: Path) -> None:
    _, code, _ = made(name, tmp_path)
    build(tmp_path, *STRICT, f"{code.name}_test.cpp", "-o", "good")
    good = run(tmp_path / "good")
    assert (good.returncode, good.stdout) == (0, "all states agree\n"), good.stdout[:2000]
    header = tmp_path / f"{code.name}.hpp"
    text = header.read_text()
    place = text.index("result[0] = ") + len("result[0] = ")
    header.write_text(text[:place] + "1.0e-3 + " + text[place:])
    build(tmp_path, *STRICT, f"{code.name}_test.cpp", "-o", "bad")
    assert run(tmp_path / "bad").returncode == 1


class Model:
    """A generated class behind a C interface."""

    def __init__(self, folder: Path, code: setsu.GeneratedCode, methods: dict[str, tuple[Sequence[int], int]]) -> None:
        lines = [f'#include "{code.name}.hpp"', f"using Model = setsu::{code.name};", 'extern "C" {']
        for method, (inputs, _) in methods.items():
            arrays = [f"const std::array<double, {n}>& x{k}" for k, n in enumerate(inputs)]
            call = f"Model::{method}({', '.join(f'x{k}' for k in range(len(inputs)))})"
            lines.append(f"void {method}({', '.join(arrays)}, double* out) {{ auto r = {call};")
            lines.append("  for (double x : r) { *out++ = x; } }")
        if "bool joint_motion(" in code.source:
            lines.append("using Rates = std::array<double, Model::n_driven>;")
            lines.append("using Driven = std::array<double, Model::n_driven_coordinates>;")
            lines.append("int motion(const Driven& q, const Rates& v, const Rates& a, Model::JointMotion& all)")
            lines.append("{ return Model::joint_motion(q, v, a, all); }")
        (folder / "bridge.cpp").write_text("\n".join([*lines, "}", ""]))
        build(folder, "-std=c++17", "-O1", "-shared", "-fPIC", "bridge.cpp", "-o", "bridge.so")
        self.library = ctypes.CDLL(str(folder / "bridge.so"))
        self.methods = methods

    def __call__(self, method: str, *arrays: np.ndarray) -> np.ndarray:
        out = np.empty(self.methods[method][1])
        given = [np.ascontiguousarray(array, dtype=float) for array in (*arrays, out)]
        given[-1] = out
        getattr(self.library, method)(*(array.ctypes.data_as(ctypes.c_void_p) for array in given))
        return out


@pytest.mark.parametrize("name", TREES)
def test_trees_as_in_the_library(name: str, tmp_path: Path) -> None:
    m, code, frame = made(name, tmp_path)
    place = code.source.split("_pose(")[0].split()[-1]
    model = Model(tmp_path, code, {
        "inverse_dynamics": ((m.nq, m.nv, m.nv), m.nv), "gravity_torque": ((m.nq,), m.nv),
        f"{place}_pose": ((m.nq,), 16), f"{place}_jacobian": ((m.nq,), 6 * m.nv),
    })  # fmt: skip
    rng = np.random.default_rng(0)
    for _ in range(5):
        q, v, a = m.random_configuration(rng), rng.standard_normal(m.nv), rng.standard_normal(m.nv)
        for found, expected in (
            (model("inverse_dynamics", q, v, a), setsu.inverse_dynamics(m, q, v, a)),
            (model("gravity_torque", q), setsu.gravity_torque(m, q)),
            (model(f"{place}_pose", q), setsu.frame_pose(m, q, frame)),
            (model(f"{place}_jacobian", q), setsu.frame_jacobian(m, q, frame)),
        ):
            scale = max(1.0, float(np.abs(expected).max()))
            np.testing.assert_allclose(found, np.ravel(expected), atol=1e-12 * scale)


@pytest.mark.parametrize("name", [*list(CLOSED)[:-1], LARGE])
def test_passive_joints_follow_the_driven_ones(name: str, tmp_path: Path) -> None:
    """Loops closed to rounding, torques do the same power, the frame moves as its Jacobian says."""
    m, code, frame = made(name, tmp_path)
    rates = actuated_rates(m, CLOSED[name][1])
    n = len(rates)
    linear = "close by a linear relation" in code.source
    nq, nv = (n, n) if linear else (m.nq, m.nv)
    place = code.source.split("_pose(")[0].split()[-1]
    model = Model(tmp_path, code, {
        "inverse_dynamics": ((nq, nv, nv), n), "gravity_torque": ((nq,), n),
        f"{place}_jacobian": ((nq,), 6 * n),
    })  # fmt: skip
    numbers = code.source.split(f"std::array<double, {m.nq}> q{{{{")[1].split("}}")[0]
    start = np.array([float(x) for x in numbers.split(",")])
    rng = np.random.default_rng(1)
    all_joints = np.concatenate([start, np.zeros(2 * m.nv)])
    starts = {s.start: q.start for s, q in zip(m.v_slices, m.q_slices, strict=True)}
    places = [starts[d] for d in rates]
    driven = start[places]
    for _ in range(10):
        driven = driven + 0.01 * rng.standard_normal(n)
        v, a = rng.standard_normal(n), rng.standard_normal(n)
        arrays = (driven, v, a, all_joints)
        assert model.library.motion(*(x.ctypes.data_as(ctypes.c_void_p) for x in arrays)) == 1
        q_all, v_all, a_all = np.split(all_joints, [m.nq, m.nq + m.nv])
        np.testing.assert_allclose(q_all[places], driven, atol=1e-15)
        assert np.abs(setsu.loop_error(m, q_all)).max() < 1e-11
        names = [m.joint_names[k] for d in rates for k, s in enumerate(m.v_slices) if s.start == d]
        closed = setsu.constrained_inverse_dynamics(m, q_all, v_all, a_all, actuated=names)
        scale = max(1.0, float(np.abs(closed.torque).max()))
        state = (driven, v, a) if linear else (q_all, v_all, a_all)
        np.testing.assert_allclose(model("inverse_dynamics", *state), closed.torque[rates], atol=1e-9 * scale)
        weight = setsu.gravity_torque(m, q_all)
        holding = model("gravity_torque", state[0])
        assert holding @ v == pytest.approx(weight @ v_all, abs=1e-9 * scale)
        J = model(f"{place}_jacobian", state[0]).reshape(6, n)
        np.testing.assert_allclose(J @ v, setsu.frame_velocity(m, q_all, v_all, frame), atol=1e-9)


def test_unreachable_joints_are_reported(tmp_path: Path) -> None:
    """A five-bar whose drives point away from each other cannot close: false, and the motion is left alone."""
    m = five_bar()
    code = setsu.generate(m, FUNCTIONS, "cpp")
    code.write(tmp_path)
    model = Model(tmp_path, code, {})
    rng = np.random.default_rng(2)
    answers = set()
    for _ in range(40):
        motion = np.concatenate([m.neutral(), np.zeros(2 * m.nv)])
        before = motion.copy()
        arrays = (rng.uniform(-3, 3, 2), np.zeros(2), np.zeros(2), motion)
        found = model.library.motion(*(x.ctypes.data_as(ctypes.c_void_p) for x in arrays))
        answers.add(found)
        if found:
            assert np.abs(setsu.loop_error(m, motion[: m.nq])).max() < 1e-11
        else:
            np.testing.assert_array_equal(motion, before)
    assert answers == {0, 1}


@pytest.mark.parametrize("name", ["puma", "five-bar"])
def test_single_precision(name: str, tmp_path: Path) -> None:
    _, code, _ = made(name, tmp_path, precision="single")
    (tmp_path / "alone.cpp").write_text(f'#include "{code.name}.hpp"\n')
    build(tmp_path, *STRICT, "-Wdouble-promotion", "-c", "alone.cpp")
    build(tmp_path, *STRICT, f"{code.name}_test.cpp", "-o", "good")
    assert run(tmp_path / "good").returncode == 0, run(tmp_path / "good").stdout[:2000]


def test_cmake_builds_tests_and_installs(tmp_path: Path) -> None:
    _, code, _ = made("five-bar", tmp_path)
    cmake = shutil.which("cmake")
    assert cmake is not None, "this test needs CMake"
    for words in (
        [cmake, "-S", ".", "-B", "build", f"-DCMAKE_INSTALL_PREFIX={tmp_path / 'installed'}"],
        [cmake, "--build", "build"],
        [cmake, "--build", "build", "--target", "test"],
        [cmake, "--install", "build"],
    ):
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    user = tmp_path / "user"
    user.mkdir()
    (user / "main.cpp").write_text(
        f"#include <{code.name}.hpp>\n"
        f"int main() {{ setsu::{code.name}::JointMotion all; return all.q[0] != all.q[0]; }}\n"
    )
    (user / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.14)\nproject(user LANGUAGES CXX)\n"
        f"find_package({code.name} REQUIRED)\nadd_executable(main main.cpp)\n"
        f"target_link_libraries(main PRIVATE setsu::{code.name})\n"
    )
    for words in (
        [cmake, "-S", "user", "-B", "user/build", f"-DCMAKE_PREFIX_PATH={tmp_path / 'installed'}"],
        [cmake, "--build", "user/build"],
    ):
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("function", "options", "message"),
    [
        ("inverse_dynamics", {"language": "c", "frames": ["tip"]}, r"frames are for C\+\+"),
        (["inverse_dynamics"], {"language": "c"}, "one function a file"),
        (FUNCTIONS, {"language": "cpp", "frames": ["tipp"]}, 'did you mean "tip"'),
        (FUNCTIONS, {"language": "cpp", "body": "tip"}, r'frames=\["tip"\]'),
        (["inverse_dynamics"] * 2, {"language": "cpp"}, "named twice"),
        ("frame_jacobian", {"language": "cpp"}, "Jacobians of frames"),
        ([], {"language": "cpp"}, "functions or frames, got none"),
    ],
)
def test_refusals(function: object, options: dict, message: str) -> None:
    with pytest.raises(setsu.InputError, match=message):
        setsu.generate(planar_arm(2), function, **options)  # type: ignore[arg-type]


def test_command_writes_a_class(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = tmp_path / "arm.toml"
    planar_arm(2).save(model)
    words = ["generate", str(model), "--language", "cpp", "--frame", "tip", "--out", str(tmp_path / "code")]
    assert main(words) == 0
    names = sorted(path.name for path in (tmp_path / "code").iterdir())
    assert [name.split("_model")[-1] for name in names] == ["CMakeLists.txt", ".hpp", "_test.cpp"]
    assert "tip_jacobian" in next((tmp_path / "code").glob("*.hpp")).read_text()
    assert main(["generate", str(model), "mass_matrix", "bias_torque", "--language", "cpp"]) == 0
    printed = capsys.readouterr().out
    assert "mass_matrix(" in printed
    assert "bias_torque(" in printed
