"""Everything that a client chooses has a limit: each is reached once, with its answer and its metric."""

import concurrent.futures
import json
import os
import resource
import socket
import subprocess
import threading
import time

from harness import ATTEND, Server, check, raw, train, translate, wait_for

train("model", 1)
right = translate("model", ["a b c"])[0]
post = "POST /translate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"

# ---- sizes ----
s = Server("--max-body", "2000", "--max-header", "1000", "--max-lines", "5", "--max-characters", "50", "--max-input-length", "10")
big = json.dumps({"q": "a" * 3000, "source": "en", "target": "fr"})
answer = raw(s, (post + "Content-Length: %d\r\n\r\n" % 1000000000).encode())
check(answer.startswith(b"HTTP/1.1 413"), answer[:100])  # before the body
answer = raw(s, (post + "Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n" % (len(big), big)).encode(), timeout=3)
check(answer.startswith(b"HTTP/1.1 413"), answer[:100])
check(s.labelled('too_large_total{part="body"}') == 2, "metric of bodies")
endless = 0
with s.connect() as c:  # a chunked body without end: the connection is closed
    c.sendall((post + "Transfer-Encoding: chunked\r\n\r\n").encode())
    try:
        for endless in range(1000):
            c.sendall(b"1000\r\n" + b"a" * 0x1000 + b"\r\n")
            time.sleep(0.001)
    except OSError:
        pass
check(endless < 900, "an endless body is read")
answer = raw(s, b"GET /health HTTP/1.1\r\nHost: x\r\nX: " + b"a" * 1500 + b"\r\n\r\n", timeout=3)
check(answer.startswith(b"HTTP/1.1 431"), answer[:100])
check(s.labelled('too_large_total{part="header"}') == 1, "metric of headers")
answer = raw(s, b"GET /health HTTP/1.1\r\nHost: x\r\nX: " + b"a" * 100000 + b"\r\n\r\n", timeout=3)
check(answer[:12] in (b"HTTP/1.1 431", b"HTTP/1.1 413", b""), answer[:100])  # by libmicrohttpd
status, answer, _ = s.translate(["a"] * 6)
check(status == 413 and "too many texts" in answer["error"], answer)
status, answer, _ = s.translate("a\n" * 6)
check(status == 413 and "7 lines; the limit is 5" in answer["error"], answer)
check(s.labelled('refused_total{reason="texts"}') == 2, "metric of texts")
status, answer, _ = s.translate("é" * 51)
check(status == 413 and "51 characters; the limit is 50" in answer["error"], answer)
check(s.translate("é" * 50)[0] == 200, "characters, not bytes")
check(s.labelled('refused_total{reason="characters"}') == 1, "metric of characters")
status, answer, _ = s.translate("a " * 11)
check(status == 400 and "too long" in answer["error"], answer)
status, answer, _ = s.translate("a", prefix="b " * 11)
check(status == 400 and "too long" in answer["error"], answer)
check(s.labelled('refused_total{reason="tokens"}') == 2, "metric of tokens")
status, answer, _ = s.request("POST", "/translate", '{"x": ' + "[" * 900 + "]" * 900 + "}", {"Content-Type": "application/json"})
check(status == 400 and "nested too deeply" in answer["error"], answer)
check(s.labelled('refused_total{reason="depth"}') == 1, "metric of depth")
check(s.translate("a b c")[1]["translatedText"] == right, "it still translates")
s.stop()

# ---- attention ----
s = Server("--max-weights", "3000", "--rate", "0")
# 3 tokens and the end; 2 * 4 + 10 target tokens and the end
check("attention" in s.translate("a b c", attention=True)[1], "few weights")
for more in ({"attention": True}, {"format": "html"}):
    check(s.translate(["a b c"] * 39, **more)[0] == 200, "39 * 76 weights")
    check(s.translate(["a b c"] * 40, **more)[0] == 413, "40 * 76 weights")
    check(s.translate(["a" * 500] * 39, **more)[0] == 200, "tokens, not bytes")
