"""The scripts of examples/python run to their end. Skipped where a package that one needs is not installed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import FIXTURES

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "python"


def run(name, *arguments):
    environment = {**os.environ, "MPLCONFIGDIR": os.environ.get("ATTEND_SCRATCH", "/tmp")}
    script = [sys.executable, str(EXAMPLES / name), *map(str, arguments)]
    result = subprocess.run(script, capture_output=True, text=True, env=environment, check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_translate():
    pytest.importorskip("numpy")
    printed = run("translate.py", FIXTURES / "transformer-learned.model", "one two")
    assert "one two -> " in printed and "entropy" in printed and "the sharpest is head" in printed


def test_variants(tmp_path):
    pytest.importorskip("matplotlib")
    printed = run("variants.py", tmp_path / "variants")
    scores = {line.split()[0]: float(line.split()[1]) for line in printed.splitlines()[1:4]}
    assert scores["additive"] > scores["none"] + 10 and (tmp_path / "variants" / "curves.png").stat().st_size > 5000


def test_own_score():
    pytest.importorskip("torch")
    assert "the gradients are those of the function" in run("own_score.py")
