"""The figures of the Python package, as ratios from one run: import, a call, files against the command. additive.py
measures attend.torch.

    python3 figures.py BUILD MODEL LINES [WHEEL]

BUILD is a build directory with tests, MODEL a model file and LINES a file of sources. The machine should have nothing else to do; the load is printed first. What runs on one thread is
measured in CPU time, which other programs disturb less."""

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

build, model_path, lines_path = Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3])
sys.path.insert(0, str(build / "python"))
environment = {**os.environ, "PYTHONPATH": str(build / "python")}

import attend  # noqa: E402

print(f"kernels {attend.kernel_name()}, load average {os.getloadavg()[0]:.1f}")


def children():
    """CPU seconds of the programs that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def best(function, times, clock=time.perf_counter):
    seconds = []
    for _ in range(times):
        start = clock()
        function()
        seconds.append(clock() - start)
    return min(seconds)


def program(*arguments, **options):
    return subprocess.run([str(a) for a in arguments], check=True, capture_output=True, env=environment, **options).stdout


# ---- import
path = f"import sys, time; sys.path.insert(0, {str(build / 'python')!r}); start = time.process_time(); import attend; "
runs = [float(program(sys.executable, "-I", "-c", path + "print(time.process_time() - start)")) for _ in range(15)]
print(f"import                       {1000 * min(runs):.1f} ms")

# ---- a call for one short line, against the same call in C
small = Path(__file__).resolve().parents[2] / "test" / "data" / "v0.1" / "rnn-bpe.model"
model = attend.Model.load(small, threads=1)
line = ["one two"]
calls = 500


def many_calls():
    for _ in range(calls):
        model.translate(line, beam=1)


ours, theirs = [], []
for _ in range(3):
    ours.append(best(many_calls, 8, time.process_time) / calls * 1e6)
    theirs.append(float(program(build / "bench" / "bench_call", small, line[0], calls)))
print(f"a call                       {min(ours):.1f} us, in C {min(theirs):.1f} us: {min(ours) - min(theirs):.1f} us more")

# ---- files
texts = lines_path.read_text(encoding="utf-8").split("\n")[:-1]


def by_package(precision, beam, count):
    m = attend.Model.load(model_path, threads=2, precision=precision)
    with tempfile.NamedTemporaryFile("w", encoding="utf-8") as out:
        if count == 0:
            out.writelines(t.text + "\n" for t in m.translate(texts, beam=beam))
        else:
            for i in range(0, len(texts), count):
                out.writelines(t.text + "\n" for t in m.translate(texts[i : i + count], beam=beam))


def by_command(precision, beam):
    program(build / "attend", "translate", "--model", model_path, "--input", lines_path, "--threads", 2, "--beam", beam,
            "--precision", precision, "--quiet", "--output", "/dev/null")


for precision in ("fp32", "int8"):
    for beam in (1, 5):
        pairs = []
        for _ in range(3):  # one after another, so that both see the same machine
            pairs.append((best(lambda: by_package(precision, beam, 0), 1, time.process_time),
                          best(lambda: by_command(precision, beam), 1, children)))
        package, command = min(p for p, _ in pairs), min(c for _, c in pairs)
        batches = best(lambda: by_package(precision, beam, 64), 2, time.process_time)
        print(f"file, {precision}, beam {beam}           {command / package:.2f} of the command, "
              f"in batches of 64 {command / batches:.2f}    ({len(texts)} lines, command {command:.2f} s of CPU time)")

if len(sys.argv) > 4:
    print(f"wheel                        {Path(sys.argv[4]).stat().st_size / 1e6:.2f} MB")
