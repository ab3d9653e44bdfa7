/* join.c: joins the job that a launcher has started, through the MPI plug-in. */
#include "rank/ranks.h"

#include "core/plugin_file.h"
#include "core/status.h"
#include <dlfcn.h>
#include <stdlib.h>

/* ---- what the launcher says ---- */

/* Variables that a launcher sets for each process that it starts. */
typedef struct launcher {
    const char *count, *rank;
    bool is_connected; /* the processes can find each other */
} launcher;

/* Open MPI's mpirun; launchers that speak PMI or PMIx, such as srun; srun without either. mpirun may itself run in a step of
 * srun, so that it comes first. */
static const launcher launchers[] = {
    { "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", true },
    { "PMI_SIZE", "PMI_RANK", true },
    { "SLURM_STEP_NUM_TASKS", "PMIX_RANK", true },
    { "SLURM_STEP_NUM_TASKS", "SLURM_PROCID", false },
};

/* The launcher of this process; NULL: it is alone. */
static const launcher *find_launcher(int *count, int *rank)
{
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++) {
        const char *const all = getenv(launchers[i].count), *const own = getenv(launchers[i].rank);
        if (!all || !own) continue;
        *count = (int)strtol(all, NULL, 10), *rank = (int)strtol(own, NULL, 10);
        return *count > 1 && *rank >= 0 ? &launchers[i] : NULL;
    }
    return NULL;
}

int attend_ranks_started(int *rank)
{
    int count = 1, own = 0;
    const bool is_alone = !find_launcher(&count, &own);
    if (rank) *rank = is_alone ? 0 : own;
    return is_alone ? 1 : count;
}

/* ---- the plug-in ---- */

static int load(const rank_plugin **out, int ranks)
{
    char path[PATH_MAX];
    /* the parts of an MPI library look for its symbols among the global ones */
    void *handle = attend_plugin_open("attend-mpi.so", "ATTEND_MPI", true, path);
    if (!handle) {
        const char *why = dlerror();
        return attend_fail(ATTEND_BAD_USAGE,
                           "%d ranks were started, and the MPI plug-in cannot be loaded (%.200s): install the package "
                           "attend-mpi, or start one process alone",
                           ranks, why ? why : path);
    }
    *out = dlsym(handle, "attend_rank_plugin");
    if (*out && (*out)->version == RANK_PLUGIN_VERSION) return ATTEND_OK;
    dlclose(handle);
    return attend_fail(ATTEND_BAD_USAGE,
                       "%s is not an MPI plug-in of this version of attend: install the package attend-mpi of the same "
                       "version",
                       path);
}

/* Seconds between signs of life: several per time-out. */
static double beat_of(double timeout)
{
    return timeout / 8 < 2 ? timeout / 8 : 2;
}

/* Seconds for all ranks to join, or to leave: machines that are busy begin at different times. */
static double patience_of(double timeout)
{
    enum { MIN = 10 };
    return timeout > MIN ? timeout : MIN;
}

int attend_ranks_join(attend_ranks **out, double timeout)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, out && timeout >= 1);
    const rank_plugin *plugin = NULL;
    rank_transport transport;
    char text[RANK_TEXT];
    int ranks = 1, rank = 0;
    *out = NULL;
    const launcher *const from = find_launcher(&ranks, &rank);
    if (!from) return ATTEND_OK;
    if (!from->is_connected)
        return attend_fail(ATTEND_BAD_USAGE,
                           "srun has started %d processes that cannot find each other, so that each would do the whole "
                           "work: use srun --mpi=pmix, or start one process (for separate ones, unset %s)",
                           ranks, from->count);
    const int status = load(&plugin, ranks);
    if (status != ATTEND_OK) return status;
    const rank_start start = { rank, beat_of(timeout), patience_of(timeout) };
    if (!plugin->join(&transport, &start, text))
        return attend_fail(ATTEND_FAILED, "cannot join the other ranks by %s: %s", plugin->library, text);
    if (transport.count < 2) { /* else each process would train the model alone */
        transport.close(transport.state, false);
        return attend_fail(ATTEND_BAD_USAGE,
                           "%d ranks were started, but %s sees one process only: the launcher and the plug-in must "
                           "belong to the same MPI (with srun: --mpi=pmix)",
                           ranks, plugin->library);
    }
    return attend_ranks_new(out, &transport, timeout);
}
