"""Tensor files, read and written by other programs: check_tensor_file.py TOOL [--package | --checksum]

Reads what attend wrote by the published rules of the format, and lets attend read what this script writes. With --package: the same with the
safetensors package. With --checksum: compares the checksum with that of the xxhash package (peer.py)."""
import json
import os
import struct
import subprocess
import sys
import tempfile

from peer import use_packages

DTYPES = ["BOOL", "U8", "I8", "F8_E5M2", "F8_E4M3", "I16", "U16", "F16", "BF16", "I32", "U32", "F32", "F64", "I64", "U64"]
SIZES = dict(zip(DTYPES, [1, 1, 1, 1, 1, 2, 2, 2, 2, 4, 4, 4, 8, 8, 8]))
SHAPES = [[], [5], [2, 3], [3, 1, 2], [2, 1, 3, 2], [0], [4, 0, 7], [1, 1, 1, 1]]
METADATA = {"format": "attend", 'quotes " and \\': 'line\nbreak\ttab "quoted" \\ \x01 / end', "Köln 東京": "😀 é", "empty": ""}


def count(shape):
    n = 1
    for d in shape:
        n *= d
    return n


def sample():
    """name -> (dtype, shape, bytes), as in test/support/sample_tensors.h."""
    tensors = {}
    for k in range(len(DTYPES) + 3):
        dtype, shape = DTYPES[k % len(DTYPES)], SHAPES[k % 8]
        name = f'layer.{k}."{dtype}" é' if k % 5 == 4 else f"layer.{k}.{dtype}"
        mask = 1 if dtype == "BOOL" else 255
        tensors[name] = (dtype, shape, bytes((31 * k + 7 * i + 1) & mask for i in range(count(shape) * SIZES[dtype])))
    return tensors


def read(path):
    """Follows https://github.com/huggingface/safetensors#format"""
    with open(path, "rb") as f:
        content = f.read()
    (size,) = struct.unpack("<Q", content[:8])
    assert content[8:9] == b"{" and (8 + size) % 64 == 0
    pairs = json.loads(content[8 : 8 + size].decode(), object_pairs_hook=list)
    assert len({name for name, _ in pairs}) == len(pairs), "a name occurs twice"
    data, tensors, metadata, ends = content[8 + size :], {}, {}, []
    for name, value in pairs:
        fields = dict(value)
        if name == "__metadata__":
            metadata = fields
            continue
        begin, end = fields["data_offsets"]
        assert begin % SIZES[fields["dtype"]] == 0, f"{name} is not aligned"
        tensors[name] = (fields["dtype"], fields["shape"], data[begin:end])
        ends.append((begin, end))
    last = 0
    for begin, end in sorted(ends):
        assert begin == last, "a hole or an overlap"
        last = end
    assert last == len(data), "bytes after the last tensor"
    return tensors, metadata, content


def write(path, tensors, metadata, spaces):
    """Names in reverse order, fields in another order, all characters escaped; the header is not padded to a multiple of 64 bytes."""
    header, offset = {"__metadata__": metadata}, 0
    for name, (dtype, shape, data) in reversed(tensors.items()):
        header[name] = {"data_offsets": [offset, offset + len(data)], "shape": shape, "dtype": dtype}
        offset += len(data)
    text = json.dumps(header, indent=1).encode() + b" " * spaces
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text)
        for _, _, data in reversed(tensors.values()):
            f.write(data)


def attend_reads(tool, path, tensors, metadata):
    out = subprocess.run([tool, "--list", path], capture_output=True, check=True).stdout.decode()
    got = {}
    for line in out.split("\n"):
        if line.startswith("tensor\t"):
            _, name, dtype, shape, data = line.split("\t")
            got[name] = (dtype, [int(d) for d in shape.split(",") if d], bytes.fromhex(data))
    assert got == tensors, "attend reads something else"
    for key, value in metadata.items():
        assert f"metadata\t{key}\t{value}\n" in out, key


def by_the_rules(tool, directory):
    path, tensors = os.path.join(directory, "attend.safetensors"), sample()
    subprocess.run([tool, "--write", path], check=True)
    got, metadata, _ = read(path)
    assert got == tensors, "other tensors than the sample's"
    checksum = metadata.pop("checksum")
    assert metadata == METADATA and checksum.startswith("xxh3-") and len(checksum) == 21
    for spaces in range(9):
        other = os.path.join(directory, f"other{spaces}.safetensors")
        write(other, tensors, METADATA, spaces)
        attend_reads(tool, other, tensors, METADATA)
    print(f"{len(tensors)} tensors read and written by the rules of the format")


def check_checksum(tool, directory):
    import xxhash
    path = os.path.join(directory, "attend.safetensors")
    subprocess.run([tool, "--write", path], check=True)
    _, metadata, content = read(path)
    checksum = metadata["checksum"]
    at = content.index(checksum.encode()) + 5
    assert xxhash.xxh3_64_hexdigest(content[:at] + b"0" * 16 + content[at + 16 :]) == checksum[5:]
    print("the checksum is that of the xxhash package")


def by_the_package(tool, directory):
    import numpy
    import safetensors
    from safetensors import safe_open
    from safetensors.numpy import save_file
    path, tensors = os.path.join(directory, "attend.safetensors"), sample()
    subprocess.run([tool, "--write", path], check=True)
    with open(path, "rb") as f:
        content = f.read()
    got = {name: (t["dtype"], list(t["shape"]), bytes(t["data"])) for name, t in safetensors.deserialize(content)}
    assert got == tensors, "the package reads something else"
    with safe_open(path, "np") as f:
        metadata = f.metadata()
        metadata.pop("checksum")
        assert metadata == METADATA, "the package reads other metadata"
    kinds = {"BOOL": "?", "U8": "u1", "I8": "i1", "I16": "i2", "U16": "u2", "F16": "f2", "I32": "i4", "U32": "u4", "F32": "f4",
             "F64": "f8", "I64": "i8", "U64": "u8"}
    known = {name: t for name, t in tensors.items() if t[0] in kinds}
    arrays = {name: numpy.frombuffer(data, kinds[dtype]).reshape(shape) for name, (dtype, shape, data) in known.items()}
    other = os.path.join(directory, "package.safetensors")
    save_file(arrays, other, METADATA)
    attend_reads(tool, other, known, METADATA)
    print(f"{len(tensors)} tensors read by safetensors {safetensors.__version__}, {len(known)} written by it")


if __name__ == "__main__":
    checks = {"": (by_the_rules,), "--package": (by_the_package, "safetensors", "numpy"), "--checksum": (check_checksum, "xxhash")}
    check, *packages = checks["".join(sys.argv[2:])]
    if packages:
        use_packages(*packages)
    with tempfile.TemporaryDirectory() as directory:
        check(sys.argv[1], directory)
