/* batching.c: Model.submit: a line now, its translation later. The library's batcher collects the requests of all
 * threads into batches and ends them on its own threads. */
#include "translation.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAX_WAITING = 10000 };

/* ---- requests ---- */

/* Keeps the model and the future alive until the request has ended. Its method `_finished` is a callback of the future:
 * a future that is cancelled cancels the request. */
typedef struct request_object {
    PyObject_HEAD translation_request result;
    PyObject *future; /* a concurrent.futures.Future; NULL: it has its result */
    PyObject *line;
    attend_future *request; /* NULL until it is submitted */
    unsigned generation;
    bool was_cancelled; /* before it was submitted */
} request_object;

static PyTypeObject *request_type;
static PyObject *future_class;       /* concurrent.futures.Future, from the first use on */
static _Thread_local bool is_worker; /* this thread is in `done` */

static void request_free(PyObject *self)
{
    request_object *r = (request_object *)self;
    PyTypeObject *type = Py_TYPE(self);
    if (r->generation == core_generation) attend_future_free(r->request);
    Py_XDECREF(r->future);
    Py_XDECREF(r->line);
    Py_XDECREF((PyObject *)r->result.m);
    PyObject_Free(self);
    Py_DECREF(type);
}

/* The result of a request that has ended, or an exception. */
static PyObject *result_of(const request_object *r, const attend_future *f)
{
    const attend_batcher_model *m = r->result.m->batcher_model;
    switch (attend_future_poll(f)) {
    case ATTEND_FUTURE_DONE:
        return translation_of(&r->result, attend_batcher_model_tokenizer(m, false),
                              attend_batcher_model_tokenizer(m, true), PyUnicode_AsUTF8AndSize(r->line, NULL),
                              attend_future_result(f));
    case ATTEND_FUTURE_EXPIRED:
        PyErr_SetString(PyExc_TimeoutError, "the line was not translated before its deadline");
        return NULL;
    case ATTEND_FUTURE_FAILED:
        return core_fail(attend_future_status(f), "%s", attend_future_message(f));
    default:
        return core_fail(ATTEND_FAILED, "the request was cancelled: the interpreter ends");
    }
}

/* Calls a method of a future. Somebody waits for the future: if memory runs out, the call is repeated for some seconds,
 * until other threads have released some. NULL: an exception is set. */
static PyObject *call(PyObject *future, const char *method, PyObject *value)
{
    enum { ATTEMPTS = 1000 };
    const struct timespec pause = { .tv_nsec = 5000000 };
    for (int i = 1;; i++) {
        PyObject *name = PyUnicode_FromString(method);
        PyObject *result = name ? PyObject_CallMethodObjArgs(future, name, value, NULL) : NULL;
        Py_XDECREF(name);
        if (result || i == ATTEMPTS || !PyErr_ExceptionMatches(PyExc_MemoryError)) return result;
        PyErr_Clear();
        Py_BEGIN_ALLOW_THREADS nanosleep(&pause, NULL);
        Py_END_ALLOW_THREADS
    }
}

/* Sets the exception that is raised as that of the future. */
static PyObject *set_exception(PyObject *future)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    PyObject *done = call(future, "set_exception", value ? value : Py_None);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(traceback);
    return done;
}

/* A worker thread calls it when the request has ended. `user` is a reference to the request. */
static void on_done(void *user, attend_future *f)
{
    request_object *r = user;
    const PyGILState_STATE state = PyGILState_Ensure();
    is_worker = true;
    PyObject *future = r->future;
    r->future = NULL; /* the future has the request as a callback */
    PyObject *runs = call(future, "set_running_or_notify_cancel", NULL), *done = NULL;
    if (runs && PyObject_IsTrue(runs) == 1) {
        PyObject *result = result_of(r, f);
        done = result ? call(future, "set_result", result) : set_exception(future);
        Py_XDECREF(result);
    }
    if (PyErr_Occurred()) PyErr_WriteUnraisable(future);
    Py_XDECREF(done);
    Py_XDECREF(runs);
    Py_DECREF(future);
    Py_DECREF((PyObject *)r);
    is_worker = false;
    PyGILState_Release(state);
}

static PyObject *finished(PyObject *self, PyObject *future)
{
    request_object *r = (request_object *)self;
    PyObject *cancelled = PyObject_CallMethod(future, "cancelled", NULL);
    if (!cancelled) return NULL;
    if (PyObject_IsTrue(cancelled) == 1) {
        r->was_cancelled = true;
        if (r->request && r->generation == core_generation) attend_future_cancel(r->request);
    }
    Py_DECREF(cancelled);
    Py_RETURN_NONE;
}

