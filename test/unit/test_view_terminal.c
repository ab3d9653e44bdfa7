/* Terminal output, byte by byte, for several widths, scripts and colours; and the columns that characters occupy. */
#include "unit/unit.h"

#include "support/hand_map.h"
#include "support/sample_maps.h"
#include <attend/terminal.h>

static hand_map h;
static const char *const english[] = { "the", "house", "is", "understandably", "small", ".", NULL };
static const char *const german[] = { "das", "Haus", "ist", "verst\xc3\xa4ndlicherweise", "klein", ".", NULL };
/* Arabic, Chinese, combining marks, an escape sequence that clears the screen, a right-to-left override */
static const char *const strange[] = { "\xd9\x83\xd8\xaa\xd8\xa7\xd8\xa8",
                                       "\xe4\xbd\xa0\xe5\xa5\xbd",
                                       "o\xcc\x88\xcc\xa3x",
                                       "\x1b[2J",
                                       "\xe2\x80\xaeno",
                                       NULL };

static void expect(const char *const *source, const char *const *target, const attend_view_options *o,
                   const char *wanted)
{
    attend_string out = { 0 };
    assert_ok(attend_view_terminal(hand_map_of(&h, source, target), o, &out));
    assert_string_equal(out.text, wanted);
    assert_int_equal(out.size, strlen(wanted));
    attend_string_free(&out);
}

static void defaults(void **state)
{
    (void)state;
    attend_view_options o = ATTEND_VIEW_OPTIONS_INIT;
    o.head = 0;
    expect(english, german, &o,
           "log p -8.525, confidence 0.30, entropy 1.14 bits\n"
           "cross-attention, head 0\n"
           "\n"
           "                         the house is  understandably small .   (rest)\n"
           "                das 1.00 +++ :::::                              ::::::\n"
           "               Haus 0.50 ::: +++++ :::\n"
           "                ist 0.33     ::::: +++ ::::::::::::::\n"
           "verst\xc3\xa4ndlicherweise 0.25           ::: ++++++++++++++ :::::\n"
           "              klein 0.20               :::::::::::::: +++++ :::\n"
           "                  . 0.17                              ::::: +++ ::::::\n"
           "\n"
           "0  .:-=+*#%@ 1\n");
}

/* The columns are divided into bands, and long labels are cut. */
static void narrow(void **state)
{
    (void)state;
    attend_view_options o = ATTEND_VIEW_OPTIONS_INIT;
    o.head = 0, o.width = 40;
    expect(english, german, &o,
           "log p -8.525, confidence 0.30, entropy\n"
           "1.14 bits\n"
           "cross-attention, head 0\n"
           "\n"
           "                the house is\n"
           "       das 1.00 +++ :::::\n"
           "      Haus 0.50 ::: +++++ :::\n"
           "       ist 0.33     ::::: +++\n"
           "verst\xc3\xa4ndl\xe2\x80\xa6 0.25           :::\n"
           "     klein 0.20\n"
           "         . 0.17\n"
           "\n"
           "                understandably small .\n"
           "       das 1.00\n"
           "      Haus 0.50\n"
           "       ist 0.33 ::::::::::::::\n"
           "verst\xc3\xa4ndl\xe2\x80\xa6 0.25 ++++++++++++++ :::::\n"
           "     klein 0.20 :::::::::::::: +++++ :::\n"
           "         . 0.17                ::::: +++\n"
           "\n"
           "                (rest)\n"
           "       das 1.00 ::::::\n"
           "      Haus 0.50\n"
           "       ist 0.33\n"
           "verst\xc3\xa4ndl\xe2\x80\xa6 0.25\n"
           "     klein 0.20\n"
           "         . 0.17 ::::::\n"
           "\n"
           "0  .:-=+*#%@ 1\n");
    o.width = 1; /* the minimum is 20 */
    expect(english, german, &o,
           "log p -8.525,\n"
           "confidence 0.30,\n"
           "entropy 1.14 bits\n"
           "cross-attention,\n"
           "head 0\n"
           "\n"
           "           the house\n"
           "  das 1.00 +++ :::::\n"
           " Haus 0.50 ::: +++++\n"
           "  ist 0.33     :::::\n"
           "vers\xe2\x80\xa6 0.25\n"
           "klein 0.20\n"
           "    . 0.17\n"
           "\n"
           "           is\n"
           "  das 1.00\n"
           " Haus 0.50 :::\n"
           "  ist 0.33 +++\n"
           "vers\xe2\x80\xa6 0.25 :::\n"
           "klein 0.20\n"
           "    . 0.17\n"
           "\n"
           "           understa\xe2\x80\xa6\n"
           "  das 1.00\n"
           " Haus 0.50\n"
           "  ist 0.33 :::::::::\n"
           "vers\xe2\x80\xa6 0.25 +++++++++\n"
           "klein 0.20 :::::::::\n"
           "    . 0.17\n"
           "\n"
           "           small .\n"
           "  das 1.00\n"
           " Haus 0.50\n"
           "  ist 0.33\n"
           "vers\xe2\x80\xa6 0.25 :::::\n"
           "klein 0.20 +++++ :::\n"
           "    . 0.17 ::::: +++\n"
           "\n"
           "           (rest)\n"
           "  das 1.00 ::::::\n"
           " Haus 0.50\n"
           "  ist 0.33\n"
           "vers\xe2\x80\xa6 0.25\n"
           "klein 0.20\n"
           "    . 0.17 ::::::\n"
           "\n"
           "0  .:-=+*#%@ 1\n");
}

