#include "serve/served_models.h"

#include <attend/status.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- pairs ---- */

/* Copies a code: letters, digits, underscores, and hyphens between them. */
static bool copy_code(char *to, const char *from, size_t size)
{
    if (size == 0 || size >= MAX_CODE) return false;
    for (size_t i = 0; i < size; i++) {
        const bool is_inner = i > 0 && i + 1 < size && from[i - 1] != '-';
        if (!isalnum((unsigned char)from[i]) && from[i] != '_' && !(from[i] == '-' && is_inner)) return false;
    }
    memcpy(to, from, size);
    to[size] = '\0';
    return true;
}

/* The hyphen between two codes: the only one, or the only one before a lower-case letter, because the subtags of a code
 * are written as in pt-BR, zh-Hans and es-419. NULL: there is none, or several. */
static const char *find_separator(const char *codes, const char *end)
{
    const char *only = NULL, *language = NULL;
    int count = 0, languages = 0;
    for (const char *c = codes; c < end; c++) {
        if (*c != '-') continue;
        count++, only = c;
        if (islower((unsigned char)c[1])) languages++, language = c;
    }
    return count == 1 ? only : languages == 1 ? language : NULL;
}

static char fold(char c)
{
    return c == '_' ? '-' : (char)tolower((unsigned char)c);
}

bool language_codes_equal(const char *a, const char *b)
{
    while (*a && fold(*a) == fold(*b)) a++, b++;
    return *a == *b;
}

int served_models_add(served_models *m, const char *argument)
{
    const char *equals = strchr(argument, '='), *hyphen = equals ? find_separator(argument, equals) : NULL;
    served_pair pair = { .paths = { equals ? equals + 1 : NULL }, .count = 1 };
    if (!hyphen || !copy_code(pair.source, argument, (size_t)(hyphen - argument)) ||
        !copy_code(pair.target, hyphen + 1, (size_t)(equals - hyphen - 1)) || !equals[1])
        return attend_fail(ATTEND_BAD_USAGE, "%s: write the languages and the model as en-fr=FILE or en-pt-BR=FILE",
                           argument);
    if (language_codes_equal(pair.source, "auto"))
        return attend_fail(ATTEND_BAD_USAGE, "%s: auto is not a language", argument);
    for (int i = 0; i < m->count; i++) {
        served_pair *p = &m->pairs[i];
        if (!language_codes_equal(p->source, pair.source) || !language_codes_equal(p->target, pair.target)) continue;
        if (p->count == MAX_PAIR_MODELS)
            return attend_fail(ATTEND_BAD_USAGE, "%s: an ensemble has at most %d models", argument, MAX_PAIR_MODELS);
        p->paths[p->count++] = equals + 1;
        return ATTEND_OK;
    }
    served_pair *pairs = realloc(m->pairs, ((size_t)m->count + 1) * sizeof *pairs);
    if (!pairs) return attend_fail(ATTEND_NO_MEMORY, "out of memory");
    m->pairs = pairs;
    m->pairs[m->count++] = pair;
    return ATTEND_OK;
}

int served_models_find(const served_models *m, const char *source, const char *target)
{
    int found = -1;
    for (int i = 0; i < m->count; i++) {
        if (!language_codes_equal(m->pairs[i].target, target)) continue;
        if (language_codes_equal(m->pairs[i].source, source)) return i;
        if (strcmp(source, "auto") == 0) found = found == -1 ? i : -2;
    }
    return found;
}

/* ---- loading ---- */

static void free_models(attend_model *const *models, int count)
{
    for (int i = 0; i < count; i++) attend_model_free(models[i]);
}

/* Translates a text: a model that loads may still have weights that give no finite probabilities. */
static int test(const served_models *all, attend_batcher_model *m, const char *path)
{
    enum { TRIES = 1200 /* 60 seconds */, MAX_LENGTH = 10 };
    attend_search_options search = all->options.search;
    search.max_length = MAX_LENGTH; /* the options may allow translations of any length */
    const attend_request r = { .text = "a b c", .size = 5, .search = &search, .timeout = 60 };
    attend_future *f = NULL;
    int status = attend_batcher_submit(&f, m, 1, &r);
    for (int i = 0; status == ATTEND_BUSY && i < TRIES && !all->is_ending(); i++) { /* requests fill the queue */
        nanosleep(&(struct timespec){ 0, 50000000 }, NULL);
        status = attend_batcher_submit(&f, m, 1, &r);
    }
    if (status != ATTEND_OK) return status;
    const attend_future_state state = attend_future_wait(f, -1);
    const attend_line_result *result = attend_future_result(f);
    if (state == ATTEND_FUTURE_FAILED)
        status =
            attend_fail(attend_future_status(f), "%s does not translate a test: %s", path, attend_future_message(f));
    else if (state != ATTEND_FUTURE_DONE)
        status = attend_fail(ATTEND_FAILED, "%s did not translate a test within 60 seconds", path);
    else if (result->fault && !result->is_too_long) /* a small --max-input-length is not the model's fault */
        status = attend_fail(ATTEND_BAD_MODEL, "%s does not translate a test: %s", path, result->fault);
    attend_future_free(f);
    return status;
}

