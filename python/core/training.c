/* training.c: attend.train: trains a model from files, with the choices of `attend train`. */
#include "training_options.h"

#include "ensemble_training.h"

#include <attend/data_check.h>
#include <attend/processors.h>
#include <attend/training_choice.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static PyTypeObject *progress_type, *result_type;

static const char *const progress_fields[] = {
    "update",
    "number of updates so far",
    "updates",
    "expected total; 0: unknown",
    "epoch",
    "passes over the data so far, with the fraction of the present one",
    "loss",
    "mean cross-entropy per target token since the last line of the log",
    "learning_rate",
    "of this update",
    "gradient_norm",
    "of this update",
    "tokens_per_second",
    "speed",
    "seconds",
    "since training began",
    "seconds_left",
    "to the last update that options allow; None: unknown",
    "validated",
    "True: there was a validation after this update",
    "valid_loss",
    "of the last validation; None: none yet",
    "valid_score",
    "of the last validation; None: none yet",
    "best",
    "valid_score of the best model; None: none yet",
    "better",
    "True: this update's model is the best so far",
    "saved",
    "True: a checkpoint was saved",
    "member",
    "of an ensemble, from 1; 1: a single model",
    NULL,
};

static const char *const result_fields[] = {
    "end",     "'done', 'patience' or 'stopped'; of an ensemble, as the following: of the last member that was trained",
    "update",  "number of updates",
    "best",    "valid_score of the best model; None: no validation",
    "chosen",  "the options that were chosen from the data, a dict",
    "notices", "messages, such as skipped updates, a list",
    NULL,
};

static PyObject *number_or_none(double x)
{
    return x == x ? PyFloat_FromDouble(x) : Py_NewRef(Py_None);
}

static PyObject *progress_of(const attend_progress *p, int member)
{
    PyObject *const values[] = {
        PyLong_FromUnsignedLongLong(p->update),
        PyLong_FromUnsignedLongLong(p->updates),
        PyFloat_FromDouble((double)p->epoch + p->part),
        PyFloat_FromDouble(p->loss),
        PyFloat_FromDouble(p->rate),
        PyFloat_FromDouble(p->norm),
        PyFloat_FromDouble(p->tokens_per_second),
        PyFloat_FromDouble(p->seconds),
        number_or_none(p->seconds_left < 0 ? Py_NAN : p->seconds_left),
        PyBool_FromLong(p->validated),
        number_or_none(p->valid_loss),
        number_or_none(p->valid_score),
        number_or_none(p->best),
        PyBool_FromLong(p->better),
        PyBool_FromLong(p->saved),
        PyLong_FromLong(member + 1),
    };
    return core_record(progress_type, (int)(sizeof values / sizeof *values), values);
}

/* ---- events: the library calls them on the thread that called attend.train, which does not hold the GIL ---- */

typedef struct training {
    training_settings settings;
    PyObject *on_progress; /* NULL: none */
    PyObject *notices;     /* a list */
    bool stops;            /* a callback raised an exception, or returned True */
    int member;            /* of an ensemble, from 0 */
    attend_progress last;
    PyThreadState *thread; /* of the caller while the GIL is released */
} training;

static void take_gil(training *t)
{
    PyEval_RestoreThread(t->thread);
}

static void release_gil(training *t)
{
    t->thread = PyEval_SaveThread();
}

static void on_progress(void *user, const attend_progress *p)
{
    training *t = user;
    t->last = *p;
    if (!t->on_progress || t->stops) return;
    take_gil(t);
    PyObject *progress = progress_of(p, t->member);
    PyObject *result = progress ? PyObject_CallFunctionObjArgs(t->on_progress, progress, NULL) : NULL;
    const int stops = result ? PyObject_IsTrue(result) : 1;
    t->stops = stops != 0;
    Py_XDECREF(result);
    Py_XDECREF(progress);
    release_gil(t);
}

static void on_notice(void *user, const char *text)
{
    training *t = user;
    if (t->stops) return;
    take_gil(t);
    PyObject *notice = core_text(text);
    if (!notice || PyList_Append(t->notices, notice) < 0) t->stops = true;
    Py_XDECREF(notice);
    release_gil(t);
}

