/* cmd_show.c: shows attention maps of a sentence, of each line of a file, or of given pairs. */
#include "data_files.h"
#include "compute_option.h"
#include "device_option.h"
#include "memory_option.h"
#include "plugin_option.h"
#include "show.h"
#include "terminal.h"
#include "unit_option.h"

#include <attend/processors.h>
#include <attend/status.h>
#include <attend/lines.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

static const char *const formats[] = { "terminal", "svg", "pdf", "png", "html", "json", "npz", NULL };

#define AT(member) offsetof(show_settings, member)
static const option table[] = {
    { "model", "FILE", "the model; repeat the option to show the maps of several models side by side", OPTION_INPUTS,
      AT(models), 0, 0, NULL },
    { "input", "FILE|PAIRS",
      "a file with one sentence per line, or pairs with given targets (one .tsv file or two line-aligned files); for a "
      "language model, files of lines",
      OPTION_DATA, AT(input), 0, 0, NULL },
    { "target", "TEXT", "show the attention for this target instead of the model's translation", OPTION_TEXT,
      AT(target), 0, 0, NULL },
    { "format", NULL, "output format (default: by the name of --output, else terminal)", OPTION_CHOICE, AT(format), 0,
      0, formats },
    { "output", "FILE",
      "where to write (default: standard output); its ending chooses the format: .svg, .pdf, .png, .html, .json, "
      ".jsonl, .npz or .txt. %d in the name of a picture or .npz is replaced by the line number",
      OPTION_OUTPUT, AT(output), 0, 0, NULL },
    { "attention-kind", NULL,
      "cross: from the target to the source; encoder: self-attention of the source; decoder: self-attention of the "
      "target (Transformer, LSTMN, and the only kind of a language model). Default: the first of these that the model "
      "has; with html, all",
      OPTION_CHOICE, AT(kind), 0, 0, attend_attention_kind_names },
    { "layer", "N",
      "layer, counted from 0; -1: the mean over all layers (default: -1). Without --layer and --head, cross-attention "
      "is that of the layer and head that the model uses for alignment",
      OPTION_INTEGER, AT(layer), -1, 1000, NULL },
    { "head", "N", "head, counted from 0; -1: the mean over all heads (default: -1; see also --layer)", OPTION_INTEGER,
      AT(head), -1, 1000, NULL },
    { "all-heads", NULL,
      "show all layers and heads: in one grid in pictures and pages, one after another on the terminal; JSON then has "
      "their weights too, as .npz always has",
      OPTION_FLAG, AT(all_heads), 0, 0, NULL },
    { "palette", NULL, "colours of weights on the terminal, in pictures and on pages", OPTION_CHOICE, AT(palette), 0, 0,
      attend_palette_names },
    UNIT_OPTION(AT(unit), "rows and columns of the maps"),
    { "tokens", NULL, "show tokens as --unit piece does, with spaces and the begin and end tokens", OPTION_FLAG,
      AT(tokens), 0, 0, NULL },
    { "beam", "N", "beam size", OPTION_INTEGER, AT(beam), 1, 1000, NULL },
    { "hypothesis", "N", "show the N-th best translation; html shows all", OPTION_INTEGER, AT(hypothesis), 1, 1000,
      NULL },
    { "width", "N", "width of the output in columns (default: the width of the terminal)", OPTION_INTEGER, AT(width),
      20, 10000, NULL },
    { "threads", "N",
      "number of threads; does not change the output (default: one per physical core that this process may use)",
      OPTION_INTEGER, AT(threads), 1, 1024, NULL },
    COMPUTE_OPTION(AT(compute)),
    DEVICE_OPTION(AT(device)),
    MEMORY_OPTION(AT(memory), MEMORY_OF_LINES),
    PLUGIN_OPTION(AT(plugins)),
    { "quiet", NULL, "print no warnings", OPTION_FLAG, AT(quiet), 0, 0, NULL },
    { NULL, NULL, NULL, OPTION_FLAG, 0, 0, 0, NULL },
};
static const option_alias aliases[] = {
    { "attention-kind", "look", NULL, NULL },
    { "attention-kind", NULL, "source", "cross" },
    { "tokens", "pieces", NULL, NULL },
    { NULL, NULL, NULL, NULL },
};

/* ---- sentences ---- */

static int show_sentence(show_job *j, const char *source, const char *target)
{
    sentence_maps x = { NULL, 0 };
    j->lines++;
    int status = show_make_maps(j, source, target, &x);
    if (status == ATTEND_OK) status = show_write_maps(j, &x);
    sentence_maps_free(&x);
    if (status == ATTEND_OK) j->shown++;
    if (status != ATTEND_BAD_DATA && status != ATTEND_FAILED) return status;
    if (j->file) return show_skip_line(j);
    char reason[256];
    snprintf(reason, sizeof reason, "%s", attend_message());
    return attend_fail(status, "the sentence cannot be shown: %s", reason);
}

