/* cmd_show.c: where did the model look? A map of attention for a sentence, for each line of a file, or for given pairs. */
#include "data_files.h"
#include "options.h"
#include "output_file.h"
#include "terminal.h"

#include "core/status.h"
#include "format/json.h"
#include <attend/lines.h>
#include <attend/string.h>
#include <attend/view.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TERMINAL, SVG, PNG, HTML, JSON, GUESS };
static const char *const formats[] = { "terminal", "svg", "png", "html", "json", NULL };

enum { LOOKS = 3, USUAL = -1 };
static const char *const looks[] = { "source", "encoder", "decoder", NULL }; /* as attend_attention_kind counts */

/* Weights on a page, some four bytes each: beyond them, sentences have the first look alone. */
enum { PAGE_WEIGHTS = 4000000 };

typedef struct settings {
    const char *model, *target, *output;
    pairs_list input;
    long long layer, head, hypothesis, beam, width, threads;
    int format, look;
    bool layer_given, head_given, beam_given, hypothesis_given;
    bool pieces, quiet;
} settings;

#define AT(member) offsetof(settings, member)
static const option table[] = {
    { "model", "FILE", "a model made by attend train", OPTION_TEXT, AT(model), 0, 0, NULL },
    { "input", "FILE|PAIRS",
      "a file with a sentence a line; or pairs (one .tsv file, or two line-aligned files), whose targets the model is "
      "made "
      "to say; for a language model any number of files of lines",
      OPTION_DATA, AT(input), 0, 0, NULL },
    { "target", "TEXT", "what the model is made to say, instead of what it would", OPTION_TEXT, AT(target), 0, 0,
      NULL },
    { "format", "terminal|svg|png|html|json", "terminal, unless --output has a name that says another", OPTION_WORD,
      AT(format), 0, 0, formats },
    { "output", "FILE", "standard output if not given; %d in the name of a picture is the number of the line",
      OPTION_TEXT, AT(output), 0, 0, NULL },
    { "look", "source|encoder|decoder",
      "who looks: the target at the source; the source at itself; the target at its own words so far (Transformer, "
      "LSTMN; all that a language model has). html has all of them unless one is given",
      OPTION_WORD, AT(look), 0, 0, looks },
    { "layer", "N", "of attention, from 0; -1: the mean of all, and so with --head alone", OPTION_WHOLE, AT(layer), -1,
      1000, NULL },
    { "head", "N",
      "of attention, from 0; -1: the mean of all, and so with --layer alone; with neither, a look at the source is "
      "that by which the model aligns",
      OPTION_WHOLE, AT(head), -1, 1000, NULL },
    { "pieces", NULL, "pieces as the model reads and writes them, and the ends, instead of words", OPTION_FLAG,
      AT(pieces), 0, 0, NULL },
    { "beam", "N", "hypotheses at a time while it translates", OPTION_WHOLE, AT(beam), 1, 1000, NULL },
    { "hypothesis", "N", "the N-th best translation instead of the best; html shows all", OPTION_WHOLE, AT(hypothesis),
      1, 1000, NULL },
    { "width", "N", "columns of the terminal, if it does not say so itself", OPTION_WHOLE, AT(width), 20, 10000, NULL },
    { "threads", "N", "any number gives the same", OPTION_WHOLE, AT(threads), 1, 1024, NULL },
    { "quiet", NULL, "no warnings", OPTION_FLAG, AT(quiet), 0, 0, NULL },
    { NULL, NULL, NULL, OPTION_FLAG, 0, 0, 0, NULL },
};

/* The maps of a sentence: one, or all hypotheses, each with its other looks behind it. */
typedef struct maps {
    attend_map **items;
    int count;
} maps;

typedef struct job {
    const settings *s;
    attend_view_options view;
    attend_model *m;
    bool alone; /* a language model */
    attend_attention_kind look;
    bool others; /* the page has the other looks too */
    attend_ctx *c;
    attend_translator *translator; /* NULL: nothing is looked for */
    output_file *to;               /* of what is no picture */
    attend_string text;            /* of one map */
    attend_string texts[2];        /* source and target of a line */
    maps *kept;                    /* for a page */
    int kept_count, kept_room;
    size_t weights;          /* of those */
    int narrow;              /* sentences that have the first look alone, for want of room */
    const char *file;        /* that is being read; NULL: one sentence was given */
    unsigned long long line; /* in it */
    unsigned long long lines, shown;
} job;

