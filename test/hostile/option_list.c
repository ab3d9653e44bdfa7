/* option_list.c: the options of the command, read from its help; see option_list.h. */
#include "hostile/option_list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Valid command lines of each verb. They take less than a second. */
static const char *const bases[] = {
    "demo --output out --pairs 100 --updates 1 --threads 1 --quiet",
    "demo --write-pairs out --pairs 100 --quiet",
    "train --train pairs.tsv --valid valid.tsv --model out --tokens word --hidden 8 --embedding 8 --updates 2 "
    "--threads 1 --memory 512M",
    "train --train pairs.tsv --valid none --model out --tokens char --architecture transformer --heads 2 --hidden 8 "
    "--layers 1 --updates 2 --threads 1 --memory 512M",
    "train --train pairs.tsv --valid none --model out --init-from rnn-bpe.model --updates 2 --threads 1 --memory 512M",
    "train --task language-model --train lines.txt --valid none --model out --tokens word --hidden 8 --embedding 8 "
    "--updates 2 --threads 1 --memory 512M",
    "translate --model rnn-bpe.model --input input.txt --output out --threads 1 --memory 512M",
    "translate --model int8-shortlist.model --input input.txt --shortlist --json --alignment soft --n-best 2 --threads "
    "1 --memory 512M",
    "translate --model language-model.model --input input.txt --sample --threads 1 --memory 512M",
    "score --model lstmn.model --input pairs.tsv --threads 1 --memory 512M",
    "evaluate --model transformer-learned.model --input valid.tsv --output out --threads 1 --memory 512M",
    "evaluate --hypothesis input.txt --reference input.txt --source input.txt --by-length auto --plot out.svg "
    "--against input.txt --memory 512M",
    "align --model rnn-bpe.model --input pairs.tsv --threads 1 --memory 512M",
    "align --model transformer-learned.model --reverse-model rnn-bpe.model --input pairs.tsv --symmetrize union "
    "--threads 1 --memory 512M",
    "show --model rnn-bpe.model --format html --output out.html --threads 1 --memory 512M a",
    "show --model transformer-learned.model --input valid.tsv --format svg --output out%d.svg --all-heads --threads 1 "
    "--memory 512M",
    "show --model rnn-bpe.model --model lstmn.model --threads 1 --memory 512M a",
    "compare --train pairs.tsv --valid valid.tsv --vary hidden=4,8 --embedding 8 --tokens word --updates 2 --output "
    "out --threads 1 --memory 512M",
    "tune --train pairs.tsv --valid valid.tsv --time 1s --candidates 2 --hidden 4 --embedding 8 --tokens word "
    "--updates 2 "
    "--output out --threads 1 --memory 512M",
    "align --input pairs.tsv --save out --threads 1 --memory 512M",
    "serve --model en-fr=rnn-bpe.model --listen unix:out --threads 1 --memory 512M",
    "check --train pairs.tsv --valid valid.tsv",
    "convert --model rnn-bpe.model --output out --precision int8",
    "convert --model rnn-bpe.model --output out --shortlist pairs.tsv --threads 1 --memory 512M",
    "convert --output out --average rnn-bpe.model rnn-bpe.model",
    "info rnn-bpe.model",
    "info --json --parameters stopped.model.checkpoint",
};
enum { BASES = sizeof bases / sizeof *bases };

static bool is_of(const char *base, const char *verb)
{
    const size_t length = strlen(verb);
    return strncmp(base, verb, length) == 0 && base[length] == ' ';
}

static int bases_of(const char *verb)
{
    int count = 0;
    for (int i = 0; i < BASES; i++) count += is_of(bases[i], verb);
    return count;
}

static _Noreturn void give_up(const char *what, const char *text)
{
    fprintf(stderr, "%s: %s\n", what, text);
    exit(2);
}

static listed_option *add(option_list *l, const char *verb)
{
    if (l->count == MAX_LISTED) give_up("too many options", verb);
    listed_option *o = &l->items[l->count++];
    memset(o, 0, sizeof *o);
    snprintf(o->verb, sizeof o->verb, "%s", verb);
    return o;
}

/* "  --name ARGUMENT   text" */
static void add_options(option_list *l, campaign *c, const char *verb)
{
    static run r;
    memset(&r, 0, sizeof r);
    run_add(&r, "help", verb, "--all", NULL);
    campaign_run(c, &r);
    if (r.status != 0) give_up("no help", verb);
    const int before = l->count;
    char *rest = NULL;
    for (char *line = strtok_r(r.output, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        if (strncmp(line, "  --", 4) != 0) continue;
        listed_option *o = add(l, verb);
        const size_t length = strcspn(line + 4, " ");
        snprintf(o->name, sizeof o->name, "%.*s", (int)length, line + 4);
        if (line[4 + length] != ' ' || line[5 + length] == ' ') continue; /* no argument */
        snprintf(o->argument, sizeof o->argument, "%.*s", (int)strcspn(line + 5 + length, " "), line + 5 + length);
    }
    if (l->count == before) give_up("no options in the help", verb);
    add(l, verb); /* an argument that is not an option */
}

void option_list_read(option_list *l, campaign *c)
{
    static run r;
    memset(&r, 0, sizeof r);
    l->count = 0;
    run_add(&r, "--help", NULL);
    campaign_run(c, &r);
    int verbs = 0;
    char *rest = NULL;
    for (char *line = strtok_r(r.output, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        char verb[32];
        if (strncmp(line, "  ", 2) != 0 || sscanf(line, " %31[a-z-]", verb) != 1) continue;
        if (!bases_of(verb)) give_up("option_list.c has no command line of the verb", verb);
        add_options(l, c, verb);
        verbs++;
    }
    if (verbs == 0) give_up("no verbs in the help", r.output);
}

void option_list_base(campaign *c, run *r, const listed_option *without)
{
    static char text[1024];
    uint32_t left = campaign_random(c, (uint32_t)bases_of(without->verb));
    memset(r, 0, sizeof *r);
    for (int i = 0; i < BASES; i++)
        if (is_of(bases[i], without->verb) && left-- == 0) snprintf(text, sizeof text, "%s", bases[i]);
    const char *name = *without->name ? without->name : "input"; /* of which an argument takes the place */
    const bool has_value = !*without->name || *without->argument;
    char *rest = NULL;
    for (char *w = strtok_r(text, " ", &rest); w; w = strtok_r(NULL, " ", &rest)) {
        if (strncmp(w, "--", 2) != 0 || strcmp(w + 2, name) != 0)
            run_add(r, w, NULL);
        else if (has_value)
            strtok_r(NULL, " ", &rest);
    }
    if (!*without->name && strcmp(without->verb, "info") == 0) r->arguments[--r->count] = NULL;
}

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
    return b == 0 ? a : common_divisor(b, a % b);
}

bool option_list_pick(const option_list *l, const campaign *c, long i, int values, const listed_option **o, int *value)
{
    const uint64_t total = (uint64_t)l->count * (uint64_t)values;
    uint64_t step =
        total * 618 / 1000 + c->seed % 1000; /* a step without a common divisor visits every combination once */
    while (common_divisor(step, total) != 1) step++;
    if (i < 0 || (uint64_t)i >= total) return false;
    const uint64_t place = ((uint64_t)i * (step % total) + c->seed) % total;
    *o = &l->items[place % (uint64_t)l->count];
    *value = (int)(place / (uint64_t)l->count);
    return true;
}
