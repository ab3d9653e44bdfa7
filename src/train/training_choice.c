/* training_choice.c: options of training that suit the amount of data. */
#include <attend/training_choice.h>

#include "core/status.h"
#include <stdio.h>
#include <string.h>

typedef struct chooser {
    const attend_training_request *r;
    bool is_cosine; /* a cosine schedule was chosen */
} chooser;

/* Whether checkpoints hold the value of an option that is chosen. */
static bool is_recorded(const char *name)
{
    return strcmp(name, "vocab-size") != 0 && strcmp(name, "patience") != 0 && strcmp(name, "epochs") != 0;
}

/* Sets an option that was not given. Training that resumes keeps the value that its checkpoint was made with, so that it
 * does not depend on the choices of this version; if the checkpoint is older than the option, that is the default. */
static int choose_text(chooser *c, const char *name, const char *text)
{
    const attend_training_request *r = c->r;
    char kept[64];
    if (r->given(r->user, name) || (r->has_config && attend_config_field_find(name) >= 0)) return ATTEND_OK;
    if (r->checkpoint && is_recorded(name) &&
        attend_checkpoint_option(r->checkpoint, name, kept, sizeof kept) == ATTEND_OK) {
        if (!*kept) return ATTEND_OK;
        text = kept;
    }
    if (strcmp(name, "schedule") == 0) c->is_cosine = strcmp(text, attend_schedule_names[ATTEND_SCHEDULE_COSINE]) == 0;
    return r->choose(r->user, name, text);
}

static int choose(chooser *c, const char *name, const char *format, double value)
{
    char text[32];
    snprintf(text, sizeof text, format, value);
    return choose_text(c, name, text);
}

/* Sizes of the model and the rates that go with them; those that are 0 keep their defaults. */
static int choose_model(chooser *c, const attend_training_sizes *z)
{
    const bool hidden_given = c->r->given(c->r->user, "hidden");
    int status = choose(c, "hidden", "%.0f", z->hidden);
    if (status == ATTEND_OK && z->embedding) status = choose(c, "embedding", "%.0f", z->embedding);
    if (status == ATTEND_OK && z->layers) status = choose(c, "layers", "%.0f", z->layers);
    if (status == ATTEND_OK && z->heads) status = choose(c, "heads", "%.0f", z->heads);
    if (status == ATTEND_OK && z->feed_forward_width && !hidden_given) /* else 4 times the given width */
        status = choose(c, "feed-forward-width", "%.0f", z->feed_forward_width);
    if (status == ATTEND_OK) status = choose(c, "dropout", "%g", z->dropout);
    if (status == ATTEND_OK && z->learning_rate > 0 && z->cosine_epochs == 0)
        status = choose(c, "learning-rate", "%g", z->learning_rate);
    if (status == ATTEND_OK && z->warmup) status = choose(c, "warmup", "%.0f", (double)z->warmup);
    return status;
}

/* The schedule, the moving average, and the end of training. A cosine schedule that is chosen here ends by itself; it
 * comes with a rate, except for fine-tuning, which would forget what the model knows. */
static int choose_schedule(chooser *c, const attend_training_sizes *z)
{
    const attend_training_request *r = c->r;
    int status =
        z->cosine_epochs > 0 ? choose_text(c, "schedule", attend_schedule_names[ATTEND_SCHEDULE_COSINE]) : ATTEND_OK;
    if (status == ATTEND_OK && z->average > 0) status = choose(c, "average", "%g", z->average);
    if (status == ATTEND_OK && z->crop > 0 && r->bpe_dropout == 0 && !r->has_guided_alignment)
        status = choose(c, "crop", "%g", z->crop);
    const bool ends = z->cosine_epochs > 0 && c->is_cosine;
    if (status == ATTEND_OK && ends && z->learning_rate > 0 && !r->has_config)
        status = choose(c, "learning-rate", "%g", z->learning_rate);
    if (status == ATTEND_OK && ends) status = choose(c, "patience", "%.0f", 0);
    if (status == ATTEND_OK && r->updates == 0 && (ends || !r->has_validation)) /* nothing else ends the training */
        status = choose(c, "epochs", "%.0f", (double)(ends ? z->cosine_epochs : z->epochs));
    return status;
}

