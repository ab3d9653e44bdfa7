"""Reads a model file in Python: check_model_file.py FILE [--package]

Reads the model as the format is specified (see check_tensor_file.py) and checks the metadata and parameter names that docs/models.md
documents. With --package, reads it with the safetensors package. Without --package, such a run follows, in the Python that
ATTEND_PEER_PYTHON names or else in this one; it is skipped with a message if the package is missing."""
import os
import subprocess
import sys

from check_tensor_file import read


def check(shapes, metadata):
    config = {key[len("config.") :]: value for key, value in metadata.items() if key.startswith("config.")}
    assert metadata["format"] == "attend-model" and metadata["format-version"] == "1", metadata
    assert metadata["made-by"].startswith("attend ") and metadata["checksum"].startswith("xxh3-")
    assert (config["cell"], config["attention"], config["bidirectional"]) == ("gru", "additive", "yes")
    hidden, words = int(config["hidden"]), int(config["target-vocab"])
    assert shapes["output.w"] == [words, hidden] and shapes["attention.u"] == [hidden]
    assert shapes["encoder.0.backward.u"] == [3 * hidden, hidden]
    assert shapes["decoder.0.context"] == [3 * hidden, 2 * hidden]


def main():
    path = sys.argv[1]
    if sys.argv[2:] == ["--package"]:
        try:
            from safetensors import safe_open
        except ImportError:
            print("skipped: no safetensors package here")
            return
        with safe_open(path, "np") as f:
            tensors = {name: f.get_tensor(name) for name in f.keys()}
            check({name: list(t.shape) for name, t in tensors.items()}, f.metadata())
        by_rules = read(path)[0]
        for name, t in tensors.items():
            assert t.tobytes() == by_rules[name][2], name
        print(f"the safetensors package reads {len(tensors)} tensors")
        return
    tensors, metadata, _ = read(path)
    check({name: shape for name, (_, shape, _) in tensors.items()}, metadata)
    print(f"{len(tensors)} tensors read as specified")
    python = os.environ.get("ATTEND_PEER_PYTHON") or sys.executable
    subprocess.run([python, "-B", __file__, path, "--package"], check=True)


main()
