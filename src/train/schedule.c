/* schedule.c: the learning rate of an update. */
#include <attend/train.h>
#include "core/status.h"
#include <math.h>

double attend_schedule_rate(const attend_schedule *s, uint64_t update, int reductions)
{
    ATTEND_REQUIRE(0, s);
    const double t = (double)update, warm = (double)s->warmup;
    double share = 1;
    switch (s->kind) {
    case ATTEND_SCHEDULE_CONSTANT:
        break;
    case ATTEND_SCHEDULE_INVERSE_SQRT:
        share = sqrt(fmax(warm, 1) / fmax(t, fmax(warm, 1)));
        break;
    case ATTEND_SCHEDULE_COSINE: {
        const double rest = (double)s->updates - warm, done = rest > 0 ? fmin(fmax(t - warm, 0) / rest, 1) : 1;
        share = s->min_share + (1 - s->min_share) * (1 + cos(3.14159265358979323846 * done)) / 2;
        break;
    }
    case ATTEND_SCHEDULE_PLATEAU:
        share = fmax(pow(s->factor, reductions), s->min_share);
        break;
    }
    if (t < warm) share *= t / warm;
    return s->rate * share;
}
