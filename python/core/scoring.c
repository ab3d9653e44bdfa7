/* scoring.c: Model.score and Model.align: log-probabilities, attention and word alignments of given pairs. */
#include "model.h"

#include <string.h>

enum { MAX_PAIRS = 4096 }; /* scored at once; between them Ctrl-C is obeyed */

static PyTypeObject *scored_type;

static const char *const scored_fields[] = {
    "log_probability",
    "of the target, its end included; nan: the pair has a fault",
    "token_log_probabilities",
    "of each token and of the end, a list",
    "tokens",
    "the parts of the target that are its tokens, a list; '</s>' is the end",
    "source_tokens",
    "the same of the source",
    "alignment",
    "links between words, a list of (source, target); None: not requested, or no attention",
    "attention",
    "an Array (tokens, source tokens); None: not requested, or no attention",
    "fault",
    "why the pair has no score; None: it has one",
    NULL,
};

int core_scoring_add(PyObject *module)
{
    scored_type = core_record_type(module, "ScoredPair", "The log-probability of a pair, or of a line.", scored_fields);
    return scored_type ? 0 : -1;
}

typedef struct request {
    model_object *m;
    core_pairs pairs;
    bool has_sources, weights;
    bool has_alignment; /* a layer, head or shift was given */
    attend_alignment alignment;
    int unit;
} request;

/* ---- scorers ---- */

static int take_scorer(const request *q, attend_scorer **s)
{
    int status = ATTEND_OK;
    *s = NULL;
    for (int i = 0; !*s && !q->has_alignment && i < MODEL_IDLE; i++) {
        idle_scorer *idle = &q->m->scorers[i];
        if (!idle->scorer || idle->generation != core_generation || idle->weights != q->weights) continue;
        *s = idle->scorer;
        idle->scorer = NULL;
    }
    if (!*s) {
        Py_BEGIN_ALLOW_THREADS status = attend_scorer_new(s, q->m->models[0], q->m->threads, q->weights);
        Py_END_ALLOW_THREADS
    }
    if (status == ATTEND_OK) status = attend_scorer_set_memory(*s, q->m->memory);
    if (status == ATTEND_OK) status = attend_scorer_set_compute(*s, q->m->compute);
    if (status == ATTEND_OK) status = attend_scorer_set_unit(*s, (attend_unit)q->unit);
    if (status == ATTEND_OK && q->has_alignment) status = attend_scorer_set_alignment(*s, q->alignment);
    if (status == ATTEND_OK) return ATTEND_OK;
    attend_scorer_free(*s);
    *s = NULL;
    return status;
}

static void give_scorer(const request *q, attend_scorer *s)
{
    for (int i = 0; !q->has_alignment && i < MODEL_IDLE; i++) {
        idle_scorer *idle = &q->m->scorers[i];
        if (idle->scorer && idle->generation == core_generation) continue;
        *idle = (idle_scorer){ .scorer = s, .weights = q->weights, .generation = core_generation };
        return;
    }
    attend_scorer_free(s);
}

/* Calls `visit` for each pair, with the GIL, and makes a list of what it returns. */
static PyObject *run(const request *q, PyObject *(*visit)(const request *q, const attend_scored_pair *r))
{
    attend_scorer *s;
    const int count = q->pairs.target.count;
    int status = take_scorer(q, &s);
    if (status != ATTEND_OK) return core_raise(status);
    const unsigned generation = core_generation;
    PyObject *list = PyList_New(count);
    unsigned long long scored = 0, non_finite = 0;
    for (int first = 0, done = 0; list && first < count; first += done) {
        const int part = count - first < MAX_PAIRS ? count - first : MAX_PAIRS;
        Py_BEGIN_ALLOW_THREADS status =
            attend_scorer_run_some(s, part, q->has_sources ? q->pairs.source.text + first : NULL,
                                   q->pairs.target.text + first, &done);
        Py_END_ALLOW_THREADS if (status != ATTEND_OK) core_raise(status);
        bool ok = status == ATTEND_OK;
        for (int i = 0; ok && i < done; i++) {
            const attend_scored_pair *p = attend_scorer_result(s, i);
            PyObject *r = visit(q, p);
            ok = r && PyList_SetItem(list, first + i, r) == 0;
            scored += !p->fault, non_finite += p->is_non_finite;
        }
        if (!ok || PyErr_CheckSignals() < 0) Py_CLEAR(list);
    }
    if (list && !model_check_finite(q->m, scored, non_finite)) Py_CLEAR(list);
    if (generation == core_generation) {
        if (list)
            give_scorer(q, s);
        else
            attend_scorer_free(s);
    }
    return list;
}

/* ---- results ---- */

static PyObject *pieces(const char *text, const attend_span *spans, int count, bool end)
{
    PyObject *list = PyList_New(count + end);
    for (int i = 0; list && i < count + end; i++) {
        PyObject *piece = i < count ? core_text_part(text, spans[i]) : PyUnicode_FromString("</s>");
        if (!piece || PyList_SetItem(list, i, piece) < 0) Py_CLEAR(list);
    }
    return list;
}

static PyObject *links_of(const attend_scored_pair *r)
{
    attend_word_link *links = PyMem_Calloc((size_t)r->target_count + 1, sizeof *links);
    if (!links) return PyErr_NoMemory();
    PyObject *list = core_links(links, attend_scorer_links(r, links, r->target_count));
    PyMem_Free(links);
    return list;
}

static PyObject *weights_of(const attend_scored_pair *r)
{
    const Py_ssize_t shape[2] = { r->rows, r->source_count };
    void *data = NULL;
    PyObject *array = core_array_new(2, shape, &data);
    if (array) memcpy(data, r->weights, (size_t)(shape[0] * shape[1]) * sizeof *r->weights);
    return array;
}