static void scripts(void **state)
{
    (void)state;
    attend_view_options o = ATTEND_VIEW_OPTIONS_INIT;
    o.head = 0, o.width = 60;
    expect(strange, strange, &o,
           "log p -6.579, confidence 0.33, entropy 1.08 bits\n"
           "cross-attention, head 0\n"
           "\n"
           "\xe2\x80\x8e          \xe2\x80\x8e\xd9\x83\xd8\xaa\xd8\xa7\xd8\xa8\xe2\x80\x8e \xe4\xbd\xa0\xe5\xa5\xbd "
           "o\xcc\x88\xcc\xa3x  \xef\xbf\xbd[2J no  (rest)\n"
           "\xe2\x80\x8e\xe2\x80\x8e\xd9\x83\xd8\xaa\xd8\xa7\xd8\xa8\xe2\x80\x8e 1.00 ++++ ::::              ::::::\n"
           "\xe4\xbd\xa0\xe5\xa5\xbd 0.50 :::: ++++ :::\n"
           "  o\xcc\x88\xcc\xa3x 0.33      :::: +++ ::::\n"
           "\xef\xbf\xbd[2J 0.25           ::: ++++ :::\n"
           "  no 0.20               :::: +++ ::::::\n"
           "\n"
           "0  .:-=+*#%@ 1\n");
    o.head = -1, o.by_token = true, o.title = "a title";
    expect(german, strange, &o,
           "a title\n"
           "log p -6.579, confidence 0.33, entropy 1.21 bits\n"
           "1 source word receives almost no attention\n"
           "cross-attention, mean of 2 heads\n"
           "\n"
           "          das Haus ist verst\xc3\xa4ndliche\xe2\x80\xa6 klein .   </s> (rest)\n"
           "\xe2\x80\x8e\xe2\x80\x8e\xd9\x83\xd8\xaa\xd8\xa7\xd8\xa8\xe2\x80\x8e 1.00 ### ....                         "
           "          ......\n"
           "\xe4\xbd\xa0\xe5\xa5\xbd 0.50 *** :::: ...\n"
           "  o\xcc\x88\xcc\xa3x 0.33 +++ .... ::: ..............\n"
           "\xef\xbf\xbd[2J 0.25 +++      ... :::::::::::::: .....\n"
           "  no 0.20 +++          .............. ::::: ...\n"
           "</s> 0.17                                       @@@@\n"
           "\n"
           "0  .:-=+*#%@ 1\n");
}

