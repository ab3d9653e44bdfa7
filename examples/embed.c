/* embed.c: a model inside another program: loads a model file, decodes one source word by word, and says where it looked.
 * cc embed.c $(pkg-config --cflags --libs attend) && ./a.out MODEL 5 9 7 2      (words by number; 2 ends a sentence) */
#include <attend/attend.h>
#include <stdio.h>
#include <stdlib.h>

static int largest(const attend_real *x, int n)
{
    int best = 0;
    for (int i = 1; i < n; i++)
        if (x[i] > x[best]) best = i;
    return best;
}

int main(int argc, char **argv)
{
    enum { MOST = 100 };
    attend_model *model = NULL;
    attend_ctx *context = NULL;
    attend_decoding *decoding = NULL;
    int source[MOST], length = 0, one = 1, parent = 0, word = ATTEND_BEGIN;
    for (; length < MOST && length + 2 < argc; length++) source[length] = atoi(argv[length + 2]);
    if (length == 0) return fprintf(stderr, "usage: embed MODEL WORD..\n"), 2;

    int status = attend_model_load(&model, argv[1], NULL);
    if (status == ATTEND_OK) status = attend_ctx_new(&context);
    if (status == ATTEND_OK) status = attend_decoding_new(&decoding, context, model, 1, source, &length);
    for (int i = 0; status == ATTEND_OK && i < 2 * length + 10; i++) {
        status = attend_decoding_step(decoding, &one, &parent, &word);
        if (status != ATTEND_OK) break;
        word = largest(attend_decoding_log_probabilities(decoding), attend_model_config(model)->target_vocab);
        if (word == ATTEND_END) break;
        const attend_real *weights = attend_decoding_weights(decoding, 0, 0, 0); /* NULL: no attention */
        printf("%d%s", word, weights ? " from " : "\n");
        if (weights) printf("%d\n", source[largest(weights, length)]);
    }
    if (status != ATTEND_OK) fprintf(stderr, "embed: %s\n", attend_message());
    attend_decoding_free(decoding);
    attend_ctx_free(context);
    attend_model_free(model);
    return status;
}
