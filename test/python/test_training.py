"""Training: the same bytes as the command, callbacks, Ctrl-C and resuming."""

import os
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
    ],
    ids=["sizes", "characters", "transformer", "epochs", "chosen"],
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
