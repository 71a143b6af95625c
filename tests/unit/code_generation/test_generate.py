"""Generated source computes what the library computes, compiles without a warning and refuses what it cannot do."""

import ctypes
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import setsu
from setsu.command_line import main
from setsu.sample_mechanisms import planar_arm, puma560, random_tree

STRICT = ["-std=c99", "-O2", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
FUNCTIONS = [
    "inverse_dynamics",
    "forward_dynamics",
    "mass_matrix",
    "gravity_torque",
    "inverse_dynamics_derivatives",
    "body_poses",
    "kinetic_energy",
]
MECHANISMS = {
    "puma": puma560,
    "floating": lambda: random_tree(3, n_bodies=4, floating_base=True, coulomb=True, damping=True),
    "planar": lambda: planar_arm(2),
}


def compiler() -> str:
    found = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    assert found is not None, "these tests need a C compiler"
    return found


def build(folder: Path, *words: str) -> None:
    done = subprocess.run([compiler(), *words], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.thin(3)
@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("name", MECHANISMS)
def test_c_agrees_with_the_library_on_many_states(name: str, function: str, tmp_path: Path) -> None:
    """Relative to the largest entry of the result, within 1e-12 (sums of products rounded in another order)."""
    m = MECHANISMS[name]()
    code = setsu.generate(m, function)
    code.write(tmp_path)
    build(tmp_path, *STRICT, "-shared", "-fPIC", f"{code.name}.c", "-o", "code.so", "-lm")
    call = getattr(ctypes.CDLL(str(tmp_path / "code.so")), code.name)
    rng = np.random.default_rng(1)
    states = {
        "q": np.array([m.random_configuration(rng) for _ in range(100)]),
        **{array: rng.standard_normal((100, m.nv)) for array in ("v", "a", "tau")},
    }
    wanted = {"inverse": "qva", "forward": ("q", "v", "tau"), "kinetic": "qv"}.get(function.split("_")[0], "q")
    given = [states[array] for array in wanted]
    result = getattr(setsu, function)(m, *given)
    parts = [result.dq, result.dv, result.da] if function.endswith("derivatives") else [result]
    out = [np.full_like(part, np.nan) for part in parts]
    for k in range(100):
        arrays = [*(np.ascontiguousarray(g[k]) for g in given), *(np.empty(np.size(part[k])) for part in parts)]
        call(*(array.ctypes.data_as(ctypes.c_void_p) for array in arrays))
        for target, array in zip(out, arrays[len(given) :], strict=True):
            target[k] = array.reshape(np.shape(target[k]))
    for part, found in zip(parts, out, strict=True):
        assert np.abs(found - part).max() <= 1e-12 * max(1.0, np.abs(part).max()) * (
            100 if "forward" in function else 1
        )


@pytest.mark.parametrize("name", MECHANISMS)
def test_the_self_test_passes_under_sanitizers_and_notices_a_wrong_constant(name: str, tmp_path: Path) -> None:
    code = setsu.generate(MECHANISMS[name](), "inverse_dynamics")
    code.write(tmp_path)
    files = [f"{code.name}.c", f"{code.name}_test.c"]
    build(tmp_path, *STRICT, "-fsanitize=address,undefined", "-fno-sanitize-recover", *files, "-o", "good", "-lm")
    good = subprocess.run([str(tmp_path / "good")], capture_output=True, text=True)
    assert (good.returncode, good.stdout) == (0, "8 states agree\n"), good.stderr
    source = (tmp_path / files[0]).read_text()
    last = source.rindex("] = ") + len("] = ")
    (tmp_path / files[0]).write_text(source[:last] + "1.0e-3 + " + source[last:])
    build(tmp_path, *STRICT, *files, "-o", "bad", "-lm")
    assert subprocess.run([str(tmp_path / "bad")], capture_output=True).returncode == 1


@pytest.mark.parametrize("function", ["inverse_dynamics", "forward_dynamics", "mass_matrix"])
def test_python_source_agrees(function: str) -> None:
    m = puma560()
    code = setsu.generate(m, function, language="python")
    module: dict = {}
    exec(compile(code.source, "generated", "exec"), module)
    rng = np.random.default_rng(2)
    q, v, x = m.random_configuration(rng), rng.standard_normal(m.nv), rng.standard_normal(m.nv)
    state = (q,) if function == "mass_matrix" else (q, v, x)
    found = np.array(module[code.name](*(part.tolist() for part in state)))
    np.testing.assert_allclose(found, np.ravel(getattr(setsu, function)(m, *state)), rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((planar_arm(2), "inverse_dynamic"), 'did you mean "inverse_dynamics"'),
        ((planar_arm(2), "inverse_dynamics", "fortran"), "known: c, cpp, python"),
        (("arm.urdf", "inverse_dynamics"), "expected a Mechanism"),
    ],
)
def test_refusals(arguments: tuple, message: str) -> None:
    with pytest.raises(setsu.InputError, match=message):
        setsu.generate(*arguments)


def test_names_become_identifiers_and_cannot_end_a_comment(tmp_path: Path) -> None:
    b = setsu.MechanismBuilder('3 */ int x; /* "arm"')
    b.add_body("link", joint=setsu.Revolute((0, 0, 1)), mass=1.0, center_of_mass=(1, 0, 0))
    code = setsu.generate(b.build(), "inverse_dynamics")
    code.write(tmp_path)
    build(tmp_path, *STRICT, "-c", f"{code.name}.c")


def test_command_writes_files_and_prints_source(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = tmp_path / "arm.toml"
    planar_arm(2).save(model)
    assert main(["generate", str(model), "mass_matrix", "--out", str(tmp_path / "code")]) == 0
    assert len(list((tmp_path / "code").iterdir())) == 3
    assert "operations" in capsys.readouterr().out
    assert main(["generate", str(model)]) == 0
    assert "const double q[2]" in capsys.readouterr().out
    assert main(["generate", str(model), "nothing"]) == 2
