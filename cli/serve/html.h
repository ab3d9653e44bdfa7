/* html.h: HTML whose texts are translated: format "html" of /translate.
 *
 * Purpose    A document is divided into segments, the texts between tags of blocks (p, li, td, br, ...). A segment is
 *            one line for the model: white space is one space, entities are characters, and tags inside it (b, a, img,
 *            ...) are left out. Its translation gets them back: an element encloses the words that are aligned with its
 *            words, and what has no words stays next to the translation of its neighbour.
 * Guarantee  Everything outside segments is copied. Each tag of a segment is written once, unchanged, inside the
 *            element that contained it; elements do not overlap. Text is escaped, so that it never becomes a tag.
 * Not HTML   "<" that begins no tag, a tag if no ">" follows, and unknown entities are text. What follows a tag or a
 *            comment in which the document ends, such as an attribute without its second quote, is copied. A tag that
 *            has no partner in its segment keeps its place among the others of that kind.
 * Copied     script, style, pre, code, kbd, samp, svg, math, textarea, elements with translate="no", and comments.
 * Memory     Linear in the size of the document. */
#ifndef ATTEND_CLI_SERVE_HTML_H
#define ATTEND_CLI_SERVE_HTML_H

#include <attend/string.h>
#include <attend/words.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HTML_MAX_DEPTH = 64 }; /* elements of a segment inside each other; tags of further ones have no partners */

typedef enum html_tag_kind { HTML_START, HTML_END, HTML_SINGLE, HTML_COMMENT } html_tag_kind;

/* A tag inside a segment, or what is copied as a whole, such as <code>..</code>. */
typedef struct html_tag {
    uint32_t begin, end; /* in the document */
    uint32_t offset;     /* in the text of the segment */
    int partner;         /* the tag of the segment that ends or begins its element; -1: none */
    html_tag_kind kind;
    bool space_before, space_after; /* white space is next to it */
} html_tag;

typedef struct html_segment {
    uint32_t begin, end; /* in the document, with its tags */
    uint32_t text, size; /* in the texts */
    int first_tag, tag_count;
} html_segment;

typedef struct html_document {
    const char *html; /* the caller's */
    size_t size;
    char *texts; /* of all segments, one after another */
    html_segment *segments;
    html_tag *tags;
    int segment_count, tag_count;
    int segment_capacity, tag_capacity; /* internal */
} html_document;

/* The translation of a segment. Links are between words of the unit of each side. */
typedef struct html_target {
    const char *text;
    attend_unit source_unit, target_unit;
    const attend_word_link *links;
    int link_count;
} html_target;

/* Divides a document of at most 4 GB in UTF-8. The caller frees it in any case. ATTEND_NO_MEMORY. */
int html_parse(html_document *d, const char *html, size_t size);
void html_free(html_document *d);

/* Appends what is before a segment; index segment_count: what is after the last one. */
int html_write_between(attend_string *out, const html_document *d, int segment);
/* Appends a translated segment with its tags. */
int html_write_segment(attend_string *out, const html_document *d, int segment, const html_target *t);

/* ---- html_entities.c ---- */

/* Decodes a character reference at "&"; returns its length, and its UTF-8 in `to` (4 bytes at most, and not more than
 * its length); 0: there is none. */
size_t html_decode_entity(const char *at, const char *end, char to[4], size_t *size);
/* Appends text with what would be markup as references. */
int html_escape(attend_string *out, const char *text, size_t size);

/* ---- html_markup.c ---- */

typedef struct html_markup {
    const char *end;  /* after ">" */
    const char *name; /* of a tag */
    size_t name_size;
    html_tag_kind kind;
    bool is_block;   /* it ends a segment */
    bool is_opaque;  /* the start of an element that is copied */
    bool is_raw;     /* nothing but its end tag is markup in it */
    bool is_endless; /* it begins here, and the document ends in it */
} html_markup;

/* Reads a tag, a comment or a declaration at "<"; false: there is none. */
bool html_read_markup(const char *at, const char *end, html_markup *m);
bool html_same_name(const char *a, size_t a_size, const char *b, size_t b_size);
/* The first "</name" of a raw element; `end`: there is none. */
const char *html_find_raw_end(const char *at, const char *end, const html_markup *m);

#endif
