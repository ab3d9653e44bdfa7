/* sample_maps.h: attention maps with given weights, for tests of drawings. */
#ifndef ATTEND_TEST_SAMPLE_MAPS_H
#define ATTEND_TEST_SAMPLE_MAPS_H

#include <attend/view.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLE_MAX_TOKENS = 512 };

typedef struct sample_side {
    char text[8192], letters[16384]; /* as it is read; words and tokens, each with its '\0' */
    const char *words[SAMPLE_MAX_TOKENS];
    attend_map_token tokens[SAMPLE_MAX_TOKENS];
    int word_count, count;
} sample_side;

typedef struct sample_map {
    attend_map map; /* first member: a sample_map is an attend_map */
    sample_side source, target;
    float *weights;
    double probability[SAMPLE_MAX_TOKENS];
    attend_map_candidate candidates[SAMPLE_MAX_TOKENS * ATTEND_MAP_CANDIDATES];
} sample_map;

/* Words are separated by single blanks; '|' inside one separates tokens. */
static inline void sample_read(sample_side *side, const char *marked)
{
    char *to = side->letters;
    for (const char *word = marked; *word;) {
        const size_t size = strcspn(word, " ");
        side->words[side->word_count] = to;
        for (size_t i = 0; i < size; i++)
            if (word[i] != '|') *to++ = word[i];
        *to++ = '\0';
        for (size_t i = 0, next; i < size; i = next + 1) {
            for (next = i; next < size && word[next] != '|';) next++;
            side->tokens[side->count++] =
                (attend_map_token){ .text = to, .id = 100 + side->count, .word = side->word_count };
            memcpy(to, word + i, next - i);
            to += next - i;
            *to++ = '\0';
        }
        if (side->word_count > 0) strcat(side->text, " ");
        strcat(side->text, side->words[side->word_count++]);
        word += size + (word[size] == ' ');
    }
    side->tokens[side->count++] = (attend_map_token){ .text = "</s>", .id = 2, .word = -1 };
}

/* The source word with the largest weight for a target word: from `links` ("0-1 1-0", source-target), else the one at the same position. */
static inline int sample_partner(const char *links, int target, int target_words, int source_words)
{
    for (const char *at = links; at && *at; at += strcspn(at, " "), at += *at == ' ') {
        char *end;
        const long s = strtol(at, &end, 10), t = strtol(end + 1, NULL, 10);
        if (t == target) return (int)s;
    }
    return target_words > 1 ? target * (source_words - 1) / (target_words - 1) : 0;
}

/* `spread`: from 0, all weight on one token, to 1, spread widely. Layers and heads differ in their spread. */
static inline void sample_weights(sample_map *m, const char *links, double spread)
{
    float *row = m->weights;
    for (int layer = 0; layer < m->map.layers; layer++)
        for (int head = 0; head < m->map.heads; head++)
            for (int t = 0; t < m->target.count; t++, row += m->source.count) {
                const int word = m->target.tokens[t].word;
                const int partner =
                    word < 0 ? -1 : sample_partner(links, word, m->target.word_count, m->source.word_count);
                int at = 0;
                while (m->source.tokens[at].word != partner) at++;
                const double wide = 0.25 + (1.5 * layer + 3 * head) + 0.9 * fabs(sin(7.3 * t + 1.7)) * spread;
                double sum = 0;
                for (int pass = 0; pass < 2; pass++)
                    for (int s = 0; s < m->source.count; s++) {
                        const bool same = m->source.tokens[s].word == partner;
                        const double far = same ? 0 : 0.8 + abs(s - at) * (0.8 + 0.5 * fabs(sin(3.1 * s + t)));
                        if (pass == 0)
                            sum += exp(-far / wide);
                        else
                            row[s] = (float)(exp(-far / wide) / sum);
                    }
            }
}

static inline sample_map *sample_map_new(const char *source, const char *target, const char *links, int layers,
                                         int heads, double spread)
{
    sample_map *m = calloc(1, sizeof *m);
    if (!m) abort();
    sample_read(&m->source, source);
    sample_read(&m->target, target);
    m->map = (attend_map){ .source_text = m->source.text,
                           .target_text = m->target.text,
                           .source = m->source.tokens,
                           .target = m->target.tokens,
                           .source_count = m->source.count,
                           .target_count = m->target.count,
                           .source_words = m->source.words,
                           .target_words = m->target.words,
                           .source_word_count = m->source.word_count,
                           .target_word_count = m->target.word_count,
                           .layers = layers,
                           .heads = heads,
                           .probability = m->probability,
                           .candidates = m->candidates };
    if (layers > 0) {
        m->weights = calloc((size_t)(layers * heads * m->target.count * m->source.count), sizeof *m->weights);
        if (!m->weights) abort();
        sample_weights(m, links, spread);
        m->map.weights = m->weights;
    }
    for (int t = 0; t < m->target.count; t++) {
        double left = 1 - 0.45 * spread * fabs(sin(2.3 * t + 0.6)) - 0.02;
        m->probability[t] = left;
        m->map.log_probability += log(left);
        left = 1 - left;
        m->candidates[t * ATTEND_MAP_CANDIDATES] =
            (attend_map_candidate){ m->target.tokens[t].text, m->probability[t] };
        for (int k = 1; k < ATTEND_MAP_CANDIDATES && k < m->target.count; k++, left *= 0.4)
            m->candidates[t * ATTEND_MAP_CANDIDATES + k] =
                (attend_map_candidate){ m->target.tokens[(t + k) % m->target.count].text, 0.5 * left };
    }
    m->map.score = m->map.log_probability / m->target.count;
    return m;
}

/* Self-attention of a sentence: of an encoder, over all positions, or of a decoder, causal, with "<s>" first. */
static inline sample_map *sample_self_attention_new(const char *text, attend_attention_kind kind, int layers, int heads)
{
    sample_map *m = sample_map_new(text, text, NULL, layers, heads, 0.8);
    m->map.kind = kind;
    if (kind == ATTEND_ATTENTION_ENCODER) {
        m->map.probability = NULL, m->map.candidates = NULL;
        m->map.log_probability = m->map.score = NAN;
        return m;
    }
    sample_side *const sides[] = { &m->source, &m->target };
    for (int i = 0; i < 2; i++) {
        memmove(sides[i]->tokens + 1, sides[i]->tokens, (size_t)(sides[i]->count - 1) * sizeof *sides[i]->tokens);
        sides[i]->tokens[0] = (attend_map_token){ .text = "<s>", .id = 1, .word = -1 };
    }
    for (int t = m->target.count - 1; t > 0; t--) {
        m->probability[t] = m->probability[t - 1];
        memcpy(m->candidates + t * ATTEND_MAP_CANDIDATES, m->candidates + (t - 1) * ATTEND_MAP_CANDIDATES,
               ATTEND_MAP_CANDIDATES * sizeof *m->candidates);
    }
    m->probability[0] = NAN;
    for (int k = 0; k < ATTEND_MAP_CANDIDATES; k++) m->candidates[k].text = NULL;
    float *row = m->weights;
    for (int each = 0; each < layers * heads; each++)
        for (int t = 0; t < m->target.count; t++, row += m->source.count) {
            double sum = 0;
            for (int s = 0; s < m->source.count; s++) row[s] = s > t ? 0 : (float)exp(-abs(t - s - 1) / (0.4 + each));
            for (int s = 0; s <= t; s++) sum += (double)row[s];
            for (int s = 0; s <= t; s++) row[s] = (float)((double)row[s] / sum);
        }
    return m;
}

static inline void sample_map_free(sample_map *m)
{
    if (m) free(m->weights);
    free(m);
}

#endif
