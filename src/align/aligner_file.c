/* aligner_file.c: an aligner in a file, in the format of tensor_file.h.
 *
 *     source.bytes, target.bytes    U8 (n)     the words of each vocabulary, one after another
 *     source.sizes, target.sizes    I32 (n)    their sizes in bytes
 *     pairs                         I32 (n, 2) source and target word, from 1; 0 is the NULL word
 *     probabilities                 F32 (n, 2) of the target given the source, of the source given the target
 *     jumps                         F64 (2, HMM_JUMPS)
 *
 * Metadata: format, version, source-unit, target-unit, model. Every field is validated. */
#include "align/aligner.h"

#include "core/memory.h"
#include "core/status.h"
#include "format/tensor_file.h"
#include <attend/utf8.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char format[] = "attend-aligner", version[] = "1";
static const char *const names[2][3] = { { "source.bytes", "source.sizes", "source-unit" },
                                         { "target.bytes", "target.sizes", "target-unit" } };
static const char *const models[2] = { "ibm1", "hmm" };

/* ---- writing ---- */

typedef struct stored_pair {
    int32_t words[2];
    float probabilities[2];
} stored_pair;

static int compare_pairs(const void *a, const void *b)
{
    const int32_t *x = ((const stored_pair *)a)->words, *y = ((const stored_pair *)b)->words;
    return x[0] != y[0] ? (x[0] > y[0]) - (x[0] < y[0]) : (x[1] > y[1]) - (x[1] < y[1]);
}

/* The pairs of words with a probability, sorted: the order of slots depends on the seed of the hashes. */
static stored_pair *sorted_pairs(const attend_lexicon *l, size_t *count)
{
    stored_pair *pairs = attend_memory_zeroed(l->used + 1, sizeof *pairs);
    *count = 0;
    for (size_t i = 0; pairs && i < l->index.slot_count; i++) {
        const struct attend_pair_slot *slot = &l->index.slots[i];
        const double *p = slot->value ? l->entries[slot->value - 1].probability : NULL;
        if (!p || (p[0] == 0 && p[1] == 0)) continue;
        pairs[(*count)++] = (stored_pair){ { slot->left, slot->right }, { (float)p[0], (float)p[1] } };
    }
    if (pairs) qsort(pairs, *count, sizeof *pairs, compare_pairs);
    return pairs;
}

/* The arrays of a file. Each is freed by arrays_free. */
typedef struct arrays {
    unsigned char *bytes[2];
    int32_t *sizes[2], *words;
    float *probabilities;
    size_t byte_counts[2];
} arrays;

static void arrays_free(arrays *a)
{
    for (int side = 0; side < 2; side++) attend_memory_free(a->bytes[side]), attend_memory_free(a->sizes[side]);
    attend_memory_free(a->words);
    attend_memory_free(a->probabilities);
}

static bool fill_vocabulary(arrays *to, int side, const attend_string_table *from)
{
    size_t total = 0;
    for (int i = 0; i < from->count; i++) total += attend_string_table_size(from, i);
    unsigned char *bytes = to->bytes[side] = attend_memory_zeroed(total + 1, 1);
    to->sizes[side] = attend_memory_zeroed((size_t)from->count + 1, sizeof *to->sizes[side]);
    to->byte_counts[side] = total;
    if (!bytes || !to->sizes[side]) return false;
    for (int i = 0; i < from->count; i++) {
        const size_t size = attend_string_table_size(from, i);
        memcpy(bytes, attend_string_table_at(from, i), size);
        to->sizes[side][i] = (int32_t)size;
        bytes += size;
    }
    return true;
}

static bool fill_pairs(arrays *to, const stored_pair *pairs, size_t count)
{
    to->words = attend_memory_zeroed(2 * count + 1, sizeof *to->words);
    to->probabilities = attend_memory_zeroed(2 * count + 1, sizeof *to->probabilities);
    for (size_t i = 0; to->words && to->probabilities && i < 2 * count; i++) {
        to->words[i] = pairs[i / 2].words[i % 2];
        to->probabilities[i] = pairs[i / 2].probabilities[i % 2];
    }
    return to->words && to->probabilities;
}

static attend_tensor tensor_of(const char *name, attend_dtype type, size_t rows, size_t columns, const void *data)
{
    return (attend_tensor){ .name = name,
                            .dtype = type,
                            .rank = columns > 0 ? 2 : 1,
                            .shape = { (int64_t)rows, (int64_t)columns },
                            .bytes = rows * (columns > 0 ? columns : 1) * attend_dtype_size(type),
                            .data = data };
}