/* ---- maps ---- */

static void maps_free(maps *x)
{
    for (int i = 0; i < x->count; i++) attend_map_free(x->items[i]);
    free(x->items);
    *x = (maps){ NULL, 0 };
}

static int maps_room(maps *x, int hypotheses)
{
    x->items = calloc((size_t)hypotheses * LOOKS, sizeof(attend_map *));
    return x->items ? ATTEND_OK : attend_fail(ATTEND_NO_MEMORY, "no memory for the maps of %d sentences", hypotheses);
}

/* What a map is made of: a target as text, or a hypothesis. */
typedef struct subject {
    const char *source, *target;
    const attend_hypothesis *found;
} subject;

static int add_map(job *j, attend_attention_kind look, const subject *x, maps *out)
{
    const attend_hypothesis *h = x->found;
    const int status = attend_map_new(&out->items[out->count], j->c, j->m, look, x->source, x->target,
                                      h ? h->tokens : NULL, h ? h->count : 0, h ? h->score : NAN);
    if (status == ATTEND_OK) out->count++;
    return status;
}

/* Whether a look at `other` goes on the page behind the first, of a sentence's first hypothesis or of one behind it. */
static bool is_wanted(const job *j, attend_attention_kind other, bool first)
{
    return j->others && other != j->look && (other != ATTEND_ATTENTION_ENCODER || first) &&
           attend_config_attention_layers(attend_model_config(j->m), other) > 0;
}

/* Its map, and on a page those of the other looks behind it. */
static int add_maps(job *j, const subject *x, maps *out)
{
    const bool first = out->count == 0;
    int status = add_map(j, j->look, x, out);
    for (int other = 0; status == ATTEND_OK && other < LOOKS; other++)
        if (is_wanted(j, (attend_attention_kind)other, first))
            status = add_map(j, (attend_attention_kind)other, x, out);
    return status;
}

/* A source that a map, or the model, has no room for: the translator says no more than that it is too long. */
static int too_long(const job *j)
{
    const int places = attend_config_max_tokens(attend_model_config(j->m), false) - 1;
    if (places < ATTEND_MAP_MOST)
        return attend_fail(ATTEND_BAD_DATA, "the source is too long: the model has places for %d pieces", places);
    return attend_fail(ATTEND_BAD_DATA, "the source is too long: a map has room for %d pieces", ATTEND_MAP_MOST);
}

/* Of what the model says of its own accord. */
static int map_found(job *j, const char *source, maps *out)
{
    const size_t size = strlen(source);
    int status = attend_translator_run(j->translator, 1, &source, &size);
    if (status != ATTEND_OK) return status;
    const attend_line_result *r = attend_translator_result(j->translator, 0);
    if (r->fault && strstr(r->fault, "too long")) return too_long(j);
    if (r->fault) return attend_fail(ATTEND_BAD_DATA, "%s", r->fault);
    if (!r->source) return attend_fail(ATTEND_BAD_DATA, "it is empty");
    const int wanted = (int)j->s->hypothesis, first = j->s->format == HTML ? 0 : wanted - 1;
    if (wanted > r->count)
        return attend_fail(ATTEND_BAD_DATA, "there is no %d. translation; a --beam of %lld found %d", wanted,
                           j->s->beam, r->count);
    const int end = j->s->format == HTML ? r->count : wanted;
    status = maps_room(out, end - first);
    for (int i = first; status == ATTEND_OK && i < end; i++)
        status = add_maps(j, &(subject){ .source = source, .found = &r->hypotheses[i] }, out);
    return status;
}

static int map_given(job *j, const char *source, const char *target, maps *out)
{
    const int status = maps_room(out, 1);
    return status == ATTEND_OK ? add_maps(j, &(subject){ .source = source, .target = target }, out) : status;
}

static int make_maps(job *j, const char *source, const char *target, maps *out)
{
    if (j->alone) return map_given(j, NULL, source, out);
    return target || !j->translator ? map_given(j, source, target, out) : map_found(j, source, out);
}

/* ---- what is written ---- */

