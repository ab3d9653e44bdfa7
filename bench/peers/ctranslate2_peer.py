"""The CTranslate2 side of the benchmark: the Transformer of bench/decoding.c with random weights. Prints the version; then reads
tasks from standard input, one on each line, and prints the best time in seconds of a few runs (0: failure). bench/peer.c starts it.

Task:   decode-transformer BATCH BEAM float32|int8      25 source tokens, 25 steps, two threads, with the best of several settings:
                                                        one or two threads for one batch, or one for each of several; threads pinned
                                                        or not; the library of its products; weights packed once or not

Libraries and pinning are settings of a process, so that there is a process for each ("worker")."""
import json
import os
import subprocess
import sys
import tempfile
import time

WORKER = sys.argv[1:] == ["worker"]
if WORKER:  # only there: where OMP_PROC_BIND is set, loading OpenMP pins the process, and its children, to one core
    try:
        import ctranslate2
        import numpy
        from ctranslate2.specs import transformer_spec
    except ImportError:
        sys.exit(1)

LAYERS, HEADS, WIDTH, INNER, VOCABULARY, TOKENS = 4, 4, 256, 1024, 10000, 25
SECONDS = 1.0  # at least, for each measurement
random = numpy.random.default_rng(0) if WORKER else None


def matrix(rows, columns):
    return (random.standard_normal((rows, columns)) * columns**-0.5).astype(numpy.float32)


def fill_linear(linear, rows, columns):
    linear.weight, linear.bias = matrix(rows, columns), numpy.zeros(rows, numpy.float32)


def fill_norm(norm):
    norm.gamma, norm.beta = numpy.ones(WIDTH, numpy.float32), numpy.zeros(WIDTH, numpy.float32)


def fill_attention(attention, widths):
    fill_norm(attention.layer_norm)
    for linear, rows in zip(attention.linear, widths):
        fill_linear(linear, rows, WIDTH)


def fill_feed_forward(ffn):
    fill_norm(ffn.layer_norm)
    fill_linear(ffn.linear_0, INNER, WIDTH)
    fill_linear(ffn.linear_1, WIDTH, INNER)


def save_model(directory):
    spec = transformer_spec.TransformerSpec.from_config((LAYERS, LAYERS), HEADS, pre_norm=True)
    embeddings = spec.encoder.embeddings
    for e in embeddings if isinstance(embeddings, list) else [embeddings]:
        e.weight = matrix(VOCABULARY, WIDTH)
    spec.decoder.embeddings.weight = matrix(VOCABULARY, WIDTH)
    fill_linear(spec.decoder.projection, VOCABULARY, WIDTH)
    spec.decoder.projection.bias[2] = -1000  # no hypothesis ends before the last step
    for side in (spec.encoder, spec.decoder):
        fill_norm(side.layer_norm)
        for layer in side.layer:
            fill_attention(layer.self_attention, [3 * WIDTH, WIDTH])
            fill_feed_forward(layer.ffn)
            if side is spec.decoder:
                fill_attention(layer.attention, [WIDTH, 2 * WIDTH, WIDTH])
    tokens = ["<unk>", "<s>", "</s>"] + ["t%d" % i for i in range(VOCABULARY - 3)]
    spec.register_source_vocabulary(tokens)
    spec.register_target_vocabulary(tokens)
    spec.validate()
    spec.save(directory)
    return tokens


def seconds(translator, batch, beam, parts):
    """The best time of one translation of the whole batch, given to the translator in `parts` parts."""
    best, end = 0.0, time.perf_counter() + SECONDS
    while True:
        begin = time.perf_counter()
        results = translator.translate_batch(batch, beam_size=beam, max_decoding_length=TOKENS, min_decoding_length=TOKENS,
                                             max_batch_size=(len(batch) + parts - 1) // parts, batch_type="examples",
                                             return_end_token=False)
        took = time.perf_counter() - begin
        if len(results) != len(batch) or len(results[0].hypotheses[0]) < TOKENS - 1:
            raise RuntimeError("the search ended early")
        best = took if best == 0 else min(best, took)
        if time.perf_counter() > end:
            return best


def worker():
    """Answers requests for one measurement: tasks with the threads to use."""
    with tempfile.TemporaryDirectory() as directory:
        tokens = save_model(directory)
        print(ctranslate2.__version__, flush=True)
        for line in sys.stdin:
            count, beam, kind, inter, intra, parts = json.loads(line)
            took = 0.0
            try:
                batch = [[tokens[3 + int(i)] for i in random.integers(0, VOCABULARY - 3, TOKENS)] for _ in range(count)]
                translator = ctranslate2.Translator(directory, device="cpu", compute_type=kind, inter_threads=inter,
                                                    intra_threads=intra)
                took = seconds(translator, batch, beam, parts)
            except Exception as error:  # whatever it is, the benchmark goes on without this figure
                print("%s: %s" % (line.strip(), error), file=sys.stderr)
            print("%.6f" % took, flush=True)


# Settings of a process. Pinned threads of two translations share a core, so that they are pinned only for one translation.
SETTINGS = [({}, True), ({}, False), ({"CT2_USE_EXPERIMENTAL_PACKED_GEMM": "1"}, False), ({"CT2_USE_MKL": "0"}, False)]
THREADS = [(1, 2, 1), (1, 1, 1), (2, 1, 2), (2, 1, 4)]  # batches at a time, threads of each, batches


def start_workers():
    workers = []
    for changes, pinned in SETTINGS:
        environment = {name: value for name, value in os.environ.items() if pinned or name not in ("OMP_PROC_BIND", "OMP_PLACES")}
        child = subprocess.Popen([sys.executable, "-B", __file__, "worker"], env=environment | changes, stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE, text=True)
        version = child.stdout.readline()
        if version:
            workers.append(("%s%s" % (changes or "defaults", ", pinned" if pinned else ""), child, pinned, version.strip()))
    return workers


def allowed(count, pinned, inter, intra, parts):
    """Whether a setting makes sense: one thread only for one sentence, two translations only if they do not share a core."""
    return count > 1 and not pinned if inter > 1 else intra > 1 or count == 1


def ask(child, *request):
    child.stdin.write(json.dumps(request) + "\n")
    child.stdin.flush()
    return float(child.stdout.readline() or 0)


def main():
    workers = start_workers()
    if not workers:
        sys.exit(1)
    print(workers[0][3], flush=True)
    chosen = {}  # the best setting of each task: later requests measure only that one
    for line in sys.stdin:
        name, count, beam, kind = line.split()
        count, beam = int(count), int(beam)
        settings = chosen.get(line) or [(w, t) for w in workers for t in THREADS if allowed(count, w[2], *t)]
        times = []
        for worker_of, threads in settings:
            took = ask(worker_of[1], count, beam, kind, *threads) if name == "decode-transformer" else 0
            if took > 0:
                times.append((took, worker_of, threads))
        best = min(times, key=lambda x: x[0]) if times else (0, None, None)
        if times and line not in chosen:
            chosen[line] = [best[1:]]
            print("ctranslate2: %s best with %s, %d x %d threads, %d batches" % (line.strip(), best[1][0], *best[2]), file=sys.stderr)
        print("%.6f" % best[0], flush=True)


if __name__ == "__main__":
    worker() if WORKER else main()