int attend_aligner_save(const attend_aligner *a, const char *path)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, a && path);
    if (!a->is_trained) return attend_fail(ATTEND_BAD_USAGE, "the word aligner is not trained yet");
    arrays data = { 0 };
    size_t count = 0;
    stored_pair *pairs = sorted_pairs(&a->model.lexicon, &count);
    bool filled = pairs && fill_pairs(&data, pairs, count);
    attend_memory_free(pairs);
    for (int side = 0; filled && side < 2; side++)
        filled = fill_vocabulary(&data, side, &a->added.sides[side].vocabulary);
    int status = filled ? ATTEND_OK : attend_fail(ATTEND_NO_MEMORY, "no memory to write a word aligner");
    if (filled) {
        attend_tensor tensors[7];
        size_t n = 0;
        for (int side = 0; side < 2; side++) {
            const size_t words = (size_t)a->added.sides[side].vocabulary.count;
            tensors[n++] = tensor_of(names[side][0], ATTEND_U8, data.byte_counts[side], 0, data.bytes[side]);
            tensors[n++] = tensor_of(names[side][1], ATTEND_I32, words, 0, data.sizes[side]);
        }
        tensors[n++] = tensor_of("pairs", ATTEND_I32, count, 2, data.words);
        tensors[n++] = tensor_of("probabilities", ATTEND_F32, count, 2, data.probabilities);
        tensors[n++] = tensor_of("jumps", ATTEND_F64, 2, HMM_JUMPS, a->model.jumps);
        const attend_metadata metadata[] = {
            { "format", format },
            { "version", version },
            { "model", models[a->model.uses_hmm] },
            { names[0][2], attend_unit_name(a->added.sides[0].unit) },
            { names[1][2], attend_unit_name(a->added.sides[1].unit) },
        };
        status = attend_tensor_file_write(path, tensors, n, metadata, sizeof metadata / sizeof *metadata);
    }
    arrays_free(&data);
    return status;
}

/* ---- reading ---- */

static int damaged(const char *path, const char *what)
{
    return attend_fail(ATTEND_BAD_MODEL, "%s: %s of the word aligner is missing or damaged: train the aligner again",
                       path, what);
}

/* The data of a tensor of this type and number of columns (0: a vector); NULL: there is none. */
static const void *find(const attend_tensor_file *file, const char *name, attend_dtype type, int64_t columns,
                        size_t *rows)
{
    const attend_tensor *t = attend_tensor_file_find(file, name);
    if (!t || t->dtype != type || t->rank != (columns > 0 ? 2 : 1) || (columns > 0 && t->shape[1] != columns))
        return NULL;
    *rows = (size_t)t->shape[0];
    return t->data ? t->data : "";
}

static int read_unit(const attend_tensor_file *file, const char *path, const char *key, attend_unit *unit)
{
    const char *value = attend_tensor_file_metadata(file, key);
    for (int u = ATTEND_UNIT_WORD; value && u <= ATTEND_UNIT_CHARACTER; u++)
        if (u != ATTEND_UNIT_PIECE && strcmp(value, attend_unit_name((attend_unit)u)) == 0) {
            *unit = (attend_unit)u;
            return ATTEND_OK;
        }
    return damaged(path, key);
}

/* A word is UTF-8 and does not end the line or the field of a dictionary. */
static bool is_word(const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (text[i] == '\0' || text[i] == '\t' || text[i] == '\n' || text[i] == '\r') return false;
    return attend_utf8_valid(text, size) == size;
}

static int read_vocabulary(const attend_tensor_file *file, const char *path, int side, attend_string_table *to)
{
    size_t bytes, words, at = 0;
    const char *text = find(file, names[side][0], ATTEND_U8, 0, &bytes);
    const int32_t *sizes = find(file, names[side][1], ATTEND_I32, 0, &words);
    if (!text || !sizes) return damaged(path, names[side][text ? 1 : 0]);
    for (size_t i = 0; i < words; i++) {
        int number;
        if (sizes[i] < 1 || (size_t)sizes[i] > bytes - at) return damaged(path, names[side][1]);
        if (!is_word(text + at, (size_t)sizes[i])) return damaged(path, names[side][0]);
        const int status = attend_string_table_add(to, text + at, (size_t)sizes[i], &number);
        if (status != ATTEND_OK) return status;
        if ((size_t)number != i) return damaged(path, names[side][0]); /* a word occurs twice */
        at += (size_t)sizes[i];
    }
    return at == bytes ? ATTEND_OK : damaged(path, names[side][0]);
}

