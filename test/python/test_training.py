"""Training: the same bytes as the command, callbacks, Ctrl-C and resuming."""

import os
import shutil
import signal
import subprocess
import sys
import textwrap

import pytest

import attend
from conftest import FIXTURES, command

SMALL = {"hidden": 8, "embedding": 8, "batch_tokens": 60, "threads": 2, "seed": 3}


def pairs_file(path, count=60, tab=True):
    words = ["one", "two", "three", "four"], ["eins", "zwei", "drei", "vier"]
    lines = []
    for i in range(count):
        picks = [(i // 4**k) % 4 for k in range(3)]
        source, target = (" ".join(w[p] for p in picks) for w in words)
        lines.append(f"{source}\t{target}" if tab else target)
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return path


def arguments_of(options):
    out = []
    for name, value in options.items():
        name = "--" + name.replace("_", "-")
        if value is True and name in ("--fresh", "--new-vocab"):
            out += [name]
        elif isinstance(value, bool):
            out += [name if value else name.replace("--", "--no-", 1)]
        else:
            out += [name, value]
    return out


@pytest.mark.parametrize(
    "options",
    [
        {**SMALL, "updates": 20},
        {**SMALL, "updates": 12, "tokens": "char", "schedule": "inverse-sqrt", "warmup": 5, "valid_metric": "word-error"},
        {**SMALL, "updates": 8, "architecture": "transformer", "heads": 2, "average_last": 2, "valid_every": 2},
        {**SMALL, "epochs": 2, "source_tokens": "word", "target_tokens": "bpe", "lowercase": "both", "vocab_size": 300},
        {"updates": 3, "preset": "tiny"},
        {**SMALL, "updates": 4, "tokens": "bpe", "vocab_size": 300, "bpe_split": "spaces"},
        {**SMALL, "updates": 6, "guided_alignment": "auto"},
        {**SMALL, "updates": 4, "architecture": "transformer", "heads": 2, "guided_alignment": "auto", "guidance": 0.5},
        {**SMALL, "updates": 4, "ensemble": 1},
    ],
    ids=["sizes", "characters", "transformer", "epochs", "chosen", "split", "guided", "guided-transformer", "one"],
)
def test_train_is_the_command(options, tmp_path):
    data = pairs_file(tmp_path / "train.tsv")
    result = attend.train(data, tmp_path / "ours", **options)
    assert result.end in ("done", "patience") and result.update > 0 and "dropout" in result.chosen
    command("train", "--train", data, "--model", tmp_path / "theirs", "--quiet", *arguments_of(options))
    assert (tmp_path / "ours").read_bytes() == (tmp_path / "theirs").read_bytes()


def test_validation_data(tmp_path):
    data, valid = pairs_file(tmp_path / "train.tsv"), FIXTURES / "valid.tsv"
    for i, (ours, theirs) in enumerate([(valid, [valid]), (0.3, ["30%"]), (False, ["none"])]):
        attend.train(data, tmp_path / f"ours{i}", ours, updates=6, **SMALL)
        command("train", "--train", data, "--valid", *theirs, "--model", tmp_path / f"theirs{i}", "--quiet",
                "--updates", 6, *arguments_of(SMALL))
        assert (tmp_path / f"ours{i}").read_bytes() == (tmp_path / f"theirs{i}").read_bytes()
    with pytest.raises(attend.UsageError):
        attend.train(data, tmp_path / "m", 1.5)


def test_guided_by_a_file(tmp_path):
    data, links = pairs_file(tmp_path / "train.tsv"), tmp_path / "links"
    links.write_text("0-0 1-1 2-2\n" * 60)
    attend.train(data, tmp_path / "ours", updates=6, guided_alignment=links, **SMALL)
    command("train", "--train", data, "--model", tmp_path / "theirs", "--quiet", "--updates", 6, "--guided-alignment",
            links, *arguments_of(SMALL))
    assert (tmp_path / "ours").read_bytes() == (tmp_path / "theirs").read_bytes()
    assert attend.Model.load(tmp_path / "ours").config["alignment-head"] is True
    with pytest.raises(attend.FileError):
        attend.train(data, tmp_path / "x", guided_alignment=tmp_path / "missing", **SMALL)


# ---- ensembles ----


def files_of(model):
    """The names and bytes of the models of an ensemble: it, its members and their checkpoints."""
    members = sorted(model.with_name(model.name + ".members").iterdir())
    return {f.name: f.read_bytes() for f in members if f.suffix in ("", ".checkpoint")} | {"": model.read_bytes()}


def test_ensemble_is_the_command(tmp_path):
    data, options = pairs_file(tmp_path / "train.tsv"), {"updates": 6, "valid_every": 3, "ensemble": 3, **SMALL}
    seen, ours, theirs = [], tmp_path / "ours", tmp_path / "theirs"
    result = attend.train(data, ours, on_progress=seen.append, **options)
    assert result.end == "done" and [(p.member, p.update) for p in seen] == [(m, u) for m in (1, 2, 3) for u in range(1, 7)]
    command("train", "--train", data, "--model", theirs, "--quiet", *arguments_of(options))
    first = files_of(ours)
    assert first == files_of(theirs) and len(first) == 7
    assert attend.Model.load(ours).member_count == 3
    attend.train(data, tmp_path / "single", **{**options, "ensemble": 1, "seed": SMALL["seed"] + 2})
    assert (tmp_path / "single").read_bytes() == first["3"]

    seen.clear()  # complete: nothing is trained, and the command agrees
    attend.train(data, ours, on_progress=seen.append, **options)
    command("train", "--train", data, "--model", ours, "--quiet", *arguments_of(options))
    assert not seen and files_of(ours) == first
    attend.train(data, ours, fresh=True, **{**options, "ensemble": 2})
    assert "3" not in files_of(ours) and attend.Model.load(ours).member_count == 2


def test_ensemble_stops_and_resumes(tmp_path):
    data, options = pairs_file(tmp_path / "train.tsv"), {"updates": 12, "valid_every": 4, "ensemble": 2, **SMALL}
    attend.train(data, tmp_path / "whole", **options)
    model = tmp_path / "parts"
    for member, update in ((1, 3), (1, 12), (2, 5)):
        stopped = attend.train(data, model, on_progress=lambda p: (p.member, p.update) == (member, update), **options)
        assert stopped.end == "stopped" and not model.exists()

    def fail(progress):
        raise KeyError("from the callback")

    with pytest.raises(KeyError, match="from the callback"):
        attend.train(data, model, on_progress=fail, **options)
    last = []
    attend.train(data, model, on_progress=last.append, **options)
    assert {p.member for p in last} == {2} and files_of(model) == files_of(tmp_path / "whole")


def test_ensemble_errors(tmp_path):
    data, options = pairs_file(tmp_path / "train.tsv"), {"updates": 2, "ensemble": 2, **SMALL}
    single = attend.train(data, tmp_path / "single", updates=2, **SMALL)
    assert single.end == "done"
    before = (tmp_path / "single").read_bytes()
    with pytest.raises(attend.UsageError, match="single exists and is not from this training"):
        attend.train(data, tmp_path / "single", **options)
    with pytest.raises(attend.UsageError, match="checkpoint of the training of a single model"):
        attend.train(data, tmp_path / "single", fresh=True, **options)
    assert (tmp_path / "single").read_bytes() == before
    for wrong in (0, 65, "two"):
        with pytest.raises(attend.UsageError, match="ensemble="):
            attend.train(data, tmp_path / "m", **{**options, "ensemble": wrong})
    with pytest.raises(attend.UsageError, match="each member has its own log"):
        attend.train(data, tmp_path / "m", log=tmp_path / "log", **options)
    attend.train(data, tmp_path / "m", **options)
    before = files_of(tmp_path / "m")
    with pytest.raises(attend.UsageError):  # fresh removes nothing before the options are known to be right
        attend.train(data, tmp_path / "m", fresh=True, hiden=3, **options)
    assert files_of(tmp_path / "m") == before

    shutil.copy(tmp_path / "m.members" / "1", tmp_path / "alone")
    for model, own in (("m", "m.members/1"), ("m", "m.members/2.checkpoint"), ("alone", "alone")):
        with pytest.raises(attend.UsageError, match="would replace it"):  # a model to start from stays, too
            attend.train(data, tmp_path / model, fresh=True, init_from=tmp_path / own, ensemble=2, updates=3)
    assert files_of(tmp_path / "m") == before

    def again(progress):
        with pytest.raises(attend.UsageError, match="another process is training"):
            attend.train(data, tmp_path / "m", fresh=True, **options)

    attend.train(data, tmp_path / "m", fresh=True, on_progress=again, **options)
    assert files_of(tmp_path / "m") == before


# Options that have no effect together. The command refuses them too.
REFUSED = {
    "init_from, preset": {"init_from": "base", "preset": "tiny"},
    "init_from, vocab_size": {"init_from": "base", "vocab_size": 300},
    "init_from, lowercase": {"init_from": "base", "lowercase": "both"},
    "init_from, bpe_split": {"init_from": "base", "bpe_split": "spaces"},
    "init_from, min_count": {"init_from": "base", "min_count": 2},
    "is an ensemble and cannot be trained": {"init_from": "base-ensemble"},
    "new_vocab requires": {"new_vocab": True},
    "one vocabulary": {"shared_vocab": True, "target_vocab_size": 300},
    "one vocabulary; use": {"shared_vocab": True, "target_tokens": "char"},
    "one tokenizer": {"shared_vocab": True, "lowercase": "source"},
    "source_tokens applies to pairs": {"task": "language-model", "source_tokens": "char"},
    "guided_alignment applies to pairs": {"task": "language-model", "guided_alignment": "auto"},
    "lowercase='source' applies to pairs": {"task": "language-model", "lowercase": "source"},
    "preset='g2p' applies to pairs": {"task": "language-model", "preset": "g2p"},
}


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    folder = tmp_path_factory.mktemp("base")
    data = pairs_file(folder / "t.tsv")
    attend.train(data, folder / "base", updates=2, **SMALL)
    attend.train(data, folder / "base-ensemble", updates=2, ensemble=2, **SMALL)
    pairs_file(folder / "t.txt", tab=False)
    return folder


@pytest.mark.parametrize("message", REFUSED)
def test_options_without_effect(message, base):
    options = {**REFUSED[message], "updates": 2}
    if "init_from" in options:
        options["init_from"] = base / options["init_from"]
    data = base / ("t.txt" if "task" in options else "t.tsv")
    with pytest.raises(attend.UsageError) as raised:
        attend.train(data, base / "m", **options)
    assert all(part in str(raised.value) for part in message.split(", "))
    program = [os.environ["ATTEND"], "train", "--train", data, "--model", base / "m", *arguments_of(options)]
    theirs = subprocess.run([str(x) for x in program], capture_output=True, check=False)
    assert theirs.returncode == 2 and not (base / "m").exists()


def test_language_model(tmp_path):
    data = pairs_file(tmp_path / "train.txt", tab=False)
    attend.train(data, tmp_path / "ours", task="language-model", updates=6, **SMALL)
    command("train", "--train", data, "--model", tmp_path / "theirs", "--quiet", "--task", "language-model",
            "--updates", 6, *arguments_of(SMALL))
    assert (tmp_path / "ours").read_bytes() == (tmp_path / "theirs").read_bytes()


def test_fine_tuning(tmp_path):
    data = pairs_file(tmp_path / "train.tsv")
    attend.train(data, tmp_path / "base", updates=6, **SMALL)
    small = {"batch_tokens": 60, "threads": 2, "updates": 4, "learning_rate": 0.0003}
    attend.train(data, tmp_path / "ours", init_from=tmp_path / "base", **small)
    command("train", "--train", data, "--model", tmp_path / "theirs", "--quiet", "--init-from", tmp_path / "base",
            *arguments_of(small))
    assert (tmp_path / "ours").read_bytes() == (tmp_path / "theirs").read_bytes()


def test_progress_and_stopping(tmp_path):
    data, seen = pairs_file(tmp_path / "train.tsv"), []
    whole = attend.train(data, tmp_path / "whole", updates=20, valid_every=5, on_progress=seen.append, **SMALL)
    assert [p.update for p in seen] == list(range(1, 21)) and seen[-1].loss < seen[0].loss
    assert seen[4].validated and seen[4].valid_score is not None and seen[0].valid_score is None
    assert whole.best == min(p.valid_score for p in seen if p.validated)

    options = {"updates": 20, "valid_every": 5, **SMALL}
    stopped = attend.train(data, tmp_path / "parts", on_progress=lambda p: p.update == 7, **options)
    assert stopped.end == "stopped" and stopped.update in (7, 8)  # at most one more update

    def fail(progress):
        if progress.update == 12:
            raise KeyError("from the callback")

    with pytest.raises(KeyError, match="from the callback"):
        attend.train(data, tmp_path / "parts", on_progress=fail, **options)
    assert attend.train(data, tmp_path / "parts", **options).end == "done"
    assert (tmp_path / "parts").read_bytes() == (tmp_path / "whole").read_bytes()


def test_interrupt_leaves_a_checkpoint(tmp_path):
    """Ctrl-C raises KeyboardInterrupt; the same call resumes to the same bytes."""
    data = pairs_file(tmp_path / "train.tsv")
    program = textwrap.dedent(f"""
        import attend, os, signal
        def interrupt(p):
            if p.update == 9:
                os.kill(os.getpid(), signal.SIGINT)
        try:
            attend.train({str(data)!r}, {str(tmp_path / "parts")!r}, updates=20, on_progress=interrupt, **{SMALL!r})
        except KeyboardInterrupt:
            print("interrupted")
        """)
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout == "interrupted\n" and (tmp_path / "parts.checkpoint").exists()
    attend.train(data, tmp_path / "whole", updates=20, **SMALL)
    first = []
    attend.train(data, tmp_path / "parts", updates=20, on_progress=first.append, **SMALL)
    assert first[0].update in (10, 11)
    assert (tmp_path / "parts").read_bytes() == (tmp_path / "whole").read_bytes()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler or os.environ.get("CI") is not None


def test_errors(tmp_path):
    data = pairs_file(tmp_path / "train.tsv")
    with pytest.raises(attend.UsageError, match="hidden"):
        attend.train(data, tmp_path / "m", hiden=8)
    with pytest.raises(attend.UsageError, match="learning-rate=fast"):
        attend.train(data, tmp_path / "m", learning_rate="fast")
    with pytest.raises(attend.UsageError, match="determined by the data"):
        attend.train(data, tmp_path / "m", source_vocab=100)
    with pytest.raises(attend.UsageError, match="'adam'"):
        attend.train(data, tmp_path / "m", optimizer="lion")
    with pytest.raises(attend.FileError):
        attend.train(tmp_path / "missing.tsv", tmp_path / "m")
    (tmp_path / "bad.tsv").write_bytes(b"a\tb\n\xff\tc\n" * 20)
    with pytest.raises(attend.DataError, match="bad.tsv, line 2"):
        attend.train(tmp_path / "bad.tsv", tmp_path / "m")
    attend.train(data, tmp_path / "m", updates=2, **SMALL)
    with pytest.raises(attend.UsageError, match="seed"):
        attend.train(data, tmp_path / "m", updates=2, **{**SMALL, "seed": 4})
    assert attend.train(data, tmp_path / "m", updates=2, fresh=True, **{**SMALL, "seed": 4}).end == "done"
