/* metadata.h: what somebody wants to remember from one run to the next: a file of lines "name TAB text", replaced whole. */
#ifndef ATTEND_CLI_FACTS_H
#define ATTEND_CLI_FACTS_H

#include <stdbool.h>
#include <stddef.h>

enum { FACT_NAME = 64, FACT_TEXT = 256 };

typedef struct fact {
    char name[FACT_NAME], text[FACT_TEXT];
} fact;

/* Zero is empty. */
typedef struct facts {
    fact *list;
    int count, room;
    bool failed; /* there was no memory for one of them: writing will say so */
} facts;

void facts_free(facts *f);
void facts_add(facts *f, const char *name, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* So that reading gives the same number again. */
void facts_add_number(facts *f, const char *name, double x);
const char *facts_find(const facts *f, const char *name); /* NULL: there is none */
bool facts_number(const facts *f, const char *name, double *x);
/* The first of `now` that was another `then`; what then was not asked for does not count. NULL: there is none. */
const fact *facts_changed(const facts *then, const facts *now);

int facts_write(const facts *f, const char *path);
/* What is no such line is passed over. A file that is not there is ATTEND_OK and *found false. */
int facts_read(facts *f, const char *path, bool *found);

#endif
