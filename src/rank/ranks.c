#include "rank/ranks.h"

#include "core/memory.h"
#include "core/status.h"
#include "core/string.h"
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- failure ---- */

/* "rank 2 on node7", without the host as long as it is not known. */
static void name_rank(const attend_ranks *r, int rank, char text[RANK_HOST + 32])
{
    const char *host = attend_ranks_host(r, rank);
    snprintf(text, RANK_HOST + 32, "rank %d%s%s", rank, *host ? " on " : "", host);
}

static int refused(const attend_ranks *r)
{
    return attend_fail(r->status, "%s", r->text);
}

static int fail(attend_ranks *r, const rank_fault *f)
{
    char name[RANK_HOST + 32];
    name_rank(r, f->rank, name);
    r->failed = true;
    r->is_broken = f->kind == RANK_SILENT || f->kind == RANK_GARBLED;
    r->status = f->kind == RANK_FAILED ? f->status : f->kind == RANK_NO_MEMORY ? ATTEND_NO_MEMORY : ATTEND_FAILED;
    if (f->kind == RANK_FAILED) /* its own failure, or that of another rank, which its message names */
        snprintf(r->text, sizeof r->text, "%s%s%.400s", strncmp(f->text, "rank ", 5) == 0 ? "" : name,
                 strncmp(f->text, "rank ", 5) == 0 ? "" : ": ", f->text);
    else if (f->kind == RANK_NO_MEMORY)
        snprintf(r->text, sizeof r->text, "no memory to exchange data with the other ranks");
    else if (f->kind == RANK_GARBLED)
        snprintf(r->text, sizeof r->text, "%s sent unexpected data: %.300s; run the same command to resume", name,
                 f->text);
    else
        snprintf(
            r->text, sizeof r->text,
            "%s: %.200s; it was stopped or killed, or the network is interrupted. Run the same command to resume, with "
            "any number of ranks",
            name, f->text);
    return refused(r);
}

void attend_ranks_abort(attend_ranks *r, int status, const char *text)
{
    ATTEND_REQUIRE_VOID(text);
    if (!attend_ranks_are_several(r) || r->failed) return;
    r->failed = true, r->status = status;
    snprintf(r->text, sizeof r->text, "%s", text);
    r->transport.abort(r->transport.state, status, r->text);
}

void attend_ranks_fail(attend_ranks *r, int status)
{
    attend_ranks_abort(r, status, attend_message());
}

bool attend_ranks_is_broken(const attend_ranks *r)
{
    return r && r->is_broken;
}

/* ---- exchanges ---- */

int attend_ranks_exchange(attend_ranks *r, const rank_transfer *transfers, int count)
{
    rank_fault fault = { 0 };
    if (!attend_ranks_are_several(r)) return ATTEND_OK;
    if (r->failed) return refused(r);
    const double start = now();
    const bool done = r->transport.exchange(r->transport.state, transfers, count, r->timeout, &fault);
    r->seconds += now() - start;
    for (int i = 0; done && i < count; i++) r->bytes_sent += transfers[i].is_send ? transfers[i].size : 0;
    if (done) return ATTEND_OK;
    const int status = fail(r, &fault);
    /* those that wait for this rank must not wait for their time-out */
    if (fault.kind != RANK_FAILED) r->transport.abort(r->transport.state, r->status, r->text);
    return status;
}

/* Transfers of this rank's block to others and of theirs to this one. */
static int exchange_blocks(attend_ranks *r, void *data, const size_t *offsets, bool to_all)
{
    const int rank = r->transport.rank, count = r->transport.count;
    rank_transfer *list = attend_memory_zeroed(2 * (size_t)count, sizeof *list);
    if (!list) return attend_fail(ATTEND_NO_MEMORY, "no memory to exchange data with %d ranks", count);
    int n = 0;
    for (int i = 1; i < count; i++) { /* each rank begins with another one */
        const int peer = (rank + i) % count;
        const size_t own = offsets[rank + 1] - offsets[rank], other = offsets[peer + 1] - offsets[peer];
        if (own > 0 && (to_all || peer == 0))
            list[n++] = (rank_transfer){ peer, true, (char *)data + offsets[rank], own };
        if (other > 0 && (to_all || rank == 0))
            list[n++] = (rank_transfer){ peer, false, (char *)data + offsets[peer], other };
    }
    const int status = attend_ranks_exchange(r, list, n);
    attend_memory_free(list);
    return status;
}