check(s.labelled('refused_total{reason="weights"}') == 2, "metric of weights")
for q, more in ((["a b c"] * 40, {}), ("a b c\n" * 40, {}), (["a b c"] * 8, {"alternatives": 4}), ("a " * 50, {}), ("a b c", {"prefix": "a " * 1000})):
    status, answer, _ = s.translate(q, attention=True, **more)
    check(status == 413 and "attention" in answer["error"], (q[:1], answer))
    check(s.translate(q, **more)[0] in (200, 400), "without attention")
check(s.labelled('refused_total{reason="weights"}') == 7, "metric of weights")
s.stop()
s = Server("--max-characters", "0")
status, answer, _ = s.translate(["a " * 900] * 13, attention=True, alternatives=4)
check(status == 413, answer)  # by default
s.stop()

# ---- answers: clients that do not read them ----
run = subprocess.run([ATTEND, "serve", "--model", "en-fr=model", "--max-weights", "100", "--max-answers", "1299"], capture_output=True)
check(run.returncode == 2 and b"it must be at least 1300" in run.stderr, run.stderr)
s = Server("--max-weights", "5000000", "--max-answers", "64M", "--rate", "0", "--send-timeout", "60", "--max-input-length", "600", "--length-penalty", "10")
# 4.4 million weights at most; an answer of 10 MB, more than the system buffers
wide = json.dumps({"q": ["a " * 300] * 6, "source": "en", "target": "fr", "attention": True}).encode()
slow = []
for _ in range(8):
    c = socket.socket()
    c.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    c.connect(("127.0.0.1", s.port))
    c.settimeout(20)
    c.sendall(post.encode() + b"Content-Length: %d\r\n\r\n" % len(wide) + wide)
    slow.append(c)
wait_for("an answer", lambda: s.metric("target_tokens_total") > 1000)
status, answer, headers = s.request("POST", "/translate", wide, {"Content-Type": "application/json"})
check(status == 503 and "no memory for this answer" in answer["error"] and headers["Retry-After"], (status, answer))
check(0 < s.metric("answer_bytes") <= 64 << 20, "metric of answers")
check(s.translate("a b c")[0] == 200, "short answers")
for c in slow:
    c.close()
wait_for("memory of answers", lambda: s.metric("answer_bytes") == 0)
s.stop()

# ---- prefixes: each line has one ----
s = Server("--rate", "0")
for q in (["a"] * 100, "a\n" * 99 + "a"):
    check(s.translate(q, prefix="b" * 498)[0] == 200, "100 * 498 characters, and the lines")
    status, answer, _ = s.translate(q, prefix="b" * 500)
    check(status == 413 and "prefix of each line" in answer["error"], answer)
status, answer, _ = s.translate("<p>a" * 100, prefix="b" * 500, format="html")
check(status == 413 and "prefix of each line" in answer["error"], answer)
status, answer, _ = s.request("POST", "/explore", json.dumps({"q": "a", "source": "en", "target": "fr", "prefix": "b" * 50000}))
check(status == 413, answer)
check(s.labelled('refused_total{reason="characters"}') == 4, "metric of characters")
s.stop()

# ---- answers without attention, and requests that take long to read: others do not wait for them ----
s = Server("--rate", "0", "--max-characters", "0", "--max-answers", "1M", "--max-weights", "10000", "--deadline", "100")
check(s.translate(["a"] * 10, prefix="b" * 10000)[0] == 200, "a small answer")
status, answer, headers = s.translate(["a"] * 128, prefix="b" * 10000)
check(status == 503 and "no memory for this answer" in answer["error"] and headers["Retry-After"], answer)
check(s.labelled('refused_total{reason="answers"}') == 1, "metric of answers")
wait_for("memory of answers", lambda: s.metric("answer_bytes") == 0)
began, took, worst = time.time(), [], 0
large = threading.Thread(target=lambda: (s.translate(["a"] * 128, prefix="b" * 400000), took.append(time.time() - began)))
large.start()
while large.is_alive():
    asked = time.time()
    check(s.request("GET", "/health")[0] == 200, "health")
    worst = max(worst, time.time() - asked)
check(worst < took[0] / 4, "a request of %.2f s, and %.2f s for another" % (took[0], worst))
print("a request of %.2f s; others waited at most %.3f s" % (took[0], worst))
s.stop()

