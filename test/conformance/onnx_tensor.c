/* onnx_tensor.c: TensorProto, with the field numbers of onnx.proto, and its element types.
 *
 * The fields are read twice: the first pass finds the shape, the type and the number of elements, so that nothing is
 * allocated before they agree; the second pass reads the elements. */
#include "message.h"
#include "onnx.h"
#include "protobuf.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FIELD_FLOATS = 4, FIELD_INT32 = 5, FIELD_INT64 = 7, FIELD_RAW = 9, FIELD_DOUBLES = 10, FIELD_UINT64 = 11 };

typedef struct type_info {
    onnx_type type;
    const char *name;
    size_t width;     /* bytes of an element in raw_data */
    uint32_t field;   /* the field of elements that are not in raw_data */
    pb_wire wire;     /* of that field */
    bool real;        /* stored as float */
    int64_t min, max; /* range of the value, or of the bits of a 16-bit float; 0 and 0: any */
} type_info;

static const type_info types[] = {
    { ONNX_FLOAT, "FLOAT", 4, FIELD_FLOATS, PB_FIXED32, true, 0, 0 },
    { ONNX_UINT8, "UINT8", 1, FIELD_INT32, PB_VARINT, false, 0, UINT8_MAX },
    { ONNX_INT8, "INT8", 1, FIELD_INT32, PB_VARINT, false, INT8_MIN, INT8_MAX },
    { ONNX_UINT16, "UINT16", 2, FIELD_INT32, PB_VARINT, false, 0, UINT16_MAX },
    { ONNX_INT16, "INT16", 2, FIELD_INT32, PB_VARINT, false, INT16_MIN, INT16_MAX },
    { ONNX_INT32, "INT32", 4, FIELD_INT32, PB_VARINT, false, INT32_MIN, INT32_MAX },
    { ONNX_INT64, "INT64", 8, FIELD_INT64, PB_VARINT, false, INT64_MIN, INT64_MAX },
    { ONNX_BOOL, "BOOL", 1, FIELD_INT32, PB_VARINT, false, 0, 1 },
    { ONNX_FLOAT16, "FLOAT16", 2, FIELD_INT32, PB_VARINT, true, 0, UINT16_MAX },
    { ONNX_DOUBLE, "DOUBLE", 8, FIELD_DOUBLES, PB_FIXED64, true, 0, 0 },
    { ONNX_UINT32, "UINT32", 4, FIELD_UINT64, PB_VARINT, false, 0, UINT32_MAX },
    { ONNX_UINT64, "UINT64", 8, FIELD_UINT64, PB_VARINT, false, 0, INT64_MAX }, /* larger values are refused */
    { ONNX_BFLOAT16, "BFLOAT16", 2, FIELD_INT32, PB_VARINT, true, 0, UINT16_MAX },
};

static const type_info *find_type(int64_t type)
{
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if ((int64_t)types[i].type == type) return &types[i];
    return NULL;
}

/* ---- element types ---- */

float onnx_half_to_float(uint16_t bits)
{
    int exponent = bits >> 10 & 31, fraction = bits & 1023;
    float size;
    if (exponent == 31)
        size = fraction == 0 ? INFINITY : NAN;
    else if (exponent == 0)
        size = ldexpf((float)fraction, -24);
    else
        size = ldexpf((float)(1024 + fraction), exponent - 25);
    return bits & 0x8000 ? -size : size;
}

static float float_of_bits(uint64_t bits)
{
    uint32_t low = (uint32_t)bits;
    float value;
    memcpy(&value, &low, sizeof value);
    return value;
}

static float float_of_double_bits(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    if (fabs(value) > (double)3.402823466e38f) return value > 0 ? INFINITY : -INFINITY; /* out of the range of float */
    return (float)value;
}

