"""A unit passes FMPy's validation, moves as `simulate` does, keeps and resets its state, and says why it refuses."""

import json
import re
import subprocess
import zipfile
from pathlib import Path
from xml.etree import ElementTree

import fmpy
import numpy as np
import pytest
from fmpy.fmi1 import FMICallException
from fmpy.fmi2 import FMU2Slave
from fmpy.fmi3 import FMU3Slave
from fmpy.validation import validate_fmu

import setsu
from setsu.code_generation.fmu_description import model_description, variables_of
from setsu.command_line import main
from setsu.kernels.tableaus import RKN4
from setsu.sample_mechanisms import (
    five_bar,
    four_bar,
    planar_arm,
    puma560,
    random_tree,
    two_joint_parallelogram,
)

VERSIONS = ("2.0", "3.0")
MECHANISMS = {
    "puma": puma560,
    "floating": lambda: random_tree(3, n_bodies=4, floating_base=True, damping=True),
    "mixed": lambda: random_tree(8, n_bodies=6, damping=True),
}


def unit(m: setsu.Mechanism, version: str, folder: Path) -> str:
    return str(setsu.generate(m, "forward_dynamics", language="fmu", fmi_version=version).write(folder)[0])


def names(path: str, prefix: str) -> list[str]:
    return [v.name for v in fmpy.read_model_description(path).modelVariables if v.name.startswith(prefix)]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", MECHANISMS)
def test_unit_is_valid_and_moves_as_the_simulation_does(name: str, version: str, tmp_path: Path) -> None:
    """Same method and steps; quaternions are integrated in other charts, which differ by the method's own error."""
    m = MECHANISMS[name]()
    path = unit(m, version, tmp_path)
    assert validate_fmu(path) == []
    rng = np.random.default_rng(0)
    q0, v0, tau = m.random_configuration(rng), 0.3 * rng.standard_normal(m.nv), rng.standard_normal(m.nv)
    values = zip(("q_start_", "v_start_", "tau_"), (q0, v0, tau), strict=True)
    start = {n: x for prefix, xs in values for n, x in zip(names(path, prefix), xs, strict=True)}
    outputs = [v.name for v in fmpy.read_model_description(path).modelVariables if v.causality == "output"]
    found = fmpy.simulate_fmu(
        path, stop_time=0.5, step_size=0.01, output_interval=0.01, start_values=start, output=outputs
    )
    table = np.array([list(row)[1:] for row in found])
    run = setsu.simulate(m, q0, v0, 0.5, step=1e-3, torque=tau, record_every=10, integrator="rkn4")
    expected = np.concatenate([run.q, run.v], axis=1)
    assert table.shape == expected.shape
    # Rounding, and (h |w|)^4 of the charts: angular velocities stay below 10 rad/s.
    assert np.abs(table - expected).max() <= 1e-8 * max(1.0, np.abs(expected).max())


def test_the_integrator_of_a_unit_is_the_tableau_of_the_simulation(tmp_path: Path) -> None:
    """One source of coefficients: what the C code adds up stands in kernels/tableaus.py, to the last bit."""
    with zipfile.ZipFile(unit(planar_arm(2), "2.0", tmp_path)) as archive:
        header, loop = (archive.read(f"sources/{name}").decode() for name in ("model.h", "motion.c"))
    given = dict(re.findall(r"setsu_([AEb])\S* = ({.*});", header))
    tables = {name: np.array(json.loads(text.translate({123: "[", 125: "]"}))) for name, text in given.items()}
    for name, expected in (("A", RKN4.A), ("E", RKN4.shifts), ("b", RKN4.b)):
        np.testing.assert_array_equal(tables[name], expected)
    weights = {float(x) for x in re.findall(r"\b0\.\d+\b", loop.split("runge_kutta")[1])}
    assert weights <= {0.0}


CLOSED = {
    "four-bar": (four_bar, ["crank"]),
    "five-bar": (five_bar, None),
    "parallelogram": (lambda: two_joint_parallelogram(vertical=True, named=False), ["joint1p", "joint1"]),
}


