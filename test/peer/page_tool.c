/* page_tool.c: writes a page of sample maps, which check_page.py tests in a browser.
 * page_tool FILE           difficult content: markup, quotes, right to left, 200 words, loops, several heads, no attention
 * page_tool FILE picture   only a few sentences, for a picture
 * page_tool FILE text      self-attention of a language model
 * page_tool FILE models    two sentences, each by two models; the palette is grey */
#include "support/sample_maps.h"

enum { LONG = 200 };

typedef struct sheet {
    const attend_map *maps[64];
    attend_map_list lists[32];
    int maps_used, count;
    const char *source; /* of the last sentence */
} sheet;

/* Adds a sentence or, if source is NULL, another hypothesis of the last sentence. */
static void add(sheet *s, const char *source, const char *target, const char *links, int layers, int heads,
                double spread)
{
    if (source) s->lists[s->count++] = (attend_map_list){ s->maps + s->maps_used, 0 };
    if (source) s->source = source;
    s->maps[s->maps_used++] = &sample_map_new(s->source, target, links, layers, heads, spread)->map;
    s->lists[s->count - 1].count++;
}

/* Adds a map of another attention kind to the last hypothesis. */
static void add_self_attention(sheet *s, attend_attention_kind kind, const char *text, int layers, int heads)
{
    s->maps[s->maps_used++] = &sample_self_attention_new(text, kind, layers, heads)->map;
    s->lists[s->count - 1].count++;
}

/* A Transformer: two hypotheses with all attention kinds and one with the first only; then a sentence without the maps that a page leaves out if it
 * becomes too large. */
static void add_attention_kinds(sheet *s)
{
    const char *source = "It look|ed at every|thing twice", *first = "Es sah all|es zwei|mal an",
               *second = "Es sah all|es an";
    add(s, source, first, NULL, 2, 4, 0.5);
    add_self_attention(s, ATTEND_ATTENTION_ENCODER, source, 3, 4);
    add_self_attention(s, ATTEND_ATTENTION_DECODER, first, 2, 4);
    add(s, NULL, second, NULL, 2, 4, 0.7);
    add_self_attention(s, ATTEND_ATTENTION_DECODER, second, 2, 4);
    add(s, NULL, "Es sah", NULL, 2, 4, 0.7);
    add(s, "narrow page", "enge Seite", NULL, 2, 4, 0.5);
}

/* Lines of a language model. */
static void add_texts(sheet *s)
{
    static const char *const lines[] = { "the cat sat on the mat and look|ed at the door", "a|b",
                                         "שלום עולם , זה משפט .", "and and and and so and and and so it goes" };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        s->lists[s->count++] = (attend_map_list){ s->maps + s->maps_used, 0 };
        add_self_attention(s, ATTEND_ATTENTION_DECODER, lines[i], 2, 2);
    }
}

/* Two models, the second with several heads and self-attention. */
static void add_models(sheet *s)
{
    static const char *const sources[] = { "the cat sleeps .", "a small house" };
    static const char *const targets[][2] = { { "le chat dort .", "la chat|te dort ." },
                                              { "une petite maison", "une mais|on petite" } };
    for (int i = 0; i < 2; i++) {
        add(s, sources[i], targets[i][0], NULL, 1, 1, 0.3);
        add(s, NULL, targets[i][1], NULL, 2, 2, 0.9);
        ((sample_map *)s->maps[s->maps_used - 1])->map.model = 1;
        add_self_attention(s, ATTEND_ATTENTION_ENCODER, sources[i], 1, 1);
        ((sample_map *)s->maps[s->maps_used - 1])->map.model = 1;
    }
}

/* Realistic candidates for some tokens. */
static void set_candidates(sample_map *m)
{
    static const char *const table[][ATTEND_MAP_CANDIDATES] = {
        { "L'", "Cet", "Un", "Le", "Cette" },
        { "accord", "entente", "Accord", "convention", "traité" },
        { "sur", "concern", "relatif", "de", "à" },
        { "la", "l'", "le", "cette", "une" },
        { "zone", "espace", "région", "Zone", "aire" },
        { "a", "fut", "est", "avait", "était" },
        { "été", "signé", "conclu", "été", "fait" },
        { "sign", "conclu", "ratif", "pass", "approuv" },
        { "en", "au", "le", "dans", "," },
        { "août", "Août", "juillet", "septembre", "1992" },
        { "1992", "1991", "1993", "92", "1982" },
        { ".", ",", ";", "</s>", "par" },
    };
    for (int t = 0; t < m->target.count; t++)
        for (size_t i = 0; i < sizeof table / sizeof *table; i++)
            if (strcmp(m->target.tokens[t].text, table[i][0]) == 0)
                for (int k = 1; k < ATTEND_MAP_CANDIDATES; k++)
                    m->candidates[t * ATTEND_MAP_CANDIDATES + k].text = table[i][k];
}

