/* scores.c: the list of scores. A new score is a file of its own and an entry here. */
#include <attend/score.h>

#include "core/status.h"
#include <stdio.h>
#include <string.h>

const attend_score *const attend_scores[] = {
    &attend_score_dot,       &attend_score_scaled_dot, &attend_score_bilinear,           &attend_score_additive,
    &attend_score_projected, &attend_score_location,   &attend_score_location_sensitive, NULL,
};

const attend_score *attend_score_find(const char *name)
{
    ATTEND_REQUIRE(NULL, name);
    for (const attend_score *const *s = attend_scores; *s; s++)
        if (strcmp((*s)->name, name) == 0) return *s;
    return NULL;
}

size_t attend_score_names(char *out, size_t size)
{
    ATTEND_REQUIRE(0, out || size == 0);
    size_t used = 0;
    for (const attend_score *const *s = attend_scores; *s; s++) {
        const size_t left = used < size ? size - used : 0;
        used += (size_t)snprintf(left ? out + used : NULL, left, "%s%s", used ? "|" : "", (*s)->name);
    }
    return used;
}
