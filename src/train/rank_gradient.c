/* rank_gradient.c: two exchanges. The first has the outcome of the shards, the news, and how many rows of each sparse
 * gradient follow; its size follows from the number of shards. The second has the numbers. */
#include "train/rank_gradient.h"

#include "core/memory.h"
#include "core/status.h"
#include "train/piece_sum.h"
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { DENSE = -1 }; /* instead of a number of rows */

typedef struct growing_buffer {
    char *data;
    size_t room;
} growing_buffer;

/* For the pieces that a thread adds. */
typedef struct worker_memory {
    piece_sum *sums; /* (levels): of the nodes on the path to a node */
    int levels;
    size_t size, rows; /* of the largest piece */
} worker_memory;

struct rank_buffers {
    growing_buffer out, in, headers_out, headers_in, nodes, rows;
    worker_memory *workers; /* (worker_count) */
    int worker_count;
};

/* The gradients of a node of the tree, on this rank or in a message. */
typedef struct rank_node {
    shard_range shards;
    int rank;
    attend_grads *grads; /* of this rank; NULL: of another one */
    const char *data;    /* of another one: its message, as far as this node */
    int32_t *counts;     /* (parameters): the rows in the message, or DENSE */
} rank_node;

typedef struct header {
    int32_t status, failed, stop, reserved;
    char text[ATTEND_MESSAGE_SIZE];
} header;

typedef struct rank_sum {
    attend_team *team;
    struct rank_buffers *b;
    int shards, ranks, rank, parameters;
    int count; /* of nodes */
    rank_node *nodes;
    int *first_node;     /* (ranks + 1): by rank */
    size_t *header_size; /* (ranks): of the header that a rank sends, without numbers of shards */
    int *row_counts;     /* (pieces of this rank): rows of the sums */
    int *rows;           /* the rows themselves: those of a piece begin at its first row */
    size_t *row_begin;   /* (parameters): where the rows of a parameter begin in `rows` */
    atomic_int next;     /* piece to add */
} rank_sum;

/* ---- memory ---- */

static bool grow(growing_buffer *g, size_t bytes)
{
    if (bytes <= g->room) return true;
    attend_memory_free(g->data);
    g->room = 0;
    g->data = attend_memory_aligned(bytes);
    if (g->data) g->room = bytes;
    return g->data != NULL;
}

int attend_rank_buffers_new(struct rank_buffers **out)
{
    *out = attend_memory_zeroed(1, sizeof **out);
    return *out ? ATTEND_OK : attend_fail(ATTEND_NO_MEMORY, "no memory for a rank");
}

static void workers_free(struct rank_buffers *b)
{
    for (int i = 0; b->workers && i < b->worker_count; i++) {
        for (int k = 0; b->workers[i].sums && k < b->workers[i].levels; k++)
            attend_piece_sum_free(&b->workers[i].sums[k]);
        attend_memory_free(b->workers[i].sums);
    }
    attend_memory_free(b->workers);
    b->workers = NULL, b->worker_count = 0;
}

void attend_rank_buffers_free(struct rank_buffers *b)
{
    if (!b) return;
    growing_buffer *const all[] = { &b->out, &b->in, &b->headers_out, &b->headers_in, &b->nodes, &b->rows };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) attend_memory_free(all[i]->data);
    workers_free(b);
    attend_memory_free(b);
}

void *attend_rank_buffer(attend_team *t, size_t bytes)
{
    return grow(&t->buffers->in, bytes) ? t->buffers->in.data : NULL;
}

