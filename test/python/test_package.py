"""The package as others see it: its types, its use of the limited API, and every Python that is installed here."""

import glob
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

import attend
from conftest import FIXTURES

PACKAGE = Path(attend.__file__).parent
EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "python"
IS_SANITIZED = "asan" in os.environ.get("LD_PRELOAD", "")


def has(module):
    return importlib.util.find_spec(module) is not None


def run(*program, **options):
    result = subprocess.run([str(x) for x in program], capture_output=True, text=True, check=False, **options)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


USE = """
import attend, concurrent.futures
from collections.abc import Mapping
from typing import assert_type

m = attend.Model.load("m", threads=2)
t = m.translate(["a"], n_best=2, return_attention="all")[0]
assert_type(t.text, str)
assert_type(t.attention, attend.Array | None)
assert_type(m.submit("a", timeout=1), concurrent.futures.Future[attend.Translation])
assert_type(m.score([("a", "b")])[0].token_log_probabilities, list[float])
assert_type(attend.bleu(["a"], ["a"]), float)
end: str = attend.train("t", b"m", on_progress=lambda p: p.update > 3, hidden=256, init_from=b"x").end
parameters: Mapping[str, bytes] = {}
attend.attention(b"", b"", heads=2, parameters=parameters, lengths=[1])
"""

WRONG = {
    "beam": 'attend.Model.load("m").translate("a line", beam="5")',
    "hidden": 'attend.train("t", "m", hidden="many")',
    "hiden": 'attend.train("t", "m", hiden=3)',
    "haeds": 'attend.attention(b"", b"", haeds=2)',
}


@pytest.mark.skipif(not has("mypy") or IS_SANITIZED, reason="needs mypy")
def test_types(tmp_path):
    """mypy --strict on the package, its stubs, their use, and a use that is wrong."""
    strict = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", f"--cache-dir={tmp_path / 'cache'}"]
    environment = {**os.environ, "MYPYPATH": str(PACKAGE.parent)}
    (tmp_path / "use.py").write_text(USE)
    run(*strict, tmp_path / "use.py", env=environment, cwd=tmp_path)
    run(*strict, "-p", "attend", "--exclude", "torch", env=environment, cwd=tmp_path)
    (tmp_path / "wrong.py").write_text("\n".join(["import attend", *WRONG.values()]))
    result = subprocess.run([*strict, tmp_path / "wrong.py"], capture_output=True, text=True, env=environment, check=False)
    assert all(word in result.stdout for word in WRONG)


def test_options_of_training_have_types(model):
    """Every field of a configuration but the sizes of vocabularies, which follow from the data."""
    typed = (PACKAGE / "_options.pyi").read_text(encoding="utf-8")
    for name in model.config:
        assert f"    {name.replace('-', '_')}: " in typed or name in ("source-vocab", "target-vocab"), name


@pytest.mark.skipif(not has("mypy") or IS_SANITIZED, reason="needs mypy")
def test_stubs_are_the_module(tmp_path):
    environment = {**os.environ, "MYPYPATH": str(PACKAGE.parent), "MYPY_CACHE_DIR": str(tmp_path)}
    allowed = tmp_path / "allowed"
    allowed.write_text("attend._core.Array.__buffer__\n")  # Python shows the buffer protocol from 3.12 on
    allow = ["--allowlist", allowed, "--ignore-unused-allowlist"]
    run(sys.executable, "-m", "mypy.stubtest", "attend._core", *allow, env=environment, cwd=tmp_path)


@pytest.mark.skipif(not has("abi3audit"), reason="needs abi3audit")
@pytest.mark.parametrize("name", ["_core", "_double"])
def test_limited_api(name):
    """The extension modules use nothing but the limited API of Python 3.11."""
    result = subprocess.run(
        [sys.executable, "-m", "abi3audit", "--strict", "--assume-minimum-abi3", "3.11", "--verbose",
         str(PACKAGE / f"{name}.abi3.so")],
        capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr


def other_pythons():
    """The interpreters from 3.11 on, one for each version."""
    found = {}
    places = [*os.environ.get("PATH", "").split(":"), *glob.glob(os.path.expanduser("~/.pyenv/versions/*/bin"))]
    for path in sorted(p for place in places for p in glob.glob(place + "/python3.*")):
        if not path.rpartition("python3.")[2].isdigit() or "shims" in path:
            continue
        probe = "import sys; print('%d.%d' % sys.version_info[:2])"
        said = subprocess.run([path, "-c", probe], capture_output=True, text=True, check=False)
        version = said.stdout.strip()
        if said.returncode == 0 and tuple(map(int, version.split("."))) >= (3, 11):
            found.setdefault(version, path)
    return found


PROGRAM = """
import array, asyncio, sys, attend
m = attend.Model.load(sys.argv[1], threads=2)
lines = ["one two", "three", "", "four one"]
print([(t.text, t.score, t.alignment) for t in m.translate(lines, return_attention=True)])
print([s.log_probability for s in m.score([("one", "eins"), ("two", "zwei")])])
print(m.map("one", "eins").weights().tolist())
print(attend.attention(memoryview(array.array("f", range(12))).cast("B").cast("f", (3, 4)),
                       memoryview(array.array("f", range(8))).cast("B").cast("f", (2, 4))).tolist())
async def main():
    return [(await asyncio.wrap_future(m.submit(line))).text for line in lines]
print(asyncio.run(main()))
try:
    m.translate(["one"], beam=0)
except attend.UsageError as e:
    print(type(e).__mro__, e)
print(attend.Tokenizer.learn(lines, vocab_size=300).encode("one two"), attend.bleu(lines, lines))
"""


@pytest.mark.skipif(IS_SANITIZED, reason="the sanitizer belongs to one interpreter")
@pytest.mark.parametrize("version", sorted(other_pythons()))
def test_every_python(version):
    """One build serves every version, with the same results."""
    model = FIXTURES / "transformer-learned.model"
    expected = run(sys.executable, "-c", PROGRAM, model)
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE.parent)}
    assert run(other_pythons()[version], "-W", "error", "-c", PROGRAM, model, env=environment) == expected


@pytest.mark.skipif(not has("safetensors") or not has("numpy"), reason="needs safetensors and numpy")
@pytest.mark.parametrize("name", ["int8-shortlist", "rnn-bpe"])
def test_a_model_file_without_attend(name):
    """The example of docs/python.md, with safetensors alone."""
    document = (Path(__file__).resolve().parents[2] / "docs" / "python.md").read_text(encoding="utf-8")
    code = document.partition("## A model file without attend")[2].partition("```python\n")[2].partition("```")[0]
    path = FIXTURES / (name + ".model")
    scope = {}
    exec(code.replace('"m"', repr(str(path))), scope)  # noqa: S102
    model = attend.Model.load(path)
    tokens = [model.target_tokenizer.token(i) for i in range(len(model.target_tokenizer))]
    assert scope["vocabulary"] == tokens
    assert scope["configuration"]["config.hidden"] == str(model.config["hidden"])
    assert sum(w.size for w in scope["weights"].values()) == model.parameter_count
    if model.precision == "int8":
        assert all(w.dtype == "float32" for w in scope["weights"].values())
