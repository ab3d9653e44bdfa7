/* The model file: a saved model loads to the same bits; other files and damaged ones are refused, and the message says
 * why. */
#include "unit/unit.h"

#include "core/memory.h"
#include "format/tensor_file.h"
#include "support/folder.h"
#include "support/tiny_pairs.h"
#include <attend/attend.h>
#include <math.h>
#include <time.h>

static const char small[] = "hidden=2 embedding=2 attention-width=2 source-vocab=4 target-vocab=4";

static attend_model *model_of(const char *spec)
{
    attend_config config;
    attend_model *m = NULL;
    if (tiny_config(&config, spec) != ATTEND_OK || attend_model_new(&m, &config, 7) != ATTEND_OK)
        fail_msg("%s: %s", spec, attend_message());
    return m;
}

static double score(const attend_model *m)
{
    attend_ctx *c = NULL;
    const attend_pairs pairs = tiny_pairs_of(m);
    double p[TINY_PAIRS], sum = 0;
    assert_int_equal(attend_ctx_new(&c), ATTEND_OK);
    if (attend_model_score(c, m, &pairs, p, NULL, ATTEND_ATTENTION_CROSS, NULL) != ATTEND_OK)
        fail_msg("%s", attend_message());
    for (int i = 0; i < TINY_PAIRS; i++) sum += p[i];
    attend_ctx_free(c);
    return sum;
}

static void saved_and_loaded_is_the_same(void **state)
{
    (void)state;
    static const char *const all[] = { "",
                                       "attention=none readout=plain cell=lstm layers=2",
                                       "attention=dot context=after readout=plain",
                                       "attention=projected heads=2 attention-width=6 cell=simple",
                                       "window=local-p layers=3",
                                       "attention=location-sensitive input-feeding=yes context=after readout=plain",
                                       "tie-embeddings=yes shared-vocab=yes target-vocab=7",
                                       "architecture=transformer hidden=8 embedding=0 heads=2 layers=2",
                                       "architecture=transformer hidden=8 embedding=0 positions=learned norm=post",
                                       "task=language-model cell=lstm layers=2 readout=plain",
                                       "task=language-model tie-embeddings=yes",
                                       "architecture=lstmn layers=2 decoder-layers=1 span=7",
                                       "architecture=lstmn fusion=deep layers=2",
                                       "architecture=lstmn task=language-model",
                                       "dropout=0.123456789012345" };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        attend_model *m = model_of(all[i]), *mapped = NULL, *read = NULL;
        size_t size, again;
        assert_int_equal(attend_model_save(m, in_folder("model")), ATTEND_OK);
        if (attend_model_load(&mapped, in_folder("model"), NULL) != ATTEND_OK)
            fail_msg("%s: %s", all[i], attend_message());
        char *bytes = get_file(in_folder("model"), &size);
        if (attend_model_load_bytes(&read, bytes, size, "bytes", NULL) != ATTEND_OK) fail_msg("%s", attend_message());
        memset(bytes, 0, size);
        free(bytes);
        assert_true(score(m) == score(mapped) && score(m) == score(read));
        bytes = get_file(in_folder("model"), &size);
        assert_int_equal(attend_model_save(read, in_folder("again")), ATTEND_OK);
        char *other = get_file(in_folder("again"), &again);
        assert_true(size == again && memcmp(bytes, other, size) == 0);
        /* a memory-mapped model can be changed and overwrite its own file */
        attend_param *p = attend_params_at(attend_model_params(mapped), 0);
        attend_param_edit(p)[0] += 1;
        attend_param_changed(p);
        assert_int_equal(attend_model_save(mapped, in_folder("model")), ATTEND_OK);
        attend_model_free(read);
        assert_int_equal(attend_model_load(&read, in_folder("model"), NULL), ATTEND_OK);
        assert_true(attend_param_value(attend_params_at(attend_model_params(read), 0))[0] ==
                    attend_param_value(attend_params_at(attend_model_params(m), 0))[0] + 1);
        free(bytes), free(other);
        attend_model_free(m), attend_model_free(mapped), attend_model_free(read);
    }
}

