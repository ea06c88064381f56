"""Drives a headless chromium by its pipe, for tests of pages; they are skipped where there is none."""

import base64
import contextlib
import itertools
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

import pytest

_NAMES = ("chromium", "chromium-browser", "google-chrome")
_SECONDS = 60


class Page:
    """A tab: `run` evaluates JavaScript in it, `press` strokes keys."""

    def __init__(self, send, session):
        self._send, self._session = send, session

    def command(self, method, **values):
        return self._send(method, values, self._session)

    def run(self, code):
        found = self.command(
            "Runtime.evaluate", expression=code, awaitPromise=True, returnByValue=True
        )
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def press(self, keys):
        for key in keys:
            for kind in ("keyDown", "keyUp"):
                text = {"text": key} if kind == "keyDown" and len(key) == 1 else {}
                self.command("Input.dispatchKeyEvent", type=kind, key=key, **text)

    def size(self, width, height):
        self.command(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )

    def picture(self, path):
        data = self.command("Page.captureScreenshot", format="png")["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))


@contextlib.contextmanager
def opened(path, width=1_000, height=900):
    """A page of a file, loaded."""
    program = next(filter(None, map(shutil.which, _NAMES)), None)
    if program is None:
        pytest.skip(f"no browser: none of {', '.join(_NAMES)} is installed")
    ours, theirs = os.pipe(), os.pipe()  # what it reads (3) and what it writes (4)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        command = [
            "bash",
            "-c",
            f'exec 3<&{ours[0]} 4>&{theirs[1]}; exec "$@"',
            "bash",
            program,
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--remote-debugging-pipe",
            f"--user-data-dir={profile}",
            "about:blank",
        ]
        process = subprocess.Popen(
            command, pass_fds=(ours[0], theirs[1]), stderr=subprocess.DEVNULL
        )
        os.close(ours[0])
        os.close(theirs[1])
        numbers = itertools.count(1)
        rest = [b""]

        def send(method, values, session=None):
            number = next(numbers)
            message = {"id": number, "method": method, "params": values}
            if session:
                message["sessionId"] = session
            os.write(ours[1], json.dumps(message).encode() + b"\0")
            until = time.monotonic() + _SECONDS
            while time.monotonic() < until:
                while b"\0" in rest[0]:
                    answer, _, rest[0] = rest[0].partition(b"\0")
                    answer = json.loads(answer)
                    if answer.get("id") == number:
                        assert "error" not in answer, answer
                        return answer["result"]
                assert select.select([theirs[0]], [], [], _SECONDS)[0], f"no answer to {method}"
                data = os.read(theirs[0], 1 << 20)
                assert data, "the browser has ended"
                rest[0] += data
            raise AssertionError(f"no answer to {method}")

        try:
            target = send("Target.createTarget", {"url": "about:blank"})["targetId"]
            session = send("Target.attachToTarget", {"targetId": target, "flatten": True})
            page = Page(send, session["sessionId"])
            page.size(width, height)
            page.command("Page.navigate", url=f"file://{path}")
            until = time.monotonic() + _SECONDS
            ready = "document.readyState === 'complete' && location.href !== 'about:blank'"
            while not page.run(ready):
                assert time.monotonic() < until, "the page is not loaded"
                time.sleep(0.05)
            yield page
        finally:
            process.kill()
            process.wait()
            os.close(ours[1])
            os.close(theirs[0])
