"""The page of attend_view_html in a browser: check_page.py PAGE_TOOL [DIRECTORY]

Drives headless Chromium over WebDriver with the standard library only: points, clicks and presses keys, and checks what the page then shows. The
console must stay empty, and the page must request nothing from the network. With DIRECTORY: writes screenshots there. Skipped (77) without chromium and
chromedriver."""
import base64
import http.client
import json
import math
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time

from peer import skip

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
KEYS = {"left": "\ue012", "up": "\ue013", "right": "\ue014", "down": "\ue015", "home": "\ue011", "end": "\ue010", "escape": "\ue00c"}


class Browser:
    def __init__(self, driver, chromium, directory, dark, size, phone=False):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            self.port = s.getsockname()[1]
        self.process = subprocess.Popen([driver, f"--port={self.port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        arguments = ["--headless=new", "--disable-gpu", "--hide-scrollbars", f"--window-size={size[0]},{size[1]}", "--lang=en",
                     "--force-color-profile=srgb"]
        if os.geteuid() == 0:
            arguments.append("--no-sandbox")
        if dark:
            arguments.append("--force-dark-mode")
        options = {"binary": chromium, "args": arguments, "prefs": {"download.default_directory": str(directory)}}
        if phone:
            options["mobileEmulation"] = {"deviceMetrics": {"width": size[0], "height": size[1], "pixelRatio": 2, "touch": True}}
        capabilities = {"browserName": "chrome", "goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"}}
        for _ in range(200):
            try:
                self.session = ""
                self.session = "/session/" + self.call("POST", "/session", {"capabilities": {"alwaysMatch": capabilities}})["sessionId"]
                break
            except ConnectionError:
                time.sleep(0.1)
        else:
            raise RuntimeError("chromedriver does not answer")
        self.call("POST", "/goog/cdp/execute", {"cmd": "Emulation.setEmulatedMedia",
                  "params": {"features": [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]}})

    def call(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        connection.request(method, self.session + path, json.dumps(body) if body is not None else None, {"Content-Type": "application/json"})
        value = json.loads(connection.getresponse().read())["value"]
        connection.close()
        if isinstance(value, dict) and "error" in value:
            raise RuntimeError(f"{path}: {value['error']}: {value['message'].splitlines()[0]}")
        return value

    def close(self):
        try:
            self.call("DELETE", "")
        finally:
            self.process.terminate()
            self.process.wait()

    def run(self, script, *arguments):
        return self.call("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def find(self, selector):
        return self.call("POST", "/element", {"using": "css selector", "value": selector})[ELEMENT]

    def click(self, selector):
        self.call("POST", f"/element/{self.find(selector)}/click", {})

    def hover(self, selector):
        """Moves the mouse over the middle of an element."""
        self.run("document.querySelector(arguments[0]).scrollIntoView({block: 'center', inline: 'center'})", selector)
        self.call("POST", "/actions", {"actions": [{"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": [
            {"type": "pointerMove", "duration": 0, "x": 0, "y": 0, "origin": {ELEMENT: self.find(selector)}}]}]})

    def press(self, *keys):
        actions = []
        for key in keys:
            value = KEYS.get(key, key)
            actions += [{"type": "keyDown", "value": value}, {"type": "keyUp", "value": value}]
        self.call("POST", "/actions", {"actions": [{"type": "key", "id": "keys", "actions": actions}]})

    def text(self, selector):
        return self.run("return document.querySelector(arguments[0]).innerText", selector)

    def log(self, kind):
        return self.call("POST", "/se/log", {"type": kind})

    def picture(self, path):
        path.write_bytes(base64.b64decode(self.call("GET", "/screenshot")))


def check(condition, what):
    if not condition:
        raise AssertionError(what)


def word(side, index):
    return f'#view [data-side="{side}"][data-index="{index}"]'


def open_sentence(b, starts):
    """Selects the sentence whose source starts with the given text."""
    found = b.run("""for (const x of document.querySelectorAll("#sentences button"))
        if (x.querySelector(".line").textContent.startsWith(arguments[0])) { x.click(); return true; } return false""", starts)
    check(found, f"no sentence {starts}")


def check_pointing(b):
    open_sentence(b, "The agreement")
    check(b.run("return document.querySelectorAll('#hypotheses button').length") == 3, "three hypotheses")
    b.hover(word("target", 4))
    seen = b.text("#detail")
    check("zone" in seen and "Area" in seen and "Attends to" in seen and "probability 0." in seen, f"zone attends to Area: {seen}")
    weight = b.run("return viewOf(map(), false, -1, -1).at(4, 6).toFixed(4)")
    check(weight in seen and float(weight) > 0.3, f"{weight} in {seen}")
    b.hover(word("source", 6))
    seen = b.text("#detail")
    check("Receives attention from" in seen and "zone" in seen and weight in seen and "coverage" in seen, f"Area receives attention from zone: {seen}")
    candidates = "return document.querySelectorAll('#detail section:last-child li').length"
    b.hover(word("target", 4))
    check(b.run(candidates) == 5, "five candidates")
    b.click('[data-view="matrix"]')
    b.hover(word("target", 4))
    check(weight in b.text("#detail"), "the matrix shows the same weight")
    b.run("document.getElementById('view').scrollTo(0, 0)")
    frame = b.run("const r = picture.svg.getBoundingClientRect(), p = picture.box({side: 'target', index: 4, other: 6}); return [r.left + p.x + p.cell / 2, r.top + p.y + p.cell / 2]")
    b.call("POST", "/actions", {"actions": [{"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": [
        {"type": "pointerMove", "duration": 0, "x": int(frame[0]), "y": int(frame[1]), "origin": "viewport"}]}]})
    check(b.run("return picture.svg.textContent").count(weight) == 1, "the weight stands beside its cell")
    b.click('[data-view="text"]')
    b.hover(word("source", 6))
    colour = b.run("return document.querySelector(arguments[0]).style.backgroundColor", word("target", 4))
    check(colour.startswith("rgb"), "the text is tinted")


def check_numbers(b):
    """Weights between words, entropy, coverage and other statistics, against their definitions."""
    for i in range(b.run("return data.sentences.length")):
        m = b.run("return data.sentences[arguments[0]][0]", i)
        if not m["weights"]:
            continue
        T, S, maps = len(m["targetTokens"]), len(m["sourceTokens"]), m["layers"] * m["heads"]
        mean = [[sum(m["weights"][(k * T + t) * S + s] for k in range(maps)) / maps / 10000 for s in range(S)] for t in range(T)]
        words = []
        for t in range(len(m["targetWords"])):
            rows = [mean[k] for k in range(T) if m["targetWord"][k] == t]
            words += [sum(row[k] for row in rows for k in range(S) if m["sourceWord"][k] == s) / len(rows) for s in range(len(m["sourceWords"]))]
        shown = b.run("return Array.from(viewOf(data.sentences[arguments[0]][0], false, -1, -1).weights)", i)
        check(len(shown) == len(words) and all(abs(x - y) < 1e-9 for x, y in zip(shown, words)), f"sentence {i + 1}: weights between words")
        entropy = sum(-w * math.log2(w) for row in mean for w in row if w > 0) / T
        coverage = [sum(mean[t][k] for t in range(T) for k in range(S) if m["sourceWord"][k] == s) for s in range(len(m["sourceWords"]))]
        statistics = b.run("return statisticsOf(data.sentences[arguments[0]][0], -1, -1)", i)
        check(abs(statistics["entropy"] - entropy) < 1e-9, f"sentence {i + 1}: entropy")
        check(abs(statistics["confidence"] - math.exp(m["logProbability"] / 10000 / T)) < 1e-9, f"sentence {i + 1}: confidence")
        check(statistics["uncovered"] == [s for s, c in enumerate(coverage) if c < 0.2], f"sentence {i + 1}: words not covered")
    for words, loop in (("a b c a b c", True), ("x a b c d a b c d", True), ("a b a b", False), ("a a a a a a", True), ("a b c a b", False), ("", False)):
        check(b.run("return loopOf(arguments[0]) !== null", words.split()) is loop, f"loop: {words}")


def check_switches(b):
    open_sentence(b, "The agreement")
    b.click('[data-view="links"]')
    check(b.run("return view.target.length") == 14, "14 words")
    b.click('[data-by-token="1"]')
    check(b.run("return view.target.length") == 18, "18 tokens with </s>")
    check(b.run("return Math.abs(1 - view.source.reduce((sum, _, s) => sum + view.at(3, s), 0)) < 0.002"), "rows sum to 1")
    b.click('[data-by-token=""]')
    b.click('#hypotheses button:nth-child(2)')
    check("espace" in b.text("#view"), "the second hypothesis")
    check(b.run("return document.querySelector('#hypotheses button:nth-child(2)').getAttribute('aria-checked')") == "true", "is marked")
    shown = b.run("return [...document.querySelectorAll('#sentences button')].map((x) => firstStatistics(sentences[x.dataset.sentence][0]).confidence)")
    check(shown == sorted(shown), "the sentence with the lowest confidence is first")
    b.run("const o = document.getElementById('order'); o.value = 'file'; o.dispatchEvent(new Event('change'))")
    order = b.run("return [...document.querySelectorAll('#sentences button')].map((x) => Number(x.dataset.sentence))")
    check(order == list(range(len(order))), "the order of the file")
    open_sentence(b, "many heads")
    check(b.run("return !document.getElementById('layer-choice').hidden && document.getElementById('head').options.length") == 4, "three heads and their mean")
    before = b.run("return view.at(0, 0)")
    b.run("const h = document.getElementById('head'); h.value = 0; h.dispatchEvent(new Event('change'))")
    check(b.run("return view.at(0, 0)") > before, "the first head is sharper than the mean")
    b.press("a", "a")
    check(b.run("return [chosen().layer, chosen().head]") == [0, 2], "a selects the third")
    b.run("chosen().layer = chosen().head = -1; refresh()")
    open_sentence(b, "I went home")
    check("Repetition" in b.text("#warnings") and "je suis allé" in b.text("#warnings"), "a repetition is reported")
    check("Not covered" in b.text("#warnings"), "words that are not covered are reported")
    check("⁇" not in b.text("#view") + b.text("#caption") + b.text("#warnings"), "nothing is unknown")
    open_sentence(b, "the wombat sleeps")
    check("Not in the training data (⁇):" in b.text("#warnings") and "wombat" in b.text("#warnings"), "unknown words are reported")
    for key in "1", "2", "3":
        b.press(key)
        check("wombat⁇" in b.text("#view") and "sleeps⁇" not in b.text("#view"), "an unknown word is marked in view " + key)
    check("⁇ not in the training data" in b.text("#caption"), "the caption explains the mark")
    b.press("1")
    open_sentence(b, "a model without")
    check("no attention" in b.text("#warnings"), "no attention is reported")
    b.hover(word("target", 1))
    check("Modell" in b.text("#detail"), "candidates without attention")
    open_sentence(b, "control")
    check("␁" in b.text("#view") and "\ufffd" in b.text("#view"), "what cannot be seen is shown")
    b.press("1", "2", "3", "1")


def check_keys(b):
    open_sentence(b, "The agreement")
    b.press("1", "escape", "right")
    check(b.run("return [state.selected.side, state.selected.index]") == ["target", 0], "the first word")
    b.press("down", "down")
    rows = b.run("return picture.rows")
    check(b.run("return state.selected.index") == (0 if rows else 2), "down, in columns: the next word")
    b.press("home", "end")
    check(b.run("return state.selected.index") == 13, "the last word")
    b.press("up" if rows else "left")
    check(b.run("return [state.selected.side, state.selected.index]") == ["source", 12], "over to the partner")
    b.press("2", "escape", "right", "right", "down")
    check(b.run("return [state.selected.index, state.selected.other]") == [1, 1], "in the matrix")
    check(b.run("return view.at(1, 1).toFixed(4)") in b.text("#view"), "with its weight")
    b.press("h")
    check(b.run("return state.hypothesis") == 1, "the next hypothesis")
    b.press("H", "j")
    check(b.run("return [state.hypothesis, state.sentence]") == [0, 1], "the next sentence, as in the file")
    b.press("k", "w")
    check(b.run("return state.byToken") is True, "tokens")
    b.press("w", "o", "?")
    check(b.run("return document.getElementById('help').open") is True and "hypothesis" in b.text("#help"), "help")
    check(b.run("return document.getElementById('help').scrollTop") == 0, "from its beginning")
    b.press("escape")
    check(b.run("return document.getElementById('help').open") is False, "help is closed")
    b.press("d", "d")
    check(b.run("return document.documentElement.dataset.theme") == "dark", "dark")
    b.press("d")
    check(b.run("return document.documentElement.dataset.theme") == "light", "as the system has it")
    b.press("o", "o", "1", "escape")


def shown_kinds(b):
    return b.run("return document.getElementById('kinds').hidden ? [] : [...document.querySelectorAll('[data-kind]')].map((x) => x.dataset.kind + (x.disabled ? '-' : x.getAttribute('aria-pressed') === 'true' ? '+' : ''))")


def check_kinds(b):
    """A sentence of a model with cross-attention and self-attention on both sides; figures and details belong to the attention kind that is shown."""
    open_sentence(b, "It looked at")
    check(shown_kinds(b) == ["cross+", "encoder", "decoder"], f"three attention kinds: {shown_kinds(b)}")
    check(b.run("return document.querySelectorAll('#hypotheses button').length") == 3, "as many hypotheses as maps of the first attention kind")
    for key, before, after in (("a", [1, -1], [1, 0]), ("A", [1, -1], [0, 3]), ("a", [0, -1], [0, 0]), ("A", [0, -1], [-1, -1]), ("a", [1, 3], [-1, -1]), ("A", [-1, -1], [1, 3])):
        b.run("[chosen().layer, chosen().head] = arguments[0]; refresh()", before)
        b.press(key)
        check(b.run("return [chosen().layer, chosen().head]") == after, f"{key} goes from {before} to {after}")
    b.run("chosen().layer = 1; chosen().head = 2; refresh()")
    b.press("2", "l")
    check(shown_kinds(b) == ["cross", "encoder+", "decoder"], "the next attention kind is the encoder's")
    check(b.run("return [map().attention, chosen().layer, chosen().head, document.getElementById('layer').options.length]") == ["encoder", -1, -1, 4], "with layers of its own")
    check(b.run("return document.getElementById('view').innerText").count("prob.") == 0, "an encoder has no probabilities")
    check("confidence" not in b.text("#figures") and "log prob" not in b.text("#figures") and "entropy" in b.text("#figures"), b.text("#figures"))
    b.hover(word("target", 1))
    seen = b.text("#detail")
    check("attends" in seen and "Attends to" in seen and "Candidates" not in seen and "probability" not in seen and "NaN" not in seen, seen)
    b.press("1")
    b.hover(word("source", 2))
    check("attended to" in b.text("#detail") and "Receives attention from" in b.text("#detail"), b.text("#detail"))
    b.press("l", "2")
    check(b.run("return map().attention") == "decoder" and "confidence" in b.text("#figures") and "coverage" not in b.text("#figures"), "the decoder's")
    check(b.run("return view.causal && view.at(1, 0) > 0 && view.at(0, 1) === 0"), "the map is causal")
    b.press("w", "escape", "right")
    check(b.run("return [view.target[0].text, view.source[0].text]") == ["<s>", "<s>"], "begins with <s>")
    seen = b.text("#detail")
    check("<s>" in seen and "probability" not in seen and "Candidates" not in seen and "NaN" not in seen, f"<s> has no probability: {seen}")
    b.press("down")
    check("probability 0." in b.text("#detail") and "Candidates" in b.text("#detail"), f"the next row has one: {b.text('#detail')}")
    b.press("w", "h")
    check(b.run("return [map().attention, map().target]") == ["decoder", "Es sah alles an"], "the next hypothesis, with the same attention kind")
    b.press("L")
    check(b.run("return map().attention") == "encoder", "all hypotheses share the encoder's map")
    b.press("L")
    check(b.run("return [map().attention, chosen().layer, chosen().head]") == ["cross", 1, 2], "the first attention kind keeps its layer and head")
    b.click('[data-kind="decoder"]')
    b.press("h")
    check(shown_kinds(b) == ["cross+", "encoder", "decoder-"], f"an attention kind that was left out: {shown_kinds(b)}")
    check("left out" in b.run("return document.querySelector('[data-kind=\"decoder\"]').title"), "and why")
    open_sentence(b, "narrow page")
    check(shown_kinds(b) == ["cross+", "encoder-", "decoder-"], f"attention kinds that were left out: {shown_kinds(b)}")
    b.press("l", "l", "L")
    check(b.run("return map().attention") == "cross", "keys skip them")
    b.run("state.kind = 'cross'; chosen().layer = chosen().head = -1; state.hypothesis = 0; refresh()")
    b.press("1", "escape")


def check_text(b):
    """A language model: self-attention of one sentence."""
    check(shown_kinds(b) == ["decoder+"], f"the only attention kind is named: {shown_kinds(b)}")
    open_sentence(b, "the cat sat")
    check(b.run("return document.getElementById('hypotheses').hidden"), "no search, no hypotheses")
    check(b.text("#source-text").startswith("the cat sat on the mat"), "the text is the heading")
    b.press("1", "escape", "right")
    check(b.run("return document.querySelectorAll('#view [data-side]').length") == 22, "two rows of the same words")
    for key in "123":
        b.press(key)
        check("NaN" not in b.run("return document.body.innerText"), f"no NaN in view {key}")
    open_sentence(b, "שלום")
    b.press("2")
    x = b.run("return [0, 1].map((s) => picture.box({side: 'source', index: s}).x)")
    check(x[0] > x[1], "columns from the right")
    open_sentence(b, "and and")
    check("Repetition" in b.text("#warnings"), "a repetition is reported")
    b.press("1", "escape", "l")


def check_rest(b):
    """Rows and their rest sum to 1, in the matrix and in the details of a word."""
    open_sentence(b, "The agreement")
    b.press("2", "escape")
    check(b.run("return view.rest") and "(rest)" in b.run("return picture.svg.textContent"), "a column for the rest")
    sums = b.run("return view.target.map((unit, t) => view.source.reduce((sum, _, s) => sum + view.at(t, s), unit.rest))")
    check(all(abs(x - 1) < 2e-3 for x in sums), f"rows sum to 1: {sums}")
    b.press("right")
    rest = b.run("return view.target[0].rest.toFixed(4)")
    check("(rest)" in b.text("#detail") and rest in b.text("#detail"), f"the rest of a word: {b.text('#detail')}")
    b.press("w")
    check(not b.run("return view.rest"), "tokens have no rest: their ends are shown")
    b.press("w", "escape")
    leaning = "return [...picture.svg.querySelectorAll('text[data-side=source]')].filter((text) => text.hasAttribute('transform')).length"
    check(b.run(leaning) == b.run("return view.source.length"), "labels lean where one is wider than its column")
    open_sentence(b, "a b c d")
    check(b.run(leaning) == 0, "short labels are upright")


def check_idle_text(b):
    """The text view says something before the pointer moves."""
    open_sentence(b, "It should be")
    b.press("escape", "3")
    check("source word is shaded" in b.text("#view .note") and "Point at a word" in b.text("#view .note"), b.text("#view"))
    check("less probable" in b.text("#view .note") and "less attention" in b.text("#view .note"), b.text("#view"))
    shades = b.run("return view.target.map((unit, i) => [1 - unit.probability, document.querySelector(`#view [data-side='target'][data-index='${i}']`).style.backgroundColor])")
    check(sum(1 for _, colour in shades if colour) >= 5, f"improbable words are shaded: {shades}")
    lightness = [(doubt, sum(int(x) for x in colour[4:-1].split(","))) for doubt, colour in shades if colour]
    check(all(a[1] >= c[1] for a, c in zip(sorted(lightness), sorted(lightness)[1:])), "the less probable, the darker")
    b.hover(word("target", 3))
    check(b.run("return document.querySelector(arguments[0]).style.backgroundColor", word("target", 1)) == "", "pointing shows weights instead")
    b.press("1", "escape")


def check_help(b):
    """Every number on the page is explained."""
    b.press("?")
    terms = b.run("return [...document.querySelectorAll('#help .terms dt')].map((x) => x.textContent)")
    b.press("escape")
    named = set()
    for i in range(b.run("return sentences.length")):
        b.run("if (sentences[arguments[0]].length) chooseSentence(arguments[0])", i)
        named.update(b.run("return [...document.querySelectorAll('#figures dt')].map((x) => x.textContent)"))
    check({"confidence", "log probability", "score", "entropy", "coverage"} == named, f"figures: {named}")
    for name in list(named) + ["weight", "(rest)", "probability", "candidates", "step", "layer, head", "uncovered, repeats"]:
        check(name in terms, f"? explains {name}: {terms}")


def check_heads(b):
    """All layers and heads in a grid."""
    open_sentence(b, "The agreement")
    check(b.run("return document.querySelector('[data-view=heads]').hidden"), "one head: no grid")
    b.press("4")
    check(b.run("return shownView()") != "heads", "nor by its key")
    open_sentence(b, "many heads")
    b.press("4")
    shown = b.run("return [...document.querySelectorAll('#view [data-panel]')].map((x) => x.querySelector('title').textContent)")
    check(shown == [f"layer {i // 3}, head {i % 3}" for i in range(6)], f"six maps: {shown}")
    check("cross-attention, all 2 layers and 3 heads" in b.text("#caption"), b.text("#caption"))
    labels = b.run("return [...document.querySelectorAll('#view text')].map((x) => x.textContent)")
    check((labels.count("viele"), labels.count("many")) == (2, 3), f"labels at the margins only: {labels}")
    b.run("document.querySelectorAll('#view [data-panel]')[4].dispatchEvent(new MouseEvent('click', {bubbles: true}))")
    check(b.run("return [shownView(), chosen().layer, chosen().head]") == ["matrix", 1, 1], "a click chooses one")
    check(b.text("#caption") == "cross-attention, layer 1, head 1", b.text("#caption"))
    b.press("4", "right", "escape")
    b.run("chosen().layer = chosen().head = -1; refresh()")
    b.press("1")


def check_models(b):
    """The maps of two models side by side."""
    check(b.run("return shownView()") == "models", "the page begins with both models")
    check(b.run("return document.querySelectorAll('#view [data-panel]').length") == 2, "two maps")
    seen = b.run("return document.querySelector('#view').textContent")
    check("runs/rnn" in seen and "runs/<b>transformer" in seen and "layer 1, mean of 2 heads" in seen, seen)
    names = b.run("return [...document.querySelectorAll('#hypotheses .count')].map((x) => x.textContent)")
    check(names == ["runs/rnn", "runs/<b>transformer"], f"the list names the models: {names}")
    colours = b.run("return [...document.querySelectorAll('#view path')].map((x) => x.getAttribute('fill'))")
    check(colours and all(c[1:3] == c[3:5] == c[5:7] for c in colours), f"the palette is grey: {colours}")
    b.run("document.querySelectorAll('#view [data-panel]')[1].dispatchEvent(new MouseEvent('click', {bubbles: true}))")
    check(b.run("return [shownView(), state.hypothesis]") == ["matrix", 1], "a click chooses one")
    check(b.text("#caption") == "runs/<b>transformer: cross-attention, layer 1, mean of 2 heads", b.text("#caption"))
    b.press("l")
    check(b.run("return map().attention") == "encoder", "the second model has an encoder's map")
    b.press("l", "h")
    check(b.run("return [map().attention, modelOf(map())]") == ["cross", 0] and shown_kinds(b) == ["cross+", "encoder-"], f"the first has none: {shown_kinds(b)}")
    b.press("5")
    check(b.run("return shownView()") == "models", "5 shows both")


def check_wide(b):
    """A wide window has links and matrix beside each other."""
    open_sentence(b, "The agreement")
    b.press("1", "escape")
    frames = b.run("return [...document.querySelectorAll('#view svg')].map((x) => { const r = x.getBoundingClientRect(); return [r.left, r.right, r.top]; })")
    check(len(frames) == 2 and frames[0][1] <= frames[1][0] and frames[0][2] == frames[1][2], f"two pictures in a row: {frames}")
    check(b.run("const v = document.getElementById('view'); return v.scrollWidth <= v.clientWidth"), "both fit")
    b.hover("#view svg:first-child " + word("target", 4).replace("#view ", ""))
    check("zone" in b.text("#detail h3") and b.run("return beside.svg.querySelectorAll('[font-weight=\"700\"]').length") == 1, "both show the word")
    frame = b.run("const r = beside.svg.getBoundingClientRect(), p = beside.box({side: 'target', index: 5, other: 5}); return [r.left + p.x + p.cell / 2, r.top + p.y + p.cell / 2]")
    b.call("POST", "/actions", {"actions": [{"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": [
        {"type": "pointerMove", "duration": 0, "x": int(frame[0]), "y": int(frame[1]), "origin": "viewport"}]}]})
    check(b.run("return [active().side, active().index, active().other]") == ["target", 5, 5], "pointing into the matrix")
    open_sentence(b, "word1 ")
    check(b.run("return document.querySelectorAll('#view svg').length") == 1, "a long sentence has the room for itself")


def check_hostile(b):
    open_sentence(b, "say <script>")
    for key in "123":
        b.press(key)
        shown = b.run("return document.getElementById('view').textContent")
        check("<script>window.bad=1</script>" in shown and "<img" in shown and "&amp;" in shown, f"markup is shown: {shown}")
    b.press("1")
    check(b.text("#source-text").startswith("say <script>window.bad=1</script> & \"quotes\" 'single' \\u0041"), "the text of the sentence is unchanged")
    check(b.run("return window.bad === undefined"), "markup is not executed")
    check(b.run("return document.title").startswith("</title><script>"), "the title is text")
    check(b.run("return document.images.length + document.scripts.length") == 2, "no element was injected")
    stopped = b.run("""return new Promise((done) => { addEventListener("securitypolicyviolation", (e) => done(e.effectiveDirective));
        const s = document.createElement("script"); s.textContent = "window.bad = 4"; document.body.append(s); s.remove(); })""")
    check(stopped == "script-src-elem" and b.run("return window.bad === undefined"), "an injected script does not run")
    b.log("browser") # discards the provoked message
    beyond = b.run("""return [...document.querySelectorAll("#sentences .under")].filter((x) => x.scrollWidth > x.clientWidth).map((x) => x.textContent)""")
    marks = b.run("return Math.max(...[...document.querySelectorAll('#sentences .under')].map((x) => x.querySelectorAll('.mark').length))")
    check(not beyond and marks == 2, f"the marks of a sentence are inside the list: {beyond}")


def check_directions(b):
    open_sentence(b, "שלום")
    b.press("1")
    x = b.run("return [0, 1].map((i) => document.querySelector(`#view [data-side='source'][data-index='${i}']`).getBoundingClientRect().left)")
    check(x[0] > x[1] or not b.run("return picture.rows"), "the first word is on the right")
    b.press("escape", "left", "left")
    check(b.run("return state.selected.index") == 1 or not b.run("return picture.rows"), "left: the next word")
    b.press("2")
    x = b.run("return [0, 1].map((s) => picture.box({side: 'source', index: s}).x)")
    check(x[0] > x[1], "columns from the right")
    b.press("3")
    check(b.run("return document.querySelector('.text.source').dir") == "rtl", "the text is written from the right")
    b.press("1", "escape")


def check_long(b):
    open_sentence(b, "word1 ")
    for key in "123":
        begin = time.time()
        b.press(key, "escape", "end", "end")
        took = time.time() - begin
        check(b.run("return state.selected.index") == 199, "the last of 200 words")
        inside = b.run("""const at = document.querySelector(arguments[0]).getBoundingClientRect();
            return at.top >= 0 && at.bottom <= innerHeight + 1 ? "" : [at.top, at.bottom, innerHeight].join()""", word("target", 199))
        check(not inside, f"is in sight in view {key}: {inside}")
        check(took < 20, f"{took:.1f} s")
    spent = b.run("""const now = performance.now(); state.view = "matrix"; refresh(); picture.svg.getBoundingClientRect();
        const drawn = performance.now(); for (let i = 0; i < 50; i++) point({side: "target", index: i}, true);
        return [drawn - now, (performance.now() - drawn) / 50]""")
    print(f"200 words: the matrix drawn in {spent[0]:.0f} ms, a word pointed at in {spent[1]:.1f} ms")
    b.press("1", "escape")


def check_saving(b, directory):
    open_sentence(b, "say <script>")
    for key, kind in (("1", "links"), ("2", "matrix")):
        b.press(key, "s")
        for _ in range(100):
            files = list(directory.glob(f"*-{kind}.svg"))
            if files:
                break
            time.sleep(0.1)
        check(files, f"{kind}: no file was saved")
        import xml.etree.ElementTree
        root = xml.etree.ElementTree.parse(files[0]).getroot()
        check(root.tag.endswith("svg") and "<img" in "".join(root.itertext()), f"{kind}: an SVG with the words in it")
    b.press("1")


def check_phone(b):
    check(b.run("return document.documentElement.dataset.theme") == "dark", "dark, the system's setting")
    for starts in ("The agreement", "word1 ", "שלום", "say <script>", "many heads", "I went", "It looked"):
        open_sentence(b, starts)
        for kind in ("links", "matrix", "text"):
            b.run("scrollTo(0, 0)") # the bar on top may cover the buttons
            b.click(f'[data-view="{kind}"]')
            wide = b.run("return [document.documentElement.scrollWidth, innerWidth]")
            check(wide[0] <= wide[1], f"{starts}, {kind}: {wide[0]} pixels on a screen of {wide[1]}")
            if kind != "matrix":
                b.run("point(null, true); document.querySelector(arguments[0]).dispatchEvent(new MouseEvent('click', {bubbles: true}))", word("target", 1))
                boxes = b.run("return [document.querySelector(arguments[0]), document.getElementById('detail')].map((e) => [e.getBoundingClientRect().top, e.getBoundingClientRect().bottom])",
                               word("target", 1))
                check(0 <= boxes[0][0] and boxes[0][1] <= boxes[1][0], f"{starts}, {kind}: the word and its details are both visible: {boxes}")
                check(b.run("return state.selected.index") == 1, "a tap selects the word")
    b.click("#open-list")
    b.click("#sentences button")
    check(b.run("return !document.body.classList.contains('listing') && state.sentence === orderOfSentences()[0]"), "the list opens and closes")


def check_quiet(b, page):
    problems = [entry["message"] for entry in b.log("browser") if entry["level"] != "INFO"]
    check(not problems, f"messages on the console: {problems}")
    asked = set()
    for entry in b.log("performance"):
        message = json.loads(entry["message"])["message"]
        if message["method"] == "Network.requestWillBeSent":
            asked.add(message["params"]["request"]["url"].split(":")[0] + ":" + message["params"]["request"]["url"][-10:])
    outside = [url for url in asked if not url.startswith(("file:", "data:", "blob:"))]
    check(not outside and len([u for u in asked if u.startswith("file:")]) <= 1, f"requests: {asked}")
    check(b.run("return performance.getEntriesByType('resource').filter((e) => !/^(data|blob):/.test(e.name)).length") == 0, "resources")


def take_pictures(driver, chromium, directory, page, example, text, models):
    for name, size, phone in (("desktop", (1280, 860), False), ("wide", (1920, 1000), False), ("phone", (390, 844), True)):
        for dark in (False, True):
            b = Browser(driver, chromium, directory, dark, size, phone)
            try:
                def take(what):
                    b.picture(directory / f"{name}-{'dark' if dark else 'light'}-{what}.png")
                b.call("POST", "/url", {"url": example.as_uri()})
                open_sentence(b, "The agreement")
                take("idle")
                for key, what in (("1", "links"), ("2", "matrix"), ("3", "text")):
                    b.press(key)
                    b.run("point({side: 'target', index: 4, other: arguments[0] ? 6 : undefined}, true)", what == "matrix")
                    take(what)
                b.call("POST", "/url", {"url": page.as_uri()})
                for sentence, what in (("word1 ", "long"), ("שלום", "right-to-left"), ("I went", "loop"), ("say <", "markup")):
                    open_sentence(b, sentence)
                    b.press("1", "escape")
                    b.run("point({side: 'target', index: 2}, true)")
                    take(what)
                    if what in ("long", "right-to-left"):
                        b.press("2")
                        take(what + "-matrix")
                open_sentence(b, "It looked")
                for attention in ("encoder", "decoder"):
                    b.press("l")
                    for key, what in (("1", "links"), ("2", "matrix"), ("3", "text")):
                        b.press(key)
                        b.run("point({side: 'target', index: 3, other: arguments[0] ? 2 : undefined}, true)", what == "matrix")
                        take(f"{attention}-{what}")
                b.call("POST", "/url", {"url": text.as_uri()})
                open_sentence(b, "the cat")
                for key, what in (("1", "links"), ("2", "matrix")):
                    b.press(key)
                    b.run("point({side: 'target', index: 6, other: arguments[0] ? 5 : undefined}, true)", what == "matrix")
                    take(f"language-model-{what}")
                b.call("POST", "/url", {"url": models.as_uri()})
                take("models")
                b.press("h", "4")
                take("heads")
                b.press("?")
                take("help")
                b.press("escape")
                if phone:
                    b.click("#open-list")
                    take("list")
            finally:
                b.close()


def main():
    driver = shutil.which("chromedriver")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if not driver or not chromium:
        skip("chromium or chromedriver is not installed (apt-get install chromium chromium-driver)")
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        page, example, text, models = (directory / name for name in ("page.html", "example.html", "text.html", "models.html"))
        subprocess.run([sys.argv[1], page], check=True)
        subprocess.run([sys.argv[1], example, "picture"], check=True)
        subprocess.run([sys.argv[1], text, "text"], check=True)
        subprocess.run([sys.argv[1], models, "models"], check=True)
        b = Browser(driver, chromium, directory, False, (1400, 900))
        try:
            b.call("POST", "/url", {"url": page.as_uri()})
            for part in (check_pointing, check_numbers, check_switches, check_keys, check_kinds, check_rest, check_idle_text, check_help, check_heads, check_hostile, check_directions, check_long):
                part(b)
                print(part.__name__, "is right")
            check_saving(b, directory)
            check_quiet(b, page)
        finally:
            b.close()
        b = Browser(driver, chromium, directory, False, (1400, 900))
        try:
            b.call("POST", "/url", {"url": text.as_uri()})
            check_text(b)
            check_quiet(b, text)
            print("check_text is right")
        finally:
            b.close()
        b = Browser(driver, chromium, directory, False, (2000, 1000))
        try:
            b.call("POST", "/url", {"url": page.as_uri()})
            check_wide(b)
            check_quiet(b, page)
            b.call("POST", "/url", {"url": models.as_uri()})
            check_models(b)
            check_quiet(b, models)
            print("check_wide and check_models are right")
        finally:
            b.close()
        b = Browser(driver, chromium, directory, True, (360, 740), phone=True)
        try:
            b.call("POST", "/url", {"url": page.as_uri()})
            check_phone(b)
            check_quiet(b, page)
            print("check_phone is right")
        finally:
            b.close()
        if len(sys.argv) > 2:
            out = pathlib.Path(sys.argv[2])
            out.mkdir(parents=True, exist_ok=True)
            take_pictures(driver, chromium, out, page, example, text, models)
    print("the page works, its console is empty, and it requests nothing")
    return 0


sys.exit(main())
