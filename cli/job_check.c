/* job_check.c: before ranks work together, each tells rank 0 what it will compute with: version, device, files, options. Rank 0
 * names the first difference. */
#include "job.h"

#include "content_hash.h"
#include "option_table.h"
#include "packed.h"
#include "shared_work.h"

#include <attend/device.h>
#include <attend/status.h>
#include <stdlib.h>
#include <string.h>

typedef enum fact_kind { FACT_VERSION, FACT_DEVICE, FACT_FILE, FACT_OPTION, FACT_END } fact_kind;

static int add_fact(attend_string *to, fact_kind kind, const char *name, const char *value)
{
    int status = packed_add_number(to, kind);
    if (status == ATTEND_OK) status = packed_add_text(to, name, strlen(name));
    return status == ATTEND_OK ? packed_add_text(to, value, strlen(value)) : status;
}

/* ---- options ---- */

/* What may differ between machines: it does not change results. */
static bool may_differ(const option *o)
{
    static const char *const names[] = { "threads", "memory", "device", "quiet", "rank-timeout" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(o->name, names[i]) == 0) return true;
    return false;
}

/* The value as text; NULL: a file, of which another machine may have a copy elsewhere. */
static const char *value_of(const option *o, const void *settings, char *text, size_t size)
{
    const void *at = (const char *)settings + o->offset;
    switch (o->kind) {
    case OPTION_FLAG:
        return *(const bool *)at ? "yes" : "no";
    case OPTION_TEXT:
        return *(const char *const *)at ? *(const char *const *)at : "";
    case OPTION_INTEGER:
    case OPTION_SIZE:
        snprintf(text, size, "%lld", *(const long long *)at);
        return text;
    case OPTION_REAL:
        attend_format_real(text, size, *(const double *)at, 17);
        return text;
    case OPTION_CHOICE: /* some verbs count from 1 */
        snprintf(text, size, "choice %d", *(const int *)at);
        return text;
    default:
        return NULL;
    }
}

static int add_options(attend_string *to, const verb *v, const void *settings)
{
    const option *o;
    const attend_config_field *f;
    char text[OPTION_HELP];
    int status = ATTEND_OK;
    for (int i = 0; status == ATTEND_OK && (o = options_entry(v, i)); i++) {
        const char *const value = may_differ(o) ? NULL : value_of(o, settings, text, sizeof text);
        if (value) status = add_fact(to, FACT_OPTION, o->name, value);
    }
    for (int i = 0; v->has_config && status == ATTEND_OK && (f = attend_config_field_at(i)); i++)
        if (options_get(v, settings, f->name, text, sizeof text)) status = add_fact(to, FACT_OPTION, f->name, text);
    return status;
}

/* ---- all facts ---- */

static int describe(attend_string *own, const verb *v, const void *settings, const job_file *files, int count)
{
    const attend_device_info device = attend_device_describe();
    int status = add_fact(own, FACT_VERSION, "", attend_version());
    if (status == ATTEND_OK) status = add_fact(own, FACT_DEVICE, device.is_gpu ? "device" : "kernels", device.model);
    for (int i = 0; status == ATTEND_OK && i < count; i++) {
        content_hash hash = { "" };
        if (files[i].path && !files[i].is_unread) status = content_hash_file(&hash, files[i].path);
        if (status == ATTEND_OK) status = add_fact(own, FACT_FILE, files[i].what, hash.text);
    }
    if (status == ATTEND_OK) status = add_options(own, v, settings);
    return status == ATTEND_OK ? add_fact(own, FACT_END, "", "") : status;
}

typedef struct fact {
    fact_kind kind;
    const char *name, *value;
} fact;

static bool read_fact(packed_reader *r, fact *f)
{
    f->kind = (fact_kind)packed_number(r);
    f->name = packed_text(r, NULL), f->value = packed_text(r, NULL);
    return f->name && f->value;
}

static int refuse(const attend_ranks *ranks, int rank, const fact *first, const fact *other)
{
    char who[128];
    snprintf(who, sizeof who, "rank %d on %.64s", rank, attend_ranks_host(ranks, rank));
    switch (first->kind) {
    case FACT_VERSION:
        return attend_fail(ATTEND_BAD_USAGE,
                           "%s is attend %s, and rank 0 is %s: install the same version on all machines", who,
                           other->value, first->value);
    case FACT_DEVICE:
        return attend_fail(ATTEND_BAD_USAGE,
                           "%s computes with the %s '%s', and rank 0 with the %s '%s', so that results would depend on "
                           "which machines are used: use machines of one kind, set ATTEND_KERNEL to a name that all of "
                           "them have, or allow mixed machines (option 'mixed-ranks')",
                           who, other->name, other->value, first->name, first->value);
    case FACT_FILE:
        return attend_fail(ATTEND_BAD_USAGE, "%s has another %s than rank 0: all ranks must read the same file", who,
                           first->name);
    default:
        return attend_fail(ATTEND_BAD_USAGE,
                           "%s has another value of --%s than rank 0: '%.200s', not '%.200s'. Start all ranks with the "
                           "same command",
                           who, first->name, other->value, first->value);
    }
}

static int compare(const attend_ranks *ranks, const attend_string *all, int rank, bool mixed)
{
    packed_reader a = packed_open(&all[0]), b = packed_open(&all[rank]);
    for (fact first, other; read_fact(&a, &first);) {
        /* facts of another version may have other names: the version comes first */
        if (!read_fact(&b, &other) || first.kind != other.kind) return shared_work_damaged();
        if (first.kind == FACT_END) return ATTEND_OK;
        const bool is_same = strcmp(first.value, other.value) == 0;
        if (!is_same && !(first.kind == FACT_DEVICE && mixed)) return refuse(ranks, rank, &first, &other);
    }
    return shared_work_damaged();
}

int job_check(const verb *v, const void *settings, const job_file *files, int count, bool mixed)
{
    attend_ranks *ranks = job_ranks();
    const int n = attend_ranks_count(ranks);
    if (n < 2) return ATTEND_OK;
    attend_string own = { 0 }, *all = calloc((size_t)n, sizeof *all);
    int status = all ? describe(&own, v, settings, files, count)
                     : attend_fail(ATTEND_NO_MEMORY, "out of memory for %d ranks", n);
    if (status == ATTEND_OK) status = attend_ranks_collect(ranks, &own, all);
    for (int i = 1; job_speaks() && status == ATTEND_OK && i < n; i++) status = compare(ranks, all, i, mixed);
    for (int i = 0; all && i < n; i++) attend_string_free(&all[i]);
    free(all);
    attend_string_free(&own);
    if (status != ATTEND_OK) attend_ranks_abort(ranks, status, attend_message());
    return status == ATTEND_OK ? attend_ranks_wait(ranks) : status;
}
