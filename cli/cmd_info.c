/* cmd_info.c: what is in a model file. */
#include "options.h"

#include "alignment_text.h"
#include "core/precision.h"

#include <string.h>

typedef struct info {
    bool json, parameters, fast;
} info;

static const option table[] = {
    { "json", NULL, "one JSON object", OPTION_FLAG, offsetof(info, json), 0, 0, NULL },
    { "parameters", NULL, "every parameter with its shape", OPTION_FLAG, offsetof(info, parameters), 0, 0, NULL },
    { "no-checksum", NULL, "do not compare the checksum", OPTION_FLAG, offsetof(info, fast), 0, 0, NULL },
    { NULL, NULL, NULL, OPTION_FLAG, 0, 0, 0, NULL },
};

static void shape_of(const attend_param *p, char *text, size_t size)
{
    size_t n = 0;
    for (int i = 0; i < attend_param_rank(p); i++)
        n += (size_t)snprintf(text + n, size - n, "%s%d", i ? ", " : "", attend_param_dim(p, i));
}

/* Which of its maps says which word comes from which, where it has any. */
static void print_alignment(const attend_model *m, bool json)
{
    const attend_config *config = attend_model_config(m);
    const attend_alignment a = attend_model_alignment(m);
    char text[ALIGNMENT_TEXT];
    if (attend_config_attention_layers(config, ATTEND_ATTENTION_CROSS) == 0) return;
    if (json)
        printf(", \"alignment\": {\"layer\": %d, \"head\": %d}", a.layer, a.head);
    else
        printf("  %-20s %s\n", "aligns by", alignment_text(text, a, config));
}

static void print(const attend_model *m, const char *path, const info *o)
{
    const attend_params *params = attend_model_params(m);
    char text[64];
    if (o->json)
        printf("{\"parameters\": %zu, \"precision\": \"%s\", \"shortlist\": %s, \"config\": {",
               attend_params_size(params), attend_precision_name(attend_model_precision(m)),
               attend_model_has_shortlist(m) ? "true" : "false");
    else
        printf("%s: %s%zu parameters, %s%s\n", path,
               attend_model_config(m)->task == ATTEND_TASK_LANGUAGE_MODEL ? "a language model, " : "",
               attend_params_size(params), attend_precision_name(attend_model_precision(m)),
               attend_model_has_shortlist(m) ? ", with a shortlist" : "");
    for (int i = 0; attend_config_field_at(i); i++) {
        const attend_config_field *f = attend_config_field_at(i);
        if (attend_config_get(attend_model_config(m), f->name, text, sizeof text) != ATTEND_OK) continue;
        if (o->json)
            printf("%s\"%s\": \"%s\"", i ? ", " : "", f->key, text);
        else if (attend_config_field_applies(attend_model_config(m), f))
            printf("  %-20s %s\n", f->name, text);
    }
    if (o->json) printf("}");
    print_alignment(m, o->json);
    if (o->json && o->parameters) printf(", \"shapes\": {");
    for (int i = 0; o->parameters && i < attend_params_count(params); i++) {
        const attend_param *p = attend_params_at(params, i);
        shape_of(p, text, sizeof text);
        if (o->json)
            printf("%s\"%s\": [%s]", i ? ", " : "", attend_param_name(p), text);
        else
            printf("  %-28s (%s)\n", attend_param_name(p), text);
    }
    if (o->json) printf("%s}\n", o->parameters ? "}" : "");
}

static int run(int argc, char **argv)
{
    info o = { 0 };
    parsed p;
    int status = options_parse(&verb_info, &o, argc, argv, &p);
    if (status == 0 && !p.help && p.rest_count != 1) {
        fprintf(stderr, "attend info: give one model file: attend info MODEL\n");
        status = 2;
    }
    if (status == 0 && !p.help) {
        const attend_load_options options = { .skip_checksum = o.fast };
        attend_model *m = NULL;
        status = attend_model_load(&m, p.rest[0], &options);
        if (status == ATTEND_OK)
            print(m, p.rest[0], &o);
        else
            status = cli_fail(&verb_info, status);
        attend_model_free(m);
    }
    options_free(&verb_info, &o, &p);
    return status;
}

const verb verb_info = {
    .name = "info",
    .summary = "what is in a model file",
    .synopsis = "attend info MODEL [--json] [--parameters]",
    .details = "Checks the whole file and prints its configuration. Ends with 4 if it is no model, or a damaged one.",
    .examples = "  attend info translate.model\n  attend info translate.model --json --parameters\n",
    .options = table,
    .run = run
};
