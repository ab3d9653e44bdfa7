/* clock_jumps.c: a campaign (campaign.h) with a copy of the command whose clocks jump (jumping_clock.c): every verb gives
 * the same results as without jumps, and prints no time or rate that is not a number. */
#include "hostile/campaign.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Command lines, and the file that must be the same; "": standard output. */
static const struct timed {
    const char *file, *words;
} all[] = {
    { "", "translate --model rnn-bpe.model --input input.txt --json" },
    { "", "translate --model language-model.model --sample --seed 3" },
    { "", "score --model lstmn.model --input pairs.tsv --per-token" },
    { "", "evaluate --model transformer-learned.model --input valid.tsv --bootstrap 50" },
    { "", "align --model rnn-bpe.model --input pairs.tsv" },
    { "", "show --model rnn-bpe.model --format json a" },
    { "", "check --train pairs.tsv --valid valid.tsv" },
    { "", "info stopped.model.checkpoint" },
    { "out", "align --input pairs.tsv --save out --threads 2" },
    { "out", "convert --model rnn-bpe.model --output out --precision int8 --shortlist pairs.tsv" },
    { "out", "train --train pairs.tsv --valid none --model out --tokens word --hidden 8 --embedding 8 --updates 20 "
             "--guided-alignment auto --threads 1" },
    { "out", "train --train pairs.tsv --valid none --model out --tokens char --architecture transformer --heads 2 "
             "--hidden 8 --updates 20 --save-every 5 --threads 1" },
    /* CHEAP rows precede this line */
    { "out", "train --train pairs.tsv --valid valid.tsv --model out --tokens word --hidden 8 --embedding 8 --updates "
             "40 --valid-every 10 --log-every 1 --threads 2" },
    { "out/hidden=4/model", "compare --train pairs.tsv --valid valid.tsv --vary hidden=4,8 --embedding 8 --tokens word "
                            "--updates 10 --output out" },
    { "", "tune --train pairs.tsv --valid valid.tsv --time 5s --candidates 3 --hidden 4 --embedding 8 --tokens word "
          "--updates 20 --output out" },
    { "out/model", "demo --output out --pairs 100 --updates 1 --attention none" }, /* without a map: half the time */
};
enum { ALL = sizeof all / sizeof *all, CHEAP = 12 };

/* A search ends by time: only how it ends and what it prints is compared. */
static bool depends_on_time(const struct timed *x)
{
    return strncmp(x->words, "tune ", 5) == 0;
}

/* Words of numbers: "nan", "-inf", and negative times. */
static bool has_no_number(const char *text)
{
    static const char *const wrong[] = { " nan", " -nan", " inf", " -inf", "-nan", " -0s", "s left -" };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (strstr(text, wrong[i])) return true;
    for (const char *at = text; (at = strstr(at, " tokens/s")); at++) { /* "-5 tokens/s" */
        const char *word = at;
        while (word > text && word[-1] != ' ') word--;
        if (*word == '-') return true;
    }
    return false;
}

/* The result; the caller frees it. */
static char *run_once(campaign *c, run *r, const struct timed *x, size_t *size)
{
    static char words[1024];
    memset(r, 0, sizeof *r);
    snprintf(words, sizeof words, "%s", x->words);
    run_add_words(r, words);
    r->input = "input.txt";
    r->limit = 120;
    campaign_run(c, r);
    char *result = *x->file ? file_read(x->file, size) : strdup(r->output);
    if (!*x->file && result) *size = strlen(result);
    campaign_clean(c);
    return result;
}

int main(int argc, char **argv)
{
    static campaign c;
    static run r;
    campaign_begin(&c, argc, argv);
    campaign_clean(&c);      /* keeps what is there */
    c.min_cases = CHEAP + 1; /* the short form tries each of the cheap ones and, in turn, one of the others */
    for (long i = c.only >= 0 ? c.only : 0; i < 100000; i++) {
        if (!campaign_case(&c, i)) break;
        const long row = campaign_row(&c, i, CHEAP, ALL);
        const struct timed *x = &all[row];
        size_t sizes[2] = { 0, 0 };
        char seed[32];
        campaign_cover(&c, "command lines", row, ALL);
        unsetenv("HOSTILE_CLOCK");
        char *expected = run_once(&c, &r, x, &sizes[0]);
        snprintf(seed, sizeof seed, "%llu", (unsigned long long)c.seed + (unsigned long long)i);
        setenv("HOSTILE_CLOCK", seed, 1);
        char *got = run_once(&c, &r, x, &sizes[1]);
        if (r.status != 0 && !(depends_on_time(x) && r.status == 1)) /* 1: the jumps took all the time */
            campaign_fault(&c, &r, "it fails");
        else if (!depends_on_time(x) &&
                 (!expected || !got || sizes[0] != sizes[1] || memcmp(expected, got, sizes[0]) != 0))
            campaign_fault(&c, &r, "the result is another one with HOSTILE_CLOCK=%s", seed);
        else if (has_no_number(r.printed))
            campaign_fault(&c, &r, "a time or rate is not a number, with HOSTILE_CLOCK=%s", seed);
        free(expected), free(got);
        campaign_case_end(&c);
        if (c.only >= 0) break;
    }
    return campaign_end(&c);
}