# ---- bodies ----
run = subprocess.run([ATTEND, "serve", "--model", "en-fr=model", "--max-body", "2000", "--max-bodies", "2000"], capture_output=True)
check(run.returncode != 0 and b"--max-bodies 2000 is not larger than --max-body 2000" in run.stderr, run.stderr)
s = Server("--max-body", "1500", "--max-bodies", "1501")
body = json.dumps({"q": "a b c", "source": "en", "target": "fr"})
status, answer, _ = s.request("POST", "/translate", body + " " * (1500 - len(body)), {"Content-Type": "application/json"})
check(status == 200 and answer["translatedText"] == right, answer)
with s.connect() as c:  # a body that is not complete
    c.sendall((post + "Content-Length: 1400\r\n\r\n" + "x" * 1300).encode())
    wait_for("a body", lambda: s.metric("body_bytes") > 1000)
    status, answer, headers = s.request("POST", "/translate", body + " " * (1200 - len(body)), {"Content-Type": "application/json"})
    check(status == 503 and headers["Retry-After"] and s.metric("bodies_refused_total") == 1, (status, answer))
wait_for("memory of bodies", lambda: s.metric("body_bytes") == 0)
check(s.translate("a b c")[0] == 200, "it still translates")
s.stop()

# ---- keys and rates ----
# a sanitizer reserves more addresses than any limit that would be of use here
LIMIT = "ulimit -v 4000000; "
if subprocess.run(["bash", "-c", LIMIT + 'exec "$0" --version', ATTEND], capture_output=True).returncode != 0:
    LIMIT = ""
for endless in ("yes key-1234567", "cat /dev/zero", "yes | tr -d '\\n'"):
    run = subprocess.run(["bash", "-c", LIMIT + 'exec "$0" serve --model en-fr=model --api-keys <(%s)' % endless, ATTEND],
                         capture_output=True, timeout=100)
    check(run.returncode == 3 and b"/dev/fd/" in run.stderr, (endless, run.returncode, run.stderr))


def at_once(count, ask):
    """The answers to several requests, in as little time as possible: a rate is reached on slow machines too."""
    with concurrent.futures.ThreadPoolExecutor(count) as pool:
        return list(pool.map(ask, range(count)))


with open("keys", "w") as f:
    f.write("# keys\nfirst-key-123\n\nsecond-key-456\n")
s = Server("--api-keys", "keys", "--rate", "5")
codes = at_once(40, lambda i: s.translate("a", api_key="wrong-key-%d" % i)[0])
check(codes.count(403) >= 10 and 429 in codes, codes)  # keys cannot be guessed quickly
check(s.translate("a", api_key="first-key-123")[0] == 200, "a key has its own rate")
s.stop()
s = Server("--api-keys", "keys", "--rate", "2")
check(s.request("GET", "/frontend/settings")[1]["keyRequired"] is True, "settings")
for key in (None, "", "first-key-12", "first-key-1234", "x" * 1000):
    time.sleep(0.6)
    status, answer, _ = s.translate("a", **({"api_key": key} if key is not None else {}))
    check(status == 403 and "API key" in answer["error"], (key, answer))
check(s.labelled('refused_total{reason="key"}') == 5, "metric of keys")
answers = at_once(20, lambda i: s.translate("a b c", api_key="first-key-123"))
late = [a for a in answers if a[0] == 429]
check([a[0] for a in answers].count(200) >= 4 and late, answers)
check(all(int(headers["Retry-After"]) >= 1 and "too many requests" in answer["error"] for _, answer, headers in late), late)
check(s.labelled('refused_total{reason="rate"}') == len(late), "metric of rates")
check(s.translate("a", headers={"Authorization": "Bearer second-key-456"})[0] == 200, "another key has its own rate")
time.sleep(1.1)
check(s.translate("a", api_key="first-key-123")[0] == 200, "the rate is a rate")
s.stop()
# a body that is invalid counts, whether keys are needed or not
for options in ((), ("--api-keys", "keys")):
    s = Server("--rate", "2", *options)
    for body, type_ in (("{", "application/json"), ("q=%", "application/x-www-form-urlencoded"), ("x", "text/plain")):
        codes = at_once(15, lambda i: s.request("POST", "/translate", body, {"Content-Type": type_})[0])
        check(429 in codes and set(codes) <= {400, 403, 415, 429}, (body, codes))
    s.stop()
