"""A client of the studio that is no browser: speaks HTTP and WebSocket by hand, with or without token and Origin."""

from __future__ import annotations

import http.client
import time
import uuid
from collections.abc import Callable
from typing import Any

import msgspec
import viser
from websockets.sync.client import ClientConnection, connect

from setsu.studio.application import Studio


def get(studio: Studio, target: str, headers: dict[str, str] | None = None) -> http.client.HTTPResponse:
    """Return the answer to one GET; headers replace the usual ones."""
    connection = http.client.HTTPConnection("127.0.0.1", studio.server.guard.port, timeout=10)
    connection.request("GET", target, headers=headers or {})
    answer = connection.getresponse()
    answer.read()
    return answer


def open_websocket(
    studio: Studio, *, token: str | None, origin: str | None, host: str | None = None
) -> ClientConnection:
    """Open a WebSocket; the token goes into the cookie a browser would send."""
    guard = studio.server.guard
    headers = {} if token is None else {"Cookie": f"{guard.cookie_name}={token}"}
    if host is not None:
        headers["Host"] = host
    return connect(
        f"ws://127.0.0.1:{guard.port}/",
        origin=origin,  # type: ignore[arg-type]
        additional_headers=headers,
        subprotocols=[f"viser-v{viser.__version__}"],  # type: ignore[list-item]
        max_size=None,
        max_queue=None,
        open_timeout=10,
    )


def own_origin(studio: Studio) -> str:
    """The Origin the studio's own page has."""
    return f"http://127.0.0.1:{studio.server.guard.port}"


def send(socket: ClientConnection, kind: str, **fields: Any) -> None:
    """Send one message of viser's protocol."""
    socket.send(msgspec.msgpack.encode({"type": kind, **fields}))


def look(socket: ClientConnection) -> None:
    """Report a camera, after which viser takes a client for connected."""
    send(
        socket, "ViewerCameraMessage", wxyz=(1.0, 0.0, 0.0, 0.0), position=(1.0, 0.0, 0.0), fov=0.8, near=0.1, far=9.0,
        image_height=100, image_width=100, look_at=(0.0, 0.0, 0.0), up_direction=(0.0, 0.0, 1.0),
    )  # fmt: skip


def upload(socket: ClientConnection, button: str, name: str, content: bytes, declared: int | None = None) -> None:
    """Send a file as the page does; `declared` lies about its size."""
    key = str(uuid.uuid4())
    parts = [content[k : k + 512 * 1024] for k in range(0, len(content), 512 * 1024)]
    size = len(content) if declared is None else declared
    send(
        socket, "FileTransferStartUpload", source_component_uuid=button, transfer_uuid=key, filename=name,
        mime_type="", part_count=len(parts), size_bytes=size,
    )  # fmt: skip
    for index, part in enumerate(parts):
        send(
            socket, "FileTransferPart", source_component_uuid=button, transfer_uuid=key, part_index=index, content=part
        )


def upload_button(studio: Studio) -> str:
    """The name the protocol has for the studio's upload button."""
    return studio._upload._impl.uuid


def wait_until(
    condition: Callable[[], bool],
    seconds: float = 60.0,
    pause: Callable[[float], None] = lambda ms: time.sleep(ms / 1e3),
) -> bool:
    """Ask again and again; return whether the condition came true in time. pause: waits some milliseconds."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        pause(10.0)
    return condition()
