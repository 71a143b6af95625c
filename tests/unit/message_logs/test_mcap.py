"""MCAP logs: ROS 2 joint states and scenes as other programs decode them, and joint states of robots read back."""

from __future__ import annotations

import contextlib
import json
import struct
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from foxglove_schemas_protobuf.FrameTransforms_pb2 import FrameTransforms
from foxglove_schemas_protobuf.SceneUpdate_pb2 import SceneUpdate
from google.protobuf import json_format
from mcap.reader import make_reader
from mcap_ros2.decoder import DecoderFactory
from mcap_ros2.writer import Writer as Ros2Writer

import setsu
from setsu.command_line import main
from setsu.message_logs.joint_state import DEFINITION, JointState, from_cdr, to_cdr
from setsu.sample_mechanisms import floating_box, planar_arm


def arm() -> setsu.Mechanism:
    return planar_arm(2)


@pytest.fixture(scope="module")
def recording() -> setsu.Recording:
    return setsu.simulate(arm(), [0.4, -0.3], [0.5, 0.1], 0.2, step=1e-2)


@pytest.fixture(scope="module")
def landing() -> setsu.Recording:
    m = floating_box()
    q0 = m.neutral()
    q0[2] = 0.3
    return setsu.simulate(m, q0, np.zeros(m.nv), 0.5, environment=setsu.Environment.floor(), step=1e-2)


def messages(path: Path, topic: str) -> list[dict]:
    with path.open("rb") as file:
        return [json.loads(message.data) for _, _, message in make_reader(file).iter_messages(topics=[topic])]


def as_protobuf(message: object) -> object:
    """JSON of log viewers writes times as sec and nsec, that of protobuf as text."""
    if isinstance(message, dict):
        if set(message) == {"sec", "nsec"}:
            return None
        return {key: new for key, value in message.items() if (new := as_protobuf(value)) is not None}
    return [as_protobuf(entry) for entry in message] if isinstance(message, list) else message


def scenes(path: Path) -> list[SceneUpdate]:
    return [json_format.ParseDict(as_protobuf(message), SceneUpdate()) for message in messages(path, "/scene")]


def test_joint_states_as_ros_decodes_them(recording: setsu.Recording, tmp_path: Path) -> None:
    path = recording.save(tmp_path / "run.mcap")
    with path.open("rb") as file:
        reader = make_reader(file, decoder_factories=[DecoderFactory()])
        found = [message for *_, message in reader.iter_decoded_messages(topics=["/joint_states"])]
    assert list(found[0].name) == list(recording.joint_names)
    np.testing.assert_array_equal([state.position for state in found], recording.q)
    np.testing.assert_array_equal([state.velocity for state in found], recording.v)
    np.testing.assert_array_equal([state.effort for state in found], recording.torque)
    stamps = [state.header.stamp.sec + 1e-9 * state.header.stamp.nanosec for state in found]
    np.testing.assert_allclose(stamps, recording.time, atol=1e-9)


def test_transforms_are_the_poses(recording: setsu.Recording, tmp_path: Path) -> None:
    path = recording.save(tmp_path / "run.mcap")
    last = messages(path, "/tf")[-1]
    decoded = json_format.ParseDict(as_protobuf(last), FrameTransforms()).transforms
    assert recording.mechanism is not None
    poses = setsu.body_poses(recording.mechanism, recording.q[-1])
    for entry, pose in zip(decoded, poses, strict=True):
        assert entry.parent_frame_id == "world"
        t = entry.translation
        np.testing.assert_allclose([t.x, t.y, t.z], pose[:3, 3], atol=1e-15)


def test_scene_holds_every_body_once_and_forces_always(landing: setsu.Recording, tmp_path: Path) -> None:
    """Arrows start where forces act, point along them and are as long as they are large, relative to each other."""
    path = landing.save(tmp_path / "run.mcap")
    found = scenes(path)
    m = landing.mechanism
    assert m is not None
    ids = [entity.id for entity in found[0].entities]
    assert ids == [*(f"body/{name}" for name in m.body_names), "contact_forces", "joint_forces"]
    assert all(entity.frame_locked for entity in found[0].entities[:-2])
    assert all([entity.id for entity in scene.entities] == ids[-2:] for scene in found[1:])
    assert landing.contact_log is not None
    scales = []
    for row, scene in enumerate(found):
        arrows = scene.entities[-2].arrows
        pressing = [k for k, force in enumerate(landing.contact_force[row]) if np.linalg.norm(force) > 0.0]
        assert len(arrows) == len(pressing)
        for arrow, k in zip(arrows, pressing, strict=True):
            force = landing.contact_force[row, k]
            p, h = arrow.pose.position, arrow.pose.orientation
            np.testing.assert_allclose([p.x, p.y, p.z], landing.contact_log.position[row, k], atol=1e-12)
            x = np.array([1 - 2 * (h.y**2 + h.z**2), 2 * (h.x * h.y + h.z * h.w), 2 * (h.x * h.z - h.y * h.w)])
            np.testing.assert_allclose(x, force / np.linalg.norm(force), atol=1e-9)
            scales.append((arrow.shaft_length + arrow.head_length) / np.linalg.norm(force))
    assert scales
    np.testing.assert_allclose(scales, scales[0], rtol=1e-12)