static PyMethodDef request_methods[] = {
    { "_finished", finished, METH_O, "A callback of the future." },
    { NULL, NULL, 0, NULL },
};
static PyType_Slot request_slots[] = {
    { Py_tp_dealloc, request_free },
    { Py_tp_methods, request_methods },
    { 0, NULL },
};
static PyType_Spec request_spec = { "attend._Request", sizeof(request_object), 0,
                                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, request_slots };

/* ---- batchers ---- */

static model_object *with_batcher; /* models that have one */

static void forget(model_object *m)
{
    for (model_object **at = &with_batcher; *at; at = &(*at)->next)
        if (*at == m) {
            *at = m->next;
            return;
        }
}

typedef struct remains {
    attend_batcher *batcher;
    attend_model **models;
    int count;
} remains;

static void *free_remains(void *user)
{
    const remains r = *(const remains *)user;
    attend_batcher_free(r.batcher);
    for (int i = 0; i < r.count; i++) attend_model_free(r.models[i]);
    free((void *)r.models);
    free(user);
    return NULL;
}

/* A batcher waits for its threads, which may wait for the GIL. The thread that drops the last reference to a model may be
 * one of them: then another thread frees what remains. */
void model_batcher_free(model_object *m, attend_model **models, int count)
{
    remains *r = malloc(sizeof *r);
    if (!r) return; /* memory leaks rather than being used after it was freed */
    *r = (remains){ m->batcher_generation == core_generation ? m->batcher : NULL, models, count };
    forget(m);
    pthread_t thread;
    if (is_worker && r->batcher) {
        if (pthread_create(&thread, NULL, free_remains, r) == 0) pthread_detach(thread);
    } else if (r->batcher) {
        Py_BEGIN_ALLOW_THREADS free_remains(r);
        Py_END_ALLOW_THREADS
    } else {
        free_remains(r);
    }
}

/* Starts the batcher of a model if it has none in this process. */
static int start(model_object *m)
{
    if (m->batcher && m->batcher_generation == core_generation) return ATTEND_OK;
    const attend_batcher_options o = { .threads = m->threads, .max_waiting = MAX_WAITING };
    attend_translator_options t;
    memset(&t, 0, sizeof t);
    translation_options_init(&t, m);
    attend_batcher *b = NULL;
    int status = attend_batcher_new(&b, &o);
    if (status == ATTEND_OK)
        status =
            attend_batcher_add_ensemble(&m->batcher_model, b, (const attend_model *const *)m->models, m->count, &t);
    if (status != ATTEND_OK) {
        attend_batcher_free(b);
        return status;
    }
    if (!m->batcher) m->next = with_batcher, with_batcher = m; /* else it is in the list, from the parent process */
    m->batcher = b, m->batcher_generation = core_generation;
    return ATTEND_OK;
}

static bool is_shut_down; /* the interpreter ends: no worker will have the GIL again */

/* Called at the exit of the interpreter, after which no thread can have the GIL. */
static PyObject *shut_down(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    is_shut_down = true;
    while (with_batcher) {
        model_object *m = with_batcher;
        with_batcher = m->next;
        attend_batcher *b = m->batcher_generation == core_generation ? m->batcher : NULL;
        m->batcher = NULL;
        Py_BEGIN_ALLOW_THREADS attend_batcher_free(b);
        Py_END_ALLOW_THREADS
    }
    Py_RETURN_NONE;
}

/* ---- submit ---- */

static bool find_future_class(void)
{
    if (future_class) return true;
    PyObject *module = PyImport_ImportModule("concurrent.futures");
    if (module) future_class = PyObject_GetAttrString(module, "Future");
    Py_XDECREF(module);
    return future_class != NULL;
}

/* A request with a new future, which calls it back. */
static request_object *request_new(model_object *m, PyObject *line)
{
    request_object *r = PyObject_New(request_object, request_type);
    if (!r) return NULL;
    memset((char *)r + sizeof(PyObject), 0, sizeof *r - sizeof(PyObject));
    r->result.m = (model_object *)Py_NewRef((PyObject *)m);
    r->line = Py_NewRef(line);
    r->generation = core_generation;
    r->future = PyObject_CallObject(future_class, NULL);
    if (!r->future && PyErr_ExceptionMatches(PyExc_RuntimeError)) PyErr_NoMemory(); /* "can't allocate lock" */
    PyObject *callback = r->future ? PyObject_GetAttrString((PyObject *)r, "_finished") : NULL;
    PyObject *added = callback ? PyObject_CallMethod(r->future, "add_done_callback", "(O)", callback) : NULL;
    Py_XDECREF(callback);
    if (!added) Py_CLEAR(r);
    Py_XDECREF(added);
    return r;
}

