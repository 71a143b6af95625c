"""Writing and reading back changes nothing, to the last bit; a bad file tells all its problems with their lines."""

import math
import random
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import setsu.sample_mechanisms as samples
from setsu.errors import InputError, ModelFileError
from setsu.mechanism import (
    JOINT_TYPES,
    Cylindrical,
    Fixed,
    Helical,
    Material,
    Mechanism,
    MechanismBuilder,
    Pose,
    Revolute,
    Shape,
    Spherical,
    Universal,
)
from setsu.mechanism.native_reader import MAXIMUM_BYTES
from setsu.mechanism.native_text import from_text, read, save, to_text
from setsu.spatial import placement


def everything() -> Mechanism:
    """A mechanism with every kind of element and awkward names and numbers."""
    tilted = placement((0.1, -1 / 3, 1e-300), rpy=(0.1, 0.2, 0.3))
    shapes = [
        Shape("box", (0.1, 0.2, 0.3), Pose.of(tilted, "shape"), color=(0.1, 0.2, 0.3, 1.0)),
        Shape("mesh", (1, 1, -1), mesh="meshes/hand.stl"),
        Shape("sphere", (0.1,), contype=2, conaffinity=2**31 + 1),
        Shape("capsule", (0.1, 0.2)),
        Shape("ellipsoid", (0.1, 0.2, 0.3)),
    ]
    builder = MechanismBuilder('näme "quoted"\\ \n\t\x7f 節', gravity=(0.1, 0.2, -1 / 3))
    builder.add_body(
        "a", joint=Revolute((1, 2, 3), "joint.1", damping=0.1, armature=1e-5, coulomb=0.3, lower=-1, effort_limit=1e22)
    )
    builder.add_body("b c", "a", Universal((0, 1, 0), second_axis=(1, 0, 1), damping=(0.1, 0.2)), tilted, 1 / 3)
    builder.add_body("d", "b c", Helical((0, 0, 1), pitch=0.01, stiffness=3.0, spring_rest=0.5), visuals=shapes)
    builder.add_body("e", "d", Spherical(), center_of_mass=(1e-9, 2, 3), inertia=np.eye(3) + 0.01, collisions=shapes)
    builder.add_body("f", "e", placement=tilted, mass=math.pi)
    builder.add_body("g", "f", Cylindrical(lower=(-1, -math.inf), upper=(math.inf, 2)))
    builder.add_loop("l", "f", "world", Universal((0, 1, 0), second_axis=(1, 0, 0)), tilted, tilted)
    builder.add_loop("weld", "g", "a", Fixed(name="other"))
    builder.add_coupling("c", {"joint.1": 1 / 3, "d_joint": -7.0}, offset=0.1)
    builder.add_spring("s", "world", (0, 0, 1), "e", (0.1, 0, 0), 800.0, 0.5, 4.0)
    builder.add_contact_points("f", [(0, 0, 0), (1, 0, 0)], Material(0.9, 0.7, 0.1), radius=0.02)
    builder.add_contact_points("a", [(0, 0, 0)]).add_contact_points("f", [(2, 0, 0)])
    builder.exclude_contact("a", "e").exclude_contact("b c", "f")
    return builder.build()


@pytest.mark.parametrize("seed", range(30))
def test_random_trees_of_all_joint_types_come_back_equal(seed):
    m = samples.random_tree(
        seed, n_bodies=12, joint_types=JOINT_TYPES, damping=1.0, armature=0.1, coulomb=0.2, stiffness=5.0
    )
    again = from_text(to_text(m))
    assert again == m
    assert again.digest == m.digest


@pytest.mark.parametrize("name", samples.__all__)
def test_samples_come_back_equal(name):
    make = getattr(samples, name)
    m = make(7) if name in ("chain", "binary_tree", "random_tree") else make()
    assert from_text(to_text(m)).digest == m.digest


def test_every_kind_of_element_comes_back_equal():
    m = everything()
    assert from_text(to_text(m)) == m
    assert to_text(from_text(to_text(m))) == to_text(m)


