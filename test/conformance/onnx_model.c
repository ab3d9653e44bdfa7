/* onnx_model.c: ModelProto -> GraphProto -> its one NodeProto, with the field numbers of onnx.proto.
 *
 * A repeated singular field is an error, although protocol buffers would take the last one: no writer of ONNX does
 * that, and a test must not guess. Unused fields are skipped. */
#include "message.h"
#include "onnx.h"
#include "protobuf.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- memory: blocks in a list, freed together ---- */

typedef struct block {
    struct block *next;
    max_align_t data[];
} block;

static void *take(onnx_model *m, size_t size)
{
    block *b = calloc(1, sizeof *b + size);
    if (b == NULL) return NULL;
    b->next = m->blocks;
    m->blocks = b;
    return b->data;
}

void onnx_model_free(onnx_model *model)
{
    for (block *b = model->blocks, *next; b != NULL; b = next) {
        next = b->next;
        free(b);
    }
    memset(model, 0, sizeof *model);
}

/* Makes space for one more item in *list, which has `count` items of `width` bytes; grows at each power of two. */
static int make_room(onnx_model *m, const pb_reader *r, size_t at, void *list, size_t count, size_t width)
{
    void *items;
    memcpy(&items, list, sizeof items);
    if (count >= ONNX_LIST_LIMIT)
        return message_set(r->message, CASE_SKIPPED, "%s: byte %zu: a list of more than %d entries", r->name, at,
                           ONNX_LIST_LIMIT);
    if ((count & (count - 1)) != 0) return CASE_OK;
    void *larger = take(m, (count > 0 ? 2 * count : 1) * width);
    if (larger == NULL) return pb_refuse(r, at, "no memory for a list of %zu entries", count + 1);
    if (count > 0) memcpy(larger, items, count * width);
    memcpy(list, &larger, sizeof larger);
    return CASE_OK;
}

/* ---- fields ---- */

static int expect(const pb_reader *r, const pb_field *f, pb_wire wire, const char *what)
{
    if (f->wire == wire) return CASE_OK;
    return pb_refuse(r, f->at, "%s has wire type %d instead of %d", what, (int)f->wire, (int)wire);
}

/* For a singular field; `seen` has a bit for each field number. */
static int expect_once(const pb_reader *r, const pb_field *f, uint64_t *seen, pb_wire wire, const char *what)
{
    uint64_t bit = UINT64_C(1) << f->number;
    if (*seen & bit) return pb_refuse(r, f->at, "%s comes twice", what);
    *seen |= bit;
    return expect(r, f, wire, what);
}

static int copy_string(onnx_model *m, const pb_reader *r, const pb_field *f, const char *what, const char **out)
{
    int status = expect(r, f, PB_BYTES, what);
    if (status != CASE_OK) return status;
    const uint8_t *bytes = r->bytes + f->start;
    if (f->size > 0 && memchr(bytes, 0, f->size) != NULL) return pb_refuse(r, f->at, "%s has a zero byte within", what);
    char *text = take(m, f->size + 1);
    if (text == NULL) return pb_refuse(r, f->at, "no memory for %s of %zu bytes", what, f->size);
    if (f->size > 0) memcpy(text, bytes, f->size);
    *out = text;
    return CASE_OK;
}

static int copy_string_once(onnx_model *m, const pb_reader *r, const pb_field *f, uint64_t *seen, const char *what,
                            const char **out)
{
    int status = expect_once(r, f, seen, PB_BYTES, what);
    return status == CASE_OK ? copy_string(m, r, f, what, out) : status;
}

static int append_name(onnx_model *m, const pb_reader *r, const pb_field *f, const char *what, onnx_names *names)
{
    int status = make_room(m, r, f->at, &names->at, names->count, sizeof *names->at);
    if (status == CASE_OK) status = copy_string(m, r, f, what, &names->at[names->count]);
    if (status == CASE_OK) names->count++;
    return status;
}

/* ---- attributes ---- */

enum { FIELD_F = 2, FIELD_I = 3, FIELD_S = 4, FIELD_FLOATS = 7, FIELD_INTS = 8, FIELD_STRINGS = 9, FIELD_TYPE = 20 };