static bool should_stop(void *user)
{
    training *t = user;
    if (t->stops) return true;
    take_gil(t);
    if (PyErr_CheckSignals() < 0) t->stops = true;
    release_gil(t);
    return t->stops;
}

/* ---- data ---- */

/* The validation data: files, a fraction of the training data, or by default a tenth of it. */
static bool read_valid(training_settings *s, PyObject *from)
{
    const bool lines = s->options.config.task == ATTEND_TASK_LANGUAGE_MODEL;
    if (from == Py_False) return true;
    if (from != Py_None && !PyFloat_Check(from)) return data_files_read(&s->valid, from, lines, "valid");
    double fraction = ATTEND_HELD_OUT_FRACTION;
    uint64_t max_pairs = ATTEND_HELD_OUT_MAX_PAIRS;
    int min_pairs = ATTEND_HELD_OUT_MIN_PAIRS, held, left, status = ATTEND_OK;
    const bool is_default = from == Py_None;
    if (!is_default) fraction = PyFloat_AsDouble(from), max_pairs = 0, min_pairs = 1;
    if (is_default && s->checkpoint) /* as in the run that resumes */
        attend_checkpoint_held_out(s->checkpoint, &fraction, &max_pairs);
    if (fraction == 0) return true;
    s->valid.specs = PyMem_Calloc((size_t)s->train.count, sizeof *s->valid.specs);
    if (!s->valid.specs) return PyErr_NoMemory() != NULL;
    Py_BEGIN_ALLOW_THREADS status = attend_pairs_try_hold_out(s->train.specs, s->valid.specs, s->train.count, fraction,
                                                              max_pairs, min_pairs, &held, &left);
    Py_END_ALLOW_THREADS if (status == ATTEND_BAD_USAGE || status == ATTEND_NO_MEMORY) return core_raise(status) !=
        NULL;
    if (status == ATTEND_OK && held == min_pairs && left > 0) s->valid.count = s->train.count;
    if (status == ATTEND_OK && s->valid.count == 0 && !is_default)
        return core_fail(ATTEND_BAD_USAGE, "valid=%g leaves no pairs for %s; use another fraction, or files", fraction,
                         held ? "training" : "validation") != NULL;
    return true; /* the check of the data says what is wrong with files that cannot be read */
}

/* Checks the data as `attend check --quick` does, and chooses options from its amount. */
static bool check_data(training_settings *s, bool check)
{
    attend_data_check_report *report = NULL;
    int status;
    Py_BEGIN_ALLOW_THREADS status =
        attend_data_check(&report, s->train.specs, s->train.count, s->valid.specs, s->valid.count, true, 0);
    Py_END_ALLOW_THREADS if (status != ATTEND_OK) return core_raise(status) != NULL;
    bool ok = true;
    if (check && attend_data_check_stops(report)) {
        const attend_finding *f = &report->findings[0];
        core_fail(ATTEND_BAD_DATA, "the data cannot be used for training: %llu %s, first in %s, line %llu; %s",
                  (unsigned long long)f->count, f->what, f->example_count ? f->examples[0].file : "?",
                  f->example_count ? (unsigned long long)f->examples[0].line : 0ULL, f->advice);
        ok = false;
    }
    ok = ok && training_settings_choose(s, &report->train);
    attend_data_check_free(report);
    return ok;
}

/* ---- the function ---- */

static PyObject *result_of(const training *t, attend_train_end end)
{
    static const char *const ends[] = { "done", "patience", "stopped" };
    PyObject *const values[] = { core_text(ends[end]), PyLong_FromUnsignedLongLong(t->last.update),
                                 number_or_none(t->last.update ? t->last.best : Py_NAN), Py_NewRef(t->settings.chosen),
                                 Py_NewRef(t->notices) };
    return core_record(result_type, 5, values);
}