def test_shapes_become_primitives(tmp_path: Path) -> None:
    b = setsu.MechanismBuilder("shapes")
    shapes = (
        setsu.Shape("box", (0.1, 0.2, 0.3)),
        setsu.Shape("sphere", (0.1,), color=(1.0, 0.0, 0.0)),
        setsu.Shape("cylinder", (0.1, 0.5)),
        setsu.Shape("capsule", (0.1, 0.5)),
        setsu.Shape("ellipsoid", (0.1, 0.2, 0.3)),
        setsu.Shape("mesh", (1.0, 1.0, 1.0), mesh="/robots/arm.stl"),
    )
    b.add_body("link", joint=setsu.Revolute((0, 0, 1)), mass=1.0, center_of_mass=(1, 0, 0), visuals=shapes)
    run = setsu.simulate(b.build(), [0.0], [0.0], 0.02, step=1e-2)
    (body, *_) = scenes(run.save(tmp_path / "run.mcap"))[0].entities
    assert (len(body.cubes), len(body.spheres), len(body.cylinders), len(body.models)) == (1, 4, 2, 1)
    assert (body.cubes[0].size.x, body.cubes[0].size.z) == (0.1, 0.3)
    assert body.spheres[0].color.r == 1.0
    assert (body.spheres[3].size.x, body.spheres[3].size.z) == (0.2, 0.6)
    assert body.models[0].url == "file:///robots/arm.stl"
    assert sorted(round(ball.pose.position.z, 12) for ball in body.spheres[1:3]) == [-0.25, 0.25]


def test_recordings_without_a_mechanism_and_of_many_runs_are_refused(
    recording: setsu.Recording, tmp_path: Path
) -> None:
    import dataclasses

    with pytest.raises(setsu.InputError, match="needs the mechanism"):
        dataclasses.replace(recording, mechanism=None).save(tmp_path / "run.mcap")
    many = setsu.simulate(arm(), np.zeros((3, 2)), np.zeros((3, 2)), 0.02, step=1e-2)
    with pytest.raises(setsu.InputError, match=r"recording\[k\]"):
        many.save(tmp_path / "run.mcap")
    assert many[1].save(tmp_path / "run.mcap").is_file()


def state(names: Sequence[str] = ("a", "bc", ""), count: int | None = None) -> JointState:
    rng = np.random.default_rng(0)
    values = [rng.standard_normal(len(names) if count is None else count) for _ in range(3)]
    return JointState(1_234_567_890_123_456_789, tuple(names), *values)


@pytest.mark.parametrize("names", [(), ("a",), ("a", "bc", ""), tuple("joint_äß" * k for k in range(7))])
def test_bytes_give_the_same_message_back(names: tuple[str, ...]) -> None:
    given = state(names)
    found = from_cdr(to_cdr(given), "here")
    assert (found.stamp, found.names) == (given.stamp, given.names)
    for part in ("position", "velocity", "effort"):
        np.testing.assert_array_equal(getattr(found, part), getattr(given, part))


def test_every_truncated_message_is_refused_and_big_endian_is_read() -> None:
    data = to_cdr(state())
    for end in range(len(data)):
        with pytest.raises(setsu.InputError, match="here"):
            from_cdr(data[:end], "here")
    big = b"\0\0\0\0" + struct.pack(">iIIBxxxI", 5, 6, 1, 0, 1) + struct.pack(">I2sxxIII", 2, b"a\0", 0, 0, 0)
    found = from_cdr(big, "here")
    assert (found.stamp, found.names, len(found.position)) == (5_000_000_006, ("a",), 0)


def test_random_bytes_never_raise_anything_else() -> None:
    rng = np.random.default_rng(1)
    data = to_cdr(state())
    for _ in range(2000):
        wrong = bytearray(data)
        for place in rng.integers(0, len(data), 4):
            wrong[place] = rng.integers(0, 256)
        with contextlib.suppress(setsu.InputError):
            from_cdr(bytes(wrong), "here")


Change = Callable[[int, dict], dict | None]


