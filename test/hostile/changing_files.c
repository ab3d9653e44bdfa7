/* changing_files.c: a campaign (campaign.h) with files that another process overwrites, truncates, extends, replaces and
 * removes again and again while a verb reads them: models, checkpoints, pairs, lines, configurations, gold links, aligners and links that guide training. */
#define _DEFAULT_SOURCE /* usleep */
#include "hostile/campaign.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* A command line, the file that changes during it, and two contents of that file. */
static const struct changing {
    const char *file, *one, *other, *words;
} all[] = {
    { "changing", "rnn-bpe.model", "transformer-learned.model", "info --parameters changing" },
    { "changing", "rnn-bpe.model", "rnn-bpe.model", "translate --model changing --input many --threads 2" },
    { "changing", "int8-shortlist.model", "stopped.model", "translate --model changing --shortlist --input many" },
    { "changing", "lstmn.model", "lstmn.model", "score --model changing --input pairs.tsv" },
    { "changing", "transformer-learned.model", "rnn-bpe.model", "show --model changing --input valid.tsv" },
    { "changing", "rnn-bpe.model", "rnn-bpe.model", "convert --average changing changing rnn-bpe.model --output out" },
    { "changing", "rnn-bpe.model", "lstmn.model", "convert --model changing --precision int8 --output out" },
    { "changing", "rnn-bpe.model", "stopped.model",
      "train --init-from changing --train pairs.tsv --valid none --model out --updates 2 --threads 1" },
    { "out.checkpoint", "stopped.model.checkpoint", "stopped.model",
      "train --train pairs.tsv --valid none --model out --tokens word --hidden 8 --embedding 8 --batch-tokens 60 "
      "--learning-rate 0.01 --dropout 0 "
      "--updates 320 --save-every 3 --threads 1" },
    { "changing", "many", "binary", "translate --model rnn-bpe.model --input changing --alignment hard" },
    { "changing", "many", "binary", "translate --model rnn-bpe.model --input many --prefix changing" },
    { "changing", "pairs.tsv", "binary",
      "translate --model rnn-bpe.model --input many --replace-unknown --dictionary changing" },
    { "changing", "many.tsv", "binary",
      "train --train changing --valid changing --model out --tokens bpe --hidden 8 --embedding 8 --updates 20 "
      "--threads 2" },
    { "changing", "many.tsv", "lines.txt", "check --train changing" },
    { "changing", "many.tsv", "binary", "align --model rnn-bpe.model --input changing --evaluate-maps" },
    { "changing", "many.tsv", "lines.txt", "convert --model rnn-bpe.model --shortlist changing --output out --quiet" },
    { "changing", "many", "binary", "evaluate --hypothesis changing --reference many --bootstrap 100" },
    { "changing", "many", "lines.txt",
      "evaluate --hypothesis many --reference changing --source changing --by-length auto" },
    { "changing", "settings", "binary",
      "train --train pairs.tsv --valid none --model out --config changing --threads 1" },
    { "changing", "links", "binary", "align --model rnn-bpe.model --input pairs.tsv --gold changing" },
    { "changing", "aligner", "rnn-bpe.model", "align --aligner changing --input many.tsv --dictionary out" },
    { "changing", "rnn-bpe.model", "transformer-learned.model",
      "align --model transformer-learned.model --reverse-model changing --input pairs.tsv --symmetrize union" },
    { "changing", "rnn-bpe.model", "rnn-bpe.model", "align --reverse-model changing --input many.tsv --threads 2" },
    { "changing", "guide", "binary",
      "train --train pairs.tsv --valid none --model out --tokens word --hidden 8 --embedding 8 --updates 5 "
      "--guided-alignment changing --threads 1" },
    { "changing", "many.tsv", "binary",
      "train --train changing --valid none --model out --tokens word --hidden 8 --embedding 8 --updates 5 "
      "--guided-alignment auto --threads 1" },
    { "changing", "many.tsv", "binary", "align --input changing --save out --threads 2" },
    { "changing", "many.tsv", "binary",
      "compare --train pairs.tsv --valid valid.tsv --test changing --vary hidden=4,8 --embedding 8 --tokens word "
      "--updates 2 --output out" },
};
enum { ALL = sizeof all / sizeof *all };