/* Memory for each thread to add pieces of this rank, with as many levels as the tree has above the nodes. */
static bool workers_fit(rank_sum *s, int levels)
{
    struct rank_buffers *b = s->b;
    const parameter_pieces *p = &s->team->pieces;
    const int threads = attend_pool_threads(s->team->pool);
    if (b->workers && b->workers[0].levels >= levels) return true;
    workers_free(b);
    size_t size = 1, rows = 1;
    for (int i = p->begin[s->rank]; i < p->begin[s->rank + 1]; i++) {
        const element_range x = p->list[i].elements;
        const attend_param *param = s->team->params->list[p->list[i].parameter];
        const size_t width = param->size / (size_t)param->shape[0];
        if (x.last - x.first > size) size = x.last - x.first;
        if (param->rank == 2 && (x.last - x.first) / width > rows) rows = (x.last - x.first) / width;
    }
    b->workers = attend_memory_zeroed((size_t)threads, sizeof *b->workers);
    if (!b->workers) return false;
    b->worker_count = threads;
    for (int i = 0; i < threads; i++) {
        worker_memory *w = &b->workers[i];
        w->sums = attend_memory_zeroed((size_t)levels, sizeof *w->sums);
        if (!w->sums) break;
        w->levels = levels;
        for (int k = 0; k < levels; k++)
            if (!attend_piece_sum_new(&w->sums[k], s->team->params->memory, size, rows)) {
                workers_free(b);
                return false;
            }
    }
    if (b->workers[threads - 1].sums) return true;
    workers_free(b);
    return false;
}

/* ---- nodes ---- */

static size_t shard_numbers(const rank_sum *s, int rank, size_t *first)
{
    const team_news *news = &s->team->news;
    const shard_range own = attend_gradient_tree_own(s->shards, s->ranks, rank);
    *first = news->numbers ? news->offsets[own.first] : 0;
    return news->numbers ? news->offsets[own.end] - news->offsets[own.first] : 0;
}

/* Lists the nodes of all ranks. */
static bool list_nodes(rank_sum *s)
{
    shard_range cover[MAX_COVER];
    const size_t ranks = (size_t)s->ranks, parameters = (size_t)s->parameters;
    for (int r = 0; r < s->ranks; r++)
        s->count += attend_gradient_tree_cover(s->shards, attend_gradient_tree_own(s->shards, s->ranks, r), cover);
    const parameter_pieces *p = &s->team->pieces;
    const size_t count = (size_t)s->count, pieces = (size_t)(p->begin[s->rank + 1] - p->begin[s->rank]);
    const size_t sizes[] = {
        count * sizeof *s->nodes,       count * parameters * sizeof(int32_t), (ranks + 1) * sizeof *s->first_node,
        ranks * sizeof *s->header_size, (pieces + 1) * sizeof *s->row_counts, parameters * sizeof *s->row_begin
    };
    size_t total = 0, at[6];
    for (int i = 0; i < 6; i++) at[i] = total, total += (sizes[i] + 63) / 64 * 64;
    if (!grow(&s->b->nodes, total)) return false;
    memset(s->b->nodes.data, 0, total);
    char *memory = s->b->nodes.data;
    s->nodes = (void *)(memory + at[0]);
    int32_t *counts = (void *)(memory + at[1]);
    s->first_node = (void *)(memory + at[2]), s->header_size = (void *)(memory + at[3]);
    s->row_counts = (void *)(memory + at[4]), s->row_begin = (void *)(memory + at[5]);
    int n = 0;
    for (int r = 0; r < s->ranks; r++) {
        const int nodes =
            attend_gradient_tree_cover(s->shards, attend_gradient_tree_own(s->shards, s->ranks, r), cover);
        s->first_node[r] = n;
        s->header_size[r] = sizeof(header) + (size_t)nodes * parameters * sizeof(int32_t);
        for (int k = 0; k < nodes; k++, n++)
            s->nodes[n] = (rank_node){ .shards = cover[k], .rank = r, .counts = counts + (size_t)n * parameters };
    }
    s->first_node[s->ranks] = n;
    size_t rows = 0;
    for (int i = 0; i < s->parameters; i++) {
        const attend_param *x = s->team->params->list[i];
        s->row_begin[i] = rows;
        if (x->rank == 2) rows += (size_t)x->shape[0];
    }
    if (!grow(&s->b->rows, (rows + 1) * sizeof *s->rows)) return false;
    s->rows = (int *)(void *)s->b->rows.data;
    return true;
}

/* Levels of the tree above the nodes; *at: the next node in order. */
static int count_levels(const rank_sum *s, shard_range range, int *at)
{
    const shard_range node = s->nodes[*at].shards;
    if (node.first == range.first && node.end == range.end) {
        ++*at;
        return 1;
    }
    const int left = count_levels(s, attend_shard_range_left(range), at),
              right = 1 + count_levels(s, attend_shard_range_right(range), at);
    return left > right ? left : right;
}

