/* sequences.h: the sequence and the position of each row of a batch of sequences. */
#ifndef ATTEND_DEVICE_CUDA_SEQUENCES_H
#define ATTEND_DEVICE_CUDA_SEQUENCES_H

#include "device/cuda/launch.h"

/* (rows) index arrays on the GPU. NULL: the device has failed. */
const int *cuda_sequence_of_rows(cuda_call *call, const attend_ragged *s);
const int *cuda_position_of_rows(cuda_call *call, const attend_ragged *s);

#endif
