#include "align_words.h"

#include "json_members.h"
#include "output_file.h"
#include "terminal.h"

#include <attend/aligner.h>
#include <attend/print.h>
#include <attend/status.h>
#include <string.h>
#include <unistd.h>

enum { BATCH = 1024 };

static void show_iteration(void *user, int done, int iterations)
{
    const bool *shows = user;
    if (*shows)
        attend_print(stderr, done < iterations ? "\rtraining the aligner: %d of %d" : "\r\033[K", done, iterations);
}

/* Prints or compares the links of a pair. */
static int use_pair(const align_words_job *job, align_links *links, const attend_aligned_pair *r,
                    unsigned long long number)
{
    int status = ATTEND_OK;
    for (int kind = 0; status == ATTEND_OK && kind < 3; kind++) { /* attend_aligned is in the order of the lists */
        status = align_links_reserve(links, kind, r->counts[kind]);
        links->counts[kind] = status == ATTEND_OK ? r->counts[kind] : 0;
        if (links->counts[kind] > 0)
            memcpy(links->lists[kind], r->links[kind], (size_t)r->counts[kind] * sizeof *r->links[kind]);
    }
    if (status != ATTEND_OK) return status;
    if (r->fault && !job->quiet)
        attend_print(stderr, "attend align: pair %llu is not aligned: %s\n", number + 1, r->fault);
    if (r->fault && job->json && !job->compare) {
        json_print_fault(stdout, r->fault);
        return ATTEND_OK;
    }
    return job->compare ? align_links_compare(links, number) : align_links_print(links);
}

/* Pairs of more than 16 MiB are empty in the batch. */
static void report_long_pairs(const align_words_job *job, const pair_reader *from)
{
    for (int i = 0; !job->quiet && i < from->count; i++)
        if (from->too_long[i])
            attend_print(stderr, "attend align: pair %llu is left out: it has more than 16 MiB\n",
                         from->first + (unsigned long long)i + 1);
}

static int train(const align_words_job *job, attend_aligner *a, pair_reader *from)
{
    int status = ATTEND_OK;
    while (status == ATTEND_OK && (status = pair_reader_next(from)) == ATTEND_OK && from->count > 0) {
        report_long_pairs(job, from);
        status =
            attend_aligner_add(a, from->count, (const char *const *)from->sources, (const char *const *)from->targets);
    }
    if (status == ATTEND_OK) status = attend_aligner_train(a);
    return status == ATTEND_OK && job->save ? attend_aligner_save(a, job->save) : status;
}

static int align_trained(const align_words_job *job, align_links *links, attend_aligner *a)
{
    const size_t pairs = attend_aligner_pairs(a);
    int status = ATTEND_OK;
    for (size_t first = 0; status == ATTEND_OK && first < pairs; first += BATCH) {
        const int count = pairs - first < BATCH ? (int)(pairs - first) : BATCH;
        status = attend_aligner_align_added(a, first, count);
        for (int i = 0; status == ATTEND_OK && i < count; i++)
            status = use_pair(job, links, attend_aligner_result(a, i), first + (size_t)i);
    }
    return status;
}

static int align_others(const align_words_job *job, align_links *links, attend_aligner *a, pair_reader *from)
{
    int status = ATTEND_OK;
    from->answers = true;
    while (status == ATTEND_OK && (status = pair_reader_next(from)) == ATTEND_OK && from->count > 0) {
        report_long_pairs(job, from);
        status = attend_aligner_align(a, from->count, (const char *const *)from->sources,
                                      (const char *const *)from->targets);
        for (int i = 0; status == ATTEND_OK && i < from->count; i++)
            status = use_pair(job, links, attend_aligner_result(a, i), from->first + (unsigned long long)i);
    }
    return status;
}

static int write_dictionary(const char *path, const attend_aligner *a)
{
    const double min = 0.1; /* less probable translations are guesses */
    attend_string text = { 0 };
    output_file *to = NULL;
    int status = attend_aligner_dictionary(a, min, &text);
    if (status == ATTEND_OK) status = output_open(&to, path);
    if (status == ATTEND_OK && text.size > 0) status = output_write(to, text.text, text.size);
    const int closed = output_close(to, status == ATTEND_OK);
    attend_string_free(&text);
    return status == ATTEND_OK ? closed : status;
}

int align_words(const align_words_job *job, align_links *links, pair_reader *from)
{
    bool shows = !job->quiet && terminal_columns(STDERR_FILENO) > 0;
    attend_aligner_options o = attend_aligner_defaults();
    o.unit = job->unit, o.threads = job->threads, o.threshold = job->threshold, o.memory = job->memory;
    o.progress = show_iteration, o.user = &shows;
    attend_aligner *a = NULL;
    int status = job->aligner ? attend_aligner_load(&a, job->aligner, &o) : attend_aligner_new(&a, &o);
    if (status == ATTEND_OK && job->aligner) {
        status = align_others(job, links, a, from);
    } else if (status == ATTEND_OK) {
        status = train(job, a, from);
        if (status == ATTEND_OK) status = align_trained(job, links, a);
    }
    if (status == ATTEND_OK && job->dictionary) status = write_dictionary(job->dictionary, a);
    attend_aligner_free(a);
    return status;
}