s = Server("--rate", "1", "--behind-proxy")
for address in ("10.0.0.1", "10.0.0.2", "2001:db8::1"):
    forwarded = {"X-Forwarded-For": "1.2.3.4, " + address}
    codes = at_once(8, lambda i: s.translate("a", headers=forwarded)[0])
    check(200 in codes and 429 in codes, (address, codes))


def forward(*lines):
    request = post + "".join("X-Forwarded-For: %s\r\n" % line for line in lines) + "Content-Length: %d\r\nConnection: close\r\n\r\n%s"
    body = json.dumps({"q": "a", "source": "en", "target": "fr"})
    return int(raw(s, (request % (len(body), body)).encode()).split()[1])


# the proxy adds the last line; what the client sends before does not matter
codes = at_once(8, lambda i: forward("10.1.0.%d" % i, "10.9.9.9 "))
check(200 in codes and 429 in codes, codes)
s.stop()
s = Server("--behind-proxy")  # the default rate, which does not limit this machine
codes = at_once(300, lambda i: forward("10.1.0.1, unknown%d" % i))
check(429 in codes, "an entry that is no address is limited")
check(429 not in [forward("127.0.0.1") for i in range(300)], "this machine is not")
s.stop()

# ---- the queue and the deadline ----
s = Server("--queue", "10", "--max-lines", "10", "--length-extra", "100000", "--length-penalty", "10", "--deadline", "0.5", "--rate", "0")
busy, late = [], []


def flood():
    status, answer, headers = s.translate(["a b c d"] * 10)
    (busy if "busy" in answer.get("error", "") else late).append((status, answer, headers))


threads = [threading.Thread(target=flood) for _ in range(12)]
for t in threads:
    t.start()
for t in threads:
    t.join()
check(busy and all(b[0] == 503 and b[2]["Retry-After"] for b in busy), (len(busy), late[:1]))
check(s.labelled('refused_total{reason="queue"}') == len(busy), "metric of the queue")
check(s.metric("lines_refused_total") == 10 * len(busy), "metric of lines")
expired = [a for a in late if a[0] == 503 and "longer than 0.5 seconds" in a[1]["error"]]
check(expired and len(expired) == s.labelled('refused_total{reason="deadline"}'), late[:2])
wait_for("free workers", lambda: s.metric("lines_decoding") == 0)
s.stop()

# ---- connections ----
s = Server("--max-connections", "20", "--max-per-address", "0", "--header-timeout", "60")
idle = [s.connect() for _ in range(40)]  # the oldest make room
check(s.translate("a b c")[1]["translatedText"] == right, "idle connections are evicted")
check(s.metric("connections_evicted_total") >= 20 and s.metric("connections") <= 25, "metric of evictions")
for c in idle:
    c.close()
s.stop()
s = Server("--max-connections", "20", "--max-per-address", "0", "--deadline", "600")
idle = [s.connect() for _ in range(40)]  # with a header, and a part of the body
for c in idle:
    c.sendall((post + "Content-Length: 100\r\n\r\n{").encode())
check(s.translate("a b c")[1]["translatedText"] == right, "connections with a part of a body are evicted")
check(s.metric("connections_evicted_total") >= 20, "metric of evictions")
for c in idle:
    c.close()
s.stop()
s = Server("--max-per-address", "3")
idle = [s.connect() for _ in range(3)]
time.sleep(0.2)
status, answer, _ = s.request("GET", "/health")
check(status == 503 and "too many connections from this address" in answer["error"], answer)
for c in idle:
    c.close()
wait_for("connections that end", lambda: s.request("GET", "/health")[0] == 200)
check(s.metric("connections_refused_total") >= 1, "metric of refusals")
s.stop()

