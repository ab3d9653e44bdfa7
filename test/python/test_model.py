"""Models: the same bytes as the command, for translate, sample, score and align."""

import json
import os
import shutil

import pytest

import attend
from conftest import FIXTURES, MODELS, command


def text_of(lines):
    return "".join(line + "\n" for line in lines).encode()


def n_best_text(translations):
    """The text of --n-best --alignment hard."""
    out = []
    for i, t in enumerate(translations):
        for h in t.hypotheses:
            links = "".join(f" {s}-{k}" for s, k in h.alignment or [])
            out.append(f"{i} ||| {h.text} ||| logp={h.log_probability:.4f} ||| {h.score:.4f} |||{links}")
    return text_of(out)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("beam", [1, 5])
def test_translate_is_the_command(name, beam, lines):
    path = FIXTURES / (name + ".model")
    m = attend.Model.load(path, threads=2)
    ours = m.translate(lines, beam=beam)
    assert text_of(t.text for t in ours) == command("translate", "--model", path, "--beam", beam, text=text_of(lines))


def test_n_best_and_alignment(any_model, lines):
    ours = any_model.translate(lines, beam=4, n_best=3, return_alignment=True)
    theirs = command(
        "translate", "--model", any_model.paths[0], "--beam", 4, "--n-best", 3, "--alignment", "hard", "--quiet",
        text=text_of(lines),
    )
    assert n_best_text(ours) == theirs


def test_json_members(any_model, lines):
    ours = any_model.translate(lines, return_attention=True)
    theirs = command("translate", "--model", any_model.paths[0], "--json", "--alignment", "soft", text=text_of(lines))
    for t, line in zip(ours, theirs.decode().splitlines(), strict=True):
        j = json.loads(line)
        assert t.text == j["text"]
        if t.fault:
            assert t.fault == j["fault"]
            continue
        assert t.tokens == j["target"] and t.source_tokens == j["source"] and t.unknown == j["unknown"]
        assert round(t.confidence, 4) == pytest.approx(j["confidence"], abs=2e-4)
        if t.attention:
            assert [[round(x, 5) for x in row] for row in t.attention.tolist()] == [
                pytest.approx(row, abs=2e-5) for row in j["weights"]
            ]


def test_sample_is_the_command(model, lines):
    ours = model.sample(lines, n=3, seed=7, top_p=0.9, temperature=0.7, return_alignment=True)
    arguments = ("--sample", "--seed", 7, "--n-best", 3, "--top-p", 0.9, "--temperature", 0.7, "--alignment", "hard")
    assert n_best_text(ours) == command("translate", "--model", model.paths[0], *arguments, text=text_of(lines))
    assert ours == model.sample(lines, n=3, seed=7, top_p=0.9, temperature=0.7, return_alignment=True)


def test_language_model():
    m = attend.Model.load(FIXTURES / "language-model.model")
    assert m.task == "language-model"
    lines = ["one two", "", "three"]
    ours = m.sample(lines, seed=3)
    assert text_of(t.text for t in ours) == command(
        "translate", "--model", m.paths[0], "--seed", 3, text=text_of(lines)
    )
    scored = "".join(f"{p.log_probability:.6f}\n" for p in m.score(["one two", "three"]))
    path = os.path.join(os.environ["ATTEND_SCRATCH"], "lines.txt")
    with open(path, "w", encoding="utf-8") as f:
        f.write("one two\nthree\n")
    assert scored.encode() == command("score", "--model", m.paths[0], "--input", path)


def test_score_is_the_command(any_model, pairs):
    ours = "".join(
        " ".join(f"{x:.6f}" for x in [p.log_probability, *p.token_log_probabilities]) + "\n"
        for p in any_model.score(pairs)
    )
    theirs = command("score", "--model", any_model.paths[0], "--input", FIXTURES / "pairs.tsv", "--per-token")
    assert ours.encode() == theirs


