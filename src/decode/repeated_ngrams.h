/* repeated_ngrams.h: words that would say again what was said. */
#ifndef ATTEND_DECODE_REPEATED_NGRAMS_H
#define ATTEND_DECODE_REPEATED_NGRAMS_H

/* Sets flags[w] for each word w that would end a run of n words which `said` (count) has already. */
void attend_mark_repeated_ngrams(const int *said, int count, int n, unsigned char flag, unsigned char *flags);

#endif
