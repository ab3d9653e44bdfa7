"""SIGTERM and SIGHUP under load: no accepted request is lost; a damaged model keeps the old one. /health while models are loaded, and while the
server ends."""

import http.client
import json
import os
import shutil
import signal
import socket
import threading
import time

from harness import Server, check, train, translate, wait_for

train("first", 1)
train("second", 2, updates=10)
lines = ["a b c d", "h g f", "e", "c c d d e e"]
first, second = translate("first", lines), translate("second", lines)
check(first != second, "the models differ")
shutil.copy("first", "model")
# the times are long, so that no connection is closed for being idle on a loaded machine
s = Server("--rate", "0", "--deadline", "100", "--queue", "1000", "--header-timeout", "1000", "--send-timeout", "100")
answers, refused, unsent, stop = [], [], [], threading.Event()


def client(number):
    c = http.client.HTTPConnection("127.0.0.1", s.port, timeout=100)
    while not stop.is_set():
        try:
            c.request("POST", "/translate", json.dumps({"q": lines, "source": "en", "target": "fr"}), {"Content-Type": "application/json"})
        except OSError as error:  # not accepted
            unsent.append(repr(error))
            return
        try:
            r = c.getresponse()
            text = json.loads(r.read())
        except Exception as error:
            refused.append(error)
            return
        if r.status != 200:
            refused.append((r.status, text))
            return
        answers.append(text["translatedText"])


def start():
    threads = [threading.Thread(target=client, args=(i,)) for i in range(12)]
    for t in threads:
        t.start()
    return threads


threads = start()
wait_for("answers", lambda: len(answers) > 50)
# a damaged model: the old one stays
with open("second", "rb") as f:
    data = bytearray(f.read())
