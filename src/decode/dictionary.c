/* dictionary.c: replacements of words, read from a file. */
#include <attend/translator.h>

#include "core/memory.h"
#include "core/status.h"
#include "text/token_ids.h"
#include <attend/lines.h>
#include <attend/string_table.h>
#include <string.h>

struct attend_dictionary {
    attend_string_table words; /* source words */
    size_t *offsets;           /* (words) of the replacement of each word in `texts` */
    size_t capacity;
    attend_string texts; /* replacements, each followed by '\0' */
    attend_string line;  /* scratch: a line in NFC */
};

void attend_dictionary_free(attend_dictionary *d)
{
    if (!d) return;
    attend_string_table_free(&d->words);
    attend_memory_free(d->offsets);
    attend_string_free(&d->texts);
    attend_string_free(&d->line);
    attend_memory_free(d);
}

enum { MAX_BYTES = 256 << 20 }; /* of text: a pipe may have no end */

/* The first of several entries of a word counts. */
static int add(attend_dictionary *d, const char *word, size_t word_size, const char *text, size_t text_size)
{
    int number;
    const int before = d->words.count;
    int status = attend_string_table_add(&d->words, word, word_size, &number);
    if (status != ATTEND_OK || number < before) return status;
    size_t *offsets = (size_t)number < d->capacity ? d->offsets
                                                   : attend_grow_array(d->offsets, (size_t)number, (size_t)number + 1,
                                                                       sizeof *offsets, &d->capacity);
    if (!offsets) return attend_fail(ATTEND_NO_MEMORY, "no memory for a dictionary of %d words", number + 1);
    d->offsets = offsets;
    offsets[number] = d->texts.size;
    status = attend_string_add(&d->texts, text, text_size);
    return status == ATTEND_OK ? attend_string_add(&d->texts, "", 1) : status;
}

static int add_line(attend_dictionary *d, const attend_lines *from, const char *text, size_t size)
{
    const int status = attend_normalize(&d->line, text, size);
    if (status == ATTEND_NO_MEMORY || (status == ATTEND_OK && d->line.size == 0)) return status;
    const char *tab = status == ATTEND_OK ? memchr(d->line.text, '\t', d->line.size) : NULL;
    const size_t word = tab ? (size_t)(tab - d->line.text) : 0, rest = tab ? d->line.size - word - 1 : 0;
    if (word == 0 || rest == 0 || memchr(tab + 1, '\t', rest) || memchr(d->line.text, '\0', d->line.size))
        return attend_fail(ATTEND_BAD_DATA,
                           "%s:%llu: a dictionary entry must be a word, a TAB and its replacement, in UTF-8",
                           attend_lines_name(from), (unsigned long long)attend_lines_number(from));
    return add(d, d->line.text, word, tab + 1, rest);
}

int attend_dictionary_read(attend_dictionary **out, const char *path)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, out && path);
    *out = NULL;
    attend_lines *from = NULL;
    attend_dictionary *d = attend_memory_zeroed(1, sizeof *d);
    int status = d ? attend_lines_open(&from, path) : attend_fail(ATTEND_NO_MEMORY, "no memory for a dictionary");
    if (status == ATTEND_OK) attend_lines_set_limit(from, MAX_BYTES);
    for (const char *text = ""; status == ATTEND_OK && text;) {
        size_t size;
        status = attend_lines_next(from, &text, &size);
        if (status == ATTEND_OK && text) status = add_line(d, from, text, size);
    }
    attend_lines_close(from);
    if (status == ATTEND_OK)
        *out = d;
    else
        attend_dictionary_free(d);
    return status;
}

const char *attend_dictionary_find(const attend_dictionary *d, const char *word, size_t size)
{
    ATTEND_REQUIRE(NULL, d && (word || size == 0));
    const int number = attend_string_table_find(&d->words, word, size);
    return number >= 0 ? d->texts.text + d->offsets[number] : NULL;
}