/* ---- sparse rows ---- */

static bool is_in(const element_range *x, int row, size_t width)
{
    return (size_t)row * width >= x->first && (size_t)row * width < x->last;
}

/* The rows of an entry in a range; DENSE. */
static int32_t count_rows(const grad_entry *e, element_range x)
{
    const size_t width = attend_grads_row_size(e);
    int32_t count = 0;
    if (x.last == x.first) return 0;
    if (e->dense) return DENSE;
    for (int i = 0; i < e->rows_used; i++) count += is_in(&x, e->rows[i], width);
    return count;
}

static size_t entry_bytes(const attend_param *p, element_range x, int32_t count)
{
    const size_t width = p->size / (size_t)p->shape[0];
    return count == DENSE ? (x.last - x.first) * sizeof(real)
                          : (size_t)count * (sizeof(int32_t) + width * sizeof(real));
}

/* Bytes of a node in a message to a rank. */
static size_t node_bytes(const rank_sum *s, const int32_t *counts, int to)
{
    size_t bytes = 0;
    for (int i = 0; i < s->parameters; i++)
        bytes += entry_bytes(s->team->params->list[i], attend_pieces_of(&s->team->pieces, to, i), counts[i]);
    return bytes;
}

/* ---- the first exchange ---- */

static void write_header(const rank_sum *s, char *to, int peer, const shards_outcome *outcome)
{
    header *h = (void *)to;
    size_t first, numbers = shard_numbers(s, s->rank, &first);
    *h = (header){ .status = outcome->status, .failed = outcome->failed, .stop = s->team->news.stop };
    snprintf(h->text, sizeof h->text, "%s", outcome->message);
    int32_t *counts = (void *)(to + sizeof *h);
    for (int n = s->first_node[s->rank]; n < s->first_node[s->rank + 1]; n++)
        for (int i = 0; i < s->parameters; i++)
            *counts++ = s->nodes[n].grads
                            ? count_rows(&s->nodes[n].grads->entries[i], attend_pieces_of(&s->team->pieces, peer, i))
                            : 0;
    if (numbers) memcpy(counts, s->team->news.numbers + first, numbers * sizeof(real));
}

/* Counts of rows come from another process: they must fit the parameter. */
static bool counts_are_valid(const rank_sum *s, const int32_t *counts)
{
    for (int i = 0; i < s->parameters; i++) {
        const attend_param *p = s->team->params->list[i];
        const element_range own = attend_pieces_own(&s->team->pieces, i);
        const size_t rows = (own.last - own.first) / (p->size / (size_t)p->shape[0]);
        if (counts[i] < DENSE || (counts[i] > 0 && (p->rank != 2 || (size_t)counts[i] > rows))) return false;
    }
    return true;
}

static int bad_message(const rank_sum *s, int rank)
{
    return attend_fail(ATTEND_FAILED,
                       "rank %d on %s sent a gradient that does not fit this model: run the same version "
                       "of attend on all machines",
                       rank, attend_ranks_host(s->team->ranks, rank));
}

static int read_header(rank_sum *s, const char *from, int peer, shards_outcome *outcome)
{
    const header *h = (const void *)from;
    size_t first;
    const size_t numbers = shard_numbers(s, peer, &first);
    if (h->status != ATTEND_OK && (outcome->status == ATTEND_OK || h->failed < outcome->failed)) {
        outcome->status = h->status, outcome->failed = h->failed;
        snprintf(outcome->message, sizeof outcome->message, "%.*s", (int)sizeof h->text - 1, h->text);
    }
    if (h->stop) s->team->news.stop = true;
    const int32_t *counts = (const void *)(from + sizeof *h);
    for (int n = s->first_node[peer]; n < s->first_node[peer + 1]; n++, counts += s->parameters) {
        if (!counts_are_valid(s, counts)) return bad_message(s, peer);
        memcpy(s->nodes[n].counts, counts, (size_t)s->parameters * sizeof *counts);
    }
    if (numbers) memcpy(s->team->news.numbers + first, counts, numbers * sizeof(real));
    return ATTEND_OK;
}

