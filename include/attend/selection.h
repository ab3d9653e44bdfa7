/* selection.h: which keys an attention selects: windows, selection functions and gradient estimators. */
#ifndef ATTEND_SELECTION_H
#define ATTEND_SELECTION_H

/* local-p multiplies the weights by exp(-(j - pos)^2 / 2 sigma^2), sigma = window_size / 2. */
typedef enum attend_window {
    ATTEND_WINDOW_GLOBAL,
    ATTEND_WINDOW_LOCAL_M, /* Luong et al. 2015: keys within window_size of the query's own position */
    ATTEND_WINDOW_LOCAL_P  /* Luong et al. 2015: keys within window_size of a predicted position, with a Gaussian */
} attend_window;

typedef enum attend_selection {
    ATTEND_SELECT_SOFT,      /* softmax */
    ATTEND_SELECT_SPARSEMAX, /* Martins, Astudillo 2016 */
    ATTEND_SELECT_ENTMAX15,  /* Peters, Niculae, Martins 2019, alpha = 1.5 */
    ATTEND_SELECT_HARD       /* one key: argmax at inference; in training see attend_estimator */
} attend_selection;

/* The gradient estimator of hard attention. */
typedef enum attend_estimator {
    ATTEND_STRAIGHT_THROUGH, /* forward argmax of (e + Gumbel) / temperature, backward its softmax */
    ATTEND_REINFORCE         /* forward a key sampled from p; backward needs attend_attention_inputs.advantage */
} attend_estimator;

#endif
