"""Headless Chromium over WebDriver, with the standard library only."""

import base64
import http.client
import json
import os
import shutil
import socket
import subprocess
import sys
import time

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
KEYS = {"left": "\ue012", "up": "\ue013", "right": "\ue014", "down": "\ue015", "enter": "\ue007", "escape": "\ue00c"}


def programs():
    """(chromedriver, chromium), or the end of the test as skipped."""
    driver, chromium = shutil.which("chromedriver"), shutil.which("chromium") or shutil.which("chromium-browser")
    if not driver or not chromium:
        print("skipped: chromium or chromedriver is not installed (apt-get install chromium chromium-driver)")
        sys.exit(77)
    return driver, chromium


class Browser:
    def __init__(self, size=(1280, 900), dark=False, phone=False):
        driver, chromium = programs()
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            self.port = s.getsockname()[1]
        self.process = subprocess.Popen([driver, f"--port={self.port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        arguments = ["--headless=new", "--disable-gpu", "--hide-scrollbars", f"--window-size={size[0]},{size[1]}", "--lang=en"]
        if os.geteuid() == 0:
            arguments.append("--no-sandbox")
        options = {"binary": chromium, "args": arguments}
        if phone:
            options["mobileEmulation"] = {"deviceMetrics": {"width": size[0], "height": size[1], "pixelRatio": 2, "touch": True}}
        capabilities = {"browserName": "chrome", "goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"}}
        self.session = ""
        for _ in range(600):
            try:
                self.session = "/session/" + self.call("POST", "/session", {"capabilities": {"alwaysMatch": capabilities}})["sessionId"]
                break
            except ConnectionError:
                time.sleep(0.1)
        else:
            raise RuntimeError("chromedriver does not answer")
        self.call("POST", "/goog/cdp/execute", {"cmd": "Emulation.setEmulatedMedia",
                  "params": {"features": [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]}})

    def call(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=300)
        connection.request(method, self.session + path, json.dumps(body) if body is not None else None, {"Content-Type": "application/json"})
        value = json.loads(connection.getresponse().read())["value"]
        connection.close()
        if isinstance(value, dict) and "error" in value:
            raise RuntimeError(f"{path}: {value['error']}: {value['message'].splitlines()[0]}")
        return value

    def close(self):
        try:
            self.call("DELETE", "")
        finally:
            self.process.terminate()
            self.process.wait()

    def open(self, url):
        self.call("POST", "/url", {"url": url})

    def run(self, script, *arguments):
        return self.call("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def click(self, selector):
        element = self.call("POST", "/element", {"using": "css selector", "value": selector})[ELEMENT]
        self.call("POST", f"/element/{element}/click", {})

    def press(self, *keys):
        actions = []
        for key in keys:
            value = KEYS.get(key, key)
            actions += [{"type": "keyDown", "value": value}, {"type": "keyUp", "value": value}]
        self.call("POST", "/actions", {"actions": [{"type": "key", "id": "keys", "actions": actions}]})

    def type(self, text):
        """Replaces the text that is translated, as typing does."""
        self.run("const s = document.getElementById('source'); s.value = arguments[0]; s.dispatchEvent(new Event('input'))", text)

    def text(self, selector):
        return self.run("return document.querySelector(arguments[0]).innerText", selector)

    def log(self, kind):
        return self.call("POST", "/se/log", {"type": kind})

    def picture(self, path):
        with open(path, "wb") as f:
            f.write(base64.b64decode(self.call("GET", "/screenshot")))