/* Breaks the cycle of a request that was not submitted. */
static void request_abandon(request_object *r)
{
    Py_CLEAR(r->future);
    Py_DECREF((PyObject *)r);
}

const char model_submit_doc[] =
    "submit($self, line, *, timeout=None, prefix=None, beam=5, n_best=1, length_penalty=1.0,\n"
    "       coverage_penalty=0.0, length_ratio=2.0, length_extra=None, max_length=0, no_repeat_ngram=0,\n"
    "       shortlist=False, return_alignment=False, return_attention=False)\n--\n\n"
    "Submits a line and returns a concurrent.futures.Future of its Translation at once. Lines that wait are\n"
    "translated together, with those of other threads. With asyncio: await asyncio.wrap_future(model.submit(line)).\n\n"
    "timeout  seconds after which the future has a TimeoutError instead; None: no limit\n"
    "prefix   the text with which the translation must begin\n\n"
    "The other arguments, and the translation, are those of translate. Cancelling the future ends the request, also\n"
    "while it is being decoded. Raises BusyError if too many requests wait.";

PyObject *model_submit(PyObject *self, PyObject *arguments, PyObject *keywords)
{
    static char *names[] = { "line",
                             "timeout",
                             "prefix",
                             "beam",
                             "n_best",
                             "length_penalty",
                             "coverage_penalty",
                             "length_ratio",
                             "length_extra",
                             "max_length",
                             "no_repeat_ngram",
                             "shortlist",
                             "return_alignment",
                             "return_attention",
                             NULL };
    model_object *m = (model_object *)self;
    PyObject *line, *timeout = Py_None, *extra = Py_None, *attention = Py_False;
    const char *prefix = NULL;
    Py_ssize_t size = 0, prefix_size = 0;
    int shortlist = 0, alignment = 0;
    attend_translator_options o;
    translation_request result = { .m = m };
    memset(&o, 0, sizeof o);
    translation_options_init(&o, m);
    attend_search_options *s = &o.search;
    if (!core_parse(arguments, keywords, "U|$Oz#iidddOiippO:submit", names, &line, &timeout, &prefix, &prefix_size,
                    &s->beam, &s->n_best, &s->length_penalty, &s->coverage_penalty, &s->length_ratio, &extra,
                    &s->max_length, &s->no_repeat_ngram, &shortlist, &alignment, &attention) ||
        !translation_read_extra(s, extra) || !translation_read_attention(&result, attention))
        return NULL;
    if (result.attention == ATTENTION_ALL)
        return core_fail(ATTEND_BAD_USAGE, "return_attention='all' is for translate, or Model.map");
    const double seconds = timeout == Py_None ? 0 : PyFloat_AsDouble(timeout);
    const char *text = PyUnicode_AsUTF8AndSize(line, &size);
    if (PyErr_Occurred() || !text) return NULL;
    if (timeout != Py_None && !(seconds > 0))
        return core_fail(ATTEND_BAD_USAGE, "timeout=%g: must be above 0, or None", seconds);
    result.alignment = alignment || result.attention != ATTENTION_NONE;
    s->shortlist = shortlist, s->weights = result.alignment;
    if (is_shut_down) return core_fail(ATTEND_FAILED, "the interpreter ends: no request can be submitted");
    int status = start(m);
    if (status != ATTEND_OK) return core_raise(status);
    request_object *r = find_future_class() ? request_new(m, line) : NULL;
    if (!r) return NULL;
    r->result.alignment = result.alignment, r->result.attention = result.attention;
    PyObject *future = Py_NewRef(r->future);
    const attend_request request = { .text = text,
                                     .size = (size_t)size,
                                     .prefix = prefix,
                                     .prefix_size = (size_t)prefix_size,
                                     .search = s,
                                     .timeout = seconds,
                                     .done = on_done,
                                     .user = Py_NewRef((PyObject *)r) };
    status = attend_batcher_submit(&r->request, m->batcher_model, 1, &request); /* on_done waits for the GIL */
    if (status != ATTEND_OK) {
        Py_DECREF(future);
        Py_DECREF((PyObject *)r); /* that of on_done */
        request_abandon(r);
        return core_raise(status);
    }
    Py_DECREF((PyObject *)r);
    return future;
}

int core_batching_add(PyObject *module)
{
    static PyMethodDef at_exit = { "_shut_down", shut_down, METH_NOARGS, "Ends all requests." };
    PyObject *exits = PyImport_ImportModule("atexit"), *function = PyCFunction_New(&at_exit, NULL);
    PyObject *done = exits && function ? PyObject_CallMethod(exits, "register", "O", function) : NULL;
    Py_XDECREF(exits);
    Py_XDECREF(function);
    Py_XDECREF(done);
    return done ? core_type_add(module, &request_spec, &request_type) : -1;
}
