/* draw.c: a program outside attend that draws a map with given weights as SVG and PNG. */
#include <attend/picture.h>
#include <stdio.h>
#include <string.h>

int main(void)
{
    const attend_map_token tokens[] = { { .text = "a", .id = 3, .word = 0 }, { .text = "b", .id = 4, .word = 1 } };
    const char *const words[] = { "a", "b" };
    const float weights[] = { 0.25f, 0.75f, 1, 0 };
    const attend_map map = { .source_text = "a b",
                             .target_text = "a b",
                             .source = tokens,
                             .target = tokens,
                             .source_count = 2,
                             .target_count = 2,
                             .source_words = words,
                             .target_words = words,
                             .source_word_count = 2,
                             .target_word_count = 2,
                             .layers = 1,
                             .heads = 1,
                             .weights = weights };
    const attend_view_options options = ATTEND_VIEW_OPTIONS_INIT;
    attend_string svg = { 0 }, png = { 0 };
    int status = attend_view_svg(&map, &options, &svg);
    if (status == ATTEND_OK) status = attend_view_png(&map, &options, &png);
    if (status != ATTEND_OK)
        fprintf(stderr, "draw: %s\n", attend_message());
    else if (!strstr(svg.text, "<svg") || memcmp(png.text, "\x89PNG", 4) != 0)
        status = ATTEND_FAILED;
    attend_string_free(&svg);
    attend_string_free(&png);
    return status;
}
