/* translation.h: a request for /translate while it is served. translation.c submits its lines, translation_json.c writes
 * the answer. A text is divided into lines; the lines of an HTML document are its segments (html.h). The helper thread
 * reads long texts and writes large answers (helper_thread.h). */
#ifndef ATTEND_CLI_SERVE_TRANSLATION_H
#define ATTEND_CLI_SERVE_TRANSLATION_H

#include "serve/helper_thread.h"
#include "serve/html.h"
#include "serve/server.h"
#include "serve/translate_request.h"

#define TOO_MANY_WEIGHTS "the texts are too long to return their attention, or to place the tags of HTML by it"
/* Memory of an attention weight of an answer: a float, and a number with five digits in the JSON. */
enum { WEIGHT_BYTES = sizeof(float) + 9 };

/* A part of a text, without its line end. */
typedef struct translation_line {
    const char *text;
    size_t size;
    bool has_return; /* its end is "\r\n", and that of its translation */
} translation_line;

typedef struct translation {
    server_task task;
    server *server;
    http_exchange *exchange;
    translate_request request;
    bool is_long; /* the helper thread reads and answers it */
    helper_job job;
    int pair; /* of the served models */
    attend_search_options search;
    html_document *documents; /* (texts) NULL: the texts are not HTML */
    translation_line *lines;  /* (count) of all texts */
    attend_future **futures;  /* (count) */
    int count;
    int *first; /* (texts + 1) first line of each text */
    atomic_int remaining;
    int status; /* of the submission */
    char message[512];
    size_t answer_bytes;  /* its part of those of the server */
    pthread_mutex_t lock; /* of the two below and the futures, until all are submitted */
    bool is_submitted, is_gone;
} translation;

/* Answers; called when the last line is done. */
void translation_reply(server *s, http_exchange *e);
/* Whether it was cancelled, because its client left or the server ends. */
bool translation_is_gone(translation *t);
/* Frees what an answer is made from, which may be more than a slow client should keep. */
void translation_free_results(translation *t);
/* Changes its part of the memory of answers; false: there is no room for it, and the part is unchanged. */
bool translation_reserve(translation *t, size_t bytes);

#endif
