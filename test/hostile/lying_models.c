/* lying_models.c: a campaign (campaign.h) with model files and checkpoints whose checksum is correct and whose content is
 * not: configurations, names, shapes, types and values of weights, vocabularies, tokenizers, shortlists, the state and
 * the options of a training; also ensembles and word aligners. Each model is given to `attend info` and to another verb.
 * A failure is a message that names the file, and both verbs agree on whether it is a model, unless its probabilities
 * are not finite. */
#include "hostile/campaign.h"

#include "format/tensor_file.h"
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_TENSORS = 512, MAX_METADATA = 256, MAX_TEXT = 1 << 18 };

/* A file that can be changed. */
typedef struct lie {
    attend_tensor_file *file;
    attend_tensor tensors[MAX_TENSORS];
    attend_metadata metadata[MAX_METADATA];
    size_t tensor_count, metadata_count;
    void *made[64]; /* memory of what was changed */
    int made_count;
} lie;

static void *make(lie *l, size_t size)
{
    if (l->made_count == 64) return NULL;
    return l->made[l->made_count++] = calloc(size + 1, 1);
}

static bool load(lie *l, const char *path)
{
    memset(l, 0, sizeof *l);
    if (attend_tensor_file_open(&l->file, path, 0) != ATTEND_OK) return false;
    l->tensor_count = attend_tensor_file_count(l->file);
    l->metadata_count = attend_tensor_file_metadata_count(l->file);
    if (l->tensor_count > MAX_TENSORS - 2 || l->metadata_count > MAX_METADATA - 2) return false;
    for (size_t i = 0; i < l->tensor_count; i++) l->tensors[i] = *attend_tensor_file_at(l->file, i);
    for (size_t i = 0; i < l->metadata_count; i++) l->metadata[i] = *attend_tensor_file_metadata_at(l->file, i);
    return true;
}

static void unload(lie *l)
{
    for (int i = 0; i < l->made_count; i++) free(l->made[i]);
    attend_tensor_file_close(l->file);
}

/* ---- metadata ---- */

static const char *const texts[] = { "",
                                     "0",
                                     "1",
                                     "2",
                                     "3",
                                     "-1",
                                     "7",
                                     "16",
                                     "127",
                                     "4096",
                                     "16384",
                                     "65535",
                                     "65536",
                                     "2147483647",
                                     "2147483648",
                                     "4294967295",
                                     "9223372036854775807",
                                     "18446744073709551615",
                                     "1e9",
                                     "1e300",
                                     "1e-300",
                                     "0.999",
                                     "nan",
                                     "-nan",
                                     "inf",
                                     "-inf",
                                     "0x7f",
                                     " 8",
                                     "8 ",
                                     "8\n",
                                     "x",
                                     "yes",
                                     "no",
                                     "none",
                                     "dot",
                                     "additive",
                                     "location",
                                     "location-sensitive",
                                     "projected",
                                     "scaled-dot",
                                     "transformer",
                                     "lstmn",
                                     "rnn",
                                     "lstm",
                                     "simple",
                                     "deep",
                                     "plain",
                                     "shallow",
                                     "copy",
                                     "after",
                                     "before",
                                     "language-model",
                                     "translation",
                                     "local-m",
                                     "local-p",
                                     "hard",
                                     "sparsemax",
                                     "learned",
                                     "rotary",
                                     "post",
                                     "gated",
                                     "\x1b[31mred",
                                     "\xe2\x80\xae reversed",
                                     "zz",
                                     "-5",
                                     "0123456789abcdef",
                                     "0000000000000000",
                                     "999999999999999999999999999999" };
enum { TEXTS = sizeof texts / sizeof *texts };

static void lie_about_metadata(campaign *c, lie *l)
{
    if (l->metadata_count == 0) return;
    attend_metadata *m = &l->metadata[campaign_random(c, (uint32_t)l->metadata_count)];
    const bool of_state = campaign_random(c, 2);
    for (int i = 0; of_state && i < 100 && strncmp(m->key, "training.state.", 15) != 0; i++)
        m = &l->metadata[campaign_random(c, (uint32_t)l->metadata_count)];
    switch (campaign_random(c, 10)) {
    case 0: /* it is missing */
        *m = l->metadata[--l->metadata_count];
        break;
    case 1: { /* another name */
        char *key = make(l, 64);
        if (key) snprintf(key, 64, "config.%u", campaign_random(c, 100)), m->key = key;
        break;
    }
    case 2: { /* a text that is too long */
        char *value = make(l, 100000);
        if (value) memset(value, '1', 100000), m->value = value;
        break;
    }
    case 3: /* the value of another one */
        m->value = l->metadata[campaign_random(c, (uint32_t)l->metadata_count)].value;
        break;
    default:
        m->value = texts[campaign_random(c, TEXTS)];
    }
}