@pytest.mark.parametrize(("name", "version"), [(name, VERSIONS[k % 2]) for k, name in enumerate(CLOSED)])
def test_unit_of_a_closed_mechanism_moves_as_the_simulation_does(name: str, version: str, tmp_path: Path) -> None:
    """Both are of order 4, in other coordinates: they differ by the error of the method, (h w)^4, and stay closed."""
    make, driven = CLOSED[name]
    m = make()
    (path,) = setsu.generate(m, "constrained_dynamics", "fmu", fmi_version=version, actuated=driven).write(tmp_path)
    assert validate_fmu(str(path)) == []
    described = fmpy.read_model_description(str(path)).modelVariables
    assert [v.name for v in described if v.causality == "input"] == [
        f"tau_{joint}" for joint in driven or setsu.independent_coordinates(m)
    ]
    tau = {v.name: 0.3 * (k + 1) for k, v in enumerate(v for v in described if v.causality == "input")}
    outputs = [v.name for v in described if v.causality == "output"]
    found = fmpy.simulate_fmu(
        str(path), stop_time=0.2, step_size=0.01, output_interval=0.01, start_values=tau, output=outputs
    )
    table = np.array([list(row)[1:] for row in found])
    q0 = np.array([float(v.start) for v in described if v.name.startswith("q_start_")])
    torque = np.array([tau.get(f"tau_{joint}", 0.0) for joint in m.joint_names])
    run = setsu.simulate(m, q0, np.zeros(m.nv), 0.2, step=1e-3, torque=torque, record_every=10, integrator="rkn4")
    expected = np.concatenate([run.q, run.v], axis=1)
    assert np.abs(table - expected).max() <= 1e-8 * max(1.0, np.abs(expected).max())
    assert np.abs(setsu.loop_error(m, table[:, : m.nq])).max() <= 1e-12


def test_unit_refuses_a_start_where_no_loop_closes(tmp_path: Path) -> None:
    """Pushed 5 m away, the slide is out of reach of the two bars that tie it to a pin."""
    m = triangle()
    (path,) = setsu.generate(m, "constrained_dynamics", "fmu", actuated=["slide"]).write(tmp_path)
    with pytest.raises(FMICallException, match="InitializationMode failed"):
        fmpy.simulate_fmu(str(path), stop_time=0.1, start_values={"q_start_slide": 5.0})


def triangle() -> setsu.Mechanism:
    """A slide tied to a pin by two bars, 1.4 m long together."""
    b = setsu.MechanismBuilder("triangle", gravity=(0.0, -9.81, 0.0))
    bar = {"mass": 1.0, "center_of_mass": (0.2, 0.0, 0.0), "inertia": np.diag([0.01, 0.02, 0.025])}
    z = (0.0, 0.0, 1.0)
    b.add_body("slide", joint=setsu.Prismatic((1, 0, 0), name="slide"), mass=0.5)
    b.add_body("a", "slide", setsu.Revolute(z, name="short"), **bar)
    b.add_body("b", "a", setsu.Revolute(z, name="middle"), setsu.placement((1.0, 0, 0)), **bar)
    b.add_loop("pin", "world", "b", setsu.Revolute(z), setsu.placement((1.3, 0, 0)), setsu.placement((0.4, 0, 0)))
    return b.build()


@pytest.mark.parametrize("version", VERSIONS)
def test_inputs_act_as_steps_at_the_times_of_communication(version: str, tmp_path: Path) -> None:
    m = planar_arm(2)
    path = unit(m, version, tmp_path)
    times = 0.02 * np.arange(26)
    torques = np.stack([np.sin(3.0 * times), 0.3 * np.cos(5.0 * times)], axis=1)
    signal = np.array(
        [(t, *row) for t, row in zip(times, torques, strict=True)],
        dtype=[("time", float), *((n, float) for n in names(path, "tau_"))],
    )
    outputs = [*names(path, "q_")[:2], *names(path, "v_")[:2]]
    found = fmpy.simulate_fmu(
        path, stop_time=0.5, step_size=0.02, output_interval=0.02, input=signal, output=outputs,
        start_values={"inner_step": 0.005},
    )  # fmt: skip
    q, v, expected = np.zeros(2), np.zeros(2), [np.zeros(4)]
    for k in range(25):
        run = setsu.simulate(m, q, v, 0.02, step=0.005, torque=torques[k], integrator="rkn4")
        q, v = run.q[-1], run.v[-1]
        expected.append(np.concatenate([q, v]))
    np.testing.assert_allclose([list(row)[1:] for row in found], expected, atol=1e-12)


