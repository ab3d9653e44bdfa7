/* attention.c: attend.Attention: attention on arrays, forward and backward. */
#include "attention_call.h"

#include <string.h>

/* ---- runners: thread pools with the memory of a call, kept for the next one ---- */

typedef struct idle_runner {
    attend_runner *runner; /* NULL: none */
    int threads;
    unsigned generation;
} idle_runner;
enum { IDLE_RUNNERS = 16 };
static idle_runner idle[IDLE_RUNNERS];

static int take_runner(attend_runner **runner, int threads)
{
    for (int i = 0; i < IDLE_RUNNERS; i++) {
        if (!idle[i].runner || idle[i].threads != threads || idle[i].generation != core_generation) continue;
        *runner = idle[i].runner;
        idle[i].runner = NULL;
        return ATTEND_OK;
    }
    return attend_runner_new(runner, threads);
}

static void give_runner(attend_runner *runner, int threads)
{
    for (int i = 0; runner && i < IDLE_RUNNERS; i++) {
        if (idle[i].runner && idle[i].generation == core_generation) continue;
        idle[i] = (idle_runner){ runner, threads, core_generation };
        return;
    }
    attend_runner_free(runner);
}

/* ---- the object ---- */

typedef struct attention_object {
    PyObject_HEAD attention_call call;
    attend_runner *runner; /* of the forward pass; NULL: backward was called */
    PyObject *context, *weights, *scores;
    void *context_data, *weights_data, *scores_data;
    unsigned generation;
} attention_object;

static PyTypeObject *attention_type, *gradients_type;

static const char *const gradient_fields[] = {
    "query",      "an Array of the shape of the query; None: not requested, or no such input",
    "key",        "the same of the key; with the gradient of the values if there were none",
    "value",      "the same of the value",
    "bias",       "the same of the bias",
    "position",   "the same of the position",
    "previous",   "the same of the previous weights",
    "parameters", "a dict of the gradients of the score's parameters",
    NULL,
};

static void attention_free(PyObject *self)
{
    attention_object *o = (attention_object *)self;
    PyTypeObject *type = Py_TYPE(self);
    if (o->generation == core_generation) give_runner(o->runner, o->call.threads);
    attention_call_free(&o->call);
    Py_XDECREF(o->context);
    Py_XDECREF(o->weights);
    Py_XDECREF(o->scores);
    PyObject_Free(self);
    Py_DECREF(type);
}

/* (batch, heads, queries, keys) */
static PyObject *new_weights(const attention_call *c, bool wanted, void **data)
{
    *data = NULL;
    if (!wanted) return Py_NewRef(Py_None);
    const Py_ssize_t shape[4] = { c->arrays.batch, c->options.heads, c->arrays.queries, c->arrays.keys };
    return core_array_new(4, shape, data);
}

static int run_forward(const attention_object *o, attend_runner *runner)
{
    return attend_runner_forward(runner, &o->call.options, &o->call.arrays, o->context_data, o->weights_data,
                                 o->scores_data);
}

static PyObject *forward(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
    attention_object *o = PyObject_New(attention_object, type);
    if (!o) return NULL;
    memset((char *)o + sizeof(PyObject), 0, sizeof *o - sizeof(PyObject));
    o->generation = core_generation;
    attention_call *c = &o->call;
    bool ok = attention_call_read(c, arguments, keywords);
    if (ok) {
        o->context = core_array_new(c->context_rank, c->context_shape, &o->context_data);
        o->weights = new_weights(c, c->wants_weights, &o->weights_data);
        o->scores = new_weights(c, c->wants_scores, &o->scores_data);
        ok = o->context && o->weights && o->scores;
    }
    int status = ok ? take_runner(&o->runner, c->threads) : ATTEND_OK;
    if (ok && status == ATTEND_OK) {
        Py_BEGIN_ALLOW_THREADS status = run_forward(o, o->runner);
        Py_END_ALLOW_THREADS
    }
    if (status != ATTEND_OK) core_raise(status);
    if (ok && status == ATTEND_OK) return (PyObject *)o;
    Py_DECREF((PyObject *)o);
    return NULL;
}