/* `name` with the number in the place of %d. */
static char *numbered(const char *name, unsigned long long number)
{
    const char *at = strstr(name, "%d");
    const size_t size = strlen(name) + 32;
    char *path = malloc(size);
    if (path && at)
        snprintf(path, size, "%.*s%llu%s", (int)(at - name), name, number, at + 2);
    else if (path)
        snprintf(path, size, "%s", name);
    return path;
}

static int write_picture(job *j)
{
    const char *name = j->s->output;
    char *path = name ? numbered(name, j->lines) : NULL;
    output_file *to = NULL;
    int status = name && !path ? attend_fail(ATTEND_NO_MEMORY, "no memory for a name") : output_open(&to, path);
    if (status == ATTEND_OK) status = output_write(to, j->text.text, j->text.size);
    const int closed = output_close(to, status == ATTEND_OK);
    free(path);
    return status == ATTEND_OK ? closed : status;
}

static int write_text(job *j, const char *text, size_t size)
{
    return output_write(j->to, text, size);
}

static int write_json(job *j)
{
    char line[64];
    if (!j->file) return write_text(j, j->text.text, j->text.size);
    snprintf(line, sizeof line, "{\"line\": %llu, ", j->lines);
    const int status = write_text(j, line, strlen(line));
    return status == ATTEND_OK ? write_text(j, j->text.text + 1, j->text.size - 1) : status;
}

/* Above each map of several: its number and what the model read. */
static int write_terminal(job *j, const attend_map *map)
{
    attend_view_options view = j->view;
    const size_t size = j->texts[0].size + 32;
    char *title = j->file ? malloc(size) : NULL;
    if (j->file && !title) return attend_fail(ATTEND_NO_MEMORY, "no memory for a title");
    if (title) snprintf(title, size, "%llu: %s", j->lines, j->texts[0].text);
    view.title = title;
    int status = attend_view_terminal(map, &view, &j->text);
    if (status == ATTEND_OK && j->shown > 0) status = write_text(j, "\n", 1);
    if (status == ATTEND_OK) status = write_text(j, j->text.text, j->text.size);
    free(title);
    return status;
}

static size_t weights_of(const attend_map *map)
{
    return (size_t)map->layers * (size_t)map->heads * (size_t)map->target_count * (size_t)map->source_count;
}

/* Where a page has become large, the looks behind the first of each hypothesis go. */
static void narrow(job *j, maps *x)
{
    size_t all = 0;
    int count = 0;
    for (int i = 0; i < x->count; i++) all += weights_of(x->items[i]);
    if (j->weights + all > PAGE_WEIGHTS) {
        for (int i = 0; i < x->count; i++) {
            if (x->items[i]->look == j->look)
                x->items[count++] = x->items[i];
            else
                attend_map_free(x->items[i]);
        }
        j->narrow += count < x->count;
        x->count = count;
    }
    for (int i = 0; i < x->count; i++) j->weights += weights_of(x->items[i]);
}

/* Keeps the maps of a sentence for the page; they are not the caller's any more. */
static int keep(job *j, maps *x)
{
    if (j->kept_count == j->kept_room) {
        const int room = 2 * j->kept_room + 16;
        maps *more = realloc(j->kept, (size_t)room * sizeof *more);
        if (!more) return attend_fail(ATTEND_NO_MEMORY, "no memory for %d sentences", room);
        j->kept = more, j->kept_room = room;
    }
    narrow(j, x);
    j->kept[j->kept_count++] = *x;
    *x = (maps){ NULL, 0 };
    return ATTEND_OK;
}

static int write_page(job *j)
{
    attend_map_list *lists = calloc((size_t)j->kept_count + 1, sizeof *lists);
    if (!lists) return attend_fail(ATTEND_NO_MEMORY, "no memory for a page");
    for (int i = 0; i < j->kept_count; i++)
        lists[i] = (attend_map_list){ (const attend_map *const *)j->kept[i].items, j->kept[i].count };
    j->text.size = 0;
    int status = attend_view_html(lists, j->kept_count, &j->view, &j->text);
    if (status == ATTEND_OK) status = write_text(j, j->text.text, j->text.size);
    if (status == ATTEND_OK && j->narrow > 0 && !j->s->quiet)
        fprintf(stderr,
                "attend show: %d of %d sentences have only the look '%s' on the page, which would be too large "
                "otherwise; --look makes a page of another\n",
                j->narrow, j->kept_count, looks[j->look]);
    free(lists);
    return status;
}

