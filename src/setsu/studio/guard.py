"""Who may speak to the studio: a random token, the studio's own Origin, its own Host; everyone else is refused.

A browser lets any web page open a WebSocket to this computer, so listening on the loopback address alone protects
nothing. Three rules, checked for every request before the viewer sees it:

    1. Host is one the studio was started for; a foreign name that was made to point here is refused.
    2. Origin, where the browser sends one, is that same host and port. A WebSocket without Origin is not a browser's
       and needs the token like all others.
    3. The token is in the address of the first request (`/?token=...`), and from then on in a cookie that scripts
       cannot read and other sites do not send.

The token is compared in constant time. Answers carry headers that keep the page from loading anything from elsewhere.
"""

from __future__ import annotations

import hmac
import ipaddress
import secrets
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs, urlsplit

__all__ = ["SECURITY_HEADERS", "Answer", "Guard", "new_token"]

LOOPBACK_NAMES = ("127.0.0.1", "localhost", "::1")

SECURITY_HEADERS = {
    # The viewer is one page with scripts, styles, workers and WebAssembly inside; nothing comes from elsewhere.
    "Content-Security-Policy": (
        "default-src 'self' 'unsafe-inline' 'unsafe-eval' data: blob:; connect-src 'self' data: blob:; "
        "form-action 'none'; frame-ancestors 'none'; base-uri 'none'"
    ),
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


def new_token() -> str:
    """Return 43 characters with 256 random bits."""
    return secrets.token_urlsafe(32)


@dataclass(frozen=True)
class Answer:
    """What the guard says itself: status, text, headers."""

    status: int
    text: str
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Guard:
    """Checks requests to one studio.

    Args:
        token: the secret.
        host: the address the studio listens on; "0.0.0.0" and "::" mean every address of this computer.
        port: its port; part of the cookie's name, since browsers share cookies between ports.

    >>> Guard("secret", "127.0.0.1", 8080).answer("/", {"Host": "127.0.0.1:8080"}).status
    403
    """

    token: str
    host: str
    port: int

    @property
    def cookie_name(self) -> str:
        """Name of the cookie that holds the token."""
        return f"setsu_studio_{self.port}"

    @property
    def who_gets_in(self) -> str:
        """What listening beyond this computer means, in words; empty on the loopback address."""
        if _is_loopback(self.host):
            return ""
        where = "every network this computer is in" if self.host in ("0.0.0.0", "::") else f"the network of {self.host}"
        return (
            f"warning: the studio can be reached from {where}, without encryption. Whoever has the address with its "
            "token, or reads it on the way, can open files of their own in it, run simulations on this computer and "
            "see what you see. Safer: leave out --host and forward the port, ssh -L "
            f"{self.port}:127.0.0.1:{self.port} THIS_COMPUTER (with --port {self.port} on both sides)"
        )

    def answer(self, target: str, headers: dict[str, str]) -> Answer | None:
        """Return the guard's own answer to a request (refusal or redirection), or None: let it pass.

        target: path and query of the request line. headers: by name, any case.
        """
        sent = {name.lower(): value for name, value in headers.items()}
        is_websocket = sent.get("upgrade", "").lower() == "websocket"
        if not self._is_own_host(sent.get("host", "")):
            return _refusal(f"Refused: this studio does not answer for the host {_short(sent.get('host', ''))}.")
        origin = sent.get("origin")
        if origin is not None and not self._is_own_origin(origin, sent["host"]):
            return _refusal(f"Refused: the page at {_short(origin)} may not use this studio.")
        if self._matches(self._cookie(sent.get("cookie", ""))):
            return self._without_token(target) if not is_websocket and "token=" in target else None
        given = parse_qs(urlsplit(target).query).get("token", [""])[0]
        if self._matches(given):
            return None if is_websocket else self._without_token(target)
        return _refusal("Refused: open the studio with the whole address it printed, including ?token=...")

    def _without_token(self, target: str) -> Answer:
        """Send the browser to the same page without the token in its address, and keep the token in a cookie."""
        cookie = f"{self.cookie_name}={self.token}; Path=/; HttpOnly; SameSite=Strict"
        return Answer(303, "", {"Location": "/", "Set-Cookie": cookie, **SECURITY_HEADERS})

    def _cookie(self, header: str) -> str:
        try:
            morsel = SimpleCookie(header).get(self.cookie_name)
        except CookieError:
            return ""
        return morsel.value if morsel is not None else ""

    def _matches(self, given: str) -> bool:
        return bool(given) and hmac.compare_digest(given.encode(), self.token.encode())

    def _is_own_host(self, host: str) -> bool:
        name, port = _split_host(host)
        if port != self.port:
            return False
        if self.host in ("0.0.0.0", "::"):
            return name in LOOPBACK_NAMES or _is_address(name)
        return name == self.host or (_is_loopback(self.host) and name in LOOPBACK_NAMES)

    def _is_own_origin(self, origin: str, host: str) -> bool:
        parts = urlsplit(origin)
        return parts.scheme in ("http", "https") and parts.netloc.lower() == host.lower()


def _refusal(text: str) -> Answer:
    return Answer(403, text + "\n", {"Content-Type": "text/plain; charset=utf-8", **SECURITY_HEADERS})


def _split_host(host: str) -> tuple[str, int]:
    """Host name in lower case and port of a Host header; port -1 when it cannot be read."""
    try:
        parts = urlsplit(f"//{host}")
        return (parts.hostname or "").lower(), parts.port if parts.port is not None else 80
    except ValueError:
        return "", -1


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _is_loopback(name: str) -> bool:
    return name == "localhost" or (_is_address(name) and ipaddress.ip_address(name).is_loopback)


def _short(text: str) -> str:
    """A header's text as it may be shown: printable, short."""
    return "".join(letter for letter in text[:80] if letter.isprintable()) or "(none)"
