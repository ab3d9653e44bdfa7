"""Measures attend serve against attend translate, itself, and a Python peer, in one run:

    measure.py ATTEND MODEL LINES [PYTHON|- [OPTION...]]      LINES: a file; PYTHON: with ctranslate2, for bench/serve/peer.py; options of both verbs

wrk must be installed. Ratios are meaningful on a machine that does other work as well; absolute times are not."""

import http.client
import json
import os
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

ATTEND, MODEL, LINES = (os.path.abspath(p) for p in sys.argv[1:4])
PYTHON = sys.argv[4] if len(sys.argv) > 4 and sys.argv[4] != "-" else None
OPTIONS = sys.argv[5:]
SECONDS, ROUNDS = 8, 3
REPEAT = int(os.environ.get("REPEAT", "2"))  # of the lines, for attend translate
PEER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "peer.py")
lines = [line.strip() for line in open(LINES) if line.strip()]
os.chdir(tempfile.mkdtemp())


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def wait_port(port):
    for _ in range(3000):
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.01)


def serve(*options):
    port = free_port()
    began = time.time()
    p = subprocess.Popen([ATTEND, "serve", "--model", "en-de=" + MODEL, "--threads", "2", "--listen", "127.0.0.1:%d" % port, "--log", "none", "--rate", "0",
                          "--queue", "10000", "--deadline", "60", *OPTIONS, *options], stderr=subprocess.PIPE, text=True)
    p.stderr.readline()
    return p, port, time.time() - began


def metrics(port):
    c = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    c.request("GET", "/metrics")
    text = c.getresponse().read().decode()
    return lambda name: sum(float(x) for x in re.findall(r"^attend_%s(?:\{[^}]*\})? (\S+)$" % name, text, re.M))


def resident(pid):
    return int(re.search(r"VmRSS:\s+(\d+)", open("/proc/%d/status" % pid).read()).group(1)) / 1024


def body(line):
    return json.dumps({"q": line, "source": "en", "target": "de"})


def wrk(port, connections, seconds=SECONDS):
    """(requests a second, p50 and p99 in ms) of clients that go through the lines."""
    with open("lines.lua", "w") as f:
        f.write("local bodies = {%s}\nlocal at = 0\n" % ",".join("[==[%s]==]" % body(line) for line in lines))
        f.write('request = function() at = at % #bodies + 1; return wrk.format("POST", "/translate", {["Content-Type"] = "application/json"}, bodies[at]) end\n')
        f.write('done = function(s, l) io.write(string.format("RESULT %d %f %f %f %d\\n", s.requests, s.duration / 1e6, l:percentile(50) / 1e3, l:percentile(99) / 1e3, s.errors.status + s.errors.timeout)) end\n')
    out = subprocess.run(["wrk", "-t1", "-c%d" % connections, "-d%ds" % seconds, "--timeout", "60s", "-s", "lines.lua", "http://127.0.0.1:%d" % port],
                         capture_output=True, text=True).stdout
    requests, duration, p50, p99, errors = re.search(r"RESULT (\S+) (\S+) (\S+) (\S+) (\S+)", out).groups()
    return int(requests) / float(duration), float(p50), float(p99), int(errors)


def one_client(port):
    """The median of the time that a request takes beyond its decoding."""
    added, total = [], []
    c = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    c.connect()
    c.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for line in lines[:200]:
        before = metrics(port)("decoding_seconds_total")
        began = time.perf_counter()
        c.request("POST", "/translate", body(line), {"Content-Type": "application/json"})
        c.getresponse().read()
        took = time.perf_counter() - began
        time.sleep(0.002)  # the worker counts after its answer
        total.append(took)
        added.append(took - (metrics(port)("decoding_seconds_total") - before))
    return statistics.median(total) * 1e3, statistics.median(added) * 1e3


def translate_file():
    all_lines = lines * REPEAT
    with open("all", "w") as f:
        f.write("".join(line + "\n" for line in all_lines))
    began = time.perf_counter()
    subprocess.run([ATTEND, "translate", "--model", MODEL, "--threads", "2", "--quiet", *OPTIONS], stdin=open("all"), stdout=subprocess.DEVNULL, check=True)
    return len(all_lines) / (time.perf_counter() - began)


def slow_clients(port, count, stop):
    sockets = []
    for _ in range(count):
        s = socket.create_connection(("127.0.0.1", port))
        s.sendall(b"POST /translate HTTP/1.1\r\nHost: x\r\nX: ")
        sockets.append(s)
    while not stop.is_set():
        for i, s in enumerate(sockets):
            try:
                s.send(b"a")
            except OSError:
                try:
                    sockets[i] = socket.create_connection(("127.0.0.1", port))
                    sockets[i].sendall(b"POST /translate HTTP/1.1\r\nHost: x\r\nX: ")
                except OSError:
                    pass
        stop.wait(1)


def main():
    p, port, ready = serve("--max-connections", "1200", "--max-per-address", "0")
    print("ready after %.2f s; model %.1f MB, resident %.1f MB" % (ready, os.path.getsize(MODEL) / 1e6, resident(p.pid)))
    print("one client: p50 %.2f ms, of which the server adds %.2f ms" % one_client(port))
    for _ in range(ROUNDS):
        file_rate, (rate, p50, p99, errors) = translate_file(), wrk(port, 32)
        print("32 clients: %.0f lines/s, p50 %.0f ms, p99 %.0f ms, errors %d; attend translate: %.0f lines/s; ratio %.2f" % (rate, p50, p99, errors, file_rate, rate / file_rate))
    for _ in range(2):
        alone = wrk(port, 8)
        stop = threading.Event()
        t = threading.Thread(target=slow_clients, args=(port, 1000, stop))
        t.start()
        time.sleep(3)
        with_slow = wrk(port, 8)
        stop.set()
        t.join()
        print("8 clients: p99 %.1f ms alone, %.1f ms beside 1000 slow ones; ratio %.2f" % (alone[2], with_slow[2], with_slow[2] / alone[2]))
    if PYTHON:
        peer_port = free_port()
        peer = subprocess.Popen([PYTHON, "-B", PEER, str(peer_port)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        peer.stdout.readline()
        wait_port(peer_port)
        for _ in range(ROUNDS):
            before = metrics(port)
            rate = wrk(port, 32)
            after = metrics(port)
            tokens = (after("target_tokens_total") - before("target_tokens_total")) / SECONDS
            other = wrk(peer_port, 32)
            print("32 clients: %.0f requests/s, %.0f target tokens/s; the peer: %.0f requests/s, %.0f target tokens/s; ratio of tokens %.2f"
                  % (rate[0], tokens, other[0], other[0] * 25, tokens / (other[0] * 25)))
        peer.terminate()
    after = metrics(port)
    print("requests %d, resident %.1f MB" % (after("translate_seconds_count"), resident(p.pid)))
    p.terminate()
    print("exit status %d" % p.wait())


main()
