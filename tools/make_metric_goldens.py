#!/usr/bin/env python3
"""Writes test/golden/metric_*.golden: scores of sacreBLEU (2.x, from PyPI), for test_golden_metrics.c.

    make_metric_goldens.py             write the files
    make_metric_goldens.py --check     compare with the existing files, to 1e-12; write nothing

BLEU, chrF, chrF++ and TER are sacreBLEU's; WER, CER, exact match and token accuracy follow the plain definitions
below. The sentences are our own.

The format: lines that start with # are comments. `lines N R`, then N times `h TEXT` and R times `r TEXT`: a hypothesis
and its references; in them \\xHH is a byte and \\\\ a backslash. Then `KIND TOKENS CASE REFERENCES CORPUS S1 .. SN`: the
score of the corpus and of every sentence as a corpus of its own, printed with %.17g."""
import argparse
import math
import pathlib
import random
import sys

import sacrebleu
from sacrebleu.metrics import BLEU, CHRF, TER

DIRECTORY = pathlib.Path(__file__).resolve().parent.parent / "test" / "golden"
REFERENCES = 3

# ---- the corpora: (hypothesis, reference, reference, reference) ----

MARKS = [
    ("The cat sat on the mat.", "The cat sat on the mat.", "A cat was sitting on the mat.", "On the mat sat the cat."),
    ("It costs 1,000.5 dollars, or 3.14% more.", "It costs 1,000.50 dollars, or 3.1 % more.", "The price: $1,000.5.",
     "It costs 1.000,5 dollars (3,14% more)."),
    ('He said: "Don\'t!" - and left.', 'He said, "Do not!" - and left.', "He said: 'Don't!' and left.",
     "\"Don't\", he said; then he left..."),
    ("Tom &amp; Jerry &lt;3 &quot;cheese&quot; &gt; milk", 'Tom & Jerry <3 "cheese" > milk',
     "Tom &amp;amp; Jerry &amp;lt;3 cheese", "&quot;Tom & Jerry&quot; &lt;3"),
    ("a <skipped> b <skipped>c", "a b c", "a <skipped>b c", "a  b  c <ski<skipped>pped>"),
    ("1990-1995, 10-year-old pre-war e-mail", "1990 - 1995, ten-year-old prewar email", "1990-95: a 10 year old e-mail",
     "1990-1995,10-year-old pre-war e-mail"),
    ("...,,,...", ". . . , , ,", "1.,2", ",.5.,"),
    (".5 and 5. and ,5 and 5, and 5.5. and 5,,5", "0.5 and 5.0 and 0,5 and 5,0 and 5.5 and 5,5",
     ".5 and 5. and ,5 and 5, and 5.5. and 5,,5", "5"),
    ("a/b {c} [d] (e) ~f `g` ^h_i |j| \\k @l #m $n %o &p *q +r =s", "a / b { c } [ d ] ( e ) ~ f ` g ` ^ h _ i | j |",
     "a/b {c} [d] (e) \\k @l #m", "a b c d e f g h i j k l m n o p q r s"),
    ("user@example.org wrote http://example.org/x?y=1&z=2.", "user@example.org wrote http://example.org/x?y=1&z=3.",
     "user at example dot org", "http://example.org/x?y=1&amp;z=2"),
    ("  leading and trailing   blanks \t ", "leading and trailing blanks", "\tleading  and\ttrailing\tblanks ", "blanks"),
    ("(hi) -x- 'tis o'clock! ?! !", "(hi) -x- it is o'clock!", "hi x tis oclock", "(hi) -x- 'tis o'clock! ?! !"),
    ("Line one-\nline two\nline three", "Line oneline two line three", "Line one- line two", "line"),
    ("The U.S.A. and the U.N. met at 3 p.m.", "The USA and the UN met at 3 p.m.", "The U.S.A. and U.N. met at 15:00.",
     "the u.s.a. AND the u.n. MET at 3 P.M."),
    ("100% of 50€ is 50€; 5°C ≠ 5°F…", "100 % of 50 € is 50 €; 5 °C ≠ 5 °F …", "All of €50 is €50.", "5°C"),
]

