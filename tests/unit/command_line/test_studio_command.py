"""`setsu studio`: prints an address that works, refuses bad input before it listens, ends with Ctrl-C."""

from __future__ import annotations

import http.client
import json
import signal
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from setsu.command_line import main

ARM = Path(__file__).resolve().parents[3] / "examples" / "models" / "arm.urdf"


def test_the_printed_address_is_answered_until_ctrl_c() -> None:
    words = [sys.executable, "-m", "setsu", "studio", str(ARM), "--no-browser", "--json"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        text = ""
        while not text.endswith("}\n"):
            line = running.stdout.readline()
            assert line, running.communicate()[1]
            text += line
        address = urlsplit(json.loads(text)["address"])
        assert address.hostname == "127.0.0.1"
        connection = http.client.HTTPConnection("127.0.0.1", address.port or 0, timeout=30)
        connection.request("GET", f"/?{address.query}")
        assert connection.getresponse().status == 303
        running.send_signal(signal.SIGINT)
        _, complaint = running.communicate(timeout=60)
        assert running.returncode == 0
        assert "Traceback" not in complaint


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nowhere.urdf"], "no such file"),
        (["nowhere.nc"], "there is no file"),
        (["--port", "70000"], "from 0 to 65535"),
        (["--host", "300.1.1.1"], "cannot listen on"),
    ],
)
def test_bad_input_is_exit_code_two(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["studio", *words, "--no-browser"]) == 2
    assert message in capsys.readouterr().err


def test_a_host_beyond_this_computer_says_what_that_means(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("setsu.studio.wait", lambda studio: studio.close())
    assert main(["studio", "--host", "0.0.0.0", "--no-browser"]) == 0
    assert "can be reached from every network this computer is in" in capsys.readouterr().err
    assert main(["studio", "--no-browser"]) == 0
    assert not capsys.readouterr().err
