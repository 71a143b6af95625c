"""Hostile and broken files are refused quickly, with a message that names file and line."""

from pathlib import Path

import pytest

from setsu.errors import ModelFileError
from setsu.model_files import load

DATA = Path(__file__).parents[1] / "data"


def refusal(path: Path, content: bytes | None = None) -> str:
    """Load a file that must be refused and return the message, which names the file."""
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ModelFileError) as caught:
        load(path)
    assert str(path) in str(caught.value)
    assert len(str(caught.value)) < 20_000
    return str(caught.value)


@pytest.fixture(params=["urdf", "xml"])
def file(tmp_path, request) -> Path:
    return tmp_path / f"robot.{request.param}"


def test_entity_bomb(file):
    levels = "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * 10}">' for i in range(1, 10))
    text = f'<?xml version="1.0"?>\n<!DOCTYPE robot [<!ENTITY l0 "lol">{levels}]>\n<robot name="&l9;"/>'
    assert "2: document type declaration <!DOCTYPE robot>, which is not accepted" in refusal(file, text.encode())


def test_external_entity(file):
    text = '<!DOCTYPE robot [<!ENTITY secret SYSTEM "file:///etc/hostname">]><robot name="&secret;"/>'
    assert "document type declaration" in refusal(file, text.encode())


def test_a_million_nested_tags(file):
    assert "elements nested deeper than 500" in refusal(file, b"<robot>" + b"<a>" * 1_000_000)


@pytest.mark.parametrize("links", [300, 490])
def test_chains_nested_as_deep_as_mujoco_allows(tmp_path, links):
    body = '<body pos="0 0 .1"><joint/><geom size=".01"/>'
    text = f"<mujoco><worldbody>{body * links}{'</body>' * links}</worldbody></mujoco>"
    (tmp_path / "chain.xml").write_text(text)
    assert load(tmp_path / "chain.xml").nv == links


def test_a_hundred_megabyte_attribute(file):
    with file.open("wb") as stream:
        stream.write(b'<robot name="')
        for _ in range(100):
            stream.write(b"a" * 1_000_000)
        stream.write(b'"/>')
    assert "100000016 bytes, expected at most" in refusal(file)


def test_a_ten_megabyte_attribute(file):
    message = refusal(file, b'<robot name="' + b"a" * 10_000_000 + b'"/>')
    assert ':1: attribute "name" of <robot> is 10000000 characters long, expected at most' in message


def test_a_ten_megabyte_text(file):
    assert "text of <robot> is longer than" in refusal(file, b"<robot>" + b"a" * 10_000_000 + b"</robot>")


def test_hundreds_of_thousands_of_elements(file):
    assert "more than 200000 elements" in refusal(file, b"<robot>" + b"<a/>" * 300_000 + b"</robot>")


def test_binary_garbage(file):
    assert ":1: not well-formed XML" in refusal(file, bytes(range(256)) * 100)


def test_zero_bytes(file):
    assert "not well-formed XML" in refusal(file, b"\0" * 1000)


@pytest.mark.parametrize("source", ["two_finger_arm.urdf", "cart_and_legs.xml"])
@pytest.mark.parametrize("part", [0.1, 0.5, 0.99])
def test_truncated_file(tmp_path, source, part):
    data = (DATA / source).read_bytes()
    assert "not well-formed XML" in refusal(tmp_path / source, data[: int(len(data) * part)])


def test_unknown_encoding(file):
    assert "cannot decode" in refusal(file, b'<?xml version="1.0" encoding="klingon"?><robot name="r"/>')


def test_text_after_the_end(file):
    message = refusal(file, b'<robot name="r">\n</robot>\n<robot/>')
    assert ":3: not well-formed XML (junk after document element)" in message


def test_a_mesh_file_called_urdf(tmp_path):
    assert "not well-formed XML" in refusal(tmp_path / "mesh.urdf", b"solid part\nfacet normal 0 0 1\n")


def test_toml_that_is_binary(tmp_path):
    assert ":2: byte 0xff, expected UTF-8 text" in refusal(tmp_path / "a.toml", b"format = 1\n\xff\xfe")


def test_toml_that_is_xml(tmp_path):
    assert "not valid TOML" in refusal(tmp_path / "a.toml", b"<robot/>")


def test_toml_with_numbers_that_overflow(tmp_path):
    text = b'format = 1\nname = "m"\n[[body]]\nname = "a"\nmass = 1e200\ncenter_of_mass = [1e200, 0.0, 0.0]\n'
    assert 'body "a": got 1e+200, expected a magnitude up to 1e+50' in refusal(tmp_path / "a.toml", text)