/* ---- tensors ---- */

static size_t elements(const attend_tensor *t)
{
    size_t n = 1;
    for (int i = 0; i < t->rank; i++) n *= (size_t)t->shape[i];
    return n;
}

/* Gives a tensor another shape, and its size; data that is missing is 0. */
static void set_shape(lie *l, attend_tensor *t, int rank, const int64_t *shape)
{
    attend_tensor changed = *t;
    changed.rank = rank;
    for (int i = 0; i < rank; i++) changed.shape[i] = shape[i];
    changed.bytes = elements(&changed) * attend_dtype_size(changed.dtype);
    char *data = changed.bytes < 1 << 24 ? make(l, changed.bytes) : NULL;
    if (!data) return;
    if (t->data) memcpy(data, t->data, changed.bytes < t->bytes ? changed.bytes : t->bytes);
    changed.data = data;
    *t = changed;
}

static void lie_about_shape(campaign *c, lie *l, attend_tensor *t)
{
    int64_t shape[ATTEND_TENSOR_RANK];
    memcpy(shape, t->shape, sizeof shape);
    const int axis = t->rank ? (int)campaign_random(c, (uint32_t)t->rank) : 0;
    switch (campaign_random(c, 6)) {
    case 0: /* transposed */
        if (t->rank > 1) shape[0] = t->shape[1], shape[1] = t->shape[0];
        set_shape(l, t, t->rank, shape);
        break;
    case 1:
        shape[axis] = 0;
        set_shape(l, t, t->rank, shape);
        break;
    case 2:
        shape[axis] += (int64_t)campaign_random(c, 5) - 2;
        if (shape[axis] >= 0) set_shape(l, t, t->rank, shape);
        break;
    case 3: /* one dimension */
        shape[0] = (int64_t)elements(t);
        set_shape(l, t, 1, shape);
        break;
    case 4: /* one more dimension */
        if (t->rank == ATTEND_TENSOR_RANK) break;
        shape[t->rank] = 1;
        set_shape(l, t, t->rank + 1, shape);
        break;
    default:
        set_shape(l, t, 0, shape);
    }
}

static void lie_about_type(campaign *c, lie *l, attend_tensor *t)
{
    t->dtype = (attend_dtype)campaign_random(c, ATTEND_DTYPES);
    set_shape(l, t, t->rank, t->shape);
}

/* Numbers that no training gives. */
static void lie_about_numbers(campaign *c, lie *l, attend_tensor *t)
{
    static const float odd[] = { NAN, INFINITY, FLT_MAX, -FLT_MAX, 1e20f, -1e20f, 1e-40f, 0, -1 };
    char *data = make(l, t->bytes);
    if (!data) return;
    memcpy(data, t->data, t->bytes);
    const uint32_t kind = campaign_random(c, 3);
    const float x = odd[campaign_random(c, sizeof odd / sizeof *odd)];
    const size_t width = sizeof x, count = t->bytes / width;
    const size_t begin = count ? campaign_random(c, (uint32_t)count) : 0;
    const size_t end = kind == 0 ? begin + (count > 0) : count;
    for (size_t i = begin; i < end; i++) memcpy(data + i * width, &x, width);
    for (size_t i = 0; kind == 2 && i < t->bytes; i++) data[i] = (char)campaign_random(c, 256);
    t->data = data;
}

