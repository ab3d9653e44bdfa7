#include "attention_call.h"

#include <attend/processors.h>
#include <limits.h>
#include <string.h>

static const char *const windows[] = { "global", "local-m", "local-p", NULL };
static const char *const selections[] = { "soft", "sparsemax", "entmax15", "hard", NULL };
static const char *const estimators[] = { "straight-through", "reinforce", NULL };
static const char *const input_names[INPUTS] = { "query", "key", "value", "bias", "position", "previous", "mask" };

void attention_call_free(attention_call *c)
{
    for (int i = 0; i < INPUTS; i++) core_input_close(&c->inputs[i]);
    for (int i = 0; i < ATTEND_SCORE_PARAMETERS; i++) core_input_close(&c->parameters[i]);
    PyMem_Free(c->lengths[0]);
    PyMem_Free(c->lengths[1]);
    PyMem_Free(c->advantage);
    memset(c, 0, sizeof *c);
}

/* ---- shapes ---- */

/* The axes of query, key or value: rows (T, width), (B, T, width) or, with heads apart, rank 4. */
typedef struct axes {
    Py_ssize_t batch, length, heads, width;
} axes;

static bool read_axes(const core_input *in, const char *what, bool heads_first, int heads, axes *out)
{
    const Py_ssize_t *n = in->shape;
    *out = (axes){ .batch = 1, .heads = heads };
    if (in->rank == 4) {
        *out = (axes){ n[0], n[heads_first ? 2 : 1], n[heads_first ? 1 : 2], n[3] };
    } else if (in->rank == 3) {
        *out = (axes){ n[0], n[1], heads, n[2] / heads };
    } else if (in->rank == 2) {
        *out = (axes){ 1, n[0], heads, n[1] / heads };
    } else {
        core_fail(ATTEND_BAD_USAGE, "%s must have 2, 3 or 4 axes, and has %d", what, in->rank);
        return false;
    }
    if (in->rank < 4 && n[in->rank - 1] % heads != 0) {
        core_fail(ATTEND_BAD_USAGE, "%s has a width of %zd, which %d heads do not divide", what, n[in->rank - 1],
                  heads);
        return false;
    }
    if (out->heads < 1) {
        core_fail(ATTEND_BAD_USAGE, "%s has no heads", what);
        return false;
    }
    for (int i = 0; i < in->rank; i++)
        if (n[i] > INT_MAX) {
            core_fail(ATTEND_BAD_USAGE, "%s: an axis is longer than %d", what, INT_MAX);
            return false;
        }
    return true;
}

static bool read_shapes(attention_call *c)
{
    core_input *in = c->inputs;
    attend_arrays *a = &c->arrays;
    const bool first = a->heads_first;
    axes q, k, v;
    if (c->options.heads < 1 || c->options.key_heads < 0)
        return core_fail(ATTEND_BAD_USAGE, "heads=%d, key_heads=%d: must be at least 1", c->options.heads,
                         c->options.key_heads) != NULL;
    int key_heads = c->options.key_heads ? c->options.key_heads : c->options.heads;
    if (!read_axes(&in[INPUT_QUERY], "query", first, c->options.heads, &q) ||
        !read_axes(&in[INPUT_KEY], "key", first, key_heads, &k))
        return false;
    v = k;
    if (in[INPUT_VALUE].is_open && !read_axes(&in[INPUT_VALUE], "value", first, key_heads, &v)) return false;
    if (q.batch != k.batch || k.batch != v.batch || k.length != v.length || k.heads != v.heads ||
        in[INPUT_QUERY].rank != in[INPUT_KEY].rank ||
        (in[INPUT_VALUE].is_open && in[INPUT_VALUE].rank != in[INPUT_KEY].rank))
        return core_fail(ATTEND_BAD_USAGE,
                         "query, key and value differ in their number of axes, or in batch, length "
                         "or heads: (%zd, %zd, %zd), (%zd, %zd, %zd), (%zd, %zd, %zd)",
                         q.batch, q.length, q.heads, k.batch, k.length, k.heads, v.batch, v.length, v.heads) != NULL;
    c->options.heads = (int)q.heads, c->options.key_heads = (int)k.heads;
    a->heads_first = first && in[INPUT_QUERY].rank == 4;
    a->batch = (int)q.batch, a->queries = (int)q.length, a->keys = (int)k.length;
    a->query_width = (int)q.width, a->key_width = (int)k.width, a->value_width = (int)v.width;
    a->query = in[INPUT_QUERY].data, a->key = in[INPUT_KEY].data;
    a->value = in[INPUT_VALUE].is_open ? in[INPUT_VALUE].data : NULL;
    return true;
}

