#!/bin/bash
# tools/test_cuda.sh DIRECTORY [LOG]
# Runs the tests of devices on a GPU: DIRECTORY is a build directory, or what tools/cuda_bundle.sh has made. Skips with a word, and status 0, where no
# GPU works. Prints a line for each test; LOG (default: DIRECTORY/test_cuda.log) gets what they print. TESTS="A B": only these programs;
# PARTS="programs sanitizer kill growth": only these parts; ATTEND_ONNX_CASES: the directory of the ONNX cases.
set -u
directory=$(cd "$1" && pwd) || exit 2
log=${2:-$directory/test_cuda.log}
parts=${PARTS:-programs sanitizer kill growth}
export LD_LIBRARY_PATH=$directory/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
attend=$directory/attend
golden=$directory/golden # of a bundle; a build directory has none, and the programs know where they are
[ -d "$golden" ] || golden=
failed=0 passed=0
: >"$log"

gpu=$("$attend" info --cpu | sed -n 's/^gpu  *//p')
case $gpu in
none* | '')
    echo "skipped: no GPU can be used: ${gpu#none: }"
    exit 0
    ;;
esac
echo "GPU: $gpu"

# use PROGRAM: the environment for a program; those of the double-precision twin have a plug-in of their own
use() {
    export ATTEND_DEVICE=cuda ATTEND_CUDA=$directory/libattend_cuda.so
    case $1 in
    gradient_* | *_double) ATTEND_CUDA=$directory/libattend_cuda_double.so ;;
    esac
}

# report NAME STATUS SECONDS
report() {
    case $2 in
    0) echo "passed   $1 ($3 s)" && passed=$((passed + 1)) ;;
    77) echo "skipped  $1" ;;
    *) echo "FAILED   $1 (status $2, $3 s)" && failed=$((failed + 1)) ;;
    esac
}

# run NAME COMMAND...
run() {
    local name=$1 start=$SECONDS
    shift
    echo "== $name: $*" >>"$log"
    timeout "${LIMIT:-300}" "$@" >>"$log" 2>&1 </dev/null
    report "$name" $? $((SECONDS - start))
}

programs=${TESTS:-$(cat "$directory/test/on_devices.txt")}
case $parts in *programs*)
    for name in $programs; do
        use "$name"
        case $name in
        golden_*) run "$name" "$directory/test/$name" $golden ;;
        *) run "$name" "$directory/test/$name" ;;
        esac
    done
    if [ -n "${ATTEND_ONNX_CASES:-}" ]; then
        use conformance_onnx
        run conformance_onnx "$directory/test/conformance_onnx" --if-present "$ATTEND_ONNX_CASES"
    fi
    ;;
esac

# compute-sanitizer is part of the CUDA toolkit
case $parts in *sanitizer*)
    sanitizer=$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer 2>/dev/null)
    if [ -z "$sanitizer" ]; then
        echo "skipped  compute-sanitizer: it is not installed"
    else
        for tool in memcheck racecheck initcheck; do
            for name in ${SANITIZED:-test_tape test_scores test_lstmn test_cache test_beam_cache golden_ops golden_attention golden_cells}; do
                use "$name"
                arguments=
                case $name in golden_*) arguments=$golden ;; esac
                LIMIT=600 run "$tool $name" "$sanitizer" --tool $tool --error-exitcode 9 "$directory/test/$name" $arguments
            done
        done
    fi
    ;;
esac

use attend
case $parts in *kill*)
    kill_script=$directory/kill.sh
    [ -e "$kill_script" ] || kill_script=$(dirname "$0")/../test/cli/kill.sh
    LIMIT=580 run "kill -9 and resume" "$kill_script" "$attend" 8 2
    ;;
esac

# The memory of a process must not grow from update to update.
growth() {
    local folder status=0
    folder=$(mktemp -d)
    awk 'BEGIN { srand(1); for (i = 0; i < 4000; i++) { s = ""; n = 2 + int(rand() * 12);
        for (j = 0; j < n; j++) s = s (j ? " " : "") substr("abcdefgh", 1 + int(rand() * 8), 1); print s "\t" s } }' >"$folder/pairs.tsv"
    "$attend" train --train "$folder/pairs.tsv" --valid none --tokens word --hidden 32 --embedding 16 --batch-tokens 500 --updates "${UPDATES:-10000}" \
        --log-every 500 --no-check --model "$folder/model" 2>"$folder/printed" &
    local child=$! host=() gpu=()
    while kill -0 $child 2>/dev/null; do
        sleep 2
        host+=("$(awk '/VmRSS/ { print $2 }' /proc/$child/status 2>/dev/null)")
        gpu+=("$(nvidia-smi --query-gpu=memory.used --format=csv,noheader,nounits 2>/dev/null | head -1)")
    done
    wait $child || status=$?
    [ $status = 0 ] || { cat "$folder/printed"; rm -rf "$folder"; return $status; }
    rm -rf "$folder"
    echo "host memory, kB, every 2 s: ${host[*]}"
    echo "memory of the GPU, MiB, every 2 s: ${gpu[*]}"
    # the second half of the run against its middle
    awk -v host="${host[*]}" -v gpu="${gpu[*]}" 'function grows(text, slack,  x, n, i, middle, last) {
        n = split(text, x, " "); middle = x[int(n / 2) + 1]; last = middle
        for (i = int(n / 2) + 1; i < n; i++) if (x[i] > last) last = x[i]
        return n > 4 && last > middle * 1.02 + slack }
        BEGIN { exit grows(host, 4096) || grows(gpu, 16) }'
}
case $parts in *growth*)
    start=$SECONDS
    growth >>"$log" 2>&1
    report "memory of 10000 updates" $? $((SECONDS - start))
    ;;
esac

echo "$passed passed, $failed failed; $log has what they printed"
[ $failed = 0 ]