static void attachments_are_saved_and_loaded(void **state)
{
    (void)state;
    attend_model *m = model_of(small), *back = NULL;
    static const char vocabulary[] = "<unk>\n<s>\n</s>\nhouse\n", bytes[] = { 0, 1, 2, 0 };
    size_t size;
    assert_null(attend_model_attached(m, "source.vocabulary", &size));
    assert_int_equal(attend_model_attach(m, "source.vocabulary", "x", 1), ATTEND_OK);
    assert_int_equal(attend_model_attach(m, "other", bytes, sizeof bytes), ATTEND_OK);
    assert_int_equal(attend_model_attach(m, "source.vocabulary", vocabulary, sizeof vocabulary - 1),
                     ATTEND_OK); /* replaces the first */
    assert_int_equal(attend_model_attach(m, "nothing", NULL, 0), ATTEND_OK);
    assert_int_equal(attend_model_attach(m, "", "x", 1), ATTEND_BAD_USAGE);
    assert_int_equal(attend_model_save(m, in_folder("model")), ATTEND_OK);
    if (attend_model_load(&back, in_folder("model"), NULL) != ATTEND_OK) fail_msg("%s", attend_message());
    assert_memory_equal(attend_model_attached(back, "source.vocabulary", &size), vocabulary, sizeof vocabulary - 1);
    assert_int_equal(size, sizeof vocabulary - 1);
    assert_memory_equal(attend_model_attached(back, "other", &size), bytes, sizeof bytes);
    assert_non_null(attend_model_attached(back, "nothing", &size));
    assert_int_equal(size, 0);
    attend_model_free(m), attend_model_free(back);

    static const struct {
        const char *vocabulary, *message;
    } wrong[] = { { "<unk>\n<s>\n</s>\n", "has 3 tokens, but the embedding has 4" },
                  { "<unk>\n<s>\n</s>\na\nb\n", "has 5 tokens" },
                  { "<unk>\n<s>\n</s>\nhouse", "has 3 tokens" },
                  { "<unk>\n\n</s>\nhouse\n", "is empty" } };
    for (size_t i = 0; i < 2 * sizeof wrong / sizeof *wrong; i++) {
        m = model_of(small);
        attend_model_attach(m, i % 2 ? "target.vocabulary" : "source.vocabulary", wrong[i / 2].vocabulary,
                            strlen(wrong[i / 2].vocabulary));
        assert_int_equal(attend_model_save(m, in_folder("model")), ATTEND_OK);
        assert_int_equal(attend_model_load(&back, in_folder("model"), NULL), ATTEND_BAD_MODEL);
        assert_non_null(strstr(attend_message(), wrong[i / 2].message));
        attend_model_free(m);
    }
}

/* ---- files that are not valid models ---- */

/* The contents of a valid file, to be changed. */
typedef struct parts {
    attend_tensor tensors[64];
    attend_metadata metadata[64];
    size_t tensor_count, metadata_count;
} parts;

static attend_metadata *field(parts *p, const char *key)
{
    for (size_t i = 0; i < p->metadata_count; i++)
        if (strcmp(p->metadata[i].key, key) == 0) return &p->metadata[i];
    fail_msg("no %s", key);
    return NULL;
}

static attend_tensor *tensor(parts *p, const char *name)
{
    for (size_t i = 0; i < p->tensor_count; i++)
        if (strcmp(p->tensors[i].name, name) == 0) return &p->tensors[i];
    fail_msg("no %s", name);
    return NULL;
}

static void no_format(parts *p)
{
    *field(p, "format") = p->metadata[--p->metadata_count];
}
static void other_format(parts *p)
{
    field(p, "format")->value = "pt";
}
static void newer(parts *p)
{
    field(p, "format-version")->value = "3";
}
static void version_not_a_number(parts *p)
{
    field(p, "format-version")->value = "one";
}
static void no_version(parts *p)
{
    field(p, "format-version")->key = "other";
}
static void no_field(parts *p)
{
    field(p, "config.cell")->key = "cell";
}
static void new_field(parts *p)
{
    p->metadata[p->metadata_count++] = (attend_metadata){ "config.alpha", "1" };
}
static void wrong_value(parts *p)
{
    field(p, "config.cell")->value = "gruu";
}
static void control_characters(parts *p)
{
    field(p, "config.cell")->value = "\x1b[31mgru\n\xc2\x9bx";
}
static void large_value(parts *p)
{
    field(p, "config.hidden")->value = "100000";
}
static void other_value(parts *p)
{
    field(p, "config.hidden")->value = "3";
}
static void more_layers(parts *p)
{
    field(p, "config.layers")->value = "2";
    field(p, "config.decoder-layers")->value = "2";
}
static void larger_vocabulary(parts *p)
{
    field(p, "config.target-vocab")->value = "10000000";
}
static void contradiction(parts *p)
{
    field(p, "config.input-feeding")->value = "yes";
}
static void unknown_score(parts *p)
{
    field(p, "config.attention")->value = "cosine";
}
static void missing(parts *p)
{
    *tensor(p, "output.w") = p->tensors[--p->tensor_count];
}
static void extra(parts *p)
{
    p->tensors[p->tensor_count] = p->tensors[0], p->tensors[p->tensor_count++].name = "decoder.9.w";
}
static void other_shape(parts *p)
{
    tensor(p, "attention.wq")->shape[0] = 1, tensor(p, "attention.wq")->shape[1] = 4;
}
static void other_rank(parts *p)
{
    tensor(p, "attention.wq")->rank = 1, tensor(p, "attention.wq")->shape[0] = 4;
}
static void other_type(parts *p)
{
    tensor(p, "attention.wq")->dtype = ATTEND_I32;
}