static int exchange_headers(rank_sum *s, rank_transfer *list, shards_outcome *outcome)
{
    size_t ignored, in = 0, own = s->header_size[s->rank] + shard_numbers(s, s->rank, &ignored) * sizeof(real);
    own = (own + 63) / 64 * 64;
    for (int r = 0; r < s->ranks; r++)
        in += (s->header_size[r] + shard_numbers(s, r, &ignored) * sizeof(real) + 63) / 64 * 64;
    if (!grow(&s->b->headers_out, own * (size_t)s->ranks) || !grow(&s->b->headers_in, in))
        return attend_fail(ATTEND_NO_MEMORY, "no memory to exchange gradients with %d ranks", s->ranks);
    char *from = s->b->headers_out.data, *to = s->b->headers_in.data;
    int n = 0;
    for (int r = 0; r < s->ranks; r++) {
        if (r == s->rank) continue;
        const size_t size = s->header_size[r] + shard_numbers(s, r, &ignored) * sizeof(real);
        write_header(s, from, r, outcome);
        list[n++] = (rank_transfer){ r, true, from,
                                     s->header_size[s->rank] + shard_numbers(s, s->rank, &ignored) * sizeof(real) };
        list[n++] = (rank_transfer){ r, false, to, size };
        from += own, to += (size + 63) / 64 * 64;
    }
    int status = attend_ranks_exchange(s->team->ranks, list, n);
    for (int i = 0; status == ATTEND_OK && i < n; i++)
        if (!list[i].is_send) status = read_header(s, list[i].data, list[i].peer, outcome);
    return status;
}

/* ---- the second exchange ---- */

/* Writes what a rank owns of an entry. */
static char *write_entry(const grad_entry *e, element_range x, char *to)
{
    const device_memory *memory = e->param->memory;
    const size_t width = attend_grads_row_size(e);
    if (x.last == x.first) return to;
    if (e->dense) {
        memory->download(to, e->value + x.first, (x.last - x.first) * sizeof(real));
        return to + (x.last - x.first) * sizeof(real);
    }
    for (int i = 0; i < e->rows_used; i++) {
        const int32_t row = e->rows[i];
        if (!is_in(&x, row, width)) continue;
        memcpy(to, &row, sizeof row);
        to += sizeof row;
    }
    for (int i = 0; i < e->rows_used; i++) {
        if (!is_in(&x, e->rows[i], width)) continue;
        memory->download(to, e->value + (size_t)e->rows[i] * width, width * sizeof(real));
        to += width * sizeof(real);
    }
    return to;
}

/* The bytes that another rank sends to this one, or this one to another. */
static size_t message_bytes(const rank_sum *s, int from, int to)
{
    size_t bytes = 0;
    for (int n = s->first_node[from]; n < s->first_node[from + 1]; n++) {
        if (from != s->rank) {
            bytes += node_bytes(s, s->nodes[n].counts, to);
            continue;
        }
        for (int i = 0; i < s->parameters; i++) {
            const element_range x = attend_pieces_of(&s->team->pieces, to, i);
            bytes += entry_bytes(s->team->params->list[i], x, count_rows(&s->nodes[n].grads->entries[i], x));
        }
    }
    return bytes;
}

/* A message is written on threads: one piece of work for each rank. */
typedef struct packing {
    rank_sum *s;
    rank_transfer *list;
} packing;

static void pack(void *user, int i)
{
    const packing *p = user;
    const rank_transfer *t = &p->list[i];
    char *to = t->data;
    if (!t->is_send) return;
    for (int n = p->s->first_node[p->s->rank]; n < p->s->first_node[p->s->rank + 1]; n++)
        for (int k = 0; k < p->s->parameters; k++)
            to = write_entry(&p->s->nodes[n].grads->entries[k], attend_pieces_of(&p->s->team->pieces, t->peer, k), to);
}

/* The rows of a message must be rows that this rank owns. */
static bool rows_are_valid(const rank_sum *s, const rank_node *node)
{
    const char *at = node->data;
    for (int i = 0; i < s->parameters; i++) {
        const attend_param *p = s->team->params->list[i];
        const element_range own = attend_pieces_own(&s->team->pieces, i);
        for (int32_t k = 0; k < node->counts[i]; k++) {
            int32_t row;
            memcpy(&row, at + (size_t)k * sizeof row, sizeof row);
            if (row < 0 || row >= p->shape[0] || !is_in(&own, row, p->size / (size_t)p->shape[0])) return false;
        }
        at += entry_bytes(p, own, node->counts[i]);
    }
    return true;
}

