"""Slow clients: idle, dripping a header, dripping a body, not reading. Each is closed after its time, and the others are served meanwhile."""

import json
import resource
import socket
import sys
import threading
import time

from harness import PATIENCE, Server, check, train, translate, wait_for

# of each kind: 1000 connections, or fewer where so many files cannot be open; the server needs as many as this program, and some more
files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
files = 1 << 20 if files == resource.RLIM_INFINITY else files
COUNT = int(sys.argv[2]) if len(sys.argv) > 2 else 334 if files >= 2000 else 60
resource.setrlimit(resource.RLIMIT_NOFILE, (min(4 * COUNT + 200, files), files))
TIME = "4"
train("model", 1)
right = translate("model", ["a b c"])[0]
s = Server("--header-timeout", TIME, "--deadline", TIME, "--send-timeout", TIME, "--rate", "0", "--max-connections", str(4 * COUNT + 100))
post = b"POST /translate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
done = threading.Event()


def ended(c):
    """Whether the server closed a connection."""
    c.settimeout(0.001)
    try:
        return c.recv(100000) == b""
    except socket.timeout:
        return False
    except OSError:
        return True


def drip(connections, data):
    while not done.is_set():
        for c in connections:
            try:
                c.send(data)
            except OSError:
                pass
        time.sleep(0.2)


began = time.time()
idle = [s.connect() for _ in range(COUNT)]
headers = [s.connect() for _ in range(COUNT)]
bodies = [s.connect() for _ in range(COUNT)]
for c in headers:
    c.sendall(b"GET /health HTTP/1.1\r\nX: ")
for c in bodies:
    c.sendall(post + b"Content-Length: 100000\r\n\r\n")
drips = [threading.Thread(target=drip, args=(x, b"a")) for x in (headers, bodies)]
for t in drips:
    t.start()
opened = s.metric("connections_total")
check(opened > 3 * COUNT, "%d of %d connections" % (opened, 3 * COUNT))
# good clients are served meanwhile
good = 0
while good < 20 or time.time() < began + 1:
    check(s.translate("a b c")[1]["translatedText"] == right, "a good client")
    good += 1
for name, connections in (("idle", idle), ("header", headers), ("body", bodies)):
    wait_for("the end of slow connections: " + name, lambda: all(ended(c) for c in connections), PATIENCE)
done.set()
for t in drips:
    t.join()
check(s.labelled('connections_late_total{phase="header"}') >= 2 * COUNT, "metric of headers")
check(s.labelled('connections_late_total{phase="body"}') >= COUNT, "metric of bodies")

s.stop()

# a client that does not read: answers of many megabytes do not fit into the buffers of the system
s = Server("--send-timeout", "1", "--deadline", "100", "--rate", "0", "--max-weights", "1000000000")
large = json.dumps({"q": ["a b c d e f g h " * 12] * 100, "source": "en", "target": "fr", "attention": True, "alternatives": 4}).encode()
c = socket.socket()
c.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
c.settimeout(PATIENCE)
c.connect(("127.0.0.1", s.port))
c.sendall((post + b"Content-Length: %d\r\n\r\n" % len(large) + large) * 20)
wait_for("the end of a client that does not read", lambda: s.labelled('connections_late_total{phase="send"}') >= 1, PATIENCE)
check(s.translate("a b c")[1]["translatedText"] == right, "a good client")
wait_for("no connection is left", lambda: s.metric("connections") <= 2)
check(s.metric("requests") <= 1, "no request is left")
s.stop()
print("ok: %d slow connections, %d good requests beside them" % (3 * COUNT, good))