static void not_a_number(parts *p)
{
    static float x[4] = { 1, NAN, 1, 1 };
    tensor(p, "attention.wq")->data = x;
}

static void infinite(parts *p)
{
    static float x[4] = { 1, 1, 1, INFINITY };
    tensor(p, "attention.wq")->data = x;
}

static void text_of_numbers(parts *p)
{
    p->tensors[p->tensor_count] = *tensor(p, "attention.wq");
    p->tensors[p->tensor_count++].name = "text.source.vocabulary";
}

/* Files from before there were Transformers, LSTMNs and language models lack their fields. */
static void files_without_later_fields_load(void **state)
{
    (void)state;
    static const char *const later[] = { "task",      "architecture",     "decoder-layers",     "norm",
                                         "positions", "feed-forward",     "feed-forward-width", "fusion",
                                         "span",      "attention-dropout" };
    attend_model *m = model_of(small), *back = NULL;
    attend_tensor_file *good = NULL;
    attend_metadata kept[64];
    attend_tensor tensors[64];
    size_t count = 0, left_out = 0;
    assert_ok(attend_model_save(m, in_folder("good")));
    assert_ok(attend_tensor_file_open(&good, in_folder("good"), 0));
    for (size_t i = 0; i < attend_tensor_file_count(good); i++) tensors[i] = *attend_tensor_file_at(good, i);
    for (size_t i = 0; i < attend_tensor_file_metadata_count(good); i++) {
        const attend_metadata *entry = attend_tensor_file_metadata_at(good, i);
        bool old = true;
        for (size_t j = 0; j < sizeof later / sizeof *later; j++)
            old = old && (strncmp(entry->key, "config.", 7) != 0 || strcmp(entry->key + 7, later[j]) != 0);
        if (old)
            kept[count++] = *entry;
        else
            left_out++;
    }
    assert_int_equal(left_out, sizeof later / sizeof *later);
    assert_ok(attend_tensor_file_write(in_folder("old"), tensors, attend_tensor_file_count(good), kept, count));
    if (attend_model_load(&back, in_folder("old"), NULL) != ATTEND_OK) fail_msg("%s", attend_message());
    assert_int_equal(attend_model_config(back)->architecture, ATTEND_ARCHITECTURE_RNN);
    attend_tensor_file_close(good);
    attend_model_free(back);
    attend_model_free(m);
}

