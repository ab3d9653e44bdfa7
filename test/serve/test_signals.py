"""SIGTERM and SIGHUP under load: no accepted request is lost; a damaged model keeps the old one."""

import http.client
import json
import os
import shutil
import signal
import threading
import time

from harness import Server, check, train, translate, wait_for

train("first", 1)
train("second", 2, updates=10)
lines = ["a b c d", "h g f", "e", "c c d d e e"]
first, second = translate("first", lines), translate("second", lines)
check(first != second, "the models differ")
shutil.copy("first", "model")
s = Server("--rate", "0", "--deadline", "100", "--queue", "1000")
answers, refused, stop = [], [], threading.Event()


def client(number):
    c = http.client.HTTPConnection("127.0.0.1", s.port, timeout=100)
    while not stop.is_set():
        try:
            c.request("POST", "/translate", json.dumps({"q": lines, "source": "en", "target": "fr"}), {"Content-Type": "application/json"})
        except OSError:  # not accepted
            return
        try:
            r = c.getresponse()
            text = json.loads(r.read())
        except (OSError, http.client.HTTPException) as error:
            # an idle connection may be closed at the moment when a request is sent on it; the request was not read then
            refused.append(repr(error))
            return
        if r.status == 503:
            refused.append(text)
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
# SIGTERM: what was accepted is answered
count = len(answers)
s.process.send_signal(signal.SIGTERM)
code = s.process.wait(100)
stop.set()
for t in threads:
    t.join()
check(code == 0, "exit status %d" % code)
check(all(a in (first, second) for a in answers), "answers while it ends")
print("%d answers, %d refused at the end: %s" % (len(answers), len(refused), refused[:2]))

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
s.process.send_signal(signal.SIGTERM)
wait_for("a path that is removed", lambda: not os.path.exists(path))


def is_refused():
    try:
        s.connect(5).close()
        return False
    except ConnectionRefusedError:
        return True


wait_for("refused connections", is_refused, 10)
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
