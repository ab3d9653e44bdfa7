"""Exchanges tensor files with other programs: check_tensor_file.py TOOL [--package]

Reads files that attend wrote with a reader that follows the published specification, and lets attend read files written
here. With --package, does the same with the safetensors package. Without --package, such a run follows, in the Python
that ATTEND_PEER_PYTHON names or else in this one; it is skipped with a message if the package is missing."""
import json
import os
import struct
import subprocess
import sys
import tempfile

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
    assert len({name for name, _ in pairs}) == len(pairs), "a name stands twice"
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
    assert last == len(data), "bytes behind the last tensor"
    return tensors, metadata, content


def write(path, tensors, metadata, spaces):
    """Names in reverse, fields in another order, all characters escaped, no padding of the header."""
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


def by_the_rules(tool, folder):
    path, tensors = os.path.join(folder, "attend.safetensors"), sample()
    subprocess.run([tool, "--write", path], check=True)
    got, metadata, content = read(path)
    assert got == tensors, "other tensors than the sample's"
    checksum = metadata.pop("checksum")
    assert metadata == METADATA and checksum.startswith("xxh3-") and len(checksum) == 21
    for spaces in range(9):
        other = os.path.join(folder, f"other{spaces}.safetensors")
        write(other, tensors, METADATA, spaces)
        attend_reads(tool, other, tensors, METADATA)
    print(f"{len(tensors)} tensors read and written as specified")
    try:
        import xxhash
    except ImportError:
        print("skipped: no xxhash package to compute the checksum with")
        return
    at = content.index(checksum.encode()) + 5
    assert xxhash.xxh3_64_hexdigest(content[:at] + b"0" * 16 + content[at + 16 :]) == checksum[5:]
    print("the checksum is that of the xxhash package")


def by_the_package(tool, folder):
    try:
        import safetensors
    except ImportError:
        print("skipped: no safetensors package (ATTEND_PEER_PYTHON can name a Python that has one)")
        return
    path, tensors = os.path.join(folder, "attend.safetensors"), sample()
    subprocess.run([tool, "--write", path], check=True)
    with open(path, "rb") as f:
        content = f.read()
    got = {name: (t["dtype"], list(t["shape"]), bytes(t["data"])) for name, t in safetensors.deserialize(content)}
    assert got == tensors, "the package reads something else"
    try:
        import numpy
        from safetensors import safe_open
        from safetensors.numpy import save_file
    except ImportError:
        print("skipped: no numpy")
        return
    with safe_open(path, "np") as f:
        metadata = f.metadata()
        metadata.pop("checksum")
        assert metadata == METADATA, "the package reads other metadata"
    kinds = {"BOOL": "?", "U8": "u1", "I8": "i1", "I16": "i2", "U16": "u2", "F16": "f2", "I32": "i4", "U32": "u4", "F32": "f4",
             "F64": "f8", "I64": "i8", "U64": "u8"}
    known = {name: t for name, t in tensors.items() if t[0] in kinds}
    arrays = {name: numpy.frombuffer(data, kinds[dtype]).reshape(shape) for name, (dtype, shape, data) in known.items()}
    other = os.path.join(folder, "package.safetensors")
    save_file(arrays, other, METADATA)
    attend_reads(tool, other, known, METADATA)
    print(f"{len(tensors)} tensors read by safetensors {safetensors.__version__}, {len(known)} written by it")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        if "--package" in sys.argv:
            by_the_package(sys.argv[1], folder)
        else:
            by_the_rules(sys.argv[1], folder)
            python = os.environ.get("ATTEND_PEER_PYTHON") or sys.executable
            sys.stdout.flush()
            sys.exit(subprocess.run([python, __file__, sys.argv[1], "--package"]).returncode)