static int append_floats(onnx_model *m, const pb_reader *r, const pb_field *f, onnx_attribute *a)
{
    if (f->wire != PB_BYTES && f->wire != PB_FIXED32) return expect(r, f, PB_FIXED32, "a float attribute");
    for (pb_reader inner = pb_enter(r, f); inner.at < inner.end;) {
        uint64_t value;
        int status = pb_number(&inner, PB_FIXED32, &value);
        if (status == CASE_OK) status = make_room(m, r, f->at, &a->floats, a->count, sizeof *a->floats);
        if (status != CASE_OK) return status;
        uint32_t bits = (uint32_t)value;
        memcpy(&a->floats[a->count++], &bits, sizeof bits);
    }
    return CASE_OK;
}

static int append_ints(onnx_model *m, const pb_reader *r, const pb_field *f, onnx_attribute *a)
{
    if (f->wire != PB_BYTES && f->wire != PB_VARINT) return expect(r, f, PB_VARINT, "an integer attribute");
    for (pb_reader inner = pb_enter(r, f); inner.at < inner.end;) {
        uint64_t value;
        int status = pb_number(&inner, PB_VARINT, &value);
        if (status == CASE_OK) status = make_room(m, r, f->at, &a->ints, a->count, sizeof *a->ints);
        if (status != CASE_OK) return status;
        a->ints[a->count++] = pb_signed(value);
    }
    return CASE_OK;
}

static int append_string(onnx_model *m, const pb_reader *r, const pb_field *f, onnx_attribute *a)
{
    int status = make_room(m, r, f->at, &a->strings, a->count, sizeof *a->strings);
    if (status == CASE_OK) status = copy_string(m, r, f, "a string attribute", &a->strings[a->count]);
    if (status == CASE_OK) a->count++;
    return status;
}

/* A value field. All values of an attribute must have the same kind, `*kind` (0: none yet). */
static int attribute_value(onnx_model *m, const pb_reader *r, const pb_field *f, onnx_attribute *a, uint32_t *kind)
{
    bool single = f->number <= FIELD_S;
    if (*kind == f->number && single)
        return pb_refuse(r, f->at, "field %" PRIu32 " of an attribute comes twice", *kind);
    if (*kind != 0 && *kind != f->number)
        return pb_refuse(r, f->at, "an attribute has both field %" PRIu32 " and field %" PRIu32, *kind, f->number);
    *kind = f->number;
    switch (f->number) {
    case FIELD_F: {
        int status = expect(r, f, PB_FIXED32, "a float attribute");
        return status == CASE_OK ? append_floats(m, r, f, a) : status;
    }
    case FIELD_I: {
        int status = expect(r, f, PB_VARINT, "an integer attribute");
        return status == CASE_OK ? append_ints(m, r, f, a) : status;
    }
    case FIELD_FLOATS:
        return append_floats(m, r, f, a);
    case FIELD_INTS:
        return append_ints(m, r, f, a);
    default:
        return append_string(m, r, f, a);
    }
}

/* The field with the value of an attribute of this type; 0: not supported. */
static uint32_t field_of_type(uint64_t type)
{
    switch (type) {
    case ONNX_ATTRIBUTE_FLOAT:
        return FIELD_F;
    case ONNX_ATTRIBUTE_INT:
        return FIELD_I;
    case ONNX_ATTRIBUTE_STRING:
        return FIELD_S;
    case ONNX_ATTRIBUTE_FLOATS:
        return FIELD_FLOATS;
    case ONNX_ATTRIBUTE_INTS:
        return FIELD_INTS;
    case ONNX_ATTRIBUTE_STRINGS:
        return FIELD_STRINGS;
    default:
        return 0;
    }
}

/* An omitted single value is zero or "". */
static int default_value(onnx_model *m, const pb_reader *r, size_t at, onnx_attribute *a)
{
    if (a->type == ONNX_ATTRIBUTE_FLOAT) a->floats = take(m, sizeof *a->floats);
    if (a->type == ONNX_ATTRIBUTE_INT) a->ints = take(m, sizeof *a->ints);
    if (a->type == ONNX_ATTRIBUTE_STRING && (a->strings = take(m, sizeof *a->strings)) != NULL) a->strings[0] = "";
    if (a->floats == NULL && a->ints == NULL && a->strings == NULL)
        return pb_refuse(r, at, "no memory for an attribute");
    a->count = 1;
    return CASE_OK;
}

