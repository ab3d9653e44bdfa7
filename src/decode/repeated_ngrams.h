/* repeated_ngrams.h: tokens that would repeat an n-gram. */
#ifndef ATTEND_DECODE_REPEATED_NGRAMS_H
#define ATTEND_DECODE_REPEATED_NGRAMS_H

/* Sets flags[t] = flag for each token t that, appended to `history` (count), would complete an n-gram that `history`
 * already contains. */
void attend_mark_repeated_ngrams(const int *history, int count, int n, unsigned char flag, unsigned char *flags);

#endif