static int exchange_numbers(rank_sum *s, rank_transfer *list)
{
    size_t out = 0, in = 0;
    int n = 0;
    for (int i = 1; i < s->ranks; i++) {
        const int peer = (s->rank + i) % s->ranks;
        const size_t sent = message_bytes(s, s->rank, peer), received = message_bytes(s, peer, s->rank);
        if (sent) list[n++] = (rank_transfer){ peer, true, NULL, sent };
        if (received) list[n++] = (rank_transfer){ peer, false, NULL, received };
        out += sent, in += received;
    }
    if (!grow(&s->b->out, out) || !grow(&s->b->in, in))
        return attend_fail(ATTEND_NO_MEMORY, "no memory to exchange gradients with %d ranks", s->ranks);
    char *to = s->b->out.data, *from = s->b->in.data;
    for (int i = 0; i < n; i++) {
        char **at = list[i].is_send ? &to : &from;
        list[i].data = *at;
        *at += list[i].size;
    }
    packing p = { s, list };
    attend_pool_run(s->team->pool, n, pack, &p);
    const int status = attend_ranks_exchange(s->team->ranks, list, n);
    for (int i = 0; status == ATTEND_OK && i < n; i++) {
        const char *data = list[i].data;
        for (int k = s->first_node[list[i].peer]; !list[i].is_send && k < s->first_node[list[i].peer + 1]; k++) {
            s->nodes[k].data = data;
            if (!rows_are_valid(s, &s->nodes[k])) return bad_message(s, list[i].peer);
            data += node_bytes(s, s->nodes[k].counts, s->rank);
        }
    }
    return status;
}

/* ---- adding ---- */

static void load_own(const grad_entry *e, element_range x, piece_sum *sum)
{
    if (e->dense) {
        attend_piece_sum_set(sum, e->value + x.first, false);
        return;
    }
    for (int i = 0; i < e->rows_used; i++)
        if (attend_piece_sum_has_row(sum, e->rows[i]))
            attend_piece_sum_set_row(sum, e->rows[i], e->value + (size_t)e->rows[i] * sum->width, false);
}

static void load_message(const rank_sum *s, const rank_node *node, const parameter_piece *piece, piece_sum *sum)
{
    const char *at = node->data;
    const int i = piece->parameter;
    if (!at) return; /* all its counts are 0 */
    for (int k = 0; k < i; k++)
        at += entry_bytes(s->team->params->list[k], attend_pieces_own(&s->team->pieces, k), node->counts[k]);
    const int32_t count = node->counts[i];
    if (count == DENSE) {
        const size_t first = piece->elements.first - attend_pieces_own(&s->team->pieces, i).first;
        attend_piece_sum_set(sum, (const void *)(at + first * sizeof(real)), true);
        return;
    }
    const char *numbers = at + (size_t)(count > 0 ? count : 0) * sizeof(int32_t);
    for (int32_t k = 0; k < count; k++) {
        int32_t row;
        memcpy(&row, at + (size_t)k * sizeof row, sizeof row);
        if (attend_piece_sum_has_row(sum, row))
            attend_piece_sum_set_row(sum, row, (const void *)(numbers + (size_t)k * sum->width * sizeof(real)), true);
    }
}

/* The sum of a node in sums[0]; *at: the next node in order. */
static void add_node(const rank_sum *s, const parameter_piece *piece, shard_range range, piece_sum *sums, int *at)
{
    const rank_node *node = &s->nodes[*at];
    if (node->shards.first == range.first && node->shards.end == range.end) {
        const attend_param *p = s->team->params->list[piece->parameter];
        const size_t width = p->size / (size_t)p->shape[0];
        ++*at;
        attend_piece_sum_begin(sums, piece->elements.last - piece->elements.first, width,
                               (int)(piece->elements.first / width));
        if (node->grads)
            load_own(&node->grads->entries[piece->parameter], piece->elements, sums);
        else
            load_message(s, node, piece, sums);
        return;
    }
    add_node(s, piece, attend_shard_range_left(range), sums, at);
    add_node(s, piece, attend_shard_range_right(range), sums + 1, at);
    attend_piece_sum_add(&sums[0], &sums[1]);
}