static int draw(job *j, maps *x)
{
    int status = attend_view_check(x->items[0], &j->view);
    if (status != ATTEND_OK) return status;
    switch (j->s->format) {
    case SVG:
    case PNG:
        status = (j->s->format == SVG ? attend_view_svg : attend_view_png)(x->items[0], &j->view, &j->text);
        return status == ATTEND_OK ? write_picture(j) : status;
    case HTML:
        return keep(j, x);
    case JSON:
        status = attend_view_json(x->items[0], &j->view, &j->text);
        return status == ATTEND_OK ? write_json(j) : status;
    default:
        return write_terminal(j, x->items[0]);
    }
}

/* ---- sentences ---- */

/* A line of a file that cannot be shown is passed over; in JSON an object says why. */
static int pass_over(job *j)
{
    char where[256], why[256], object[600]; /* a message has no control characters: each byte becomes two at most */
    const char *said = attend_message();
    snprintf(where, sizeof where, "%s:%llu: ", j->file, j->line);
    if (strncmp(said, where, strlen(where)) == 0) said += strlen(where); /* some messages begin with their place */
    snprintf(why, sizeof why, "%s", said);
    if (!j->s->quiet) fprintf(stderr, "attend show: %s:%llu is not shown: %s\n", j->file, j->line, why);
    if (j->s->format != JSON) return ATTEND_OK;
    size_t size = (size_t)snprintf(object, sizeof object, "{\"line\": %llu, \"fault\": ", j->lines);
    size += attend_json_quote(object + size, why);
    memcpy(object + size, "}\n", 2);
    return write_text(j, object, size + 2);
}

static int show(job *j, const char *source, const char *target)
{
    maps x = { NULL, 0 };
    j->lines++;
    int status = make_maps(j, source, target, &x);
    if (status == ATTEND_OK) status = draw(j, &x);
    maps_free(&x);
    if (status == ATTEND_OK) j->shown++;
    if (status != ATTEND_BAD_DATA && status != ATTEND_FAILED) return status;
    if (j->file) return pass_over(j);
    char why[256];
    snprintf(why, sizeof why, "%s", attend_message());
    return attend_fail(status, "the sentence cannot be shown: %s", why);
}

/* A line of a file, or the two of a pair, in a copy that ends with '\0'. */
static int show_text(job *j, const char *source, size_t source_size, const char *target, size_t target_size)
{
    attend_string *s = &j->texts[0], *t = &j->texts[1];
    s->size = t->size = 0;
    int status = attend_string_add(s, source, source_size);
    if (status == ATTEND_OK && target) status = attend_string_add(t, target, target_size);
    if (status != ATTEND_OK) return status;
    if (strlen(s->text) == source_size && (!target || strlen(t->text) == target_size))
        return show(j, s->text, target ? t->text : NULL);
    j->lines++;
    attend_fail(ATTEND_BAD_DATA, "the character 0 is in it");
    return pass_over(j);
}

/* Pairs that are none (no TAB) end it, as they do everywhere: what would follow is not known to be what it seems. */
static int show_pairs(job *j, const pairs_given *given)
{
    const attend_pairs_spec spec = { given->first, given->second };
    attend_pairs_file *from = NULL;
    attend_text_pair p = { 0 };
    int status = attend_pairs_file_open(&from, &spec, 1);
    while (status == ATTEND_OK && (status = attend_pairs_file_next(from, &p)) == ATTEND_OK && p.source) {
        j->file = p.source_file, j->line = p.line;
        status = show_text(j, p.source, p.source_size, p.target, p.target_size);
    }
    attend_pairs_file_close(from);
    return status;
}

static int show_lines(job *j, const char *path)
{
    attend_lines *from = NULL;
    int status = attend_lines_open(&from, path);
    while (status == ATTEND_OK) {
        const char *text;
        size_t size;
        status = attend_lines_next(from, &text, &size);
        if (status == ATTEND_OK && !text) break;
        j->file = attend_lines_name(from), j->line = attend_lines_number(from);
        if (status == ATTEND_OK) {
            status = show_text(j, text, size, NULL, 0);
        } else if (!attend_lines_failed(from)) {
            j->lines++;
            status = pass_over(j);
        }
    }
    attend_lines_close(from);
    return status;
}

