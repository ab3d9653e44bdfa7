/* ragged.h: the members of attend_ragged, a batch of sequences of different lengths: index arrays in host memory, which
 * device functions read. */
#ifndef ATTEND_DEVICE_RAGGED_H
#define ATTEND_DEVICE_RAGGED_H

typedef struct attend_ragged attend_ragged;

struct attend_ragged {
    int count, rows, max_length;
    const int *lengths; /* (count) */
    const int *offsets; /* (count): the first row of each sequence */
    const int *order;   /* (count): the sequences by descending length, equal ones in batch order */
    const int *active;  /* (max_length): the number of sequences that have a row at step t: the first of `order` */
};

#endif
