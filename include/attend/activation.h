/* activation.h: the activation functions of recurrent cells. */
#ifndef ATTEND_ACTIVATION_H
#define ATTEND_ACTIVATION_H

typedef enum attend_activation { ATTEND_TANH, ATTEND_RELU } attend_activation;

#endif
