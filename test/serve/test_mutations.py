"""Mutated HTTP requests over real sockets, in pieces, with early ends: the server stays alive, answers the next good request with the same bytes, and
leaks neither memory nor files. Also mutated addresses to listen to, and mutated variables of systemd.

test_mutations.py ATTEND [SECONDS [SEED [FIRST]]]: 15 s, seed 1, from input 0. Input N of a seed is always the same; a failure names the last ones.
"""

import json
import os
import random
import re
import signal
import socket
import struct
import subprocess
import sys
import threading
import time

from harness import ATTEND, PATIENCE, Server, check, train, wait_for

SECONDS = float(sys.argv[2]) if len(sys.argv) > 2 else 15
SEED = int(sys.argv[3]) if len(sys.argv) > 3 else 1
FIRST = int(sys.argv[4]) if len(sys.argv) > 4 else 0
MAX_INPUTS, THREADS, GOOD_EVERY = 1000000, 3, 25
MAX_GROWTH = 4096  # kB, as in soak.py
print("seed %d, from input %d, %g s" % (SEED, FIRST, SECONDS), flush=True)


def post(path, body, type_="application/json", headers=""):
    return ("POST %s HTTP/1.1\r\nHost: x\r\n%sContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s" % (path, headers, type_, len(body), body)).encode()


def chunked(*parts, head="POST /translate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"):
    return head.encode() + b"".join(b"%x\r\n%s\r\n" % (len(p), p) for p in parts) + b"0\r\n\r\n"


def ask(q, path="/translate", **more):
    return post(path, json.dumps({"q": q, "source": "en", "target": "fr", **more}))


def get(path, headers=""):
    return ("GET %s HTTP/1.1\r\nHost: x\r\n%s\r\n" % (path, headers)).encode()


BODY = json.dumps({"q": "a b c", "source": "en", "target": "fr"}).encode()
CORPUS = [
    ask("a b c"), ask(["a", "", "b c"], attention=True, alternatives=2), ask("<p>a <b>b</b> &amp; c<br>", format="html"), ask("a b", path="/explore"),
    post("/translate", "q=a+b&q=c%20d&source=auto&target=fr", "application/x-www-form-urlencoded"), post("/detect", "q=a", "application/x-www-form-urlencoded"),
    chunked(BODY), chunked(BODY[:7], BODY[7:8], BODY[8:]), chunked(BODY) + get("/health"), get("/"), get("/languages") + get("/health") + get("/frontend/settings"),
    get("/metrics", "Connection: close\r\n"), get("/health", "X-Forwarded-For: 10.0.0.1, ::1\r\nAuthorization: Bearer some-key-1\r\nOrigin: http://x\r\n"),
    b"HEAD / HTTP/1.1\r\nHost: x\r\n\r\n", b"OPTIONS /translate HTTP/1.1\r\nHost: x\r\nOrigin: http://x\r\n\r\n", b"GET /health HTTP/1.0\r\n\r\n",
    post("/translate", BODY.decode(), headers="Expect: 100-continue\r\n"), get("/languages?x=%41&y", "Accept-Encoding: gzip\r\nRange: bytes=0-1\r\n"),
]
TOKENS = [
    b"\r\n", b"\n", b"\r", b"\r\n\r\n", b"\0", b" ", b"\t", b":", b",", b";", b"%", b"%00", b"%zz", b"?", b"&", b"=", b"\"", b"\\", b"\\ud800", b"\xff", b"\xc3", b"{", b"[", b"]", b"}",
    b"0", b"-1", b"+5", b"99999999999999999999", b"18446744073709551615", b"0x10", b"ffffffffffffffff", b"1e9",
    b"Content-Length: 5\r\n", b"Content-Length: 0\r\n", b"Transfer-Encoding: chunked\r\n", b"Transfer-Encoding: identity\r\n", b"Host: y\r\n", b"Connection: close\r\n",
    b"Connection: Upgrade\r\nUpgrade: websocket\r\n", b"Expect: 100-continue\r\n", b"HTTP/1.0", b"HTTP/1.1", b"HTTP/2.0", b"GET ", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"/../", b"//",
]


