"""The page in headless Chromium: typing, map, alternatives, forcing, the beam, keys, right-to-left, markup, a lost connection, phone.

test_page.py ATTEND [DIRECTORY [MODEL TEXT]]: with DIRECTORY, writes screenshots there, of MODEL and TEXT if they are given.
"""

import json
import os
import sys

from browser import Browser, programs
from harness import Server, check, train, translate, wait_for

programs()
PICTURES = os.path.abspath(sys.argv[2]) if len(sys.argv) > 2 else None
train("model", 1)
s = Server("--rate", "0", models=("en-fr=model", "he-en=model"))
url = "http://127.0.0.1:%d/" % s.port


def target(b):
    return b.run("return [...document.querySelectorAll('#target p')].map((p) => p.textContent).join('\\n')")


def wait_target(b, text):
    wait_for("the translation " + text, lambda: target(b) == text and not b.run("return document.getElementById('target').classList.contains('old')"))


def ready(b):
    wait_for("languages", lambda: b.run("return document.getElementById('to').options.length > 0"))


def check_quiet(b, allowed=()):
    """Nothing on the console, and requests to this server only."""
    problems = [e["message"] for e in b.log("browser") if e["level"] != "INFO" and not any(a in e["message"] for a in allowed)]
    check(not problems, problems)
    for entry in b.log("performance"):
        message = json.loads(entry["message"])["message"]
        if message["method"] == "Network.requestWillBeSent":
            check(message["params"]["request"]["url"].startswith((url, "data:")), message["params"]["request"]["url"])


# the contrast of a source token that has all the weight with its text, as WCAG 2 defines it
CONTRAST = """const span = document.querySelector('#source-tokens span'), back = getComputedStyle(document.documentElement).backgroundColor;
    shade(span, 1);
    const numbers = (colour) => colour.match(/[\\d.]+/g).map(Number), top = numbers(getComputedStyle(span).backgroundColor), share = top[3] ?? 1;
    const luminance = (rgb) => rgb.slice(0, 3).map((v) => v / 255).map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
        .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
    const of = [luminance(numbers(back).slice(0, 3).map((v, i) => v * (1 - share) + top[i] * share)), luminance(numbers(getComputedStyle(span).color))];
    shade(span, 0);
    return share > 0.2 ? (Math.max(...of) + 0.05) / (Math.min(...of) + 0.05) : 0"""

# the answer: a policy with the hashes of what is in the page
status, text, headers = s.request("GET", "/")
policy = headers["Content-Security-Policy"]
check(status == 200 and headers["Content-Type"].startswith("text/html") and "default-src 'none'" in policy and "unsafe" not in policy, headers)
check("http:" not in text.replace("http://www.w3.org/2000/svg", "") and "https:" not in text, "the page names no other server")