/* Stores element i, given its bits (a varint, or sign-extended bytes of raw_data). */
static int store(onnx_tensor *t, const type_info *info, size_t i, uint64_t bits, const pb_reader *r, size_t at)
{
    int64_t number = pb_signed(bits);
    bool ranged = info->min != 0 || info->max != 0;
    if (ranged && (number < info->min || number > info->max))
        return pb_refuse(r, at, "element %zu, %" PRId64 ", is out of the range of %s", i, number, info->name);
    switch (info->type) {
    case ONNX_FLOAT:
        t->reals[i] = float_of_bits(bits);
        break;
    case ONNX_BFLOAT16:
        t->reals[i] = float_of_bits(bits << 16);
        break;
    case ONNX_FLOAT16:
        t->reals[i] = onnx_half_to_float((uint16_t)bits);
        break;
    case ONNX_DOUBLE:
        t->reals[i] = float_of_double_bits(bits);
        break;
    default:
        t->integers[i] = number;
        break;
    }
    return CASE_OK;
}

static int store_raw(onnx_tensor *t, const type_info *info, const pb_reader *r, size_t at)
{
    unsigned unused = 64 - 8 * (unsigned)info->width;
    for (size_t i = 0; i < t->size; i++, at += info->width) {
        uint64_t bits = 0;
        for (size_t k = 0; k < info->width; k++) bits |= (uint64_t)r->bytes[at + k] << (8 * k);
        if (info->min < 0 && bits >> (8 * info->width - 1) & 1 && unused > 0) bits |= UINT64_MAX << (64 - unused);
        if (store(t, info, i, bits, r, at) != CASE_OK) return CASE_FAILED;
    }
    return CASE_OK;
}

/* ---- first pass ---- */

typedef struct survey {
    int rank;
    int64_t dims[ONNX_MAX_RANK];
    size_t size;
    int64_t type;
    size_t raw_start, raw_size, raw_at;
    uint32_t field;   /* the field with the elements; 0: none */
    size_t count;     /* elements in it, unless it is raw_data */
    int64_t location; /* 1: in another file */
    bool segment;
    uint64_t seen; /* a bit for each singular field */
} survey;

static int survey_dims(survey *s, const pb_reader *r, const pb_field *f)
{
    if (f->wire != PB_VARINT && f->wire != PB_BYTES) return pb_refuse(r, f->at, "dims has wire type %d", (int)f->wire);
    for (pb_reader inner = pb_enter(r, f); inner.at < inner.end;) {
        size_t at = inner.at;
        uint64_t value;
        if (pb_number(&inner, PB_VARINT, &value) != CASE_OK) return CASE_FAILED;
        if (s->rank == ONNX_MAX_RANK) return pb_refuse(r, at, "a tensor of more than %d dimensions", ONNX_MAX_RANK);
        if (pb_signed(value) < 0) return pb_refuse(r, at, "dimension %d is %" PRId64, s->rank, pb_signed(value));
        s->dims[s->rank++] = pb_signed(value);
    }
    return CASE_OK;
}

/* The elements must all be in one kind of field. */
static int survey_numbers(survey *s, const pb_reader *r, const pb_field *f, pb_wire wire)
{
    if (s->field != 0 && s->field != f->number)
        return pb_refuse(r, f->at, "numbers both in field %" PRIu32 " and in field %" PRIu32, s->field, f->number);
    s->field = f->number;
    if (f->wire != wire && f->wire != PB_BYTES)
        return pb_refuse(r, f->at, "field %" PRIu32 " has wire type %d", f->number, (int)f->wire);
    for (pb_reader inner = pb_enter(r, f); inner.at < inner.end; s->count++) {
        uint64_t value;
        if (pb_number(&inner, wire, &value) != CASE_OK) return CASE_FAILED;
    }
    return CASE_OK;
}