/* Trains one model; the seed is that of the options plus the number of the member. */
static PyObject *run_model(training *t, const char *model, int member)
{
    attend_train_options o = t->settings.options;
    const attend_train_events events = { .user = t, .progress = on_progress, .notice = on_notice, .stop = should_stop };
    attend_train_end end = ATTEND_TRAIN_DONE;
    t->member = member, t->last = (attend_progress){ 0 };
    o.model = model, o.seed += (uint64_t)member;
    if (t->settings.ensemble > 1) o.fresh = false; /* the files of members were removed */
    release_gil(t);
    const int status = attend_train(&o, &events, &end);
    take_gil(t);
    if (PyErr_Occurred()) return NULL;                                    /* of a callback, or KeyboardInterrupt */
    if (t->settings.ensemble > 1 && t->stops) end = ATTEND_TRAIN_STOPPED; /* after the last update of a member */
    return status == ATTEND_OK ? result_of(t, end) : core_raise(status);
}

/* Trains the members one after another and writes the ensemble. A member that is complete is not trained again. */
static PyObject *run_ensemble(training *t)
{
    const training_settings *s = &t->settings;
    const char *const model = s->options.model;
    PyObject *result = NULL;
    int held, status;
    release_gil(t);
    status = ensemble_begin(model, s->options.fresh, &held);
    take_gil(t);
    bool ok = status == ATTEND_OK;
    for (int i = 0; ok && i < s->ensemble && !t->stops; i++) {
        char *member = ensemble_member_path(model, i);
        Py_XDECREF(result);
        result = member ? run_model(t, member, i) : PyErr_NoMemory();
        ok = result != NULL;
        free(member);
    }
    if (ok && !t->stops) {
        release_gil(t);
        status = ensemble_write(model, s->ensemble);
        take_gil(t);
    }
    ensemble_end(&held);
    if (status == ATTEND_OK) return result;
    Py_XDECREF(result);
    return core_raise(status);
}

static PyObject *run(training *t)
{
    training_settings *s = &t->settings;
    attend_train_options *o = &s->options;
    training_settings_finish(s);
    if (PyErr_Occurred()) return NULL;
    o->train = s->train.specs, o->train_count = s->train.count;
    o->valid = s->valid.count ? s->valid.specs : NULL, o->valid_count = s->valid.count;
    return s->ensemble > 1 ? run_ensemble(t) : run_model(t, o->model, 0);
}

static PyObject *train(PyObject *self, PyObject *arguments, PyObject *keywords)
{
    static char *names[] = { "train", "model", "valid", "on_progress", "check", "options", NULL };
    PyObject *train_from, *model_from, *valid = Py_None, *progress = Py_None, *options, *result = NULL;
    training t = { .notices = NULL };
    int check = 1;
    (void)self;
    if (!core_parse(arguments, keywords, "OOOOpO!:_train", names, &train_from, &model_from, &valid, &progress, &check,
                    &PyDict_Type, &options))
        return NULL;
    if (progress != Py_None && !PyCallable_Check(progress)) {
        PyErr_SetString(PyExc_TypeError, "on_progress must be a function, or None");
        return NULL;
    }
    t.on_progress = progress == Py_None ? NULL : progress;
    t.notices = PyList_New(0);
    training_settings *s = &t.settings;
    const bool ok =
        t.notices && training_settings_read(s, model_from, options) &&
        data_files_read(&s->train, train_from, s->options.config.task == ATTEND_TASK_LANGUAGE_MODEL, "train") &&
        read_valid(s, valid) && check_data(s, check);
    if (ok) result = run(&t);
    training_settings_free(s);
    Py_XDECREF(t.notices);
    return result;
}

static PyMethodDef functions[] = {
    { "_train", CORE_METHOD(train), METH_VARARGS | METH_KEYWORDS,
      "_train($module, train, model, valid, on_progress, check, options)\n--\n\n"
      "attend.train, with the values of options as text." },
    { NULL, NULL, 0, NULL },
};

int core_training_add(PyObject *module)
{
    progress_type =
        core_record_type(module, "TrainProgress", "The state of training after an update.", progress_fields);
    result_type = core_record_type(module, "TrainResult", "How a training ended.", result_fields);
    return progress_type && result_type ? PyModule_AddFunctions(module, functions) : -1;
}
