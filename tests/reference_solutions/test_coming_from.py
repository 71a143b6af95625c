"""Every row of the pages for users of Pinocchio and MuJoCo: both cells are run, and give the same numbers."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pinocchio as pin
import pytest

import setsu
from setsu.benchmarks.subjects import chain

DOCS = Path(__file__).parents[2] / "docs"
AGREEMENT = 1e-11
MODEL = """
<mujoco><compiler angle="radian"/><option timestep="0.001"><flag contact="disable" energy="enable"/></option>
<worldbody><body name="upper" pos="0 0 0.5"><joint name="shoulder" axis="0 0 1" damping="0.3" armature="0.05"/>
  <inertial pos="0.2 0.1 0" mass="2" diaginertia="0.03 0.02 0.02"/>
  <body name="lower" pos="0.4 0 0" euler="0.2 0.1 0"><joint name="elbow" axis="0 1 0" stiffness="3" springref="0.2"/>
   <inertial pos="0.2 0 0.05" mass="1" diaginertia="0.02 0.01 0.01"/>
   <body name="hand" pos="0.3 0 0" euler="0 0.3 0.2"><joint name="slide" type="slide" axis="1 0 0"/>
    <inertial pos="0.05 0.02 0" mass="0.5" diaginertia="0.002 0.001 0.001"/>
    <site name="tip" pos="0.1 0.02 0" euler="0.3 0 0.1"/></body></body></body></worldbody>
<actuator><motor name="drive" joint="shoulder" gear="3" ctrlrange="-1 1"/>
 <general name="pull" joint="slide" gainprm="2 0 0" biastype="affine" biasprm="0 0 0"/></actuator>
<keyframe><key name="home" qpos="0.1 0.2 0.03" ctrl="0.5 -0.4"/></keyframe></mujoco>
"""


def rows(page: str) -> list[tuple[str, str]]:
    """The two cells of code of every table row."""
    text = (DOCS / page).read_text(encoding="utf-8")
    found = re.findall(r"^\| `(.+?)` \| `(.+?)` \|$", text, re.MULTILINE)
    lines = [line for line in text.splitlines() if line.startswith("| `")]
    assert len(found) == len(lines) > 10
    return found


def run(cell: str, names: dict[str, Any]) -> np.ndarray:
    """Run the statements of a cell, and return the value of the last as an array."""
    *before, last = cell.split("; ")
    for statement in before:
        exec(statement, names)
    value = eval(last, names)
    value = getattr(value, "vector", getattr(value, "homogeneous", value))
    return np.array(value, dtype=np.float64)


def assert_same(theirs: str, ours: str, names: dict[str, Any]) -> None:
    left, right = run(theirs, names), run(ours, names)
    assert left.shape == right.shape, f"{theirs}: {left.shape}, {ours}: {right.shape}"
    assert np.abs(left - right).max() < AGREEMENT * max(1.0, np.abs(right).max())


def states(m: setsu.Mechanism) -> dict[str, Any]:
    rng = np.random.default_rng(1)
    q, q2 = (m.random_configuration(rng) for _ in range(2))
    v, a, tau = rng.standard_normal((3, m.nv))
    wrenches = rng.standard_normal((m.n_bodies, 6))
    return {"np": np, "setsu": setsu, "m": m, "q": q, "q2": q2, "v": v, "a": a, "tau": tau, "wrenches": wrenches}


@pytest.mark.parametrize(("theirs", "ours"), rows("coming_from_pinocchio.md"))
def test_row_of_pinocchio(theirs: str, ours: str, tmp_path: Path) -> None:
    text = chain(5).urdf
    (tmp_path / "chain.urdf").write_text(text)
    m, model = setsu.load(tmp_path / "chain.urdf"), pin.buildModelFromXML(text)
    names = states(m)
    fext = pin.StdVec_Force()
    for row in setsu.interop.pinocchio(m, model).wrench_to(names["q"], names["wrenches"]):
        fext.append(pin.Force(row))
    xi = np.array([0.3, -0.2, 0.5, 0.4, 1.0, -0.7])
    names |= {"pin": pin, "model": model, "data": model.createData(), "fext": fext, "xi": xi, "phi": xi[3:]}
    names |= {"i": model.getFrameId("link3"), "j": model.getJointId("joint3")}
    assert_same(theirs, ours, names)


@pytest.mark.parametrize(("theirs", "ours"), rows("coming_from_mujoco.md"))
def test_row_of_mujoco(theirs: str, ours: str, tmp_path: Path) -> None:
    (tmp_path / "arm.xml").write_text(MODEL)
    m, model = setsu.load(tmp_path / "arm.xml"), mujoco.MjModel.from_xml_string(MODEL)
    names, data = states(m), mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = names["q"], names["v"]
    mujoco.mj_forward(model, data)
    jacp, jacr, six, step = np.zeros((3, 3)), np.zeros((3, 3)), np.zeros(6), np.zeros(3)
    names |= {"mujoco": mujoco, "model": model, "data": data, "jacp": jacp, "jacr": jacr, "six": six, "step": step}
    names |= {"M": np.zeros((3, 3)), "qpos2": names["q2"].copy(), "zero": np.zeros(3)}
    names |= {"push": np.arange(6.0), "u": np.array([1.7, -0.3])}
    names |= {"b": model.body("hand").id, "s": model.site("tip").id, "there": setsu.interop.mujoco(m, model)}
    assert_same(theirs, ours, names)
