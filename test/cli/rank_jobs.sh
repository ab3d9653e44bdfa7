# rank_jobs.sh: functions for jobs of mpirun in the background, which the tests of ranks source. A job is the process of mpirun.
rank_process() { # JOB RANK: the process of a rank
    for process in $(pgrep -P "$1"); do
        tr '\0' '\n' 2>/dev/null <"/proc/$process/environ" | grep -q "^OMPI_COMM_WORLD_RANK=$2\$" && echo "$process"
    done
}
ranks_have_ended() { # JOB: it has no process that is more than a zombie
    for process in $(pgrep -P "$1"); do
        grep -q '^State:[[:space:]]*Z' "/proc/$process/status" 2>/dev/null || return 1
    done
}
# Sets `took` to the milliseconds from `began` until the last rank has ended, and waits for mpirun: its exit status. mpirun has been seen to wait for itself
# at its end, after its ranks (Open MPI 4.1.4: pmix_progress_thread_pause joins a thread that waits for a lock); it is then killed.
wait_for_job() { # JOB
    for _ in $(seq 600); do ranks_have_ended "$1" && break; sleep 0.1; done
    took=$((($(date +%s%N) - began) / 1000000))
    for _ in $(seq 200); do kill -0 "$1" 2>/dev/null || break; sleep 0.1; done
    kill -KILL "$1" 2>/dev/null && echo 'mpirun did not end after its ranks'
    wait "$1"
}