int attend_ranks_all_gather(attend_ranks *r, void *data, const size_t *offsets)
{
    return attend_ranks_are_several(r) ? exchange_blocks(r, data, offsets, true) : ATTEND_OK;
}

int attend_ranks_gather(attend_ranks *r, void *data, const size_t *offsets)
{
    return attend_ranks_are_several(r) ? exchange_blocks(r, data, offsets, false) : ATTEND_OK;
}

int attend_ranks_share(attend_ranks *r, void *data, size_t size)
{
    if (!attend_ranks_are_several(r) || size == 0) return ATTEND_OK;
    const int count = r->transport.count;
    const bool sends = r->transport.rank == 0;
    rank_transfer *list = attend_memory_zeroed((size_t)count, sizeof *list);
    if (!list) return attend_fail(ATTEND_NO_MEMORY, "no memory to exchange data with %d ranks", count);
    for (int i = 1; i < count; i++) list[i - 1] = (rank_transfer){ sends ? i : 0, sends, data, size };
    const int status = attend_ranks_exchange(r, list, sends ? count - 1 : 1);
    attend_memory_free(list);
    return status;
}

int attend_ranks_wait(attend_ranks *r)
{
    if (!attend_ranks_are_several(r)) return ATTEND_OK;
    const size_t count = (size_t)r->transport.count;
    size_t *offsets = attend_memory_zeroed(count + 1, sizeof *offsets);
    char *bytes = attend_memory_zeroed(count, 1);
    int status = offsets && bytes ? ATTEND_OK : attend_fail(ATTEND_NO_MEMORY, "no memory to wait for %zu ranks", count);
    for (size_t i = 0; status == ATTEND_OK && i <= count; i++) offsets[i] = i;
    if (status == ATTEND_OK) status = attend_ranks_all_gather(r, bytes, offsets);
    attend_memory_free(offsets);
    attend_memory_free(bytes);
    return status;
}

int attend_ranks_decide(attend_ranks *r, bool *answer)
{
    unsigned char byte = *answer;
    const int status = attend_ranks_share(r, &byte, 1);
    *answer = byte != 0;
    return status;
}

/* ---- parts of work ---- */

/* Replaces the content by `size` bytes that are not initialised. */
static int string_resize(attend_string *s, size_t size)
{
    s->size = 0;
    const int status = attend_string_reserve(s, size);
    if (status != ATTEND_OK) return status;
    s->size = size, s->text[size] = '\0';
    return ATTEND_OK;
}

static int string_copy(attend_string *to, const attend_string *from)
{
    const int status = string_resize(to, from->size);
    if (status == ATTEND_OK && from->size) memcpy(to->text, from->text, from->size);
    return status;
}

/* Moves parts[i] of rank 0 to *own of rank i, or the reverse. First the sizes, then the bytes. list: (count). */
static int move_parts(attend_ranks *r, attend_string *parts, attend_string *own, bool to_own, rank_transfer *list,
                      uint64_t *sizes)
{
    const int count = r->transport.count;
    const bool is_root = r->transport.rank == 0, sends = is_root == to_own;
    const int peers = is_root ? count - 1 : 1;
    for (int i = 0; i < peers; i++) {
        sizes[i] = !sends ? 0 : is_root ? parts[i + 1].size : own->size;
        list[i] = (rank_transfer){ is_root ? i + 1 : 0, sends, &sizes[i], sizeof *sizes };
    }
    int status = attend_ranks_exchange(r, list, peers), n = 0;
    for (int i = 0; status == ATTEND_OK && i < peers; i++) {
        attend_string *s = is_root ? &parts[i + 1] : own;
        if (!sends) status = string_resize(s, (size_t)sizes[i]);
        if (status == ATTEND_OK && s->size) list[n++] = (rank_transfer){ is_root ? i + 1 : 0, sends, s->text, s->size };
    }
    if (status == ATTEND_OK) status = attend_ranks_exchange(r, list, n);
    if (status != ATTEND_OK || !is_root) return status;
    return to_own ? string_copy(own, &parts[0]) : string_copy(&parts[0], own);
}

