/* join.c: joins the job that a launcher has started, through the MPI plug-in. */
#include "rank/ranks.h"

#include "core/plugin_file.h"
#include "core/status.h"
#include <dlfcn.h>
#include <stdlib.h>

static long number_of(const char *name)
{
    const char *text = getenv(name);
    return text ? strtol(text, NULL, 10) : 0;
}

/* The ranks that a launcher has started: Open MPI's mpirun, and launchers that speak PMI or PMIx, such as srun. */
static long started_ranks(void)
{
    const long size = number_of("OMPI_COMM_WORLD_SIZE"), pmi = number_of("PMI_SIZE");
    if (size > 0 || pmi > 0) return size > pmi ? size : pmi;
    return getenv("PMIX_RANK") ? number_of("SLURM_STEP_NUM_TASKS") : 0;
}

/* ---- the plug-in ---- */

static int load(const rank_plugin **out, long ranks)
{
    char path[PATH_MAX];
    /* the parts of an MPI library look for its symbols among the global ones */
    void *handle = attend_plugin_open("attend-mpi.so", "ATTEND_MPI", true, path);
    if (!handle) {
        const char *why = dlerror();
        return attend_fail(ATTEND_BAD_USAGE,
                           "%ld ranks were started, and the MPI plug-in cannot be loaded (%.200s): install the package "
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

int attend_ranks_join(attend_ranks **out, double timeout)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, out && timeout >= 1);
    const rank_plugin *plugin = NULL;
    rank_transport transport;
    char text[RANK_TEXT];
    *out = NULL;
    const long ranks = started_ranks();
    if (ranks < 2) return ATTEND_OK;
    const int status = load(&plugin, ranks);
    if (status != ATTEND_OK) return status;
    if (!plugin->join(&transport, beat_of(timeout), text))
        return attend_fail(ATTEND_FAILED, "cannot join the other ranks by %s: %s", plugin->library, text);
    if (transport.count < 2) { /* else each process would train the model alone */
        transport.close(transport.state, false);
        return attend_fail(ATTEND_BAD_USAGE,
                           "%ld ranks were started, but %s sees one process only: the launcher and the plug-in must "
                           "belong to the same MPI (with srun: --mpi=pmix)",
                           ranks, plugin->library);
    }
    return attend_ranks_new(out, &transport, timeout);
}