SCRIPTS = [
    ("Der Bär läuft über die Straße.", "Der Bär rennt über die Straße.", "DER BÄR LÄUFT ÜBER DIE STRASSE.",
     "der bär läuft über die straße."),
    ("ΟΔΥΣΣΕΥΣ ΚΑΙ Ο ΣΙΣΥΦΟΣ.", "Οδυσσεύς και ο Σίσυφος.", "οδυσσευς και ο σισυφος.", "ΟΔΥΣΣΕΥΣ' Σ ΑΣ. ΑΣ.Β Σ' ΑΣ\u0301"),
    ("İstanbul ve IĞDIR", "istanbul ve ığdır", "i\u0307stanbul ve iğdir", "İSTANBUL VE Iğdır"),
    ("我喜欢吃苹果。", "我爱吃苹果。", "我 喜欢 吃 苹果 。", "苹果我喜欢吃。"),
    ("彼は東京に行きました。", "彼は京都に行きました。", "彼は東京へ行った。", "東京に彼は行きました、とさ。"),
    ("나는 학교에 갔다.", "나는 학교에 갑니다.", "학교에 나는 갔다.", "저는 학교에 갔습니다!"),
    ("هذا كتاب جميل، أليس كذلك؟", "هذا كتابٌ جميلٌ، أليس كذلك؟", "كتاب جميل هذا.", "هذا كتاب"),
    ("זה ספר יפה.", "זהו ספר יפה.", "ספר יפה זה.", "\u200fזה ספר יפה.\u200f"),
    ("Привет, МИР! Ёлка и Щука", "привет, мир! ёлка и щука", "Привет Мир", "ПРИВЕТ, МИР! ЁЛКА И ЩУКА"),
    ("यह एक किताब है।", "यह एक अच्छी किताब है।", "किताब यह है।", "एक किताब है यह।"),
    ("নৌকা নদীতে চলে", "নৌকা চলে নদীতে", "নদীতে নৌকা", "চলে"),
    ("caf\u00e9 cafe\u0301 na\u00efve", "cafe\u0301 caf\u00e9 nai\u0308ve", "cafe naive", "CAF\u00c9 CAFE\u0301 NA\u00cfVE"),
    ("a\u00a0b\u2003c\u3000d\u2028e\u0085f\x1cg\x1fh", "a b c d e f g h", "a\u200bb c", "a\u00a0b c\u3000d"),
    ("a\u1680b\u2000c\u200ad\u2029e\u202ff\u205fg\x0bh\x1di\x1ej\u2005k", "a b c d e f g h i j k",
     "a\u180eb\u2060c\ufeffd", "k j i"),
    ("👩‍👩‍👧 love 🎉🎉!", "👩‍👩‍👧 loves 🎉!", "a family celebrates 🎉", "🎉🎉 👩‍👩‍👧 !"),
    ("Ⅷ ⓐ Ⓑ ﬁne ǅ ẞ ΑΣⅧ ΑΣª", "ⅷ ⓐ ⓑ fine ǆ ß", "VIII A B", "Ⅷ Ⓐ ⓑ ﬁne ǆ SS"),
    ("¿Dónde está la biblioteca? ¡Aquí!", "¿Dónde está la librería? ¡Allí!", "Dónde está la biblioteca?", "¿dónde?"),
    ("„Guten Tag“, sagte er – «bonjour» ‹ciao›.", "\"Guten Tag\", sagte er - \"bonjour\" 'ciao'.", "„Guten Tag“",
     "sagte er – „Guten Tag“."),
]

SHORT = [
    ("", "", "", ""),
    ("", "a reference", "another one", ""),
    ("a hypothesis", "", "", ""),
    ("a hypothesis", "", "a hypothesis", "a"),
    ("yes", "yes", "no", "yes yes"),
    ("no", "yes", "yes", "yes"),
    ("yes yes", "yes", "no no", "yes yes"),
    ("a b c", "a b c", "a b", "b c d e"),
    ("a b c d", "a b c d", "a b c d e", "a b c"),
    ("a b c d", "d c b a", "a c b d", "x y z"),
    ("   ", "a", " ", "b"),
    (".", ".", "", ","),
    ("x", "a b c d e f g h i j", "x y", "y x"),
    ("abcdefg", "abcdefg", "abcdef", "gfedcba"),
    ("abcd", "abcdefgh", "abxd", "ab"),
    ("w w w w w", "w", "w w", "w w w w w w w w"),
]



def run(letter, begin, end):
    return " ".join(f"{letter}{i}" for i in range(begin, end)) + " "


