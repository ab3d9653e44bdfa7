"""Tokenizers, metrics, the aligner and the check of data."""

import json
import os

import pytest

import attend
from conftest import FIXTURES, command, read_lines


@pytest.mark.parametrize("kind", ["bpe", "word", "char", "jamo"])
def test_tokenizers(kind):
    lines = ["the cat sat on the mat", "the dog sat", "naïve café"]
    t = attend.Tokenizer.learn(lines, kind=kind, vocab_size=300)
    assert t.kind == kind and not t.lowercase and len(t) > 3
    for line in lines:
        assert t.decode(t.encode(line)) == line
        assert t.tokenize(line) == [t.token(i) for i in t.encode(line)]
        assert len(t.spans(line)) == len(t.encode(line))
    assert attend.Tokenizer.learn(lines, kind=kind, lowercase=True).normalize("CAFE\u0301") == "caf\u00e9"


def test_where_words_end():
    lines = ["abc12"] * 9
    assert max(attend.Tokenizer.learn(lines, vocab_size=300, split="spaces").tokenize("abc12"), key=len).endswith("abc12")
    default = attend.Tokenizer.learn(lines, vocab_size=300)
    assert default.tokenize("abc12") == attend.Tokenizer.learn(lines, vocab_size=300, split="classes").tokenize("abc12")
    assert default.tokenize("abc12")[-1] == "12"
    with pytest.raises(attend.UsageError, match="split"):
        attend.Tokenizer.learn(lines, split="letters")


def test_tokenizer_errors():
    t = attend.Tokenizer.learn(["a b"], kind="word")
    with pytest.raises(attend.UsageError, match="there is no token 99"):
        t.decode([99])
    with pytest.raises(attend.UsageError, match="there is no token -1"):
        t.token(-1)
    with pytest.raises(TypeError):
        t.encode(3)
    with pytest.raises(attend.UsageError, match="kind"):
        attend.Tokenizer.learn(["a"], kind="morpheme")


EVALUATE = os.path.join(os.path.dirname(__file__), "..", "cli", "evaluate")


def texts(name):
    with open(os.path.join(EVALUATE, name), encoding="utf-8", newline="\n") as f:
        return f.read().split("\n")[:-1]


def test_evaluate_is_the_command():
    system, other = texts("system.txt"), texts("other.txt")
    references = list(zip(texts("reference.txt"), texts("second.txt"), strict=True))
    ours = attend.evaluate(system, references, bootstrap=200, against=other, seed=5)
    arguments = ["evaluate", "--json", "--bootstrap", 200, "--seed", 5, "--metric", ",".join(ours)]
    files = {"hypothesis": ["system"], "against": ["other"], "reference": ["reference", "second"]}
    for option, name in [(option, name) for option, names in files.items() for name in names]:
        arguments += ["--" + option, os.path.join(EVALUATE, name + ".txt")]
    theirs = json.loads(command(*arguments))
    for name, score in ours.items():
        j = theirs[name]
        printed = [f"{x:.4f}" for x in (score.score, score.low, score.high)] + [f"{score.p:.6f}", score.signature]
        expected = [f"{j[k]:.4f}" for k in ("score", "low", "high")] + [f"{j['p']:.6f}", j["signature"]]
        assert printed == expected, name
    assert attend.bleu(system, texts("reference.txt")) == attend.metric("bleu", system, texts("reference.txt")).score


def test_metrics():
    hypotheses, references = ["a b c d e"], ["a b c d f"]
    assert attend.bleu(references, references) == pytest.approx(100)
    assert attend.wer(hypotheses, references) == pytest.approx(20) and attend.ter(hypotheses, references) == 20
    assert attend.cer(["abc"], ["abd"]) == pytest.approx(100 / 3)
    assert attend.chrf(references, references) == 100 and attend.chrf(hypotheses, references, words=True) < 100
    assert attend.bleu(["A B C D"], ["a b c d"], ignore_case=True) == pytest.approx(100)
    assert attend.metric("wer", hypotheses, [["x y", "a b c d e"]]).score == 0
    with pytest.raises(attend.UsageError, match="1 hypotheses and 2 references"):
        attend.bleu(["a"], ["a", "b"])
    with pytest.raises(attend.UsageError, match="there is no metric"):
        attend.metric("rouge", ["a"], ["a"])
    with pytest.raises(attend.UsageError):
        attend.bleu(["a"], [[]])


def test_alignments():
    score = attend.aer([[(0, 0), (1, 1)]], [[(0, 0, True), (1, 2, False)]])
    assert score.aer == pytest.approx(1 - 2 / 3) and score.precision == 0.5 and score.recall == 1
    assert attend.symmetrize([(0, 0), (1, 1)], [(0, 0)], "intersection") == [(0, 0)]
    assert attend.symmetrize([(0, 0), (1, 1)], [(0, 0)], method="union") == [(0, 0), (1, 1)]
    with pytest.raises(attend.DataError):
        attend.aer([[(-1, 0)]], [[(0, 0)]])
    with pytest.raises(attend.UsageError):
        attend.aer([[]], [])


@pytest.mark.parametrize("method", ["agreed", "grow-diag-final-and", "intersection"])
def test_aligner_is_the_command(method, pairs, tmp_path):
    arguments = [] if method == "agreed" else ["--symmetrize", method]
    a = attend.Aligner.train(pairs, threads=2)
    ours = "".join(" ".join(f"{s}-{t}" for s, t in links) + "\n" for links in a.align(method=method))
    assert ours.encode() == command("align", "--input", FIXTURES / "pairs.tsv", *arguments)
    a.save(tmp_path / "aligner")
    again = attend.Aligner.load(tmp_path / "aligner")
    assert again.align(pairs[:5], method=method) == a.align(method=method)[:5]


def test_check_is_the_command(tmp_path):
    report = attend.check_data(FIXTURES / "pairs.tsv", FIXTURES / "valid.tsv")
    theirs = command("check", "--train", FIXTURES / "pairs.tsv", "--valid", FIXTURES / "valid.tsv").decode()
    assert report.text == theirs and not report.stops
    assert report.train.pairs == len(read_lines("pairs.tsv")) and report.valid.pairs > 0
    (tmp_path / "bad.tsv").write_bytes(b"a\tb\nno tab here\n\xff\tc\n")
    bad = attend.check_data(tmp_path / "bad.tsv")
    assert bad.stops and bad.findings[0].severity == "error" and bad.findings[0].examples[0].line == 2
    with pytest.raises(attend.FileError):
        attend.check_data(tmp_path / "missing.tsv")


def test_sentences():
    assert attend.split_sentences("It works. Mr. Smith left!  Yes") == ["It works.", "Mr. Smith left!", "Yes"]