/* ---- backward ---- */

typedef struct wanted_gradients {
    bool inputs[INPUTS], parameters;
} wanted_gradients;

static const char *const gradient_names[] = { "query",    "key",      "value",      "bias",
                                              "position", "previous", "parameters", NULL };
enum { GRADIENT_PARAMETERS = INPUT_PREVIOUS + 1 };

static bool read_wanted(wanted_gradients *w, PyObject *from)
{
    for (int i = 0; i < INPUTS; i++) w->inputs[i] = from == Py_None;
    w->parameters = from == Py_None;
    if (from == Py_None) return true;
    core_texts names;
    if (!core_texts_read(&names, from, "wanted")) return false;
    bool ok = true;
    for (int i = 0, index; ok && i < names.count; i++) {
        ok = core_choice(names.text[i], gradient_names, "wanted", &index);
        if (ok && index == GRADIENT_PARAMETERS)
            w->parameters = true;
        else if (ok)
            w->inputs[index] = true;
    }
    core_texts_free(&names);
    return ok;
}

/* Opens a gradient that must have the shape of an Array of the forward pass. */
static bool open_gradient(core_input *in, PyObject *from, const char *what, int rank, const Py_ssize_t *shape)
{
    if (!core_input_open(in, from, CORE_REAL, what)) return false;
    bool ok = in->rank == rank;
    for (int i = 0; ok && i < rank; i++) ok = in->shape[i] == shape[i];
    if (!ok) core_fail(ATTEND_BAD_USAGE, "%s must have the shape of what it is the gradient of", what);
    return ok;
}

/* Arrays of zeros for the gradients that are wanted; the others are None. */
static bool new_gradients(const attention_object *o, const wanted_gradients *w, attend_array_gradients *g,
                          attend_real **parameters, PyObject **values)
{
    const attention_call *c = &o->call;
    attend_real **const data[] = { &g->query, &g->key, &g->value, &g->bias, &g->position, &g->previous };
    bool ok = true;
    for (int i = 0; i <= INPUT_PREVIOUS; i++) {
        const core_input *in = &c->inputs[i];
        const bool has = in->is_open && w->inputs[i];
        values[i] = has ? core_array_new(in->rank, in->shape, (void **)data[i]) : Py_NewRef(Py_None);
        ok &= values[i] != NULL;
    }
    PyObject *all = values[GRADIENT_PARAMETERS] = PyDict_New();
    const attend_widths sizes = { .query = 1, .key = 1, .value = 1, .heads = 1, .key_heads = 1 }; /* only for names */
    for (int i = 0; all && ok && w->parameters && i < c->parameter_count; i++) {
        const core_input *in = &c->parameters[i];
        PyObject *array = core_array_new(in->rank, in->shape, (void **)&parameters[i]);
        ok = array && PyDict_SetItemString(all, c->options.score->parameter(&sizes, i).name, array) == 0;
        Py_XDECREF(array);
    }
    g->parameters = w->parameters && c->parameter_count ? parameters : NULL;
    return ok && all;
}

PyDoc_STRVAR(
    backward_doc,
    "backward($self, dcontext, dweights=None, *, wanted=None)\n--\n\n"
    "The gradients of the inputs, given that of the context and, if it is not None, of the weights. Returns\n"
    "AttentionGradients. The inputs and the context must not have been changed. A second call computes the forward\n"
    "pass again.\n\n"
    "wanted  which gradients to compute, a list of names of AttentionGradients; None: all");

