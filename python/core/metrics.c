/* metrics.c: scores of translations and alignments against references. */
#include "interrupt.h"

#include <attend/metric.h>
#include <string.h>

enum { MAX_SAMPLES = 1000000 }; /* of the bootstrap, as of the command */

static PyTypeObject *score_type;

static const char *const score_fields[] = {
    "score",     "0 to 100; error rates can exceed 100",
    "low",       "95 % of the bootstrap samples are between low and high; None without bootstrap",
    "high",      "see low",
    "p",         "probability of so large a difference between equal systems; None without another system",
    "signature", "what was computed, in the format of sacreBLEU",
    NULL,
};

/* References of all lines: those of line i are texts.text[begin[i]] to begin[i + 1]. */
typedef struct references {
    core_texts texts;
    int *begin;
    int per_line; /* 0: it varies */
} references;

static void references_free(references *r)
{
    core_texts_free(&r->texts);
    PyMem_Free(r->begin);
    *r = (references){ 0 };
}

/* Each item is a str, or an iterable of alternative references. */
static bool references_read(references *r, PyObject *from, int lines)
{
    *r = (references){ 0 };
    PyObject *items = PyUnicode_Check(from) ? NULL : PySequence_Tuple(from), *flat = PyList_New(0);
    r->begin = PyMem_Calloc((size_t)lines + 1, sizeof *r->begin);
    bool ok = items && flat && r->begin;
    if (PyUnicode_Check(from))
        PyErr_SetString(PyExc_TypeError, "references must be a list");
    else if (!ok && !PyErr_Occurred())
        PyErr_NoMemory();
    if (ok && PyTuple_Size(items) != lines) {
        core_fail(ATTEND_BAD_USAGE, "there are %d hypotheses and %zd references", lines, PyTuple_Size(items));
        ok = false;
    }
    for (int i = 0; ok && i < lines; i++) {
        PyObject *item = PyTuple_GetItem(items, i);
        PyObject *list = PyUnicode_Check(item) ? PyTuple_Pack(1, item) : PySequence_Tuple(item);
        ok = list && PyList_SetSlice(flat, PyList_Size(flat), PyList_Size(flat), list) == 0;
        Py_XDECREF(list);
        r->begin[i + 1] = (int)PyList_Size(flat);
        const int count = r->begin[i + 1] - r->begin[i];
        r->per_line = i == 0 || r->per_line == count ? count : 0;
    }
    if (ok) ok = core_texts_read(&r->texts, flat, "references") && core_texts_have_no_nul(&r->texts, "references");
    Py_XDECREF(items);
    Py_XDECREF(flat);
    if (!ok) references_free(r);
    return ok;
}

/* The sums of each line, and of all. */
static int sum_lines(const attend_metric_options *o, const core_texts *hypotheses, const references *r,
                     attend_metric_sums *sums, attend_metric_sums *all, core_interrupt *interrupt)
{
    int status = ATTEND_OK;
    memset(all, 0, sizeof *all);
    for (int i = 0; status == ATTEND_OK && i < hypotheses->count; i++) {
        if (core_interrupted(interrupt)) return ATTEND_FAILED;
        memset(&sums[i], 0, sizeof *sums);
        status = attend_metric_add(o, &sums[i], hypotheses->text[i], r->texts.text + r->begin[i],
                                   r->begin[i + 1] - r->begin[i]);
        if (status == ATTEND_OK) attend_metric_merge(all, &sums[i]);
        if (status == ATTEND_BAD_DATA || status == ATTEND_BAD_USAGE)
            status = attend_fail(status, "line %d: %s", i + 1, attend_message());
    }
    return status;
}

typedef struct computation {
    attend_metric_options options;
    core_texts systems[2];
    int system_count, samples;
    references references;
    attend_metric_sums *sums[2];
    attend_interval interval;
    unsigned long long seed;
    core_interrupt interrupt;
} computation;

static int compute(computation *c)
{
    attend_metric_sums all, first = { 0 };
    int status = ATTEND_OK;
    for (int k = 0; status == ATTEND_OK && k < c->system_count; k++) {
        status = sum_lines(&c->options, &c->systems[k], &c->references, c->sums[k], &all, &c->interrupt);
        if (k == 0) first = all;
    }
    if (status != ATTEND_OK) return status;
    c->interval = (attend_interval){ .score = attend_metric_score(&c->options, &first), .p = 1 };
    if (c->samples == 0 || c->systems[0].count == 0) return ATTEND_OK;
    return attend_metric_bootstrap(&c->options, c->sums[0], c->system_count > 1 ? c->sums[1] : NULL,
                                   c->systems[0].count, c->samples, c->seed, &c->interval);
}

