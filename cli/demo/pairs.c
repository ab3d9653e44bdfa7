/* pairs.c: pair i of a seed: sentences are drawn until one is held out, or not, as requested. */
#include "demo/demo_pairs.h"

#include "demo/sentence.h"

#include <string.h>

/* FNV-1a, 64 bits (Fowler, Noll, Vo), with a final mix, since only a few bits are used. */
static uint64_t hash(const char *text)
{
    uint64_t h = 14695981039346656037u;
    for (; *text; text++) h = (h ^ (unsigned char)*text) * 1099511628211u;
    h ^= h >> 32;
    return h * 0x9e3779b97f4a7c15u >> 32;
}

bool demo_pairs_held_out(const char *source)
{
    return hash(source) % 10 == 0;
}

static bool join(const demo_output_word *words, int count, char *text)
{
    size_t size = 0;
    for (int i = 0; i < count; i++) {
        const size_t n = strlen(words[i].text);
        if (size + n + 2 > DEMO_TEXT) return false;
        if (i) text[size++] = ' ';
        memcpy(text + size, words[i].text, n);
        size += n;
    }
    text[size] = '\0';
    return true;
}

static bool link_all(const demo_sentence *s, demo_pair *out)
{
    out->link_count = 0;
    for (int i = 0; i < s->french_count; i++)
        for (int k = 0; k < s->french[i].link_count; k++) {
            if (out->link_count == DEMO_LINKS) return false;
            out->links[out->link_count++] =
                (attend_word_link){ .source = s->french[i].links[k], .target = i, .sure = s->french[i].sure[k] };
        }
    out->source_words = s->english_count, out->target_words = s->french_count;
    return true;
}

void demo_pairs_at(uint64_t seed, bool held_out, uint64_t i, demo_pair *out)
{
    demo_sentence s = { .rng = { seed, i, held_out ? 0x64656d6fu : 0x64656d70u } };
    for (;;) {
        demo_draw(&s);
        if (s.too_long) continue;
        demo_write_english(&s);
        demo_write_french(&s);
        if (s.too_long || s.english_count > DEMO_MAX_WORDS) continue;
        if (!join(s.english, s.english_count, out->source) || !join(s.french, s.french_count, out->target)) continue;
        if (demo_pairs_held_out(out->source) == held_out && link_all(&s, out)) return;
    }
}
