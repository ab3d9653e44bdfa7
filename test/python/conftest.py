"""Fixtures of the tests of the Python package. ATTEND is the command, ATTEND_FIXTURES the directory of test models."""

import os
import subprocess
from pathlib import Path

import pytest

import attend

FIXTURES = Path(os.environ["ATTEND_FIXTURES"])
MODELS = ("rnn-bpe", "rnn-location", "transformer-learned", "lstmn", "int8-shortlist")


def read_lines(name):
    return (FIXTURES / name).read_text(encoding="utf-8").split("\n")[:-1]


@pytest.fixture(scope="session")
def lines():
    return read_lines("input.txt")


@pytest.fixture(scope="session")
def pairs():
    return [tuple(line.split("\t")) for line in read_lines("pairs.tsv")]


@pytest.fixture(scope="session")
def model():
    return attend.Model.load(FIXTURES / "transformer-learned.model", threads=2)


@pytest.fixture(scope="session", params=MODELS)
def any_model(request):
    return attend.Model.load(FIXTURES / (request.param + ".model"), threads=2)


def command(*arguments, text=None):
    """The bytes that the command writes to standard output."""
    program = [os.environ["ATTEND"], *map(str, arguments)]
    result = subprocess.run(program, input=text, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    assert result.returncode == 0, result.stderr.decode()
    return result.stdout
