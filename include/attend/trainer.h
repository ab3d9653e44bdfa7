/* trainer.h: from files of pairs, or of lines, to a model: what `attend train` does, for programs.
 *
 * Task       By config.task a model translates, and learns from pairs, or it is a language model, and learns from lines alone (pairs_file.h);
 *            files of the other kind are ATTEND_BAD_USAGE. A language model has one vocabulary, and perplexity for a score.
 * Files      MODEL             the best model so far by validation (the latest, without validation): written whole, when there is a better one
 *            MODEL.checkpoint  where training stands: a model file with the optimizer's numbers and the place in the data
 *            MODEL.update-N    the last `keep` models, or `average_checkpoints`
 *            MODEL.single      the best model, where MODEL is the average of the last
 *            MODEL.log.jsonl   what happened, a JSON object a line;  MODEL.svg  the same as curves
 *            MODEL.lock        while it is being trained: a second training of the same model is ATTEND_BAD_USAGE
 * Going on   The same options with the same files go on from the checkpoint, and end in the same model, to the bit, as a training that was never
 *            interrupted; whatever was logged behind the checkpoint is taken out of the log first. Other options are refused, with the name
 *            of the one that differs; `fresh` begins anew.
 * Threads    Any number of them gives the same model. */
#ifndef ATTEND_TRAINER_H
#define ATTEND_TRAINER_H

#include <attend/metric.h>
#include <attend/pairs_file.h>
#include <attend/text.h>
#include <attend/train.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What validation looks at to tell better from worse. */
typedef enum attend_valid_metric {
    ATTEND_VALID_LOSS, /* cross-entropy a target word, or perplexity, its exponential: the same order */
    ATTEND_VALID_BLEU,
    ATTEND_VALID_CHRF,
    ATTEND_VALID_TOKEN_ACCURACY,
    ATTEND_VALID_WORD_ERROR,
    ATTEND_VALID_EXACT
} attend_valid_metric;

/* Words for choices, by their number; NULL behind the last. */
extern const char *const attend_optimizer_names[], *const attend_schedule_names[], *const attend_valid_metric_names[];

enum { ATTEND_MAX_AVERAGED_CHECKPOINTS = 1000 };

typedef struct attend_train_options {
    const attend_pairs_spec *train, *valid; /* valid: NULL, none */
    int train_count, valid_count;
    const char *model;

    attend_config config; /* vocabularies are found in the data */
    attend_tokenizer_options
        tokens[2]; /* of source and target; with config.shared_vocab, and for a language model, the first is for both */
    double bpe_dropout;
    int max_length; /* longer pairs are left out */

    attend_optimizer_options optimizer;
    attend_schedule schedule;
    double clip;
    double label_smoothing;
    double
        average; /* of an exponential moving average of the weights, which is then what is validated and kept; 0: none */
    int accumulate;   /* batches of an update */
    int batch_tokens; /* of a batch */
    int shard_tokens; /* of what one thread does at a time: changes rounding, memory and speed, and nothing else */
    uint64_t updates, epochs; /* at most; 0: any number */
    int patience;             /* validations without a better one, after which training ends; 0: never */
    uint64_t valid_every, save_every, log_every; /* updates; 0: chosen from the size of the data */
    attend_valid_metric valid_metric;
    uint64_t seed;
    int threads;
    size_t memory; /* bytes that training may take; shards are made as small as it takes; 0: any */
    int keep;
    int average_checkpoints; /* at the end, the mean of so many of the last models becomes MODEL if it is better; 0: none */
    const char *log;         /* NULL: MODEL.log.jsonl */
    bool fresh;
    const char *
        basis; /* what the data is, in words, if sizes were chosen by it: data that has changed is then refused as such; or NULL */
} attend_train_options;

/* Sensible, but for the files. */
attend_train_options attend_train_defaults(void);

/* ---- sizes ---- */

typedef enum attend_preset {
    ATTEND_PRESET_NONE,            /* what the data asks for */
    ATTEND_PRESET_TINY,            /* the smallest model, whatever the data */
    ATTEND_PRESET_G2P,             /* letters to symbols between blanks */
    ATTEND_PRESET_TRANSLATE_SMALL, /* what the data asks for, but nothing that takes days */
    ATTEND_PRESET_TRANSLATE        /* one size more than the data asks for */
} attend_preset;
extern const char *const attend_preset_names[]; /* by their number; NULL behind the last */