/* A sentence given on the command line; line breaks in it become spaces. */
static int show_argument(show_job *j, const char *sentence, const char *target)
{
    const char *const given[2] = { sentence, target };
    for (int i = 0; i < 2; i++) {
        attend_string *text = &j->texts[i];
        if (!given[i]) continue;
        const int status = attend_string_add(text, given[i], strlen(given[i]));
        if (status != ATTEND_OK) return status;
        for (char *c = text->text; (c = strpbrk(c, "\n\r")) != NULL;) *c = ' ';
    }
    return show_sentence(j, j->texts[0].text, target ? j->texts[1].text : NULL);
}

/* ---- files ---- */

/* Copies the texts of a line, so that they end with '\0', and shows them. */
static int show_line(show_job *j, const char *source, size_t source_size, const char *target, size_t target_size)
{
    attend_string *s = &j->texts[0], *t = &j->texts[1];
    s->size = t->size = 0;
    int status = attend_string_add(s, source, source_size);
    if (status == ATTEND_OK && target) status = attend_string_add(t, target, target_size);
    if (status != ATTEND_OK) return status;
    if (strlen(s->text) == source_size && (!target || strlen(t->text) == target_size))
        return show_sentence(j, s->text, target ? t->text : NULL);
    j->lines++;
    attend_fail(ATTEND_BAD_DATA, "it contains a NUL byte");
    return show_skip_line(j);
}

/* A line that is not a pair ends the reading: later lines may be misaligned. */
static int show_pairs(show_job *j, const attend_pairs_spec *input)
{
    attend_pairs_file *from = NULL;
    int status = attend_pairs_file_open(&from, input, 1);
    while (status == ATTEND_OK) {
        attend_text_pair p = { 0 };
        status = attend_pairs_file_next(from, &p);
        j->file = p.source_file, j->line = p.line;
        if (status == ATTEND_OK && !p.source) break;
        if (status == ATTEND_OK) {
            status = show_line(j, p.source, p.source_size, p.target, p.target_size);
        } else if (attend_pairs_file_fault(from) == ATTEND_PAIR_TOO_LONG) {
            j->lines++;
            status = show_skip_line(j);
        }
    }
    attend_pairs_file_close(from);
    return status;
}

static int show_lines(show_job *j, const char *path)
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
            status = show_line(j, text, size, NULL, 0);
        } else if (!attend_lines_failed(from)) {
            j->lines++;
            status = show_skip_line(j);
        }
    }
    attend_lines_close(from);
    return status;
}

static bool has_suffix(const char *name, const char *suffix)
{
    const size_t size = strlen(name), tail = strlen(suffix);
    return size >= tail && strcmp(name + size - tail, suffix) == 0;
}

bool show_is_pairs(const attend_pairs_spec *input)
{
    return input->source &&
           (input->target || has_suffix(input->source, ".tsv") || has_suffix(input->source, ".tsv.gz"));
}

/* The name of a file of lines. For a language model it is stored as the target. */
static const char *lines_path(const attend_pairs_spec *input)
{
    return input->source ? input->source : input->target;
}

static int show_files(show_job *j)
{
    const pairs_list *list = &j->s->input;
    attend_pairs_file *file = NULL;
    int status =
        attend_pairs_file_open(&file, list->items, list->count); /* checks all files before the first is read */
    attend_pairs_file_close(file);
    for (int i = 0; status == ATTEND_OK && i < list->count; i++)
        status = show_is_pairs(&list->items[i]) ? show_pairs(j, &list->items[i])
                                                : show_lines(j, lines_path(&list->items[i]));
    if (status == ATTEND_OK && j->shown == 0)
        status = attend_fail(ATTEND_BAD_DATA, "%s: none of the %llu lines can be shown", lines_path(&list->items[0]),
                             j->lines);
    return status;
}

/* ---- the verb ---- */

static int show_all(show_job *j, const char *sentence)
{
    const show_settings *s = j->s;
    int status = !show_is_file_per_sentence(s) ? output_open(&j->to, s->output) : ATTEND_OK;
    if (status == ATTEND_OK) status = sentence ? show_argument(j, sentence, s->target) : show_files(j);
    if (status == ATTEND_OK && s->format == SHOW_HTML) status = show_write_page(j);
    const int closed = output_close(j->to, status == ATTEND_OK);
    return status == ATTEND_OK ? closed : status;
}

