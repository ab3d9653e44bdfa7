/* Sentences: where the rules split and where they do not, the parts are the whole text, and the time is linear. */
#include "unit/unit.h"

#include <attend/sentences.h>
#include <time.h>

/* "one|two": the expected parts, each without the white space around it. */
static void expect_parts(const char *text, const char *expected)
{
    char found[1024] = "";
    attend_sentence_reader r = attend_sentences_begin(text, strlen(text));
    attend_string part = { 0 };
    attend_span s;
    int at = 0;
    while (attend_sentence_next(&r, &s)) {
        assert_int_equal(s.begin, at);
        at = s.end;
        part.size = 0;
        assert_ok(attend_sentences_append(&part, text + s.begin, (size_t)(s.end - s.begin)));
        snprintf(found + strlen(found), sizeof found - strlen(found), "%s%.*s", *found ? "|" : "", (int)part.size,
                 part.size ? part.text : "");
    }
    assert_int_equal(at, (int)strlen(text));
    attend_string_free(&part);
    if (strcmp(found, expected) != 0) fail_msg("'%s' is split as '%s' instead of '%s'", text, found, expected);
}

static void test_ends(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        { "", "" },
        { " \t", "" },
        { "One. Two.", "One.|Two." },
        { "  One!   Two?\tThree", "One!|Two?|Three" },
        { "Wait... What?! No!!", "Wait...|What?!|No!!" },
        { "Wait… what? Yes… No.", "Wait… what?|Yes…|No." },
        { "He left.She stayed.", "He left.She stayed." },
        { "He asked: why? because.", "He asked: why? because." },
        { "It is 3.14. It is 1.000,5. See a.b.com.", "It is 3.14.|It is 1.000,5.|See a.b.com." },
        { "In 1999. Then 2000.", "In 1999.|Then 2000." },
        { "1. First. 2. Second.", "1. First.|2. Second." },
        { "She said \"Go.\" He went.", "She said \"Go.\"|He went." },
        { "“Go.” He went. ‘No.’ She said.", "“Go.”|He went.|‘No.’|She said." },
        { "\"Stop!\" he said. \"Why?\" Anna asked.", "\"Stop!\" he said.|\"Why?\"|Anna asked." },
        { "A (one. Two.) three. Four.", "A (one. Two.) three.|Four." },
        { "He met (who?) Mary. Yes.", "He met (who?) Mary.|Yes." },
        { "(One. Two.) Three.", "(One. Two.)|Three." },
        { "A smile :( here. Two [.", "A smile :( here.|Two [." },
        { "[One.] (Two.) {Three.}", "[One.]|(Two.)|{Three.}" },
        { "¿Qué? ¡No! ¿Sí?", "¿Qué?|¡No!|¿Sí?" },
        { "« Vraiment ? » dit-il. « Oui ! » Marie rit.", "« Vraiment ? » dit-il.|« Oui ! »|Marie rit." },
        { "Sie rief: »Ja.« Er ging. »Nein.«", "Sie rief: »Ja.«|Er ging.|»Nein.«" },
        { "Quoi ? ! Non.", "Quoi ? !|Non." },
        { "Привет. Как дела? хорошо.", "Привет.|Как дела? хорошо." },
        { "a b . c d . E f .", "a b . c d .|E f ." },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) expect_parts(cases[i][0], cases[i][1]);
}

static void test_abbreviations(void **state)
{
    (void)state;
    static const char *const whole[] = {
        "Mr. Smith met Dr. Jones and Prof. Lee at St. Mary.",
        "J. K. Rowling and J.-P. Sartre in the U.S. Army at 5 p.m. Monday.",
        "See No. 5, fig. 2, pp. 3 and Jan. 3.",
        "Cats, e.g. Siamese, i.e. They, cf. Smith et al. Then",
        "Hr. Meier, z. B. Hunde, d. h. Tiere, bzw. Katzen, vgl. Kant, ca. Tausend.",
        "Am 3. Oktober, am 24. Dezember im 19. Jahrhundert, Nr. 5, Abb. 7.",
        "M. Dupont, Mme. Curie, Mlle. Claire et Mgr. Paul, art. 3.",
        "El Sr. García, la Sra. Dña. Ana, Ud. Pedro, p.ej. Juan, núm. 4, pág. 8.",
        "(Mr. Smith) \"Dr. No\"",
    };
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++) expect_parts(whole[i], whole[i]);
    expect_parts("The answer is no. He left.", "The answer is no.|He left.");
    expect_parts("On 3. November came.", "On 3. November came.");
    expect_parts("There are 3. Nobody came.", "There are 3.|Nobody came.");
    expect_parts("It was in Oct. He left.", "It was in Oct.|He left.");
}

