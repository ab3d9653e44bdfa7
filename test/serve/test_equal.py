"""64 clients at random moments, with lines of all lengths, as text and HTML, with and without attention and alternatives, beside explorations: every answer
is what attend translate prints."""

import json
import random
import sys
import threading
import time

from harness import Server, check, train, translate

CLIENTS, REQUESTS = 64, int(sys.argv[2]) if len(sys.argv) > 2 else 12
train("model", 1)
train("other", 2)
random.seed(5)
lines = [" ".join(random.choice("abcdefgh") for _ in range(random.choice((0, 1, 2, 3, 5, 8, 13, 30)))) for _ in range(200)]
right = {"fr": translate("model", lines), "de": translate("other", lines)}
links = [json.loads(line).get("alignment", []) for line in translate("model", lines, "--json")]
lists = {}
for line in translate("model", lines, "--n-best", "3"):
    number, text = line.split(" ||| ")[:2]
    lists.setdefault(int(number), []).append(text)
s = Server("--rate", "0", "--queue", "10000", "--deadline", "100", "--max-explorations", "64", models=("en-fr=model", "en-de=other"))
wrong = []


def explore(line, translation):
    body = json.dumps({"q": line, "source": "en", "target": "fr"})
    status, text, _ = s.request("POST", "/explore", body, {"Content-Type": "application/json"})
    if status != 200 or json.loads(text.rsplit("data: ", 1)[1])["translations"][0]["text"] != translation:
        wrong.append((status, text[-500:]))


def client(number):
    r = random.Random(number)
    for _ in range(REQUESTS):
        time.sleep(r.random() * 0.02)
        some = [r.randrange(len(lines)) for _ in range(r.choice((1, 1, 1, 2, 7)))]
        target = r.choice(("fr", "fr", "de"))
        more = {}
        if r.random() < 0.3 and target == "fr":
            more["attention"] = True
        if r.random() < 0.3 and target == "fr":
            more["alternatives"] = 2
        if r.random() < 0.2:
            explore(lines[some[0]], right["fr"][some[0]])
        if r.random() < 0.2:
            status, answer, _ = s.translate("".join("<p>%s</p>" % lines[i] for i in some), target=target, format="html")
            if status != 200 or answer["translatedText"] != "".join("<p>%s</p>" % right[target][i] for i in some):
                wrong.append((status, answer))
            continue
        status, answer, _ = s.translate([lines[i] for i in some], target=target, **more)
        if status != 200 or answer["translatedText"] != [right[target][i] for i in some]:
            wrong.append((status, answer))
        elif "attention" in more and [a[0]["alignment"] for a in answer["attention"]] != [links[i] for i in some]:
            wrong.append(answer["attention"])
        elif "alternatives" in more and answer["alternatives"] != [lists[i][1:] for i in some]:
            wrong.append((answer["alternatives"], [lists[i][1:] for i in some]))


threads = [threading.Thread(target=client, args=(i,)) for i in range(CLIENTS)]
for t in threads:
    t.start()
for t in threads:
    t.join()
check(not wrong, wrong[:2])
batches, decoded = s.metric("batches_total"), s.metric("batch_lines_total")
s.stop()
print("%d answers of %d clients are equal; %.1f lines a batch" % (CLIENTS * REQUESTS, CLIENTS, decoded / batches))
