"""Each allocation of a request is refused once: an error or a closed connection, no crash, and the next request has its answer.

test_memory.py ATTEND LIBRARY: of refuse_memory.c
"""

import http.client
import json
import mmap
import os
import signal
import struct
import sys
import time

from harness import Server, check, train, translate, wait_for

LIBRARY = os.path.abspath(sys.argv[2])
train("model", 1)
right = translate("model", ["a b c"])[0]
with open("left", "wb") as f:
    f.write(bytes(8))
with open("left", "r+b") as f:
    left = mmap.mmap(f.fileno(), 8)
s = Server("--rate", "0", environment={"LD_PRELOAD": LIBRARY, "ATTEND_TEST_REFUSE": os.path.abspath("left")})
jsn, form = {"Content-Type": "application/json"}, {"Content-Type": "application/x-www-form-urlencoded"}
more = {"source": "en", "target": "fr"}
requests = (
    ("/translate", json.dumps({"q": ["a b c", "d\ne"], "attention": True, "alternatives": 2, **more}), jsn),
    ("/translate", json.dumps({"q": "<p>a <b>b <i>c</i></b></p>&amp;<br>d", "format": "html", **more}), jsn),
    ("/translate", "q=a+b+c&source=en&target=fr&prefix=b", form),
    ("/explore", json.dumps({"q": "a b c", **more}), jsn),
    ("/detect", "q=a+b+c", form),
    ("/frontend/settings", None, {}),
    ("/languages", None, {}),
    ("/metrics", None, {}),
    ("/", None, {}),
)


def ask(path, body, headers):
    """The status and the answer; 0: the connection ended without a complete one."""
    c = http.client.HTTPConnection("127.0.0.1", s.port, timeout=60)
    try:
        c.request("POST" if body else "GET", path, body, headers)
        r = c.getresponse()
        return r.status, r.read(), r.getheaders()
    except (OSError, http.client.HTTPException):
        return 0, b"", []
    finally:
        c.close()


total = refused = 0
for request in requests:
    whole = ask(*request)
    check(whole[0] == 200, (request, whole))
    left[:] = struct.pack("q", 1 << 40)
    ask(*request)
    wait_for("the end", lambda: True)
    time.sleep(0.1)
    count = (1 << 40) - struct.unpack("q", left[:])[0]
    left[:] = bytes(8)
    check(count > 5, count)
    seen = {}
    for n in range(1, count + 1):
        left[:] = struct.pack("q", n)
        status, text, headers = ask(*request)
        left[:] = bytes(8)
        check(s.process.poll() is None, ("the server ended", request, n))
        check(status in (0, 200, 400, 500, 503), (request, n, status, text[:200]))
        if status == 200 and request[0] not in ("/explore", "/metrics"):
            check(text == whole[1], (request, n, text))
        if status == 200 and request[0] != "/metrics":
            check([h for h in headers if h[0] != "Date"] == [h for h in whole[2] if h[0] != "Date"], (request, n, headers))
        seen[status] = seen.get(status, 0) + 1
    total += count
    refused += count - seen.get(200, 0)
    print("%s: %d allocations: %s" % (request[0], count, seen))
    status, answer, _ = s.translate("a b c")
    check(status == 200 and answer["translatedText"] == right, answer)
check(refused > 100, refused)


def reload():
    """Whether the model was loaded again. The log says so; a request would take memory, too."""
    before = len(s.log())
    s.process.send_signal(signal.SIGHUP)

    def ends():
        return [line for line in s.log()[before:] if "reloaded en-fr" in line or "keeps its old model" in line]

    wait_for("a reload", ends)
    return "reloaded en-fr" in ends()[0]


left[:] = struct.pack("q", 1 << 40)
check(reload(), "a reload")
time.sleep(0.1)
count = (1 << 40) - struct.unpack("q", left[:])[0]
left[:] = bytes(8)
failed = 0
for n in range(1, count + 1):
    left[:] = struct.pack("q", n)
    is_reloaded = reload()
    left[:] = bytes(8)
    failed += not is_reloaded
    check(s.process.poll() is None, ("the server ended", n))
    if n % 10 == 0 or is_reloaded:
        status, answer, _ = s.translate("a b c")
        check(status == 200 and answer["translatedText"] == right, (n, answer))
print("SIGHUP: %d allocations: %d kept the old model" % (count, failed))
check(failed > 10 and s.labelled('reloads_total{result="failed"}') == failed, failed)
total += count
check(reload(), "a reload with memory")
wait_for("no work is left", lambda: s.metric("lines_decoding") == 0 and s.metric("lines_waiting") == 0 and s.metric("explorations") == 0)
check(s.metric("requests") == 1, "no request is left")
s.stop()
print("ok: %d allocations refused" % total)
