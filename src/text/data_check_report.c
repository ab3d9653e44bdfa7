/* data_check_report.c: writes the report of a data check as text and as JSON. */
#include "core/status.h"
#include "text/words.h"
#include <attend/data_check.h>
#include <attend/json.h>
#include <attend/print.h>
#include <errno.h>

static const char *const severities[] = { "stop", "warning", "information" };

static int written(FILE *out)
{
    const bool failed = fflush(out) != 0 || ferror(out);
    return failed ? attend_fail(ATTEND_IO, "cannot write the report: %s", attend_errno_text(errno)) : ATTEND_OK;
}

/* --- text --- */

/* The name of a side; monolingual lines have one. */
static const char *side_name(const attend_data_check_report *r, int side)
{
    return r->lines ? "text" : side ? "target" : "source";
}

/* What spaces separate: where the other side has single words, phonemes and the like are symbols. */
static const char *word_name(const attend_data_check_report *r, const attend_data_check_counts *n, int side)
{
    return !r->lines && attend_are_single_words(n->words[!side], n->usable) &&
                   attend_are_symbols(n->words[side], n->characters[side], n->usable)
               ? "symbols"
               : "words";
}

static void print_counts(FILE *out, const attend_data_check_report *r, const char *name,
                         const attend_data_check_counts *n)
{
    const bool is_held_out = r->held_out && n == &r->valid, is_one = n->pairs == 1;
    attend_print(out, "%s: %llu %s%s", name, (unsigned long long)n->pairs, r->lines ? "line" : "pair",
                 is_one ? "" : "s");
    if (is_held_out) attend_print(out, ", held out from the training files");
    if (n->usable != n->pairs) attend_print(out, ", %llu usable", (unsigned long long)n->usable);
    attend_print(out, "\n");
    for (int i = r->lines; i < 2 && n->usable > 0; i++) {
        attend_print(out, "    %s: %llu %s, %llu characters; a line has %.1f characters", side_name(r, i),
                     (unsigned long long)n->words[i], word_name(r, n, i), (unsigned long long)n->characters[i],
                     (double)n->characters[i] / (double)n->usable);
        if (n->median[i] > 0) attend_print(out, " (median %d)", n->median[i]);
        attend_print(out, ", the longest %d\n", n->longest[i]);
    }
}

static void print_finding(FILE *out, const attend_finding *f)
{
    attend_print(out, "%s: %s: %llu\n", severities[f->severity], f->what, (unsigned long long)f->count);
    for (int i = 0; i < f->example_count; i++)
        attend_print(out, "    %s:%llu: %s\n", f->examples[i].file, (unsigned long long)f->examples[i].line,
                     f->examples[i].excerpt);
    attend_print(out, "    -> %s\n", f->advice);
}

int attend_data_check_print(const attend_data_check_report *r, FILE *out)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, r && out);
    print_counts(out, r, "training", &r->train);
    if (r->valid.pairs > 0) print_counts(out, r, "validation", &r->valid);
    for (int i = 0; i < r->finding_count; i++) print_finding(out, r->findings + i);
    attend_print(out,
                 attend_data_check_stops(r) ? "This data prevents training.\n" : "Nothing here prevents training.\n");
    return written(out);
}

/* --- JSON --- */

static void json_counts(attend_json_writer *w, const attend_data_check_report *r, const char *name,
                        const attend_data_check_counts *n)
{
    attend_json_put_key(w, name), attend_json_begin_object(w);
    attend_json_put_key(w, r->lines ? "lines" : "pairs"), attend_json_put_unsigned(w, n->pairs);
    attend_json_put_key(w, "usable"), attend_json_put_unsigned(w, n->usable);
    for (int i = r->lines; i < 2; i++) {
        attend_json_put_key(w, side_name(r, i)), attend_json_begin_object(w);
        attend_json_put_key(w, "words"), attend_json_put_unsigned(w, n->words[i]);
        attend_json_put_key(w, "characters"), attend_json_put_unsigned(w, n->characters[i]);
        attend_json_put_key(w, "median"), attend_json_put_integer(w, n->median[i]);
        attend_json_put_key(w, "longest"), attend_json_put_integer(w, n->longest[i]);
        attend_json_end_object(w);
    }
    attend_json_end_object(w);
}

static void json_finding(attend_json_writer *w, const attend_finding *f)
{
    attend_json_begin_object(w);
    attend_json_put_key(w, "name"), attend_json_put_text(w, f->name);
    attend_json_put_key(w, "severity"), attend_json_put_text(w, severities[f->severity]);
    attend_json_put_key(w, "count"), attend_json_put_unsigned(w, f->count);
    attend_json_put_key(w, "what"), attend_json_put_text(w, f->what);
    attend_json_put_key(w, "advice"), attend_json_put_text(w, f->advice);
    attend_json_put_key(w, "examples"), attend_json_begin_array(w);
    for (int i = 0; i < f->example_count; i++) {
        attend_json_begin_object(w);
        attend_json_put_key(w, "file"), attend_json_put_text(w, f->examples[i].file);
        attend_json_put_key(w, "line"), attend_json_put_unsigned(w, f->examples[i].line);
        attend_json_put_key(w, "excerpt"), attend_json_put_text(w, f->examples[i].excerpt);
        attend_json_end_object(w);
    }
    attend_json_end_array(w);
    attend_json_end_object(w);
}

int attend_data_check_json(const attend_data_check_report *r, FILE *out)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, r && out);
    attend_json_writer w = attend_json_to_file(out);
    w.compact = true;
    attend_json_begin_object(&w);
    attend_json_put_key(&w, "quick"), attend_json_put_bool(&w, r->quick);
    attend_json_put_key(&w, "stops"), attend_json_put_bool(&w, attend_data_check_stops(r));
    json_counts(&w, r, "train", &r->train);
    json_counts(&w, r, "valid", &r->valid);
    attend_json_put_key(&w, "held_out"), attend_json_put_bool(&w, r->held_out);
    attend_json_put_key(&w, "findings"), attend_json_begin_array(&w);
    for (int i = 0; i < r->finding_count; i++) json_finding(&w, r->findings + i);
    attend_json_end_array(&w);
    attend_json_end_object(&w);
    attend_json_put_space(&w, "\n");
    return written(out);
}
