#include "decode/ensemble_check.h"

#include "core/status.h"
#include <string.h>

/* An attachment of a model: part of a tokenizer. */
typedef struct text {
    const char *bytes;
    size_t size;
} text;

static text text_of(const attend_model *m, const char *name)
{
    text t = { .size = 0 };
    t.bytes = attend_model_attached(m, name, &t.size);
    return t;
}

/* The line that begins at an offset, without its line feed. */
static text line_at(text t, size_t at)
{
    if (at >= t.size) return (text){ "", 0 };
    const char *end = memchr(t.bytes + at, '\n', t.size - at);
    return (text){ t.bytes + at, end ? (size_t)(end - t.bytes) - at : t.size - at };
}

/* Reports the first line in which two attachments differ. */
static int differ(int model, const char *name, text a, text b)
{
    size_t same = 0, line = 1, begin = 0;
    while (same < a.size && same < b.size && a.bytes[same] == b.bytes[same])
        if (a.bytes[same++] == '\n') line++, begin = same;
    const text x = line_at(a, begin), y = line_at(b, begin);
    return attend_fail(ATTEND_BAD_USAGE,
                       "model %d differs from model 1 in %s: line %zu is '%.*s', not '%.*s'; the models of an ensemble "
                       "must be trained with the same vocabularies",
                       model, name, line, (int)(y.size < 40 ? y.size : 40), y.bytes, (int)(x.size < 40 ? x.size : 40),
                       x.bytes);
}

int attend_models_check_ensemble(const attend_model *const *models, int count)
{
    static const char *const names[] = { "source.tokenizer", "source.vocabulary", "target.tokenizer",
                                         "target.vocabulary" };
    for (int i = 1; i < count; i++)
        for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
            const text a = text_of(models[0], names[k]), b = text_of(models[i], names[k]);
            if (!a.bytes) continue; /* reported when the tokenizer is loaded */
            if (!b.bytes) return attend_fail(ATTEND_BAD_MODEL, "model %d has no %s", i + 1, names[k]);
            if (a.size != b.size || memcmp(a.bytes, b.bytes, a.size) != 0) return differ(i + 1, names[k], a, b);
        }
    return ATTEND_OK;
}