static int load_files(const served_models *m, served_pair *p)
{
    int status = ATTEND_OK;
    for (int i = 0; i < p->count; i++) p->models[i] = NULL;
    for (int i = 0; status == ATTEND_OK && i < p->count; i++) {
        status = attend_model_load(&p->models[i], p->paths[i], NULL);
        if (status != ATTEND_OK) break;
        const attend_config *config = attend_model_config(p->models[i]);
        if (config->task == ATTEND_TASK_LANGUAGE_MODEL)
            return attend_fail(ATTEND_BAD_MODEL, "%s is a language model; attend serve needs translation models",
                               p->paths[i]);
        p->has_attention |= attend_config_attention_layers(config, ATTEND_ATTENTION_CROSS) > 0;
        if (m->precision >= 0 && (int)attend_model_precision(p->models[i]) != m->precision)
            status = attend_model_quantize(p->models[i], (attend_precision)m->precision);
    }
    return status;
}

int served_models_load(served_models *m, int pair)
{
    served_pair loaded = m->pairs[pair];
    loaded.model = NULL, loaded.has_attention = false;
    int status = load_files(m, &loaded);
    if (status == ATTEND_OK)
        status = attend_batcher_add_ensemble(&loaded.model, m->batcher, (const attend_model *const *)loaded.models,
                                             loaded.count, &m->options);
    if (status == ATTEND_OK) status = test(m, loaded.model, loaded.paths[0]);
    if (status == ATTEND_OK) {
        served_pair *p = &m->pairs[pair];
        pthread_rwlock_wrlock(&m->lock);
        const served_pair old = *p;
        p->model = loaded.model, p->has_attention = loaded.has_attention;
        memcpy(p->models, loaded.models, sizeof p->models); /* codes and paths are read without the lock */
        pthread_rwlock_unlock(&m->lock);
        loaded = old;
    }
    /* what failed, or what was replaced: it is removed when its last request has been translated */
    attend_batcher_remove_model(loaded.model);
    free_models(loaded.models, loaded.count);
    return status;
}

void served_models_free(served_models *m)
{
    for (int i = 0; i < m->count; i++) {
        attend_batcher_remove_model(m->pairs[i].model);
        free_models(m->pairs[i].models, m->pairs[i].count);
    }
    free(m->pairs);
    m->pairs = NULL, m->count = 0;
}

bool served_models_has_attention(served_models *m, int pair)
{
    pthread_rwlock_rdlock(&m->lock);
    const bool has = m->pairs[pair].has_attention;
    pthread_rwlock_unlock(&m->lock);
    return has;
}

int served_models_count_tokens(served_models *m, int pair, const char *line, size_t size, int max, int *count)
{
    attend_ids ids = { 0 };
    pthread_rwlock_rdlock(&m->lock);
    const attend_tokenizer *t = attend_batcher_model_tokenizer(m->pairs[pair].model, false);
    const int status = attend_tokenizer_encode(t, line, size, &ids, 0, 0, 0);
    pthread_rwlock_unlock(&m->lock);
    *count = status != ATTEND_OK ? 0 : ids.count < max ? ids.count : max;
    attend_ids_free(&ids);
    return status == ATTEND_BAD_DATA ? ATTEND_OK : status;
}

int served_models_submit(served_models *m, int pair, attend_future **out, int count, const attend_request *requests,
                         const attend_tokenizer **target)
{
    pthread_rwlock_rdlock(&m->lock);
    if (target) *target = attend_batcher_model_tokenizer(m->pairs[pair].model, true);
    const int status = attend_batcher_submit(out, m->pairs[pair].model, count, requests);
    pthread_rwlock_unlock(&m->lock);
    return status;
}
