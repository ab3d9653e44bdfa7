/* scores.c: the list of scores. A new one is its own file and a line here. */
#include <attend/score.h>

#include <string.h>

const attend_score *const attend_scores[] = {
    &attend_score_dot,       &attend_score_scaled_dot, &attend_score_bilinear,           &attend_score_additive,
    &attend_score_projected, &attend_score_location,   &attend_score_location_sensitive, NULL,
};

const attend_score *attend_score_find(const char *name)
{
    for (const attend_score *const *s = attend_scores; *s; s++)
        if (strcmp((*s)->name, name) == 0) return *s;
    return NULL;
}