def mutate(r):
    data = bytearray(r.choice(CORPUS))
    if r.random() < 0.3:
        data += r.choice(CORPUS)
    for _ in range(r.choice((0, 1, 1, 2, 3, 5, 10))):
        at = r.randrange(len(data) + 1)
        end = min(len(data), at + r.choice((1, 1, 2, 4, 10, 40, 200)))
        how = r.randrange(8)
        if how == 0 and data:
            data[min(at, len(data) - 1)] ^= 1 << r.randrange(8)
        elif how == 1:
            data[at:end] = bytes(r.randrange(256) for _ in range(end - at))
        elif how == 2:
            del data[at:end]
        elif how == 3:
            data[at:at] = data[at:end] * r.choice((1, 1, 3, 50))
        elif how in (4, 5):
            data[at:at] = r.choice(TOKENS)
        elif how == 6:
            data[at:end] = r.choice(TOKENS)
        else:
            other = r.choice(CORPUS)
            data[at:end] = other[r.randrange(len(other)):][:100]
    if r.random() < 0.02:  # a long path, header or body
        at = r.randrange(len(data) + 1)
        data[at:at] = r.choice((b"a", b"X: y\r\n", b"[", b"%41", b"\xc3\xa4")) * r.choice((100, 1000, 20000))
    return bytes(data)


def send(connection, data, r):
    """In pieces; False: the input ends before its last byte."""
    how, pieces = r.random(), [data]
    if how < 0.1:
        head = r.randrange(min(len(data), 100) + 1)
        pieces = [data[i:i + 1] for i in range(head)] + [data[head:]]
    elif how < 0.6:
        cuts = sorted(r.randrange(len(data) + 1) for _ in range(r.randrange(1, 5)))
        pieces = [data[a:b] for a, b in zip([0] + cuts, cuts + [len(data)])]
    stops = r.randrange(len(pieces)) if r.random() < 0.1 else -1
    for i, piece in enumerate(pieces):
        if i == stops:
            return False
        connection.sendall(piece)
        if r.random() < 0.1:
            time.sleep(0.001)
    return True


STATUSES = {b"100", b"200", b"204", b"206", b"400", b"403", b"404", b"405", b"411", b"413", b"414", b"415", b"417", b"429", b"431", b"501", b"503", b"505"}


def run_input(n):
    r = random.Random("%d %d" % (SEED, n))
    data = mutate(r)
    if r.random() < 0.2:
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(PATIENCE)
        connection.connect(PATH)
    else:
        connection = s.connect()
    with connection:
        answer = b""
        try:
            if send(connection, data, r):
                how = r.random()
                if how < 0.2:
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                elif how < 0.3:
                    connection.shutdown(socket.SHUT_WR)
                if how >= 0.1:
                    connection.settimeout(0.05)
                    answer = connection.recv(r.choice((1, 100, 100000)))
        except socket.timeout:  # more is expected
            pass
        except OSError:  # the server has closed the connection
            pass
    if len(answer) >= 12:
        counts[answer[9:12].decode("latin-1")] = counts.get(answer[9:12].decode("latin-1"), 0) + 1
        if not (re.match(rb"HTTP/1\.[01] [0-9]{3} ", answer) and answer[9:12] in STATUSES):
            failures.append("input %d: %r has the answer %r" % (n, data[:500], answer[:200]))


GOOD = [ask("a b c", attention=True), get("/languages")]


