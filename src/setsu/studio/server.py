"""A viser server behind the guard: own socket, token, Origin and Host checks, no sharing, uploads of limited size.

viser listens on every address, takes WebSockets from any page and collects uploads without limit. Its server is made
here with another `serve` function in the place of the one viser calls, which puts the guard in front of viser's
answers, listens on a socket opened (and complained about) by us, and looks at upload messages before viser does. If a
future viser no longer asks for that function, the guard is not in place, and the studio refuses to start.
"""

from __future__ import annotations

import contextlib
import io
import socket
import threading
from collections.abc import Callable, Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Any

import viser
import viser.infra
from websockets.asyncio import server as websocket_server
from websockets.datastructures import Headers
from websockets.http11 import Request, Response

from setsu.errors import InputError
from setsu.studio.guard import SECURITY_HEADERS, Guard, new_token
from setsu.studio.uploads import LARGEST_UPLOAD

__all__ = ["GuardedServer", "open_server"]

LARGEST_MESSAGE = 2 * LARGEST_UPLOAD
"""Bytes of one WebSocket message: rendered pictures come back in one."""

MOST_UPLOADS = 8
"""Uploads of one browser under way at once."""

_CONSTRUCTION = threading.Lock()
_PHONE_STYLE = """@media (max-width: 36em) {
  [style*="flex-grow: 1"][style*="overflow: hidden"]:has(canvas) { height: 54% !important }
  [style*="max-height: 60%"] { width: 100% !important; max-height: 46% !important }
  [style*="max-height: 60%"] [style*="width: 20em"] { width: 100% !important }
}"""
"""On a phone viser lays its panel over the picture and the robot in it; here they share the screen."""

_PAGE_SCRIPT = Path(__file__).with_name("page_script.js")


class GuardedServer(viser.ViserServer):
    """viser's server without the wish to be shared."""

    guard: Guard
    refused_upload: Callable[[str, int], None]

    @property
    def address(self) -> str:
        """The address a person opens, token included."""
        host = "127.0.0.1" if self.guard.host in ("0.0.0.0", "::") else self.guard.host
        return f"http://{f'[{host}]' if ':' in host else host}:{self.guard.port}/?token={self.guard.token}"

    def request_share_url(self, verbose: bool = True) -> str | None:
        """Refuse: a public address for a program on this computer is not the studio's to give."""
        return None

    def stop(self) -> None:
        """Stop serving."""
        with contextlib.redirect_stdout(io.StringIO()):
            super().stop()


def open_server(host: str = "127.0.0.1", port: int = 0, title: str = "Setsu studio") -> GuardedServer:
    """Listen on host and port (0: any free one) and return the server.

    Raises:
        InputError: the address cannot be listened on.
    """
    listening = _listen(host, port)
    guard = Guard(new_token(), host, listening.getsockname()[1])
    placed: list[bool] = []
    # viser counts uploads per server; the function to tell of refused ones is set once the studio has a voice.
    box: dict[str, Callable[[str, int], None]] = {}
    limited = _limited_connection(lambda name, size: box["tell"](name, size) if "tell" in box else None)
    page = _page(title)

    def serve(handler: Any, _host: Any, _port: Any, *, process_request: Any = None, **options: Any) -> Any:
        def guarded(connection: Any, request: Request) -> Response | None:
            refusal = guard.answer(request.path, dict(request.headers.raw_items()))
            if refusal is not None:
                return _response(refusal.status, refusal.text.encode(), refusal.headers)
            if request.headers.get("Upgrade", "").lower() == "websocket":
                return None
            if request.path.partition("?")[0] in ("/", "/index.html"):
                return _response(200, page, {"Content-Type": "text/html; charset=utf-8", **SECURITY_HEADERS})
            answer = process_request(connection, request) if process_request else None
            return answer if answer is not None else _response(404, b"not found\n", SECURITY_HEADERS)

        placed.append(True)
        options["max_size"] = LARGEST_MESSAGE
        return real_serve(
            handler, sock=listening, process_request=guarded, create_connection=limited, server_header=None, **options
        )

    real_serve = websocket_server.serve
    with _CONSTRUCTION, _quiet():
        # viser takes the function that opens its socket from this module, while it is made.
        websocket_server.serve = serve
        try:
            server = GuardedServer(host=host, port=guard.port, label=title, verbose=False)
        finally:
            websocket_server.serve = real_serve
    if not placed:
        server.stop()
        listening.close()
        raise InputError(
            f"studio: viser {viser.__version__} starts its server in a way the studio cannot guard; "
            "expected a version that passes the studio's tests (pip install 'viser<2')"
        )
    server.guard = guard
    server.refused_upload = lambda name, size: None
    box["tell"] = lambda name, size: server.refused_upload(name, size)
    return server