static int run_job(show_settings *s, const char *sentence)
{
    show_job j = { .s = s, .view = ATTEND_VIEW_OPTIONS_INIT };
    j.view.by_token = s->tokens;
    j.view.width = s->width ? (int)s->width : terminal_width();
    j.view.colours = s->output ? 0 : terminal_colours();
    j.view.palette = (attend_palette)s->palette;
    j.view.all_heads = s->all_heads;
    int status = show_load(&j), usage = 0;
    if (status == ATTEND_OK) {
        usage = data_files_resolve(&verb_show, "input", &s->input, attend_model_config(j.models[0].m)->task);
        if (usage == 0) status = show_prepare(&j);
        if (usage == 0 && status == ATTEND_OK) status = show_all(&j, sentence);
    }
    status = status != ATTEND_OK ? cli_fail(&verb_show, status) : usage;
    show_explain_empty(&j);
    show_job_free(&j);
    return status;
}

/* The ending of a file name with its dot; "" if it has none. */
static const char *ending_of(const char *name)
{
    const char *slash = strrchr(name, '/'), *base = slash ? slash + 1 : name, *dot = strrchr(base, '.');
    return dot && dot > base ? dot : "";
}

/* The format by the ending of the output, terminal text if that has none; SHOW_FROM_OUTPUT: the ending is unknown. */
static show_format format_by_name(const char *output)
{
    static const struct {
        const char *ending;
        show_format format;
    } endings[] = { { "", SHOW_TERMINAL },   { ".txt", SHOW_TERMINAL }, { ".svg", SHOW_SVG },  { ".pdf", SHOW_PDF },
                    { ".png", SHOW_PNG },    { ".html", SHOW_HTML },    { ".htm", SHOW_HTML }, { ".json", SHOW_JSON },
                    { ".jsonl", SHOW_JSON }, { ".npz", SHOW_NPZ } };
    const char *ending = output ? ending_of(output) : "";
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (strcasecmp(ending, endings[i].ending) == 0) return endings[i].format;
    return SHOW_FROM_OUTPUT;
}

static attend_content content(const void *from, const option *o)
{
    static const attend_content contents[] = {
        [SHOW_TERMINAL] = ATTEND_CONTENT_TEXT, [SHOW_SVG] = ATTEND_CONTENT_SVG,
        [SHOW_PDF] = ATTEND_CONTENT_PDF,       [SHOW_PNG] = ATTEND_CONTENT_PNG,
        [SHOW_HTML] = ATTEND_CONTENT_HTML,     [SHOW_JSON] = ATTEND_CONTENT_JSON,
        [SHOW_NPZ] = ATTEND_CONTENT_NPZ,       [SHOW_FROM_OUTPUT] = ATTEND_CONTENT_TEXT
    };
    const show_settings *s = from;
    (void)o;
    return contents[s->format == SHOW_FROM_OUTPUT ? (int)format_by_name(s->output) : s->format];
}

static bool is_binary(const show_settings *s)
{
    return s->format == SHOW_PDF || s->format == SHOW_PNG || s->format == SHOW_NPZ;
}

/* Options about which maps are shown. */
static int check_maps(const show_settings *s)
{
    const verb *v = &verb_show;
    if (s->tokens && s->unit != ATTEND_UNIT_AUTO && s->unit != ATTEND_UNIT_PIECE)
        return usage_error(v, "--tokens shows tokens; it cannot be combined with --unit %s",
                           attend_unit_name((attend_unit)s->unit));
    if (s->all_heads && (s->layer_given || s->head_given))
        return usage_error(v, "--layer and --head do not apply with --all-heads, which shows all");
    if (s->all_heads && s->models.count > 1 && s->format != SHOW_HTML && s->format != SHOW_JSON &&
        s->format != SHOW_NPZ)
        return usage_error(v, "--all-heads shows one model; give one --model, or write html, json or npz");
    if (s->target && (s->beam_given || s->hypothesis_given))
        return usage_error(v, "--beam and --hypothesis cannot be combined with --target");
    if (s->format == SHOW_HTML && s->hypothesis_given)
        return usage_error(v, "--hypothesis does not apply to html, which shows all; --beam sets their number");
    if (s->hypothesis > s->beam)
        return usage_error(v, "--hypothesis %lld is larger than --beam %lld", s->hypothesis, s->beam);
    return 0;
}

static int check_output(const show_settings *s)
{
    const verb *v = &verb_show;
    const bool numbered = s->output && strstr(s->output, "%d");
    if (s->format == SHOW_FROM_OUTPUT)
        return usage_error(v,
                           "the ending '%s' of %s names no format; use .svg, .pdf, .png, .html, .json, .jsonl, .npz or "
                           ".txt, or give --format",
                           ending_of(s->output), s->output);
    if (show_is_file_per_sentence(s) && s->input.name_count > 0 && !numbered)
        return usage_error(v,
                           "%s of several lines require %%d, which stands for the line number, in the name of the "
                           "output: --output map-%%d.%s",
                           s->format == SHOW_NPZ ? "archives" : "pictures", formats[s->format]);
    if (is_binary(s) && (!s->output || output_is_standard(s->output)) && isatty(STDOUT_FILENO))
        return usage_error(v, "a %s file cannot be written to a terminal; give --output FILE",
                           s->format == SHOW_PDF   ? "PDF"
                           : s->format == SHOW_PNG ? "PNG"
                                                   : "NumPy");
    return 0;
}

