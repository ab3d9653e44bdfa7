#include "align_maps.h"

#include "alignment_text.h"
#include "core/status.h"
#include "format/tensor_file.h"
#include <attend/map_selection.h>
#include <stdlib.h>

static const char *const names[2] = { "forward", "reverse" };

int align_maps_check(const char *path)
{
    attend_tensor_file *file = NULL;
    int status = attend_tensor_file_open(&file, path, ATTEND_TENSOR_SKIP_CHECKSUM);
    if (status == ATTEND_OK && attend_tensor_file_metadata(file, "training.state.update"))
        status = attend_fail(ATTEND_BAD_USAGE,
                             "%s is where a training stands, and is not changed: choose for the model it makes", path);
    attend_tensor_file_close(file);
    return status;
}

/* ---- gold links of the pairs at hand ---- */

typedef struct gold_list {
    attend_pair_links pairs[STREAM_PAIRS];
    attend_word_link *turned; /* for the model of the other direction */
} gold_list;

static int take_gold(gold_list *g, const gold_links *all, const pairs_stream *from, bool turn)
{
    size_t count = 0;
    for (int i = 0; i < from->count; i++) {
        attend_pair_links *p = &g->pairs[i];
        p->count = gold_links_of(all, from->first + (unsigned long long)i, &p->links);
        count += (size_t)p->count;
    }
    if (!turn) return ATTEND_OK;
    attend_word_link *to = realloc(g->turned, (count + 1) * sizeof *to);
    if (!to) return attend_fail(ATTEND_NO_MEMORY, "no memory for gold links");
    g->turned = to;
    for (int i = 0; i < from->count; i++) {
        attend_pair_links *p = &g->pairs[i];
        const attend_word_link *links = p->links;
        p->links = to;
        for (int k = 0; k < p->count; k++)
            *to++ = (attend_word_link){ .source = links[k].target, .target = links[k].source, .sure = links[k].sure };
    }
    return ATTEND_OK;
}

/* ---- what is printed ---- */

static void print_map(const attend_map_score *s, const attend_config *config, bool json, bool first)
{
    const attend_aer_sums *a = &s->sums;
    const double precision = a->predicted > 0 ? a->matched_possible / a->predicted : 0,
                 recall = a->sure > 0 ? a->matched_sure / a->sure : 0;
    char text[ALIGNMENT_TEXT];
    if (json)
        printf("%s{\"layer\": %d, \"head\": %d, \"aer\": %.6f, \"precision\": %.6f, \"recall\": %.6f}",
               first ? "" : ", ", s->map.layer, s->map.head, s->error, precision, recall);
    else
        printf("AER %.4f  precision %.4f  recall %.4f  %s\n", s->error, precision, recall,
               alignment_text(text, s->map, config));
}

static int end_trial(const align_maps_job *job, int d, attend_map_selection *trial)
{
    const attend_config *config = attend_model_config(job->models[d]);
    const attend_map_score *scores;
    char text[ALIGNMENT_TEXT];
    int count, best, status = attend_map_selection_end(trial, &scores, &count, &best);
    if (status != ATTEND_OK) return status;
    const bool both = job->models[0] && job->models[1];
    if (job->json)
        printf("{\"model\": \"%s\", \"against\": \"%s\", \"maps\": [", names[d], job->gold ? "gold" : "ibm1");
    if (!job->json && both) printf("%s%s:\n", d && job->models[0] ? "\n" : "", names[d]);
    for (int i = 0; i < count; i++) print_map(&scores[i], config, job->json, i == 0);
    if (job->json)
        printf("], \"best\": {\"layer\": %d, \"head\": %d}}\n", scores[best].map.layer, scores[best].map.head);
    else
        printf("best%s: %s\n", job->gold ? "" : " by IBM 1", alignment_text(text, scores[best].map, config));
    if (!job->choose) return ATTEND_OK;
    if (!(scores[best].error < 1))
        return attend_fail(ATTEND_BAD_DATA,
                           "no map has a link in common with %s, so that there is nothing to choose by: "
                           "%s is as it was; give more pairs",
                           job->gold ? "the gold ones" : "those of IBM Model 1", job->paths[d]);
    status = attend_model_set_alignment(job->models[d], scores[best].map);
    if (status == ATTEND_OK) status = attend_model_save(job->models[d], job->paths[d]);
    if (status == ATTEND_OK && !job->quiet) fprintf(stderr, "%s aligns by it from now on: %s\n", job->paths[d], text);
    return status;
}

/* ---- all of it ---- */

static int add(const align_maps_job *job, int d, attend_map_selection *trial, gold_list *gold, const pairs_stream *from)
{
    const char *const *sides[2] = { (const char *const *)from->sources, (const char *const *)from->targets };
    int status = job->gold ? take_gold(gold, job->gold, from, d == 1) : ATTEND_OK;
    if (status == ATTEND_OK)
        status = attend_map_selection_add(trial, from->count, sides[d], sides[1 - d], job->gold ? gold->pairs : NULL);
    return status;
}

int align_maps(const align_maps_job *job, pairs_stream *from)
{
    attend_map_selection *trials[2] = { NULL, NULL };
    gold_list *gold = calloc(1, sizeof *gold);
    int status = gold ? ATTEND_OK : attend_fail(ATTEND_NO_MEMORY, "no memory to try maps");
    for (int d = 0; status == ATTEND_OK && d < 2; d++)
        if (job->models[d]) status = attend_map_selection_new(&trials[d], job->models[d], job->threads);
    while (status == ATTEND_OK && (status = pairs_stream_next(from)) == ATTEND_OK && from->count > 0)
        for (int d = 0; status == ATTEND_OK && d < 2; d++)
            if (trials[d]) status = add(job, d, trials[d], gold, from);
    if (status == ATTEND_OK && job->gold) status = gold_links_check(job->gold, job->gold_path, from->first);
    for (int d = 0; status == ATTEND_OK && d < 2; d++)
        if (trials[d]) status = end_trial(job, d, trials[d]);
    for (int d = 0; d < 2; d++) attend_map_selection_free(trials[d]);
    if (gold) free(gold->turned);
    free(gold);
    return status;
}