/* ---- the process that changes the file ---- */

static void overwrite(const char *path, const char *bytes, size_t size, off_t at)
{
    const int f = open(path, O_WRONLY | O_CREAT, 0644);
    if (f < 0) return;
    if (pwrite(f, bytes, size, at) < 0) usleep(1);
    close(f);
}

static _Noreturn void change_again_and_again(campaign *c, const struct changing *x)
{
    size_t sizes[2];
    char *contents[2] = { file_read(x->one, &sizes[0]), file_read(x->other, &sizes[1]) };
    if (!contents[0] || !contents[1] || sizes[0] == 0) _exit(1);
    for (;;) {
        const uint32_t which = campaign_random(c, 2);
        const size_t at = campaign_random(c, (uint32_t)sizes[0]);
        char random[64];
        for (size_t i = 0; i < sizeof random; i++) random[i] = (char)campaign_random(c, 256);
        switch (campaign_random(c, 8)) {
        case 0:
            if (truncate(x->file, (off_t)at) != 0) usleep(1);
            break;
        case 1:
            overwrite(x->file, random, sizeof random, (off_t)at);
            break;
        case 2: /* a complete file */
            overwrite("next", contents[which], sizes[which], 0);
            if (rename("next", x->file) != 0) usleep(1);
            break;
        case 3:
            if (campaign_random(c, 4) == 0) unlink(x->file);
            break;
        case 4:
            overwrite(x->file, random, sizeof random, (off_t)sizes[0]);
            break;
        default: /* the first content most of the time, so that reading often succeeds */
            overwrite(x->file, contents[0], sizes[0], 0);
            if (truncate(x->file, (off_t)sizes[0]) != 0) usleep(1);
        }
        usleep(campaign_random(c, 3000));
    }
}

/* ---- the files ---- */

static void make_files(void)
{
    static const char settings[] = "tokens word\nhidden 8\nembedding 8\nupdates 3\n# a comment\nseed 5\n";
    static const char links[] = "0-0 1-1\n0-0\n1-0\n0-1 1-0\n";
    size_t size;
    char *pairs = file_read("pairs.tsv", &size), *model = file_read("rnn-bpe.model", &size);
    FILE *lines = fopen("many", "w"), *tsv = fopen("many.tsv", "w");
    for (int i = 0; pairs && lines && tsv && i < 200; i++) fprintf(lines, "a b c\nc b %d\n", i), fputs(pairs, tsv);
    if (!lines || !tsv || fclose(lines) != 0 || fclose(tsv) != 0 || !model) exit(2);
    file_write("binary", model + size / 2, size / 2);
    file_write("settings", settings, sizeof settings - 1);
    file_write("links", links, sizeof links - 1);
    FILE *guide = fopen("guide", "w"); /* as many lines as there are pairs */
    for (const char *at = pairs; guide && (at = strchr(at, '\n')); at++) fputs("0-0\n", guide);
    if (!guide || fclose(guide) != 0) exit(2);
    file_make_aligner("aligner");
    free(pairs), free(model);
}

int main(int argc, char **argv)
{
    static campaign c;
    static run r;
    static char words[1024];
    campaign_begin(&c, argc, argv);
    make_files();
    campaign_clean(&c); /* keeps what is there */
    for (long i = c.only >= 0 ? c.only : 0; i < 100000; i++) {
        if (!campaign_case(&c, i)) break;
        const long row = campaign_row(&c, i, ALL, ALL);
        const struct changing *x = &all[row];
        campaign_cover(&c, "command lines", row, ALL);
        file_copy(x->one, x->file);
        if (strcmp(x->file, "out.checkpoint") == 0) file_copy("stopped.model", "out");
        memset(&r, 0, sizeof r);
        snprintf(words, sizeof words, "%s", x->words);
        run_add_words(&r, words);
        r.limit = 120;
        fflush(stdout);
        const pid_t child = fork();
        if (child == 0) change_again_and_again(&c, x);
        campaign_run(&c, &r);
        if (child > 0) kill(child, SIGKILL), waitpid(child, NULL, 0);
        campaign_clean(&c);
        campaign_case_end(&c);
        if (c.only >= 0) break;
    }
    return campaign_end(&c);
}
