/* aligner.c: attend.Aligner: word alignments without a neural model, estimated from sentence pairs. */
#include "interrupt.h"

#include <attend/aligner.h>
#include <attend/file_content.h>
#include <attend/metric.h>
#include <attend/processors.h>
#include <string.h>

enum { BATCH = 1024 };

/* "forward", "reverse" and "agreed" are in the order of attend_aligned; symmetrisations follow. */
static const char *const own_methods[] = { "forward", "reverse", "agreed" };
enum { OWN_METHODS = 3 };

typedef struct aligner_object {
    PyObject_HEAD attend_aligner *aligner;
    unsigned generation;
    bool is_busy; /* a call is running with the GIL released */
} aligner_object;

static PyTypeObject *aligner_type;

static void aligner_free(PyObject *self)
{
    aligner_object *o = (aligner_object *)self;
    PyTypeObject *type = Py_TYPE(self);
    if (o->generation == core_generation) attend_aligner_free(o->aligner);
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyObject *wrap(attend_aligner *a)
{
    aligner_object *o = PyObject_New(aligner_object, aligner_type);
    if (!o) {
        attend_aligner_free(a);
        return NULL;
    }
    o->aligner = a, o->generation = core_generation, o->is_busy = false;
    return (PyObject *)o;
}

/* Claims the aligner, which one thread at a time may use. */
static bool claim(aligner_object *o)
{
    if (o->generation != core_generation)
        core_fail(ATTEND_BAD_USAGE, "the aligner belongs to the parent process; train or load one in this process");
    else if (o->is_busy)
        core_fail(ATTEND_BAD_USAGE, "another thread is using the aligner");
    else
        return o->is_busy = true;
    return false;
}

static bool read_method(const char *name, int *method)
{
    const char *names[OWN_METHODS + 8] = { own_methods[0], own_methods[1], own_methods[2] };
    for (int i = 0; i < 7 && attend_symmetrization_names[i]; i++)
        names[OWN_METHODS + i] = attend_symmetrization_names[i];
    return core_choice(name, names, "method", method);
}

/* ---- training and loading ---- */

static bool read_unit(attend_aligner_options *o, const char *unit)
{
    int index;
    if (!core_choice(unit, attend_unit_names, "unit", &index)) return false;
    o->unit = (attend_unit)index;
    return true;
}

PyDoc_STRVAR(train_doc,
             "train(pairs, *, unit='auto', threshold=0.5, model1_iterations=5, hmm_iterations=5, threads=None,\n"
             "      memory=0)\n--\n\n"
             "Trains an aligner on pairs: IBM Model 1 and a hidden Markov model in both directions, by agreement.\n\n"
             "pairs      a list of (source, target)\n"
             "unit       of both sides: 'auto', 'word' or 'character'\n"
             "threshold  of the method 'agreed': larger values give fewer and surer links\n"
             "threads    None: one for each physical core. Results do not depend on it\n"
             "memory     limit of the translation probabilities in bytes, or a text such as '2G'; 0: none");

static PyObject *train(PyObject *type, PyObject *arguments, PyObject *keywords)
{
    static char *names[] = { "pairs",          "unit",    "threshold", "model1_iterations",
                             "hmm_iterations", "threads", "memory",    NULL };
    attend_aligner_options o = attend_aligner_defaults();
    attend_aligner *a = NULL;
    PyObject *from;
    const char *unit = "auto";
    core_pairs pairs;
    int status;
    (void)type;
    o.threads = attend_processors_threads();
    if (!core_parse(arguments, keywords, "O|$sdiiO&O&:train", names, &from, &unit, &o.threshold, &o.model1_iterations,
                    &o.hmm_iterations, core_threads, &o.threads, core_memory, &o.memory) ||
        !read_unit(&o, unit) || !core_pairs_read(&pairs, from, "pairs"))
        return NULL;
    core_interrupt interrupt;
    o.stop = core_interrupted, o.user = &interrupt;
    core_interrupt_begin(&interrupt);
    status = attend_aligner_new(&a, &o);
    for (int i = 0; status == ATTEND_OK && i < pairs.source.count && !core_interrupted(&interrupt); i += BATCH) {
        const int n = pairs.source.count - i < BATCH ? pairs.source.count - i : BATCH;
        status = attend_aligner_add(a, n, pairs.source.text + i, pairs.target.text + i);
    }
    if (status == ATTEND_OK) status = attend_aligner_train(a);
    const bool stops = core_interrupt_end(&interrupt);
    core_pairs_free(&pairs);
    if (status == ATTEND_OK && !stops) return wrap(a);
    attend_aligner_free(a);
    return stops ? NULL : core_raise(status);
}

PyDoc_STRVAR(load_doc, "load(path, *, threshold=0.5, threads=None)\n--\n\n"
                       "Loads an aligner that save, or `attend align --save`, has written.");

static PyObject *load(PyObject *type, PyObject *arguments, PyObject *keywords)
{
    static char *names[] = { "path", "threshold", "threads", NULL };
    attend_aligner_options o = attend_aligner_defaults();
    attend_aligner *a = NULL;
    PyObject *from;
    core_paths path;
    int status;
    (void)type;
    o.threads = attend_processors_threads();
    if (!core_parse(arguments, keywords, "O|$dO&:load", names, &from, &o.threshold, core_threads, &o.threads) ||
        !core_path_read(&path, from, "path"))
        return NULL;
    Py_BEGIN_ALLOW_THREADS status = attend_aligner_load(&a, path.names[0], &o);
    Py_END_ALLOW_THREADS core_paths_free(&path);
    return status == ATTEND_OK ? wrap(a) : core_raise(status);
}

PyDoc_STRVAR(save_doc,
             "save($self, path, /)\n--\n\n"
             "Writes the aligner to a file. An existing aligner is replaced atomically; any other kind of file is\n"
             "not replaced: ValueError.");

static PyObject *save(PyObject *self, PyObject *to)
{
    aligner_object *o = (aligner_object *)self;
    core_paths path;
    int status;
    if (!core_path_read(&path, to, "path")) return NULL;
    if (!claim(o)) {
        core_paths_free(&path);
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS status = attend_content_check(path.names[0], ATTEND_CONTENT_ALIGNER, NULL);
    if (status == ATTEND_OK) status = attend_aligner_save(o->aligner, path.names[0]);
    Py_END_ALLOW_THREADS o->is_busy = false;
    core_paths_free(&path);
    return status == ATTEND_OK ? Py_NewRef(Py_None) : core_raise(status);
}

/* ---- aligning ---- */

static PyObject *links_of(const attend_aligned_pair *r, int method)
{
    if (method < OWN_METHODS) return core_links(r->links[method], r->counts[method]);
    const int *n = r->counts;
    int count = 0;
    attend_word_link *out = PyMem_Calloc((size_t)n[0] + (size_t)n[1] + 1, sizeof *out);
    const int status = out ? attend_symmetrize((attend_symmetrization)(method - OWN_METHODS), r->links[0], n[0],
                                               r->links[1], n[1], out, &count)
                           : attend_fail(ATTEND_NO_MEMORY, "no memory for links");
    PyObject *list = status == ATTEND_OK ? core_links(out, count) : core_raise(status);
    PyMem_Free(out);
    return list;
}

/* Aligns pairs, or those of the training if there are none, in batches. */
static PyObject *align_all(aligner_object *o, const core_pairs *pairs, int method)
{
    const size_t count = pairs ? (size_t)pairs->source.count : attend_aligner_pairs(o->aligner);
    PyObject *list = PyList_New((Py_ssize_t)count);
    int status;
    for (size_t first = 0; list && first < count; first += BATCH) {
        const int part = count - first < BATCH ? (int)(count - first) : BATCH;
        Py_BEGIN_ALLOW_THREADS status =
            pairs ? attend_aligner_align(o->aligner, part, pairs->source.text + first, pairs->target.text + first)
                  : attend_aligner_align_added(o->aligner, first, part);
        Py_END_ALLOW_THREADS bool ok = status == ATTEND_OK;
        if (!ok) core_raise(status);
        for (int i = 0; ok && i < part; i++) {
            PyObject *links = links_of(attend_aligner_result(o->aligner, i), method);
            ok = links && PyList_SetItem(list, (Py_ssize_t)first + i, links) == 0;
        }
        if (!ok || PyErr_CheckSignals() < 0) Py_CLEAR(list);
    }
    return list;
}

PyDoc_STRVAR(align_doc,
             "align($self, pairs=None, *, method='agreed')\n--\n\n"
             "Aligns the words of pairs; None: of the pairs that it was trained on. Returns a list of lists of\n"
             "(source, target), counted from 0. A pair that cannot be aligned has no links.\n\n"
             "method  'agreed', 'forward', 'reverse', or how to combine the two: 'intersection', 'union',\n"
             "        'grow-diag', 'grow-diag-final' or 'grow-diag-final-and'");

static PyObject *align(PyObject *self, PyObject *arguments, PyObject *keywords)
{
    static char *names[] = { "pairs", "method", NULL };
    aligner_object *o = (aligner_object *)self;
    PyObject *from = Py_None, *list = NULL;
    const char *name = "agreed";
    core_pairs pairs = { { 0 }, { 0 } };
    int method;
    if (!core_parse(arguments, keywords, "|O$s:align", names, &from, &name) || !read_method(name, &method) ||
        (from != Py_None && !core_pairs_read(&pairs, from, "pairs")))
        return NULL;
    if (claim(o)) {
        list = align_all(o, from == Py_None ? NULL : &pairs, method);
        o->is_busy = false;
    }
    core_pairs_free(&pairs);
    return list;
}

static PyMethodDef methods[] = {
    { "train", CORE_METHOD(train), METH_VARARGS | METH_KEYWORDS | METH_STATIC, train_doc },
    { "load", CORE_METHOD(load), METH_VARARGS | METH_KEYWORDS | METH_STATIC, load_doc },
    { "save", save, METH_O, save_doc },
    { "align", CORE_METHOD(align), METH_VARARGS | METH_KEYWORDS, align_doc },
    { NULL, NULL, 0, NULL },
};

PyDoc_STRVAR(aligner_doc, "A statistical word aligner (docs/alignment.md). Aligner.train makes one.");

static PyType_Slot slots[] = {
    { Py_tp_doc, (void *)aligner_doc },
    { Py_tp_dealloc, aligner_free },
    { Py_tp_methods, methods },
    { 0, NULL },
};
static PyType_Spec spec = { "attend.Aligner", sizeof(aligner_object), 0,
                            Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots };

int core_aligner_add(PyObject *module)
{
    return core_type_add(module, &spec, &aligner_type);
}