static void test_scripts(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        { "今日は晴れ。明日は雨！本当？はい", "今日は晴れ。|明日は雨！|本当？|はい" },
        { "彼は「行く。」と言った。終わり。", "彼は「行く。」と言った。|終わり。" },
        { "「行く。」「来る。」", "「行く。」|「来る。」" },
        { "「行く。」と言った。", "「行く。」と言った。" },
        { "他说：“走吧。”我们走了。", "他说：“走吧。”|我们走了。" },
        { "价格３．５元。好。", "价格３．５元。|好。" },
        { "यह एक है। वह दो है॥ तीन", "यह एक है।|वह दो है॥|तीन" },
        { "كيف حالك؟ أنا بخير. شكرا!", "كيف حالك؟|أنا بخير.|شكرا!" },
        { "یہ ایک ہے۔ وہ دو ہے۔", "یہ ایک ہے۔|وہ دو ہے۔" },
        { "Բարեւ։ Ինչպես ես։", "Բարեւ։|Ինչպես ես։" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) expect_parts(cases[i][0], cases[i][1]);
}

static void test_joining(void **state)
{
    (void)state;
    attend_string text = { 0 };
    static const char *const parts[] = { " One. ", "", " \t", "今日。", "明日？", "Two.", "三。」", "End" };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        assert_ok(attend_sentences_append(&text, parts[i], strlen(parts[i])));
    assert_string_equal(text.text, "One. 今日。明日？Two. 三。」End");
    attend_string_free(&text);
}

/* Any text, also of broken characters: the parts one after another are the text, and none is empty. */
static void test_parts_are_the_text(void **state)
{
    (void)state;
    static const char *const pieces[] = {
        ".",  "!", "?", " ",  "\xe3\x80\x82", "(",        ")",    "\"",       "»",  "「",
        "」", "a", "B", "Mr", "12",           "\xc2\xa0", "\xff", "\xe3\x80", "…",  "।",
        "«",  "'", "3", ",",  "No",           "z.B",      "\t",   "\xf0",     "字", "ñ"
    };
    enum { TEXTS = 20000, PIECES = 24 };
    unsigned long long seed = 1;
    for (int n = 0; n < TEXTS; n++) {
        char text[PIECES * 5 + 1] = "";
        for (int i = 0; i < PIECES; i++) {
            seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
            strcat(text, pieces[(seed >> 33) % (sizeof pieces / sizeof *pieces)]);
        }
        const size_t size = strlen(text);
        char *exact = malloc(size); /* so that a sanitizer sees reads after its end */
        memcpy(exact, text, size);
        attend_sentence_reader r = attend_sentences_begin(exact, size);
        attend_span s;
        int at = 0;
        for (; attend_sentence_next(&r, &s); at = s.end) {
            assert_int_equal(s.begin, at);
            assert_true(s.end > s.begin && (size_t)s.end <= size);
        }
        assert_int_equal(at, (int)size);
        free(exact);
    }
    print_sampled("texts", TEXTS, 0);
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* A megabyte of each is read in about the time that it takes to decode it. */
static void test_time(void **state)
{
    (void)state;
    static const char *const pieces[] = { ". ", "(",    ")",  "(. ", "A. ",    "1. ", "? » ",
                                          "\"", ". \"", "a.", "。",  "「。」", "No. " };
    enum { BYTES = 1 << 20 };
    char *text = malloc(BYTES);
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        const size_t length = strlen(pieces[i]), size = BYTES / length * length;
        for (size_t at = 0; at < size; at += length) memcpy(text + at, pieces[i], length);
        const double start = seconds();
        attend_sentence_reader r = attend_sentences_begin(text, size);
        attend_span s;
        while (attend_sentence_next(&r, &s)) continue;
        if (seconds() - start > 5) fail_msg("a megabyte of '%s' took %.1f s", pieces[i], seconds() - start);
    }
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_ends),    cmocka_unit_test(test_abbreviations),
                                        cmocka_unit_test(test_scripts), cmocka_unit_test(test_joining),
                                        cmocka_unit_test(test_time),    cmocka_unit_test(test_parts_are_the_text) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