EDITS = [
    ("the the the the the the the", "the cat is on the mat", "there is a cat on the mat", "the mat the cat"),
    ("on the mat the cat sat", "the cat sat on the mat", "the mat on the cat sat", "sat the cat on the mat"),
    ("e f g h a b c d", "a b c d e f g h", "h g f e d c b a", "a c e g b d f h"),
    ("b a d c f e h g", "a b c d e f g h", "b a d c f e h g", "g h e f c d a b"),
    ("a b a b a b a b a b", "b a b a b a b a b a", "a a a a a b b b b b", "b b b b b a a a a a"),
    ("x a b c d e f g h i j k l m", "a b c d e f g h i j k l m x", "a b c d e f y g h i j k l m", "m l k j i h g x"),
    ("THIS WEEK THE SAUDIS denied information published in the AMERICAN new york times",
     "SAUDI ARABIA denied THIS WEEK information published in the AMERICAN new york times",
     "this week saudi arabia denied information", "the new york times denied information this week"),
    ("one two three four five", "five four three two one", "one three five two four", "two one four three five"),
    ("a " * 40, "a " * 80, "b " * 40, "a b " * 20),
    ("q", run("w", 0, 70) + "q", run("w", 0, 120), "q " * 60),
    (run("w", 0, 90), "w5", "w80 w3", "x"),
    (run("w", 0, 80), run("w", 40, 80) + run("w", 0, 40), run("w", 60, 80) + run("w", 0, 60), run("w", 79, 80)),
    # Tercom's limits: shifts over 49 to 51 positions, of 9 to 11 words; bands 24 to 26 words off; two rows far apart
    *[("q " + run("w", 0, n), run("w", 0, n) + "q", run("w", 0, n + 1) + "q q", run("w", 0, n)) for n in (49, 50, 51)],
    *[(run("w", 0, n) + run("v", 0, 12), run("v", 0, 12) + run("w", 0, n), run("v", 0, 30) + run("w", 0, n), "v w")
      for n in (9, 10, 11)],
    *[(run("w", 0, 60), run("n", 0, n) + run("w", 0, 60 - n), run("w", n, 60) + run("n", 0, n), run("w", n, 60))
      for n in (22, 23, 24, 25, 26, 27)],
    ("q r", run("w", 0, 75) + "q " + run("w", 75, 149), run("w", 0, 103), "r " + run("w", 0, 180) + "q"),
]

BYTES = [
    (b"caf\xe9 au lait", b"caf\xe9 au lait", b"caf\xc3\xa9 au lait", b"caf\xe8 au lait"),
    (b"\xff\xfe a \xc0\xaf b \xed\xa0\x80 c \xf4\x90\x80\x80", b"a b c", b"\xff \xfe a b c", b"\xc0\xaf \xed\xa0\x80"),
    (b"cut \xe4\xb8", b"cut \xe4\xb8\xad", b"cut \xe4", b"cut \xb8\xe4"),
    (b"\x80\x81\x82\x83\x84\x85\x86", b"\x80\x81\x82\x83\x84\x86\x85", b"\x80", b"\xc2\x85 \xc2\xa0 x"),
    (b"\x01\x02\x7f \x0b\x0c z", b"\x01\x02 \x7f z", b"z", b"\x01 z"),
]


def drawn():
    """Few distinct words, so that shifts have many candidates and some reach Tercom's limits."""
    draw = random.Random("20150901 metrics")
    for i in range(60):
        words = "abcdefghijklmnop"[:draw.randint(2, 16)]
        reference = [draw.choice(words) for _ in range(draw.randint(1, 12 if i % 3 else 70))]
        group = []
        for _ in range(1 + REFERENCES):
            line = list(reference)
            for _ in range(draw.randint(0, 6)):
                at, length = draw.randrange(len(line) + 1), draw.randint(1, 8)
                piece = line[at:at + length]
                del line[at:at + length]
                change = draw.randrange(4)
                if change == 1:
                    piece = [draw.choice(words) for _ in piece] + ["z"]
                if change != 0:
                    at = draw.randrange(len(line) + 1)
                    line[at:at] = piece
            group.append(" ".join(line))
        yield tuple(group)


CORPORA = {
    "marks": ("Punctuation, numbers, markup.", MARKS),
    "scripts": ("Scripts, cases, white space.", SCRIPTS),
    "short": ("Empty and very short lines.", SHORT),
    "edits": ("Repetitions, shifts, very different lengths.", EDITS),
    "bytes": ("Bytes that are not UTF-8.", [tuple(x.decode("utf-8", "surrogateescape") for x in g) for g in BYTES]),
    "drawn": ("Generated at random.", list(drawn())),
}

