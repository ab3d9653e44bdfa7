"""Reads a model file in Python: check_model_file.py FILE [--package]

Checks what docs/models.md says about the file: its metadata, and its parameters by name. Reads it by the rules of the format
(check_tensor_file.py), or with --package by the safetensors package (peer.py)."""
import sys

from check_tensor_file import read
from peer import use_packages


def check(shapes, metadata):
    config = {key[len("config.") :]: value for key, value in metadata.items() if key.startswith("config.")}
    assert metadata["format"] == "attend-model" and metadata["format-version"] == "1", metadata
    assert metadata["made-by"].startswith("attend ") and metadata["checksum"].startswith("xxh3-")
    assert (config["cell"], config["attention"], config["bidirectional"]) == ("gru", "additive", "yes")
    hidden, tokens = int(config["hidden"]), int(config["target-vocab"])
    assert shapes["output.w"] == [tokens, hidden] and shapes["attention.u"] == [hidden]
    assert shapes["encoder.0.backward.u"] == [3 * hidden, hidden]
    assert shapes["decoder.0.context"] == [3 * hidden, 2 * hidden]


def main():
    path = sys.argv[1]
    if sys.argv[2:] == ["--package"]:
        use_packages("safetensors", "numpy")
        from safetensors import safe_open
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
    print(f"{len(tensors)} tensors read by the rules of the format")


main()
