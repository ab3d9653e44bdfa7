/* align_maps.h: attend align --evaluate-maps and --select-map: the alignment error of every attention map of a model,
 * and the choice of the best. */
#ifndef ATTEND_CLI_ALIGN_MAPS_H
#define ATTEND_CLI_ALIGN_MAPS_H

#include "align_links.h"
#include "pair_reader.h"

typedef struct align_maps_job {
    attend_model *models[2]; /* source to target, and target to source; NULL: none */
    const char *paths[2];
    int threads;
    int compute;            /* attend_compute_precision */
    size_t memory;          /* for each model; 0: no limit */
    const gold_links *gold; /* NULL: compare with the word aligner */
    const char *gold_path;
    bool json, select, quiet;
} align_maps_job;

/* Prints the alignment error of each map on all pairs of `from`; with `select`, stores the best map in the model
 * files. */
int align_maps(const align_maps_job *job, pair_reader *from);
/* ATTEND_BAD_USAGE if the file is a training checkpoint, which must not be changed; ATTEND_IO: it is write-protected. */
int align_maps_check_writable(const char *path);

#endif
