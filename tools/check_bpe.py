"""Compares byte-pair encoding with a plain implementation of its definition: check_bpe.py TOOL

TOOL (test/peer/bpe_tool.c) learns from small generated texts and encodes them. This script does the same slowly: it counts all
pairs again before every merge. Alphabet, merges and token numbers must be equal."""
import collections
import os
import random
import re
import subprocess
import sys
import tempfile
import unicodedata

SPACE = "\u2581"
RESERVED = ["<unk>", "<s>", "</s>"] + ["<0x%02X>" % b for b in range(256)]


def class_of(c):
    """Digits, letters of a script, white space, other characters; None for marks, which continue a run."""
    category = unicodedata.category(c)
    if category[0] == "M" or category == "Cf":
        return None
    if category == "Nd":
        return "digit"
    if category[0] == "Z" or c in "\t\n\v\f\r":
        return "space"
    if category[0] != "L" and category != "Nl":
        return "other"
    script = unicodedata.name(c).split()[0]
    return "HAN" if script in ("HIRAGANA", "KATAKANA", "CJK") else script


def split_classes(word):
    """A word, which begins with spaces, split where classes of characters meet."""
    spaces = len(word) - len(word.lstrip(" "))
    parts, now, begin = [], None, 0
    for i in range(spaces, len(word)):
        kind = class_of(word[i])
        if None not in (kind, now) and kind != now:
            parts.append(word[begin:i])
            begin = i
        now = kind or now
    return parts + [word[begin:]]


def words_of(line, split):
    """Words with the spaces before them; a space is added before the line."""
    words = re.findall(" +[^ ]*", " " + unicodedata.normalize("NFC", line)) if line else []
    return [part for word in words for part in split_classes(word)] if split == "classes" else words


def spell(character, alphabet):
    """The token of a character, or None."""
    token = SPACE if character == " " else None if character == SPACE else character
    return token if token in alphabet else None


def merged(symbols, pair):
    """The pair replaced from left to right."""
    out, i = [], 0
    while i < len(symbols):
        if tuple(symbols[i:i + 2]) == pair:
            out.append(pair[0] + pair[1])
            i += 2
        else:
            out.append(symbols[i])
            i += 1
    return out


def learn(lines, size, min_count, split):
    words = collections.Counter(word for line in lines for word in words_of(line, split))
    counts = collections.Counter()
    for word, n in words.items():
        for c in word:
            if c not in "\n\0" + SPACE:
                counts[SPACE if c == " " else c] += n
    alphabet = sorted((c for c in counts if counts[c] >= min_count), key=lambda c: (-counts[c], c.encode()))
    alphabet = alphabet[:size - len(RESERVED)]
    tokens, merges, never = set(RESERVED + alphabet), [], set()
    spelled = {word: [spell(c, tokens) for c in word] for word in words}
    while len(tokens) < size:
        pairs = collections.Counter()
        for word, n in words.items():
            for pair in zip(spelled[word], spelled[word][1:]):
                if None not in pair and pair not in never:
                    pairs[pair] += n
        if not pairs:
            break
        best = min(pairs, key=lambda p: (-pairs[p], p[0].encode(), p[1].encode()))
        if pairs[best] < max(2, min_count):
            break
        if best[0] + best[1] in tokens:
            never.add(best)
            continue
        merges.append(best)
        tokens.add(best[0] + best[1])
        spelled = {word: merged(symbols, best) for word, symbols in spelled.items()}
    return alphabet, merges


def encode(line, alphabet, merges, split):
    number = {token: i for i, token in enumerate(RESERVED + alphabet + [a + b for a, b in merges])}
    rank = {pair: i for i, pair in enumerate(merges)}
    ids = []
    for word in words_of(line, split):
        symbols = []
        for c in word:
            token = spell(c, set(alphabet))
            symbols += [token] if token else ["<0x%02X>" % b for b in c.encode()]
        while True:
            known = [pair for pair in zip(symbols, symbols[1:]) if pair in rank]
            if not known:
                break
            symbols = merged(symbols, min(known, key=rank.get))
        ids += [number[s] for s in symbols]
    return ids


def texts():
    draw = random.Random(5)
    syllables = ["th", "e", "a", "in", "er", "ö", "ß", "но", "か", "が", "e\u0301", "\u1100\u1161", "aa", "-", "7", "42", "<s>", SPACE, "\t", "😀"]
    vocabulary = ["".join(draw.choices(syllables, k=draw.randint(1, 5))) for _ in range(120)]
    for spaces in (" ", "  "):
        yield [spaces.join(draw.choices(vocabulary, k=draw.randint(0, 12))) + draw.choice(["", "", " "]) for _ in range(150)]
    yield ["".join(draw.choices("ab", k=draw.randint(0, 40))) for _ in range(60)]
    yield ["".join(draw.choices("ab  ", k=draw.randint(0, 40))) for _ in range(60)]
    yield ["a" * n for n in range(40)] * 2
    yield ["<s>", "<s><s> x<s>", "<unk> <0x41>", "</s></s> </s>"] * 3


def run(tool, lines, size, min_count, split):
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "text")
        with open(path, "wb") as f:
            f.write("".join(line + "\n" for line in lines).encode())
        command = [tool, path, str(size), str(min_count), split]
        return subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout.decode().split("\n")


def check(tool, lines, size, min_count, split):
    out = run(tool, lines, size, min_count, split)
    alphabet, merges = learn(lines, size, min_count, split)
    expected = alphabet + [""] + [a + " " + b for a, b in merges] + [""]
    expected += ["".join("%d " % i for i in encode(line, alphabet, merges, split)) for line in lines] + [""]
    for i, (a, b) in enumerate(zip(out, expected)):
        if a != b:
            sys.exit("vocabulary %d, minimum count %d, line %d: attend has '%s', the definition '%s'" % (size, min_count, i + 1, a, b))
    if len(out) != len(expected):
        sys.exit("vocabulary %d, minimum count %d: %d lines, not %d" % (size, min_count, len(out), len(expected)))
    return len(merges)


def main():
    cases = merges = 0
    for lines in texts():
        for size, min_count in ((259, 1), (270, 1), (320, 1), (600, 1), (400, 3), (500, 20)):
            for split in ("spaces", "classes"):
                merges += check(sys.argv[1], lines, size, min_count, split)
                cases += 1
    print("%d cases, %d merges: the same" % (cases, merges))


main()