static void colours(void **state)
{
    (void)state;
    attend_view_options o = ATTEND_VIEW_OPTIONS_INIT;
    o.width = 60, o.title = "a title", o.colours = 256;
    expect(strange, strange, &o,
           "a title\n"
           "log p -6.579, confidence 0.33, entropy 1.14 bits\n"
           "cross-attention, mean of 2 heads\n"
           "\n"
           "\xe2\x80\x8e          \xe2\x80\x8e\xd9\x83\xd8\xaa\xd8\xa7\xd8\xa8\xe2\x80\x8e \xe4\xbd\xa0\xe5\xa5\xbd "
           "o\xcc\x88\xcc\xa3x  \xef\xbf\xbd[2J no  (rest)\n"
           "\xe2\x80\x8e\xe2\x80\x8e\xd9\x83\xd8\xaa\xd8\xa7\xd8\xa8\xe2\x80\x8e 1.00 \033[48;5;25;38;5;231m 75 "
           "\033[0m \033[48;5;255;38;5;16m 13 \033[0m \033[48;5;231;38;5;16m   \033[0m \033[48;5;231;38;5;16m    "
           "\033[0m \033[48;5;231;38;5;16m   \033[0m \033[48;5;255;38;5;16m  13  \033[0m\n"
           "\xe4\xbd\xa0\xe5\xa5\xbd 0.50 \033[48;5;67;38;5;16m 63 \033[0m \033[48;5;253;38;5;16m 25 \033[0m "
           "\033[48;5;255;38;5;16m13 \033[0m \033[48;5;231;38;5;16m    \033[0m \033[48;5;231;38;5;16m   \033[0m "
           "\033[48;5;231;38;5;16m      \033[0m\n"
           "  o\xcc\x88\xcc\xa3x 0.33 \033[48;5;110;38;5;16m 50 \033[0m \033[48;5;255;38;5;16m 13 \033[0m "
           "\033[48;5;253;38;5;16m25 \033[0m \033[48;5;255;38;5;16m 13 \033[0m \033[48;5;231;38;5;16m   \033[0m "
           "\033[48;5;231;38;5;16m      \033[0m\n"
           "\xef\xbf\xbd[2J 0.25 \033[48;5;110;38;5;16m 50 \033[0m \033[48;5;231;38;5;16m    \033[0m "
           "\033[48;5;255;38;5;16m13 \033[0m \033[48;5;253;38;5;16m 25 \033[0m \033[48;5;255;38;5;16m13 \033[0m "
           "\033[48;5;231;38;5;16m      \033[0m\n"
           "  no 0.20 \033[48;5;110;38;5;16m 50 \033[0m \033[48;5;231;38;5;16m    \033[0m \033[48;5;231;38;5;16m   "
           "\033[0m \033[48;5;255;38;5;16m 13 \033[0m \033[48;5;253;38;5;16m25 \033[0m \033[48;5;255;38;5;16m  13  "
           "\033[0m\n"
           "\n"
           "0 \033[48;5;231;38;5;16m \033[48;5;255;38;5;16m \033[48;5;254;38;5;16m \033[48;5;153;38;5;16m "
           "\033[48;5;110;38;5;16m \033[48;5;74;38;5;16m \033[48;5;67;38;5;16m \033[48;5;25;38;5;231m "
           "\033[48;5;24;38;5;231m \033[48;5;17;38;5;231m \033[0m 1\n");
    o.colours = 1 << 24;
    expect(strange, strange, &o,
           "a title\n"
           "log p -6.579, confidence 0.33, entropy 1.14 bits\n"
           "cross-attention, mean of 2 heads\n"
           "\n"
           "\xe2\x80\x8e          \xe2\x80\x8e\xd9\x83\xd8\xaa\xd8\xa7\xd8\xa8\xe2\x80\x8e \xe4\xbd\xa0\xe5\xa5\xbd "
           "o\xcc\x88\xcc\xa3x  \xef\xbf\xbd[2J no  (rest)\n"
           "\xe2\x80\x8e\xe2\x80\x8e\xd9\x83\xd8\xaa\xd8\xa7\xd8\xa8\xe2\x80\x8e 1.00 \033[48;2;44;108;176;38;5;231m "
           "75 \033[0m \033[48;2;229;240;249;38;5;16m 13 \033[0m \033[48;2;255;255;255;38;5;16m   \033[0m "
           "\033[48;2;255;255;255;38;5;16m    \033[0m \033[48;2;255;255;255;38;5;16m   \033[0m "
           "\033[48;2;229;240;249;38;5;16m  13  \033[0m\n"
           "\xe4\xbd\xa0\xe5\xa5\xbd 0.50 \033[48;2;82;141;196;38;5;16m 63 \033[0m \033[48;2;203;224;242;38;5;16m 25 "
           "\033[0m \033[48;2;229;240;249;38;5;16m13 \033[0m \033[48;2;255;255;255;38;5;16m    \033[0m "
           "\033[48;2;255;255;255;38;5;16m   \033[0m \033[48;2;255;255;255;38;5;16m      \033[0m\n"
           "  o\xcc\x88\xcc\xa3x 0.33 \033[48;2;120;174;216;38;5;16m 50 \033[0m \033[48;2;229;240;249;38;5;16m 13 "
           "\033[0m \033[48;2;203;224;242;38;5;16m25 \033[0m \033[48;2;229;240;249;38;5;16m 13 \033[0m "
           "\033[48;2;255;255;255;38;5;16m   \033[0m \033[48;2;255;255;255;38;5;16m      \033[0m\n"
           "\xef\xbf\xbd[2J 0.25 \033[48;2;120;174;216;38;5;16m 50 \033[0m \033[48;2;255;255;255;38;5;16m    \033[0m "
           "\033[48;2;229;240;249;38;5;16m13 \033[0m \033[48;2;203;224;242;38;5;16m 25 \033[0m "
           "\033[48;2;229;240;249;38;5;16m13 \033[0m \033[48;2;255;255;255;38;5;16m      \033[0m\n"
           "  no 0.20 \033[48;2;120;174;216;38;5;16m 50 \033[0m \033[48;2;255;255;255;38;5;16m    \033[0m "
           "\033[48;2;255;255;255;38;5;16m   \033[0m \033[48;2;229;240;249;38;5;16m 13 \033[0m "
           "\033[48;2;203;224;242;38;5;16m25 \033[0m \033[48;2;229;240;249;38;5;16m  13  \033[0m\n"
           "\n"
           "0 \033[48;2;255;255;255;38;5;16m \033[48;2;232;241;249;38;5;16m \033[48;2;209;227;243;38;5;16m "
           "\033[48;2;175;207;233;38;5;16m \033[48;2;138;185;222;38;5;16m \033[48;2;103;159;207;38;5;16m "
           "\033[48;2;69;130;189;38;5;16m \033[48;2;40;100;167;38;5;231m \033[48;2;25;69;130;38;5;231m "
           "\033[48;2;10;38;94;38;5;231m \033[0m 1\n");
}

