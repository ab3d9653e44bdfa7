/* damaged_models.c: damaged_models MODEL DIRECTORY writes copies of a model whose vocabularies or tokenizers are damaged,
 * with correct checksums, and prints their names. The model must have BPE tokenizers on both sides. */
#include <attend/model.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An attachment, of which [at, at + cut) is replaced by `text` (size). */
typedef struct damage {
    const char *name, *attachment;
    const char *text;
    size_t size, cut;
    long at; /* from the beginning; negative: from the end */
} damage;

static const damage all[] = {
    { "duplicate", "source.vocabulary", "<s>\n", 4, 6, 0 }, /* "<unk>" becomes a second "<s>" */
    { "not-utf8", "target.vocabulary", "\xff", 1, 1, -2 },
    { "nul", "source.vocabulary", "\0", 1, 1, -2 },
    { "empty-token", "source.vocabulary", "\n", 1, 1, -2 },
    { "too-many-tokens", "target.vocabulary", "x\n", 2, 0, -1 },
    { "bad-magic", "source.tokenizer", "other", 5, 6, 0 },
    { "newer-version", "target.tokenizer", "9", 1, 1, 17 },
    { "unknown-kind", "source.tokenizer", "xyz", 3, 3, 24 },
    { "no-merges", "target.tokenizer", "", 0, 1000000, 28 },
    { "bad-merge", "target.tokenizer", "? ?\n", 4, 2, -2 },
    { "no-end", "source.tokenizer", "", 0, 1, -1 },
    { "empty-tokenizer", "source.tokenizer", "", 0, 1000000, 0 },
    { "short-shortlist", "shortlist", "\1\0\0\0", 4, 0, 0 },
};

static int write_damaged(const char *model, const char *directory, const damage *d)
{
    attend_model *m = NULL;
    size_t size = 0;
    char path[4096];
    int status = attend_model_load(&m, model, NULL);
    if (status != ATTEND_OK) return status;
    const char *old = attend_model_attached(m, d->attachment, &size);
    char *text = malloc(size + d->size + 1);
    if (!text) return ATTEND_NO_MEMORY;
    const size_t at = d->at < 0 ? size - (size_t)-d->at : (size_t)d->at;
    const size_t after = old && size - at > d->cut ? size - at - d->cut : 0;
    if (at) memcpy(text, old, at);
    memcpy(text + at, d->text, d->size);
    if (after) memcpy(text + at + d->size, old + size - after, after);
    status = attend_model_attach(m, d->attachment, text, at + d->size + after);
    snprintf(path, sizeof path, "%s/%s", directory, d->name);
    if (status == ATTEND_OK) status = attend_model_save(m, path);
    attend_model_free(m);
    free(text);
    if (status == ATTEND_OK) puts(d->name);
    return status;
}

int main(int argc, char **argv)
{
    if (argc != 3) return 2;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (write_damaged(argv[1], argv[2], &all[i]) != ATTEND_OK) {
            fprintf(stderr, "%s: %s\n", all[i].name, attend_message());
            return 1;
        }
    return 0;
}
