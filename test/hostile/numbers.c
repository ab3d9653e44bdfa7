/* numbers.c: a campaign (campaign.h) with every option of every verb and values that are no numbers, are out of range or
 * at the ends of a range. Options take turns: each has had one value before one has a second, and the long form (a minute
 * or more) takes the time for that. It prints how many options had their turn. */
#include "hostile/option_list.h"

#include <stdio.h>
#include <string.h>

static char digits[100001];

static const char *const values[] = { "0",
                                      "-1",
                                      "1",
                                      "2",
                                      "7",
                                      "-0",
                                      "00000000000000000000000000000000000000001",
                                      "100",
                                      "1000",
                                      "65535",
                                      "65536",
                                      "100000",
                                      "10000000",
                                      "2147483647",
                                      "2147483648",
                                      "-2147483649",
                                      "4294967296",
                                      "9007199254740993",
                                      "9223372036854775807",
                                      "9223372036854775808",
                                      "18446744073709551616",
                                      "-9223372036854775809",
                                      "1e3",
                                      "1e18",
                                      "1e99",
                                      "1e308",
                                      "1e309",
                                      "-1e309",
                                      "1e-320",
                                      "1e-999999999",
                                      "1e999999999999",
                                      "0.5",
                                      "0.9999999999999999",
                                      "1.0000000000000002",
                                      "1.5",
                                      "nan",
                                      "-nan",
                                      "nan(7)",
                                      "inf",
                                      "-inf",
                                      "infinity",
                                      "0x10",
                                      "0x1p70",
                                      "",
                                      " ",
                                      " 1",
                                      "1 ",
                                      "+1",
                                      "--1",
                                      "1,5",
                                      "1.000.000",
                                      "1_000",
                                      "\xd9\xa1",
                                      "1e",
                                      ".",
                                      "-",
                                      "--",
                                      "50%",
                                      "-5%",
                                      "1k",
                                      "1T",
                                      "16777216T",
                                      "1e30T",
                                      "-1G",
                                      "1\n2",
                                      "1\x1b[31m",
                                      "\xff",
                                      "a",
                                      "yes",
                                      "none",
                                      "all",
                                      "1,2,3",
                                      ",",
                                      "3,1",
                                      "1,,2",
                                      "hidden=",
                                      "=8",
                                      "hidden=8,8",
                                      "updates=0",
                                      "x: hidden=8 hidden=9",
                                      "%s%n%d",
                                      digits };
enum { VALUES = sizeof values / sizeof *values };

static bool has_option(const option_list *l, const char *verb, const char *name)
{
    for (int i = 0; i < l->count; i++)
        if (strcmp(l->items[i].verb, verb) == 0 && strcmp(l->items[i].name, name) == 0) return true;
    return false;
}

/* Adds the option and its value: on the command line, in a configuration file or, for a comparison, as a variant. A flag
 * has no value, unless `to_flags`. */
static void add_option(campaign *c, run *r, const option_list *l, const listed_option *o, const char *value,
                       bool to_flags)
{
    static char joined[sizeof digits + 128];
    const bool has_value = *o->argument || to_flags;
    const uint32_t way = campaign_random(c, 4);
    if (!*o->name) {
        run_add(r, value, NULL);
    } else if (way == 0 && has_option(l, o->verb, "config")) {
        const int length = snprintf(joined, sizeof joined, "%s %s\n", o->name, has_value ? value : "");
        file_write("settings", joined, (size_t)length);
        run_add(r, "--config", "settings", NULL);
    } else if (way == 1 && has_option(l, o->verb, "vary")) {
        snprintf(joined, sizeof joined, "%s=%s,2", o->name, value);
        run_add(r, "--vary", joined, NULL);
    } else {
        snprintf(joined, sizeof joined, "--%s%s%s", o->name, has_value ? "=" : "", has_value ? value : "");
        run_add(r, joined, NULL);
    }
}

static bool is_quoted(const char *printed, const char *value)
{
    const size_t length = strlen(value);
    return length > 2 && length < 100 && strstr(printed, value);
}

int main(int argc, char **argv)
{
    static campaign c;
    static option_list list;
    static run r;
    campaign_begin(&c, argc, argv);
    memset(digits, '9', sizeof digits - 1);
    campaign_clean(&c); /* keeps what is there */
    option_list_read(&list, &c);
    const listed_option *o;
    int value;
    enum { LONG = 60, TURNS = 3600 };
    const double seconds = c.seconds;
    for (long i = c.only >= 0 ? c.only : 0; option_list_pick(&list, &c, i, VALUES, &o, &value); i++) {
        c.seconds = seconds >= LONG && i < list.count && seconds < TURNS ? TURNS : seconds;
        if (!campaign_case(&c, i)) break;
        campaign_cover(&c, "options", o - list.items, list.count);
        option_list_base(&c, &r, o);
        add_option(&c, &r, &list, o, values[value], value % 4 == 0);
        r.limit = strcmp(o->verb, "serve") == 0 ? 2 : 8;
        r.may_be_stopped = true; /* a billion updates are allowed */
        campaign_run(&c, &r);
        if (r.status == 2 && *o->name && !strstr(r.printed, o->name) && !strstr(r.printed, "settings:") &&
            !is_quoted(r.printed, values[value]))
            campaign_fault(&c, &r, "the message names neither the option nor its value");
        campaign_clean(&c);
        campaign_case_end(&c);
        if (c.only >= 0) break;
    }
    return campaign_end(&c);
}
