/* scale_weights MODEL LARGEST OUTPUT: writes a copy of a model whose parameters are scaled so that the largest weight of each is LARGEST. */
#include <attend/attend.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void scale(attend_param *p, double largest)
{
    attend_real *x = attend_param_edit(p);
    const size_t size = attend_param_size(p);
    double now = 1e-30;
    for (size_t k = 0; k < size; k++) now = fmax(now, fabs((double)x[k]));
    for (size_t k = 0; k < size; k++) x[k] = (attend_real)((double)x[k] / now * largest);
    attend_param_changed(p);
}

int main(int argc, char **argv)
{
    attend_model *m = NULL;
    int status = ATTEND_BAD_USAGE;
    if (argc == 4) status = attend_model_load(&m, argv[1], NULL);
    if (status == ATTEND_OK) {
        attend_params *all = attend_model_params(m);
        for (int i = 0; i < attend_params_count(all); i++) scale(attend_params_at(all, i), atof(argv[2]));
        status = attend_model_save(m, argv[3]);
    }
    if (status != ATTEND_OK) fprintf(stderr, "scale_weights: %s\n", attend_message());
    attend_model_free(m);
    return status;
}