@pytest.mark.parametrize("version", VERSIONS)
def test_state_kept_and_set_back_gives_the_same_bits_and_reset_begins_anew(version: str, tmp_path: Path) -> None:
    m = planar_arm(2)
    path = unit(m, version, tmp_path)
    description = fmpy.read_model_description(path)
    slave = (FMU2Slave if version == "2.0" else FMU3Slave)(
        guid=description.guid if version == "2.0" else description.instantiationToken,
        unzipDirectory=fmpy.extract(path, tmp_path / "unzipped"),
        modelIdentifier=description.coSimulation.modelIdentifier,
        instanceName="arm",
    )
    reference = {v.name: v.valueReference for v in description.modelVariables}
    read = slave.getReal if version == "2.0" else slave.getFloat64
    write = slave.setReal if version == "2.0" else slave.setFloat64
    start, end = [reference[n] for n in names(path, "q_start")], [reference[n] for n in names(path, "q_")[:2]]
    slave.instantiate()

    def begin() -> None:
        if version == "2.0":
            slave.setupExperiment(startTime=0.0)
        slave.enterInitializationMode()
        slave.exitInitializationMode()

    write(start, [0.3, -0.2])
    begin()
    assert list(read(end)) == [0.3, -0.2]
    state = slave.getFMUState()
    slave.doStep(0.0, 0.1)
    first = list(read(end))
    slave.setFMUState(state)
    slave.doStep(0.0, 0.1)
    assert list(read(end)) == first != [0.3, -0.2]
    slave.freeFMUState(state)
    with pytest.raises(Exception, match="status"):
        write(start, [0.0, 0.0])
    slave.reset()
    begin()
    assert list(read(end)) == [0.0, 0.0]
    slave.terminate()
    slave.freeInstance()


