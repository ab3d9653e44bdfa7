"""/explore: the nodes of the beam as they grow. Its end is what /translate answers; it is limited, cancelled with its client, and ends with the server."""

import json
import socket
import struct
import threading
import time

from harness import PATIENCE, Server, check, train, translate, wait_for

train("model", 1)
lines = ["a b c", "h g f e", "c c c c c c", "d", ""]
right = translate("model", lines)
s = Server("--rate", "0", "--max-explorations", "3", "--max-characters", "2000")


def events(server, q, **more):
    """(status, [(event, data)])"""
    body = json.dumps({"q": q, "source": "en", "target": "fr", **more})
    status, text, headers = server.request("POST", "/explore", body, {"Content-Type": "application/json"})
    if status != 200:
        return status, text
    check(headers["Content-Type"] == "text/event-stream" and headers["Cache-Control"] == "no-store", headers)
    found = []
    for part in text.split("\n\n")[:-1]:
        name, data = part.split("\n")
        check(name.startswith("event: ") and data.startswith("data: "), part)
        found.append((name[7:], json.loads(data[6:])))
    return status, found


def check_tree(found, beam=5):
    """The steps are those of a beam search; returns the texts of the finished hypotheses."""
    check(found[0] == ("begin", {"separator": " "}), found[0])
    found = found[1:]
    check([name for name, _ in found[:-1]] == ["step"] * (len(found) - 1) and found[-1][0] == "end", found)
    nodes, ended = {-1: ""}, {}
    for i, (_, data) in enumerate(found[:-1]):
        check(data["step"] == i + 1, data)
        kept = [b for b in data["branches"] if "number" in b]
        check(len(kept) <= beam and 0 < len(data["branches"]) <= beam * beam, data)
        for b in data["branches"]:
            check(0 <= b["probability"] <= 1 and b["parent"] in nodes and b["parent"] not in ended, b)
        for b in kept:
            check(b["number"] not in nodes, b)
            nodes[b["number"]] = (nodes[b["parent"]] + " " + b["token"]).strip()
            if b.get("ended"):
                ended[b["number"]] = nodes[b["number"]]
    for t in found[-1][1]["translations"]:
        check(t["text"] in ended.values() and " ".join(t["tokens"]).split() == t["text"].split(), (t, ended))


for q, answer in zip(lines, right):
    status, found = events(s, q, alternatives=2)
    check(status == 200 and found[-1][1]["translations"][0]["text"] == answer, (q, found[-1:]))
    if q:
        check_tree(found)
        check([t["text"] for t in found[-1][1]["translations"]][1:] == s.translate(q, alternatives=2)[1]["alternatives"], found[-1])
status, found = events(s, "a b c", prefix="b a")
check(found[-1][1]["translations"][0]["text"] == s.translate("a b c", prefix="b a")[1]["translatedText"], found[-1])
check([b["token"] for b in found[1][1]["branches"] + found[2][1]["branches"]] == ["b", "a"], found[:3])
check_tree(found)
# the same at any load
several = []
threads = [threading.Thread(target=lambda: several.append(events(s, "h g f e"))) for _ in range(3)]
for t in threads:
    t.start()
for t in threads:
    t.join()
check(all(x == several[0] for x in several) and several[0] == events(s, "h g f e"), "equal trees")
check(s.request("GET", "/frontend/settings")[1]["explore"] is True, "settings")

# errors
for q, more, status, part in (("a\nb", {}, 400, "one line"), (["a", "b"], {}, 400, "one line"), ("a", {"target": "zz"}, 400, "not supported"), ("a " * 1500, {}, 413, "characters")):
    answer = events(s, q, **more) if "target" not in more else s.request("POST", "/explore", json.dumps({"q": q, "source": "en", **more}))[:2]
    check(answer[0] == status and part in answer[1]["error"], answer)
check_tree(events(s, "a b " * 100)[1])
s.stop()
s = Server("--max-input-length", "5", "--max-explorations", "1")
check(events(s, "a " * 10)[1] == [("error", {"error": "it is too long: it has more tokens than the maximum input length"})], events(s, "a " * 10))
wait_for("the end of the last one", lambda: s.metric("explorations") == 0)
s.stop()
s = Server("--max-explorations", "0")
check(events(s, "a")[0] == 404 and s.request("GET", "/frontend/settings")[1]["explore"] is False, "none")
s.stop()

# long searches: a limit on their number, clients that leave or do not read, a deadline, the end of the server
endless = ("--length-extra", "100000", "--length-penalty", "10", "--rate", "0", "--max-explorations", "2")
s = Server(*endless, "--deadline", "1000")
body = json.dumps({"q": "a b c d e f", "source": "en", "target": "fr"}).encode()
request = b"POST /explore HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body


def begin(server, size=None):
    c = socket.socket()
    if size:
        c.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, size)
    c.settimeout(PATIENCE)
    c.connect(("127.0.0.1", server.port))
    c.sendall(request)
    check(b"200" in c.recv(15), "the first bytes come while it is searched")
    return c


for how in ("close", "reset", "half-close", "no reading"):
    before = s.labelled('lines_total{end="cancelled"}')
    clients = [begin(s, 2048 if how == "no reading" else None) for _ in range(2)]
    check(events(s, "a")[0] == 503, "two are all")
    for c in clients:
        if how == "reset":
            c.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        if how == "half-close":
            c.shutdown(socket.SHUT_WR)
        elif how != "no reading":
            c.close()
    began = time.time()
    if how == "half-close":  # it still reads
        threads = [threading.Thread(target=lambda c=c: c.makefile("rb").read()) for c in clients]
        for t in threads:
            t.start()
    wait_for("the end of searches: " + how, lambda: s.labelled('lines_total{end="cancelled"}') == before + 2)
    print("%s: cancelled after %.2f s" % (how, time.time() - began))
    for c in clients:
        c.close()
    wait_for("free places", lambda: s.metric("explorations") == 0)
check(s.labelled('refused_total{reason="explorations"}') == 4, "metric")
s.stop()

s = Server(*endless, "--deadline", "1")
status, found = events(s, "a b c d e f")
check(found[-1] == ("error", {"error": "the translation took too long"}) and len(found) > 2, found[-1])
s.stop()
s = Server(*endless, "--deadline", "0", "--send-timeout", "0.1")
clients = [begin(s) for _ in range(2)]
threads = [threading.Thread(target=lambda c=c: c.makefile("rb").read()) for c in clients]
for t in threads:
    t.start()
wait_for("searches", lambda: s.metric("lines_decoding") == 2)
s.stop()  # it cancels them
for t in threads:
    t.join()
print("ok")
