/* repeats.h: words that would say again what was said. */
#ifndef ATTEND_DECODE_REPEATS_H
#define ATTEND_DECODE_REPEATS_H

/* Sets flags[w] for each word w that would end a run of n words which `said` (count) has already. */
void attend_repeats_mark(const int *said, int count, int n, unsigned char flag, unsigned char *flags);

#endif
