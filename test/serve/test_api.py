"""The API: LibreTranslate's requests and answers, as JSON and as a form, and their errors."""

import json
import re
import shutil
import subprocess
import urllib.parse

from harness import ATTEND, Server, check, train, translate, wait_for

train("model", 1)
train("other", 2)
s = Server("--rate", "0", models=("en-fr=model", "en-de=other", "it-de=model"))
lines = ["a b c", "d", "", "h g f e", "c c c c c c"]
right = translate("model", lines)
german = translate("other", lines)

# one text, an array, an empty array, several lines, another pair
for q, answer in zip(lines, right):
    status, json_, headers = s.translate(q)
    check(status == 200 and json_ == {"translatedText": answer}, (q, json_))
    check(headers["Content-Type"] == "application/json" and "Access-Control-Allow-Origin" not in headers, headers)
check(s.translate(lines)[1] == {"translatedText": right}, "array")
check(s.translate([])[1] == {"translatedText": []}, "empty array")
check(s.translate("\n".join(lines))[1] == {"translatedText": "\n".join(right)}, "lines")
for tail in ("", "\r\n", "\n"):  # each line keeps its end
    check(s.translate("\r\n".join(lines) + tail)[1] == {"translatedText": "\r\n".join(right) + tail}, "lines that end with CR LF")
check(s.translate("a b c\r\nd\ne\r\n")[1]["translatedText"] == "\n".join([right[0] + "\r", right[1], "e\r", ""]), "both ends")
check(s.translate(lines, target="de")[1] == {"translatedText": german} , "pair")
check(s.translate(lines, source="it", target="de")[1] == {"translatedText": right}, "pair")

# a form
form = {"Content-Type": "application/x-www-form-urlencoded"}
for fields, answer in (
    ({"q": "a b c", "source": "en", "target": "fr"}, right[0]),
    ([("q", "a b c"), ("source", "en"), ("q", "d"), ("target", "fr")], right[:2]),
    ({"q": "a b c\nd", "source": "en", "target": "fr", "format": "text", "api_key": ""}, right[0] + "\n" + right[1]),
):
    status, json_, _ = s.request("POST", "/translate", urllib.parse.urlencode(fields), form)
    check(status == 200 and json_ == {"translatedText": answer}, (fields, json_))

# the source language
check(s.translate("d", source="auto")[1] == {"translatedText": right[1], "detectedLanguage": {"confidence": 100, "language": "en"}}, "auto")
check(s.translate(["d"], source="auto")[1]["detectedLanguage"] == [{"confidence": 100, "language": "en"}], "auto")
check(s.translate("d", source="auto", target="de")[0] == 400, "two pairs")

# alternatives and prefixes are those of attend translate
best = translate("model", ["a b c"], "--n-best", "3")
best = [line.split(" ||| ")[1] for line in best]
check(s.translate("a b c", alternatives=2)[1] == {"translatedText": best[0], "alternatives": best[1:]}, "alternatives")
check(s.translate(["a b c"], alternatives=2)[1]["alternatives"] == [best[1:]], "alternatives of an array")
check(len(s.translate("a b c", alternatives=1000)[1]["alternatives"]) == 4, "at most the beam")
for text, count in (("2", 2), ("0", 0), (None, 0)):  # as some clients send it
    check(s.translate("a b c", alternatives=text)[1].get("alternatives", []) == best[1:][:count], text)
check(s.translate("a b c", alternatives=None, format=None, api_key=None, attention=None, prefix=None, x=None)[1] == {"translatedText": best[0]}, "null")
with open("prefix", "w") as f:
    f.write("b\n")
check(s.translate("a b c", prefix="b")[1]["translatedText"] == translate("model", ["a b c"], "--prefix", "prefix")[0], "prefix")

# attention
mine = s.translate("a b c", attention=True)[1]["attention"]
theirs = json.loads(translate("model", ["a b c"], "--json", "--alignment", "soft")[0])
check(len(mine) == 1 and mine[0]["weights"] == theirs["weights"] and mine[0]["alignment"] == theirs["alignment"], (mine, theirs))
check(mine[0]["source"] == ["a", "b", "c", ""] and mine[0]["confidence"] == theirs["confidence"], mine)
check(len(mine[0]["probabilities"]) == len(mine[0]["target"]) + 1, mine)