def _listen(host: str, port: int) -> socket.socket:
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listening = socket.socket(family, socket.SOCK_STREAM)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind(address)
            listening.listen(64)
        except OSError:
            listening.close()
            raise
    except (OSError, OverflowError, UnicodeError) as problem:
        raise InputError(f"studio: cannot listen on {host} port {port}: {problem}") from None
    return listening


def _limited_connection(tell: Callable[[str, int], None]) -> type[websocket_server.ServerConnection]:
    """A connection that drops uploads which are, or grow, larger than allowed; `tell(name, bytes)` hears of them."""

    class LimitedConnection(websocket_server.ServerConnection):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            self._left: dict[str, int] = {}

        async def recv(self, *arguments: Any, **options: Any) -> Any:
            while True:
                raw = await super().recv(*arguments, **options)
                if isinstance(raw, bytes) and self._may_pass(raw):
                    return raw

        def _may_pass(self, raw: bytes) -> bool:
            """Whether viser may see a message; one it could not decode would end the connection with a traceback."""
            try:
                message = viser.infra.Message.deserialize(raw)
                if type(message).__name__ == "FileTransferStartUpload":
                    return self._begin(message)
                if type(message).__name__ == "FileTransferPart":
                    return self._continue(message)
            except Exception:  # a stranger's bytes fail in as many ways as decoders have
                return False
            return True

        def _begin(self, message: Any) -> bool:
            size, parts = int(message.size_bytes), int(message.part_count)
            if size > LARGEST_UPLOAD or size < 0 or parts > max(1, size) or len(self._left) > MOST_UPLOADS:
                tell(str(message.filename), size)
                return False
            if size:
                self._left[str(message.transfer_uuid)] = size
            return True

        def _continue(self, message: Any) -> bool:
            key = str(message.transfer_uuid)
            if key not in self._left:
                return False
            self._left[key] -= len(message.content)
            allowed = self._left[key] >= 0
            if self._left[key] <= 0:
                del self._left[key]
            return allowed

    return LimitedConnection


def _response(status: int, body: bytes, headers: dict[str, str]) -> Response:
    fields = Headers(**{"Content-Length": str(len(body)), "Connection": "close"})
    for name, value in headers.items():
        fields[name] = value
    return Response(status, HTTPStatus(status).phrase, fields, body)


def _page(title: str) -> bytes:
    """viser's page with our title, our style for phones, and a script for arrows and dropped files."""
    path = Path(str(viser.__file__)).parent / "client" / "build" / "index.html"
    text = path.read_text(encoding="utf-8").replace("<title>Viser</title>", f"<title>{title}</title>", 1)
    script = f"<script>{_PAGE_SCRIPT.read_text(encoding='utf-8')}</script>"
    return text.replace("<head>", f"<head><style>{_PHONE_STYLE}</style>{script}", 1).encode()


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keep viser's own banner, which shows an address without the token, off the terminal."""
    with contextlib.redirect_stdout(io.StringIO()):
        yield
