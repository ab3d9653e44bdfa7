"""read_npz.py ARCHIVE [JSON]: reads an archive of attend show with the standard library only, checks its arrays, and compares them with the JSON of the same
map (--all-heads). Prints the names of the models. NumPy, where it is installed, must read the same."""
import ast
import json
import struct
import sys
import zipfile


def read(file):
    magic, major, minor, size = struct.unpack("<6sBBH", file[:10])
    assert magic == b"\x93NUMPY" and (major, minor) == (1, 0)
    header = ast.literal_eval(file[10:10 + size].decode("ascii"))
    assert not header["fortran_order"]
    data, kind, shape = file[10 + size:], header["descr"], header["shape"]
    count = 1
    for length in shape:
        count *= length
    if kind.startswith("<U"):
        width = 4 * int(kind[2:])
        assert len(data) == width * count
        flat = [data[i * width:(i + 1) * width].decode("utf-32-le").rstrip("\0") for i in range(count)]
    else:
        flat = list(struct.unpack("<%d%s" % (count, {"<f4": "f", "<f8": "d", "<i4": "i"}[kind]), data))
    for length in reversed(shape[1:]):
        flat = [flat[i:i + length] for i in range(0, len(flat), length)]
    return flat if shape else flat[0]


def same(a, b):
    return all(same(x, y) for x, y in zip(a, b)) and len(a) == len(b) if isinstance(a, list) else a == b or abs(a - b) < 1e-5


def sums_to_one(weights, rest):
    if isinstance(rest, list):
        return all(sums_to_one(w, r) for w, r in zip(weights, rest))
    return abs(sum(weights) + rest - 1) < 1e-5


def compare_with_numpy(path, arrays):
    try:
        import numpy
    except ImportError:
        return
    loaded = numpy.load(path)
    assert sorted(loaded) == sorted(arrays), sorted(loaded)
    for name in arrays:
        assert same(loaded[name].tolist(), arrays[name]), name


with zipfile.ZipFile(sys.argv[1]) as archive:
    assert archive.testzip() is None
    assert all(name.endswith(".npy") for name in archive.namelist())
    arrays = {name[:-4]: read(archive.read(name)) for name in archive.namelist()}
compare_with_numpy(sys.argv[1], arrays)
prefixes = sorted({name.rsplit("/", 1)[0] + "/" if "/" in name else "" for name in arrays})
for prefix in prefixes:
    for unit in ("", "word_"):
        assert sums_to_one(arrays[prefix + unit + "weights"], arrays[prefix + unit + "rest"]), prefix + unit
if len(sys.argv) > 2:
    with open(sys.argv[2], encoding="utf-8") as file:
        wanted = json.load(file)
    for name, member in (("weights", "all_weights"), ("word_weights", "all_word_weights"), ("source_words", "source_words"), ("target", "target"),
                         ("probability", "probability"), ("model", "model")):
        assert same(arrays[name], wanted[member]), name
    assert arrays["target_tokens"] == [token["text"] for token in wanted["target_pieces"]]
print(*(arrays[prefix + "model"] for prefix in prefixes))
