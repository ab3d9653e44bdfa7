/* tokenizer_file.c: a tokenizer as two texts, attached to a model.
 *
 *     SIDE.vocabulary    one token per line
 *     SIDE.tokenizer     attend-tokenizer 3  the lowest format that has all lines, so that earlier versions refuse what
 *                        kind bpe            they would ignore
 *                        case lower          from format 2 on; in 3 also "case kept"
 *                        split classes       from format 3 on: merges stay within a class of characters
 *                        merges 2            bpe only; one line per merge: the two tokens that make
 *                        t h                 the last tokens of the vocabulary, in their order
 *                        th e
 *     SIDE.unit          character: of the kind char, most lines it learned from are a single word. Only where the
 *                        vocabulary has a space; without one, no line has two words
 *
 * Every field is validated: a token must be one that its kind could have learned, and a merge must make its token. */
#include "text/tokenizer.h"

#include "core/memory.h"
#include "core/status.h"
#include "model/model.h"
#include <stdio.h>
#include <string.h>

enum { VERSION_PLAIN = 1, VERSION_WITH_CASE, VERSION_WITH_SPLIT, VERSION = VERSION_WITH_SPLIT };
static const char magic[] = "attend-tokenizer ", kind_word[] = "kind ", case_word[] = "case ", lower[] = "lower",
                  kept[] = "kept", split_word[] = "split ", classes[] = "classes", merges_word[] = "merges ";

/* ---- writing ---- */

static int add_line(attend_string *s, const char *text, size_t size)
{
    const int status = attend_string_add(s, text, size);
    return status == ATTEND_OK ? attend_string_add(s, "\n", 1) : status;
}

static int add_token(attend_string *s, const attend_tokenizer *t, int id, const char *separator)
{
    const int status =
        attend_string_add(s, attend_string_table_at(&t->tokens, id), attend_string_table_size(&t->tokens, id));
    return status == ATTEND_OK ? attend_string_add(s, separator, 1) : status;
}

int attend_tokenizer_write(const attend_tokenizer *t, attend_string *vocabulary, attend_string *rest)
{
    char line[64];
    int status = ATTEND_OK;
    vocabulary->size = rest->size = 0;
    for (int i = 0; i < t->tokens.count && status == ATTEND_OK; i++) status = add_token(vocabulary, t, i, "\n");
    const int version = t->split_classes ? VERSION_WITH_SPLIT : t->lowercase ? VERSION_WITH_CASE : VERSION_PLAIN;
    int n = snprintf(line, sizeof line, "%s%d\n%s%s", magic, version, kind_word, attend_token_kind_name(t->kind->kind));
    if (status == ATTEND_OK) status = add_line(rest, line, (size_t)n);
    n = snprintf(line, sizeof line, "%s%s", case_word, t->lowercase ? lower : kept);
    if (status == ATTEND_OK && version >= VERSION_WITH_CASE) status = add_line(rest, line, (size_t)n);
    n = snprintf(line, sizeof line, "%s%s", split_word, classes);
    if (status == ATTEND_OK && version >= VERSION_WITH_SPLIT) status = add_line(rest, line, (size_t)n);
    if (t->kind != &attend_kind_bpe) return status;
    n = snprintf(line, sizeof line, "%s%d", merges_word, t->merge_count);
    if (status == ATTEND_OK) status = add_line(rest, line, (size_t)n);
    for (int i = 0; i < t->merge_count && status == ATTEND_OK; i++) {
        status = add_token(rest, t, t->merges[i].left, " ");
        if (status == ATTEND_OK) status = add_token(rest, t, t->merges[i].right, "\n");
    }
    return status;
}

/* ---- reading ---- */

/* One of the two texts while it is read. */
typedef struct reader {
    const char *side, *name;
    const char *text;
    size_t size, at;
    int line; /* number of the last line read, from 1 */
} reader;

static int refuse(const reader *r, const char *what)
{
    return attend_fail(ATTEND_BAD_MODEL, "line %d of %s.%s %s; the model file is damaged: train or download it again",
                       r->line, r->side, r->name, what);
}

/* Reads the next line, which must not be empty; *size is 0 after the last. */
static int next_line(reader *r, const char **line, size_t *size)
{
    *size = 0;
    if (r->at == r->size) return ATTEND_OK;
    *line = r->text + r->at;
    const char *end = memchr(*line, '\n', r->size - r->at);
    r->line++;
    if (!end) return refuse(r, "has no line feed at its end");
    const size_t length = (size_t)(end - *line);
    if (length == 0) return refuse(r, "is empty");
    if (attend_utf8_valid(*line, length) < length) return refuse(r, "is not UTF-8");
    if (memchr(*line, '\0', length)) return refuse(r, "contains a NUL");
    r->at += length + 1;
    *size = length;
    return ATTEND_OK;
}

