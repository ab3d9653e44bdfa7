/* translation.c: Model.translate and Model.sample: lines in, translations out. */
#include "translation.h"

#include <string.h>

/* Lines that are translated at once, as the command does. */
enum { MAX_LINES = 4096, MAX_BYTES = 4 << 20 };

typedef struct request {
    translation_request result;
    attend_translator_options options;
    attend_dictionary *dictionary;
    core_texts lines, prefixes;
    bool has_prefixes;
} request;

/* ---- translators ---- */

void model_translator_free(idle_translator *t)
{
    attend_translator_free(t->translator);
    PyMem_Free(t->interrupt);
    *t = (idle_translator){ .translator = NULL };
}

/* An idle translator with these options, or a new one. The numbers of lines decide samples, so that a sampling
 * translator is always new. */
static int take_translator(const request *q, idle_translator *t)
{
    for (int i = 0; !q->options.search.sample && i < MODEL_IDLE; i++) {
        idle_translator *idle = &q->result.m->translators[i];
        if (!idle->translator || idle->generation != core_generation ||
            memcmp(&idle->options, &q->options, sizeof q->options) != 0)
            continue;
        memcpy(t, idle, sizeof *t);
        *idle = (idle_translator){ .translator = NULL };
        return ATTEND_OK;
    }
    int status;
    *t = (idle_translator){ .interrupt = PyMem_Calloc(1, sizeof *t->interrupt), .generation = core_generation };
    if (!t->interrupt) return attend_fail(ATTEND_NO_MEMORY, "no memory for a translator");
    memcpy(&t->options, &q->options, sizeof q->options); /* with its padding, for memcmp */
    attend_translator_options o = q->options;
    o.stop = core_interrupted, o.user = t->interrupt;
    Py_BEGIN_ALLOW_THREADS status =
        attend_translator_new_ensemble(&t->translator, (const attend_model *const *)q->result.m->models,
                                       q->result.m->count, &o);
    Py_END_ALLOW_THREADS if (status != ATTEND_OK) model_translator_free(t);
    return status;
}

/* Keeps a translator for the next call. It replaces one that has other options. */
static void give_translator(const request *q, idle_translator *t)
{
    idle_translator *slot = &q->result.m->translators[0];
    for (int i = 0; i < MODEL_IDLE; i++) {
        idle_translator *idle = &q->result.m->translators[i];
        if (!idle->translator || idle->generation != core_generation) {
            slot = idle;
            break;
        }
    }
    idle_translator old = { .translator = NULL };
    if (slot->translator && slot->generation == core_generation) old = *slot;
    const bool keeps = !q->options.search.sample && !q->dictionary;
    if (keeps) memcpy(slot, t, sizeof *slot);
    model_translator_free(keeps ? &old : t);
}

/* Adds the results of a run to the list. */
static bool add_results(const request *q, const attend_translator *t, int first, int count, PyObject *list)
{
    for (int i = 0; i < count; i++) {
        PyObject *r =
            translation_of(&q->result, attend_translator_tokenizer(t, false), attend_translator_tokenizer(t, true),
                           q->lines.text[first + i], attend_translator_result(t, i));
        if (!r || PyList_SetItem(list, first + i, r) < 0) return false;
    }
    return true;
}

static int chunk_end(const core_texts *lines, int first)
{
    size_t bytes = 0;
    int end = first;
    while (end < lines->count && end - first < MAX_LINES && bytes < MAX_BYTES) bytes += lines->size[end++];
    return end;
}

static PyObject *run(const request *q, const idle_translator *idle)
{
    attend_translator *t = idle->translator;
    PyObject *list = PyList_New(q->lines.count);
    int status = ATTEND_OK, end = 0, done = 0;
    unsigned long long translated = 0, non_finite = 0;
    for (int first = 0; list && first < q->lines.count; first += done) {
        if (first >= end) end = chunk_end(&q->lines, first);
        core_interrupt_begin(idle->interrupt);
        status = attend_translator_run_some(t, end - first, q->lines.text + first, q->lines.size + first,
                                            q->has_prefixes ? q->prefixes.text + first : NULL,
                                            q->has_prefixes ? q->prefixes.size + first : NULL, &done);
        const bool stops = core_interrupt_end(idle->interrupt);
        if (status != ATTEND_OK && !stops) core_raise(status);
        if (stops || status != ATTEND_OK || !add_results(q, t, first, done, list) || PyErr_CheckSignals() < 0)
            Py_CLEAR(list);
        for (int i = 0; list && i < done; i++) {
            const attend_line_result *r = attend_translator_result(t, i);
            translated += !r->fault && *r->hypotheses[0].text, non_finite += r->is_non_finite;
        }
    }
    if (list && !model_check_finite(q->result.m, translated, non_finite)) Py_CLEAR(list);
    return list;
}

static void request_free(request *q)
{
    core_texts_free(&q->lines);
    core_texts_free(&q->prefixes);
    attend_dictionary_free(q->dictionary);
    attend_ctx_free(q->result.context);
}