static PyObject *result_of(const computation *c)
{
    char signature[160];
    attend_metric_signature(&c->options, c->references.per_line, signature, sizeof signature);
    const bool has_interval = c->samples > 0, has_p = has_interval && c->system_count > 1;
    PyObject *const values[] = { PyFloat_FromDouble(c->interval.score),
                                 has_interval ? PyFloat_FromDouble(c->interval.low) : Py_NewRef(Py_None),
                                 has_interval ? PyFloat_FromDouble(c->interval.high) : Py_NewRef(Py_None),
                                 has_p ? PyFloat_FromDouble(c->interval.p) : Py_NewRef(Py_None), core_text(signature) };
    return core_record(score_type, 5, values);
}

PyDoc_STRVAR(metric_doc,
             "metric(name, hypotheses, references, *, tokenizer='13a', ignore_case=False, bootstrap=0,\n"
             "       against=None, seed=1)\n--\n\n"
             "Scores translations against references. Returns a MetricScore.\n\n"
             "name         'bleu', 'chrf', 'chrf++', 'ter', 'wer', 'cer', 'exact', 'token-accuracy' or 'line-error'\n"
             "hypotheses   a list of str\n"
             "references   a list with one item for each hypothesis: a str, or a list of alternatives\n"
             "tokenizer    of BLEU: '13a', 'none' or 'char'\n"
             "ignore_case  lower-case both sides\n"
             "bootstrap    number of bootstrap samples for low, high and p; 0: none\n"
             "against      translations of another system, for a paired test\n"
             "seed         of the bootstrap");

static PyObject *metric(PyObject *self, PyObject *arguments, PyObject *keywords)
{
    static char *names[] = { "name",      "hypotheses", "references", "tokenizer", "ignore_case",
                             "bootstrap", "against",    "seed",       NULL };
    static const char *const tokenizers[] = { "13a", "none", "char", NULL };
    computation c = { .system_count = 1, .seed = 1 };
    PyObject *hypotheses, *from, *against = Py_None, *result = NULL;
    const char *name, *tokenizer = "13a";
    int index, ignore_case = 0, status = ATTEND_OK;
    (void)self;
    if (!core_parse(arguments, keywords, "sOO|$spiOO&:metric", names, &name, &hypotheses, &from, &tokenizer,
                    &ignore_case, &c.samples, &against, core_uint64, &c.seed) ||
        !core_choice(tokenizer, tokenizers, "tokenizer", &index))
        return NULL;
    if (c.samples < 0 || c.samples > MAX_SAMPLES)
        return core_fail(ATTEND_BAD_USAGE, "bootstrap=%d: must be 0 to %d", c.samples, MAX_SAMPLES);
    if (!attend_metric_find(name, &c.options.kind))
        return core_fail(ATTEND_BAD_USAGE, "there is no metric '%.40s'", name);
    c.options.tokens = (attend_bleu_tokens)index, c.options.lowercase = ignore_case;
    bool ok =
        core_texts_read(&c.systems[0], hypotheses, "hypotheses") && core_texts_have_no_nul(&c.systems[0], "hypotheses");
    if (ok && against != Py_None) {
        c.system_count = 2;
        ok = core_texts_read(&c.systems[1], against, "against") && core_texts_have_no_nul(&c.systems[1], "against");
        if (ok && c.systems[0].count != c.systems[1].count) {
            core_fail(ATTEND_BAD_USAGE, "there are %d hypotheses and %d of the other system", c.systems[0].count,
                      c.systems[1].count);
            ok = false;
        }
    }
    if (ok) ok = references_read(&c.references, from, c.systems[0].count);
    for (int k = 0; ok && k < c.system_count; k++) {
        c.sums[k] = PyMem_Calloc((size_t)c.systems[k].count + 1, sizeof *c.sums[k]);
        ok = c.sums[k] != NULL;
        if (!ok) PyErr_NoMemory();
    }
    if (ok) {
        core_interrupt_begin(&c.interrupt);
        status = compute(&c);
        const bool stops = core_interrupt_end(&c.interrupt);
        result = stops ? NULL : status == ATTEND_OK ? result_of(&c) : core_raise(status);
    }
    for (int k = 0; k < 2; k++) {
        PyMem_Free(c.sums[k]);
        core_texts_free(&c.systems[k]);
    }
    references_free(&c.references);
    return result;
}

/* ---- alignments ---- */

static PyTypeObject *alignment_score_type;
static const char *const alignment_score_fields[] = {
    "aer",       "alignment error rate, 0 to 1",
    "precision", "share of the links that are in the gold alignment",
    "recall",    "share of the sure gold links that were found",
    NULL,
};

