#include <attend/json.h>

#include "core/c_locale.h"
#include "core/printable.h"
#include "core/status.h"
#include "core/utf8.h"
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

/* ---- sinks ---- */

static int add_to_string(void *user, const char *bytes, size_t size)
{
    return attend_string_add(user, bytes, size);
}

static int add_to_file(void *user, const char *bytes, size_t size)
{
    if (fwrite(bytes, 1, size, user) == size) return ATTEND_OK;
    return attend_fail(ATTEND_IO, "cannot write JSON: %s", attend_errno_text(errno));
}

attend_json_writer attend_json_to_sink(attend_json_sink sink, void *user)
{
    return (attend_json_writer){ .sink = sink, .user = user };
}

attend_json_writer attend_json_to_string(attend_string *out)
{
    return attend_json_to_sink(add_to_string, out);
}

attend_json_writer attend_json_to_file(FILE *out)
{
    return attend_json_to_sink(add_to_file, out);
}

static void put(attend_json_writer *w, const char *bytes, size_t size)
{
    if (w->status != ATTEND_OK || size == 0) return;
    w->status = w->sink(w->user, bytes, size);
    if (w->status == ATTEND_OK) w->bytes += size;
}

/* ---- structure ---- */

static void separate(attend_json_writer *w)
{
    if (w->follows_value) put(w, ", ", w->compact ? 1 : 2);
}

static void begin(attend_json_writer *w, const char *bracket)
{
    separate(w);
    put(w, bracket, 1);
    w->follows_value = false;
}

static void end(attend_json_writer *w, const char *bracket)
{
    put(w, bracket, 1);
    w->follows_value = true;
}

void attend_json_begin_object(attend_json_writer *w)
{
    ATTEND_REQUIRE_VOID(w);
    begin(w, "{");
}

void attend_json_end_object(attend_json_writer *w)
{
    ATTEND_REQUIRE_VOID(w);
    end(w, "}");
}

void attend_json_begin_array(attend_json_writer *w)
{
    ATTEND_REQUIRE_VOID(w);
    begin(w, "[");
}

void attend_json_end_array(attend_json_writer *w)
{
    ATTEND_REQUIRE_VOID(w);
    end(w, "]");
}

void attend_json_put_key(attend_json_writer *w, const char *name)
{
    ATTEND_REQUIRE_VOID(w && name);
    attend_json_put_text(w, name);
    put(w, ": ", w->compact ? 1 : 2);
    w->follows_value = false;
}

void attend_json_begin_line(attend_json_writer *w)
{
    ATTEND_REQUIRE_VOID(w);
    if (w->follows_value) put(w, ",", 1);
    put(w, "\n", 1);
    w->follows_value = false;
}

void attend_json_put_space(attend_json_writer *w, const char *space)
{
    ATTEND_REQUIRE_VOID(w && space);
    put(w, space, strlen(space));
}

/* ---- text ---- */

/* What could end a <script> element or be markup. */
static bool is_markup(int32_t point)
{
    return point < 0x7f && strchr("<>&\"\\'", point);
}

/* Writes the escape of a character of `size` bytes (0: not valid UTF-8) to `escaped`. Returns false if the character
 * needs no escape. */
static bool escape(const attend_json_writer *w, int32_t point, size_t size, char escaped[8])
{
    if (size == 0) point = 0xfffd;
    if (!w->in_html && (point == '"' || point == '\\')) {
        snprintf(escaped, 8, "\\%c", (char)point);
        return true;
    }
    const bool is_unsafe = attend_is_control(point) || attend_overrides_direction(point);
    if (size > 0 && point >= ' ' && (w->minimal || !is_unsafe) && !(w->in_html && is_markup(point))) return false;
    snprintf(escaped, 8, "\\u%04x", (unsigned)point & 0xffff);
    return true;
}

void attend_json_put_bytes(attend_json_writer *w, const char *text, size_t size)
{
    ATTEND_REQUIRE_VOID(w && (text || size == 0));
    size_t written = 0; /* bytes of `text` */
    separate(w);
    put(w, "\"", 1);
    for (size_t i = 0, length; i < size; i += length ? length : 1) {
        char escaped[8];
        int32_t point = 0;
        length = attend_utf8_next(text + i, size - i, &point);
        if (!escape(w, point, length, escaped)) continue;
        put(w, text + written, i - written);
        put(w, escaped, strlen(escaped));
        written = i + (length ? length : 1);
    }
    put(w, text + written, size - written);
    put(w, "\"", 1);
    w->follows_value = true;
}

void attend_json_put_text(attend_json_writer *w, const char *text)
{
    ATTEND_REQUIRE_VOID(w && text);
    attend_json_put_bytes(w, text, strlen(text));
}

/* ---- other values ---- */

void attend_json_put_value(attend_json_writer *w, const char *json)
{
    ATTEND_REQUIRE_VOID(w && json);
    separate(w);
    put(w, json, strlen(json));
    w->follows_value = true;
}

void attend_json_put_integer(attend_json_writer *w, int64_t x)
{
    ATTEND_REQUIRE_VOID(w);
    char text[24];
    snprintf(text, sizeof text, "%" PRId64, x);
    attend_json_put_value(w, text);
}

void attend_json_put_unsigned(attend_json_writer *w, uint64_t x)
{
    ATTEND_REQUIRE_VOID(w);
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, x);
    attend_json_put_value(w, text);
}

void attend_json_put_number(attend_json_writer *w, int digits, double x)
{
    ATTEND_REQUIRE_VOID(w);
    char text[64];
    if (!isfinite(x))
        snprintf(text, sizeof text, "null");
    else if (fabs(x) < 1e15)
        snprintf(text, sizeof text, "%.*f", digits, x);
    else
        snprintf(text, sizeof text, "%.*e", digits, x);
    attend_use_decimal_point(text);
    attend_json_put_value(w, text);
}

void attend_json_put_short(attend_json_writer *w, int digits, double x)
{
    ATTEND_REQUIRE_VOID(w);
    char text[64];
    if (isfinite(x))
        snprintf(text, sizeof text, "%.*g", digits, x);
    else
        snprintf(text, sizeof text, "null");
    attend_use_decimal_point(text);
    attend_json_put_value(w, text);
}

void attend_json_put_bool(attend_json_writer *w, bool x)
{
    ATTEND_REQUIRE_VOID(w);
    attend_json_put_value(w, x ? "true" : "false");
}

void attend_json_put_null(attend_json_writer *w)
{
    ATTEND_REQUIRE_VOID(w);
    attend_json_put_value(w, "null");
}