static void invalid_files_are_refused(void **state)
{
    (void)state;
    static const struct {
        void (*change)(parts *p);
        const char *message;
    } cases[] = { { no_format, "not an attend model" },
                  { other_format, "of format 'pt'" },
                  { newer, "made by a newer version (attend " },
                  { version_not_a_number, "format-version 'one'" },
                  { no_version, "format-version" },
                  { no_field, "no \"config.cell\"; the file was made by attend 0." },
                  { new_field, "config.alpha\"; the file was made by attend 0." },
                  { wrong_value, "did you mean 'gru'?" },
                  { control_characters, "cell '\\u{1b}[31mgru\\n\\u{9b}x' is not" },
                  { large_value, "hidden '100000'" },
                  { other_value, "the configuration requires F32 (9, 2)" },
                  { more_layers, "requires the tensor 'encoder.1.forward.w'" },
                  { larger_vocabulary, "(10000000, 2)" },
                  { contradiction, "input-feeding" },
                  { unknown_score, "needs the score function 'cosine', which is not built in" },
                  { missing, "requires the tensor 'output.w', which the file does not have" },
                  { extra, "'decoder.9.w' does not belong to the model" },
                  { other_shape, "'attention.wq' is F32 (1, 4), but the configuration requires F32 (2, 2)" },
                  { other_rank, "is F32 (4)" },
                  { other_type, "is I32" },
                  { not_a_number, "non-finite values" },
                  { infinite, "non-finite values" },
                  { text_of_numbers, "not a vector of bytes" } };
    attend_model *m = model_of(small), *back = NULL;
    attend_tensor_file *good = NULL;
    assert_int_equal(attend_model_save(m, in_folder("good")), ATTEND_OK);
    assert_int_equal(attend_tensor_file_open(&good, in_folder("good"), 0), ATTEND_OK);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        parts p = { .tensor_count = attend_tensor_file_count(good),
                    .metadata_count = attend_tensor_file_metadata_count(good) };
        for (size_t j = 0; j < p.tensor_count; j++) p.tensors[j] = *attend_tensor_file_at(good, j);
        for (size_t j = 0; j < p.metadata_count; j++) p.metadata[j] = *attend_tensor_file_metadata_at(good, j);
        cases[i].change(&p);
        if (attend_tensor_file_write(in_folder("bad"), p.tensors, p.tensor_count, p.metadata, p.metadata_count) !=
            ATTEND_OK)
            fail_msg("case %zu: %s", i, attend_message());
        const int status = attend_model_load(&back, in_folder("bad"), NULL);
        if (status != ATTEND_BAD_MODEL || back || !strstr(attend_message(), cases[i].message))
            fail_msg("case %zu (%s): status %d, '%s'", i, cases[i].message, status, attend_message());
        if (!strstr(attend_message(), "/bad")) fail_msg("case %zu does not name the file: %s", i, attend_message());
    }
    attend_tensor_file_close(good);
    attend_model_free(m);
    assert_int_equal(attend_model_load(&back, in_folder("no such file"), NULL), ATTEND_IO);
    put_file(in_folder("bad"), "PK\3\4........", 12);
    assert_int_equal(attend_model_load(&back, in_folder("bad"), NULL), ATTEND_BAD_MODEL);
    assert_non_null(strstr(attend_message(), "zip archive"));
}

static void a_checkpoint_is_a_model(void **state)
{
    (void)state;
    attend_model *m = model_of(small), *back = NULL;
    attend_tensor_file *good = NULL;
    assert_int_equal(attend_model_save(m, in_folder("good")), ATTEND_OK);
    assert_int_equal(attend_tensor_file_open(&good, in_folder("good"), 0), ATTEND_OK);
    parts p = { .tensor_count = attend_tensor_file_count(good),
                .metadata_count = attend_tensor_file_metadata_count(good) };
    for (size_t j = 0; j < p.tensor_count; j++) p.tensors[j] = *attend_tensor_file_at(good, j);
    for (size_t j = 0; j < p.metadata_count; j++) p.metadata[j] = *attend_tensor_file_metadata_at(good, j);
    p.tensors[p.tensor_count] = p.tensors[0];
    p.tensors[p.tensor_count++].name = "training.moment.output.w";
    assert_int_equal(attend_tensor_file_write(in_folder("checkpoint"), p.tensors, p.tensor_count, p.metadata,
                                              p.metadata_count),
                     ATTEND_OK);
    if (attend_model_load(&back, in_folder("checkpoint"), NULL) != ATTEND_OK) fail_msg("%s", attend_message());
    attend_tensor_file_close(good);
    attend_model_free(m), attend_model_free(back);
}

static void a_custom_score_is_found(void **state)
{
    (void)state;
    attend_score mine = attend_score_bilinear;
    mine.name = "mine";
    const attend_score *const list[] = { &mine, NULL };
    const attend_load_options options = { .scores = list };
    attend_config config;
    attend_model *m = NULL, *back = NULL;
    assert_int_equal(tiny_config(&config, ""), ATTEND_OK);
    config.attention = &mine;
    assert_int_equal(attend_model_new(&m, &config, 1), ATTEND_OK);
    assert_int_equal(attend_model_save(m, in_folder("mine")), ATTEND_OK);
    assert_int_equal(attend_model_load(&back, in_folder("mine"), NULL), ATTEND_BAD_MODEL);
    assert_non_null(strstr(attend_message(), "'mine'"));
    assert_int_equal(attend_model_load(&back, in_folder("mine"), &options), ATTEND_OK);
    assert_true(score(m) == score(back));
    attend_model_free(m), attend_model_free(back);
}