/* (Tq, Tk) and (B, Tq, Tk) are completed to four axes. */
static bool read_four(const core_input *in, const char *what, int shape[4])
{
    if (in->rank < 2)
        return core_fail(ATTEND_BAD_USAGE, "%s must have 2 to 4 axes, and has %d", what, in->rank) != NULL;
    const Py_ssize_t *n = in->shape;
    const int skip = 4 - in->rank;
    for (int i = 0; i < 4; i++) shape[i] = i < skip ? 1 : (int)n[i - skip];
    if (in->rank == 3) shape[0] = (int)n[0], shape[1] = 1; /* one mask for all heads of a sequence */
    return true;
}

static bool read_masks(attention_call *c)
{
    attend_arrays *a = &c->arrays;
    core_input *in = c->inputs;
    if (in[INPUT_MASK].is_open) {
        if (!read_four(&in[INPUT_MASK], "mask", a->allowed_shape)) return false;
        a->allowed = in[INPUT_MASK].data;
    }
    if (in[INPUT_BIAS].is_open) {
        if (!read_four(&in[INPUT_BIAS], "bias", a->bias_shape)) return false;
        a->bias = in[INPUT_BIAS].data;
    }
    const size_t rows = (size_t)a->batch * (size_t)a->queries;
    for (int i = INPUT_POSITION; i <= INPUT_PREVIOUS; i++) {
        size_t count = 1;
        const size_t expected = i == INPUT_POSITION ? rows : rows * (size_t)a->keys;
        for (int k = 0; k < in[i].rank; k++) count *= (size_t)in[i].shape[k];
        if (in[i].is_open && count != expected)
            return core_fail(ATTEND_BAD_USAGE, "%s has %zu numbers; %s needs %zu", input_names[i], count,
                             i == INPUT_POSITION ? "(batch, queries)" : "(batch, queries, keys)", expected) != NULL;
    }
    if (in[INPUT_POSITION].is_open) a->position = in[INPUT_POSITION].data;
    if (in[INPUT_PREVIOUS].is_open) a->previous = in[INPUT_PREVIOUS].data;
    return true;
}

/* ---- lengths ---- */

/* (batch) integers, from an array or any iterable. */
static bool read_lengths(int **out, PyObject *from, int batch, const char *what)
{
    core_input in = { 0 };
    PyObject *items = NULL;
    if (from == Py_None) return true;
    const int is_array = PyObject_CheckBuffer(from) ? 1 : core_has_attribute(from, "__dlpack__");
    if (is_array < 0) return false;
    if (is_array ? !core_input_open(&in, from, CORE_INT32, what) : !(items = PySequence_Tuple(from))) return false;
    const Py_ssize_t count = is_array ? (in.rank == 1 ? in.shape[0] : -1) : PyTuple_Size(items);
    int *lengths = count == batch ? PyMem_Calloc((size_t)batch + 1, sizeof *lengths) : NULL;
    if (count != batch)
        core_fail(ATTEND_BAD_USAGE, "%s must have one number for each of the %d sequences", what, batch);
    else if (!lengths)
        PyErr_NoMemory();
    for (int i = 0; lengths && i < batch; i++) {
        int overflow = 0;
        const long long n = !is_array               ? PyLong_AsLongLongAndOverflow(PyTuple_GetItem(items, i), &overflow)
                            : in.kind == CORE_INT64 ? ((const int64_t *)in.data)[i]
                                                    : ((const int32_t *)in.data)[i];
        lengths[i] = n >= 0 && n <= INT_MAX ? (int)n : -1; /* refused by the library */
    }
    core_input_close(&in);
    Py_XDECREF(items);
    *out = lengths;
    return !PyErr_Occurred();
}

