/* bpe_tool FILE VOCAB-SIZE MIN-COUNT classes|spaces: learns from the lines of a file; prints what was learned and how the lines are encoded, for
 * tools/check_bpe.py. */
#include "text/tokenizer.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char line[1 << 16];

static int next(void *user, const char **text, size_t *size)
{
    if (!fgets(line, sizeof line, user)) return 0;
    *text = line;
    *size = strcspn(line, "\n");
    return 1;
}

int main(int argc, char **argv)
{
    FILE *f = argc == 5 ? fopen(argv[1], "rb") : NULL;
    if (!f) return 2;
    const attend_tokenizer_options options = { .vocab_size = atoi(argv[2]),
                                               .min_count = atoi(argv[3]),
                                               .kind = ATTEND_TOKENS_BPE,
                                               .split_classes = strcmp(argv[4], "classes") == 0 };
    attend_tokenizer *t = NULL;
    attend_ids ids = { 0 };
    const char *text;
    size_t size;
    if (attend_tokenizer_learn(&t, &options, next, f) != ATTEND_OK) {
        fprintf(stderr, "%s\n", attend_message());
        return 1;
    }
    for (int i = ATTEND_FIRST_LEARNED; i < t->first_merge; i++) printf("%s\n", attend_tokenizer_token(t, i));
    printf("\n");
    for (int i = 0; i < t->merge_count; i++)
        printf("%s %s\n", attend_tokenizer_token(t, t->merges[i].left), attend_tokenizer_token(t, t->merges[i].right));
    printf("\n");
    rewind(f);
    while (next(f, &text, &size) && attend_tokenizer_encode(t, text, size, &ids, 0, 0, 0) == ATTEND_OK) {
        for (int i = 0; i < ids.count; i++) printf("%d ", ids.ids[i]);
        printf("\n");
        ids.count = 0;
    }
    fclose(f);
    attend_ids_free(&ids);
    attend_tokenizer_free(t);
    return 0;
}