/* A file with as many attachments as possible loads in linear time. */
static void many_attachments_load_fast(void **state)
{
    (void)state;
    enum { MANY = ATTEND_TENSOR_COUNT - 64 };
    attend_model *m = model_of(small), *back = NULL;
    attend_tensor_file *good = NULL;
    assert_int_equal(attend_model_save(m, in_folder("good")), ATTEND_OK);
    assert_int_equal(attend_tensor_file_open(&good, in_folder("good"), 0), ATTEND_OK);
    const size_t parameters = attend_tensor_file_count(good), pairs = attend_tensor_file_metadata_count(good);
    attend_tensor *tensors = calloc(parameters + MANY, sizeof *tensors);
    attend_metadata *metadata = calloc(pairs, sizeof *metadata);
    char(*names)[16] = calloc(MANY, sizeof *names);
    assert_true(tensors && metadata && names);
    for (size_t i = 0; i < parameters; i++) tensors[i] = *attend_tensor_file_at(good, i);
    for (size_t i = 0; i < pairs; i++) metadata[i] = *attend_tensor_file_metadata_at(good, i);
    for (int i = 0; i < MANY; i++) {
        snprintf(names[i], sizeof names[i], "text.%d", i);
        tensors[parameters + (size_t)i] = (attend_tensor){
            .name = names[i], .dtype = ATTEND_U8, .rank = 1, .shape = { 1 }, .bytes = 1, .data = names[i] + 5
        };
    }
    if (attend_tensor_file_write(in_folder("many"), tensors, parameters + MANY, metadata, pairs) != ATTEND_OK)
        fail_msg("%s", attend_message());
    const clock_t begin = clock();
    assert_int_equal(attend_model_load(&back, in_folder("many"), NULL), ATTEND_OK);
    assert_true(clock() - begin < 8 * CLOCKS_PER_SEC);
    size_t size;
    assert_memory_equal(attend_model_attached(back, "77", &size), "7", 1);
    assert_int_equal(attend_model_attach(back, "77", "other", 5), ATTEND_OK);
    assert_memory_equal(attend_model_attached(back, "77", &size), "other", 5);
    free(tensors), free(metadata), free(names);
    attend_tensor_file_close(good);
    attend_model_free(m), attend_model_free(back);
}

static void a_model_that_diverged_is_not_saved(void **state)
{
    (void)state;
    attend_model *m = model_of(small), *back = NULL;
    assert_int_equal(attend_model_save(m, in_folder("model")), ATTEND_OK);
    attend_param_edit(attend_params_at(attend_model_params(m), 3))[1] = NAN;
    assert_int_equal(attend_model_save(m, in_folder("model")), ATTEND_FAILED);
    assert_non_null(strstr(attend_message(), "non-finite values"));
    assert_int_equal(attend_model_load(&back, in_folder("model"), NULL), ATTEND_OK); /* the previous file */
    attend_model_free(m), attend_model_free(back);
}

/* ---- damage ---- */

/* Scores one pair with a model of at least four tokens. */
static void run(const attend_model *m)
{
    attend_ctx *c = NULL;
    const int token = 3, one = 1;
    const attend_pairs pair = {
        .count = 1, .source = &token, .source_lengths = &one, .target = &token, .target_lengths = &one
    };
    double p;
    assert_int_equal(attend_ctx_new(&c), ATTEND_OK);
    assert_ok(attend_model_score(c, m, &pair, &p, NULL, ATTEND_ATTENTION_CROSS, NULL));
    attend_ctx_free(c);
}