def test_align_is_the_command(any_model, pairs):
    ours = "".join(" ".join(f"{s}-{t}" for s, t in links) + "\n" for links in any_model.align(pairs))
    assert ours.encode() == command("align", "--model", any_model.paths[0], "--input", FIXTURES / "pairs.tsv")
    layer = any_model.align(pairs, layer=-1, head=0)
    theirs = command("align", "--model", any_model.paths[0], "--input", FIXTURES / "pairs.tsv", "--layer", -1, "--head", 0)
    assert "".join(" ".join(f"{s}-{t}" for s, t in links) + "\n" for links in layer).encode() == theirs


def test_a_shifted_map_is_the_command(any_model, pairs):
    def lines(links):
        return "".join(" ".join(f"{s}-{t}" for s, t in each) + "\n" for each in links).encode()

    def theirs(*options):
        return command("align", "--model", any_model.paths[0], "--input", FIXTURES / "pairs.tsv", *options)

    assert lines(any_model.align(pairs, shift=True)) == theirs("--shift")
    assert lines(any_model.align(pairs, layer=0, head=0, shift=True)) == theirs("--layer", 0, "--head", 0, "--shift")
    assert lines(any_model.align(pairs, head=0)) == theirs("--head", 0)
    options = {"return_attention": True, "layer": 0, "head": 0}
    for plain, shifted in zip(any_model.score(pairs, **options), any_model.score(pairs, shift=True, **options)):
        a, b = plain.attention.tolist(), shifted.attention.tolist()
        assert b[:-1] == a[1:] and b[-1] == a[-1]


def test_a_head_is_read_as_the_model_stores(model, pairs):
    scratch = os.environ["ATTEND_SCRATCH"]
    path, gold = os.path.join(scratch, "shifted.model"), os.path.join(scratch, "shifted.links")
    shutil.copy(model.paths[0], path)
    given = ("--input", FIXTURES / "pairs.tsv")
    with open(gold, "wb") as f:
        f.write(command("align", "--model", path, *given, "--layer", 0, "--head", 1, "--shift"))
    command("align", "--model", path, *given, "--gold", gold, "--select-map")
    assert '"shifted": true' in command("info", path, "--json").decode()
    links = attend.Model.load(path).align(pairs, head=0)
    ours = "".join(" ".join(f"{s}-{t}" for s, t in each) + "\n" for each in links)
    assert ours.encode() == command("align", "--model", path, *given, "--head", 0)


def test_attention_of_every_layer_and_head(model, lines):
    t = model.translate([lines[0]], return_attention="all", n_best=2)[0]
    layers, heads = model.config["layers"], model.config["heads"]
    assert t.attention.shape == (layers, heads, len(t.tokens), len(t.source_tokens))
    assert t.hypotheses[1].attention.shape[2] == len(t.hypotheses[1].tokens)
    for row in t.attention[0][0].tolist():
        assert sum(row) == pytest.approx(1, abs=1e-5)
    m = model.map(lines[0])
    assert m.attention.tolist() == t.attention.tolist()
    assert m.target_tokens[-1] == "</s>"


def test_results_do_not_depend_on_batches_or_threads(any_model, lines):
    one = attend.Model.load(any_model.paths[0], threads=1)
    many = list(lines) * 20
    assert one.translate(many)[: len(lines)] == any_model.translate(lines)
    assert [one.translate([line])[0] for line in lines] == any_model.translate(lines)


def test_options_of_load(lines):
    path = FIXTURES / "rnn-bpe.model"
    m = attend.Model.load(str(path), precision="int8", threads=1)
    assert (m.precision, m.threads, m.member_count) == ("int8", 1, 1)
    ours = m.translate(lines)
    theirs = command("translate", "--model", path, "--precision", "int8", text=text_of(lines))
    assert text_of(t.text for t in ours) == theirs
    assert attend.Model.load(path, precision="fp32").precision == "fp32"
    m.save(os.path.join(os.environ["ATTEND_SCRATCH"], "int8.model"))
    again = attend.Model.load(os.path.join(os.environ["ATTEND_SCRATCH"], "int8.model"))
    assert again.precision == "int8" and again.translate(lines) == ours


def test_ensemble(lines):
    path = FIXTURES / "rnn-bpe.model"
    m = attend.Model.load([path, path])
    assert m.member_count == 2
    theirs = command("translate", "--model", path, "--model", path, text=text_of(lines))
    assert text_of(t.text for t in m.translate(lines)) == theirs
    with pytest.raises(attend.UsageError, match="ensemble of 2 files"):
        m.score([("a", "b")])


