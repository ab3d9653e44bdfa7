/* page.h: the parts of the page, made from page.html, page.css and page*.js by cmake/embed.cmake. */
#ifndef ATTEND_VIEW_PAGE_H
#define ATTEND_VIEW_PAGE_H

#include <stddef.h>

typedef struct attend_page_part {
    const unsigned char *bytes; /* UTF-8 */
    size_t size;
} attend_page_part;

extern const attend_page_part attend_page_frame; /* HTML with {{name}} in place of the other parts and the data */
extern const attend_page_part attend_page_style, attend_page_script;
extern const char attend_page_style_hash[], attend_page_script_hash[]; /* for a Content-Security-Policy: "sha256-.." */

#endif