static void damage_is_refused_or_harmless(void **state)
{
    (void)state;
    attend_model *m = model_of(small), *back = NULL;
    size_t size;
    attend_model_attach(m, "source.vocabulary", "a\nb\nc\nd\n", 8);
    assert_int_equal(attend_model_save(m, in_folder("model")), ATTEND_OK);
    char *bytes = get_file(in_folder("model"), &size);
    const attend_load_options skip = { .skip_checksum = true };
    for (size_t n = 0; n < size; n++) {
        assert_int_equal(attend_model_load_bytes(&back, bytes, n, "cut", NULL), ATTEND_BAD_MODEL);
        assert_int_equal(attend_model_load_bytes(&back, bytes, n, "cut", &skip), ATTEND_BAD_MODEL);
    }
    int harmless = 0;
    for (size_t bit = 0; bit < 8 * size; bit++) {
        bytes[bit / 8] = (char)(bytes[bit / 8] ^ 1 << bit % 8);
        if (attend_model_load_bytes(&back, bytes, size, "flipped", NULL) != ATTEND_BAD_MODEL)
            fail_msg("bit %zu: not refused", bit);
        if (attend_model_load_bytes(&back, bytes, size, "flipped", &skip) == ATTEND_OK) {
            harmless++;
            run(back);
            attend_model_free(back);
        }
        bytes[bit / 8] = (char)(bytes[bit / 8] ^ 1 << bit % 8);
    }
    assert_true(harmless > 100); /* without the checksum most flips only change weights */
    free(bytes);
    attend_model_free(m);
}

static void refused_memory_is_reported(void **state)
{
    (void)state;
    attend_model *m = model_of(small), *back = NULL;
    attend_model_attach(m, "source.vocabulary", "a\nb\nc\nd\n", 8);
    attend_memory_refuse(-1);
    assert_int_equal(attend_model_save(m, in_folder("model")), ATTEND_OK);
    const long saving = attend_memory_requests();
    attend_memory_refuse(-1);
    assert_int_equal(attend_model_load(&back, in_folder("model"), NULL), ATTEND_OK);
    const long loading = attend_memory_requests();
    attend_model_free(back);
    attend_memory_refuse(-1);
    attend_model *other = model_of(small);
    const long making = attend_memory_requests();
    attend_model_free(other);
    for (long n = 1; n <= saving; n++) {
        attend_memory_refuse(0);
        attend_model *saved = model_of(small); /* a new one: what was copied from the device to save a model is kept */
        attend_model_attach(saved, "source.vocabulary", "a\nb\nc\nd\n", 8);
        attend_memory_refuse(n);
        assert_int_equal(attend_model_save(saved, in_folder("model")), ATTEND_NO_MEMORY);
        attend_model_free(saved);
    }
    for (long n = 1; n <= loading; n++) {
        attend_memory_refuse(n);
        assert_int_equal(attend_model_load(&back, in_folder("model"), NULL), ATTEND_NO_MEMORY);
        assert_null(back);
    }
    attend_config config;
    assert_int_equal(tiny_config(&config, small), ATTEND_OK);
    for (long n = 1; n <= making; n++) {
        attend_memory_refuse(n);
        assert_int_equal(attend_model_new(&other, &config, 1), ATTEND_NO_MEMORY);
    }
    /* and decoding */
    attend_ctx *c = NULL;
    attend_decoding *d = NULL;
    const int token = 3, one = 1, zero = 0, begin = ATTEND_BEGIN;
    attend_memory_refuse(0);
    assert_int_equal(attend_ctx_new(&c), ATTEND_OK);
    for (long n = 1, done = 0; !done; n++) {
        attend_memory_refuse(n);
        int status = attend_decoding_new(&d, c, m, 1, &token, &one);
        if (status == ATTEND_OK) status = attend_decoding_step(d, &one, &zero, &begin);
        if (status == ATTEND_OK) status = attend_decoding_step(d, &one, &zero, &token);
        done = status == ATTEND_OK;
        if (!done) assert_int_equal(status, ATTEND_NO_MEMORY);
        attend_decoding_free(d);
    }
    attend_memory_refuse(0);
    attend_ctx_free(c);
    attend_model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(saved_and_loaded_is_the_same),  cmocka_unit_test(attachments_are_saved_and_loaded),
        cmocka_unit_test(invalid_files_are_refused),     cmocka_unit_test(files_without_later_fields_load),
        cmocka_unit_test(a_checkpoint_is_a_model),       cmocka_unit_test(a_custom_score_is_found),
        cmocka_unit_test(many_attachments_load_fast),    cmocka_unit_test(a_model_that_diverged_is_not_saved),
        cmocka_unit_test(damage_is_refused_or_harmless), cmocka_unit_test(refused_memory_is_reported),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