static bool ends(const char *name, const char *end)
{
    const size_t size = strlen(name), tail = strlen(end);
    return size >= tail && strcmp(name + size - tail, end) == 0;
}

/* One file with a TAB a line, or two; otherwise it has sentences. */
static bool is_pairs(const pairs_given *given)
{
    return given->first && (given->second || ends(given->first, ".tsv") || ends(given->first, ".tsv.gz"));
}

static bool has_pairs(const pairs_list *list)
{
    for (int i = 0; i < list->count; i++)
        if (is_pairs(&list->items[i])) return true;
    return false;
}

/* Of lines: a language model has them where others have targets. */
static const char *lines_of(const pairs_given *given)
{
    return given->first ? given->first : given->second;
}

/* Looks at all files before the first is read. */
static int look_at(const pairs_list *list)
{
    attend_pairs_file *file = NULL;
    attend_pairs_spec *specs = calloc((size_t)list->count, sizeof *specs);
    if (!specs) return attend_fail(ATTEND_NO_MEMORY, "no memory for the names of %d files", list->count);
    for (int i = 0; i < list->count; i++) specs[i] = (attend_pairs_spec){ list->items[i].first, list->items[i].second };
    const int status = attend_pairs_file_open(&file, specs, list->count);
    attend_pairs_file_close(file);
    free(specs);
    return status;
}

static int show_files(job *j)
{
    const pairs_list *list = &j->s->input;
    int status = look_at(list);
    for (int i = 0; status == ATTEND_OK && i < list->count; i++)
        status = is_pairs(&list->items[i]) ? show_pairs(j, &list->items[i]) : show_lines(j, lines_of(&list->items[i]));
    if (status == ATTEND_OK && j->shown == 0)
        status = attend_fail(ATTEND_BAD_DATA, "%s: none of its %llu lines can be shown", lines_of(&list->items[0]),
                             j->lines);
    return status;
}

/* A text from the command line may have several lines, and is one sentence all the same. */
static int show_given(job *j, const char *sentence, const char *target)
{
    const char *const given[2] = { sentence, target };
    for (int i = 0; i < 2; i++) {
        attend_string *text = &j->texts[i];
        if (!given[i]) continue;
        const int status = attend_string_add(text, given[i], strlen(given[i]));
        if (status != ATTEND_OK) return status;
        for (char *c = text->text; (c = strpbrk(c, "\n\r")) != NULL;) *c = ' ';
    }
    return show(j, j->texts[0].text, target ? j->texts[1].text : NULL);
}

static int show_all(job *j, const char *sentence)
{
    const settings *s = j->s;
    const bool stream = s->format != SVG && s->format != PNG;
    int status = stream ? output_open(&j->to, s->output) : ATTEND_OK;
    if (status == ATTEND_OK) status = sentence ? show_given(j, sentence, s->target) : show_files(j);
    if (status == ATTEND_OK && s->format == HTML) status = write_page(j);
    const int closed = output_close(j->to, status == ATTEND_OK);
    return status == ATTEND_OK ? closed : status;
}

/* ---- the model ---- */

static int look_layers(const job *j, int look)
{
    return attend_config_attention_layers(attend_model_config(j->m), (attend_attention_kind)look);
}

/* Which look it is, and that the model has it. */
static int choose_look(job *j)
{
    const settings *s = j->s;
    char has[64] = "";
    int usual = USUAL, count = 0;
    for (int i = 0; i < LOOKS; i++) {
        if (look_layers(j, i) == 0) continue;
        if (usual == USUAL) usual = i;
        snprintf(has + strlen(has), sizeof has - strlen(has), "%s%s", count++ ? ", " : "", looks[i]);
    }
    if (usual == USUAL) return attend_fail(ATTEND_BAD_USAGE, "%s has no attention: there is nothing to show", s->model);
    j->look = (attend_attention_kind)(s->look == USUAL ? usual : s->look);
    j->others = s->format == HTML && s->look == USUAL;
    if (look_layers(j, (int)j->look) > 0) return ATTEND_OK;
    return attend_fail(ATTEND_BAD_USAGE, "%s has no look '%s': it has %s%s", s->model, looks[j->look], has,
                       j->alone && j->look == ATTEND_ATTENTION_CROSS ? ", as a language model has no source" : "");
}

