/* trainings.h: helpers for tests of whole training runs: training pairs, and the files of a run. */
#ifndef ATTEND_TEST_TRAININGS_H
#define ATTEND_TEST_TRAININGS_H

#include "support/folder.h"

/* Writes pairs of letter sequences and their reverse, determined by the seed. */
static inline void write_reversals(const char *name, int count, unsigned seed)
{
    FILE *f = fopen(in_folder(name), "wb");
    assert_non_null(f);
    for (int i = 0; i < count; i++) {
        char text[16];
        int n = 0;
        for (int length = 1 + i % 4; length > 0; length--) {
            seed = seed * 1664525u + 1013904223u;
            text[n++] = (char)('a' + (seed >> 16) % 5);
        }
        for (int j = 0; j < n; j++) fprintf(f, "%s%c", j ? " " : "", text[j]);
        fputc('\t', f);
        for (int j = n - 1; j >= 0; j--) fprintf(f, "%s%c", j < n - 1 ? " " : "", text[j]);
        fputc('\n', f);
    }
    assert_int_equal(fclose(f), 0);
}

/* The content of a file of a model, to be freed; NULL: no such file. */
static inline char *file_of(const char *model, const char *suffix, size_t *size)
{
    char name[64];
    snprintf(name, sizeof name, "%s%s", model, suffix);
    return get_file(in_folder(name), size);
}

static inline bool are_same(const char *a, const char *suffix_a, const char *b, const char *suffix_b)
{
    size_t size[2];
    char *x = file_of(a, suffix_a, &size[0]), *y = file_of(b, suffix_b, &size[1]);
    const bool equal = x && y && size[0] == size[1] && memcmp(x, y, size[0]) == 0;
    free(x), free(y);
    return equal;
}

static inline void same_file(const char *a, const char *b, const char *suffix)
{
    if (!are_same(a, suffix, b, suffix)) fail_msg("%s%s and %s%s differ", a, suffix, b, suffix);
}

/* The log without seconds, which differ between runs. */
static inline char *log_of(const char *model)
{
    char *text = file_of(model, ".log.jsonl", NULL), *to = text;
    assert_non_null(text);
    for (char *from = text; *from;) {
        if (strncmp(from, ", \"seconds\"", 11) == 0)
            while (*from && *from != '}') from++;
        else
            *to++ = *from++;
    }
    *to = '\0';
    return text;
}

static inline void same_log(const char *a, const char *b)
{
    char *x = log_of(a), *y = log_of(b);
    assert_string_equal(x, y);
    free(x), free(y);
}

/* Removes all files of a model. */
static inline void remove_model(const char *model)
{
    DIR *d = opendir(folder);
    const size_t n = strlen(model);
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d));)
        if (strncmp(e->d_name, model, n) == 0 && (e->d_name[n] == '.' || e->d_name[n] == '\0'))
            assert_int_equal(unlinkat(dirfd(d), e->d_name, 0), 0);
    closedir(d);
}

/* An attend_train_events.stop that stops after a number of calls. */
typedef struct stopper {
    int left;
} stopper;

static inline bool stop_after(void *user)
{
    return --((stopper *)user)->left <= 0;
}

#endif