static PyObject *scored_pair(const request *q, const attend_scored_pair *r)
{
    PyObject *tokens = PyList_New(r->rows);
    for (int i = 0; tokens && i < r->rows; i++) {
        PyObject *x = PyFloat_FromDouble((double)r->row_log_probability[i]);
        if (!x || PyList_SetItem(tokens, i, x) < 0) Py_CLEAR(tokens);
    }
    const bool has_weights = q->weights && r->weights;
    /* the source has its end as a token, with an empty span */
    const int source_count = r->source_count > 0 ? r->source_count - 1 : 0;
    PyObject *const values[] = { PyFloat_FromDouble(r->fault ? Py_NAN : r->log_probability),
                                 tokens,
                                 pieces(r->target_text, r->target_spans, r->target_count, !r->fault),
                                 pieces(r->source_text, r->source_spans, source_count, r->source_count > 0),
                                 has_weights ? links_of(r) : Py_NewRef(Py_None),
                                 has_weights ? weights_of(r) : Py_NewRef(Py_None),
                                 r->fault ? core_text(r->fault) : Py_NewRef(Py_None) };
    return core_record(scored_type, (int)(sizeof values / sizeof *values), values);
}

static PyObject *aligned_pair(const request *q, const attend_scored_pair *r)
{
    (void)q;
    return r->fault ? PyList_New(0) : links_of(r);
}

/* ---- arguments ---- */

static bool read_pairs(request *q, PyObject *from)
{
    q->has_sources = !model_is_language_model(q->m);
    return q->has_sources
               ? core_pairs_read(&q->pairs, from, "pairs")
               : core_texts_read(&q->pairs.target, from, "pairs") && core_texts_have_no_nul(&q->pairs.target, "pairs");
}

/* A number too large for an int is out of range, as a smaller one is. */
static int index_of(PyObject *from)
{
    const long n = PyLong_AsLong(from);
    return n < -1 || n > 1000000 ? 1000000 : (int)n;
}

/* Layer, head and shift as attend align reads them. None stands for the model's own choice of layer and head; with a
 * layer, for the mean over the heads. */
static bool read_map(request *q, PyObject *layer, PyObject *head, int shift)
{
    q->has_alignment = layer != Py_None || head != Py_None || shift;
    if (!q->has_alignment) return true;
    q->alignment = attend_model_alignment(q->m->models[0]);
    if (layer != Py_None) q->alignment = (attend_alignment){ .layer = index_of(layer), .head = -1 };
    if (head != Py_None) q->alignment.head = index_of(head);
    if (shift) q->alignment.shifted = true;
    return !PyErr_Occurred();
}

const char model_score_doc[] =
    "score($self, pairs, *, return_attention=False, layer=None, head=None, shift=False, unit='auto')\n--\n\n"
    "Computes log p(target | source) of pairs. Returns a list of ScoredPair.\n\n"
    "pairs             a list of (source, target); for a language model, a list of str\n"
    "return_attention  the attention weights while the model predicts the target, and the alignment\n"
    "layer, head       the map that is the attention, from 0; -1: the mean over all; None: the model's own\n"
    "shift             read the weights of a token one step later; False: as stored in the model, or with `layer` as\n"
    "                  computed (docs/alignment.md)\n"
    "unit              what links count: 'auto', 'word', 'piece' or 'character'\n\n"
    "A pair that cannot be scored has a `fault`; it raises no exception, unless nothing is scored because the\n"
    "model's probabilities are not finite: ModelError.";

PyObject *model_score(PyObject *self, PyObject *arguments, PyObject *keywords)
{
    static char *names[] = { "pairs", "return_attention", "layer", "head", "shift", "unit", NULL };
    request q = { .m = (model_object *)self };
    PyObject *pairs, *layer = Py_None, *head = Py_None, *list = NULL;
    const char *unit = "auto";
    int weights = 0, shift = 0;
    if (!core_parse(arguments, keywords, "O|$pOOps:score", names, &pairs, &weights, &layer, &head, &shift, &unit) ||
        !core_choice(unit, attend_unit_names, "unit", &q.unit) || !model_single(q.m, "score"))
        return NULL;
    q.weights = weights;
    if (read_map(&q, layer, head, shift) && read_pairs(&q, pairs)) list = run(&q, scored_pair);
    core_pairs_free(&q.pairs);
    return list;
}

const char model_align_doc[] =
    "align($self, pairs, *, layer=None, head=None, shift=False, unit='auto')\n--\n\n"
    "Aligns the words of pairs by attention: each target word with the source word to which it attends most.\n"
    "Returns a list of lists of (source, target), counted from 0. A pair that cannot be aligned has no links.\n\n"
    "The arguments are those of score. attend.Aligner aligns without a model.";

PyObject *model_align(PyObject *self, PyObject *arguments, PyObject *keywords)
{
    static char *names[] = { "pairs", "layer", "head", "shift", "unit", NULL };
    request q = { .m = (model_object *)self, .weights = true };
    PyObject *pairs, *layer = Py_None, *head = Py_None, *list = NULL;
    const char *unit = "auto";
    int shift = 0;
    if (!core_parse(arguments, keywords, "O|$OOps:align", names, &pairs, &layer, &head, &shift, &unit) ||
        !core_choice(unit, attend_unit_names, "unit", &q.unit) || !model_single(q.m, "align"))
        return NULL;
    if (attend_config_attention_layers(attend_model_config(q.m->models[0]), ATTEND_ATTENTION_CROSS) == 0)
        return core_fail(ATTEND_BAD_USAGE, "the model has no attention between target and source to align by");
    if (read_map(&q, layer, head, shift) && read_pairs(&q, pairs)) list = run(&q, aligned_pair);
    core_pairs_free(&q.pairs);
    return list;
}