static int finish_attribute(onnx_model *m, const pb_reader *r, size_t at, onnx_attribute *a, uint64_t type,
                            uint32_t kind)
{
    if (a->name == NULL || a->name[0] == '\0') return pb_refuse(r, at, "an attribute has no name");
    if (type == 0) return pb_refuse(r, at, "attribute '%s' has no type", a->name);
    if (onnx_model_attribute(m, a->name) != NULL) return pb_refuse(r, at, "attribute '%s' comes twice", a->name);
    uint32_t wanted = field_of_type(type);
    if (kind != 0 && kind != wanted)
        return pb_refuse(r, at, "attribute '%s' is of type %" PRIu64 " but has a value in field %" PRIu32, a->name,
                         type, kind);
    a->type = wanted == 0 ? ONNX_ATTRIBUTE_OTHER : (onnx_attribute_type)type;
    bool single = wanted != 0 && wanted <= FIELD_S;
    return single && a->count == 0 ? default_value(m, r, at, a) : CASE_OK;
}

static int read_attribute(onnx_model *m, pb_reader r, size_t at)
{
    int status = make_room(m, &r, at, &m->attributes, m->attribute_count, sizeof *m->attributes);
    if (status != CASE_OK) return status;
    onnx_attribute a = { .type = ONNX_ATTRIBUTE_OTHER };
    uint64_t seen = 0, type = 0;
    uint32_t kind = 0;
    pb_field f;
    int next;
    while ((next = pb_next(&r, &f)) == PB_FIELD) {
        switch (f.number) {
        case 1:
            status = copy_string_once(m, &r, &f, &seen, "the name of an attribute", &a.name);
            break;
        case FIELD_F:
        case FIELD_I:
        case FIELD_S:
        case FIELD_FLOATS:
        case FIELD_INTS:
        case FIELD_STRINGS:
            status = attribute_value(m, &r, &f, &a, &kind);
            break;
        case FIELD_TYPE:
            status = expect_once(&r, &f, &seen, PB_VARINT, "the type of an attribute");
            type = f.value;
            break;
        default:
            break;
        }
        if (status != CASE_OK) return status;
    }
    if (next != PB_END) return next;
    status = finish_attribute(m, &r, at, &a, type, kind);
    if (status == CASE_OK) m->attributes[m->attribute_count++] = a;
    return status;
}

const onnx_attribute *onnx_model_attribute(const onnx_model *model, const char *name)
{
    for (size_t i = 0; i < model->attribute_count; i++)
        if (strcmp(model->attributes[i].name, name) == 0) return &model->attributes[i];
    return NULL;
}

/* ---- node, graph, model ---- */

static int read_node(onnx_model *m, pb_reader r, size_t at)
{
    uint64_t seen = 0;
    pb_field f;
    int next, status = CASE_OK;
    while ((next = pb_next(&r, &f)) == PB_FIELD) {
        switch (f.number) {
        case 1:
            status = append_name(m, &r, &f, "an input of the node", &m->inputs);
            break;
        case 2:
            status = append_name(m, &r, &f, "an output of the node", &m->outputs);
            break;
        case 4:
            status = copy_string_once(m, &r, &f, &seen, "op_type", &m->op_type);
            break;
        case 5:
            status = expect(&r, &f, PB_BYTES, "an attribute");
            if (status == CASE_OK) status = read_attribute(m, pb_enter(&r, &f), f.at);
            break;
        case 7:
            status = copy_string_once(m, &r, &f, &seen, "the domain of the node", &m->domain);
            break;
        default:
            break;
        }
        if (status != CASE_OK) return status;
    }
    if (next != PB_END) return next;
    if (m->op_type == NULL || m->op_type[0] == '\0') return pb_refuse(&r, at, "a node has no op_type");
    return CASE_OK;
}

/* The name of a ValueInfoProto. */
static int read_value(onnx_model *m, pb_reader r, size_t at, onnx_names *names)
{
    uint64_t seen = 0;
    pb_field f;
    int next, status = CASE_OK;
    size_t before = names->count;
    while ((next = pb_next(&r, &f)) == PB_FIELD) {
        if (f.number != 1) continue;
        status = expect_once(&r, &f, &seen, PB_BYTES, "the name of a graph input or output");
        if (status == CASE_OK) status = append_name(m, &r, &f, "the name of a graph input or output", names);
        if (status != CASE_OK) return status;
    }
    if (next != PB_END) return next;
    if (names->count == before || names->at[before][0] == '\0')
        return pb_refuse(&r, at, "a graph input or output has no name");
    for (size_t i = 0; i < before; i++)
        if (strcmp(names->at[i], names->at[before]) == 0)
            return pb_refuse(&r, at, "two graph inputs or outputs are named '%s'", names->at[i]);
    return CASE_OK;
}