PyDoc_STRVAR(aer_doc, "aer(predicted, gold, /)\n--\n\n"
                      "The alignment error rate of links against gold links. Returns an AlignmentScore.\n\n"
                      "predicted  a list with, for each pair, a list of (source, target)\n"
                      "gold       the same; (source, target, False) is a link that is possible but not sure");

static PyObject *aer(PyObject *self, PyObject *arguments)
{
    PyObject *sides[2];
    attend_aer_sums sums = { 0 };
    (void)self;
    if (!PyArg_ParseTuple(arguments, "OO:aer", &sides[0], &sides[1])) return NULL;
    PyObject *lists[2] = { PySequence_Tuple(sides[0]), NULL };
    if (lists[0]) lists[1] = PySequence_Tuple(sides[1]);
    bool ok = lists[0] && lists[1];
    if (ok && PyTuple_Size(lists[0]) != PyTuple_Size(lists[1])) {
        core_fail(ATTEND_BAD_USAGE, "there are %zd predicted and %zd gold alignments", PyTuple_Size(lists[0]),
                  PyTuple_Size(lists[1]));
        ok = false;
    }
    for (Py_ssize_t i = 0; ok && i < PyTuple_Size(lists[0]); i++) {
        attend_word_link *links[2] = { NULL, NULL };
        int counts[2];
        ok = core_links_read(PyTuple_GetItem(lists[0], i), &links[0], &counts[0]) &&
             core_links_read(PyTuple_GetItem(lists[1], i), &links[1], &counts[1]);
        const int status = ok ? attend_aer_add(&sums, links[0], counts[0], links[1], counts[1]) : ATTEND_OK;
        if (status != ATTEND_OK) core_raise(status);
        ok = ok && status == ATTEND_OK;
        PyMem_Free(links[0]);
        PyMem_Free(links[1]);
    }
    Py_XDECREF(lists[0]);
    Py_XDECREF(lists[1]);
    if (!ok) return NULL;
    PyObject *const values[] = { PyFloat_FromDouble(attend_aer(&sums)),
                                 PyFloat_FromDouble(sums.predicted > 0 ? sums.matched_possible / sums.predicted : 0),
                                 PyFloat_FromDouble(sums.sure > 0 ? sums.matched_sure / sums.sure : 0) };
    return core_record(alignment_score_type, 3, values);
}

PyDoc_STRVAR(symmetrize_doc,
             "symmetrize(forward, reverse, method='grow-diag-final-and')\n--\n\n"
             "Combines the links (source, target) of two directions for one pair. Returns a list of links.\n\n"
             "method  'intersection', 'union', 'grow-diag', 'grow-diag-final' or 'grow-diag-final-and'");

static PyObject *symmetrize(PyObject *self, PyObject *arguments, PyObject *keywords)
{
    static char *names[] = { "forward", "reverse", "method", NULL };
    PyObject *sides[2], *list = NULL;
    const char *name = "grow-diag-final-and";
    attend_word_link *links[2] = { NULL, NULL }, *out = NULL;
    int how, counts[2] = { 0, 0 }, count = 0;
    (void)self;
    if (!core_parse(arguments, keywords, "OO|s:symmetrize", names, &sides[0], &sides[1], &name) ||
        !core_choice(name, attend_symmetrization_names, "method", &how))
        return NULL;
    if (core_links_read(sides[0], &links[0], &counts[0]) && core_links_read(sides[1], &links[1], &counts[1])) {
        out = PyMem_Calloc((size_t)counts[0] + (size_t)counts[1] + 1, sizeof *out);
        const int status =
            out ? attend_symmetrize((attend_symmetrization)how, links[0], counts[0], links[1], counts[1], out, &count)
                : attend_fail(ATTEND_NO_MEMORY, "no memory for links");
        list = status == ATTEND_OK ? core_links(out, count) : core_raise(status);
    }
    PyMem_Free(out);
    PyMem_Free(links[0]);
    PyMem_Free(links[1]);
    return list;
}

static PyMethodDef functions[] = {
    { "metric", CORE_METHOD(metric), METH_VARARGS | METH_KEYWORDS, metric_doc },
    { "aer", aer, METH_VARARGS, aer_doc },
    { "symmetrize", CORE_METHOD(symmetrize), METH_VARARGS | METH_KEYWORDS, symmetrize_doc },
    { NULL, NULL, 0, NULL },
};

int core_metrics_add(PyObject *module)
{
    score_type = core_record_type(module, "MetricScore", "The score of a metric.", score_fields);
    alignment_score_type =
        core_record_type(module, "AlignmentScore", "The error rate of alignments.", alignment_score_fields);
    return score_type && alignment_score_type ? PyModule_AddFunctions(module, functions) : -1;
}
