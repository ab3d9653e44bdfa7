/* score.c: the probability of given targets: the loss without the tape, some pairs at a time. */
#include "model/model.h"

/* Logits of a part: enough to run at full speed, little enough to fit anywhere. */
enum { PART_NUMBERS = 16 << 20 };

/* How many pairs from `first` on make a part. */
static int part_size(const attend_model *m, const attend_pairs *pairs, int first)
{
    const int most = PART_NUMBERS / m->config.target_vocab;
    int count = 0;
    for (int rows = 0; first + count < pairs->count; count++) {
        const int more = pairs->target_lengths[first + count] + 1;
        if (count > 0 && rows > most - more) break;
        rows += more;
    }
    return count;
}

int attend_model_score(attend_ctx *c, const attend_model *m, const attend_pairs *pairs, double *log_probability,
                       real *row_log_probability, attend_look look, real *weights)
{
    const int checked = attend_pairs_check(pairs);
    if (checked != ATTEND_OK) return checked;
    attend_ctx_set_recording(c, false);
    attend_ctx_set_training(c, false);
    for (int first = 0, count; first < pairs->count; first += count) {
        count = part_size(m, pairs, first);
        attend_pairs part = attend_pairs_part(pairs, first, count);
        part.link_count = 0;
        attend_ctx_reset(c);
        const int rows = attend_pairs_rows(&part);
        attend_loss_options options = ATTEND_LOSS_OPTIONS_INIT;
        options.nll = attend_take_reals(c, (size_t)rows);
        options.weights = weights, options.look = look;
        if (!attend_model_loss(c, m, &part, &options)) return attend_fail(c->status, "%s", c->message);
        for (int i = 0, row = 0; i < count; i++) {
            double sum = 0;
            for (int t = 0; t <= part.target_lengths[i]; t++, row++) {
                sum -= (double)options.nll[row];
                if (row_log_probability) *row_log_probability++ = -options.nll[row];
            }
            if (log_probability) log_probability[first + i] = sum;
        }
        if (weights) weights += attend_pairs_weights(&part, &m->config, look);
    }
    return ATTEND_OK;
}
