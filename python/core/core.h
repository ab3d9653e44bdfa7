/* core.h: what the files of the extension module attend._core share.
 *
 * The module is written against the limited API of Python 3.11 and linked with the static library. Its functions use
 * public headers of the library only, and release the GIL while the library works. Each file has one type, or one group
 * of functions, and an `_add` function that adds it to the module. */
#ifndef ATTEND_PYTHON_CORE_H
#define ATTEND_PYTHON_CORE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <attend/status.h>
#include <attend/words.h>
#include <stdbool.h>
#include <stddef.h>

/* ---- errors.c ---- */

int core_errors_add(PyObject *module);
/* Takes the exceptions of attend._core, for another module. */
int core_errors_import(void);
/* Raises the exception of a status with the library's message. Returns NULL. */
PyObject *core_raise(int status);
/* The same with a message; for the checks of this module. */
PyObject *core_fail(int status, const char *format, ...);

/* ---- arguments.c ---- */

/* PyArg_ParseTupleAndKeywords, but a number that is too large for an int is a UsageError that names the argument. */
bool core_parse(PyObject *arguments, PyObject *keywords, const char *format, char **names, ...);
/* Converters of core_parse for "O&": an unsigned 64-bit number, and a number of threads (None: one for each core). */
int core_uint64(PyObject *from, void *to);
int core_threads(PyObject *from, void *to);
/* A size_t of bytes: an integer, or a text such as '2G'; None leaves it as it is. */
int core_memory(PyObject *from, void *to);
/* The UTF-8 text of a str; NULL: an exception is set. */
const char *core_utf8(PyObject *from, const char *what, Py_ssize_t *size);

/* ---- texts.c ---- */

/* A list of texts. The strings are kept alive until core_texts_free. */
typedef struct core_texts {
    PyObject *items; /* a tuple */
    const char **text;
    size_t *size;
    int count;
} core_texts;

/* Reads an iterable of str; `what` names it in messages. False: an exception is set, and nothing is kept. */
bool core_texts_read(core_texts *t, PyObject *from, const char *what);
/* For functions of the library that take texts without their sizes. Raises DataError if a text contains a NUL. */
bool core_texts_have_no_nul(const core_texts *t, const char *what);
void core_texts_free(core_texts *t);

/* Sources and targets of an iterable of pairs (source, target). */
typedef struct core_pairs {
    core_texts source, target;
} core_pairs;
bool core_pairs_read(core_pairs *p, PyObject *from, const char *what);
void core_pairs_free(core_pairs *p);

/* Lists of file names. `names` is NULL-terminated. A single str or path is a list of one. */
typedef struct core_paths {
    PyObject *items; /* a list of bytes */
    const char **names;
    int count;
} core_paths;
bool core_paths_read(core_paths *p, PyObject *from, const char *what);
/* The same for a single file name: no list. */
bool core_path_read(core_paths *p, PyObject *from, const char *what);
void core_paths_free(core_paths *p);

/* Whether an object has an attribute, or a dict a key: 1, 0, or -1 with an exception. *value of a key is borrowed. */
int core_has_attribute(PyObject *o, const char *name);
int core_dict_find(PyObject *dict, const char *key, PyObject **value);
/* Finds a name in a NULL-terminated list. False: an exception that lists the names is set. */
bool core_choice(const char *name, const char *const *names, const char *what, int *index);
/* The UTF-8 text of the library as a str. */
PyObject *core_text(const char *text);
PyObject *core_text_part(const char *text, attend_span span);
/* [(source, target), ...] */
PyObject *core_links(const attend_word_link *links, int count);
/* Reads an iterable of pairs of integers. *links is the caller's, freed by PyMem_Free. */
bool core_links_read(PyObject *from, attend_word_link **links, int *count);

/* ---- records.c: types with named fields, which are also tuples ---- */

/* Adds a type of records to a module. `fields` is NULL-terminated: name, comment, name, comment, ... */
PyTypeObject *core_record_type(PyObject *module, const char *name, const char *doc, const char *const *fields);
/* A new record; steals the references to `count` values. NULL, with the values released, if one of them is NULL. */
PyObject *core_record(PyTypeObject *type, int count, PyObject *const *values);

/* ---- array.c ---- */

enum { CORE_MAX_RANK = 4 };

int core_array_add(PyObject *module);
/* A new array of attend_real, filled with zeros. *data is its memory. */
PyObject *core_array_new(int rank, const Py_ssize_t *shape, void **data);

/* ---- input.c: numbers that a caller passes, without copying them ---- */

typedef enum core_kind { CORE_REAL, CORE_FLAG, CORE_INT32, CORE_INT64 } core_kind;

typedef struct core_input {
    void *data;
    int rank;
    Py_ssize_t shape[CORE_MAX_RANK];
    core_kind kind;
    bool is_open, has_buffer, is_readonly;
    Py_buffer buffer;
    PyObject *capsule; /* keeps memory that was passed by DLPack */
} core_input;

/* Opens an object that exports the buffer protocol or DLPack in the memory of the CPU. The numbers must be contiguous
 * and of type attend_real (CORE_REAL), or bool or uint8 (CORE_FLAG), or int32 or int64 (CORE_INT32: either). */
bool core_input_open(core_input *in, PyObject *from, core_kind kind, const char *what);
void core_input_close(core_input *in);

/* ---- fork.c ---- */

/* Changes in a child process. Objects with threads of an earlier generation have lost them: they are abandoned, neither
 * used nor freed. */
extern unsigned core_generation;
int core_fork_watch(void);

/* ---- tokenizer.c ---- */

/* Where words end, which BPE merges do not cross: where classes of characters meet, or at spaces only. */
enum { CORE_SPLIT_CLASSES, CORE_SPLIT_SPACES };
extern const char *const core_split_names[]; /* NULL after the last */

/* ---- the groups of functions ---- */

int core_model_add(PyObject *module);
int core_translation_add(PyObject *module);
int core_scoring_add(PyObject *module);
int core_tokenizer_add(PyObject *module);
int core_metrics_add(PyObject *module);
int core_aligner_add(PyObject *module);
int core_data_check_add(PyObject *module);
int core_map_add(PyObject *module);
int core_decoding_add(PyObject *module);
int core_attention_add(PyObject *module);
int core_training_add(PyObject *module);
int core_batching_add(PyObject *module);
int core_information_add(PyObject *module);

/* Adds a type that was made from a spec; *type keeps a reference. 0, or -1 with an exception. */
int core_type_add(PyObject *module, PyType_Spec *spec, PyTypeObject **type);

/* Python's types for methods with keywords are functions with two arguments. */
#define CORE_METHOD(function) ((PyCFunction)(void (*)(void))(function))

#endif
