"""Clients that leave in the middle of a search: their lines are cancelled, and the worker is free within one decoding step."""

import json
import socket
import struct
import time

from harness import Server, check, train, translate, wait_for

train("model", 1)
right = translate("model", ["a b c"])[0]
# A decoding step, as long as it takes here and now: a search of 2000. When the clients leave, a search must end after its step; a tenth of
# these steps, and two seconds for a machine with other work, is the bound of all that follows.
STEPS, SLACK = 2000, 2
s = Server("--length-extra", str(STEPS), "--length-penalty", "10", "--deadline", "1000", "--rate", "0")
began = time.time()
check(s.translate(["a b c d e f"] * 60)[0] == 200, "a search that ends")
bound = (time.time() - began) / 10 + SLACK
s.stop()
# a search that would take minutes
s = Server("--length-extra", "100000", "--length-penalty", "10", "--deadline", "1000", "--header-timeout", "1000", "--rate", "0", "--max-lines", "20")
body = json.dumps({"q": ["a b c d e f"] * 20, "source": "en", "target": "fr"}).encode()
request = b"POST /translate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body
for how in ("close", "reset", "half-close"):
    before = s.labelled('lines_total{end="cancelled"}')
    clients = []
    for _ in range(3):
        c = s.connect()
        c.sendall(request)
        clients.append(c)
    wait_for("the search", lambda: s.metric("lines_decoding") > 0)
    time.sleep(0.3)
    for c in clients:
        if how == "reset":
            c.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        if how == "half-close":
            c.shutdown(socket.SHUT_WR)
        else:
            c.close()
    began = time.time()
    wait_for("free workers", lambda: s.metric("lines_decoding") == 0 and s.metric("lines_waiting") == 0)
    check(s.labelled('lines_total{end="cancelled"}') == before + 60, "all lines are cancelled")
    print("%s: free after %.2f s" % (how, time.time() - began))
check(s.metric("clients_gone_total") == 9, "the metric")
wait_for("their requests are over", lambda: s.metric("requests") == 1)
check(s.labelled('answers_total{status="499"}') == 9 and s.labelled('refused_total{reason="state"}') == 0, "the metric of answers")
check(sum("/translate 499 " in line for line in s.log()) == 9, "the log")
with s.connect() as c:  # in the middle of the body
    c.sendall(request[:-10])
    wait_for("a request", lambda: s.metric("requests") == 2)
wait_for("the metric", lambda: s.labelled('answers_total{status="499"}') == 10)
for sent, status in ((request[:-10], 499), (request[:50], 0)):  # the end comes together with a part of a request
    before = s.labelled('answers_total{status="499"}')
    clients = [s.connect() for _ in range(10)]
    for c in clients:
        c.sendall(sent)
        c.close()
    wait_for("no connection is left", lambda: s.metric("connections") == 1, 60)
    check(s.labelled('answers_total{status="499"}') == before + (10 if status else 0), "the metric")
with s.connect() as c:  # in the middle of a beam that is shown
    one = json.dumps({"q": "a b c d e f", "source": "en", "target": "fr"}).encode()
    c.sendall(b"POST /explore HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(one) + one)
    check(b" 200 " in c.recv(20), "an exploration")
wait_for("the metric", lambda: s.labelled('answers_total{status="499"}') == 21)
wait_for("the log", lambda: sum("/explore 499 " in line for line in s.log()) == 1)
wait_for("free workers", lambda: s.metric("lines_decoding") == 0 and s.metric("explorations") == 0)
longest = s.metric("cancelling_seconds_max")
check(0 < longest < bound, "cancelling takes %.4f s; %d steps take %.4f s" % (longest, STEPS, (bound - SLACK) * 10))
print("longest time to cancel: %.4f s; %d steps: %.4f s" % (longest, STEPS, (bound - SLACK) * 10))
wait_for("no connection is left", lambda: s.metric("connections") <= 1)
s.stop()