def test_a_file_comes_back_equal(tmp_path):
    path = tmp_path / "r.toml"
    everything().save(path)
    assert read(path) == everything()
    assert read(str(path)).digest == everything().digest


def test_defaults_are_left_out():
    text = to_text(MechanismBuilder("m").add_body("a", joint=Revolute()).add_body("b", "a").build())
    assert text == (
        'format = 1\nname = "m"\ngravity = [0.0, 0.0, -9.81]\n\n'
        '[[body]]\nname = "a"\njoint = { type = "Revolute" }\n\n'
        '[[body]]\nname = "b"\nparent = "a"\n'
    )


def test_numbers_may_be_whole_and_tables_written_out():
    m = from_text(
        'format = 1\nname = "m"\n[[body]]\nname = "a"\nmass = 2\n[body.joint]\ntype = "Prismatic"\naxis = [2, 0, 0]'
    )
    assert m.bodies[0].mass == 2.0
    assert m.bodies[0].joint.axis == (1.0, 0.0, 0.0)


def problems(text: str) -> tuple[str, ...]:
    with pytest.raises(ModelFileError) as caught:
        from_text(text, "r.toml")
    assert str(caught.value).startswith("r.toml: ")
    return caught.value.problems


def test_all_problems_are_told_at_once_with_their_lines():
    text = """format = 1
name = "x"
gravty = [0, 0, 1]
[[body]]
name = "a"
mass = -1
joint = { type = "Revolte" }
[[body]]
name = "b"
parent = "a"
mas = 3
inertia = [1, 2]
[[body]]
name = "c"
parent = "d"
[[body]]
name = "d"
mass = nan
[[body]]
name = "e"
joint = { type = "Revolute", axis = [0, 0, 0] }
visuals = [{ kind = "cone", size = [1] }]
[[coupling]]
name = "of failed joints"
factors = { a_joint = 1 }
[[spring]]
name = "s"
body_a = "wrld"
body_b = "nowhere"
point_a = [0, 0, 0]
point_b = [0, 0, 0]
stiffness = 1.0
"""
    assert problems(text) == (
        "r.toml:3: file: unknown key 'gravty' (did you mean \"gravity\"?)",
        "r.toml:7: body 'a' joint type: unknown joint type 'Revolte' (did you mean \"Revolute\"?)",
        'r.toml:6: body "a" mass: expected at least 0, got -1.0',
        "r.toml:12: body 'b' inertia: expected a list of 6 numbers, got [1, 2]",
        "r.toml:11: body 'b': unknown key 'mas' (did you mean \"mass\"?)",
        "r.toml:15: body 'c' parent: \"d\" stands later in the file; parents come first",
        'r.toml:18: body "d" mass: expected a finite number, got nan',
        'r.toml:21: Revolute joint "e_joint" axis: expected a non-zero direction, got (0, 0, 0)',
        "r.toml:22: body 'e' visuals 1: Shape kind: expected one of "
        "box, sphere, cylinder, capsule, ellipsoid, mesh, got 'cone'",
        'r.toml:28: spring "s" body_a: expected a body added before, got \'wrld\' (did you mean "world"?)',
    )