/* Of pairs that can be used: how many there are, and words (as blanks separate them) and characters of source and target. Lines alone have
 * no characters on the side of the source. */
typedef struct attend_data_size {
    uint64_t pairs, words[2], characters[2];
} attend_data_size;

/* What fits data of that size. */
typedef struct attend_training_sizes {
    bool of_words;                     /* pairs (or lines) of words rather than of sentences */
    uint64_t seen;                     /* tokens, of the side that has more */
    attend_token_kind tokens[2];       /* of lines alone, the same twice */
    int hidden, embedding, vocab_size; /* of bpe */
    double dropout, label_smoothing;
    int batch_tokens;
    uint64_t epochs; /* where nothing else ends training */
    struct {
        int hidden, layers, heads, feed_forward_width;
        double dropout, rate;
        uint64_t warmup;
    } transformer; /* in the place of hidden, embedding and dropout, if it is one */
} attend_training_sizes;
/* A function of its arguments and of nothing else. kinds: attend_token_kind of each side where it is settled, -1 where not; NULL: none is. */
attend_training_sizes attend_training_sizes_for(attend_preset preset, const attend_data_size *data, const int kinds[2]);

/* Where training stands. */
typedef struct attend_progress {
    uint64_t update, updates; /* of how many, as far as is known; 0: not known */
    uint64_t epoch;
    double part; /* of the epoch that is done */
    double loss; /* cross-entropy a target word, lately */
    double rate, norm;
    double tokens_per_second;
    double seconds, seconds_left;            /* left < 0: not known */
    double step_seconds, validation_seconds; /* of those seconds: in gradients and steps, and validating */
    double valid_loss, valid_score;          /* of the last validation; NAN: none yet */
    double best;
    bool validated, saved, better; /* what the last update brought */
} attend_progress;

/* What is known before the first update. */
typedef struct attend_plan {
    size_t parameters;
    size_t bytes; /* of memory, at the most */
    uint64_t pairs, valid_pairs, left_out;
    uint64_t source_tokens, target_tokens;
    attend_task task; /* of a language model, pairs are lines, without sources */
    uint64_t updates_per_epoch, updates;
    uint64_t valid_every, save_every;
    int source_vocab, target_vocab;
    bool resumed;
    uint64_t update;
} attend_plan;

typedef struct attend_train_events {
    void *user;
    void (*plan)(void *user, const attend_plan *plan);
    void (*progress)(void *user, const attend_progress *p); /* after every update */
    void (*notice)(void *user, const char *text);           /* a message for the user: a skipped update, say */
    bool (*stop)(void *user); /* asked after every update, and now and then while data is read: save and end? */
} attend_train_events;

typedef enum attend_train_end {
    ATTEND_TRAIN_DONE,     /* as many updates or epochs as were asked for */
    ATTEND_TRAIN_PATIENCE, /* no better model for a while */
    ATTEND_TRAIN_STOPPED   /* by attend_train_events.stop; the checkpoint is where it stopped */
} attend_train_end;

/* ATTEND_FAILED if training diverged: ten updates in a row had gradients that were not numbers, and so it went once more from the
 * last checkpoint at half the rate. The best model is never touched by any of it. */
int attend_train(const attend_train_options *options, const attend_train_events *events, attend_train_end *end);

/* ---- the training log ---- */

/* A line of MODEL.log.jsonl; NAN for a number that the line does not have. */
typedef struct attend_training_record {
    double update;
    double loss;                    /* cross-entropy of a training token, since the last such line */
    double rows;                    /* training tokens predicted so far */
    double valid_loss, valid_score; /* of a validation */
    bool better;                    /* the validation found a better model than all before */
} attend_training_record;

typedef struct attend_training_history {
    attend_training_record *records;
    size_t count, room;
} attend_training_history;

/* Reads a training log; lines of another form are skipped. { 0 } is an empty history, which the caller frees also after a failure.
 * ATTEND_IO, ATTEND_NO_MEMORY. */
int attend_training_history_read(attend_training_history *history, const char *path);
void attend_training_history_free(attend_training_history *history);
/* The update of the best model; without validation, of the last one; 0: an empty history. */
double attend_training_history_best(const attend_training_history *history);

#ifdef __cplusplus
}
#endif
#endif
