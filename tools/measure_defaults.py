#!/usr/bin/env python3
"""Measures the defaults of `attend train` on small data: the tables of docs/defaults.md.

    tools/measure_defaults.py ATTEND DATA OUT [--seeds 5] [--sizes 800,3000,8000] [--languages ita,fre] [-- OPTIONS]

ATTEND is the command to measure, DATA the folder with LANGUAGE_train.tsv.gz and LANGUAGE_dev.tsv.gz (SIGMORPHON 2021,
grapheme to phoneme), OUT a folder for models and results. Each language is trained on the first N pairs of its training
file, with no options but --seed and --threads 1 (and OPTIONS), and scored on its development file: word error is the share of words whose
pronunciation is not exactly right. With several seeds, the models are also scored as an ensemble. Results are kept in
OUT, so that a second run continues. Times are processor time of the training process."""
import argparse
import gzip
import json
import os
import resource
import subprocess
import sys

LOW = {"ita"}  # 800 pairs in all


def lines_of(path):
    with gzip.open(path, "rt", encoding="utf-8") as f:
        return f.readlines()


def write_lines(path, lines):
    if os.path.exists(path):
        return
    with open(path, "w", encoding="utf-8") as f:
        f.writelines(lines)


def word_error(attend, models, dev):
    """The share of words that the models together translate to none of their pronunciations."""
    right = {}
    with open(dev, encoding="utf-8") as f:
        for line in f:
            source, target = line.rstrip("\n").split("\t")
            right.setdefault(source, set()).add(target)
    command = [attend, "translate", "--quiet"]
    for model in models:
        command += ["--model", model]
    out = subprocess.run(command, input="".join(s + "\n" for s in right), check=True, capture_output=True, text=True).stdout
    wrong = sum(t not in targets for t, targets in zip(out.splitlines(), right.values(), strict=True))
    return 100 * wrong / len(right)


def train(attend, pairs, model, seed, options):
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    command = [attend, "train", "--train", pairs, "--model", model, "--seed", str(seed), "--threads", "1", "--quiet", "--fresh"]
    subprocess.run(command + options, check=True)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def keep(path, result):
    with open(path, "w", encoding="utf-8") as f:
        json.dump(result, f)


def measure(arguments, language, size):
    """Word errors and seconds of each seed, and the word error of all seeds together."""
    name = os.path.join(arguments.out, f"{language}.{size}")
    pairs, dev, kept = name + ".tsv", os.path.join(arguments.out, language + ".dev.tsv"), name + ".json"
    write_lines(pairs, lines_of(os.path.join(arguments.data, language + "_train.tsv.gz"))[:size])
    write_lines(dev, lines_of(os.path.join(arguments.data, language + "_dev.tsv.gz")))
    result = {"errors": [], "seconds": []}
    if os.path.exists(kept):
        with open(kept, encoding="utf-8") as f:
            result = json.load(f)
    for seed in range(len(result["errors"]) + 1, arguments.seeds + 1):
        model = f"{name}.{seed}.model"
        result["seconds"].append(train(arguments.attend, pairs, model, seed, arguments.options))
        result["errors"].append(word_error(arguments.attend, [model], dev))
        keep(kept, result)
    seeds = len(result["errors"])
    if seeds > 1 and result.get("ensemble_of") != seeds:
        result["ensemble"] = word_error(arguments.attend, [f"{name}.{s}.model" for s in range(1, seeds + 1)], dev)
        result["ensemble_of"] = seeds
        keep(kept, result)
    return result


def mean(numbers):
    return sum(numbers) / len(numbers)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("attend")
    parser.add_argument("data")
    parser.add_argument("out")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--sizes", default="800,3000")
    parser.add_argument("--languages", default="ita,eng_us,fre,hun,kor")
    own = sys.argv[1:sys.argv.index("--")] if "--" in sys.argv else sys.argv[1:]
    arguments = parser.parse_args(own)
    arguments.options = sys.argv[sys.argv.index("--") + 1:] if "--" in sys.argv else []
    os.makedirs(arguments.out, exist_ok=True)
    print("| pairs | word error | ensemble | processor seconds |\n|---|---|---|---|")
    means = []
    for size in [int(s) for s in arguments.sizes.split(",")]:
        for language in arguments.languages.split(","):
            if language in LOW and size != 800:
                continue
            r = measure(arguments, language, size)
            means.append((mean(r["errors"]), r.get("ensemble"), mean(r["seconds"])))
            ensemble = f"{r['ensemble']:.1f}" if "ensemble" in r else "-"
            print(f"| {language} {size} | {mean(r['errors']):.1f} | {ensemble} | {mean(r['seconds']):.0f} |", flush=True)
    ensembles = [m[1] for m in means if m[1] is not None]
    both = f"{mean(ensembles):.1f}" if len(ensembles) == len(means) else "-"
    print(f"| mean | {mean([m[0] for m in means]):.1f} | {both} | {mean([m[2] for m in means]):.0f} |")


if __name__ == "__main__":
    main()
