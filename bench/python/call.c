/* call.c: call MODEL LINE CALLS: the microseconds of CPU time of a call of attend_translator_run for one line, greedily and on one thread, for figures.py. */
#include <attend/attend.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
    if (argc != 4) return 2;
    attend_model *m = NULL;
    attend_translator *t = NULL;
    attend_translator_options o = ATTEND_TRANSLATOR_OPTIONS_INIT;
    o.search.beam = 1;
    const char *lines[] = { argv[2] };
    const size_t sizes[] = { strlen(argv[2]) };
    const int calls = atoi(argv[3]);
    int status = attend_model_load(&m, argv[1], NULL);
    if (status == ATTEND_OK) status = attend_translator_new(&t, m, &o);
    double best = 1e9;
    for (int round = 0; status == ATTEND_OK && round < 20; round++) {
        const double start = now();
        for (int i = 0; status == ATTEND_OK && i < calls; i++) status = attend_translator_run(t, 1, lines, sizes);
        const double each = (now() - start) / calls;
        if (each < best) best = each;
    }
    if (status == ATTEND_OK) printf("%.3f\n", best * 1e6);
    attend_translator_free(t);
    attend_model_free(m);
    return status;
}
