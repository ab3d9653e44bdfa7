#include "perplexity.h"

#include "json_members.h"

#include <attend/utf8.h>
#include <attend/words.h>
#include <math.h>
#include <string.h>

const char *perplexity_unit_name(perplexity_unit unit)
{
    static const char *const names[PERPLEXITY_UNITS] = { "token", "word", "character", "byte" };
    return names[unit];
}

void perplexity_add(perplexity *p, const attend_scored_pair *line)
{
    if (line->fault) {
        p->faults++, p->non_finite += line->is_non_finite;
        return;
    }
    const size_t size = strlen(line->target_text);
    p->log_probability += line->log_probability, p->lines++;
    p->units[PERPLEXITY_TOKEN] += (unsigned long long)line->target_count;
    p->units[PERPLEXITY_WORD] += (unsigned long long)attend_word_count(line->target_text, size);
    p->units[PERPLEXITY_CHARACTER] += attend_utf8_count(line->target_text, size);
    p->units[PERPLEXITY_BYTE] += size;
    for (int i = 0; i < line->target_count; i++) p->unknown += line->target[i] == ATTEND_UNKNOWN;
}

int perplexity_check(const verb *v, const perplexity *p, const char *model)
{
    const int status = attend_check_finite(model, p->non_finite, p->lines + p->faults);
    return status == ATTEND_OK ? 0 : cli_fail(v, status);
}

double perplexity_of(const perplexity *p, perplexity_unit unit)
{
    return p->lines ? exp(-p->log_probability / (double)(p->units[unit] + p->lines)) : NAN;
}

double perplexity_bits(const perplexity *p, perplexity_unit unit)
{
    return p->lines ? -p->log_probability / (double)(p->units[unit] + p->lines) / log(2) : NAN;
}

const char *perplexity_text(char text[PERPLEXITY_TEXT], int digits, double x)
{
    if (isnan(x))
        snprintf(text, PERPLEXITY_TEXT, "-");
    else if (isinf(x))
        snprintf(text, PERPLEXITY_TEXT, ">1.8e308");
    else if (x < 1e6)
        snprintf(text, PERPLEXITY_TEXT, "%.*f", digits, x);
    else
        snprintf(text, PERPLEXITY_TEXT, "%.4g", x);
    return text;
}

void perplexity_print(FILE *to, const perplexity *p)
{
    char text[PERPLEXITY_TEXT];
    attend_print(to, "%llu line%s, %llu tokens (line ends included): log p %.2f, perplexity", p->lines,
                 p->lines == 1 ? "" : "s", p->units[PERPLEXITY_TOKEN] + p->lines, p->log_probability);
    for (int i = 0; i < PERPLEXITY_UNITS; i++)
        attend_print(to, "%s %s per %s", i ? "," : "", perplexity_text(text, 4, perplexity_of(p, (perplexity_unit)i)),
                     perplexity_unit_name((perplexity_unit)i));
    if (p->unknown) attend_print(to, "; %llu unknown tokens", p->unknown);
    if (p->faults) attend_print(to, "; %llu line%s not scored", p->faults, p->faults == 1 ? "" : "s");
    attend_print(to, "\n");
}

void perplexity_json(attend_json_writer *w, const perplexity *p)
{
    static const char *const counts[PERPLEXITY_UNITS] = { "tokens", "words", "characters", "bytes" };
    static const char *const perplexities[PERPLEXITY_UNITS] = { "perplexity", "word_perplexity", "character_perplexity",
                                                                "byte_perplexity" };
    json_integer(w, "lines", (long long)p->lines);
    json_integer(w, "faults", (long long)p->faults);
    json_integer(w, "rows", (long long)(p->units[PERPLEXITY_TOKEN] + p->lines));
    for (int i = 0; i < PERPLEXITY_UNITS; i++) json_integer(w, counts[i], (long long)p->units[i]);
    json_integer(w, "unknown", (long long)p->unknown);
    json_number(w, "log_probability", 6, p->log_probability);
    for (int i = 0; i < PERPLEXITY_UNITS; i++) json_number(w, perplexities[i], 4, perplexity_of(p, (perplexity_unit)i));
}