/* Writes a sum to the team's gradient. */
static void store(rank_sum *s, int number, const piece_sum *sum)
{
    const parameter_piece *piece = &s->team->pieces.list[number];
    grad_entry *e = &s->team->total->entries[piece->parameter];
    const device_memory *memory = e->param->memory;
    int *count = &s->row_counts[number - s->team->pieces.begin[s->rank]];
    if (sum->dense) {
        memory->copy(e->value + piece->elements.first, sum->values, sum->size * sizeof(real));
        *count = DENSE;
        return;
    }
    *count = sum->rows_used;
    int *rows = s->rows + s->row_begin[piece->parameter] + (e->rows ? (size_t)sum->first_row : 0);
    for (int i = 0; i < sum->rows_used; i++) {
        const size_t in_piece = (size_t)(sum->rows[i] - sum->first_row) * sum->width;
        rows[i] = sum->rows[i];
        memory->copy(e->value + piece->elements.first + in_piece, sum->values + in_piece, sum->width * sizeof(real));
    }
}

static void run_worker(void *user, int worker)
{
    rank_sum *s = user;
    const parameter_pieces *p = &s->team->pieces;
    piece_sum *sums = s->b->workers[worker].sums;
    for (int i; (i = atomic_fetch_add(&s->next, 1)) < p->begin[s->rank + 1];) {
        int at = 0;
        add_node(s, &p->list[i], (shard_range){ 0, s->shards }, sums, &at);
        store(s, i, &sums[0]);
    }
}

/* Marks in the team's gradient which rows were used. */
static void mark_used(const rank_sum *s)
{
    const parameter_pieces *p = &s->team->pieces;
    for (int i = p->begin[s->rank]; i < p->begin[s->rank + 1]; i++) {
        grad_entry *e = &s->team->total->entries[p->list[i].parameter];
        const int count = s->row_counts[i - p->begin[s->rank]];
        const size_t first = p->list[i].elements.first / attend_grads_row_size(e);
        if (count == DENSE)
            e->dense = true;
        else if (count > 0)
            attend_grads_touch(e, s->rows + s->row_begin[p->list[i].parameter] + first, count);
    }
}

static int add_all(rank_sum *s)
{
    int at = 0;
    const int levels = count_levels(s, (shard_range){ 0, s->shards }, &at);
    if (!workers_fit(s, levels)) return attend_fail(ATTEND_NO_MEMORY, "no memory to add gradients");
    atomic_store(&s->next, s->team->pieces.begin[s->rank]);
    attend_pool_run(s->team->pool, s->b->worker_count, run_worker, s);
    mark_used(s);
    return ATTEND_OK;
}

int attend_rank_gradient(attend_team *t, int shards, shards_outcome *outcome)
{
    rank_sum s = { .team = t,
                   .b = t->buffers,
                   .shards = shards,
                   .ranks = t->pieces.ranks,
                   .rank = t->pieces.rank,
                   .parameters = t->count };
    rank_transfer *list = attend_memory_zeroed(2 * (size_t)s.ranks, sizeof *list);
    int status = ATTEND_OK;
    if (!list || !list_nodes(&s))
        status = attend_fail(ATTEND_NO_MEMORY, "no memory to exchange gradients with %d ranks", s.ranks);
    const int first = status == ATTEND_OK ? s.first_node[s.rank] : 0,
              end = status == ATTEND_OK ? s.first_node[s.rank + 1] : 0;
    for (int n = first; n < end && outcome->status == ATTEND_OK; n++)
        s.nodes[n].grads = attend_gradient_tree_node(&t->tree, s.nodes[n].shards, t->pool);
    if (status == ATTEND_OK) status = exchange_headers(&s, list, outcome);
    if (status == ATTEND_OK && outcome->status == ATTEND_OK) status = exchange_numbers(&s, list);
    if (status == ATTEND_OK && outcome->status == ATTEND_OK) status = add_all(&s);
    for (int n = first; n < end; n++)
        if (s.nodes[n].grads) attend_gradient_tree_give(&t->tree, s.nodes[n].grads);
    attend_gradient_tree_discard(&t->tree);
    attend_memory_free(list);
    return status;
}