# HTML: tags out, each segment translated as a line, tags back by alignment
for q, answer in (
    ("a b c", right[0]),
    ("<p>a  b\nc</p>\n<ul><li>d</li></ul><!-- x -->", "<p>%s</p>\n<ul><li>%s</li></ul><!-- x -->" % tuple(right[:2])),
    ("<a href='?x&amp;y=\"'><b>a b c</b></a>", "<a href='?x&amp;y=\"'><b>%s</b></a>" % right[0]),
    ("<p><img src=a.png></p>", "<p><img src=a.png></p>"),
    ("<script>a < b</script><pre>a b c</pre>", "<script>a < b</script><pre>a b c</pre>"),
    ("", ""),
):
    status, json_, _ = s.translate(q, format="html")
    check(status == 200 and json_ == {"translatedText": answer}, (q, json_))
check(s.translate(["<p>a b c", "d"], format="html", alternatives=2)[1] == {
    "translatedText": ["<p>" + right[0], right[1]],
    "alternatives": [["<p>" + x for x in best[1:]], s.translate("d", alternatives=2)[1]["alternatives"]]}, "HTML with alternatives")
status, json_, _ = s.request("POST", "/translate", urllib.parse.urlencode({"q": "<p>d</p>", "source": "en", "target": "fr", "format": "html"}), form)
check(json_ == {"translatedText": "<p>%s</p>" % right[1]}, json_)
words = right[0].split()
links = [t for s_, t in mine[0]["alignment"] if s_ == 1]
if len(links) == 1:
    words[links[0]] = "<b>%s</b>" % words[links[0]]
check(len(links) != 1 or s.translate("a <b>b</b> c", format="html")[1]["translatedText"] == " ".join(words), words)
for q in ("a <b>b <i>c</b> d</i>", "a <b", "<b>a</b> b <i>c</i> d<br>e &lt;f&gt; &eacute;", "</b> a < b > c <img alt='>'> d", "<td>a<td><b>b", "<q x='>a"):
    found = s.translate(q, format="html")[1]["translatedText"]
    check(sorted(re.findall(r"<[a-z/][^>']*(?:'[^']*'[^>]*)?>", found)) == sorted(re.findall(r"<[a-z/][^>']*(?:'[^']*'[^>]*)?>", q)), (q, found))

# --compute: as attend translate; where it is slow, the log says so
in_bf16 = Server("--rate", "0", "--compute", "bf16", environment={"ATTEND_KERNEL": "plain"})
theirs = [json.loads(x) for x in translate("model", lines[:2], "--json", "--alignment", "soft", "--compute", "bf16", environment={"ATTEND_KERNEL": "plain"})]
mine = [in_bf16.translate(q, attention=True)[1]["attention"][0] for q in lines[:2]]
check([x["weights"] for x in mine] == [x["weights"] for x in theirs], (mine, theirs))
check(mine[0]["weights"] != s.translate(lines[0], attention=True)[1]["attention"][0]["weights"], "bf16 is fp32")
check("attend serve: products in bf16 are not faster" in "".join(in_bf16.log()), in_bf16.log())

# tags follow the alignment of the model: read as computed, read one step later, or of the alignment head
train("guided", 1, extra=("--guided-alignment", "auto"))
shutil.copy("model", "shifted")
with open("back.tsv", "w") as f:
    f.write("".join("%s\t%s\n" % pair for pair in zip(lines, right) if pair[0]))
by_shift = subprocess.run([ATTEND, "align", "--model", "model", "--input", "back.tsv", "--shift"], capture_output=True, check=True).stdout
with open("links", "wb") as f:
    f.write(by_shift)
