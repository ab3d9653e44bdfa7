"""Clients that leave in the middle of a search: their lines are cancelled, and the worker is free within one decoding step."""

import json
import socket
import struct
import time

from harness import Server, check, train, translate, wait_for

train("model", 1)
right = translate("model", ["a b c"])[0]
# a search that would take minutes
s = Server("--length-extra", "100000", "--length-penalty", "10", "--deadline", "1000", "--rate", "0", "--max-lines", "20")
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
print("longest time to cancel: %.4f s" % s.metric("cancelling_seconds_max"))
wait_for("no connection is left", lambda: s.metric("connections") <= 1)
s.stop()
