/* data_check.c: attend.check_data: what is wrong with training data. */
#include "data_files.h"

#include <attend/data_check.h>
#include <stdlib.h>

static PyTypeObject *report_type, *finding_type, *example_type, *sizes_type;

static const char *const report_fields[] = {
    "train",    "DataSizes of the training data",
    "valid",    "DataSizes of the validation data; None: there is none",
    "findings", "a list of Finding, the most severe first",
    "stops",    "True: a finding prevents training",
    "text",     "the report as the command prints it",
    NULL,
};
static const char *const finding_fields[] = {
    "name",        "an identifier, such as 'not-utf8'",
    "severity",    "'error', 'warning' or 'info'",
    "occurrences", "how often it was found",
    "what",        "what is counted",
    "advice",      "what to do",
    "examples",    "a list of up to three DataExample",
    NULL,
};
static const char *const example_fields[] = {
    "file", "its name", "line", "from 1", "excerpt", "of the line, with unprintable characters escaped", NULL,
};
static const char *const sizes_fields[] = {
    "pairs",
    "all pairs or lines read",
    "usable",
    "those that training would use",
    "words",
    "of source and target, a tuple",
    "characters",
    "of source and target, a tuple",
    "median_characters",
    "of a line, of source and target; 0 in a quick check",
    "max_characters",
    "of a line, of source and target",
    NULL,
};

static PyObject *sizes_of(const attend_data_check_counts *n)
{
    PyObject *const values[] = {
        PyLong_FromUnsignedLongLong(n->pairs),
        PyLong_FromUnsignedLongLong(n->usable),
        Py_BuildValue("KK", (unsigned long long)n->words[0], (unsigned long long)n->words[1]),
        Py_BuildValue("KK", (unsigned long long)n->characters[0], (unsigned long long)n->characters[1]),
        Py_BuildValue("ii", n->median[0], n->median[1]),
        Py_BuildValue("ii", n->longest[0], n->longest[1]),
    };
    return core_record(sizes_type, 6, values);
}

static PyObject *example_of(const attend_example *e)
{
    PyObject *const values[] = { PyUnicode_DecodeFSDefault(e->file), PyLong_FromUnsignedLongLong(e->line),
                                 core_text(e->excerpt) };
    return core_record(example_type, 3, values);
}

static PyObject *finding_of(const attend_finding *f)
{
    static const char *const severities[] = { "error", "warning", "info" };
    PyObject *examples = PyList_New(f->example_count);
    for (int i = 0; examples && i < f->example_count; i++) {
        PyObject *e = example_of(&f->examples[i]);
        if (!e || PyList_SetItem(examples, i, e) < 0) Py_CLEAR(examples);
    }
    PyObject *const values[] = { core_text(f->name),
                                 core_text(severities[f->severity]),
                                 PyLong_FromUnsignedLongLong(f->count),
                                 core_text(f->what),
                                 core_text(f->advice),
                                 examples };
    return core_record(finding_type, 6, values);
}

static PyObject *text_of(const attend_data_check_report *r)
{
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    if (!stream) return PyErr_NoMemory();
    const int status = attend_data_check_print(r, stream);
    const bool closed = fclose(stream) == 0;
    PyObject *result = status != ATTEND_OK ? core_raise(status)
                       : closed            ? PyUnicode_DecodeUTF8(text, (Py_ssize_t)size, "replace")
                                           : PyErr_NoMemory();
    free(text);
    return result;
}

static PyObject *report_of(const attend_data_check_report *r, bool has_valid)
{
    PyObject *findings = PyList_New(r->finding_count);
    for (int i = 0; findings && i < r->finding_count; i++) {
        PyObject *f = finding_of(&r->findings[i]);
        if (!f || PyList_SetItem(findings, i, f) < 0) Py_CLEAR(findings);
    }
    PyObject *const values[] = { sizes_of(&r->train), has_valid ? sizes_of(&r->valid) : Py_NewRef(Py_None), findings,
                                 PyBool_FromLong(attend_data_check_stops(r)), text_of(r) };
    return core_record(report_type, 5, values);
}

PyDoc_STRVAR(check_doc, "check_data(train, valid=None, *, lines=False, quick=False)\n--\n\n"
                        "Checks training data. Returns a DataReport (docs/data.md explains the findings).\n\n"
                        "train, valid  a .tsv file, two files whose lines correspond, or a list of such files\n"
                        "lines         the files have monolingual lines, for a language model\n"
                        "quick         only what prevents training, and empty sides");

static PyObject *check(PyObject *self, PyObject *arguments, PyObject *keywords)
{
    static char *names[] = { "train", "valid", "lines", "quick", NULL };
    PyObject *from[2] = { NULL, Py_None }, *result = NULL;
    attend_data_check_report *report = NULL;
    data_files train, valid = { .count = 0 };
    int lines = 0, quick = 0, status;
    (void)self;
    if (!core_parse(arguments, keywords, "O|O$pp:check_data", names, &from[0], &from[1], &lines, &quick) ||
        !data_files_read(&train, from[0], lines, "train"))
        return NULL;
    if (data_files_read(&valid, from[1], lines, "valid")) {
        Py_BEGIN_ALLOW_THREADS status =
            attend_data_check(&report, train.specs, train.count, valid.specs, valid.count, quick, 0);
        Py_END_ALLOW_THREADS result = status == ATTEND_OK ? report_of(report, valid.count > 0) : core_raise(status);
        attend_data_check_free(report);
    }
    data_files_free(&train);
    data_files_free(&valid);
    return result;
}

static PyMethodDef functions[] = {
    { "check_data", CORE_METHOD(check), METH_VARARGS | METH_KEYWORDS, check_doc },
    { NULL, NULL, 0, NULL },
};

int core_data_check_add(PyObject *module)
{
    report_type = core_record_type(module, "DataReport", "What a check of training data found.", report_fields);
    finding_type = core_record_type(module, "Finding", "One finding of a check of data.", finding_fields);
    example_type = core_record_type(module, "DataExample", "One occurrence of a finding.", example_fields);
    sizes_type = core_record_type(module, "DataSizes", "The sizes of a data set.", sizes_fields);
    return report_type && finding_type && example_type && sizes_type ? PyModule_AddFunctions(module, functions) : -1;
}
