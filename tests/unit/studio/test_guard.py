"""The guard alone: which requests pass, by host, Origin and token."""

from __future__ import annotations

import pytest

from setsu.studio.guard import Guard, new_token

GUARD = Guard("secret-token", "127.0.0.1", 8080)
COOKIE = f"{GUARD.cookie_name}=secret-token"


def test_the_cookie_lets_a_request_pass() -> None:
    assert GUARD.answer("/", {"Host": "127.0.0.1:8080", "Cookie": COOKIE}) is None
    assert GUARD.answer("/", {"host": "localhost:8080", "cookie": f"other=1; {COOKIE}"}) is None


def test_a_websocket_passes_with_the_own_origin_and_the_token() -> None:
    headers = {"Host": "127.0.0.1:8080", "Upgrade": "websocket", "Origin": "http://127.0.0.1:8080"}
    assert GUARD.answer("/", {**headers, "Cookie": COOKIE}) is None
    assert GUARD.answer("/?token=secret-token", headers) is None
    refused = GUARD.answer("/", headers)
    assert refused is not None
    assert refused.status == 403


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "127.0.0.1:8080", "Origin": "http://evil.example:8080"},
        {"Host": "127.0.0.1:8080", "Origin": "http://localhost:8080"},
        {"Host": "127.0.0.1:8080", "Origin": "null"},
        {"Host": "evil.example:8080"},
        {"Host": "evil.example:8080", "Origin": "http://evil.example:8080"},
        {"Host": "127.0.0.1"},
        {"Host": "127.0.0.1:99999"},
        {},
    ],
)
def test_foreign_origins_and_hosts_are_refused_even_with_the_token(headers: dict[str, str]) -> None:
    answer = GUARD.answer("/?token=secret-token", {**headers, "Cookie": COOKIE})
    assert answer is not None
    assert answer.status == 403
    assert "secret-token" not in answer.text


def test_the_token_in_the_address_becomes_a_cookie() -> None:
    answer = GUARD.answer("/?token=secret-token", {"Host": "127.0.0.1:8080"})
    assert answer is not None
    assert (answer.status, answer.headers["Location"]) == (303, "/")
    assert answer.headers["Set-Cookie"].startswith(COOKIE)


def test_all_addresses_of_the_computer_are_own_when_listening_on_all_but_names_are_not() -> None:
    guard = Guard("t", "0.0.0.0", 80)
    cookie = {"Cookie": "setsu_studio_80=t"}
    assert guard.answer("/", {"Host": "192.168.1.5:80", **cookie}) is None
    assert guard.answer("/", {"Host": "[::1]", **cookie}) is None
    refused = guard.answer("/", {"Host": "rebound.example:80", **cookie})
    assert refused is not None
    assert refused.status == 403


def test_tokens_differ_and_are_long() -> None:
    tokens = {new_token() for _ in range(100)}
    assert len(tokens) == 100
    assert min(map(len, tokens)) >= 40


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "127.0.0.2"])
def test_on_this_computer_there_is_nothing_to_warn_of(host: str) -> None:
    assert Guard("secret", host, 8080).who_gets_in == ""


@pytest.mark.parametrize(
    ("host", "where"), [("0.0.0.0", "every network"), ("::", "every network"), ("10.0.0.7", "10.0.0.7")]
)
def test_beyond_this_computer_it_says_what_that_means(host: str, where: str) -> None:
    text = Guard("secret", host, 8080).who_gets_in
    assert where in text
    assert "without encryption" in text
    assert "ssh -L 8080:127.0.0.1:8080" in text
    assert "secret" not in text
