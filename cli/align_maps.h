/* align_maps.h: attend align --maps and --choose: how well every map of a model aligns, and the best of them kept with the model. */
#ifndef ATTEND_CLI_ALIGN_MAPS_H
#define ATTEND_CLI_ALIGN_MAPS_H

#include "gold_links.h"
#include "pairs_stream.h"

typedef struct align_maps_job {
    attend_model *models[2]; /* from source to target, and back; NULL: not asked for */
    const char *paths[2];
    int threads;
    const gold_links *gold; /* NULL: none */
    const char *gold_path;
    bool json, choose, quiet;
} align_maps_job;

/* Prints how each map did on the pairs of `from`, to its end; with `choose`, keeps the best in the models' files. */
int align_maps(const align_maps_job *job, pairs_stream *from);
/* ATTEND_BAD_USAGE if a file is a checkpoint, in which nothing may be changed. */
int align_maps_check(const char *path);

#endif
