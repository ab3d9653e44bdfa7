"""Starts attend serve on a small model, and talks to it with the standard library alone.

Every test is a program: test_X.py ATTEND. Traffic stays on this machine, and every wait has an end.
"""

import atexit
import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

ATTEND = os.path.abspath(sys.argv[1])
# sanitizers, and machines with other work, are slow
PATIENCE = float(os.environ.get("ATTEND_TEST_PATIENCE", "120"))
FOLDER = tempfile.mkdtemp(prefix="attend-serve-")
os.chdir(FOLDER)
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)
servers = []


def stop_all():
    for s in servers:
        if s.process.poll() is None:
            s.process.kill()
            s.process.wait()


atexit.register(stop_all)


def check(condition, message):
    if not condition:
        for s in servers:
            sys.stderr.write("".join(s.log()[-20:]))
        sys.exit("FAILED: " + str(message)[:2000])


def train(name, seed, updates=150, extra=()):
    """A model that reverses letters, in about a second."""
    if not os.path.exists("pairs.tsv"):
        state = 1
        with open("pairs.tsv", "w") as out:
            for i in range(400):
                letters = []
                for _ in range(1 + i % 6):
                    state = (state * 1103515245 + 12345) % 2**31
                    letters.append("abcdefgh"[state >> 16 & 7])
                out.write(" ".join(letters) + "\t" + " ".join(reversed(letters)) + "\n")
    subprocess.run([ATTEND, "train", "--train", "pairs.tsv", "--model", name, "--hidden", "32", "--embedding", "16", "--dropout", "0",
                    "--batch-tokens", "100", "--learning-rate", "0.005", "--threads", "1", "--quiet", "--no-check", "--tokens", "word",
                    "--updates", str(updates), "--seed", str(seed), *extra], check=True)


def translate(model, lines, *options, environment=None):
    """What attend translate prints, line by line."""
    text = "".join(line + "\n" for line in lines)
    run = subprocess.run([ATTEND, "translate", "--model", model, "--quiet", *options], input=text.encode(), capture_output=True, check=True,
                         env={**os.environ, **(environment or {})})
    return run.stdout.decode().split("\n")[:-1]


class Server:
    def __init__(self, *options, models=("en-fr=model",), listen="127.0.0.1:0", ready=True, environment=None, pass_fds=()):
        self.path = os.path.join(FOLDER, "log%d" % len(servers))
        arguments = [ATTEND, "serve", "--threads", "2", "--listen", listen] if listen else [ATTEND, "serve", "--threads", "2"]
        for m in models:
            arguments += ["--model", m]
        self.process = subprocess.Popen(arguments + list(options), stderr=open(self.path, "wb"), stdin=subprocess.DEVNULL,
                                        env={**os.environ, **(environment or {})}, pass_fds=pass_fds)
        servers.append(self)
        self.port = 0
        if ready:
            self.wait_ready()

    def log(self):
        with open(self.path, errors="replace") as f:
            return f.readlines()

    def wait_ready(self):
        end = time.time() + PATIENCE
        while time.time() < end:
            text = "".join(self.log())
            found = re.search(r"listening to http://(?:127\.0\.0\.1|\[::1\]):(\d+)", text)
            if found:
                self.port = int(found.group(1))
            if "listening to" in text:
                return
            check(self.process.poll() is None, "the server ended: " + text)
            time.sleep(0.01)
        check(False, "the server is not ready")

    def connect(self, timeout=PATIENCE):
        return socket.create_connection(("127.0.0.1", self.port), timeout)

    def request(self, method, path, body=None, headers=None, timeout=PATIENCE):
        """(status, JSON or text, headers)"""
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            c.request(method, path, body, headers or {})
            r = c.getresponse()
            text = r.read()
        finally:
            c.close()
        is_json = r.getheader("Content-Type", "").startswith("application/json")
        return r.status, json.loads(text) if is_json and text else text.decode(), dict(r.getheaders())

    def translate(self, q, source="en", target="fr", headers=None, **more):
        body = json.dumps({"q": q, "source": source, "target": target, **more})
        return self.request("POST", "/translate", body, {"Content-Type": "application/json", **(headers or {})})

    def metric(self, name):
        """The sum of a metric over the labels that are not named."""
        total, found = 0.0, False
        for line in self.request("GET", "/metrics")[1].split("\n"):
            if line.startswith("attend_" + name) and line[len("attend_" + name)] in " {":
                total += float(line.split()[-1])
                found = True
        check(found, "there is no metric " + name)
        return total

    def labelled(self, text):
        for line in self.request("GET", "/metrics")[1].split("\n"):
            if line.startswith("attend_" + text + " "):
                return float(line.split()[-1])
        check(False, "there is no metric " + text)

    def stop(self, signal_=signal.SIGTERM):
        self.process.send_signal(signal_)
        code = self.process.wait(PATIENCE)
        check(code == 0, "the server ended with %d" % code)


def wait_for(what, condition, seconds=PATIENCE):
    end = time.time() + seconds
    while time.time() < end:
        if condition():
            return
        time.sleep(0.02)
    check(False, "waited in vain: " + what)


def raw(server, data, timeout=20):
    """Sends bytes and returns all that comes back until the connection ends, or nothing more comes."""
    with server.connect(timeout) as s:
        s.sendall(data)
        answer = b""
        try:
            while True:
                part = s.recv(65536)
                if not part:
                    break
                answer += part
        except (socket.timeout, ConnectionResetError):
            pass
        return answer
