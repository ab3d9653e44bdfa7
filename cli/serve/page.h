/* page.h: the page of the server, made from page/ by cmake/embed.cmake. */
#ifndef ATTEND_CLI_SERVE_PAGE_H
#define ATTEND_CLI_SERVE_PAGE_H

#include <stddef.h>

typedef struct serve_page_part {
    const unsigned char *bytes; /* UTF-8 */
    size_t size;
} serve_page_part;

extern const serve_page_part serve_page_document;
extern const char serve_page_style_hash[], serve_page_script_hash[]; /* "sha256-.." */

#endif
