"""Compares what `attend evaluate` prints with sacreBLEU (peer.py): check_evaluate.py ATTEND [--outputs]

Evaluates the lines in test/cli/evaluate. With --outputs: the outputs of real systems in the directory that ATTEND_PEER_OUTPUT names, *.out and one
reference test*.de (OUT of recipes/multi30k). Scores must be equal to two decimals. Intervals and p-values, which come from other samples, must
be near."""
import json
import os
import pathlib
import subprocess
import sys

from peer import skip, use_packages

FIXTURE = pathlib.Path(__file__).resolve().parents[1] / "cli" / "evaluate"
SAMPLES = 1000


def lines_of(path):
    return path.read_text(encoding="utf-8").split("\n")[:-1]


def metrics(lower):
    from sacrebleu.metrics import BLEU, CHRF, TER
    for tokens in ("13a", "none", "char"):
        yield "bleu", tokens, BLEU(tokenize=tokens, lowercase=lower, force=True)
    yield "chrf", "13a", CHRF(lowercase=lower)
    yield "chrf++", "13a", CHRF(word_order=2, lowercase=lower)
    yield "ter", "13a", TER(case_sensitive=not lower)


def by_attend(attend, name, tokens, lower, hypothesis, reference, *more):
    command = [attend, "evaluate", "--metric", name, "--bleu-tokenizer", tokens, "--hypothesis", str(hypothesis), "--reference",
               str(reference), "--json", "--bootstrap", str(SAMPLES), *more] + ["--lowercase"] * lower
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)[name]


def check_system(attend, hypothesis, reference, near):
    """Scores and intervals of one system; returns how many scores were compared."""
    count = 0
    for lower in (False, True):
        for name, tokens, metric in metrics(lower):
            found = by_attend(attend, name, tokens, lower, hypothesis, reference)
            wanted = metric.corpus_score(lines_of(hypothesis), [lines_of(reference)], n_bootstrap=SAMPLES)
            what = f"{hypothesis.name}: {name} {tokens} {'lc' if lower else 'mixed'}"
            if f"{found['score']:.2f}" != f"{wanted.score:.2f}" and abs(found["score"] - wanted.score) > 1e-4:
                sys.exit(f"{what} is {found['score']}, not {wanted.score}")
            half, middle = (found["high"] - found["low"]) / 2, (found["high"] + found["low"]) / 2
            if abs(half - wanted._ci) > near or abs(middle - wanted._mean) > near:
                sys.exit(f"{what}: the interval is {middle:.2f} +- {half:.2f}, not {wanted._mean:.2f} +- {wanted._ci:.2f}")
            print(f"{what}: {found['score']:.2f} = {wanted.score:.2f}, {middle:.2f} +- {half:.2f} ~ {wanted._mean:.2f} +- "
                  f"{wanted._ci:.2f}")
            count += 1
    return count


def check_pair(attend, one, other, reference):
    from sacrebleu.metrics import BLEU
    from sacrebleu.significance import PairedTest
    found = by_attend(attend, "bleu", "13a", False, one, reference, "--against", str(other))["p"]
    systems = [(one.name, lines_of(one)), (other.name, lines_of(other))]
    _, scores = PairedTest(systems, {"BLEU": BLEU(references=[lines_of(reference)], force=True)}, None, "bs", SAMPLES)()
    wanted = scores["BLEU"][1].p_value
    print(f"{one.name} and {other.name}: p {found:.4f} ~ {wanted:.4f}")
    if abs(found - wanted) > 0.03:
        sys.exit("the p-values differ")


def check_fixture(attend):
    systems = [FIXTURE / "system.txt", FIXTURE / "other.txt"]
    for system in systems:
        check_system(attend, system, FIXTURE / "reference.txt", 1.0)  # 22 lines
    check_pair(attend, *systems, FIXTURE / "reference.txt")


def check_outputs(attend):
    directory = pathlib.Path(os.environ.get("ATTEND_PEER_OUTPUT", "none"))
    outputs = sorted(directory.glob("*.out"))
    references = [r for r in directory.glob("test*.de") if outputs]
    if len(references) != 1:
        skip("ATTEND_PEER_OUTPUT names no directory with *.out and one test*.de")
    for output in outputs:
        check_system(attend, output, references[0], 0.3)
    if len(outputs) > 1:
        check_pair(attend, *outputs[:2], references[0])


def main():
    use_packages("sacrebleu")
    os.environ["SACREBLEU_SEED"] = "12345"
    if "--outputs" in sys.argv:
        check_outputs(sys.argv[1])
    else:
        check_fixture(sys.argv[1])


if __name__ == "__main__":
    main()
