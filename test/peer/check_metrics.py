"""Compares lower case and scores with other programs: check_metrics.py TOOL [--package DATA]

Lower case is compared with Python's, character by character. With --package: compares scores with sacreBLEU's (peer.py) on the test sets in
DATA/multi30k, skipped without them. The systems are the references with words dropped, doubled, swapped and moved by a fixed rule."""
import gzip
import os
import pathlib
import subprocess
import sys
import tempfile
import unicodedata

from peer import skip, use_packages

TOLERANCE = 1e-9


def check_lower(tool):
    """Every character of the planes that have letters: alone, before a sigma and after one. Characters that Unicode 3.2 did not have
    may differ, because attend's tables and Python's have different versions."""
    letters = [chr(c) for c in range(1, 0x20000) if not 0xD800 <= c < 0xE000 and chr(c) != "\n"]
    lines = letters + [c + "\u03a3" for c in letters] + ["A\u03a3" + c for c in letters]
    sent = "\n".join(lines).encode()
    found = subprocess.run([tool, "lower"], input=sent, stdout=subprocess.PIPE, check=True).stdout.decode().split("\n")
    assert len(found) == len(lines) + 1
    other = 0
    for line, lower in zip(lines, found):
        if lower == line.lower():
            continue
        if any(unicodedata.ucd_3_2_0.category(c) != "Cn" for c in line if c not in "A\u03a3"):
            sys.exit(f"lower case of {line!a} is {lower!a}, not {line.lower()!a}")
        other += 1
    print(f"lower case: {len(lines)} lines are equal to Python's, except {other} with characters newer than Unicode 3.2")


def worsen(line, number, rule):
    """The line with about one word in seven changed, as determined by `number` and `rule`."""
    words, out = line.split(" "), []
    for i, word in enumerate(words):
        chance = (number * 7919 + i * 104729 + rule * 1299709) % 29
        if chance == 0:
            continue
        out += [word, word] if chance == 1 else [word.upper()] if chance == 2 else [word]
        if chance == 3 and len(out) > 1:
            out[-2:] = out[:-3:-1]
        if chance == 4 and len(out) > 5:
            out.insert(len(out) - 6, out.pop())
    if number % 53 == rule:
        out = out[len(out) // 2:] + out[:len(out) // 2]
    return " ".join(out) if number % 97 != rule else ""


def by_tool(tool, kind, tokens, case, paths):
    out = subprocess.run([tool, kind, tokens, case, *paths], stdout=subprocess.PIPE, check=True).stdout.decode().split("\n")
    return out[0], [float(x) for x in out[1:-1]]


def check_corpus(tool, language, streams, directory):
    """streams: hypotheses, then references. Returns the largest difference."""
    from sacrebleu.metrics import BLEU, CHRF, TER
    paths, worst = [], 0
    for i, lines in enumerate(streams):
        paths.append(os.path.join(directory, str(i)))
        pathlib.Path(paths[-1]).write_text("\n".join(lines) + "\n", encoding="utf-8")
    for lower, case in ((False, "mixed"), (True, "lc")):
        metrics = [("bleu", t, BLEU(tokenize=t, lowercase=lower, force=True)) for t in ("13a", "none", "char")]
        metrics += [("chrf", "-", CHRF(lowercase=lower)), ("chrf++", "-", CHRF(word_order=2, lowercase=lower)),
                    ("ter", "-", TER(case_sensitive=not lower))]
        for kind, tokens, metric in metrics:
            signature, found = by_tool(tool, kind, tokens, case, paths)
            each = [metric.corpus_score([h], [[r] for r in refs]).score for h, *refs in zip(*streams)]
            corpus = metric.corpus_score(streams[0], streams[1:])
            difference = max(abs(a - b) for a, b in zip(found, each + [corpus.score], strict=True))
            wanted = corpus.name + "|" + str(metric.get_signature()).split("version")[0]
            assert signature.split("version")[0] == wanted, f"{signature} is not {wanted}"
            print(f"{language} {len(streams) - 1} {signature.split('|version')[0]}: {found[-1]:.4f}, difference of "
                  f"{len(found)} scores at most {difference:.1e}", flush=True)
            worst = max(worst, difference)
    return worst


def check_scores(tool, data):
    if not data.is_dir():
        skip(f"{data} does not exist")
    use_packages("sacrebleu")
    import sacrebleu
    worst = 0
    for language in ("en", "de", "fr"):
        with gzip.open(data / f"test_2016_flickr.{language}.gz", "rt", encoding="utf-8") as f:
            lines = f.read().splitlines()
        systems = [[worsen(line, i, rule) for i, line in enumerate(lines)] for rule in (5, 11, 17)]
        with tempfile.TemporaryDirectory() as directory:
            worst = max(worst, check_corpus(tool, language, [systems[0], lines], directory))
            if language == "de":
                worst = max(worst, check_corpus(tool, language, [systems[0], lines, systems[1], systems[2]], directory))
    print(f"scores: sacreBLEU {sacrebleu.__version__}, largest difference {worst:.1e}")
    if worst > TOLERANCE:
        sys.exit(f"scores differ by {worst:.1e}, more than {TOLERANCE:.1e}")


def main():
    tool = sys.argv[1]
    if sys.argv[2:3] == ["--package"]:
        check_scores(tool, pathlib.Path(sys.argv[3]) / "multi30k")
    else:
        check_lower(tool)


if __name__ == "__main__":
    main()