subprocess.run([ATTEND, "align", "--model", "shifted", "--input", "back.tsv", "--gold", "links", "--select-map", "--quiet"], capture_output=True, check=True)
readers = Server("--rate", "0", models=("en-a=model", "en-b=shifted", "en-c=guided"))
placed = {}
for target, model in (("a", "model"), ("b", "shifted"), ("c", "guided")):
    for source in ("a b c", "h g f e", "b d a c e"):
        words = translate(model, [source])[0].split()
        with open("pair.tsv", "w") as f:
            f.write(source + "\t" + " ".join(words) + "\n")
        links = subprocess.run([ATTEND, "align", "--model", model, "--input", "pair.tsv"], capture_output=True, check=True).stdout.decode().split()
        links = [[int(x) for x in link.split("-")] for link in links]
        for k, word in enumerate(source.split()):
            linked = [t for s_, t in links if s_ == k]
            if len(linked) != 1:
                continue
            q = " ".join("<b>%s</b>" % w if i == k else w for i, w in enumerate(source.split()))
            answer = " ".join("<b>%s</b>" % w if i == linked[0] else w for i, w in enumerate(words))
            check(readers.translate(q, target=target, format="html")[1]["translatedText"] == answer, (model, q, links, answer))
            placed.setdefault(model, []).append((q, answer))
check(len(placed["model"]) > 5 and len(placed["shifted"]) > 3 and len(placed["guided"]) > 5, placed)
check(placed["model"] != placed["shifted"], placed)

# errors
for body, type_, status, part in (
    ('{"q": "a", "source": "en", "target": "zz"}', "application/json", 400, "zz is not supported"),
    ('{"q": "a", "source": "zz", "target": "fr"}', "application/json", 400, "not supported"),
    ('{"source": "en", "target": "fr"}', "application/json", 400, "q is missing"),
    ('{"q": "a", "target": "fr"}', "application/json", 400, "source is missing"),
    ('{"q": "a", "source": "en"}', "application/json", 400, "target is missing"),
    ('{"q": "a", "q": "b", "source": "en", "target": "fr"}', "application/json", 400, "same name"),
    ('{"q": 5, "source": "en", "target": "fr"}', "application/json", 400, "string is missing"),
    ('{"q": ["a", 5], "source": "en", "target": "fr"}', "application/json", 400, "string is missing"),
    ('{"q": "a\\u0000", "source": "en", "target": "fr"}', "application/json", 400, "U+0000"),
    ('{"q": "a\xff"}', "application/json", 400, "UTF-8"),
    ('{"q": "a"', "application/json", 400, "missing"),
    ('{"q": "a"} x', "application/json", 400, "follows"),
    ("", "application/json", 400, "missing"),
    ('{"q": "a", "source": "en", "target": "fr", "format": "markdown"}', "application/json", 400, "format"),
    ('{"q": "a", "source": "en", "target": "fr", "alternatives": -1}', "application/json", 400, "negative"),
    ('{"x": ' + "[" * 100000 + "]" * 100000 + ', "q": "a"}', "application/json", 400, "nested too deeply"),
    ('{"q": null, "source": "en", "target": "fr"}', "application/json", 400, "parameter q is missing"),
    ('{"q": [null], "source": "en", "target": "fr"}', "application/json", 400, "q: a string is missing"),
    ('{"q": "a", "source": null, "target": "fr"}', "application/json", 400, "source is missing"),
    ('{"q": "a", "source": nul, "target": "fr"}', "application/json", 400, "source: "),
    ('{"q": "a", "source": "en", "target": 1}', "application/json", 400, "target: a string is missing"),
    ('{"q": "a", "source": "en", "target": "fr", "attention": "x"}', "application/json", 400, "attention: true or false is missing"),
    ('{"q": "a", "source": "en", "target": "fr", "alternatives": 1.5}', "application/json", 400, "alternatives: a number is not an integer"),
    ('{"q": "a", "source": "en", "target": "fr", "alternatives": "x"}', "application/json", 400, "alternatives: "),
    ('{"q": "a", "source": "en", "target": "fr", "alternatives": ""}', "application/json", 400, "alternatives: "),
    ("q=%zz&source=en&target=fr", "application/x-www-form-urlencoded", 400, "escape"),
    ("q=%00&source=en&target=fr", "application/x-www-form-urlencoded", 400, "escape"),
    ("q=a&source=en&source=en&target=fr", "application/x-www-form-urlencoded", 400, "same name"),
    ("q=%ff&source=en&target=fr", "application/x-www-form-urlencoded", 400, "not UTF-8"),
    ("q=a&alternatives=x&source=en&target=fr", "application/x-www-form-urlencoded", 400, "alternatives"),
    ("q=a", "multipart/form-data", 415, "application/json"),
):
    answer = s.request("POST", "/translate", body.encode("latin-1"), {"Content-Type": type_})
    check(answer[0] == status and part in answer[1]["error"], (body[:60], answer[:2]))