/* Reads a line that begins with `word`; *value is what follows it. */
static int expect(reader *r, const char *word, const char **value, size_t *size)
{
    const size_t length = strlen(word);
    const int status = next_line(r, value, size);
    if (status != ATTEND_OK) return status;
    if (*size <= length || memcmp(*value, word, length) != 0) {
        char what[64];
        if (*size == 0) r->line++; /* the missing line */
        snprintf(what, sizeof what, "should begin with '%s'", word);
        return refuse(r, what);
    }
    *value += length;
    *size -= length;
    return ATTEND_OK;
}

/* Parses up to nine digits; -1: not a number. */
static int number_of(const char *digits, size_t size)
{
    int n = 0;
    if (size == 0 || size > 9) return -1;
    for (size_t i = 0; i < size; i++) {
        if (digits[i] < '0' || digits[i] > '9') return -1;
        n = 10 * n + (digits[i] - '0');
    }
    return n;
}

static bool is_text(const char *value, size_t size, const char *text)
{
    return size == strlen(text) && memcmp(value, text, size) == 0;
}

/* The lines after the kind that depend on the format. */
static int read_options(reader *r, int version, const attend_kind *kind, bool *lowercase, bool *split_classes)
{
    const char *value = NULL;
    size_t size;
    if (version < VERSION_WITH_CASE) return ATTEND_OK;
    int status = expect(r, case_word, &value, &size);
    if (status != ATTEND_OK) return status;
    *lowercase = is_text(value, size, lower);
    if (!*lowercase && (version < VERSION_WITH_SPLIT || !is_text(value, size, kept)))
        return refuse(r, "names an unknown case");
    if (version < VERSION_WITH_SPLIT) return ATTEND_OK;
    status = expect(r, split_word, &value, &size);
    if (status != ATTEND_OK) return status;
    *split_classes = is_text(value, size, classes);
    if (!*split_classes) return refuse(r, "names an unknown way to split words");
    return kind == &attend_kind_bpe ? ATTEND_OK : refuse(r, "splits words, and the kind of tokenizer is not bpe");
}

static int read_kind(reader *r, const attend_kind **kind, bool *lowercase, bool *split_classes)
{
    const char *value = NULL;
    size_t size;
    int status = expect(r, magic, &value, &size);
    if (status != ATTEND_OK) return status;
    const int version = number_of(value, size);
    if (version < 1) return refuse(r, "has no version");
    if (version > VERSION)
        return attend_fail(ATTEND_BAD_MODEL,
                           "%s.%s has format %d, and this version of attend reads up to %d; please update attend",
                           r->side, r->name, version, VERSION);
    status = expect(r, kind_word, &value, &size);
    if (status != ATTEND_OK) return status;
    *kind = attend_kind_named(value, size);
    if (!*kind) return refuse(r, "names an unknown kind of tokenizer");
    return read_options(r, version, *kind, lowercase, split_classes);
}

static int read_token(attend_tokenizer *t, reader *r, const char *token, size_t size)
{
    char what[128];
    int number;
    const int id = r->line - 1;
    if (id < t->kind->first) {
        const char *reserved = attend_string_table_at(&t->tokens, id);
        if (strlen(reserved) == size && memcmp(reserved, token, size) == 0) return ATTEND_OK;
        snprintf(what, sizeof what, "is '%.*s' and should be '%s'", size < 40 ? (int)size : 40, token, reserved);
        return refuse(r, what);
    }
    const int status = attend_string_table_add(&t->tokens, token, size, &number);
    if (status != ATTEND_OK || number == id) return status;
    snprintf(what, sizeof what, "is '%.*s', and so is line %d", size < 40 ? (int)size : 40, token, number + 1);
    return refuse(r, what);
}

static int read_vocabulary(attend_tokenizer *t, reader *r)
{
    const char *line = NULL;
    for (size_t size;;) {
        int status = next_line(r, &line, &size);
        if (status == ATTEND_OK && size > 0) status = read_token(t, r, line, size);
        if (status != ATTEND_OK) return status;
        if (size == 0) break;
    }
    return r->line < t->kind->first ? refuse(r, "is the last, and reserved tokens are missing") : ATTEND_OK;
}

/* True if a token is the concatenation of two others. */
static bool is_made_of(const attend_string_table *tokens, int token, int left, int right)
{
    const size_t left_size = attend_string_table_size(tokens, left),
                 right_size = attend_string_table_size(tokens, right);
    const char *text = attend_string_table_at(tokens, token);
    return attend_string_table_size(tokens, token) == left_size + right_size &&
           memcmp(text, attend_string_table_at(tokens, left), left_size) == 0 &&
           memcmp(text + left_size, attend_string_table_at(tokens, right), right_size) == 0;
}