static bool read_advantage(attention_call *c, PyObject *from)
{
    if (from == Py_None) return true;
    PyObject *items = PySequence_Tuple(from);
    if (!items) return false;
    if (PyTuple_Size(items) != c->arrays.batch)
        core_fail(ATTEND_BAD_USAGE, "advantage must have one number for each of the %d sequences", c->arrays.batch);
    else if (!(c->advantage = PyMem_Calloc((size_t)c->arrays.batch + 1, sizeof *c->advantage)))
        PyErr_NoMemory();
    for (int i = 0; c->advantage && i < c->arrays.batch; i++)
        c->advantage[i] = PyFloat_AsDouble(PyTuple_GetItem(items, i));
    Py_DECREF(items);
    c->arrays.advantage = c->advantage;
    return !PyErr_Occurred();
}

/* ---- parameters of the score ---- */

static attend_widths widths_of(const attention_call *c)
{
    const attend_arrays *a = &c->arrays;
    const attend_attention_options *o = &c->options;
    return (attend_widths){ .query = a->query_width * o->heads,
                            .key = a->key_width * o->key_heads,
                            .value = (a->value ? a->value_width : a->key_width) * o->key_heads,
                            .heads = o->heads,
                            .key_heads = o->key_heads,
                            .attention = a->attention,
                            .max_keys = a->max_keys,
                            .filters = a->filters,
                            .filter_size = a->filter_size };
}

/* The widths that only the shapes of parameters tell. */
static void infer_width(attention_call *c, const char *name, const core_input *in)
{
    attend_arrays *a = &c->arrays;
    if (in->rank < 1) return;
    if (strcmp(name, "wq") == 0) a->attention = (int)in->shape[0];
    if (strcmp(name, "wa") == 0) a->max_keys = (int)in->shape[0] / c->options.heads;
    if (strcmp(name, "f") == 0) a->filters = (int)in->shape[0], a->filter_size = in->rank > 1 ? (int)in->shape[1] : 1;
}

/* The parameter with a name, a borrowed reference; NULL: an exception is set. */
static PyObject *find_parameter(PyObject *from, const char *name, int i)
{
    PyObject *item = NULL;
    if (PyDict_Check(from)) {
        core_dict_find(from, name, &item);
    } else {
        if (i < PyTuple_Size(from)) item = PyTuple_GetItem(from, i);
    }
    if (!item && !PyErr_Occurred()) core_fail(ATTEND_BAD_USAGE, "the score needs a parameter '%s'", name);
    return item;
}

static bool check_parameters(attention_call *c)
{
    const attend_widths w = widths_of(c);
    for (int i = 0; i < c->parameter_count; i++) {
        const attend_score_parameter p = c->options.score->parameter(&w, i);
        const core_input *in = &c->parameters[i];
        bool ok = in->rank == p.rank;
        for (int k = 0; ok && k < p.rank; k++) ok = in->shape[k] == p.shape[k];
        if (ok) continue;
        if (p.rank == 2)
            core_fail(ATTEND_BAD_USAGE, "parameter '%s' must have the shape (%d, %d)", p.name, p.shape[0], p.shape[1]);
        else
            core_fail(ATTEND_BAD_USAGE, "parameter '%s' must have the shape (%d,)", p.name, p.shape[0]);
        return false;
    }
    return true;
}

/* A dict, also of another mapping, or a tuple. */
static PyObject *parameters_of(PyObject *given)
{
    if (PyDict_Check(given)) return Py_NewRef(given);
    const int is_mapping = core_has_attribute(given, "keys");
    if (is_mapping <= 0) return is_mapping < 0 ? NULL : PySequence_Tuple(given);
    PyObject *dict = PyDict_New();
    if (dict && PyDict_Update(dict, given) < 0) Py_CLEAR(dict);
    return dict;
}

static bool read_parameters(attention_call *c, PyObject *given)
{
    const attend_score *score = c->options.score;
    const attend_widths w = widths_of(c);
    if (given == Py_None && score->parameter && score->parameter(&w, 0).name)
        return core_fail(ATTEND_BAD_USAGE, "the score '%s' needs parameters", score->name) != NULL;
    if (given == Py_None) return true;
    PyObject *from = parameters_of(given);
    if (!from) return false;
    attend_score_parameter p = { 0 };
    bool ok = true;
    for (int i = 0; score->parameter && i < ATTEND_SCORE_PARAMETERS && (p = score->parameter(&w, i)).name; i++) {
        PyObject *item = find_parameter(from, p.name, i);
        ok = item && core_input_open(&c->parameters[i], item, CORE_REAL, p.name);
        if (!ok) break;
        infer_width(c, p.name, &c->parameters[i]);
        c->parameter_data[i] = c->parameters[i].data;
        c->parameter_count++;
    }
    const Py_ssize_t count = ok ? PyObject_Size(from) : 0;
    Py_DECREF(from);
    if (ok && count != c->parameter_count)
        return core_fail(ATTEND_BAD_USAGE, "the score '%s' has %d parameters, and %zd are given", score->name,
                         c->parameter_count, count) != NULL;
    c->arrays.parameters = c->parameter_count ? c->parameter_data : NULL;
    return ok && check_parameters(c);
}

