#include "align_maps.h"

#include "alignment_text.h"
#include "array.h"
#include <attend/status.h>
#include "json_members.h"
#include <attend/map_selection.h>
#include <attend/trainer.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

static const char *const names[2] = { "forward", "reverse" };

int align_maps_check_writable(const char *path)
{
    bool is_checkpoint;
    const int status = attend_is_checkpoint(path, &is_checkpoint);
    if (status == ATTEND_OK && !is_checkpoint && access(path, W_OK) != 0)
        return attend_fail(ATTEND_IO, "cannot write %s, which exists: %s", path, attend_errno_text(errno));
    if (status != ATTEND_OK || !is_checkpoint) return status;
    return attend_fail(ATTEND_BAD_USAGE, "%s is a training checkpoint and cannot be changed; give the model file",
                       path);
}

/* ---- gold links of a batch ---- */

typedef struct gold_list {
    attend_pair_links pairs[PAIR_READER_BATCH];
    attend_word_link *reversed; /* for the reverse model */
    int capacity;
} gold_list;

static int collect_gold(gold_list *g, const gold_links *all, const pair_reader *from, bool reverse)
{
    size_t count = 0;
    for (int i = 0; i < from->count; i++) {
        attend_pair_links *p = &g->pairs[i];
        p->count = gold_links_of(all, from->first + (unsigned long long)i, &p->links);
        count += (size_t)p->count;
    }
    if (!reverse) return ATTEND_OK;
    if (!array_reserve(&g->reversed, &g->capacity, count + 1, sizeof *g->reversed))
        return attend_fail(ATTEND_NO_MEMORY, "out of memory for gold links");
    attend_word_link *to = g->reversed;
    for (int i = 0; i < from->count; i++) {
        attend_pair_links *p = &g->pairs[i];
        const attend_word_link *links = p->links;
        p->links = to;
        for (int k = 0; k < p->count; k++)
            *to++ = (attend_word_link){ .source = links[k].target, .target = links[k].source, .sure = links[k].sure };
    }
    return ATTEND_OK;
}

/* ---- output ---- */

static void json_map(attend_json_writer *w, attend_alignment map)
{
    json_integer(w, "layer", map.layer);
    json_integer(w, "head", map.head);
    json_bool(w, "shifted", map.shifted);
}

static void print_json(const align_maps_job *job, int d, const attend_map_score *scores, int count, int best)
{
    attend_json_writer w = attend_json_to_file(stdout);
    attend_json_begin_object(&w);
    json_text(&w, "model", names[d]);
    json_text(&w, "against", job->gold ? "gold" : "aligner");
    json_begin_array(&w, "maps");
    for (int i = 0; i < count; i++) {
        attend_json_begin_object(&w);
        json_map(&w, scores[i].map);
        aer_json(&w, &scores[i].sums);
        attend_json_end_object(&w);
    }
    attend_json_end_array(&w);
    json_begin_object(&w, "best");
    json_map(&w, scores[best].map);
    attend_json_end_object(&w);
    json_end_line(&w);
}

static void print_text(const align_maps_job *job, int d, const attend_map_score *scores, int count, int best)
{
    const attend_config *config = attend_model_config(job->models[d]);
    char text[ALIGNMENT_TEXT];
    if (job->models[0] && job->models[1]) attend_print(stdout, d ? "\n%s:\n" : "%s:\n", names[d]);
    for (int i = 0; i < count; i++) {
        aer_print(&scores[i].sums);
        attend_print(stdout, "  %s\n", alignment_text(text, scores[i].map, config));
    }
    attend_print(stdout, "best%s: %s\n", job->gold ? "" : " by the word aligner",
                 alignment_text(text, scores[best].map, config));
}

/* Stores the best map in the model file. */
static int select_map(const align_maps_job *job, int d, const attend_map_score *best)
{
    char text[ALIGNMENT_TEXT];
    if (!(best->error < 1))
        return attend_fail(
            ATTEND_BAD_DATA,
            "no attention map shares a link with %s, so none can be selected; %s is unchanged: give more pairs",
            job->gold ? "the gold alignment" : "that of the word aligner", job->paths[d]);
    int status = attend_model_set_alignment(job->models[d], best->map);
    if (status == ATTEND_OK) status = attend_model_save(job->models[d], job->paths[d]);
    if (status == ATTEND_OK && !job->quiet)
        attend_print(stderr, "%s now aligns by %s\n", job->paths[d],
                     alignment_text(text, best->map, attend_model_config(job->models[d])));
    return status;
}

static int report(const align_maps_job *job, int d, attend_map_selection *selection)
{
    const attend_map_score *scores;
    int count, best;
    const int status = attend_map_selection_end(selection, &scores, &count, &best);
    if (status != ATTEND_OK) return status;
    (job->json ? print_json : print_text)(job, d, scores, count, best);
    return job->select ? select_map(job, d, &scores[best]) : ATTEND_OK;
}

/* ---- all pairs ---- */

static int add(const align_maps_job *job, int d, attend_map_selection *selection, gold_list *gold,
               const pair_reader *from)
{
    const char *const *sides[2] = { (const char *const *)from->sources, (const char *const *)from->targets };
    int status = job->gold ? collect_gold(gold, job->gold, from, d == 1) : ATTEND_OK;
    if (status == ATTEND_OK)
        status =
            attend_map_selection_add(selection, from->count, sides[d], sides[1 - d], job->gold ? gold->pairs : NULL);
    return status;
}

int align_maps(const align_maps_job *job, pair_reader *from)
{
    attend_map_selection *selections[2] = { NULL, NULL };
    gold_list *gold = calloc(1, sizeof *gold);
    int status = gold ? ATTEND_OK : attend_fail(ATTEND_NO_MEMORY, "out of memory evaluating attention maps");
    for (int d = 0; status == ATTEND_OK && d < 2; d++)
        if (job->models[d]) {
            status = attend_map_selection_new(&selections[d], job->models[d], job->threads);
            if (status == ATTEND_OK) status = attend_map_selection_set_memory(selections[d], job->memory);
            if (status == ATTEND_OK)
                status = attend_map_selection_set_compute(selections[d], (attend_compute_precision)job->compute);
        }
    while (status == ATTEND_OK && (status = pair_reader_next(from)) == ATTEND_OK && from->count > 0)
        for (int d = 0; status == ATTEND_OK && d < 2; d++)
            if (selections[d]) status = add(job, d, selections[d], gold, from);
    if (status == ATTEND_OK && job->gold) status = gold_links_check(job->gold, job->gold_path, from->first);
    for (int d = 0; status == ATTEND_OK && d < 2; d++)
        if (selections[d]) status = report(job, d, selections[d]);
    for (int d = 0; d < 2; d++) attend_map_selection_free(selections[d]);
    if (gold) free(gold->reversed);
    free(gold);
    return status;
}