static void nothing(void **state)
{
    (void)state;
    static const char *const none[] = { NULL };
    attend_view_options o = ATTEND_VIEW_OPTIONS_INIT;
    o.head = 1;
    expect(strange, none, &o,
           "log p 0.000, confidence 1.00, entropy 0.00 bits\n"
           "5 source words receive almost no attention\n"
           "the target has no words\n"
           "cross-attention, head 1\n"
           "\n"
           "0  .:-=+*#%@ 1\n");
}

/* Self-attention: an encoder's map has no probabilities, and "<s>" has none. */
static void self_attention(void **state)
{
    (void)state;
    static const char *const wanted[] = {
        "entropy 2.00 bits\n"
        "encoder self-attention, mean of 2 layers and 2 heads\n"
        "\n"
        "      one two three (rest)\n"
        "  one === --- ..... ......\n"
        "  two ... *** ..... ......\n"
        "three ... --- ===== ::::::\n"
        "\n"
        "0  .:-=+*#%@ 1\n",
        "log p -1.385, confidence 0.76, entropy 0.99 bits\n"
        "decoder self-attention, layer 0, mean of 2 heads\n"
        "\n"
        "           one two three (rest)\n"
        "  one 0.78 :::           ######\n"
        "  two 0.59 === ===       ......\n"
        "three 0.64     ### .....\n"
        "\n"
        "0  .:-=+*#%@ 1\n",
        "log p -1.385, confidence 0.76, entropy 1.08 bits\n"
        "decoder self-attention, mean of 2 layers, head 0\n"
        "\n"
        "           <s> one tw  o   three\n"
        "  <s>      @@@\n"
        "  one 0.78 ### :::\n"
        "   tw 0.89 ::: *** :::\n"
        "    o 0.66 ... ... +++ ...\n"
        "three 0.64     ... ... +++ .....\n"
        "\n"
        "0  .:-=+*#%@ 1\n",
    };
    attend_string out = { 0 };
    attend_view_options o = ATTEND_VIEW_OPTIONS_INIT;
    o.width = 60;
    for (int i = 0; i < 3; i++) {
        sample_map *m =
            sample_self_attention_new("one tw|o three", i ? ATTEND_ATTENTION_DECODER : ATTEND_ATTENTION_ENCODER, 2, 2);
        o.by_token = i == 2, o.head = i == 2 ? 0 : -1, o.layer = i == 1 ? 0 : -1;
        assert_ok(attend_view_terminal(&m->map, &o, &out));
        assert_string_equal(out.text, wanted[i]);
        sample_map_free(m);
    }
    sample_map *m = sample_self_attention_new("a b c a b c", ATTEND_ATTENTION_DECODER, 1, 1);
    assert_ok(attend_view_terminal(&m->map, &o, &out));
    assert_non_null(strstr(out.text, "the text repeats itself"));
    sample_map_free(m);
    m = sample_self_attention_new("a b c a b c", ATTEND_ATTENTION_ENCODER, 1, 1);
    assert_ok(attend_view_terminal(&m->map, &o, &out));
    assert_null(strstr(out.text, "repeats itself"));
    sample_map_free(m);
    attend_string_free(&out);
}