/* Texts: vocabularies and tokenizers; the shortlist is an array of integers. */
static void lie_about_bytes(campaign *c, lie *l, attend_tensor *t)
{
    static const char *const inserted[] = { "\n",    "\0",       "\xff",
                                            "<s>\n", "</s>\n",   "<unk>\n",
                                            " ",     "\r\n",     "\xed\xa0\x80",
                                            "9",     "-1 0",     "\xf0\x9f\x98\x80",
                                            "a b\n", "\x1b[31m", "\xff\xff\xff\x7f",
                                            "\x80" };
    const size_t size = t->bytes, at = campaign_random(c, (uint32_t)size + 1);
    const uint32_t kind = campaign_random(c, 7);
    const char *text = inserted[campaign_random(c, sizeof inserted / sizeof *inserted)];
    const size_t extra = kind == 5 ? MAX_TEXT : *text ? strlen(text) : 1;
    const char *old = t->data;
    char *data = make(l, size + extra);
    if (!data) return;
    int64_t length = (int64_t)size;
    if (size) memcpy(data, old, size);
    switch (kind) {
    case 0: /* shorter */
        length = (int64_t)at;
        break;
    case 1: /* a number of the shortlist, or some characters */
        for (size_t i = 0; i < 4 && at + i < size; i++) data[at + i] = (char)campaign_random(c, 256);
        break;
    case 2: { /* the same number everywhere */
        const uint32_t number = campaign_random(c, 2) ? campaign_random(c, 8) : 0xfffffff0u + campaign_random(c, 16);
        for (size_t i = at & ~(size_t)3; i + 4 <= size; i += 4) memcpy(data + i, &number, 4);
        break;
    }
    case 3: /* inserted */
    case 4:
        memcpy(data + at, text, extra);
        if (size > at) memcpy(data + at + extra, old + at, size - at);
        length = (int64_t)(size + extra);
        break;
    case 5: /* a token that is too long */
        memset(data + at, 'x', extra);
        if (size > at) memcpy(data + at + extra, old + at, size - at);
        length = (int64_t)(size + extra);
        break;
    default: /* a byte */
        if (at < size) data[at] = (char)(data[at] ^ (1 << campaign_random(c, 8)));
    }
    t->data = data;
    t->bytes = (size_t)length;
    t->shape[0] = length;
}

static void lie_about_names(campaign *c, lie *l, attend_tensor *t)
{
    switch (campaign_random(c, 3)) {
    case 0: /* it is missing */
        *t = l->tensors[--l->tensor_count];
        break;
    case 1: { /* an additional one */
        char *name = make(l, 64);
        if (!name) break;
        l->tensors[l->tensor_count] = *t;
        snprintf(name, 64, "%s%u", campaign_random(c, 2) ? "text." : "training.", campaign_random(c, 100));
        l->tensors[l->tensor_count++].name = name;
        break;
    }
    default: { /* two names are exchanged */
        attend_tensor *other = &l->tensors[campaign_random(c, (uint32_t)l->tensor_count)];
        const char *name = other->name;
        other->name = t->name;
        t->name = name;
    }
    }
}

static void lie_about_tensors(campaign *c, lie *l)
{
    if (l->tensor_count == 0) return;
    attend_tensor *t = &l->tensors[campaign_random(c, (uint32_t)l->tensor_count)];
    const uint32_t kind = campaign_random(c, 10);
    for (int i = 0; kind >= 7 && i < 100 && strncmp(t->name, "text.", 5) != 0; i++)
        t = &l->tensors[campaign_random(c, (uint32_t)l->tensor_count)];
    if (strncmp(t->name, "text.", 5) == 0 && t->rank == 1 && kind >= 1)
        lie_about_bytes(c, l, t);
    else if (kind < 1)
        lie_about_names(c, l, t);
    else if (kind < 2)
        lie_about_shape(c, l, t);
    else if (kind < 3)
        lie_about_type(c, l, t);
    else
        lie_about_numbers(c, l, t);
}

/* ---- runs ---- */

static const char *const verbs[] = {
    "translate --model lie --input input.txt --memory 512M --threads 1",
    "translate --model lie --input input.txt --memory 512M --shortlist --json --alignment soft --beam 2 --threads 1",
    "translate --model lie --model lie --input input.txt --memory 512M --sample --n-best 2 --replace-unknown --threads "
    "1",
    "score --model lie --input valid.tsv --per-token --memory 512M --threads 1",
    "align --model lie --input valid.tsv --memory 512M --threads 1",
    "align --model lie --input valid.tsv --memory 512M --evaluate-maps --threads 1",
    "show --model lie --memory 512M --threads 1 a",
    "show --model lie --memory 512M --input valid.tsv --format html --all-heads --output page.html --threads 1",
    "evaluate --model lie --input valid.tsv --beam 1 --memory 512M --threads 1",
    "convert --model lie --output converted --precision int8",
    "convert --model lie --output converted --precision bf16 --shortlist pairs.tsv --memory 512M --threads 1 --quiet",
    "convert --output converted --average lie lie",
    "train --train pairs.tsv --valid none --init-from lie --model tuned --updates 2 --memory 512M --threads 1 --quiet",
    "train --train pairs.tsv --valid none --init-from lie --new-vocab --model tuned --updates 2 --memory 512M "
    "--threads 1 --quiet",
};
enum { VERBS = sizeof verbs / sizeof *verbs };

static void execute(campaign *c, run *r, const char *words)
{
    static char text[1024];
    memset(r, 0, sizeof *r);
    snprintf(text, sizeof text, "%s", words);
    run_add_words(r, text);
    campaign_run(c, r);
    if ((r->status == 4 || r->status == 5) && !strstr(r->printed, "lie"))
        campaign_fault(c, r, "the message does not name the file");
}

