/* transport.h: how ranks, the processes of one job, exchange bytes.
 *
 * Purpose    A transport moves bytes between ranks and does nothing else: it never adds numbers, so that no result
 *            depends on it. in_process.c has ranks that are threads, for tests; mpi/mpi_transport.c, a plug-in that is
 *            loaded at run time, uses MPI. A process that is alone has no transport.
 * Faults     An exchange ends with ATTEND_OK or with a fault that names a rank: one that has failed and said so
 *            (abort), one that is silent, or one that sent other bytes than expected. After a fault no further exchange
 *            is possible.
 * Silence    A rank that computes for a long time is not silent: ranks tell each other several times per time-out that
 *            they are alive, and whether they wait. A rank is at fault if nothing is heard from it, or if it waits
 *            itself and its bytes do not arrive, for the time-out.
 * Threads    One thread of a rank uses its transport at a time.
 *
 * This header includes nothing of the library, because a plug-in is not linked with it. */
#ifndef ATTEND_RANK_TRANSPORT_H
#define ATTEND_RANK_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes to send to a rank or to receive from it. Transfers between two ranks are matched in order. */
typedef struct rank_transfer {
    int peer;
    bool is_send;
    void *data; /* not changed if it is sent */
    size_t size;
} rank_transfer;

typedef enum rank_fault_kind {
    RANK_FAILED,   /* the rank reported a failure: status and text are its own */
    RANK_SILENT,   /* nothing was heard from it, or it sent nothing, for the time-out */
    RANK_GARBLED,  /* it sent other bytes than expected; text says more */
    RANK_NO_MEMORY /* this rank has no memory for the exchange */
} rank_fault_kind;

enum { RANK_TEXT = 512 };

typedef struct rank_fault {
    rank_fault_kind kind;
    int rank, status;
    char text[RANK_TEXT];
} rank_fault;

typedef struct rank_transport {
    int rank, count;
    void *state;
    /* Runs all transfers and returns true, or sets *fault. timeout: seconds. */
    bool (*exchange)(void *state, const rank_transfer *transfers, int count, double timeout, rank_fault *fault);
    /* Tells the other ranks that this one has failed. Does not wait for them. */
    void (*abort)(void *state, int status, const char *text);
    /* Ends the use of the transport. is_broken: a rank is silent, so that others must not be waited for, and the job is
     * ended with all its ranks. */
    void (*close)(void *state, bool is_broken);
} rank_transport;

/* ---- plug-ins ---- */

enum { RANK_PLUGIN_VERSION = 2 };

typedef struct rank_start {
    int rank;        /* of this process, as the launcher tells it */
    double beat;     /* seconds between signs of life */
    double patience; /* seconds after which the process ends itself if not all ranks join, or leave */
} rank_start;

/* What a plug-in exports under the name "attend_rank_plugin". */
typedef struct rank_plugin {
    unsigned version;    /* RANK_PLUGIN_VERSION: first in every version */
    const char *library; /* what it was compiled for, such as "Open MPI 4.1.4" */
    /* Joins the job. False: `text` says why. */
    bool (*join)(rank_transport *out, const rank_start *start, char text[RANK_TEXT]);
} rank_plugin;

#endif