static int read_merge(attend_tokenizer *t, reader *r, const char *line, size_t size)
{
    const int made = t->first_merge + t->merge_count;
    const char *space = size > 0 ? memchr(line, ' ', size) : NULL;
    if (!space) return refuse(r, "is not a merge: two tokens with a space between them");
    const size_t left_size = (size_t)(space - line);
    const int left = attend_string_table_find(&t->tokens, line, left_size);
    const int right = attend_string_table_find(&t->tokens, space + 1, size - left_size - 1);
    if (left < t->kind->first || right < t->kind->first)
        return refuse(r, "merges a token that the vocabulary does not have");
    if (left >= made || right >= made) return refuse(r, "merges a token that is made only later");
    if (!is_made_of(&t->tokens, made, left, right)) {
        char what[96];
        snprintf(what, sizeof what, "does not make token %d of the vocabulary, '%.40s'", made,
                 attend_string_table_at(&t->tokens, made));
        return refuse(r, what);
    }
    return attend_bpe_add_merge(t, left, right);
}

static int read_merges(attend_tokenizer *t, reader *r)
{
    const char *line = NULL;
    size_t size;
    int status = expect(r, merges_word, &line, &size);
    if (status != ATTEND_OK) return status;
    const int count = number_of(line, size);
    if (count < 0) return refuse(r, "has no number of merges");
    if (count > t->tokens.count - t->kind->first) return refuse(r, "has more merges than the vocabulary has tokens");
    t->first_merge = t->tokens.count - count;
    for (int i = 0; i < count && status == ATTEND_OK; i++) {
        status = next_line(r, &line, &size);
        if (status == ATTEND_OK && size == 0) status = refuse(r, "is the last, and merges are missing");
        if (status == ATTEND_OK) status = read_merge(t, r, line, size);
    }
    return status;
}

static int check_tokens(const attend_tokenizer *t, reader *vocabulary)
{
    for (int id = t->kind->first; id < t->tokens.count; id++) {
        const char *fault = t->kind->fault(t, id);
        if (!fault) continue;
        vocabulary->line = id + 1;
        return refuse(vocabulary, fault);
    }
    return ATTEND_OK;
}

static bool has_space(const attend_tokenizer *t)
{
    return attend_string_table_find(&t->tokens, ATTEND_SPACE_MARK, ATTEND_SPACE_MARK_SIZE) >= 0;
}

int attend_tokenizer_read(attend_tokenizer **out, const char *side, const char *vocabulary, size_t vocabulary_size,
                          const char *rest, size_t rest_size)
{
    reader tokens = { side, "vocabulary", vocabulary, vocabulary_size, 0, 0 };
    reader r = { side, "tokenizer", rest, rest_size, 0, 0 };
    const attend_kind *kind = NULL;
    attend_tokenizer *t = NULL;
    bool lowercase = false, split_classes = false;
    *out = NULL;
    int status = read_kind(&r, &kind, &lowercase, &split_classes);
    if (status == ATTEND_OK) status = attend_tokenizer_new(&t, kind);
    if (status == ATTEND_OK) t->lowercase = lowercase, t->split_classes = split_classes;
    if (status == ATTEND_OK) status = read_vocabulary(t, &tokens);
    if (status == ATTEND_OK && kind == &attend_kind_bpe) status = read_merges(t, &r);
    if (status == ATTEND_OK && r.at < r.size) {
        r.line++;
        status = refuse(&r, "is not expected: the file should end before it");
    }
    if (status == ATTEND_OK) status = check_tokens(t, &tokens);
    if (status == ATTEND_OK) status = kind->finish(t);
    if (status == ATTEND_OK) {
        t->has_single_words = !has_space(t);
        *out = t;
    } else {
        attend_tokenizer_free(t);
    }
    return status;
}

/* ---- in a model ---- */

enum { NAME_ROOM = 32 };
static const char unit_of_single_words[] = "character\n";

static int attach_unit(const attend_tokenizer *t, attend_model *m, const char *side)
{
    char name[NAME_ROOM];
    snprintf(name, sizeof name, "%s.unit", side);
    if (attend_tokenizer_unit(t) != ATTEND_UNIT_CHARACTER || !has_space(t)) return ATTEND_OK;
    return attend_model_attach(m, name, unit_of_single_words, strlen(unit_of_single_words));
}

static int read_unit(attend_tokenizer *t, const attend_model *m, const char *side)
{
    char name[NAME_ROOM];
    size_t size;
    snprintf(name, sizeof name, "%s.unit", side);
    const char *unit = attend_model_attached(m, name, &size);
    if (!unit) return ATTEND_OK;
    if (size != strlen(unit_of_single_words) || memcmp(unit, unit_of_single_words, size) != 0)
        return attend_fail(ATTEND_BAD_MODEL, "%s is unknown; the model file is damaged: train or download it again",
                           name);
    t->has_single_words = true;
    return ATTEND_OK;
}

