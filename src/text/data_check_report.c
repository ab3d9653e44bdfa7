/* A doctor's report, for people and for programs. */
#include "core/status.h"
#include "text/data_check.h"
#include "text/lines.h"
#include <errno.h>

static const char *const severities[] = { "stop", "warning", "information" };

static int written(FILE *out)
{
    const bool failed = fflush(out) != 0 || ferror(out);
    return failed ? attend_fail(ATTEND_IO, "cannot write the report: %s", attend_errno_text(errno)) : ATTEND_OK;
}

/* --- for people --- */

/* What the sides are called: lines alone have one. */
static const char *side_name(const attend_data_check_report *r, int side)
{
    return r->lines ? "text" : side ? "target" : "source";
}

static void print_counts(FILE *out, const attend_data_check_report *r, const char *name,
                         const attend_data_check_counts *n)
{
    fprintf(out, "%s: %llu %s", name, (unsigned long long)n->pairs, r->lines ? "lines" : "pairs");
    if (n->good != n->pairs) fprintf(out, ", of which %llu can be used", (unsigned long long)n->good);
    fputc('\n', out);
    for (int i = r->lines; i < 2 && n->good > 0; i++) {
        fprintf(out, "    %s: %llu words, %llu characters; a line has %.1f characters", side_name(r, i),
                (unsigned long long)n->words[i], (unsigned long long)n->characters[i],
                (double)n->characters[i] / (double)n->good);
        if (n->median[i] > 0) fprintf(out, " (median %d)", n->median[i]);
        fprintf(out, ", the longest %d\n", n->longest[i]);
    }
}

static void print_finding(FILE *out, const attend_finding *f)
{
    fprintf(out, "%s: %s: %llu\n", severities[f->severity], f->what, (unsigned long long)f->count);
    for (int i = 0; i < f->example_count; i++)
        fprintf(out, "    %s:%llu: %s\n", f->examples[i].file, (unsigned long long)f->examples[i].line,
                f->examples[i].excerpt);
    fprintf(out, "    -> %s\n", f->advice);
}

int attend_data_check_print(const attend_data_check_report *r, FILE *out)
{
    print_counts(out, r, "training", &r->train);
    if (r->valid.pairs > 0) print_counts(out, r, "validation", &r->valid);
    for (int i = 0; i < r->finding_count; i++) print_finding(out, r->findings + i);
    fputs(attend_data_check_stops(r) ? "Training stops at this data.\n" : "Nothing here stops training.\n", out);
    return written(out);
}

/* --- for programs --- */

/* Bytes that are not UTF-8 (in a file's name) become U+FFFD: JSON cannot say them. */
static void print_string(FILE *out, const char *s)
{
    fputc('"', out);
    while (*s) {
        const unsigned char c = (unsigned char)*s;
        size_t at, length = 1;
        while (length < 4 && ((unsigned char)s[length] & 0xc0) == 0x80) length++;
        if (c == '"' || c == '\\')
            fprintf(out, "\\%c", c);
        else if (c < 0x20 || c == 0x7f)
            fprintf(out, "\\u%04x", c);
        else if (c < 0x80)
            fputc(c, out);
        else if (attend_line_check(s, length, &at) == ATTEND_LINE_FINE) {
            fwrite(s, 1, length, out);
            s += length - 1;
        } else
            fputs("\\ufffd", out);
        s++;
    }
    fputc('"', out);
}

static void json_counts(FILE *out, const attend_data_check_report *r, const char *name,
                        const attend_data_check_counts *n)
{
    fprintf(out, "\"%s\":{\"%s\":%llu,\"usable\":%llu", name, r->lines ? "lines" : "pairs",
            (unsigned long long)n->pairs, (unsigned long long)n->good);
    for (int i = r->lines; i < 2; i++)
        fprintf(out, ",\"%s\":{\"words\":%llu,\"characters\":%llu,\"median\":%d,\"longest\":%d}", side_name(r, i),
                (unsigned long long)n->words[i], (unsigned long long)n->characters[i], n->median[i], n->longest[i]);
    fputs("},", out);
}

static void json_finding(FILE *out, const attend_finding *f)
{
    fprintf(out, "{\"name\":\"%s\",\"severity\":\"%s\",\"count\":%llu,\"what\":", f->name, severities[f->severity],
            (unsigned long long)f->count);
    print_string(out, f->what);
    fputs(",\"advice\":", out);
    print_string(out, f->advice);
    fputs(",\"examples\":[", out);
    for (int i = 0; i < f->example_count; i++) {
        fputs(i > 0 ? ",{\"file\":" : "{\"file\":", out);
        print_string(out, f->examples[i].file);
        fprintf(out, ",\"line\":%llu,\"excerpt\":", (unsigned long long)f->examples[i].line);
        print_string(out, f->examples[i].excerpt);
        fputc('}', out);
    }
    fputs("]}", out);
}

int attend_data_check_json(const attend_data_check_report *r, FILE *out)
{
    fprintf(out, "{\"quick\":%s,\"stops\":%s,", r->quick ? "true" : "false",
            attend_data_check_stops(r) ? "true" : "false");
    json_counts(out, r, "train", &r->train);
    json_counts(out, r, "valid", &r->valid);
    fputs("\"findings\":[", out);
    for (int i = 0; i < r->finding_count; i++) {
        if (i > 0) fputc(',', out);
        json_finding(out, r->findings + i);
    }
    fputs("]}\n", out);
    return written(out);
}