enum { OF_ALIGNERS = 4, COMMANDS = VERBS + OF_ALIGNERS + 1 };

/* Of models, of aligners, and one of checkpoints. */
static void cover(campaign *c, long command)
{
    campaign_cover(c, "command lines", command, COMMANDS);
}

static void try_model(campaign *c)
{
    static run first, second;
    execute(c, &first, campaign_random(c, 2) ? "info lie" : "info --json --parameters lie");
    const uint32_t which = campaign_random(c, VERBS);
    cover(c, (long)which);
    execute(c, &second, verbs[which]);
    /* only computing shows that weights are too large */
    const bool is_computed = strstr(second.printed, "the model's probabilities are not finite") != NULL;
    if ((first.status == 0 && second.status == 4 && !is_computed) || (first.status == 4 && second.status == 0))
        campaign_fault(c, &second, "attend info ends with exit status %d: %s", first.status, first.printed);
    file_remove("converted"), file_remove("page.html");
}

static const char *const of_aligners[OF_ALIGNERS] = {
    "align --aligner lie --input valid.tsv --memory 512M --threads 1",
    "align --aligner lie --input valid.tsv --json --threshold 0.1 --threads 1",
    "align --aligner lie --input pairs.tsv --symmetrize union --dictionary words --threads 1",
    "info lie",
};

static void try_aligner(campaign *c)
{
    static run r;
    const uint32_t which = campaign_random(c, OF_ALIGNERS);
    cover(c, VERBS + (long)which);
    execute(c, &r, of_aligners[which]);
    file_remove("words");
}

static void try_checkpoint(campaign *c)
{
    static run r;
    file_copy("stopped.model", "tuned");
    if (rename("lie", "tuned.checkpoint") != 0) return;
    cover(c, COMMANDS - 1);
    memset(&r, 0, sizeof r);
    char options[] = "train --train pairs.tsv --valid none --model tuned --tokens word --hidden 8 --embedding 8 "
                     "--batch-tokens 60 --learning-rate 0.01"
                     " --dropout 0 --updates 302 --memory 512M --threads 1 --patience 0";
    run_add_words(&r, options);
    r.limit = 20;
    r.may_be_stopped = true; /* a number of updates, or of an epoch, may be a different one */
    campaign_run(c, &r);
    if ((r.status == 4 || r.status == 5) && !strstr(r.printed, "tuned.checkpoint"))
        campaign_fault(c, &r, "the message does not name the file");
}

static void remove_trained(void)
{
    static const char *const names[] = { "tuned",     "tuned.checkpoint", "tuned.log.jsonl",
                                         "tuned.svg", "tuned.lock",       "lie" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) file_remove(names[i]);
}

int main(int argc, char **argv)
{
    static const char *const seeds[] = { "rnn-bpe.model",
                                         "rnn-location.model",
                                         "transformer-learned.model",
                                         "lstmn.model",
                                         "stopped.model",
                                         "language-model.model",
                                         "int8-shortlist.model",
                                         "stopped.model.checkpoint",
                                         "int8-shortlist.model",
                                         "stopped.model.checkpoint",
                                         "aligner",
                                         "aligner",
                                         "ensemble.model",
                                         "ensemble.model" };
    static campaign c;
    static lie l;
    campaign_begin(&c, argc, argv);
    file_make_aligner("aligner");
    file_make_ensemble("ensemble.model", "rnn-bpe.model");
    for (long i = 0; i < 100000; i++) {
        if (c.only >= 0) i = c.only;
        if (!campaign_case(&c, i)) break;
        const char *seed = seeds[campaign_random(&c, sizeof seeds / sizeof *seeds)];
        if (!load(&l, seed)) {
            printf("%s: %s\n", seed, attend_message());
            return 2;
        }
        for (uint32_t n = 1 + campaign_random(&c, 3) / 2; n > 0; n--)
            if (campaign_random(&c, 3) == 0)
                lie_about_metadata(&c, &l);
            else
                lie_about_tensors(&c, &l);
        const int status = attend_tensor_file_write("lie", l.tensors, l.tensor_count, l.metadata, l.metadata_count);
        unload(&l);
        if (status == ATTEND_OK) { /* else two tensors have one name */
            if (strstr(seed, "checkpoint"))
                try_checkpoint(&c);
            else if (strcmp(seed, "aligner") == 0)
                try_aligner(&c);
            else
                try_model(&c);
            campaign_case_end(&c);
        }
        remove_trained();
        if (c.only >= 0) break;
    }
    return campaign_end(&c);
}