def test_prefixes(model, lines):
    ours = model.translate(lines[:2], prefixes=["zwei", ""])
    assert ours[0].text.startswith("zwei") and ours[1] == model.translate(lines[1:2])[0]
    with pytest.raises(attend.UsageError, match="1 prefixes for 2 lines"):
        model.translate(lines[:2], prefixes=["zwei"])


def test_faults_are_results(model):
    ok, long, empty = model.translate(["one", "one " * 2000, ""])
    assert ok.fault is None and long.text == "" and "too long" in long.fault and empty.text == ""
    bad, good = model.score([("", "eins"), ("one", "eins")], return_attention=True)
    assert bad.fault and bad.log_probability != bad.log_probability and good.fault is None
    assert good.attention.shape == (len(good.tokens), len(good.source_tokens))
    assert len(good.token_log_probabilities) == len(good.tokens)


def test_errors(model, tmp_path):
    with pytest.raises(attend.FileError, match="No such file") as e:
        attend.Model.load(tmp_path / "missing")
    assert isinstance(e.value, OSError) and isinstance(e.value, attend.Error)
    (tmp_path / "bad").write_bytes(b"not a model at all, and too short")
    with pytest.raises(attend.ModelError):
        attend.Model.load(tmp_path / "bad")
    with pytest.raises(attend.UsageError, match="'fp32', 'bf16', 'int8'"):
        attend.Model.load(model.paths[0], precision="fp8")
    with pytest.raises(attend.UsageError, match="threads"):
        attend.Model.load(model.paths[0], threads=0)
    with pytest.raises(TypeError, match=r"pass \[text\]"):
        model.translate("one")
    with pytest.raises(TypeError, match="item 1 is not a str"):
        model.translate(["one", 2])
    with pytest.raises(TypeError, match="item 0 is not a pair"):
        model.score(["ab"])
    with pytest.raises(attend.UsageError):
        model.translate(["one"], beam=0)
    with pytest.raises(attend.UsageError):
        model.translate(["one"], n_best=9)
    with pytest.raises(attend.UsageError, match="return_attention"):
        model.translate(["one"], return_attention="some")
    with pytest.raises(TypeError):
        attend.Model()
    assert issubclass(attend.OutOfMemoryError, MemoryError) and issubclass(attend.DataError, ValueError)


def test_config_and_tokenizers(model):
    assert model.config["architecture"] == "transformer" and model.config["shared-vocab"] is False
    assert isinstance(model.config["dropout"], float) and model.parameter_count > 1000
    t = model.source_tokenizer
    assert t is model.source_tokenizer and t.decode(t.encode("one two")) == "one two"


def test_map(model, lines):
    m = model.map("two one", "eins zwei")
    assert m.source_words == ["two", "one"] and m.target_words == ["eins", "zwei"]
    assert m.weights().shape == (2, 2) and m.weights(by_token=True, layer=0, head=1).shape[0] == len(m.target_tokens)
    assert len(m.probabilities) == len(m.target_tokens) and m.log_probability < 0
    assert m.html().startswith("<!") and "&quot;" in m._repr_html_() and m._repr_html_().startswith("<iframe")
    assert json.loads(m.json())["target"] and m.npz()[:2] == b"PK" and "eins" in str(m)
    assert model.map("two", kind="encoder").attention.ndim == 4
    svg = m._repr_svg_()
    assert svg is None or "<svg" in svg
    with pytest.raises(attend.UsageError):
        m.weights(layer=7)
    with pytest.raises(attend.DataError):
        model.map("")


def test_explore_is_the_search(any_model, lines):
    for beam in (1, 3):
        for line in lines:
            t = any_model.translate([line], beam=beam)[0]
            if t.fault or not line.strip():
                continue
            steps = list(attend.explore.beam(any_model, line, beam=beam))
            best = steps[-1].finished[0]
            assert best.text == t.text and best.score == pytest.approx(t.score, abs=1e-12)
            assert steps[0].beam[0].candidates[0].log_probability <= 0 and "step 0" in repr(steps[0])
