/* record_file.h: a small file of named values, one line "name TAB text" each, replaced atomically. */
#ifndef ATTEND_CLI_RECORD_FILE_H
#define ATTEND_CLI_RECORD_FILE_H

#include <stdbool.h>
#include <stddef.h>

enum { RECORD_NAME = 64, RECORD_TEXT = 256 };

typedef struct record_field {
    char name[RECORD_NAME], text[RECORD_TEXT];
} record_field;

/* Zero-initialised: empty. */
typedef struct record {
    record_field *list;
    int count, capacity;
    bool failed; /* an addition ran out of memory; record_write reports it */
} record;

void record_free(record *r);
void record_add(record *r, const char *name, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Formatted so that record_number returns the same value. */
void record_add_number(record *r, const char *name, double x);
const char *record_find(const record *r, const char *name); /* NULL: no such field */
bool record_number(const record *r, const char *name, double *x);
/* The first field of `now` whose value differs from that in `then`; fields missing from `then` are ignored. NULL:
 * none differs. */
const record_field *record_changed(const record *then, const record *now);

int record_write(const record *r, const char *path);
/* Ignores lines of another form. A missing file is ATTEND_OK with *found false. */
int record_read(record *r, const char *path, bool *found);

#endif