/* ---- the whole call ---- */

static void set_context_shape(attention_call *c)
{
    const attend_arrays *a = &c->arrays;
    const attend_widths w = widths_of(c);
    const bool projects = c->options.score->context_width != NULL;
    const int heads = c->options.heads, value = a->value ? a->value_width : a->key_width;
    const int width = projects ? c->options.score->context_width(&w) : heads * value;
    const int rank = c->inputs[INPUT_QUERY].rank;
    Py_ssize_t *n = c->context_shape;
    c->context_rank = rank == 4 && projects ? 3 : rank;
    n[0] = rank == 2 ? a->queries : a->batch;
    n[1] = rank == 2 ? width : a->queries;
    n[2] = width;
    if (c->context_rank == 4)
        n[1] = a->heads_first ? heads : a->queries, n[2] = a->heads_first ? a->queries : heads, n[3] = value;
}

const char attention_call_doc[] =
    "Attention(query, key, value=None, *, score='scaled-dot', parameters=None, heads=1, key_heads=0,\n"
    "          heads_first=True, lengths=None, query_lengths=None, mask=None, bias=None, causal=False,\n"
    "          window='global', window_size=0, position=None, first_position=0, selection='soft',\n"
    "          scale=0.0, soft_cap=0.0, dropout=0.0, training=False, seed=0, stream=0, previous=None,\n"
    "          estimator='straight-through', temperature=1.0, entropy_bonus=0.0, advantage=None,\n"
    "          return_weights=False, return_scores=False, recompute=False, threads=None)\n--\n\n"
    "Attention on arrays: computes `context`, and keeps what `backward` needs.\n\n"
    "query, key, value  (batch, length, heads * width), (length, heads * width), or with four axes\n"
    "                   (batch, heads, length, width); heads_first=False: (batch, length, heads, width).\n"
    "                   Contiguous float32, in the memory of the CPU; they are not copied. value None: the keys\n"
    "score, parameters  the score function, 'dot', 'scaled-dot', 'bilinear', 'additive', 'projected', 'location' or\n"
    "                   'location-sensitive', and its parameters: a dict, or a list in order (docs/python.md)\n"
    "heads, key_heads   with two or three axes: the number of heads; key_heads 0: as many as heads\n"
    "lengths            keys of each sequence; query_lengths: queries of each\n"
    "mask               True: the query attends to the key. (queries, keys), (batch, queries, keys) or\n"
    "                   (batch, heads, queries, keys); an axis of length 1 is broadcast\n"
    "bias               added to the scores; shapes as mask. -inf excludes a key\n"
    "causal             query i attends to keys 0 to i + keys - queries\n"
    "window, window_size\n"
    "                   'global', 'local-m' or 'local-p', with window_size keys on each side; position: (batch,\n"
    "                   queries) of local-p, 0 to 1; first_position: of the first query, for local-m\n"
    "selection          'soft', 'sparsemax', 'entmax15' or 'hard' (estimator, temperature, entropy_bonus, advantage)\n"
    "scale, soft_cap    factor of the scores, 0: the score's own; cap * tanh(score / cap), 0: none\n"
    "dropout, training, seed, stream\n"
    "                   dropout of weights and sampling of hard attention happen in training only\n"
    "previous           location-sensitive: the weights of the step before, (batch, queries, keys)\n"
    "return_scores      the scores before the selection; not for scores that project queries or keys\n"
    "recompute          backward recomputes the weights instead of keeping them\n"
    "threads            None: one for each physical core. Results do not depend on it";

typedef struct arguments_read {
    PyObject *inputs[INPUTS], *parameters, *lengths, *query_lengths, *advantage;
    const char *score, *window, *selection, *estimator;
    int heads_first, causal, training, weights, scores, recompute;
    unsigned long long seed, stream;
} arguments_read;

