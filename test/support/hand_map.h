/* hand_map.h: attention maps with given weights; each word is one token. */
#ifndef ATTEND_TEST_HAND_MAP_H
#define ATTEND_TEST_HAND_MAP_H

#include <attend/view.h>
#include <math.h>
#include <string.h>

enum { HAND_WORDS = 128, HAND_HEADS = 2 };

typedef struct hand_map {
    attend_map map;
    attend_map_token sides[2][HAND_WORDS + 1];
    const char *words[2][HAND_WORDS];
    char texts[2][4096];
    float weights[HAND_HEADS * (HAND_WORDS + 1) * (HAND_WORDS + 1)];
    double probability[HAND_WORDS + 1];
    attend_map_candidate candidates[(HAND_WORDS + 1) * ATTEND_MAP_CANDIDATES];
} hand_map;

static inline int hand_side(hand_map *h, int side, const char *const *words)
{
    int count = 0;
    h->texts[side][0] = '\0';
    for (; words[count]; count++) {
        h->words[side][count] = words[count];
        h->sides[side][count] = (attend_map_token){ .text = words[count], .id = 3 + count, .word = count };
        if (count) strcat(h->texts[side], " ");
        strcat(h->texts[side], words[count]);
    }
    h->sides[side][count] = (attend_map_token){ .text = "</s>", .id = ATTEND_END, .word = -1 };
    return count;
}

/* The words of both sides end with NULL. Head 0: target word i attends to source word i and its neighbours, with 0.25
 * less for each of them that does not exist; head 1: all target words attend to the first source word. The end
 * attends to the end. */
static inline const attend_map *hand_map_of(hand_map *h, const char *const *source, const char *const *target)
{
    memset(h, 0, sizeof *h);
    attend_map *m = &h->map;
    m->source_word_count = hand_side(h, 0, source), m->target_word_count = hand_side(h, 1, target);
    m->source_count = m->source_word_count + 1, m->target_count = m->target_word_count + 1;
    m->source_text = h->texts[0], m->target_text = h->texts[1];
    m->source = h->sides[0], m->target = h->sides[1];
    m->source_words = h->words[0], m->target_words = h->words[1];
    m->layers = 1, m->heads = HAND_HEADS;
    const int rows = m->target_count, columns = m->source_count;
    for (int i = 0; i < rows; i++) {
        float *row = h->weights + i * columns, *second = h->weights + (rows + i) * columns;
        if (i == rows - 1) {
            row[columns - 1] = second[columns - 1] = 1;
        } else {
            second[0] = 1;
            if (i < columns - 1) row[i] = 0.5f;
            if (i + 1 < columns - 1) row[i + 1] = 0.25f;
            if (i > 0 && i - 1 < columns - 1) row[i - 1] = 0.25f;
        }
        h->probability[i] = 1.0 / (1 + i);
        m->log_probability += log(h->probability[i]);
        h->candidates[i * ATTEND_MAP_CANDIDATES] = (attend_map_candidate){ m->target[i].text, h->probability[i] };
    }
    m->weights = h->weights, m->probability = h->probability, m->candidates = h->candidates;
    m->score = m->log_probability;
    m->forced = true;
    return m;
}

#endif