static int exchange_parts(attend_ranks *r, attend_string *parts, attend_string *own, bool to_own)
{
    if (!attend_ranks_are_several(r)) return to_own ? string_copy(own, &parts[0]) : string_copy(&parts[0], own);
    const size_t count = (size_t)r->transport.count;
    rank_transfer *list = attend_memory_zeroed(count, sizeof *list);
    uint64_t *sizes = attend_memory_zeroed(count, sizeof *sizes);
    int status = ATTEND_OK;
    if (!list || !sizes) status = attend_fail(ATTEND_NO_MEMORY, "no memory to exchange data with %zu ranks", count);
    if (status == ATTEND_OK) status = move_parts(r, parts, own, to_own, list, sizes);
    attend_memory_free(list);
    attend_memory_free(sizes);
    if (status != ATTEND_OK) attend_ranks_fail(r, status);
    return status;
}

int attend_ranks_hand_out(attend_ranks *r, const attend_string *parts, attend_string *own)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, own && (parts || attend_ranks_rank(r) > 0));
    return exchange_parts(r, (attend_string *)parts, own, true); /* parts are read only */
}

int attend_ranks_collect(attend_ranks *r, const attend_string *own, attend_string *parts)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, own && (parts || attend_ranks_rank(r) > 0));
    return exchange_parts(r, parts, (attend_string *)own, false); /* own is read only */
}

/* ---- the handle ---- */

static int learn_hosts(attend_ranks *r)
{
    const int count = r->transport.count;
    size_t *offsets = attend_memory_zeroed((size_t)count + 1, sizeof *offsets);
    if (!offsets) return attend_fail(ATTEND_NO_MEMORY, "no memory for %d ranks", count);
    for (int i = 0; i <= count; i++) offsets[i] = (size_t)i * RANK_HOST;
    if (gethostname(r->hosts[r->transport.rank], RANK_HOST - 1) != 0) r->hosts[r->transport.rank][0] = '\0';
    const int status = attend_ranks_all_gather(r, r->hosts, offsets);
    for (int i = 0; i < count; i++) r->hosts[i][RANK_HOST - 1] = '\0';
    attend_memory_free(offsets);
    return status;
}

int attend_ranks_new(attend_ranks **out, const rank_transport *transport, double timeout)
{
    attend_ranks *r = attend_memory_zeroed(1, sizeof *r);
    *out = NULL;
    if (r) r->hosts = attend_memory_zeroed((size_t)transport->count, sizeof *r->hosts);
    if (!r || !r->hosts) {
        attend_memory_free(r);
        transport->abort(transport->state, ATTEND_NO_MEMORY, "no memory for the ranks");
        transport->close(transport->state, false);
        return attend_fail(ATTEND_NO_MEMORY, "no memory for %d ranks", transport->count);
    }
    r->transport = *transport, r->timeout = timeout;
    int status = learn_hosts(r);
    /* All know the hosts before one can fail. A fault of the transport is that of the next exchange, too; without memory for
     * this one, the next would meet it on the other ranks. */
    if (status == ATTEND_OK && attend_ranks_wait(r) == ATTEND_NO_MEMORY) status = ATTEND_NO_MEMORY;
    if (status != ATTEND_OK) {
        attend_ranks_fail(r, status);
        attend_ranks_leave(r);
        return status;
    }
    *out = r;
    return ATTEND_OK;
}

void attend_ranks_leave(attend_ranks *r)
{
    if (!r) return;
    const rank_transport transport = r->transport;
    const bool is_broken = r->is_broken;
    attend_memory_free(r->hosts);
    attend_memory_free(r);
    transport.close(transport.state, is_broken);
}

int attend_ranks_count(const attend_ranks *r)
{
    return r ? r->transport.count : 1;
}

int attend_ranks_rank(const attend_ranks *r)
{
    return r ? r->transport.rank : 0;
}

const char *attend_ranks_host(const attend_ranks *r, int rank)
{
    return r && rank >= 0 && rank < r->transport.count ? r->hosts[rank] : "";
}

uint64_t attend_ranks_bytes_sent(const attend_ranks *r)
{
    return r ? r->bytes_sent : 0;
}

double attend_ranks_seconds(const attend_ranks *r)
{
    return r ? r->seconds : 0;
}