@pytest.mark.parametrize("version", VERSIONS)
def test_sources_compile_without_a_warning(version: str, tmp_path: Path) -> None:
    path = unit(random_tree(3, n_bodies=4, floating_base=True), version, tmp_path)
    with zipfile.ZipFile(path) as archive:
        archive.extractall(tmp_path / "unit")
    sources = [file.name for file in (tmp_path / "unit/sources").glob("*.c")]
    strict = ["-std=c99", "-O2", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
    done = subprocess.run(
        ["cc", *strict, "-c", *sources], cwd=tmp_path / "unit/sources", capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert len(sources) == 3


def test_equal_mechanisms_give_equal_files(tmp_path: Path) -> None:
    first, second = (Path(unit(planar_arm(2), "2.0", tmp_path / word)).read_bytes() for word in ("a", "b"))
    assert first == second


def test_refusals(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(setsu.InputError, match='made of "forward_dynamics"'):
        setsu.generate(planar_arm(2), "mass_matrix", language="fmu")
    with pytest.raises(setsu.InputError, match=r"2\.0 or 3\.0, got '1\.0'"):
        setsu.generate(planar_arm(2), "forward_dynamics", language="fmu", fmi_version="1.0")
    with pytest.raises(setsu.InputError, match="fmi_version is for the language 'fmu', got 'c'"):
        setsu.generate(planar_arm(2), "forward_dynamics", fmi_version="3.0")
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("CC", raising=False)
    with pytest.raises(setsu.InputError, match="needs a C compiler"):
        setsu.generate(planar_arm(2), "forward_dynamics", language="fmu")


def test_command_writes_a_unit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = tmp_path / "arm.toml"
    planar_arm(2).save(model)
    assert main(["generate", str(model), "--language", "fmu", "--fmi-version", "3.0", "--out", str(tmp_path)]) == 0
    written = capsys.readouterr().out.split("written: ")[1].strip()
    assert validate_fmu(written) == []
    assert main(["generate", str(model), "--language", "fmu"]) == 2
    assert "--out FOLDER" in capsys.readouterr().err


DRIVER = r"""
#include "fmi2_types.h"
#include <stdio.h>

fmi2Component fmi2Instantiate(fmi2String, fmi2Type, fmi2String, fmi2String, const fmi2CallbackFunctions *, int, int);
fmi2Status fmi2SetupExperiment(fmi2Component, int, double, double, int, double);
fmi2Status fmi2EnterInitializationMode(fmi2Component);
fmi2Status fmi2ExitInitializationMode(fmi2Component);
fmi2Status fmi2SetReal(fmi2Component, const fmi2ValueReference[], size_t, const double[]);
fmi2Status fmi2GetReal(fmi2Component, const fmi2ValueReference[], size_t, double[]);
fmi2Status fmi2DoStep(fmi2Component, double, double, int);
fmi2Status fmi2GetFMUstate(fmi2Component, fmi2FMUstate *);
fmi2Status fmi2FreeFMUstate(fmi2Component, fmi2FMUstate *);
void fmi2FreeInstance(fmi2Component);

int main(void)
{
    fmi2FMUstate state = NULL;
    fmi2ValueReference r = 0, torque = 1;
    double value, nan_torque = 0.0 / 0.0;
    int errors = 0;
    fmi2Component c = fmi2Instantiate("unit", fmi2CoSimulation, GUID, "", NULL, 0, 0);
    errors += c == NULL || fmi2Instantiate("unit", fmi2CoSimulation, "another", "", NULL, 0, 0) != NULL;
    errors += fmi2DoStep(c, 0.0, 0.1, 1) != fmi2Error; /* not before initialization */
    errors += fmi2SetupExperiment(c, 0, 0.0, 0.0, 0, 0.0) != fmi2OK;
    errors += fmi2EnterInitializationMode(c) != fmi2OK || fmi2ExitInitializationMode(c) != fmi2OK;
    errors += fmi2DoStep(c, 0.0, 0.1, 1) != fmi2OK;
    errors += fmi2GetFMUstate(c, &state) != fmi2OK || fmi2FreeFMUstate(c, &state) != fmi2OK || state != NULL;
    for (r = 0; fmi2GetReal(c, &r, 1, &value) == fmi2OK; ++r) {
    }
    errors += r != COUNT; /* every variable answers, none beyond them */
    errors += fmi2SetReal(c, &torque, 1, &nan_torque) != fmi2OK || fmi2DoStep(c, 0.1, 0.1, 1) != fmi2Error;
    fmi2FreeInstance(c);
    printf("%d\n", errors);
    return errors;
}
"""


def test_a_life_of_a_unit_is_clean_under_sanitizers(tmp_path: Path) -> None:
    """No leak, no read outside, no undefined operation, and errors where the standard forbids a call."""
    path = unit(random_tree(3, n_bodies=4, floating_base=True), "2.0", tmp_path)
    description = fmpy.read_model_description(path)
    with zipfile.ZipFile(path) as archive:
        archive.extractall(tmp_path / "unit")
    folder = tmp_path / "unit/sources"
    (folder / "driver.c").write_text(DRIVER)
    given = [f'-DGUID="{description.guid}"', f"-DCOUNT={len(description.modelVariables)}"]
    flags = ["-std=c99", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover", *given]
    sources = [file.name for file in folder.glob("*.c")]
    done = subprocess.run(["cc", *flags, *sources, "-o", "driver", "-lm"], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    run = subprocess.run([str(folder / "driver")], capture_output=True, text=True)
    assert (run.returncode, run.stdout) == (0, "0\n"), run.stderr


def _two_joints(first: str, second: str, joint: type = setsu.Revolute) -> setsu.Mechanism:
    builder = setsu.MechanismBuilder("names")
    builder.add_body("a", joint=setsu.Revolute((0, 1, 0), first), mass=1.0, inertia=np.eye(3))
    last = setsu.Spherical(second) if joint is setsu.Spherical else joint((0, 1, 0), second)
    builder.add_body("b", "a", last, setsu.placement((0.3, 0, 0)), mass=1.0, inertia=np.eye(3))
    return builder.build()


@pytest.mark.parametrize(
    ("first", "second", "joint"),
    [("start_x", "x", setsu.Revolute), ("b_qx", "b", setsu.Spherical), ("a\x01b", "tab\tname", setsu.Revolute)],
)
def test_names_of_variables_are_unique_and_legal(first: str, second: str, joint: type) -> None:
    """Joints "start_x" and "x" both ask for q_start_x; control characters have no place in XML."""
    m = _two_joints(first, second, joint)
    variables = variables_of(m, 1e-3, range(m.nv), m.neutral().tolist())
    names = [variable.name for variable in variables]
    assert len(set(names)) == len(names)
    text = model_description("2.0", m.name, "names", "{0}", variables, [])
    listed = ElementTree.fromstring(text.encode()).find("ModelVariables")
    assert listed is not None
    assert [variable.get("name") for variable in listed] == names
    assert all(name.isprintable() for name in names)


def test_dry_friction_is_refused_by_joint() -> None:
    """`simulate` holds such a joint; the unit's integrator would let it creep."""
    arm = setsu.sample_mechanisms.planar_arm(2)
    values = {"coulomb": [0.0, 0.5]}
    rubbing = setsu.with_parameters(arm, setsu.inertial_parameters(arm), values)
    with pytest.raises(setsu.InputError, match=r"dry friction.*joint2"):
        setsu.generate(rubbing, "forward_dynamics", "fmu")


def test_joint_stops_are_refused_by_joint() -> None:
    """`simulate` stops joints at their limits when asked; a unit does not."""
    b = setsu.MechanismBuilder("door")
    b.add_body("door", joint=setsu.Revolute((0, 0, 1), name="hinge", lower=0.0, upper=1.5), mass=1.0)
    with pytest.raises(setsu.InputError, match=r"joint_stops.*limits in hinge"):
        setsu.generate(b.build(), "forward_dynamics", "fmu", joint_stops=True)