def write_log(
    path: Path, change: Change = lambda k, message: message, topics: Sequence[str] = ("/joint_states",)
) -> Path:
    """A log as ROS 2 writes it, by its own library: an arm's motion with epoch stamps, names in another order."""
    m = arm()
    t = np.arange(400) * 5e-3
    q = np.column_stack([np.sin(3 * t) + 0.4 * np.sin(7.7 * t), np.cos(4 * t) + 0.3 * np.sin(9.1 * t)])
    v = np.column_stack([3 * np.cos(3 * t) + 3.08 * np.cos(7.7 * t), -4 * np.sin(4 * t) + 2.73 * np.cos(9.1 * t)])
    a = np.column_stack([-9 * np.sin(3 * t) - 23.716 * np.sin(7.7 * t), -16 * np.cos(4 * t) - 24.843 * np.sin(9.1 * t)])
    tau = setsu.inverse_dynamics(m, q, v, a)
    names = ["finger", m.joint_names[1], m.joint_names[0]]
    with path.open("wb") as file:
        writer = Ros2Writer(file)
        schema = writer.register_msgdef("sensor_msgs/msg/JointState", DEFINITION)
        for k in range(len(t)):
            stamp = 1_700_000_000 * 10**9 + round(t[k] * 1e9)
            columns = [np.concatenate([[0.0], x[k, ::-1]]).tolist() for x in (q, v, tau)]
            when = {"sec": stamp // 10**9, "nanosec": stamp % 10**9}
            message = {
                "header": {"stamp": when, "frame_id": "base"}, "name": names,
                "position": columns[0], "velocity": columns[1], "effort": columns[2],
            }  # fmt: skip
            changed = change(k, message)
            if changed is not None:
                for topic in topics:
                    writer.write_message(topic, schema, changed, log_time=stamp, publish_time=stamp, sequence=k)
        writer.finish()
    return path


def test_a_log_of_ros_is_identified(tmp_path: Path) -> None:
    """Stamps since 1970, another order of joints, a finger that is not in the model; torques follow the model."""
    motion = setsu.read_log(arm(), write_log(tmp_path / "log.mcap"))
    assert motion.time[0] == 0.0
    np.testing.assert_allclose(np.diff(motion.time), 5e-3, atol=1e-12)
    np.testing.assert_allclose(motion.q[:, 0], np.sin(3 * motion.time) + 0.4 * np.sin(7.7 * motion.time), atol=1e-9)
    model = tmp_path / "arm.toml"
    arm().save(model)
    assert main(["identify", str(model), str(tmp_path / "log.mcap"), "--friction", "none", "--json"]) == 0


def test_recordings_are_read_back(recording: setsu.Recording, tmp_path: Path) -> None:
    motion = setsu.read_log(arm(), recording.save(tmp_path / "run.mcap"))
    np.testing.assert_array_equal(motion.q, recording.q)
    np.testing.assert_array_equal(motion.v, recording.v)


def test_messages_of_other_parts_and_without_velocity_or_stamp(tmp_path: Path) -> None:
    def other(k: int, message: dict) -> dict:
        return {**message, "name": ["wheel"] * 3} if k % 2 else {**message, "velocity": []}

    motion = setsu.read_log(arm(), write_log(tmp_path / "a.mcap", other))
    assert (len(motion.time), motion.v) == (200, None)
    none = {"stamp": {"sec": 0, "nanosec": 0}, "frame_id": ""}
    motion = setsu.read_log(arm(), write_log(tmp_path / "b.mcap", lambda k, message: {**message, "header": none}))
    np.testing.assert_allclose(np.diff(motion.time), 5e-3, atol=1e-12)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda k, x: {**x, "effort": []}, "message 1 of /joint_states: effort: expected a number per joint"),
        (lambda k, x: {**x, "effort": [1.0]}, "effort: expected 3 numbers or none, got 1"),
        (lambda k, x: {**x, "name": ["p", "q", x["name"][2]]}, "no joint"),
        (lambda k, x: {**x, "name": ["p", "q", "r"]}, "no joint of .* among those of the log: p, q, r"),
        (lambda k, x: {**x, "velocity": x["velocity"] if k else []}, "399 of 400 messages have it"),
        (lambda k, x: {**x, "position": [0.0, float("nan"), 0.0]}, "message 1 of /joint_states: q2 is nan"),
        (lambda k, x: None, "expected messages sensor_msgs/msg/JointState"),
    ],
)
def test_faults_are_reported_with_their_place(change: Change, message: str, tmp_path: Path) -> None:
    with pytest.raises(setsu.InputError, match=message):
        setsu.read_log(arm(), write_log(tmp_path / "log.mcap", change))


def test_topics_files_and_mechanisms_that_do_not_fit(tmp_path: Path) -> None:
    path = write_log(tmp_path / "two.mcap", topics=("/left", "/right"))
    with pytest.raises(setsu.InputError, match="/left, /right: expected topic="):
        setsu.read_log(arm(), path)
    assert len(setsu.read_log(arm(), path, topic="/right").time) == 400
    with pytest.raises(setsu.InputError, match="in CDR on /up, found none"):
        setsu.read_log(arm(), path, topic="/up")
    with pytest.raises(setsu.InputError, match="one number a joint"):
        setsu.read_log(floating_box(), path)
    (tmp_path / "text.mcap").write_text("t,q1\n")
    with pytest.raises(setsu.InputError, match="cannot be read as MCAP"):
        setsu.read_log(arm(), tmp_path / "text.mcap")
    data = path.read_bytes()
    (tmp_path / "half.mcap").write_bytes(data[: len(data) // 2])
    with pytest.raises(setsu.InputError, match="mcap recover"):
        setsu.read_log(arm(), tmp_path / "half.mcap")
    with pytest.raises(setsu.InputError, match="only MCAP files have topics"):
        setsu.read_log(arm(), _csv(tmp_path), topic="/x")


def _csv(folder: Path) -> Path:
    path = folder / "log.csv"
    path.write_text("t,q1,q2,tau1,tau2\n0,0,0,0,0\n1,0,0,0,0\n")
    return path