data[len(data) // 2] ^= 1
with open("new", "wb") as f:
    f.write(data)
os.replace("new", "model")
s.process.send_signal(signal.SIGHUP)
wait_for("a failed reload", lambda: s.labelled('reloads_total{result="failed"}') == 1)
check("keeps its old model" in "".join(s.log()), "the log")
count = len(answers)
wait_for("answers", lambda: len(answers) > count + 50)
check(all(a == first for a in answers), "the old model")
# a good one: every answer is of one model or the other, and soon of the new one
shutil.copy("second", "new")
os.replace("new", "model")
s.process.send_signal(signal.SIGHUP)
wait_for("a reload", lambda: s.labelled('reloads_total{result="ok"}') == 1)
count = len(answers)
wait_for("answers", lambda: len(answers) > count + 50)
check(all(a in (first, second) for a in answers), "old or new")
check(all(a == second for a in answers[count + 24:]), "new")
for _ in range(5):
    s.process.send_signal(signal.SIGHUP)
wait_for("more reloads", lambda: s.labelled('reloads_total{result="ok"}') >= 2)
check(not refused and not unsent and all(t.is_alive() for t in threads), "lost while models are loaded: %s %s" % (refused, unsent))
# SIGTERM: what was accepted is answered
s.process.send_signal(signal.SIGTERM)
code = s.process.wait(100)
stop.set()
for t in threads:
    t.join()
check(code == 0, "exit status %d" % code)
check(all(a in (first, second) for a in answers), "answers while it ends")
# An idle connection may be closed at the moment when a request is sent on it: the request was not read then. A part of an answer is a request that was lost.
for r in refused:
    check(isinstance(r, (ConnectionError, http.client.RemoteDisconnected)) or r == (503, {"error": "the server is shutting down"}), "while it ends: %r" % (r,))
print("%d answers, %d refused at the end: %s" % (len(answers), len(refused), refused[:2]))


def on(c, method, path, body=None):
    c.request(method, path, body, {"Content-Type": "application/json"} if body else {})
    r = c.getresponse()
    return r.status, json.loads(r.read()), r.getheader("Connection", "")


def connection(to):
    """On a Unix socket: its path is there before the models are; a moment later, the server listens to it."""
    c = http.client.HTTPConnection("x", timeout=100)

    end = time.time() + 100
    while time.time() < end:  # without a pause: loading is short
        c.sock = socket.socket(socket.AF_UNIX)
        c.sock.settimeout(100)
        if c.sock.connect_ex(to) == 0:
            return c
        c.sock.close()
    check(False, "no connection to " + to)


one = json.dumps({"q": "a b c d", "source": "en", "target": "fr"})
# while models are loaded, and then, on one connection: many models, and more of them if they are loaded before the first answer
for count in (250, 1000, 4000):
    path = os.path.join(os.getcwd(), "early%d" % count)
    codes = ["a" + "abcdefghij"[i // 1000] + "-a" + "".join("abcdefghij"[int(d)] for d in "%03d" % (i % 1000)) for i in range(count)]
    s = Server(listen="unix:" + path, models=["en-fr=first"] + [code + "=first" for code in codes], ready=False)
    c = connection(path)
    early = on(c, "GET", "/health")
    if early[0] == 503:
        break
    s.stop()
print("/health while %d models are loaded: %s" % (count, early))
check(early == (503, {"status": "loading"}, ""), early)
status, answer, _ = on(c, "POST", "/translate", one)
check((status == 503 and "being loaded" in answer["error"]) or (status == 200 and answer == {"translatedText": first[0]}), answer)
s.wait_ready()
check(on(c, "GET", "/health") == (200, {"status": "ok"}, ""), "/health of a server that is ready")
check(on(c, "POST", "/translate", one)[:2] == (200, {"translatedText": first[0]}), "a translation on the same connection")
s.stop()

# requests that are being translated when SIGTERM comes are answered
s = Server("--length-extra", "3000", "--length-penalty", "10", "--deadline", "100", models=("en-fr=first",))
results = []


def long(lines=20):
    results.append(s.translate(["a b c d e f"] * lines, timeout=200)[0])


threads = [threading.Thread(target=long) for _ in range(4)]
for t in threads:
    t.start()
wait_for("the search", lambda: s.metric("lines_decoding") > 0 and s.metric("requests") >= 5)
s.stop()
for t in threads:
    t.join()
check(results == [200] * 4, results)

# without a deadline, a search that would take minutes is cancelled; no connection is accepted meanwhile, and the path of
# a Unix socket is free for a successor
path = os.path.join(os.getcwd(), "socket")
s = Server("--listen", "unix:" + path, "--length-extra", "100000", "--length-penalty", "10", "--beam", "16", "--deadline", "0", "--send-timeout", "10", models=("en-fr=first",))
wait_for("the port", lambda: s.wait_ready() or s.port)
results = []
threads = [threading.Thread(target=long, args=(120,)) for _ in range(2)]
for t in threads:
    t.start()
wait_for("the search", lambda: s.metric("lines_decoding") > 0 and s.metric("requests") >= 3)
kept = [http.client.HTTPConnection("127.0.0.1", s.port, timeout=100) for _ in range(3)]
for c in kept:
    check(on(c, "GET", "/health") == (200, {"status": "ok"}, ""), "/health before it ends")
s.process.send_signal(signal.SIGTERM)
wait_for("a path that is removed", lambda: not os.path.exists(path))


def is_refused():
    try:
        s.connect(5).close()
        return False
    except ConnectionRefusedError:
        return True


wait_for("refused connections", is_refused, 10)
# a connection that was there before has an answer to one more request, which is the last one
check(on(kept[0], "GET", "/health") == (503, {"status": "draining"}, "close"), "/health while it ends")
check(on(kept[1], "POST", "/translate", one) == (503, {"error": "the server is shutting down"}, "close"), "/translate while it ends")
check(on(kept[2], "GET", "/languages")[::2] == (200, "close"), "/languages while it ends")
check(all(c.sock is None for c in kept), "the connections are closed")
successor = Server(listen="unix:" + path, models=("en-fr=first",))
check(s.process.poll() is None, "it still answers requests")
code = s.process.wait(100)
check(code == 0, "exit status %d" % code)
for t in threads:
    t.join()
check(results == [503] * 2, results)
check(os.path.exists(path), "the socket of the successor")
successor.stop()
check(not os.path.exists(path), "its own socket is removed")

print("ok")
