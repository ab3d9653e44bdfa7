#include "json_members.h"

void json_text(attend_json_writer *w, const char *name, const char *text)
{
    attend_json_put_key(w, name);
    attend_json_put_text(w, text);
}

void json_integer(attend_json_writer *w, const char *name, long long x)
{
    attend_json_put_key(w, name);
    attend_json_put_integer(w, x);
}

void json_number(attend_json_writer *w, const char *name, int digits, double x)
{
    attend_json_put_key(w, name);
    attend_json_put_number(w, digits, x);
}

void json_bool(attend_json_writer *w, const char *name, bool x)
{
    attend_json_put_key(w, name);
    attend_json_put_bool(w, x);
}

void json_begin_object(attend_json_writer *w, const char *name)
{
    attend_json_put_key(w, name);
    attend_json_begin_object(w);
}

void json_begin_array(attend_json_writer *w, const char *name)
{
    attend_json_put_key(w, name);
    attend_json_begin_array(w);
}

void json_end_line(attend_json_writer *w)
{
    attend_json_end_object(w);
    attend_json_put_space(w, "\n");
}

void json_print_fault(FILE *to, const char *reason)
{
    attend_json_writer w = attend_json_to_file(to);
    attend_json_begin_object(&w);
    json_text(&w, "fault", reason);
    json_end_line(&w);
}