static int choose_sizes(chooser *c, const attend_training_sizes *z)
{
    const bool has_bpe = z->tokens[0] == ATTEND_TOKENS_BPE || z->tokens[1] == ATTEND_TOKENS_BPE;
    int status = has_bpe && !c->r->has_vocabularies ? choose(c, "vocab-size", "%.0f", z->vocab_size) : ATTEND_OK;
    if (status == ATTEND_OK) status = choose_model(c, z);
    if (status == ATTEND_OK && z->label_smoothing != c->r->label_smoothing)
        status = choose(c, "label-smoothing", "%g", z->label_smoothing);
    if (status == ATTEND_OK) status = choose(c, "batch-tokens", "%.0f", z->batch_tokens);
    if (status == ATTEND_OK && c->r->window == ATTEND_WINDOW_LOCAL_P) status = choose_text(c, "diagonal-start", "yes");
    return status == ATTEND_OK ? choose_schedule(c, z) : status;
}

/* A language model has one tokenization. It is part of its vocabulary, not an option of a checkpoint. */
static int choose_line_tokens(const attend_training_request *r, const attend_training_sizes *z)
{
    return r->tokens[1] >= 0 ? ATTEND_OK : r->choose(r->user, "tokens", attend_token_kind_names[z->tokens[0]]);
}

static int choose_pair_tokens(chooser *c, const attend_training_sizes *z)
{
    int status = ATTEND_OK;
    for (int side = 0; status == ATTEND_OK && side < 2; side++)
        if (c->r->tokens[side] < 0)
            status = choose_text(c, side ? "target-tokens" : "source-tokens", attend_token_kind_names[z->tokens[side]]);
    return status;
}

static attend_training_sizes sizes_of(const attend_training_request *r, const attend_data_size *data)
{
    const bool lines = r->task == ATTEND_TASK_LANGUAGE_MODEL;
    const int kinds[2] = { r->tokens[lines], r->tokens[1] };
    const attend_training_sizes z = attend_training_sizes_for(r->preset, r->architecture, data, kinds);
    if (lines || !r->shared_vocab || z.tokens[0] == z.tokens[1]) return z;
    const int one = r->tokens[0] >= 0 ? r->tokens[0] : ATTEND_TOKENS_BPE; /* a shared vocabulary has one tokenization */
    return attend_training_sizes_for(r->preset, r->architecture, data, (const int[2]){ one, one });
}

attend_data_size attend_data_size_of(const attend_data_check_counts *n)
{
    if (!n) return (attend_data_size){ 0 };
    return (attend_data_size){ n->usable,
                               { n->words[0], n->words[1] },
                               { n->characters[0], n->characters[1] },
                               { n->syllables[0], n->syllables[1] } };
}

int attend_training_choose(const attend_training_request *request, const attend_data_size *data,
                           attend_training_choice *out)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, request != NULL && data != NULL && out != NULL);
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, request->given != NULL && request->choose != NULL);
    for (int side = 0; side < 2; side++)
        ATTEND_REQUIRE(ATTEND_BAD_USAGE, request->tokens[side] >= -1 && request->tokens[side] <= ATTEND_TOKENS_JAMO);
    const bool lines = request->task == ATTEND_TASK_LANGUAGE_MODEL;
    const attend_training_sizes z = sizes_of(request, data);
    chooser c = { .r = request };
    *out = (attend_training_choice){ { z.tokens[0], z.tokens[1] }, z.is_word_level, z.data_tokens, "" };
    const unsigned long long pairs = data->pairs, characters[2] = { data->characters[0], data->characters[1] };
    if (lines)
        snprintf(out->basis, sizeof out->basis, "%llu lines, %llu characters", pairs, characters[1]);
    else
        snprintf(out->basis, sizeof out->basis, "%llu pairs, %llu and %llu characters", pairs, characters[0],
                 characters[1]);
    const int status = lines ? choose_line_tokens(request, &z) : choose_pair_tokens(&c, &z);
    return status == ATTEND_OK ? choose_sizes(&c, &z) : status;
}