# ---- open files ----
script = 'ulimit -n 300; exec "$0" serve --model en-fr=model --listen 127.0.0.1:0 --max-connections 300'
run = subprocess.run(["bash", "-c", script, ATTEND], capture_output=True, timeout=60)
check(run.returncode == 2 and b"open files, and the limit is 300" in run.stderr, run.stderr)
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (100, hard))  # of the server
s = Server("--max-connections", "300", "--max-per-address", "0")
wanted = max(soft, 512)
resource.setrlimit(resource.RLIMIT_NOFILE, (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard), hard))
idle = [s.connect() for _ in range(250)]
check(s.metric("connections") == 251 and s.metric("connections_evicted_total") == 0, "the limit of open files is raised")
for c in idle:
    c.close()
s.stop()

# ---- Unix sockets, and sockets of systemd ----
s = Server(listen="unix:" + os.path.join(os.getcwd(), "socket"))
c = socket.socket(socket.AF_UNIX)
c.settimeout(20)
c.connect("socket")
c.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
check(b'{"status": "ok"}' in c.makefile("rb").read(), "a Unix socket")
s.stop()
check(not os.path.exists("socket"), "the socket is removed")


def refused(text, *options, **more):
    run = subprocess.run([ATTEND, "serve", "--model", "en-fr=model", *options], capture_output=True, timeout=60, **more)
    check(run.returncode in (2, 3, 5) and text in run.stderr, (options, run.returncode, run.stderr))


datagrams = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)  # as that of a log
datagrams.bind("datagrams")
refused(b"another process uses it", "--listen", "unix:datagrams")
full = socket.socket(socket.AF_UNIX)  # with as many clients as may wait
full.bind("full")
full.listen(0)
clients = [socket.socket(socket.AF_UNIX) for _ in range(5)]
for c in clients:
    c.setblocking(False)
    c.connect_ex("full")
refused(b"another process uses it", "--listen", "unix:full")
refused(b"it exists and is not a socket", "--listen", "unix:model")
check(os.path.exists("datagrams") and os.path.exists("full") and os.path.getsize("model") > 0, "a file was removed")
full.close()
s = Server(listen="unix:" + os.path.join(os.getcwd(), "full"))  # which nothing has open any more
os.rename("full", "mine")
successor = socket.socket(socket.AF_UNIX)
successor.bind("full")
s.stop()
check(os.path.exists("full"), "the socket of another process was removed")
for port in ("65536", "99999", "-1", "x", "", "1x"):
    refused(b"a port is a number from 0 to 65535", "--listen", "127.0.0.1:" + port)
script = 'export LISTEN_PID=$$ LISTEN_FDS=1; exec "$0" serve --model en-fr=model 3<model'
p = subprocess.run(["sh", "-c", script, ATTEND], capture_output=True, timeout=60)
check(p.returncode == 2 and b"is not a socket that accepts connections" in p.stderr, p.stderr)
listening = socket.socket()
listening.bind(("127.0.0.1", 0))
listening.listen(5)
script = 'exec 3<&%d; export LISTEN_PID=$$ LISTEN_FDS=1; exec "$0" serve --model en-fr=model --threads 1' % listening.fileno()
p = subprocess.Popen(["sh", "-c", script, ATTEND], pass_fds=(listening.fileno(),), stderr=subprocess.PIPE)
p.stderr.readline()
with socket.create_connection(listening.getsockname(), 20) as c:
    c.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    check(b'{"status": "ok"}' in c.makefile("rb").read(), "a socket of systemd")
p.terminate()
check(p.wait(60) == 0, "end")
# a request with which the service starts is translated, not refused because the model is being loaded
with socket.create_connection(listening.getsockname(), 20) as c:
    body = json.dumps({"q": "a b c", "source": "en", "target": "fr"})
    c.sendall((post + "Connection: close\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)).encode())
    p = subprocess.Popen(["sh", "-c", script, ATTEND], pass_fds=(listening.fileno(),), stderr=subprocess.PIPE)
    answer = c.makefile("rb").read()
p.terminate()
check(p.wait(60) == 0, "end")
check(answer.startswith(b"HTTP/1.1 200") and json.dumps(right).encode() in answer, answer)
print("ok")