static int survey_raw(survey *s, const pb_reader *r, const pb_field *f)
{
    if (f->wire != PB_BYTES) return pb_refuse(r, f->at, "raw_data has wire type %d", (int)f->wire);
    if (s->field != 0 && s->field != FIELD_RAW)
        return pb_refuse(r, f->at, "numbers both in field %" PRIu32 " and in raw_data", s->field);
    s->field = FIELD_RAW;
    s->raw_at = f->at;
    s->raw_start = f->start;
    s->raw_size = f->size;
    return CASE_OK;
}

static int survey_integer(const pb_reader *r, const pb_field *f, const char *what, int64_t *out)
{
    if (f->wire != PB_VARINT) return pb_refuse(r, f->at, "%s has wire type %d", what, (int)f->wire);
    *out = pb_signed(f->value);
    return CASE_OK;
}

static int survey_field(survey *s, const pb_reader *r, const pb_field *f)
{
    bool once = f->number == 2 || f->number == FIELD_RAW || f->number == 14;
    uint64_t bit = once ? UINT64_C(1) << f->number : 0;
    if (s->seen & bit) return pb_refuse(r, f->at, "field %" PRIu32 " of a tensor comes twice", f->number);
    s->seen |= bit;
    switch (f->number) {
    case 1:
        return survey_dims(s, r, f);
    case 2:
        return survey_integer(r, f, "data_type", &s->type);
    case 3:
        s->segment = true;
        return CASE_OK;
    case FIELD_FLOATS:
        return survey_numbers(s, r, f, PB_FIXED32);
    case FIELD_INT32:
    case FIELD_INT64:
    case FIELD_UINT64:
        return survey_numbers(s, r, f, PB_VARINT);
    case FIELD_DOUBLES:
        return survey_numbers(s, r, f, PB_FIXED64);
    case FIELD_RAW:
        return survey_raw(s, r, f);
    case 14:
        return survey_integer(r, f, "data_location", &s->location);
    default:
        return CASE_OK;
    }
}

/* Computes the product of the dimensions, none of which is negative. Returns false if it exceeds ONNX_MAX_ELEMENTS.
 * The product of the nonzero dimensions must be in range too. */
static bool count_elements(int rank, const int64_t *dims, size_t *size)
{
    int64_t product = 1;
    bool empty = false;
    for (int i = 0; i < rank; i++) {
        if (dims[i] == 0) empty = true;
        if (dims[i] > ONNX_MAX_ELEMENTS) return false;
        if (dims[i] > 0) product *= dims[i]; /* at most 2^52 */
        if (product > ONNX_MAX_ELEMENTS) return false;
    }
    *size = empty ? 0 : (size_t)product;
    return true;
}

/* Checks that the data agrees with shape and type. */
static int check_survey(survey *s, const pb_reader *r, const type_info **info)
{
    if (s->type <= 0 || s->type > INT32_MAX) return pb_refuse(r, r->end, "the tensor has data_type %" PRId64, s->type);
    *info = find_type(s->type);
    if (*info == NULL)
        return message_set(r->message, CASE_SKIPPED, "%s: data_type %" PRId64 " is not read", r->name, s->type);
    if (s->segment) return message_set(r->message, CASE_SKIPPED, "%s: a tensor in segments", r->name);
    if (s->location != 0)
        return message_set(r->message, CASE_SKIPPED, "%s: a tensor whose numbers are in another file", r->name);
    if (!count_elements(s->rank, s->dims, &s->size))
        return pb_refuse(r, r->end, "the shape has more than %d elements", ONNX_MAX_ELEMENTS);
    if (s->field == FIELD_RAW) {
        size_t wanted = s->size * (*info)->width;
        if (s->raw_size != wanted)
            return pb_refuse(r, s->raw_at, "raw_data of %zu bytes, but %zu elements of type %s are %zu bytes",
                             s->raw_size, s->size, (*info)->name, wanted);
        return CASE_OK;
    }
    if (s->field != 0 && s->field != (*info)->field)
        return pb_refuse(r, r->end, "numbers of type %s in field %" PRIu32, (*info)->name, s->field);
    if (s->count != s->size) return pb_refuse(r, r->end, "%zu numbers, but the shape has %zu", s->count, s->size);
    return CASE_OK;
}