static void add_examples(sheet *s)
{
    add(s, "The agreement on the Europe|an Economic Area was sign|ed in August 1992 .",
        "L' accord sur la zone économ|ique europé|enne a été sign|é en août 1992 .",
        "0-0 1-1 2-2 3-3 6-4 5-5 4-6 7-7 7-8 8-9 9-10 10-11 11-12 12-13", 1, 1, 0.5);
    add(s, NULL, "L' accord sur l' espace économ|ique europé|en a été sign|é en août 1992 .",
        "0-0 1-1 2-2 3-3 6-4 5-5 4-6 7-7 7-8 8-9 9-10 10-11 11-12 12-13", 1, 1, 0.7);
    add(s, NULL, "L' accord concern|ant la zone économ|ique europé|enne fut sign|é en août 1992 .",
        "0-0 1-1 2-2 3-3 6-4 5-5 4-6 7-7 8-8 9-9 10-10 11-11 12-12", 1, 1, 0.95);
    add(s, "It should be not|ed that the mar|ine environ|ment is the least known of environ|ments .",
        "Il conv|ient de not|er que l' environ|nement mar|in est le moins connu de l' environ|nement .",
        "0-0 1-1 2-2 3-3 4-4 5-5 7-6 6-7 8-8 9-9 10-10 11-11 12-12 12-13 13-14 14-15", 1, 1, 0.8);
    add(s, NULL, "Il faut not|er que le mil|ieu mar|in est le moins connu .",
        "0-0 1-1 3-2 4-3 5-4 7-5 6-6 8-7 9-8 10-9 11-10 14-11", 1, 1, 0.6);
    add(s, "Two young , white males are out|side near many bush|es .",
        "Deux jeunes hommes blancs sont dehors près de nombreux buiss|ons .",
        "0-0 1-1 4-2 3-3 5-4 6-5 7-6 7-7 8-8 9-9 10-10", 1, 1, 0.4);
    add(s, "A little girl climb|ing into a wooden play|house .",
        "Une petite fille grimpe dans une mais|onn|ette en bois .", "0-0 1-1 2-2 3-3 4-4 5-5 7-6 6-7 6-8 8-9", 1, 1,
        0.3);
    add(s, "Several men in hard hats are oper|ating a giant pul|ley system .",
        "Plusieurs hommes en casque font fonct|ionner un système de pou|lies géant .",
        "0-0 1-1 2-2 4-3 5-4 6-5 7-6 10-7 10-8 9-9 8-10 11-11", 1, 1, 0.9);
}

static char *long_sentence(const char *stem)
{
    char *text = calloc(LONG, 16);
    if (!text) abort();
    for (int i = 0; i < LONG; i++) sprintf(text + strlen(text), "%s%s%d", i ? " " : "", stem, i + 1);
    return text;
}

static void add_hostile(sheet *s)
{
    add(s, "say <script>window.bad=1</script> & \"quotes\" 'single' \\u0041 </script><!--",
        "<img src=x onerror=window.bad=2> \"dit\" &amp; l' <b>x</b> ]]>", NULL, 1, 1, 0.5);
    add(s, "שלום עולם , זה משפט שנכתב מימין לשמאל .", "مرحبا بالعالم ، هذه جملة تكتب من اليمين إلى اليسار .", NULL, 1,
        1, 0.5);
    add(s, "many heads", "viele Köpfe", NULL, 2, 3, 0.5);
    add(s, "the wom|bat sleeps", "der Wombat schläft", NULL, 1, 1, 0.5);
    sample_map *with_unknown = (sample_map *)s->maps[s->maps_used - 1];
    with_unknown->source.tokens[1].unknown = with_unknown->source.tokens[2].unknown = true;
    add(s, "control \x01 and \xff bytes \xe2\x80\xa8 end", "rien \x7f \xed\xa0\x80 .", NULL, 1, 1, 0.5);
    add(s, "I went home and then I slept .", "je suis allé je suis allé je suis allé je suis allé .",
        "0-0 0-1 0-2 1-3 1-4 1-5 1-6 1-7 1-8 2-9 2-10 2-11 2-12", 1, 1, 0.2);
    add(s, "a model without attention", "ein Modell ohne Aufmerksamkeit", NULL, 0, 0, 0.5);
    add(s, "a b c d", "d c b a", "0-3 1-2 2-1 3-0", 1, 1, 0.3);
    add(s, "", "", NULL, 1, 1, 0.1);
    add_attention_kinds(s);
    char *source = long_sentence("word"), *target = long_sentence("Wort");
    add(s, source, target, NULL, 1, 1, 0.6);
    free(source);
    free(target);
}

int main(int argc, char **argv)
{
    static sheet s;
    static const attend_view_model models[] = { { "runs/rnn", -1, -1 }, { "runs/<b>transformer", 1, -1 } };
    const char *mode = argc == 3 ? argv[2] : "";
    const bool picture = strcmp(mode, "picture") == 0, text = strcmp(mode, "text") == 0,
               several = strcmp(mode, "models") == 0, all = !picture && !text && !several;
    if (argc < 2) return 2;
    if (text) add_texts(&s);
    if (several) add_models(&s);
    if (picture || all) add_examples(&s);
    for (int i = 0; (picture || all) && i < s.maps_used; i++) set_candidates((sample_map *)s.maps[i]);
    if (all) add_hostile(&s);
    attend_view_options options = ATTEND_VIEW_OPTIONS_INIT;
    options.title = text      ? "A language model reads"
                    : several ? "Two models"
                    : picture ? "English to French"
                              : "</title><script>window.bad=3</script> & \"title\"";
    if (several) options.models = models, options.model_count = 2, options.palette = ATTEND_PALETTE_GREY;
    attend_string html = { 0 };
    int status = attend_view_html(s.lists, s.count, &options, &html);
    FILE *f = status == ATTEND_OK ? fopen(argv[1], "wb") : NULL;
    if (!f || fwrite(html.text, 1, html.size, f) != html.size || fclose(f) != 0) status = ATTEND_IO;
    if (status != ATTEND_OK) fprintf(stderr, "page_tool: %s: %d %s\n", argv[1], status, attend_message());
    attend_string_free(&html);
    for (int i = 0; i < s.maps_used; i++) sample_map_free((sample_map *)s.maps[i]);
    return status;
}