HEAD = 'format = 1\nname = "m"\n'
BODY = HEAD + '[[body]]\nname = "a"\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "file format: expected the line `format = 1`, got 0"),
        ("format = 2\nname = 'm'", "r.toml:1: file format: expected the line `format = 1`, got 2"),
        ("format = 1", "file name: expected a text, got nothing"),
        ("format = 1\nname = ''", "expected a text that is not empty"),
        ("format = 1\nname = [", "not valid TOML: Invalid value (at end of document)"),
        ("x = " + "[" * 100_000, "brackets are nested too deeply"),
        ("format = " + "9" * 5000, "not valid TOML"),
        ("format = 1\nx" + ".x" * 1_000_000 + " = 1", "r.toml:2: a dotted key of more than 64 parts"),
        ("[x" + '. "x"' * 1_000_000 + "]", "r.toml:1: a dotted key of more than 64 parts"),
        (HEAD + "body = 3", "r.toml:3: file body: expected a list of tables, got 3"),
        (HEAD + "body = [{ name = 'world' }]", '"world" is the fixed frame'),
        (BODY + "mass = 1979-05-27", "r.toml:5: body 'a' mass: expected a number, got datetime.date"),
        (BODY + "mass = true", "r.toml:5: body 'a' mass: expected a number, got True"),
        (BODY + "mass = " + "9" * 400, "r.toml:5: body 'a' mass: expected a number"),
        (BODY + "mass = inf", 'r.toml:5: body "a" mass: expected a finite number, got inf'),
        (BODY + "parent = 'a'", 'r.toml:5: body "a" parent: expected a body added before'),
        (BODY + "rotation = [1, 0, 0, 0, 1, 0, 0, 0, 2]", "expected a rotation"),
        (BODY + "joint = 'Revolute'", "r.toml:5: body 'a' joint: expected a table"),
        (BODY + "joint = { type = 'Revolute', pitch = 1.0 }", "unknown key 'pitch'"),
        (BODY + "joint = { type = 'Revolute', damping = nan }", "damping: expected finite numbers, got nan"),
        (BODY + "joint = { type = 'Revolute', damping = 'x' }", "expected a number or a list of numbers, got 'x'"),
        (BODY + "visuals = 3", "r.toml:5: body 'a' visuals: expected a list of tables, got 3"),
        (BODY * 1 + '[[body]]\nname = "a"\n', 'r.toml:6: body "a": a body of this name was added before'),
        (BODY + "[[contact_points]]\nbody = 'a'\npositions = [1, 2, 3]", "expected a list of points of 3 numbers"),
        (
            BODY + "[[contact_points]]\nbody = 'a'\npositions = [[0, 0, 0]]\nrestitution = 2",
            "number from 0 to 1, got 2",
        ),
        (BODY + "[[loop]]\nname = 'l'\nbody_a = 'a'\nbody_b = 'world'", "loop 'l' joint: expected a table"),
        (BODY + "[[coupling]]\nname = 'c'\nfactors = 1", "expected a table of names and numbers, got 1"),
        (BODY + "[[coupling]]\nname = 'c'\nfactors = { b = 1 }", "expected the joint of a body, got 'b'"),
    ],
)
def test_a_bad_file_is_refused_with_a_readable_message(text, message):
    assert any(message in problem for problem in problems(text)), problems(text)


def test_reading_stops_after_a_hundred_problems():
    found = problems(HEAD + "".join(f"[[body]]\nname = 'b{i}'\nmass = -1\n" for i in range(1000)))
    assert len(found) == 101
    assert found[-1] == "reading stopped here; there may be more"


def test_files_that_cannot_be_read_are_refused(tmp_path):
    with pytest.raises(ModelFileError, match="No such file"):
        read(tmp_path / "none.toml")
    (tmp_path / "latin.toml").write_bytes(b'format = 1\nname = "\xe4"')
    with pytest.raises(ModelFileError, match="toml:2: expected UTF-8 text, got byte 0xe4"):
        read(tmp_path / "latin.toml")
    with pytest.raises(ModelFileError, match="larger than 20 MB"):
        from_text(" " * (MAXIMUM_BYTES + 1))
    with pytest.raises(InputError, match="cannot write"):
        save(everything(), tmp_path / "no folder" / "r.toml")


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.integers(0, 2**32))
def test_mutated_files_end_in_a_mechanism_or_in_our_error(seed):
    rng = random.Random(seed)
    text = list(to_text(everything()))
    for _ in range(rng.randint(1, 8)):
        at = rng.randrange(len(text))
        match rng.randrange(4):
            case 0:
                del text[at : at + rng.randint(1, 12)]
            case 1:
                text.insert(at, rng.choice(["nan", "inf", "-", "9" * 400, "\n", "[[body]]\n", '"', "}", "\x00", "é"]))
            case 2:
                text[at] = chr(rng.randrange(32, 127))
            case 3:
                text[at:at] = text[rng.randrange(len(text)) :][: rng.randint(1, 200)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            m = from_text("".join(text))
        except ModelFileError:
            return
        assert from_text(to_text(m)) == m