/* ---- second pass ---- */

static int store_numbers(onnx_tensor *t, const type_info *info, pb_reader r)
{
    pb_field f;
    int next;
    size_t i = 0;
    while ((next = pb_next(&r, &f)) == PB_FIELD) {
        if (f.number != info->field) continue;
        for (pb_reader inner = pb_enter(&r, &f); inner.at < inner.end;) {
            size_t at = inner.at;
            uint64_t bits;
            int status = pb_number(&inner, info->wire, &bits);
            if (status == CASE_OK) status = store(t, info, i++, bits, &r, at);
            if (status != CASE_OK) return status;
        }
    }
    return next == PB_END ? CASE_OK : next;
}

int onnx_tensor_parse(onnx_tensor *out, const char *name, const uint8_t *bytes, size_t size, char *message)
{
    pb_reader r = { name, bytes, 0, size, message };
    pb_reader walk = r;
    survey s = { .rank = 0 };
    const type_info *info = NULL;
    pb_field f;
    int next;
    memset(out, 0, sizeof *out);
    while ((next = pb_next(&walk, &f)) == PB_FIELD)
        if (survey_field(&s, &walk, &f) != CASE_OK) return CASE_FAILED;
    if (next != PB_END) return next;
    int status = check_survey(&s, &r, &info);
    if (status == CASE_OK) status = onnx_tensor_new(out, info->type, s.rank, s.dims, message);
    if (status != CASE_OK) return status;
    status = s.field == FIELD_RAW ? store_raw(out, info, &r, s.raw_start) : store_numbers(out, info, r);
    if (status != CASE_OK) onnx_tensor_free(out);
    return status;
}

int onnx_tensor_read(onnx_tensor *out, const char *path, char *message)
{
    uint8_t *bytes;
    size_t size;
    int status = pb_file_read(&bytes, &size, path, message);
    if (status != CASE_OK) return status;
    status = onnx_tensor_parse(out, path, bytes, size, message);
    free(bytes);
    return status;
}

int onnx_tensor_new(onnx_tensor *out, onnx_type type, int rank, const int64_t *dims, char *message)
{
    const type_info *info = find_type(type);
    memset(out, 0, sizeof *out);
    for (int i = 0; i < rank && i < ONNX_MAX_RANK; i++)
        if (dims[i] < 0) return message_set(message, CASE_FAILED, "dimension %d of a tensor is %" PRId64, i, dims[i]);
    if (info == NULL || rank < 0 || rank > ONNX_MAX_RANK || !count_elements(rank, dims, &out->size))
        return message_set(message, CASE_FAILED, "a tensor of type %d, rank %d is more than this runner holds",
                           (int)type, rank);
    out->type = type;
    out->rank = rank;
    if (rank > 0) memcpy(out->dims, dims, (size_t)rank * sizeof *dims);
    size_t capacity = out->size > 0 ? out->size : 1;
    if (info->real)
        out->reals = calloc(capacity, sizeof *out->reals);
    else
        out->integers = calloc(capacity, sizeof *out->integers);
    if (out->reals == NULL && out->integers == NULL)
        return message_set(message, CASE_FAILED, "no memory for a tensor of %zu elements", out->size);
    return CASE_OK;
}

void onnx_tensor_free(onnx_tensor *t)
{
    free(t->reals);
    free(t->integers);
    memset(t, 0, sizeof *t);
}

const char *onnx_tensor_shape(const onnx_tensor *t, char *text, size_t capacity)
{
    size_t used = (size_t)snprintf(text, capacity, "(");
    for (int i = 0; i < t->rank && used < capacity; i++)
        used += (size_t)snprintf(text + used, capacity - used, "%s%" PRId64, i > 0 ? ", " : "", t->dims[i]);
    if (used < capacity) snprintf(text + used, capacity - used, ")");
    return text;
}