/* What cannot be asked of this model, or of this look. */
static int check_asked(const job *j)
{
    const settings *s = j->s;
    const bool search = s->beam_given || s->hypothesis_given, pairs = has_pairs(&s->input);
    if (j->alone && (s->target || search))
        return attend_fail(
            ATTEND_BAD_USAGE,
            "%s is a language model: what is shown is how it reads the line it is given, and there is no "
            "translation for --%s",
            s->model,
            s->target       ? "target"
            : s->beam_given ? "beam"
                            : "hypothesis");
    if (j->look == ATTEND_ATTENTION_ENCODER && (s->target || search))
        return attend_fail(ATTEND_BAD_USAGE,
                           "--look encoder is how the source is read, before anything is said: --%s has nothing to do "
                           "there",
                           s->target       ? "target"
                           : s->beam_given ? "beam"
                                           : "hypothesis");
    if (pairs && search)
        return attend_fail(ATTEND_BAD_USAGE,
                           "--beam and --hypothesis are for translations that are looked for, and here they are given");
    return ATTEND_OK;
}

/* The layer and head that were asked for, or by which the model aligns. */
static int choose_map(job *j)
{
    const settings *s = j->s;
    const attend_config *config = attend_model_config(j->m);
    const attend_alignment usual = attend_model_alignment(j->m);
    const bool aligned = j->look == ATTEND_ATTENTION_CROSS && !s->layer_given && !s->head_given;
    j->view.layer = aligned ? usual.layer : (int)s->layer, j->view.head = aligned ? usual.head : (int)s->head;
    const attend_map some = { .look = j->look,
                              .layers = attend_config_attention_layers(config, j->look),
                              .heads = attend_config_attention_heads(config, j->look) };
    return attend_view_check(&some, &j->view);
}

static int start_search(job *j)
{
    const settings *s = j->s;
    attend_translator_options o = ATTEND_TRANSLATOR_OPTIONS_INIT;
    if (j->alone || j->look == ATTEND_ATTENTION_ENCODER) return ATTEND_OK;
    o.search.beam = (int)s->beam, o.search.n_best = (int)(s->format == HTML ? s->beam : s->hypothesis);
    o.search.max_length = o.max_tokens = ATTEND_MAP_MOST;
    o.threads = (int)s->threads;
    return attend_translator_new(&j->translator, j->m, &o);
}

/* ---- all of it ---- */

static int show_with(job *j, const char *sentence)
{
    int status = choose_look(j);
    if (status == ATTEND_OK) status = check_asked(j);
    if (status == ATTEND_OK) status = choose_map(j);
    if (status == ATTEND_OK) status = start_search(j);
    if (status == ATTEND_OK) status = attend_ctx_new(&j->c);
    return status == ATTEND_OK ? show_all(j, sentence) : status;
}

static int run_job(settings *s, const char *sentence)
{
    job j = { .s = s, .view = ATTEND_VIEW_OPTIONS_INIT };
    j.view.pieces = s->pieces;
    j.view.width = s->width ? (int)s->width : terminal_width();
    j.view.colours = s->output ? 0 : terminal_colours();
    int status = attend_model_load(&j.m, s->model, NULL), wrong = 0;
    if (status == ATTEND_OK) {
        const attend_task task = attend_model_config(j.m)->task;
        j.alone = task == ATTEND_TASK_LANGUAGE_MODEL;
        wrong = data_settle(&verb_show, "input", &s->input, task);
        if (!wrong) status = show_with(&j, sentence);
    }
    status = status != ATTEND_OK ? cli_fail(&verb_show, status) : wrong;
    for (int i = 0; i < j.kept_count; i++) maps_free(&j.kept[i]);
    free(j.kept);
    attend_string_free(&j.text);
    for (int i = 0; i < 2; i++) attend_string_free(&j.texts[i]);
    attend_ctx_free(j.c);
    attend_translator_free(j.translator);
    attend_model_free(j.m);
    return status;
}

/* ---- the command line ---- */

/* What the name of the output says. */
static int guess(const char *output)
{
    static const char *const names[] = { "", ".svg", ".png", ".html", ".json" };
    for (int i = SVG; output && i <= JSON; i++)
        if (ends(output, names[i])) return i;
    return output && ends(output, ".jsonl") ? JSON : TERMINAL;
}

