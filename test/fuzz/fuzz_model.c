/* Any bytes as a model file: refused with a message, or a model that runs. The checksum is skipped, since it would
 * reject nearly every input before the rest of the loader. */
#include "fuzz/fuzz.h"
#include "support/tiny_pairs.h"
#include <stdlib.h>
#include <unistd.h>

static void must(int holds)
{
    if (!holds) abort();
}

/* Scores a short pair, unless the model is huge, which any file can declare. */
static void run(const attend_model *m)
{
    const int word = 3, one = 1;
    const attend_pairs pair = {
        .count = 1, .source = &word, .source_lengths = &one, .target = &word, .target_lengths = &one
    };
    attend_ctx *c = NULL;
    double p;
    if (attend_params_size(attend_model_params(m)) > 1 << 20) return;
    must(attend_ctx_new(&c) == ATTEND_OK);
    must(attend_model_score(c, m, &pair, &p, NULL, ATTEND_ATTENTION_CROSS, NULL) == ATTEND_OK);
    attend_ctx_free(c);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    const attend_load_options options = { .skip_checksum = true };
    attend_model *m = NULL;
    const int status = attend_model_load_bytes(&m, bytes, size, "fuzz", &options);
    must((status == ATTEND_OK) == (m != NULL));
    if (m)
        run(m);
    else
        must(status == ATTEND_BAD_MODEL && strncmp(attend_message(), "fuzz", 4) == 0);
    attend_model_free(m);
    return 0;
}

static void seed_model(void (*seed)(const void *bytes, size_t size), const char *words)
{
    static char bytes[1 << 16];
    char path[] = "/tmp/attend-seed-XXXXXX";
    int made = mkstemp(path);
    attend_config config;
    attend_model *m = NULL;
    must(made >= 0 && close(made) == 0);
    must(tiny_config(&config, words) == ATTEND_OK && attend_model_new(&m, &config, 1) == ATTEND_OK);
    must(attend_model_attach(m, "source.vocabulary", "a\nb\nc\nd\ne\nf\ng\n", 14) == ATTEND_OK);
    must(attend_model_save(m, path) == ATTEND_OK);
    FILE *f = fopen(path, "rb");
    must(f != NULL);
    const size_t size = fread(bytes, 1, sizeof bytes, f);
    fclose(f);
    unlink(path);
    attend_model_free(m);
    seed(bytes, size);
}

void fuzz_seeds(void (*seed)(const void *bytes, size_t size))
{
    static const char *const models[] = {
        "hidden=2 embedding=2 attention-width=2",
        "hidden=1 embedding=1 cell=lstm attention=none readout=plain",
        "hidden=2 embedding=2 cell=simple attention=dot context=after readout=plain bidirectional=no start=copy",
        ("hidden=2 embedding=2 tie-embeddings=yes shared-vocab=yes target-vocab=7 window=local-p heads=2 "
         "attention-width=2"),
        "architecture=lstmn fusion=deep hidden=2 embedding=2 attention-width=2",
        "architecture=transformer hidden=2 embedding=0 feed-forward-width=2 positions=learned max-positions=3"
    };
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) seed_model(seed, models[i]);
}
