"""Tests tools/check_layers.py on small trees: test_check_layers.py CHECK_LAYERS"""
import pathlib
import subprocess
import sys
import tempfile

TREE = {
    "docs/design.md": "```layers\nsrc/core/  memory\nsrc/kernel/  arithmetic\nsrc/device/  memories\nsrc/model/  networks\nsrc/train/  training\n```\n",
    "tools/public_headers.txt": "core: status.h # a comment\nmodel: model.h\ntrain: train.h\nall: attend.h\n",
    "include/attend/status.h": "#include <stddef.h>\n",
    "include/attend/model.h": "#include <attend/status.h>\n",
    "include/attend/train.h": "#include <attend/model.h>\n",
    "include/attend/attend.h": "#include <attend/train.h>\n",
    "src/core/memory.h": "#include <stdlib.h>\n",
    "src/core/memory.c": '#include "core/memory.h"\n',
    "src/kernel/kernel.c": '#include "kernel/kernel.h"\nattend_cpu_x();\n',
    "src/device/device.h": '#include "kernel/arguments.h"\n',
    "src/device/cpu.c": '#include "kernel/kernel.h"\n#include "device/cpu.h"\nattend_device_cpu\n',
    "src/model/model.c": '#include "core/memory.h"\n#include <attend/model.h>\n#include <sys/stat.h>\n',
    "src/train/train.c": '#include "model/model.h"\n#include <train/team.h>\n#include <attend/train.h>\n',
    "cli/main.c": '#include "options.h"\n#include <attend/train.h>\n',
    "test/support/tree.h": "",
}
# A header that a file includes, in quotes and in angle brackets, and the message; "": allowed.
CASES = [
    ("src/core/memory.c", "train/team.h", "belongs to train, a layer above core"),
    ("src/core/memory.h", "model/model.h", "belongs to model, a layer above core"),
    ("src/model/model.c", "core/memory.h", ""),
    ("src/model/model.c", "model/rnn.h", ""),
    ("src/train/train.c", "core/memory.h", ""),
    ("src/train/train.c", "device/device.h", ""),
    ("src/train/train.c", "device/cpu.h", "is beneath the device functions of device/device.h"),
    ("src/model/model.c", "kernel/kernel.h", "is beneath the device functions of device/device.h"),
    ("src/model/model.c", "kernel/arguments.h", "is beneath the device functions of device/device.h"),
    ("src/device/device.h", "kernel/gemm.h", "is no type of an argument (kernel/arguments.h)"),
    ("src/device/cpu.c", "kernel/gemm.h", ""),
    ("src/core/memory.c", "attend/model.h", "belongs to model, a layer above core"),
    ("include/attend/status.h", "attend/train.h", "belongs to train, a layer above core"),
    ("include/attend/model.h", "train/team.h", "belongs to train, a layer above model"),
    ("cli/main.c", "core/memory.h", "is internal; the command uses public headers only"),
    ("cli/main.c", "demo/pairs.h", ""),
    ("src/train/train.c", "support/tree.h", "is a header of the tests"),
    ("cli/main.c", "support/tree.h", "is a header of the tests"),
    ("src/train/train.c", "../test/support/tree.h", "is outside the directory of the sources"),
    ("src/core/memory.c", "sys/wait.h", ""),
    ("src/train/train.c", "attend/attend.h", "belongs to all, a layer above train"),
]


def run(script, changes):
    """The exit status and the output of the script on the tree with some files changed."""
    with tempfile.TemporaryDirectory() as root:
        for name, text in {**TREE, **changes}.items():
            path = pathlib.Path(root, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        done = subprocess.run([sys.executable, "-B", script, root], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr


def expect(script, changes, status, text):
    got, printed = run(script, changes)
    if got != status or text not in printed:
        sys.exit(f"{changes}: exit status {got}, not {status} with '{text}': {printed}")


def main():
    script = sys.argv[1]
    expect(script, {}, 0, "layers: 12 files, no breach")
    files, breaches = dict(TREE), []
    for file, header, breach in CASES:
        for line in (f'#include "{header}"\n', f"  # include <{header}>\n"):
            files[file] += line
            if breach:
                breaches.append(f"{file}:{files[file].count(chr(10))}: {header} {breach}")
    status, printed = run(script, files)
    if status != 1 or sorted(printed.splitlines()[:-1]) != sorted(breaches):
        sys.exit("not the expected breaches:\n%s\nbut (exit status %d):\n%s" % ("\n".join(breaches), status, printed))
    for name in ("attend_device_cpu", "attend_device_guard", "attend_cpu_add(", "attend_guard_take("):
        expect(script, {"src/model/model.c": f"\n x = {name};\n"}, 1, "src/model/model.c:2: names a device")
    expect(script, {"src/model/model.c": "attend_device_of(c)->add(x);\n"}, 0, "no breach")
    expect(script, {"src/view/map.c": ""}, 1, "docs/design.md lists")
    expect(script, {"docs/design.md": "layers: core\n"}, 1, "has no ```layers block")
    expect(script, {"include/attend/view.h": ""}, 1, "does not name the layer of include/attend/view.h")
    expect(script, {"tools/public_headers.txt": TREE["tools/public_headers.txt"] + "core: gone.h\n"}, 1, "which does not exist")
    expect(script, {"tools/public_headers.txt": "cor: status.h\n"}, 1, "there is no layer 'cor'")


main()