static bool is_probability(float p)
{
    return p >= 0 && p <= 1; /* false for NaN */
}

static int read_pairs(const attend_tensor_file *file, const char *path, attend_aligner *a)
{
    size_t count, rows;
    const int32_t *words = find(file, "pairs", ATTEND_I32, 2, &count);
    const float *probabilities = find(file, "probabilities", ATTEND_F32, 2, &rows);
    if (!words || !probabilities || rows != count || count == 0)
        return damaged(path, words ? "probabilities" : "pairs");
    attend_lexicon *l = &a->model.lexicon;
    for (size_t i = 0; i < count; i++) {
        const int32_t *w = words + 2 * i;
        const float *p = probabilities + 2 * i;
        for (int side = 0; side < 2; side++)
            if (w[side] < 0 || w[side] > a->added.sides[side].vocabulary.count) return damaged(path, "pairs");
        if ((w[0] == 0 && w[1] == 0) || attend_lexicon_find(l, w[0], w[1]) >= 0) return damaged(path, "pairs");
        if (!is_probability(p[0]) || !is_probability(p[1]) || (w[0] == 0 && p[1] > 0) || (w[1] == 0 && p[0] > 0))
            return damaged(path, "probabilities");
        const int status = attend_lexicon_add(l, w[0], w[1]);
        if (status != ATTEND_OK) return status;
        for (int d = 0; d < 2; d++) l->entries[i].probability[d] = (double)p[d];
    }
    return ATTEND_OK;
}

static int read_jumps(const attend_tensor_file *file, const char *path, alignment_model *m)
{
    size_t rows;
    const double *jumps = find(file, "jumps", ATTEND_F64, HMM_JUMPS, &rows);
    const char *kind = attend_tensor_file_metadata(file, "model");
    if (!jumps || rows != 2) return damaged(path, "jumps");
    for (int i = 0; i < 2 * HMM_JUMPS; i++) {
        if (!(jumps[i] >= 1e-12 && jumps[i] <= 1)) return damaged(path, "jumps");
        m->jumps[i / HMM_JUMPS][i % HMM_JUMPS] = jumps[i];
    }
    if (!kind || (strcmp(kind, models[0]) != 0 && strcmp(kind, models[1]) != 0)) return damaged(path, "model");
    m->uses_hmm = strcmp(kind, models[1]) == 0;
    return ATTEND_OK;
}

static int check_format(const attend_tensor_file *file, const char *path)
{
    const char *kind = attend_tensor_file_metadata(file, "format");
    if (kind && strcmp(kind, format) == 0) return ATTEND_OK;
    return attend_fail(ATTEND_BAD_MODEL, "%s is not a word aligner: write one with attend align --save", path);
}

static int read_file(const attend_tensor_file *file, const char *path, attend_aligner *a)
{
    const char *number = attend_tensor_file_metadata(file, "version");
    int status = check_format(file, path);
    if (status != ATTEND_OK) return status;
    if (!number || strcmp(number, version) != 0)
        return attend_fail(ATTEND_BAD_MODEL, "%s is a word aligner of another version of attend: train it again", path);
    for (int side = 0; status == ATTEND_OK && side < 2; side++) {
        aligner_side *s = &a->added.sides[side];
        status = read_unit(file, path, names[side][2], &s->unit);
        if (status == ATTEND_OK) status = read_vocabulary(file, path, side, &s->vocabulary);
    }
    if (status == ATTEND_OK) status = read_jumps(file, path, &a->model);
    return status == ATTEND_OK ? read_pairs(file, path, a) : status;
}

int attend_aligner_load(attend_aligner **out, const char *path, const attend_aligner_options *options)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, out && path && options);
    attend_aligner *a;
    attend_tensor_file *file = NULL;
    int status = attend_aligner_new(&a, options);
    *out = NULL;
    if (status != ATTEND_OK) return status;
    attend_lexicon_init(&a->model.lexicon, INFINITY);
    status = attend_tensor_file_open(&file, path, 0);
    if (status == ATTEND_OK) status = read_file(file, path, a);
    attend_tensor_file_close(file);
    a->is_trained = true;
    if (status == ATTEND_OK)
        *out = a;
    else
        attend_aligner_free(a);
    return status;
}

int attend_aligner_check_file(const char *path)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, path);
    attend_tensor_file *file = NULL;
    int status = attend_tensor_file_open(&file, path, ATTEND_TENSOR_HEADER_ONLY);
    if (status == ATTEND_OK) status = check_format(file, path);
    attend_tensor_file_close(file);
    return status;
}
