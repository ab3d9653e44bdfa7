/* golden.c: a reader for the format of golden.h. */
#include "golden/golden.h"
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SIZE = 1 << 24 }; /* maximum numbers in a tensor */

typedef struct reader {
    golden *g;
    int line;
    golden_tensor *open; /* the tensor whose numbers are being read, or NULL */
    size_t filled;
} reader;

static bool refuse(golden *g, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(g->error, sizeof g->error, format, arguments);
    va_end(arguments);
    return false;
}

#define REFUSE(r, format, ...) refuse((r)->g, "%s:%d: " format, (r)->g->path, (r)->line, __VA_ARGS__)

/* The next word of *text, ended by a zero, or NULL. */
static char *next_word(char **text)
{
    char *start = *text + strspn(*text, " \t\r\n");
    if (*start == '\0') return NULL;
    char *end = start + strcspn(start, " \t\r\n");
    *text = *end != '\0' ? end + 1 : end;
    *end = '\0';
    return start;
}

static bool parse_count(const char *word, int low, int high, int *out)
{
    char *end = NULL;
    errno = 0;
    long value = strtol(word, &end, 10);
    if (end == word || *end != '\0' || errno != 0 || value < low || value > high) return false;
    *out = (int)value;
    return true;
}

/* Reads d0 d1 ... and computes their product. */
static bool parse_shape(reader *r, char *text, golden_tensor *t)
{
    char *word = next_word(&text);
    if (word == NULL || !parse_count(word, 1, GOLDEN_MAX_RANK, &t->rank))
        return REFUSE(r, "the rank of '%s' is '%s', not 1 to %d", t->name, word != NULL ? word : "", GOLDEN_MAX_RANK);
    t->size = 1;
    for (int i = 0; i < t->rank; i++) {
        word = next_word(&text);
        if (word == NULL) return REFUSE(r, "'%s' has rank %d but only %d sizes", t->name, t->rank, i);
        if (!parse_count(word, 1, MAX_SIZE, &t->shape[i]))
            return REFUSE(r, "a size of '%s' is '%s', not a positive number", t->name, word);
        t->size *= (size_t)t->shape[i];
        if (t->size > MAX_SIZE) return REFUSE(r, "'%s' is too large", t->name);
    }
    word = next_word(&text);
    return word == NULL || REFUSE(r, "'%s' after the sizes of '%s'", word, t->name);
}

/* A new tensor at the end of the list, with its name. */
static bool append(reader *r, const char *name)
{
    golden *g = r->g;
    if (strlen(name) >= GOLDEN_NAME) return REFUSE(r, "the name '%.60s' is too long", name);
    if (golden_has(g, name)) return REFUSE(r, "a second '%s'", name);
    golden_tensor *grown = realloc(g->tensors, (size_t)(g->count + 1) * sizeof *grown);
    if (grown == NULL) return REFUSE(r, "no memory for '%s'", name);
    g->tensors = grown;
    golden_tensor *t = &grown[g->count++];
    memset(t, 0, sizeof *t);
    memcpy(t->name, name, strlen(name) + 1);
    return true;
}

static bool read_header(reader *r, char *text)
{
    char *name = next_word(&text);
    if (!isalpha((unsigned char)*name))
        return REFUSE(r, "expected `name rank d0 d1 ..`, found '%.60s'%s%s", name,
                      r->g->count > 0 ? ": too many numbers for " : "",
                      r->g->count > 0 ? r->g->tensors[r->g->count - 1].name : "");
    if (!append(r, name)) return false;
    golden_tensor *t = &r->g->tensors[r->g->count - 1];
    if (!parse_shape(r, text, t)) return false;
    t->data = calloc(t->size, sizeof *t->data);
    if (t->data == NULL) return REFUSE(r, "no memory for '%s'", t->name);
    r->open = t;
    r->filled = 0;
    return true;
}

static bool read_numbers(reader *r, char *text)
{
    golden_tensor *t = r->open;
    for (char *word = next_word(&text); word != NULL; word = next_word(&text)) {
        char *end = NULL;
        double value = strtod(word, &end);
        if (end == word || *end != '\0' || !isfinite(value))
            return REFUSE(r, "'%.60s' is not a finite number (%zu of %zu of '%s')", word, r->filled + 1, t->size,
                          t->name);
        if (r->filled == t->size) return REFUSE(r, "too many numbers for '%s', which has %zu", t->name, t->size);
        t->data[r->filled++] = value;
    }
    if (r->filled == t->size) r->open = NULL;
    return true;
}

