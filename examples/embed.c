/* embed.c: a trained model inside another program. Translates each argument and prints the translation and its word alignment.
 * cc embed.c $(pkg-config --cflags --libs attend) -o embed && ./embed MODEL "the cat sleeps ." "a second line"
 * MODEL is a file that attend train wrote; its tokenizers are inside. docs/tutorials/embed.md explains each step. */
#include <attend/attend.h>
#include <stdio.h>
#include <string.h>

/* Prints the best translation of a line, and its links as source-target pairs of word positions. */
static void print_result(const attend_line_result *result)
{
    enum { MAX_LINKS = 1000 };
    attend_word_link links[MAX_LINKS];
    const attend_hypothesis *best = &result->hypotheses[0];
    if (result->fault) fprintf(stderr, "embed: a line could not be translated: %s\n", result->fault);
    printf("%s\n", best->text); /* an empty line if it could not be translated */
    const int count = attend_hypothesis_links(result, best, links, MAX_LINKS);
    for (int i = 0; i < count && i < MAX_LINKS; i++) printf("%s%d-%d", i ? " " : "   ", links[i].source, links[i].target);
    if (count > 0) printf("\n");
}

int main(int argc, char **argv)
{
    attend_model *model = NULL;
    attend_translator *translator = NULL;
    attend_translator_options options = ATTEND_TRANSLATOR_OPTIONS_INIT; /* beam of 5, one thread */
    const char *const *lines = (const char *const *)argv + 2;
    const int count = argc - 2;
    size_t sizes[100];
    if (count < 1 || count > 100) return fprintf(stderr, "usage: embed MODEL LINE... (at most 100 lines)\n"), 2;
    for (int i = 0; i < count; i++) sizes[i] = strlen(lines[i]);

    int status = attend_model_load(&model, argv[1], NULL);
    if (status == ATTEND_OK) /* links come from the weights of cross-attention, if the model has any */
        options.search.weights = attend_config_attention_layers(attend_model_config(model), ATTEND_ATTENTION_CROSS) > 0;
    if (status == ATTEND_OK) status = attend_translator_new(&translator, model, &options);
    if (status == ATTEND_OK) status = attend_translator_run(translator, count, lines, sizes);
    for (int i = 0; status == ATTEND_OK && i < count; i++) print_result(attend_translator_result(translator, i));
    if (status != ATTEND_OK) fprintf(stderr, "embed: %s\n", attend_message());
    attend_translator_free(translator);
    attend_model_free(model);
    return status;
}
