/* case.c: runs the node of a case on its inputs and compares its outputs.
 *
 * input_K.pb is the K-th input of the graph. The node names its inputs by the graph's names, in its own order, with
 * "" for an omitted optional input; the same holds for outputs. */
#include "case.h"

#include "compare.h"
#include "operators.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

char *case_path(const char *directory, const char *name)
{
    size_t capacity = strlen(directory) + strlen(name) + 2;
    char *path = malloc(capacity);
    if (path != NULL) snprintf(path, capacity, "%s/%s", directory, name);
    return path;
}

/* Whether the path exists. If that cannot be determined, true: reading it reports the error. */
static bool is_there(const char *directory, const char *name)
{
    struct stat info;
    char *path = case_path(directory, name);
    bool there = path != NULL && (stat(path, &info) == 0 || (errno != ENOENT && errno != ENOTDIR));
    free(path);
    return there;
}

bool case_exists(const char *directory)
{
    return is_there(directory, "model.onnx") || is_there(directory, "test_data_set_0");
}

/* ---- one data set ---- */

typedef struct data_set {
    const char *directory;
    const onnx_model *model;
    onnx_tensor *given; /* one for each input of the graph */
    op_call call;
} data_set;

static int read_tensor(onnx_tensor *out, const char *directory, const char *kind, size_t k, char *message)
{
    char name[64];
    snprintf(name, sizeof name, "%s_%zu.pb", kind, k);
    char *path = case_path(directory, name);
    if (path == NULL) return message_set(message, CASE_FAILED, "no memory for a path");
    int status = onnx_tensor_read(out, path, message);
    free(path);
    return status;
}

/* More files than the graph has inputs or outputs are an error, since some would not be compared. */
static int check_no_more(const char *directory, const char *kind, size_t k, char *message)
{
    char name[64];
    snprintf(name, sizeof name, "%s_%zu.pb", kind, k);
    if (!is_there(directory, name)) return CASE_OK;
    return message_set(message, CASE_FAILED, "%s: the graph has %zu %ss alone", name, k, kind);
}

static int find_name(const onnx_names *names, const char *name, size_t *at)
{
    for (size_t i = 0; i < names->count; i++) {
        if (strcmp(names->at[i], name) != 0) continue;
        *at = i;
        return CASE_OK;
    }
    return CASE_FAILED;
}

static int read_inputs(data_set *s)
{
    const onnx_model *m = s->model;
    for (size_t k = 0; k < m->graph_inputs.count; k++) {
        int status = read_tensor(&s->given[k], s->directory, "input", k, s->call.message);
        if (status != CASE_OK) return status;
    }
    for (size_t i = 0; i < m->inputs.count; i++) {
        const char *name = m->inputs.at[i];
        size_t k;
        if (name[0] == '\0') continue;
        if (find_name(&m->graph_inputs, name, &k) != CASE_OK)
            return message_set(s->call.message, CASE_FAILED, "input '%s' of the node is not one of the graph", name);
        s->call.inputs[i] = &s->given[k];
    }
    return check_no_more(s->directory, "input", m->graph_inputs.count, s->call.message);
}

static int compare_outputs(data_set *s)
{
    const onnx_model *m = s->model;
    for (size_t k = 0; k < m->graph_outputs.count; k++) {
        onnx_tensor expected;
        size_t i;
        if (find_name(&m->outputs, m->graph_outputs.at[k], &i) != CASE_OK)
            return message_set(s->call.message, CASE_FAILED, "output '%s' of the graph is not one of the node",
                               m->graph_outputs.at[k]);
        int status = read_tensor(&expected, s->directory, "output", k, s->call.message);
        if (status != CASE_OK) return status;
        status = compare_tensors(k, &s->call.outputs[i], &expected, s->call.message);
        onnx_tensor_free(&expected);
        if (status != CASE_OK) return status;
    }
    return check_no_more(s->directory, "output", m->graph_outputs.count, s->call.message);
}

static int run_data_set(const char *directory, const onnx_model *m, const op_entry *op, char *message)
{
    data_set s = { .directory = directory, .model = m, .call = { .model = m, .message = message } };
    s.given = calloc(m->graph_inputs.count + 1, sizeof *s.given);
    s.call.inputs = calloc(m->inputs.count + 1, sizeof *s.call.inputs);
    s.call.outputs = calloc(m->outputs.count + 1, sizeof *s.call.outputs);
    s.call.input_count = m->inputs.count;
    s.call.output_count = m->outputs.count;
    int status;
    if (s.given == NULL || s.call.inputs == NULL || s.call.outputs == NULL) {
        status = message_set(message, CASE_FAILED, "no memory for the tensors of the case");
    } else {
        status = read_inputs(&s);
        if (status == CASE_OK) status = op->run(&s.call);
        if (status == CASE_OK) status = compare_outputs(&s);
    }
    for (size_t k = 0; s.given != NULL && k < m->graph_inputs.count; k++) onnx_tensor_free(&s.given[k]);
    for (size_t i = 0; s.call.outputs != NULL && i < m->outputs.count; i++) onnx_tensor_free(&s.call.outputs[i]);
    free(s.given);
    free(s.call.inputs);
    free(s.call.outputs);
    return status;
}

/* ---- the case ---- */

static int run_model(const char *directory, const onnx_model *m, char *message)
{
    const op_entry *op = op_find(m);
    if (op == NULL)
        return message_set(message, CASE_SKIPPED, "operator %s%s%s is not implemented", m->domain,
                           m->domain[0] != '\0' ? "." : "", m->op_type);
    if (m->graph_outputs.count == 0) return message_set(message, CASE_FAILED, "the graph has no output to compare");
    if (!is_there(directory, "test_data_set_0")) return message_set(message, CASE_FAILED, "test_data_set_0 is missing");
    int status = CASE_OK;
    for (size_t k = 0; status == CASE_OK; k++) {
        char name[64];
        snprintf(name, sizeof name, "test_data_set_%zu", k);
        if (!is_there(directory, name)) break;
        char *path = case_path(directory, name);
        if (path == NULL) return message_set(message, CASE_FAILED, "no memory for a path");
        status = run_data_set(path, m, op, message);
        free(path);
    }
    return status;
}

int case_run(const char *directory, char *message)
{
    onnx_model model;
    char *path = case_path(directory, "model.onnx");
    if (path == NULL) return message_set(message, CASE_FAILED, "no memory for a path");
    int status = onnx_model_read(&model, path, message);
    free(path);
    if (status != CASE_OK) return status;
    status = run_model(directory, &model, message);
    onnx_model_free(&model);
    return status;
}