/* Checks the combination of options; 0, or an exit code after a message. */
static int check(const show_settings *s, const parsed *p)
{
    const verb *v = &verb_show;
    const bool has_input = s->input.name_count > 0;
    if (s->models.count == 0) return usage_error(v, "--model FILE is required");
    if (p->positional_count > 1)
        return usage_error(
            v, "unexpected argument '%s'; quote the sentence, or put several sentences into a file (--input)",
            p->positional[1]);
    if (p->positional_count == 0 && !has_input) return usage_error(v, "a sentence or --input FILE is required");
    if (p->positional_count == 1 && has_input) return usage_error(v, "give a sentence or --input FILE, not both");
    if (s->target && has_input)
        return usage_error(v, "--target applies to a single sentence; use --input with pairs for several targets");
    const int maps = check_maps(s);
    return maps ? maps : check_output(s);
}

static const void *defaults(void)
{
    static const attend_search_options search = ATTEND_SEARCH_OPTIONS_INIT;
    static show_settings s;
    s = (show_settings){ .layer = -1,
                         .head = -1,
                         .hypothesis = 1,
                         .beam = search.beam,
                         .format = SHOW_FROM_OUTPUT,
                         .kind = KIND_DEFAULT,
                         .threads = attend_processors_threads(),
                         .memory = MEMORY_DEFAULT };
    return &s;
}

static int run(int argc, char **argv)
{
    show_settings s = *(const show_settings *)defaults();
    parsed p;
    int status = options_parse(&verb_show, &s, argc, argv, &p);
    if (s.format == SHOW_FROM_OUTPUT) s.format = (int)format_by_name(s.output);
    s.layer_given = options_given(&verb_show, &p, "layer"), s.head_given = options_given(&verb_show, &p, "head");
    s.beam_given = options_given(&verb_show, &p, "beam");
    s.hypothesis_given = options_given(&verb_show, &p, "hypothesis");
    if (status == 0 && !p.help) status = check(&s, &p);
    if (status == 0 && !p.help)
        status = device_option_use(&verb_show, &p, &(device_choice){ s.device, &s.compute, &s.threads, NULL, s.quiet });
    if (status == 0 && !p.help && !s.quiet) compute_option_note(&verb_show, s.compute);
    if (status == 0 && !p.help) status = run_job(&s, p.positional_count ? p.positional[0] : NULL);
    options_free(&verb_show, &s, &p);
    return status;
}

const verb verb_show = {
    .name = "show",
    .summary = "show attention maps",
    .synopsis = "attend show --model FILE.. \"a sentence\" [--target TEXT] [--format FORMAT] [--output FILE]\n"
                "       attend show --model FILE --input FILE|PAIRS [--format FORMAT] [--output FILE]",
    .details =
        "Translates a sentence, or takes a given target, and shows the attention weights between target and source\n"
        "words: on the terminal, as a picture (svg, pdf, png), an interactive page (html) or data (json, one object\n"
        "per line; npz, a NumPy archive). The number beside a target word is its probability; the column (rest) has\n"
        "the weight on the end of the sentence, on spaces, or outside the window. --attention-kind shows\n"
        "self-attention instead. With several models, their maps are side by side.\n"
        "For a language model, shows its self-attention over the given line. With several lines, each picture is a\n"
        "file of its own: %d in --output is replaced by the line number. Lines that cannot be shown are skipped with\n"
        "a warning.\n"
        "The environment variables NO_COLOR, COLORTERM and TERM determine the colours (docs/show.md).",
    .examples = "  attend show --model en-de 'a dog runs .'\n"
                "  attend show --model en-de 'a dog runs .' --target 'ein Hund rennt .' --output dog.svg\n"
                "  attend show --model en-de --input test.tsv --format png --output map-%d.png\n"
                "  attend show --model en-de 'a dog runs .' --all-heads --output heads.pdf\n"
                "  attend show --model rnn --model transformer 'a dog runs .' --output both.svg\n"
                "  attend show --model en-de 'a dog runs .' --head 2 --hypothesis 3 --tokens\n"
                "  attend show --model en-de 'a dog runs .' --attention-kind encoder --layer 1\n"
                "  attend show --model lm 'a dog runs .'\n",
    .options = table,
    .aliases = aliases,
    .defaults = defaults,
    .content = content,
    .run = run,
};