static int check(const settings *s, const parsed *p)
{
    const verb *v = &verb_show;
    const bool picture = s->format == SVG || s->format == PNG, number = s->output && strstr(s->output, "%d");
    const bool several = s->input.name_count > 0;
    if (!s->model) return options_wrong(v, "--model FILE is missing");
    if (p->rest_count > 1)
        return options_wrong(v, "'%s' is one sentence too many; put one in quotes, or several in a file (--input)",
                             p->rest[1]);
    if (p->rest_count == 0 && !several)
        return options_wrong(v, "a sentence is missing: attend show --model FILE \"a sentence\", or --input FILE");
    if (p->rest_count == 1 && several) return options_wrong(v, "give a sentence or --input FILE, not both");
    if (s->target && several)
        return options_wrong(v, "--target is for one sentence; pairs have the targets of several");
    if (s->target && (s->beam_given || s->hypothesis_given))
        return options_wrong(
            v, "--beam and --hypothesis are for translations that are looked for, and here they are given");
    if (s->format == HTML && s->hypothesis_given)
        return options_wrong(v, "html shows all hypotheses; --beam says how many");
    if (s->hypothesis > s->beam)
        return options_wrong(v, "--hypothesis %lld is more than --beam %lld finds", s->hypothesis, s->beam);
    if (picture && several && !number)
        return options_wrong(v,
                             "pictures of several lines need --output with %%d, for the number of the line, in the "
                             "name: --output map-%%d.%s",
                             formats[s->format]);
    if (s->format == PNG && (!s->output || strcmp(s->output, "-") == 0) && isatty(STDOUT_FILENO))
        return options_wrong(v, "a PNG is nothing for a terminal; give --output FILE");
    return 0;
}

static int run(int argc, char **argv)
{
    settings s = { .layer = -1, .head = -1, .hypothesis = 1, .beam = 5, .format = GUESS, .look = USUAL };
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    s.threads = cores > 0 ? cores : 1;
    parsed p;
    int status = options_parse(&verb_show, &s, argc, argv, &p);
    if (s.format == GUESS) s.format = guess(s.output);
    s.layer_given = options_given(&verb_show, &p, "layer"), s.head_given = options_given(&verb_show, &p, "head");
    s.beam_given = options_given(&verb_show, &p, "beam");
    s.hypothesis_given = options_given(&verb_show, &p, "hypothesis");
    if (status == 0 && !p.help) status = check(&s, &p);
    if (status == 0 && !p.help) status = run_job(&s, p.rest_count ? p.rest[0] : NULL);
    options_free(&verb_show, &s, &p);
    return status;
}

const verb verb_show = {
    .name = "show",
    .summary = "where the model looked: maps of attention",
    .synopsis = "attend show --model FILE \"a sentence\" [--target TEXT] [--format FORMAT] [--output FILE]\n"
                "       attend show --model FILE --input FILE|PAIRS [--format FORMAT] [--output FILE]",
    .details = "Translates a sentence, or makes the model say a given target, and shows how much each word of the "
               "target looked at "
               "each of the source:\n"
               "on the terminal, as a picture (svg, png), a page (html) or data (json, an object a line). The number "
               "beside a word "
               "is its probability.\n"
               "With --look encoder or decoder: how a side looks at itself. A language model has no translation: it is "
               "shown reading the line it is given.\n"
               "Of several lines, pictures go to a file each: %d in --output is the number of the line. A line that "
               "cannot be shown "
               "is passed over with\n"
               "a warning. Colours are as NO_COLOR, COLORTERM and TERM say. docs/show.md has more.",
    .examples = "  attend show --model en-de 'a dog runs .'\n"
                "  attend show --model en-de 'a dog runs .' --target 'ein Hund rennt .' --output dog.svg\n"
                "  attend show --model en-de --input test.tsv --format png --output map-%d.png\n"
                "  attend show --model en-de 'a dog runs .' --head 2 --hypothesis 3 --pieces\n"
                "  attend show --model en-de 'a dog runs .' --look encoder --layer 1\n"
                "  attend show --model lm 'a dog runs .'\n",
    .options = table,
    .run = run,
};