static PyObject *run_request(request *q)
{
    idle_translator t = { .translator = NULL };
    int status = ATTEND_OK;
    if (q->result.attention == ATTENTION_ALL) {
        if (!model_single(q->result.m, "return_attention='all'") || !core_texts_have_no_nul(&q->lines, "lines"))
            return NULL;
        q->result.context = model_context(q->result.m, &status);
    }
    if (status == ATTEND_OK) status = take_translator(q, &t);
    if (status != ATTEND_OK) return core_raise(status);
    const unsigned generation = core_generation;
    PyObject *list = run(q, &t);
    if (generation == core_generation) {
        if (list)
            give_translator(q, &t);
        else
            model_translator_free(&t);
    }
    return list;
}

/* ---- arguments ---- */

bool translation_read_attention(translation_request *q, PyObject *from)
{
    const char *text = PyUnicode_Check(from) ? PyUnicode_AsUTF8AndSize(from, NULL) : NULL;
    if (text && strcmp(text, "all") == 0) {
        q->attention = ATTENTION_ALL;
        return true;
    }
    if (text)
        return core_fail(ATTEND_BAD_USAGE, "return_attention='%.40s': must be True, False or 'all'", text) != NULL;
    const int is_true = PyObject_IsTrue(from);
    q->attention = is_true > 0 ? ATTENTION_ALIGNMENT : ATTENTION_NONE;
    return is_true >= 0;
}

bool translation_read_extra(attend_search_options *o, PyObject *from)
{
    if (from == Py_None) return true;
    const long extra = PyLong_AsLong(from);
    o->length_extra = extra < 0 || extra > 1000000 ? -1 : (int)extra; /* -1 is refused by the library */
    return !PyErr_Occurred();
}

static bool read_dictionary(request *q, PyObject *from)
{
    core_paths path;
    if (from == Py_None) return true;
    if (!core_path_read(&path, from, "dictionary")) return false;
    const int status = attend_dictionary_read(&q->dictionary, path.names[0]);
    core_paths_free(&path);
    if (status != ATTEND_OK) core_raise(status);
    q->options.dictionary = q->dictionary;
    return status == ATTEND_OK;
}

static bool read_prefixes(request *q, PyObject *from)
{
    if (from == Py_None) return true;
    q->has_prefixes = core_texts_read(&q->prefixes, from, "prefixes");
    if (q->has_prefixes && q->prefixes.count != q->lines.count) {
        core_fail(ATTEND_BAD_USAGE, "there are %d prefixes for %d lines", q->prefixes.count, q->lines.count);
        return false;
    }
    return q->has_prefixes;
}

/* The arguments that translate and sample have in common. */
typedef struct common {
    PyObject *lines, *prefixes, *dictionary, *attention, *length_extra;
    const char *unit;
    int alignment, replace_unknown;
} common;

#define COMMON_INIT                                                                                                    \
    {                                                                                                                  \
        NULL, Py_None, Py_None, Py_False, Py_None, "auto", 0, 0                                                        \
    }

void translation_options_init(attend_translator_options *o, const model_object *m)
{
    static const attend_translator_options init = ATTEND_TRANSLATOR_OPTIONS_INIT;
    memcpy(o, &init, sizeof init);
    o->threads = m->threads, o->memory = m->memory, o->compute = m->compute;
    if (model_is_language_model(m)) o->search.length_extra = 100; /* as the command */
}

static void request_init(request *q, PyObject *self)
{
    memset(q, 0, sizeof *q);
    q->result.m = (model_object *)self;
    translation_options_init(&q->options, q->result.m);
}

static bool read_common(request *q, const common *c)
{
    int unit = 0;
    if (!core_choice(c->unit, attend_unit_names, "unit", &unit) ||
        !translation_read_attention(&q->result, c->attention))
        return false;
    q->options.unit = (attend_unit)unit;
    q->result.alignment = c->alignment || q->result.attention != ATTENTION_NONE;
    q->options.search.weights = q->result.alignment;
    q->options.replace_unknown = c->replace_unknown;
    return translation_read_extra(&q->options.search, c->length_extra) &&
           core_texts_read(&q->lines, c->lines, "lines") && read_prefixes(q, c->prefixes) &&
           read_dictionary(q, c->dictionary);
}

