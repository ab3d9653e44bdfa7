#include "perplexity.h"

#include <math.h>

const char *perplexity_unit_name(perplexity_unit unit)
{
    static const char *const names[PERPLEXITY_UNITS] = { "token", "word", "character", "byte" };
    return names[unit];
}

void perplexity_add(perplexity *p, const attend_scored_pair *line)
{
    int sources, words;
    if (line->fault) {
        p->faults++;
        return;
    }
    attend_scorer_word_counts(line, &sources, &words);
    p->log_probability += line->log_probability, p->lines++;
    p->units[PERPLEXITY_TOKEN] += (unsigned long long)line->target_count;
    p->units[PERPLEXITY_WORD] += (unsigned long long)words;
    for (const char *at = line->target_text; *at; at++) {
        p->units[PERPLEXITY_BYTE]++;
        p->units[PERPLEXITY_CHARACTER] += ((unsigned char)*at & 0xc0) != 0x80;
    }
    for (int i = 0; i < line->target_count; i++) p->unknown += line->target[i] == ATTEND_UNKNOWN;
}

double perplexity_of(const perplexity *p, perplexity_unit unit)
{
    return p->lines ? exp(-p->log_probability / (double)(p->units[unit] + p->lines)) : NAN;
}

void perplexity_print(FILE *to, const perplexity *p)
{
    fprintf(to, "%llu lines, %llu tokens and ends: log p %.2f, perplexity", p->lines,
            p->units[PERPLEXITY_TOKEN] + p->lines, p->log_probability);
    for (int i = 0; i < PERPLEXITY_UNITS; i++)
        fprintf(to, "%s %.4f a %s", i ? "," : "", perplexity_of(p, (perplexity_unit)i),
                perplexity_unit_name((perplexity_unit)i));
    if (p->unknown) fprintf(to, "; %llu tokens are unknown", p->unknown);
    if (p->faults) fprintf(to, "; %llu lines were not scored", p->faults);
    fprintf(to, "\n");
}

static void json_number(FILE *to, const char *unit, const char *name, double x)
{
    fprintf(to, ", \"%s%s\": ", unit, name);
    if (isfinite(x))
        fprintf(to, "%.4f", x);
    else
        fprintf(to, "null");
}

void perplexity_json(FILE *to, const perplexity *p)
{
    static const char *const prefixes[PERPLEXITY_UNITS] = { "", "word_", "character_", "byte_" };
    fprintf(to, "\"lines\": %llu, \"faults\": %llu, \"rows\": %llu", p->lines, p->faults,
            p->units[PERPLEXITY_TOKEN] + p->lines);
    for (int i = 0; i < PERPLEXITY_UNITS; i++)
        fprintf(to, ", \"%ss\": %llu", perplexity_unit_name((perplexity_unit)i), p->units[i]);
    fprintf(to, ", \"unknown\": %llu, \"log_probability\": %.6f", p->unknown, p->log_probability);
    for (int i = 0; i < PERPLEXITY_UNITS; i++)
        json_number(to, prefixes[i], "perplexity", perplexity_of(p, (perplexity_unit)i));
}
