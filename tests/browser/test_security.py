"""Only who knows the token and comes from the studio's own page gets in; what uploads hold does not bring it down."""

from __future__ import annotations

import random
import socket
from pathlib import Path

import pytest
from browser.stranger import get, look, open_websocket, own_origin, send, upload, upload_button, wait_until
from malformed_files.mutation import mutant
from websockets.exceptions import InvalidStatus

from setsu.errors import InputError
from setsu.studio import open_studio
from setsu.studio.application import Studio
from setsu.studio.uploads import LARGEST_UPLOAD

ARM = Path(__file__).resolve().parents[2] / "examples" / "models" / "arm.urdf"
DATA = Path(__file__).resolve().parents[1] / "data"


def test_the_studio_listens_on_the_loopback_address_alone(studio: Studio) -> None:
    port = studio.server.guard.port
    addresses = {entry[4][0] for entry in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)}
    for address in addresses - {"127.0.0.1", "127.0.1.1"}:
        with pytest.raises(OSError, match=r"refused|timed out|unreachable"):
            socket.create_connection((address, port), timeout=2)


@pytest.mark.parametrize("target", ["/", "/index.html", "/?token=", "/?token=wrong", "/../../etc/passwd?token=x"])
def test_http_without_the_token_is_refused(studio: Studio, target: str) -> None:
    answer = get(studio, target)
    assert answer.status == 403
    assert answer.getheader("Set-Cookie") is None


def test_the_token_moves_from_the_address_into_a_cookie_scripts_cannot_read(studio: Studio) -> None:
    guard = studio.server.guard
    answer = get(studio, f"/?token={guard.token}")
    assert (answer.status, answer.getheader("Location")) == (303, "/")
    cookie = answer.getheader("Set-Cookie") or ""
    assert cookie.startswith(f"{guard.cookie_name}={guard.token};")
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    page = get(studio, "/", {"Cookie": f"{guard.cookie_name}={guard.token}"})
    assert page.status == 200
    assert "frame-ancestors 'none'" in (page.getheader("Content-Security-Policy") or "")


@pytest.mark.parametrize("host", ["evil.example", "evil.example:{port}", "127.0.0.1:1", "", "[::1"])
def test_a_foreign_host_name_is_refused_even_with_the_token(studio: Studio, host: str) -> None:
    guard = studio.server.guard
    headers = {"Host": host.format(port=guard.port), "Cookie": f"{guard.cookie_name}={guard.token}"}
    assert get(studio, "/", headers).status in (400, 403)


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "http://127.0.0.1:1", "http://localhost", "null", "file://"]
)
def test_a_websocket_with_a_foreign_origin_is_refused(studio: Studio, origin: str) -> None:
    with pytest.raises(InvalidStatus) as refusal:
        open_websocket(studio, token=studio.server.guard.token, origin=origin)
    assert refusal.value.response.status_code == 403


@pytest.mark.parametrize("token", [None, "", "wrong"])
def test_a_websocket_without_the_token_is_refused(studio: Studio, token: str | None) -> None:
    for origin in (own_origin(studio), None):
        with pytest.raises(InvalidStatus) as refusal:
            open_websocket(studio, token=token, origin=origin)
        assert refusal.value.response.status_code == 403


def test_a_websocket_of_the_own_page_with_the_token_is_welcome(studio: Studio) -> None:
    with open_websocket(studio, token=studio.server.guard.token, origin=own_origin(studio)) as welcome:
        assert len(welcome.recv(timeout=10)) > 0


def test_every_studio_has_a_token_of_its_own(studio: Studio) -> None:
    other = open_studio()
    try:
        assert other.server.guard.token != studio.server.guard.token
        assert len(other.server.guard.token) >= 40
        assert get(other, f"/?token={studio.server.guard.token}").status == 403
    finally:
        other.close()


def test_sharing_is_off(studio: Studio) -> None:
    assert studio.server.request_share_url() is None
    with open_websocket(studio, token=studio.server.guard.token, origin=own_origin(studio)) as stranger:
        send(stranger, "ShareUrlRequest")
        assert studio.server.request_share_url() is None


def test_an_address_that_cannot_be_listened_on_is_said_so(studio: Studio) -> None:
    for host, port in (("256.1.1.1", 0), ("127.0.0.1", studio.server.guard.port)):
        with pytest.raises(InputError, match="cannot listen on"):
            open_studio(host, port)


@pytest.mark.parametrize("count", [24, pytest.param(200, marks=pytest.mark.nightly)])
def test_malformed_uploads_leave_the_studio_running(studio: Studio, count: int) -> None:
    """Mutants of text formats, random bytes under every ending, lies about size and parts, broken messages."""
    chance = random.Random(7)
    button = upload_button(studio)
    texts = {".urdf": ARM.read_text(), ".toml": (DATA / "four_bar.toml").read_text()}
    answered = 0
    with open_websocket(studio, token=studio.server.guard.token, origin=own_origin(studio)) as stranger:
        look(stranger)
        for seed in range(count):
            ending = chance.choice([".urdf", ".toml"])
            content = mutant(texts[ending], seed).encode("utf-8", "replace")
            if seed % 8 == 6:
                upload(stranger, button, "../" * 5 + "etc/passwd" + ending, content, declared=seed)
                continue
            if seed % 8 == 7:
                stranger.send(chance.randbytes(50))
                send(stranger, "FileTransferPart", source_component_uuid=button, transfer_uuid="x", part_index=-1)
                send(stranger, "FileTransferStartUpload", source_component_uuid=button, transfer_uuid=seed, filename=3)
                continue
            if seed % 8 in (3, 5):
                ending, content = chance.choice([".urdf", ".xml", ".toml", ".exe", ""]), chance.randbytes(300)
            studio.message.content = "waiting"
            upload(stranger, button, f"<b>{seed}</b>{ending}", content)
            answered += wait_until(lambda: studio.message.content != "waiting")
            assert "error of its own" not in studio.message.content, (seed, studio.message.content)
        assert answered == 3 * count // 4
        upload(stranger, button, "arm.urdf", ARM.read_bytes())
        assert wait_until(lambda: "arm: 6 moving bodies" in studio.message.content)
    assert get(studio, f"/?token={studio.server.guard.token}").status == 303


def test_an_upload_that_is_too_large_is_refused_before_it_is_sent(studio: Studio) -> None:
    with open_websocket(studio, token=studio.server.guard.token, origin=own_origin(studio)) as stranger:
        look(stranger)
        upload(stranger, upload_button(studio), "large.urdf", b"<robot/>", declared=LARGEST_UPLOAD + 1)
        wait_until(lambda: "expected at most" in studio.message.content)
    assert f"large.urdf: {LARGEST_UPLOAD + 1} bytes, expected at most {LARGEST_UPLOAD}" in studio.message.content