const char model_translate_doc[] =
    "translate($self, lines, *, beam=5, n_best=1, length_penalty=1.0, coverage_penalty=0.0,\n"
    "          length_ratio=2.0, length_extra=None, max_length=0, no_repeat_ngram=0, shortlist=False,\n"
    "          prefixes=None, replace_unknown=False, dictionary=None, unit='auto',\n"
    "          return_alignment=False, return_attention=False, batch_tokens=1000, max_input_length=1000)\n--\n\n"
    "Translates lines by beam search; a language model continues them. Returns a list of Translation.\n\n"
    "lines             a list of str. The result of a line does not depend on the others\n"
    "beam              beam size; 1: greedy search\n"
    "n_best            hypotheses of each line, at most `beam`\n"
    "length_penalty    larger values favour longer translations\n"
    "coverage_penalty  larger values favour translations that attend to every source token\n"
    "length_ratio, length_extra\n"
    "                  a translation has at most length_ratio * source tokens + length_extra tokens;\n"
    "                  length_extra None: 10, or 100 for a language model\n"
    "max_length        another maximum of the target length; 0: none\n"
    "no_repeat_ngram   no n-gram of this size occurs twice in a translation; 0: off\n"
    "shortlist         only tokens on the model's shortlist: faster\n"
    "prefixes          a text for each line with which its translation must begin\n"
    "replace_unknown   replace '<unk>' by the source word with the most attention\n"
    "dictionary        a file 'WORD TAB REPLACEMENT' for replace_unknown\n"
    "unit              what links count: 'auto', 'word', 'piece' or 'character'\n"
    "return_alignment  the links between words\n"
    "return_attention  True: the attention weights of the alignment; 'all': of every layer and head\n"
    "batch_tokens      maximum source tokens of a batch\n"
    "max_input_length  longer lines, in tokens, are not translated\n\n"
    "A line that cannot be translated has an empty text and a `fault`; it raises no exception, unless nothing is\n"
    "translated because the model's probabilities are not finite: ModelError.";

PyObject *model_translate(PyObject *self, PyObject *arguments, PyObject *keywords)
{
    static char *names[] = { "lines",
                             "beam",
                             "n_best",
                             "length_penalty",
                             "coverage_penalty",
                             "length_ratio",
                             "length_extra",
                             "max_length",
                             "no_repeat_ngram",
                             "shortlist",
                             "prefixes",
                             "replace_unknown",
                             "dictionary",
                             "unit",
                             "return_alignment",
                             "return_attention",
                             "batch_tokens",
                             "max_input_length",
                             NULL };
    common c = COMMON_INIT;
    request q;
    int shortlist = 0;
    request_init(&q, self);
    attend_search_options *s = &q.options.search;
    if (!core_parse(arguments, keywords, "O|$iidddOiipOpOspOii:translate", names, &c.lines, &s->beam, &s->n_best,
                    &s->length_penalty, &s->coverage_penalty, &s->length_ratio, &c.length_extra, &s->max_length,
                    &s->no_repeat_ngram, &shortlist, &c.prefixes, &c.replace_unknown, &c.dictionary, &c.unit,
                    &c.alignment, &c.attention, &q.options.batch_tokens, &q.options.max_tokens))
        return NULL;
    s->shortlist = shortlist;
    PyObject *list = read_common(&q, &c) ? run_request(&q) : NULL;
    request_free(&q);
    return list;
}

const char model_sample_doc[] =
    "sample($self, lines, *, n=1, temperature=1.0, top_k=0, top_p=1.0, seed=0, length_ratio=2.0,\n"
    "       length_extra=None, max_length=0, no_repeat_ngram=0, prefixes=None, replace_unknown=False,\n"
    "       dictionary=None, unit='auto', return_alignment=False, return_attention=False,\n"
    "       batch_tokens=1000, max_input_length=1000)\n--\n\n"
    "Samples translations, or continuations of the lines by a language model. Returns a list of Translation with\n"
    "`n` hypotheses each, in the order of sampling.\n\n"
    "temperature  below 1 sharpens the distribution, above 1 flattens it\n"
    "top_k        sample from the most probable tokens only; 0: all\n"
    "top_p        sample from the most probable tokens whose probabilities add up to top_p\n"
    "seed         the same seed gives the same samples; they also depend on the index of a line\n\n"
    "The other arguments are those of translate.";

PyObject *model_sample(PyObject *self, PyObject *arguments, PyObject *keywords)
{
    static char *names[] = { "lines",
                             "n",
                             "temperature",
                             "top_k",
                             "top_p",
                             "seed",
                             "length_ratio",
                             "length_extra",
                             "max_length",
                             "no_repeat_ngram",
                             "prefixes",
                             "replace_unknown",
                             "dictionary",
                             "unit",
                             "return_alignment",
                             "return_attention",
                             "batch_tokens",
                             "max_input_length",
                             NULL };
    common c = COMMON_INIT;
    request q;
    unsigned long long seed = 0;
    request_init(&q, self);
    attend_search_options *s = &q.options.search;
    if (!core_parse(arguments, keywords, "O|$ididO&dOiiOpOspOii:sample", names, &c.lines, &s->n_best, &s->temperature,
                    &s->top_k, &s->top_p, core_uint64, &seed, &s->length_ratio, &c.length_extra, &s->max_length,
                    &s->no_repeat_ngram, &c.prefixes, &c.replace_unknown, &c.dictionary, &c.unit, &c.alignment,
                    &c.attention, &q.options.batch_tokens, &q.options.max_tokens))
        return NULL;
    s->sample = true, s->seed = seed;
    PyObject *list = read_common(&q, &c) ? run_request(&q) : NULL;
    request_free(&q);
    return list;
}