deep = '{"x": {"y": [[1, {"z": [true, null, "a"]}], []]}, "q": "d", "source": "en", "target": "fr"}'
check(s.request("POST", "/translate", deep, {"Content-Type": "application/json"})[1] == {"translatedText": right[1]}, "unknown fields")
check(s.request("GET", "/nothing")[0] == 404 and s.request("GET", "/translate")[0] == 405, "paths")
status, _, headers = s.request("DELETE", "/languages")
check(status == 405 and headers["Allow"] == "GET, HEAD, OPTIONS", headers)
check(s.request("GET", "/translate")[2]["Allow"] == "POST, OPTIONS", "allowed methods")

# codes with subtags, in any case
t = Server("--rate", "0", models=("en-pt-BR=model", "zh-Hans-en=other", "zh-Hans-pt-BR=other", "en_US-src=model"))
for source, target, answer in (("en", "pt-BR", right), ("EN", "pt_br", right), ("zh-hans", "EN", german), ("zh-Hans", "pt-BR", german), ("en-us", "src", right)):
    status, json_, _ = t.translate("a b c", source=source, target=target)
    check(json_ == {"translatedText": answer[0]}, (source, target, json_))
check(t.translate("a", source="zh", target="en")[0] == 400 and t.translate("a", source="en", target="pt")[0] == 400, "another language")
check([(l["code"], l["name"], l["targets"]) for l in t.request("GET", "/languages")[1]][1] == ("zh-Hans", "Chinese (simplified)", ["en", "pt-BR"]), "languages")
t.stop()
for wrong in ("en-pt-br", "en", "-en", "en-", "en--fr", "en-pt-BR-", "a" * 40 + "-en"):
    run = subprocess.run([ATTEND, "serve", "--model", wrong + "=model", "--listen", "127.0.0.1:0", "--model", "x-y=nothing"], capture_output=True, timeout=60)
    check(run.returncode == 2 and b"en-pt-BR=FILE" in run.stderr, (wrong, run))

# the rest of the API
languages = s.request("GET", "/languages")[1]
check(languages == [{"code": "en", "name": "English", "targets": ["fr", "de"]}, {"code": "it", "name": "Italian", "targets": ["de"]}], languages)
settings = s.request("GET", "/frontend/settings")[1]
check(settings["keyRequired"] is False and settings["language"]["target"] == {"code": "fr", "name": "French"}, settings)
check(s.request("POST", "/detect", "q=a", form)[0] == 400, "several sources")
check(s.request("GET", "/health")[1] == {"status": "ok"}, "health")
status, text, headers = s.request("HEAD", "/health")
check(status == 200 and text == "" and headers["Content-Length"] == "17", (text, headers))
check(s.metric("answers_total") > 40, "metrics")
wait_for("no line is decoded", lambda: s.metric("lines_decoding") == 0)  # a worker counts after it has answered
s.stop()

# other origins, only if they are allowed; the log as JSON
s = Server("--allow-origin", "https://example.org", "--log", "json", listen="[::1]:0")
import http.client

c = http.client.HTTPConnection("::1", s.port, timeout=60)
for origin, allowed in (("https://example.org", True), ("https://other.example", False)):
    c.request("OPTIONS", "/translate", headers={"Origin": origin})
    r = c.getresponse()
    r.read()
    check((r.getheader("Access-Control-Allow-Origin") == origin) == allowed and r.status == 204, origin)
c.close()
s.stop()
entries = [json.loads(line) for line in s.log()]
check(sorted(e["event"] for e in entries) == ["ready", "request", "request", "stop"], entries)  # a request is logged after its answer
check(entries[1]["status"] == 204 and entries[1]["path"] == "/translate" and entries[1]["client"] == "::1", entries[1])

# behind a proxy, the log has the address that the proxy reports, and another client's header changes nothing
for options, address in ((("--behind-proxy",), "10.2.3.4"), ((), "127.0.0.1")):
    s = Server("--log", "json", *options)
    check(s.translate("a", headers={"X-Forwarded-For": "10.9.9.9, 10.2.3.4"})[0] == 200, "a translation")
    s.stop()
    entries = [json.loads(line) for line in s.log()]
    check([e["client"] for e in entries if e["event"] == "request"] == [address], entries)
print("ok")