static bool parse(attention_call *c, arguments_read *r, PyObject *arguments, PyObject *keywords)
{
    static char *names[] = { "query",          "key",
                             "value",          "score",
                             "parameters",     "heads",
                             "key_heads",      "heads_first",
                             "lengths",        "query_lengths",
                             "mask",           "bias",
                             "causal",         "window",
                             "window_size",    "position",
                             "first_position", "selection",
                             "scale",          "soft_cap",
                             "dropout",        "training",
                             "seed",           "stream",
                             "previous",       "estimator",
                             "temperature",    "entropy_bonus",
                             "advantage",      "return_weights",
                             "return_scores",  "recompute",
                             "threads",        NULL };
    attend_attention_options *o = &c->options;
    return core_parse(arguments, keywords, "OO|O$sOiipOOOOpsiOisdddpO&O&OsddOpppO&:Attention", names,
                      &r->inputs[INPUT_QUERY], &r->inputs[INPUT_KEY], &r->inputs[INPUT_VALUE], &r->score,
                      &r->parameters, &o->heads, &o->key_heads, &r->heads_first, &r->lengths, &r->query_lengths,
                      &r->inputs[INPUT_MASK], &r->inputs[INPUT_BIAS], &r->causal, &r->window, &o->window_size,
                      &r->inputs[INPUT_POSITION], &c->arrays.first_position, &r->selection, &o->scale, &o->soft_cap,
                      &o->dropout, &r->training, core_uint64, &r->seed, core_uint64, &r->stream,
                      &r->inputs[INPUT_PREVIOUS], &r->estimator, &o->temperature, &o->entropy_bonus, &r->advantage,
                      &r->weights, &r->scores, &r->recompute, core_threads, &c->threads);
}

static bool read_choices(attention_call *c, const arguments_read *r)
{
    attend_attention_options *o = &c->options;
    int window, selection, estimator;
    if (!core_choice(r->window, windows, "window", &window) ||
        !core_choice(r->selection, selections, "selection", &selection) ||
        !core_choice(r->estimator, estimators, "estimator", &estimator))
        return false;
    o->window = (attend_window)window, o->selection = (attend_selection)selection;
    o->estimator = (attend_estimator)estimator;
    o->score = attend_score_find(r->score);
    if (!o->score) {
        char list[300];
        attend_score_names(list, sizeof list);
        core_fail(ATTEND_BAD_USAGE, "score='%.40s': must be one of %s", r->score, list);
        return false;
    }
    return true;
}

bool attention_call_read(attention_call *c, PyObject *arguments, PyObject *keywords)
{
    static const attend_attention_options init = ATTEND_ATTENTION_OPTIONS_INIT;
    arguments_read r = { .score = "scaled-dot",
                         .window = "global",
                         .selection = "soft",
                         .estimator = "straight-through",
                         .heads_first = 1 };
    r.parameters = r.lengths = r.query_lengths = r.advantage = Py_None;
    for (int i = 0; i < INPUTS; i++) r.inputs[i] = Py_None;
    memset(c, 0, sizeof *c);
    c->options = init;
    c->threads = attend_processors_threads();
    if (!parse(c, &r, arguments, keywords) || !read_choices(c, &r)) return false;
    c->options.causal = r.causal, c->options.recompute = r.recompute;
    c->arrays.heads_first = r.heads_first, c->arrays.training = r.training;
    c->arrays.seed = r.seed, c->arrays.stream = r.stream;
    c->wants_weights = r.weights, c->wants_scores = r.scores;
    for (int i = 0; i < INPUTS; i++)
        if ((r.inputs[i] != Py_None || i <= INPUT_KEY) &&
            !core_input_open(&c->inputs[i], r.inputs[i], i == INPUT_MASK ? CORE_FLAG : CORE_REAL, input_names[i]))
            return false;
    if (!read_shapes(c) || !read_masks(c) || !read_parameters(c, r.parameters) || !read_advantage(c, r.advantage) ||
        !read_lengths(&c->lengths[0], r.query_lengths, c->arrays.batch, "query_lengths") ||
        !read_lengths(&c->lengths[1], r.lengths, c->arrays.batch, "lengths"))
        return false;
    c->arrays.query_lengths = c->lengths[0], c->arrays.key_lengths = c->lengths[1];
    set_context_shape(c);
    return true;
}