# ---- the scores; a corpus is a list of (hypothesis, [references]) ----


def peer(metric):
    def score(corpus):
        streams = [[refs[k] for _, refs in corpus] for k in range(len(corpus[0][1]))]
        return metric.corpus_score([h for h, _ in corpus], streams).score
    return score


def distance(a, b):
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        last, row = row, [i]
        for j, y in enumerate(b, 1):
            row.append(min(last[j - 1] + (x != y), last[j] + 1, row[j - 1] + 1))
    return row[-1]


def rate(split):
    def score(corpus):
        errors = length = 0
        for h, refs in corpus:
            pairs = [(distance(split(h), split(r)), len(split(r))) for r in refs]
            best = min(pairs, key=lambda p: p[0] / p[1] if p[1] else math.inf if p[0] else -1)
            errors, length = errors + best[0], length + best[1]
        return 100 * errors / length if length else 100.0 * (errors > 0)
    return score


def exact(corpus):
    return 100 * sum(any(h.strip() == r.strip() for r in refs) for h, refs in corpus) / len(corpus)


def accuracy(corpus):
    right = length = 0
    for h, refs in corpus:
        pairs = [(sum(x == y for x, y in zip(h.split(), r.split())), len(r.split())) for r in refs]
        best = max(pairs, key=lambda p: p[0] / p[1] if p[1] else float(not h.split()))
        right, length = right + best[0], length + best[1]
    return 100 * right / length if length else 0.0


def lowered(score):
    return lambda corpus: score([(h.lower(), [r.lower() for r in refs]) for h, refs in corpus])


def scorers():
    for lower, case in ((False, "mixed"), (True, "lc")):
        for tokens in ("13a", "none", "char"):
            yield "bleu", tokens, case, peer(BLEU(tokenize=tokens, lowercase=lower, force=True))
        yield "chrf", "-", case, peer(CHRF(lowercase=lower))
        yield "chrf++", "-", case, peer(CHRF(word_order=2, lowercase=lower))
        yield "ter", "-", case, peer(TER(case_sensitive=not lower))
        for name, score in (("wer", rate(str.split)), ("cer", rate(lambda s: list(s.strip()))), ("exact", exact),
                            ("token-accuracy", accuracy)):
            yield name, "-", case, lowered(score) if lower else score


# ---- files ----


def escaped(text):
    out = []
    for c in text:
        plain = c.isprintable() and not "\udc80" <= c <= "\udcff" or c == " "
        out.append("\\\\" if c == "\\" else c if plain else
                   "".join(f"\\x{b:02x}" for b in c.encode("utf-8", "surrogateescape")))
    return "".join(out)


def numbers(groups):
    for kind, tokens, case, score in scorers():
        for count in (1, REFERENCES):
            corpus = [(g[0], list(g[1:1 + count])) for g in groups]
            yield f"{kind} {tokens} {case} {count}", [score(corpus)] + [score([line]) for line in corpus]


def text(title, groups):
    out = [f"# {title}", f"# Made by tools/make_metric_goldens.py (which documents the format) with sacreBLEU "
           f"{sacrebleu.__version__}. Do not edit.", f"lines {len(groups)} {REFERENCES}"]
    for group in groups:
        out += [f"{'r' if i else 'h'} {escaped(line)}" for i, line in enumerate(group)]
    out += [" ".join([key] + ["%.17g" % v for v in values]) for key, values in numbers(groups)]
    return "\n".join(out) + "\n"


def same(old, new):
    """Whether two files are equal except for the version and the last digits of numbers."""
    for a, b in zip(old.splitlines(), new.splitlines(), strict=True):
        if a != b and not a.startswith("#"):
            fields, wanted = a.split(" "), b.split(" ")
            if fields[:4] != wanted[:4] or a[:2] in ("h ", "r ") or len(fields) != len(wanted):
                return False
            if any(abs(float(x) - float(y)) > 1e-12 * max(1, abs(float(y))) for x, y in zip(fields[4:], wanted[4:])):
                return False
    return True


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--check", action="store_true")
    check = options.parse_args().check
    wrong = 0
    for name, (title, groups) in CORPORA.items():
        path, content = DIRECTORY / f"metric_{name}.golden", text(title, groups)
        if not check:
            path.write_text(content, encoding="utf-8")
        elif not same(path.read_text(encoding="utf-8"), content):
            print(f"{path} differs", file=sys.stderr)
            wrong = 1
    return wrong


if __name__ == "__main__":
    sys.exit(main())
