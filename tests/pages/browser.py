"""A headless Chromium over the pipe of its DevTools protocol: evaluates scripts, and collects what a page said and asked
for. Only Python's standard library."""
import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

PATIENCE = 200  # seconds for one answer of the browser


class BrowserFailed(Exception):
    """It did not start or answer; not the page's fault."""


def browser():
    return next(filter(None, map(shutil.which, ["chromium", "chromium-browser", "google-chrome"])), None)


class Chromium:
    """with Chromium() as tab: tab.open(url); tab.run("document.title")"""

    def __enter__(self):
        self.profile = tempfile.TemporaryDirectory(prefix="furlong-page-", ignore_cleanup_errors=True)
        there, self.to = os.pipe()
        self.back, here = os.pipe()
        root = ["--no-sandbox"] if os.geteuid() == 0 else []

        def descriptors():  # the protocol has them as 3 and 4
            os.dup2(there, 3)
            os.dup2(here, 4)
        self.process = subprocess.Popen(
            [browser(), "--headless", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars", "--mute-audio",
             "--no-first-run", "--remote-debugging-pipe", f"--user-data-dir={self.profile.name}", *root, "about:blank"],
            preexec_fn=descriptors, pass_fds=[3, 4, there, here], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        os.close(there)
        os.close(here)
        self.number, self.buffer, self.session, self.events = 0, b"", None, []
        try:
            page = next(one for one in self.ask("Target.getTargets")["targetInfos"] if one["type"] == "page")
            self.session = self.ask("Target.attachToTarget", targetId=page["targetId"], flatten=True)["sessionId"]
            for domain in ["Page", "Runtime", "Network", "Log", "Accessibility"]:
                self.ask(domain + ".enable")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.to)
        os.close(self.back)
        self.profile.cleanup()

    def receive(self, until):
        while b"\0" not in self.buffer:
            if not select.select([self.back], [], [], max(0, until - time.monotonic()))[0]:
                raise BrowserFailed("no answer")
            more = os.read(self.back, 1 << 20)
            if not more:
                raise BrowserFailed("it ended")
            self.buffer += more
        text, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(text)

    def ask(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + PATIENCE
        while True:
            answer = self.receive(until)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise BrowserFailed(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self.events.append(answer)

    def open(self, url):
        """Loads a page and forgets what was said before."""
        self.events.clear()
        self.ask("Page.navigate", url=url)
        self.wait("document.readyState === 'complete'")

    def run(self, script):
        """The value of an expression, awaited; raises what it throws."""
        answer = self.ask("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            said = answer["exceptionDetails"]
            raise AssertionError(said.get("exception", {}).get("description", said["text"]))
        return answer["result"].get("value")

    def wait(self, condition):
        until = time.monotonic() + PATIENCE
        while not self.run(condition):
            if time.monotonic() > until:
                raise BrowserFailed(f"never true: {condition}")
            time.sleep(0.05)

    def emulate(self, **media):
        """emulate(scheme="dark"), emulate(media="print")"""
        self.ask("Emulation.setEmulatedMedia", media=media.get("media", ""), features=[
            {"name": "prefers-color-scheme", "value": media.get("scheme", "light")}])

    def size(self, width, height):
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def picture(self, file, whole=False):
        data = self.ask("Page.captureScreenshot", captureBeyondViewport=whole)["data"]
        with open(file, "wb") as to:
            to.write(base64.b64decode(data))

    def complaints(self):
        """What the page said on its console, and exceptions."""
        self.run("1")
        said = []
        for event in self.events:
            of = event.get("params", {})
            if event["method"] == "Runtime.consoleAPICalled":
                said.append(" ".join(str(one.get("value", one.get("description"))) for one in of["args"]))
            elif event["method"] == "Runtime.exceptionThrown":
                said.append(of["exceptionDetails"].get("exception", {}).get("description", "exception"))
            elif event["method"] == "Log.entryAdded":
                said.append(of["entry"]["text"])
        return said

    def requests(self):
        """Addresses that the page asked for."""
        self.run("1")
        return [event["params"]["request"]["url"] for event in self.events
                if event["method"] == "Network.requestWillBeSent"]
