/* three_arrays.c: attention on three plain arrays: queries, keys and values. Two heads, a batch of two sequences of different lengths;
 * prints weights, and the gradient of a loss that is the sum of the context.
 *     cc three_arrays.c $(pkg-config --cflags --libs attend) -lm && ./a.out */
#include <attend/attention.h>
#include <math.h>
#include <stdio.h>

enum { B = 2, T = 4, H = 2, D = 8 };

int main(void)
{
    static attend_real query[B * T * H * D], key[B * T * H * D], value[B * T * H * D]; /* (B, T, H, D) */
    static attend_real context[B * T * H * D], weights[B * H * T * T];
    static attend_real dcontext[B * T * H * D], dquery[B * T * H * D], dkey[B * T * H * D], dvalue[B * T * H * D];
    for (int i = 0; i < B * T * H * D; i++) {
        query[i] = (attend_real)sin(i), key[i] = (attend_real)sin(3 * i), value[i] = (attend_real)cos(i);
        dcontext[i] = 1;
    }
    const int lengths[B] = { 4, 2 }; /* tokens of each sequence; the rest of the arrays is padding */

    attend_attention_options options = ATTEND_ATTENTION_OPTIONS_INIT; /* scaled dot product, softmax, no window */
    options.heads = H;
    options.causal = true;
    const attend_arrays arrays = { .batch = B, .queries = T, .keys = T, .query_width = D, .key_width = D, .value_width = D,
                                   .query_lengths = lengths, .key_lengths = lengths, .query = query, .key = key,
                                   .value = value };
    const attend_array_gradients gradients = { .query = dquery, .key = dkey, .value = dvalue };

    attend_runner *runner = NULL;
    int status = attend_runner_new(&runner, 2);
    if (status == ATTEND_OK) status = attend_runner_forward(runner, &options, &arrays, context, weights, NULL);
    if (status == ATTEND_OK) status = attend_runner_backward(runner, dcontext, NULL, &gradients);
    if (status != ATTEND_OK) fprintf(stderr, "three_arrays: %s\n", attend_message());
    attend_runner_free(runner);

    double sum = 0;
    for (int i = 0; i < T; i++) {
        for (int j = 0; j < T; j++) printf(" %.3f", (double)weights[i * T + j]); /* sequence 0, head 0 */
        printf("\n");
    }
    for (int i = 0; i < B * T * H * D; i++) sum += (double)dvalue[i];
    printf("the sum of dvalue is %.3f: one for each query, head and column\n", sum);
    return status == ATTEND_OK && fabs(sum - 6 * H * D) < 1e-3 ? 0 : 1;
}