/* No line is longer than the width. */
static void no_line_is_too_long(void **state)
{
    (void)state;
    attend_string out = { 0 };
    attend_view_options o = ATTEND_VIEW_OPTIONS_INIT;
    for (o.width = 20; o.width < 120; o.width++)
        for (int which = 0; which < 4; which++) {
            o.by_token = which & 1;
            assert_ok(attend_view_terminal(hand_map_of(&h, which & 2 ? strange : english, german), &o, &out));
            for (char *at = out.text, *end; (end = strchr(at, '\n')); at = end + 1) {
                *end = '\0';
                if (attend_columns(at) > o.width) fail_msg("%d columns of %d: %s", attend_columns(at), o.width, at);
            }
        }
    attend_string_free(&out);
}

static void columns_of_text(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int columns;
    } cases[] = { { "", 0 },
                  { "abc", 3 },
                  { "\xe4\xbd\xa0\xe5\xa5\xbd", 4 },
                  { "o\xcc\x88\xcc\xa3", 1 },
                  { "\xd9\x83\xd9\x8e", 1 },
                  { "\xef\xbd\xb1", 1 },
                  { "\xf0\x9f\x98\x80", 2 },
                  { "\xe1\x84\x92\xe1\x85\xa1", 2 } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(attend_columns(cases[i].text), cases[i].columns);
    int columns;
    assert_int_equal(attend_columns_cut("o\xcc\x88\xcc\xa3"
                                        "o\xcc\x88",
                                        1, &columns),
                     5); /* combining marks stay with their letter */
    assert_int_equal(columns, 1);
    assert_int_equal(attend_columns_cut("\xe4\xbd\xa0\xe5\xa5\xbd", 3, &columns),
                     3); /* a wide character is not split */
    assert_int_equal(columns, 2);
    assert_int_equal(attend_columns_cut("a\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x92\xbb", 4, &columns),
                     1); /* nor are two joined characters */
    assert_int_equal(columns, 1);
    assert_int_equal(attend_columns_cut("abc", 0, &columns), 0);
    assert_true(attend_has_right_to_left("a\xd7\x90") && attend_has_right_to_left(strange[0]) &&
                !attend_has_right_to_left("a1\xe4\xbd\xa0"));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(defaults),
                                        cmocka_unit_test(narrow),
                                        cmocka_unit_test(scripts),
                                        cmocka_unit_test(colours),
                                        cmocka_unit_test(nothing),
                                        cmocka_unit_test(self_attention),
                                        cmocka_unit_test(no_line_is_too_long),
                                        cmocka_unit_test(columns_of_text) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