def good(to, request):
    """The whole answer, less its date."""
    with to.connect() as c:
        c.sendall(request.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n", 1))
        answer = b""
        while True:
            part = c.recv(65536)
            if not part:
                break
            answer += part
    return re.sub(rb"\r\nDate: [^\r]*", b"", answer)


def status_of(name):
    with open("/proc/%d/status" % s.process.pid) as f:
        return next(int(line.split()[1]) for line in f if line.startswith(name))


def files():
    return len(os.listdir("/proc/%d/fd" % s.process.pid))


train("model", 1)
PATH = os.path.join(os.getcwd(), "socket")
with open("keys", "w") as f:
    f.write("some-key-1\n")
s = Server("--listen", "unix:" + PATH, "--rate", "0", "--log", "none", "--header-timeout", "5", "--deadline", "5", "--send-timeout", "5", "--max-body", "64k",
           "--allow-origin", "http://x", "--behind-proxy", "--max-connections", "200")
s.wait_ready()
expected = [good(s, request) for request in GOOD]
check(all(x.startswith(b"HTTP/1.1 200 ") for x in expected), expected)
counts, failures, samples, files_before = {}, [], [], files()
lock, next_input, last = threading.Lock(), FIRST, [FIRST] * THREADS
end = time.time() + SECONDS


def work(number):
    global next_input
    while time.time() < end and not failures:
        with lock:
            n, next_input = next_input, next_input + 1
        if n >= FIRST + MAX_INPUTS:
            return
        last[number] = n
        try:
            run_input(n)
            if n % GOOD_EVERY == 0:
                i = n // GOOD_EVERY % len(GOOD)
                found = good(s, GOOD[i])
                if found != expected[i]:
                    failures.append("after input %d, a good request has the answer %r" % (n, found[:500]))
                samples.append((n, status_of("VmRSS")))
        except Exception as error:
            failures.append("input %d: %r" % (n, error))


threads = [threading.Thread(target=work, args=(i,)) for i in range(THREADS)]
for t in threads:
    t.start()
for t in threads:
    t.join()
check(s.process.poll() is None, "the server ended with %s; seed %d, inputs %s: %s" % (s.process.poll(), SEED, last, failures))
check(not failures, "seed %d: %s" % (SEED, failures))
total = next_input - FIRST
wait_for("the end of all requests", lambda: s.metric("requests") == 1 and s.metric("lines_decoding") + s.metric("lines_waiting") + s.metric("explorations") == 0)
wait_for("the end of all connections", lambda: s.metric("connections") == 1)
check(s.metric("body_bytes") == 0 and s.metric("answer_bytes") == 0, "memory of bodies and answers")
wait_for("as many open files as before", lambda: files() <= files_before)
is_sanitized = status_of("VmSize") > 1 << 30  # kB; AddressSanitizer keeps what is freed for a while, and looks for leaks at the end
early = [kb for n, kb in samples if n < FIRST + total / 2]
late = [kb for n, kb in samples if n >= FIRST + total / 2]
if not is_sanitized and total >= 2000:
    check(max(late) <= max(early) + MAX_GROWTH, "the memory grows: %d kB, then %d kB" % (max(early), max(late)))
s.stop()
print("%d inputs; %s; %d kB in the first half, %d kB in the second" % (total, ", ".join("%s: %d" % x for x in sorted(counts.items())), max(early, default=0), max(late, default=0)))
check(total > 200 and len(counts) >= 5, "%d inputs" % total)

# addresses, and what systemd passes: the server starts, or says what is wrong. No names of hosts: they would be looked up in the network.
r, started = random.Random(SEED), 0
listening = socket.socket()
listening.bind(("127.0.0.1", 0))
listening.listen()
os.set_inheritable(listening.fileno(), True)
for i in range(max(20, int(2 * SECONDS))):
    environment, address = dict(os.environ), "127.0.0.1:0"
    kind = i % 3
    if kind == 0:
        port = r.choice(("0", "00", "-1", "+0", "65536", " 0", "0 ", "0x0", "", "99999999999999999999", "0,0", "0]", "0:0", "٠"))
        address = r.choice(("127.0.0.1:%s", "[::1]:%s", "[::1%s", "::1:%s", "[]:%s", ":%s", "%s")) % port
    elif kind == 1:
        name = "".join(r.choice("ab .:%\\\n\x01é") for _ in range(r.choice((0, 1, 5, 50, 120))))
        address = "unix:" + name
    else:
        environment.update(LISTEN_FDS=r.choice(("1", "0", "-1", "2", "x", "", "99999999999999999999", "1000", "1 ")), LISTEN_PID="PID")
    # the shell gives the process its own number, which is that of attend after exec
    script = 'exec 3<&%d; [ -z "$LISTEN_PID" ] || export LISTEN_PID=$$; exec "$0" "$@"' % listening.fileno()
    with open("started", "wb") as log:
        process = subprocess.Popen(["bash", "-c", script, ATTEND, "serve", "--model", "en-fr=model", "--threads", "1", "--listen", address], stderr=log,
                                   stdin=subprocess.DEVNULL, env=environment, pass_fds=(listening.fileno(),))
    stop = time.time() + PATIENCE
    while process.poll() is None and time.time() < stop and not any("listening to" in line for line in open("started", errors="replace")):
        time.sleep(0.005)
    if process.poll() is None:
        started += 1
        process.send_signal(signal.SIGTERM)
    code, text = process.wait(PATIENCE), open("started", errors="replace").read()
    what = (SEED, i, address, environment.get("LISTEN_FDS"), code, text)
    check(code in (0, 1, 2) and (code == 0) == ("listening to" in text), what)
    check(code == 0 or text.startswith("attend serve: "), what)
check(0 < started, "no address was accepted")
print("ok: %d addresses, %d of them accepted" % (i + 1, started))
