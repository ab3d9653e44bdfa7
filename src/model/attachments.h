/* attachments.h: the attachments of a model: named blocks of bytes, such as vocabularies, tokenizers and a shortlist.
 * They stay in the order in which they were added, which is their order in the file; an index finds them by name. */
#ifndef ATTEND_MODEL_ATTACHMENTS_H
#define ATTEND_MODEL_ATTACHMENTS_H

#include <stdbool.h>
#include <stddef.h>

enum { ATTEND_ATTACHMENT_NAME = 64 }; /* maximum bytes of a name, including its '\0' */

typedef struct attachment {
    char name[ATTEND_ATTACHMENT_NAME];
    size_t size;
    const unsigned char *bytes;
    bool borrowed; /* the bytes belong to the model, with its parameters; otherwise to the attachment */
} attachment;

typedef struct attachments {
    attachment **list;    /* (count), in the order of adding */
    attachment **by_name; /* (count), sorted: the index */
    size_t count, capacity;
} attachments;

void attend_attachments_free(attachments *a); /* {0} is valid */

/* NULL: there is none of this name. */
attachment *attend_attachments_find(const attachments *a, const char *name);

/* Whether two attachments have the same bytes; b may be NULL: false. */
bool attend_attachments_equal(const attachment *a, const attachment *b);
/* Removes an attachment, if there is one of this name. */
void attend_attachments_remove(attachments *a, const char *name);

/* Copies bytes; an attachment of the same name is replaced. ATTEND_BAD_USAGE: the name is empty or too long;
 * ATTEND_NO_MEMORY. */
int attend_attachments_set(attachments *a, const char *name, const void *bytes, size_t size);

/* Adds many, whose names are known to differ: attend_attachments_append adds one without a search, and
 * attend_attachments_index sorts the index after the last. No other function may be called in between. */
int attend_attachments_append(attachments *a, const char *name, const void *bytes, size_t size, bool borrow);
void attend_attachments_index(attachments *a);

#endif