b = Browser()
try:
    b.open(url)
    ready(b)
    # typing
    b.type("a b c d")
    right = translate("model", ["a b c d"])[0]
    wait_target(b, right)
    check(b.run("return document.querySelectorAll('#matrix tbody tr').length") == len(right.split()) + 1, "a row for each target token and the end")
    check(b.run("return document.querySelectorAll('#matrix thead th').length") == 6, "a column for each source token and the end")
    check(b.run("return document.querySelectorAll('#alternatives li').length") >= 1, "alternatives")
    wait_for("the beam", lambda: b.run("return document.querySelectorAll('#tree .best').length") >= len(right.split()))
    check(b.run("return document.querySelectorAll('#tree g.pruned').length") > 0, "pruned branches")
    # the space of a token stays before its button, which could otherwise begin a row with it
    shown = b.run("""const p = showLine({ translation: 'ab cd ', attention: { target: ['ab', ' cd', ' '], probabilities: [1, 1, 1] } }, 0);
        return [p.textContent, ...[...p.querySelectorAll('.token')].map((t) => t.textContent)]""")
    check(shown == ["ab cd ", "ab", "cd", " "], shown)
    # a token and its alternatives, by keys; choosing one forces it
    b.run("document.querySelector('#target .token').focus()")
    check(b.run("return document.querySelectorAll('#matrix tr.current').length") == 1, "the row of the token")
    b.press("right", "enter")
    choices = b.run("return [...document.querySelectorAll('#choices [role=option] bdi')].map((x) => x.textContent)")
    check(right.split()[1] in choices and len(choices) >= 2, choices)
    check(b.run("return document.querySelector('#choices [aria-selected=true] bdi').textContent") == right.split()[1], "the one that was chosen")
    b.press("escape")
    check(b.run("return document.getElementById('choices').hidden"), "closed")
    b.press("enter")
    wanted = next(c for c in choices if c != right.split()[1] and c in "abcdefgh")
    b.run("""for (const li of document.querySelectorAll('#choices [role=option]'))
        if (li.querySelector('bdi').textContent === arguments[0]) { li.click(); return }""", wanted)
    prefix = right.split()[0] + " " + wanted
    with open("prefix", "w") as f:
        f.write(prefix + "\n")
    forced = translate("model", ["a b c d"], "--prefix", "prefix")[0]
    wait_target(b, forced)
    check(b.text("#forced-text") == prefix and not b.run("return document.getElementById('forced').hidden"), "what is forced")
    b.run("document.activeElement.blur()")
    b.press("u")
    wait_target(b, right)
    # a node of the beam
    wait_for("the beam", lambda: b.run("return document.querySelectorAll('#tree .best').length") > 0)
    b.run("""const g = [...document.querySelectorAll('#tree g.kept[role=button]:not(.best):not(.ended)')].find((g) => g.querySelector('rect').getAttribute('x') === '10');
        window.chosen = g.querySelector('text').textContent; g.dispatchEvent(new MouseEvent('click'))""")
    chosen = b.run("return window.chosen")
    wait_for("the chosen node", lambda: target(b).startswith(chosen) and b.text("#forced-text") == chosen)
    b.press("u")
    # switches
    b.press("p")
    check(b.run("return document.getElementById('tree').classList.contains('only-kept')"), "pruned branches are hidden")
    b.press("d")
    check(b.run("return document.documentElement.dataset.theme") == "light", "theme")
    contrast = [b.run(CONTRAST)]
    b.press("d")
    contrast.append(b.run(CONTRAST))
    check(min(contrast) > 4.5, "shaded text is readable in light and dark: %s" % contrast)
    b.press("d", "?")
    check(b.run("return document.getElementById('help').open"), "help")
    b.press("escape")
    b.press("/")
    check(b.run("return document.activeElement.id") == "source", "the text has the focus")
    # several lines; another line by a click
    b.type("a b\n\nc d e")
    lines = translate("model", ["a b", "", "c d e"])
    wait_target(b, "\n".join(lines))
    wait_for("the beam", lambda: b.run("return document.querySelectorAll('#tree .best').length") > 0)
    b.click("#target .token[data-line='2']")
    wait_for("the choices", lambda: b.run("return !document.getElementById('choices').hidden && document.querySelectorAll('#choices [role=option]').length > 0"))
    check(b.run("return document.querySelectorAll('#source-tokens span').length") == 4, "the map of the other line")
    # markup is text
    b.type("<script>alert(1)</script> <img src=x onerror=alert(1)> & \"a\"")
    wait_target(b, translate("model", ["<script>alert(1)</script> <img src=x onerror=alert(1)> & \"a\""])[0])
    check(b.run("return document.querySelectorAll('main script, main img').length") == 0, "no elements from texts")
    # right-to-left
    b.run("const f = document.getElementById('from'); f.value = 'he'; f.dispatchEvent(new Event('change'))")
    b.type("שלום a עולם")
    wait_target(b, translate("model", ["שלום a עולם"])[0])
    check(b.run("return getComputedStyle(document.getElementById('source')).direction") == "rtl", "right-to-left")
    b.type("")
    wait_target(b, "")
    check(b.run("return document.getElementById('attention').hidden && document.getElementById('search').hidden"), "nothing for no text")
    check_quiet(b)
    # the connection is lost and comes back; a text typed meanwhile is translated
    port = s.port
    s.stop()
    b.type("a b c")
    wait_for("a message", lambda: "does not answer" in b.text("#status"))
    s = Server("--rate", "0", listen="127.0.0.1:%d" % port, models=("en-fr=model", "he-en=model"))
    wait_target(b, translate("model", ["a b c"])[0])
    check(b.text("#status") == "", b.text("#status"))
    check_quiet(b, allowed=("ERR_CONNECTION_REFUSED", "ERR_CONNECTION_RESET", "ERR_EMPTY_RESPONSE", "status of 503"))
finally:
    b.close()

b = Browser((390, 844), phone=True)
try:
    b.open(url)
    ready(b)
    b.type("a b c d e f a b c d e f\nd")
    wait_target(b, "\n".join(translate("model", ["a b c d e f a b c d e f", "d"])))
    wait_for("the beam", lambda: b.run("return document.querySelectorAll('#tree .best').length") > 0)
    check(b.run("return document.documentElement.scrollWidth <= 390"), "the page is not wider than the phone")
    check_quiet(b)
finally:
    b.close()

if PICTURES:
    os.makedirs(PICTURES, exist_ok=True)
    model, sample = (sys.argv[3], sys.argv[4]) if len(sys.argv) > 4 else ("model", "a b c d e f g h")
    s.stop()
    s = Server("--rate", "0", models=("en-de=" + model, "ar-de=" + model))
    for name, size, phone in (("desktop", (1280, 1000), False), ("phone", (390, 844), True)):
        for dark in (False, True):
            b = Browser(size, dark, phone)
            try:
                b.open("http://127.0.0.1:%d/" % s.port)
                ready(b)
                b.type(sample)
                wait_for("the beam", lambda: b.run("return document.querySelectorAll('#tree .best').length") > 0)
                prefix = "%s/%s-%s-" % (PICTURES, name, "dark" if dark else "light")
                b.picture(prefix + "page.png")
                b.run("document.querySelectorAll('#target .token')[1].focus()")
                b.press("enter")
                b.picture(prefix + "choices.png")
                b.press("escape")
                b.run("document.getElementById('search').scrollIntoView()")
                b.picture(prefix + "beam.png")
                before = target(b)
                b.type("كلب <b>يركض</b> عبر الحقل")
                wait_for("right-to-left", lambda: target(b) != before and not b.run("return document.getElementById('target').classList.contains('old')"))
                b.run("scrollTo(0, 0)")
                b.picture(prefix + "rtl.png")
            finally:
                b.close()
s.stop()
print("ok")