static bool read_line(reader *r, char *text)
{
    r->line++;
    text += strspn(text, " \t\r\n");
    if (*text == '\0' || *text == '#') return true;
    return r->open != NULL ? read_numbers(r, text) : read_header(r, text);
}

bool golden_read(golden *g, FILE *in, const char *path)
{
    *g = (golden){ .path = path };
    reader r = { .g = g };
    char *line = NULL;
    size_t capacity = 0;
    bool good = true;
    while (good && getline(&line, &capacity, in) >= 0) good = read_line(&r, line);
    free(line);
    if (good && ferror(in)) good = REFUSE(&r, "%s", strerror(errno));
    if (good && r.open != NULL)
        good = REFUSE(&r, "ends after %zu of the %zu numbers of '%s'", r.filled, r.open->size, r.open->name);
    if (good && g->count == 0) good = REFUSE(&r, "%s", "holds no tensor");
    return good;
}

bool golden_open(golden *g, const char *path)
{
    *g = (golden){ .path = path };
    FILE *in = fopen(path, "r");
    if (in == NULL) return refuse(g, "%s: %s (tools/make_goldens.py writes it)", path, strerror(errno));
    bool good = golden_read(g, in, path);
    (void)fclose(in);
    return good;
}

void golden_free(golden *g)
{
    for (int i = 0; i < g->count; i++) free(g->tensors[i].data);
    free(g->tensors);
    g->tensors = NULL;
    g->count = 0;
}

static golden_tensor *lookup(const golden *g, const char *name)
{
    for (int i = 0; i < g->count; i++)
        if (strcmp(g->tensors[i].name, name) == 0) return &g->tensors[i];
    return NULL;
}

bool golden_has(const golden *g, const char *name)
{
    return lookup(g, name) != NULL;
}

golden_tensor *golden_find(golden *g, const char *name)
{
    golden_tensor *t = lookup(g, name);
    if (t != NULL)
        t->seen = true;
    else
        refuse(g, "%s: has no '%s'", g->path, name);
    return t;
}

const golden_tensor *golden_unseen(const golden *g)
{
    for (int i = 0; i < g->count; i++)
        if (!g->tensors[i].seen) return &g->tensors[i];
    return NULL;
}

/* "(3, 4)" */
static void shape_text(char *out, size_t size, int rank, const int *shape)
{
    size_t used = 0;
    for (int i = 0; i < rank && i < GOLDEN_MAX_RANK && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, "%s%d%s", i == 0 ? "(" : ", ", shape[i],
                                 i == rank - 1 ? ")" : "");
}

golden_tensor *golden_shaped(golden *g, const char *name, int rank, const int *shape)
{
    golden_tensor *t = golden_find(g, name);
    if (t == NULL) return NULL;
    if (t->rank == rank && memcmp(t->shape, shape, (size_t)rank * sizeof *shape) == 0) return t;
    char theirs[64] = "()", ours[64] = "()";
    shape_text(theirs, sizeof theirs, t->rank, t->shape);
    shape_text(ours, sizeof ours, rank, shape);
    refuse(g, "%s: '%s' is %s there and %s here", g->path, name, theirs, ours);
    return NULL;
}

bool golden_close(golden *g, const golden_tensor *want, const attend_real *got, double tolerance)
{
    double largest = 0.0, worst = -1.0;
    size_t where = 0;
    for (size_t i = 0; i < want->size; i++) largest = fmax(largest, fabs(want->data[i]));
    if (!(largest > 0.0)) largest = 1.0;
    for (size_t i = 0; i < want->size; i++) {
        double off = fabs((got != NULL ? (double)got[i] : 0.0) - want->data[i]) / largest;
        if (off <= worst) continue; /* NaN compares false, so it counts as the worst */
        worst = off;
        where = i;
        if (isnan(off)) break;
    }
    if (worst <= tolerance) return true;
    return refuse(g, "%s: '%s'[%zu] is %.17g there and %.17g here: off by %.2g of the largest, more than %.2g", g->path,
                  want->name, where, want->data[where], got != NULL ? (double)got[where] : 0.0, worst, tolerance);
}
