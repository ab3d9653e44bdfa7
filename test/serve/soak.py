"""Requests of all kinds, from several processes, on connections that stay and on ones that end in every way: the memory of the server stays flat.

soak.py ATTEND [REQUESTS [SECONDS]]: so many requests (1000000), within so long (1800 s), or it fails. Part of `make soak`.
"""

import json
import multiprocessing
import os
import random
import signal
import socket
import struct
import subprocess
import sys
import time

from harness import ATTEND, PATIENCE, Server, check, train, wait_for

REQUESTS = int(sys.argv[2]) if len(sys.argv) > 2 else 1000000
SECONDS = float(sys.argv[3]) if len(sys.argv) > 3 else 1800
PROCESSES = 4
# the allocator keeps what threads free, and reloading needs a second copy of the model for a moment
MAX_GROWTH = 4096  # kB


def post(path, body, type_="application/json", headers=""):
    return ("POST %s HTTP/1.1\r\nHost: x\r\n%sContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s" % (path, headers, type_, len(body), body)).encode()


def ask(q, path="/translate", **more):
    return post(path, json.dumps({"q": q, "source": "en", "target": "fr", **more}))


LINES = ["a b c", "d", "", "h g f e d c b a", "c c c c c c", "a b c d e f g h " * 6]
ANSWERED = [  # (request, status)
    (ask("a b c"), 200), (ask(LINES), 200), (ask("\n".join(LINES)), 200), (ask(LINES, attention=True), 200), (ask(LINES, alternatives=3), 200),
    (ask("<p>a <b>b</b> c<br>d &amp; e", format="html"), 200), (ask("a b c", prefix="b"), 200),
    (post("/translate", "q=a+b&q=c&source=auto&target=fr", "application/x-www-form-urlencoded"), 200), (ask("a", target="zz"), 400), (post("/translate", "{"), 400),
    (ask(["a"] * 200), 413), (ask("a" * 60000), 413), (post("/translate", "x", "text/plain"), 415), (post("/nothing", ""), 404),
    (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", 200), (b"GET /languages HTTP/1.1\r\nHost: x\r\n\r\n", 200), (b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n", 200),
    (b"DELETE /metrics HTTP/1.1\r\nHost: x\r\n\r\n", 405), (b"GET /frontend/settings HTTP/1.1\r\nHost: x\r\n\r\n", 200),
]
LARGE = [(ask(["a b c d e f g h " * 40] * 8, attention=True), 200), (ask("a" * 40000, alternatives=4), 200)]  # answered by the helper thread
BROKEN = [ask("a b c d", path="/explore"), ask(LINES, attention=True), ask(LINES)[:-5], b"POST /translate HTTP/1.1\r\nHo", b"\0" * 100,
          b"POST /translate HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"]


class Client:
    """A connection that stays; several requests are sent before their answers are read."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), PATIENCE)
        self.buffer = b""

    def fill(self):
        part = self.socket.recv(1 << 20)
        if not part:
            raise ConnectionError("the connection was closed")
        self.buffer += part

    def answer(self):
        while b"\r\n\r\n" not in self.buffer:
            self.fill()
        head, self.buffer = self.buffer.split(b"\r\n\r\n", 1)
        size = int(head.lower().split(b"content-length:")[1].split()[0])
        while len(self.buffer) < size:
            self.fill()
        self.buffer = self.buffer[size:]
        return int(head.split()[1])


def leave(port, r):
    """A request whose client leaves, at any moment and in any way."""
    with socket.create_connection(("127.0.0.1", port), PATIENCE) as c:
        c.sendall(r.choice(BROKEN))
        how = r.randrange(4)
        if how == 1:
            c.settimeout(0.01)
            try:
                c.recv(10)
            except OSError:
                pass
        elif how == 2:
            c.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        elif how == 3:
            c.shutdown(socket.SHUT_WR)


def work(port, seed, count, wrong):
    r, client, end = random.Random(seed), Client(port), time.time() + SECONDS
    while count.value < REQUESTS and time.time() < end:
        some = [r.choice(LARGE if r.random() < 0.002 else ANSWERED) for _ in range(10)]
        client.socket.sendall(b"".join(request for request, _ in some))
        for request, status in some:
            found = client.answer()
            if found != status:
                wrong.put((request[:200], found))
                return
        leave(port, r)
        with count.get_lock():
            count.value += len(some) + 1


def resident(server):
    with open("/proc/%d/status" % server.process.pid) as f:
        return next(int(line.split()[1]) for line in f if line.startswith("VmRSS"))


if subprocess.run([ATTEND, "serve", "--help"], capture_output=True).returncode != 0:
    print("skipped: attend was built without libmicrohttpd")
    sys.exit(0)
train("model", 1)
s = Server("--rate", "0", "--log", "none", "--queue", "2000", "--deadline", "100")
count, wrong = multiprocessing.Value("q", 0), multiprocessing.Queue()
workers = [multiprocessing.Process(target=work, args=(s.port, i, count, wrong), daemon=True) for i in range(PROCESSES)]
for w in workers:
    w.start()
began, samples, reloads = time.time(), [], 0
while any(w.is_alive() for w in workers):
    time.sleep(0.2)
    check(s.process.poll() is None, "the server ended")
    check(time.time() < began + SECONDS + PATIENCE, "the clients do not end")
    samples.append((count.value, resident(s)))
    if time.time() > began + 5 * (reloads + 1):
        s.process.send_signal(signal.SIGHUP)
        reloads += 1
check(wrong.empty(), "a wrong answer: %s" % (wrong.get() if not wrong.empty() else ""))
check(all(w.exitcode == 0 for w in workers), "a client failed")
check(count.value >= REQUESTS, "%d requests in %.0f s, of %d" % (count.value, SECONDS, REQUESTS))
wait_for("the end of all requests", lambda: s.metric("requests") == 1 and s.metric("lines_decoding") + s.metric("lines_waiting") + s.metric("explorations") == 0)
wait_for("the end of all connections", lambda: s.metric("connections") == 1)
check(s.metric("answer_bytes") == 0 and s.metric("body_bytes") == 0, "memory of answers and bodies")
half = [kb for n, kb in samples if n >= samples[-1][0] / 2]
early = [kb for n, kb in samples if samples[-1][0] / 4 <= n < samples[-1][0] / 2]
check(early and max(half) <= max(early) + MAX_GROWTH, "the memory grows: %s kB, then %s kB" % (max(early or [0]), max(half)))
s.stop()
print("%d requests in %.0f s, %d reloads: at most %d kB in the second quarter, %d kB in the second half"
      % (count.value, time.time() - began, reloads, max(early), max(half)))
