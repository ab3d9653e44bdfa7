"""Writes test/cli/evaluate/expected.txt: scores of sacreBLEU for the files in that directory, for test/cli/evaluate.sh.

    make_evaluate_fixture.py [--check]

Each line has: metric, tokenization of BLEU, case, number of references, scores of system.txt and other.txt. --check compares with the
existing file."""
import pathlib
import sys

import sacrebleu
from sacrebleu.metrics import BLEU, CHRF, TER

DIRECTORY = pathlib.Path(__file__).resolve().parents[1] / "test" / "cli" / "evaluate"


def lines_of(name):
    return (DIRECTORY / name).read_text(encoding="utf-8").split("\n")[:-1]


def main():
    systems = [lines_of("system.txt"), lines_of("other.txt")]
    references = [lines_of("reference.txt"), lines_of("second.txt")]
    rows = [f"# sacreBLEU {sacrebleu.__version__}, by tools/make_evaluate_fixture.py"]
    for lower, case in ((False, "mixed"), (True, "lc")):
        metrics = [("bleu", t, BLEU(tokenize=t, lowercase=lower, force=True)) for t in ("13a", "none", "char")]
        metrics += [("chrf", "13a", CHRF(lowercase=lower)), ("chrf++", "13a", CHRF(word_order=2, lowercase=lower)),
                    ("ter", "13a", TER(case_sensitive=not lower))]
        for count in (1, 2):
            for name, tokens, metric in metrics:
                scores = [metric.corpus_score(s, references[:count]).score for s in systems]
                rows.append(f"{name} {tokens} {case} {count} {scores[0]:.2f} {scores[1]:.2f}")
    text = "\n".join(rows) + "\n"
    path = DIRECTORY / "expected.txt"
    if "--check" in sys.argv:
        if path.read_text(encoding="utf-8").split("\n")[1:] != rows[1:] + [""]:
            sys.exit(f"{path} differs from the scores of sacreBLEU {sacrebleu.__version__}")
        return
    path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
