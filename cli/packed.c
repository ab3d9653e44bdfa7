#include "packed.h"

#include <attend/status.h>
#include <string.h>

int packed_add_number(attend_string *s, uint64_t number)
{
    char bytes[sizeof number];
    memcpy(bytes, &number, sizeof number);
    return attend_string_add(s, bytes, sizeof bytes);
}

int packed_add_real(attend_string *s, double number)
{
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    return packed_add_number(s, bits);
}

/* The size is stored plus 1; 0: NULL. */
int packed_add_text(attend_string *s, const char *text, size_t size)
{
    int status = packed_add_number(s, text ? (uint64_t)size + 1 : 0);
    if (!text) return status;
    if (status == ATTEND_OK && size) status = attend_string_add(s, text, size);
    return status == ATTEND_OK ? attend_string_add(s, "", 1) : status;
}

packed_reader packed_open(const attend_string *s)
{
    return (packed_reader){ .at = s->text, .left = s->size };
}

/* The next bytes; NULL: there are fewer. */
static const char *take(packed_reader *r, size_t size)
{
    const char *at = r->at;
    if (r->is_damaged || size > r->left) {
        r->is_damaged = true;
        return NULL;
    }
    r->at += size, r->left -= size;
    return at;
}

uint64_t packed_number(packed_reader *r)
{
    uint64_t number = 0;
    const char *bytes = take(r, sizeof number);
    if (bytes) memcpy(&number, bytes, sizeof number);
    return number;
}

double packed_real(packed_reader *r)
{
    const uint64_t bits = packed_number(r);
    double number;
    memcpy(&number, &bits, sizeof number);
    return number;
}

const char *packed_text(packed_reader *r, size_t *size)
{
    const uint64_t stored = packed_number(r);
    if (size) *size = 0;
    if (stored == 0) return NULL;
    const char *text = stored <= r->left ? take(r, (size_t)stored) : take(r, SIZE_MAX);
    if (text && size) *size = (size_t)stored - 1;
    return text;
}