static int read_graph(onnx_model *m, pb_reader r)
{
    pb_field f;
    int next, status = CASE_OK;
    while ((next = pb_next(&r, &f)) == PB_FIELD) {
        bool known = f.number == 1 || f.number == 5 || f.number == 11 || f.number == 12 || f.number == 15;
        if (!known) continue;
        status = expect(&r, &f, PB_BYTES, "a part of the graph");
        if (status != CASE_OK) return status;
        switch (f.number) {
        case 1: /* only the first node is read; onnx_model_parse refuses models with several */
            if (m->node_count++ == 0) status = read_node(m, pb_enter(&r, &f), f.at);
            break;
        case 11:
            status = read_value(m, pb_enter(&r, &f), f.at, &m->graph_inputs);
            break;
        case 12:
            status = read_value(m, pb_enter(&r, &f), f.at, &m->graph_outputs);
            break;
        default:
            m->initializer_count++;
            break;
        }
        if (status != CASE_OK) return status;
    }
    return next == PB_END ? CASE_OK : next;
}

static const char *plain_domain(const char *domain)
{
    return domain == NULL || strcmp(domain, "ai.onnx") == 0 ? "" : domain;
}

static int read_opset(onnx_model *m, pb_reader r, size_t at)
{
    int status = make_room(m, &r, at, &m->opsets, m->opset_count, sizeof *m->opsets);
    if (status != CASE_OK) return status;
    onnx_opset o = { NULL, 0 };
    uint64_t seen = 0;
    pb_field f;
    int next;
    while ((next = pb_next(&r, &f)) == PB_FIELD) {
        if (f.number == 1) status = copy_string_once(m, &r, &f, &seen, "the domain of an opset", &o.domain);
        if (f.number == 2) {
            status = expect_once(&r, &f, &seen, PB_VARINT, "the version of an opset");
            o.version = pb_signed(f.value);
        }
        if (status != CASE_OK) return status;
    }
    if (next != PB_END) return next;
    o.domain = plain_domain(o.domain);
    if (o.version < 1) return pb_refuse(&r, at, "opset '%s' has version %" PRId64, o.domain, o.version);
    for (size_t i = 0; i < m->opset_count; i++)
        if (strcmp(m->opsets[i].domain, o.domain) == 0) return pb_refuse(&r, at, "opset '%s' comes twice", o.domain);
    m->opsets[m->opset_count++] = o;
    return CASE_OK;
}

static int read_model(onnx_model *m, pb_reader r)
{
    uint64_t seen = 0;
    pb_field f;
    int next, status = CASE_OK;
    while ((next = pb_next(&r, &f)) == PB_FIELD) {
        if (f.number == 7) {
            status = expect_once(&r, &f, &seen, PB_BYTES, "the graph");
            if (status == CASE_OK) status = read_graph(m, pb_enter(&r, &f));
        } else if (f.number == 8) {
            status = expect(&r, &f, PB_BYTES, "an opset");
            if (status == CASE_OK) status = read_opset(m, pb_enter(&r, &f), f.at);
        }
        if (status != CASE_OK) return status;
    }
    return next == PB_END ? CASE_OK : next;
}

/* Checks that need the whole model. */
static int check_model(onnx_model *m, const pb_reader *r)
{
    if (m->node_count == 0) return pb_refuse(r, r->end, "the model ends without a node");
    if (m->node_count > 1)
        return message_set(r->message, CASE_SKIPPED, "the graph has %zu nodes, not one", m->node_count);
    if (m->initializer_count > 0)
        return message_set(r->message, CASE_SKIPPED, "the graph has %zu initializers", m->initializer_count);
    m->domain = plain_domain(m->domain);
    for (size_t i = 0; i < m->opset_count; i++)
        if (strcmp(m->opsets[i].domain, m->domain) == 0) m->opset = m->opsets[i].version;
    if (m->opset == 0) return pb_refuse(r, r->end, "the model ends without an opset for the domain '%s'", m->domain);
    return CASE_OK;
}

int onnx_model_parse(onnx_model *out, const char *name, const uint8_t *bytes, size_t size, char *message)
{
    pb_reader r = { name, bytes, 0, size, message };
    memset(out, 0, sizeof *out);
    int status = read_model(out, r);
    if (status == CASE_OK) status = check_model(out, &r);
    if (status != CASE_OK) onnx_model_free(out);
    return status;
}

int onnx_model_read(onnx_model *out, const char *path, char *message)
{
    uint8_t *bytes;
    size_t size;
    int status = pb_file_read(&bytes, &size, path, message);
    if (status != CASE_OK) return status;
    status = onnx_model_parse(out, path, bytes, size, message);
    free(bytes);
    return status;
}
