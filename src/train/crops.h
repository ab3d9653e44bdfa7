/* crops.h: trains on the ends of pairs of words, besides whole pairs.
 *
 * Purpose    Few words begin with few different letters, and a model learns that no other letter can begin a word. An end
 *            of a pair ("ember" of "december", with its part of the target) begins with any letter.
 * Method     Pairs are aligned monotonically: a pair is a sequence of segments of 1 or 2 source tokens and 0 to 2 target
 *            tokens. The probabilities of segments are estimated by expectation maximisation (Jiampojamarn, Kondrak,
 *            Sherif 2007), and the most probable segmentation of each pair is kept. A crop begins at the beginning of a
 *            segment.
 * Random     Whether a pair is cropped, and where, is a function of (seed, epoch, pair).
 * Threads    Crops are made by one thread; then many can use them. */
#ifndef ATTEND_TRAIN_CROPS_H
#define ATTEND_TRAIN_CROPS_H

#include "text/corpus.h"

typedef struct attend_crops attend_crops;

/* probability: of a crop instead of the whole pair. Pairs with a side of more than ATTEND_MAX_CROPPED tokens, or with no
 * segmentation, are not cropped. ATTEND_IO, ATTEND_NO_MEMORY. *out is freed by attend_crops_free. */
enum { ATTEND_MAX_CROPPED = 40 };
int attend_crops_new(attend_crops **out, const attend_corpus *corpus, double probability, uint64_t seed);
void attend_crops_free(attend_crops *c);

/* The probability falls linearly to 0 over this many epochs, so that training ends with whole words: the sound of a letter
 * may depend on being the first of a word. 0, the default: it does not fall. */
void attend_crops_set_epochs(attend_crops *c, double epochs);

/* Sets the numbers of source and target tokens that are left out at the beginning of a pair in an epoch; 0 and 0: the
 * whole pair is used. */
void attend_crops_at(const attend_crops *c, uint64_t epoch, uint64_t pair, int *source, int *target);

#endif