static PyObject *backward(PyObject *self, PyObject *arguments, PyObject *keywords)
{
    static char *names[] = { "dcontext", "dweights", "wanted", NULL };
    attention_object *o = (attention_object *)self;
    PyObject *from[2] = { NULL, Py_None }, *wanted = Py_None;
    wanted_gradients w;
    if (!core_parse(arguments, keywords, "O|O$O:backward", names, &from[0], &from[1], &wanted) ||
        !read_wanted(&w, wanted))
        return NULL;
    if (o->generation != core_generation)
        return core_fail(ATTEND_BAD_USAGE, "backward must be called in the process of the forward pass");
    const attention_call *c = &o->call;
    const Py_ssize_t shape[4] = { c->arrays.batch, c->options.heads, c->arrays.queries, c->arrays.keys };
    core_input inputs[2] = { { 0 }, { 0 } };
    attend_array_gradients g = { 0 };
    attend_real *parameters[ATTEND_SCORE_PARAMETERS] = { NULL };
    PyObject *values[GRADIENT_PARAMETERS + 1] = { NULL }, *result = NULL;
    bool ok = open_gradient(&inputs[0], from[0], "dcontext", c->context_rank, c->context_shape) &&
              (from[1] == Py_None || open_gradient(&inputs[1], from[1], "dweights", 4, shape));
    ok = ok && new_gradients(o, &w, &g, parameters, values);
    attend_runner *runner = o->runner;
    const bool again = !runner; /* the results are the same to the bit */
    int status = ok && again ? take_runner(&runner, c->threads) : ATTEND_OK;
    if (ok && status == ATTEND_OK) {
        o->runner = NULL; /* no other thread may use it */
        Py_BEGIN_ALLOW_THREADS if (again) status = run_forward(o, runner);
        if (status == ATTEND_OK) status = attend_runner_backward(runner, inputs[0].data, inputs[1].data, &g);
        Py_END_ALLOW_THREADS if (o->generation == core_generation) give_runner(runner, c->threads);
    }
    if (status != ATTEND_OK) core_raise(status);
    if (ok && status == ATTEND_OK)
        result = core_record(gradients_type, GRADIENT_PARAMETERS + 1, values);
    else
        for (int i = 0; i <= GRADIENT_PARAMETERS; i++) Py_XDECREF(values[i]);
    core_input_close(&inputs[0]);
    core_input_close(&inputs[1]);
    return result;
}

/* ---- the type ---- */

static PyObject *get_context(PyObject *self, void *closure)
{
    (void)closure;
    return Py_NewRef(((attention_object *)self)->context);
}

static PyObject *get_weights(PyObject *self, void *closure)
{
    (void)closure;
    return Py_NewRef(((attention_object *)self)->weights);
}

static PyObject *get_scores(PyObject *self, void *closure)
{
    (void)closure;
    return Py_NewRef(((attention_object *)self)->scores);
}

static PyMethodDef methods[] = {
    { "backward", CORE_METHOD(backward), METH_VARARGS | METH_KEYWORDS, backward_doc },
    { NULL, NULL, 0, NULL },
};

static PyGetSetDef properties[] = {
    { "context", get_context, NULL, "The weighted sums of the values, an Array with the axes of the query.", NULL },
    { "weights", get_weights, NULL, "An Array (batch, heads, queries, keys); None: not requested.", NULL },
    { "scores", get_scores, NULL, "The scores before the selection, like weights; -inf for excluded keys.", NULL },
    { NULL, NULL, NULL, NULL, NULL },
};

static PyType_Slot slots[] = {
    { Py_tp_doc, (void *)attention_call_doc },
    { Py_tp_dealloc, attention_free },
    { Py_tp_new, forward },
    { Py_tp_methods, methods },
    { Py_tp_getset, properties },
    { 0, NULL },
};
static PyType_Spec spec = { "attend.Attention", sizeof(attention_object), 0, Py_TPFLAGS_DEFAULT, slots };

int core_attention_add(PyObject *module)
{
    gradients_type =
        core_record_type(module, "AttentionGradients", "What Attention.backward computes.", gradient_fields);
    return gradients_type ? core_type_add(module, &spec, &attention_type) : -1;
}