/* The names of the two attachments of a side, and its vocabulary size in the model; false, with the message set: no
 * such side. */
static bool describe_side(const attend_model *m, const char *side, char vocabulary[NAME_ROOM], char rest[NAME_ROOM],
                          int *size)
{
    const bool source = strcmp(side, "source") == 0;
    if (!source && strcmp(side, "target") != 0) {
        attend_fail(ATTEND_BAD_USAGE, "the sides of a model are 'source' and 'target', not '%.40s'", side);
        return false;
    }
    snprintf(vocabulary, NAME_ROOM, "%s.vocabulary", side);
    snprintf(rest, NAME_ROOM, "%s.tokenizer", side);
    *size = source ? attend_model_config(m)->source_vocab : attend_model_config(m)->target_vocab;
    return true;
}

int attend_tokenizer_attach(const attend_tokenizer *t, attend_model *m, const char *side)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, t && m && side);
    char vocabulary_name[NAME_ROOM], rest_name[NAME_ROOM];
    attend_string vocabulary = { 0 }, rest = { 0 };
    int size;
    if (!describe_side(m, side, vocabulary_name, rest_name, &size)) return ATTEND_BAD_USAGE;
    if (size != t->tokens.count)
        return attend_fail(ATTEND_BAD_USAGE, "the tokenizer has %d tokens, but %s-vocab of the model is %d",
                           t->tokens.count, side, size);
    int status = attend_tokenizer_write(t, &vocabulary, &rest);
    if (status == ATTEND_OK) status = attend_model_attach(m, vocabulary_name, vocabulary.text, vocabulary.size);
    if (status == ATTEND_OK) status = attend_model_attach(m, rest_name, rest.text, rest.size);
    if (status == ATTEND_OK) status = attach_unit(t, m, side);
    attend_string_free(&vocabulary);
    attend_string_free(&rest);
    return status;
}

static int read_side(attend_tokenizer **out, const attend_model *m, const char *side)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, out && m && side);
    char vocabulary_name[NAME_ROOM], rest_name[NAME_ROOM];
    size_t vocabulary_size, rest_size;
    int size;
    if (!describe_side(m, side, vocabulary_name, rest_name, &size)) return ATTEND_BAD_USAGE;
    const char *vocabulary = attend_model_attached(m, vocabulary_name, &vocabulary_size);
    const char *rest = attend_model_attached(m, rest_name, &rest_size);
    if (!vocabulary || !rest)
        return attend_fail(ATTEND_BAD_MODEL,
                           "the model has no '%s': it was trained on token ids and cannot read or write text; train "
                           "one on text, or use this one by the functions of the library that take token ids",
                           vocabulary ? rest_name : vocabulary_name);
    int status = attend_tokenizer_read(out, side, vocabulary, vocabulary_size, rest, rest_size);
    if (status == ATTEND_OK) status = read_unit(*out, m, side);
    if (status != ATTEND_OK || (*out)->tokens.count == size) return status;
    return attend_fail(ATTEND_BAD_MODEL, "%s has %d tokens, but %s-vocab of the model is %d", vocabulary_name,
                       (*out)->tokens.count, side, size);
}

int attend_tokenizer_from_model(attend_tokenizer **out, const attend_model *m, const char *side)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, out && m && side);
    *out = NULL;
    const int status = read_side(out, m, side);
    if (status == ATTEND_OK) return ATTEND_OK;
    attend_tokenizer_free(*out);
    *out = NULL;
    if (status != ATTEND_BAD_MODEL || !m->name) return status;
    char why[ATTEND_MESSAGE_SIZE];
    snprintf(why, sizeof why, "%s", attend_message());
    return attend_fail(status, "%s: %s", m->name, why);
}

int attend_model_check_text(const attend_model *m, bool *has_text)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, m && has_text);
    static const char *const sides[2] = { "target", "source" };
    const int count = attend_model_config(m)->task == ATTEND_TASK_LANGUAGE_MODEL ? 1 : 2;
    char names[2][NAME_ROOM];
    int size, status = ATTEND_OK;
    *has_text = false;
    for (int i = 0; i < count && describe_side(m, sides[i], names[0], names[1], &size); i++)
        for (int k = 0; k < 2; k++) *has_text |= attend_model_attached(m, names[k], NULL) != NULL;
    for (int i = 0; i < count && *has_text && status == ATTEND_OK; i++) {
        attend_tokenizer *t = NULL;
        status = attend_tokenizer_from_model(&t, m, sides[i]);
        attend_tokenizer_free(t);
    }
    return status;
}
