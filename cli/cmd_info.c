/* cmd_info.c: describes a model file. */
#include "options.h"

#include "alignment_text.h"
#include <attend/precision.h>
#include "json_members.h"

typedef struct info {
    bool json, parameters, skip_checksum;
} info;

static const option table[] = {
    { "json", NULL, "print one JSON object", OPTION_FLAG, offsetof(info, json), 0, 0, NULL },
    { "parameters", NULL, "list every parameter with its shape", OPTION_FLAG, offsetof(info, parameters), 0, 0, NULL },
    { "no-checksum", NULL, "do not verify the checksum", OPTION_FLAG, offsetof(info, skip_checksum), 0, 0, NULL },
    { NULL, NULL, NULL, OPTION_FLAG, 0, 0, 0, NULL },
};

static void print_json(const attend_model *m, bool parameters)
{
    const attend_params *params = attend_model_params(m);
    const attend_config *config = attend_model_config(m);
    const attend_alignment a = attend_model_alignment(m);
    char text[64];
    attend_json_writer w = attend_json_to_file(stdout);
    attend_json_begin_object(&w);
    json_integer(&w, "parameters", (long long)attend_params_size(params));
    json_text(&w, "precision", attend_precision_name(attend_model_precision(m)));
    json_bool(&w, "shortlist", attend_model_has_shortlist(m));
    json_begin_object(&w, "config");
    for (int i = 0; attend_config_field_at(i); i++)
        if (attend_config_get(config, attend_config_field_at(i)->name, text, sizeof text) == ATTEND_OK)
            json_text(&w, attend_config_field_at(i)->key, text);
    attend_json_end_object(&w);
    if (attend_config_attention_layers(config, ATTEND_ATTENTION_CROSS) > 0) {
        json_begin_object(&w, "alignment");
        json_integer(&w, "layer", a.layer);
        json_integer(&w, "head", a.head);
        attend_json_end_object(&w);
    }
    if (parameters) json_begin_object(&w, "shapes");
    for (int i = 0; parameters && i < attend_params_count(params); i++) {
        const attend_param *p = attend_params_at(params, i);
        json_begin_array(&w, attend_param_name(p));
        for (int k = 0; k < attend_param_rank(p); k++) attend_json_put_integer(&w, attend_param_dim(p, k));
        attend_json_end_array(&w);
    }
    if (parameters) attend_json_end_object(&w);
    json_end_line(&w);
}

static void print_text(const attend_model *m, const char *path, bool parameters)
{
    const attend_params *params = attend_model_params(m);
    const attend_config *config = attend_model_config(m);
    char text[64], alignment[ALIGNMENT_TEXT];
    attend_print(stdout, "%s: %s%zu parameters, %s%s\n", path,
                 config->task == ATTEND_TASK_LANGUAGE_MODEL ? "a language model, " : "", attend_params_size(params),
                 attend_precision_name(attend_model_precision(m)),
                 attend_model_has_shortlist(m) ? ", with a shortlist" : "");
    for (int i = 0; attend_config_field_at(i); i++) {
        const attend_config_field *f = attend_config_field_at(i);
        if (attend_config_get(config, f->name, text, sizeof text) == ATTEND_OK &&
            attend_config_field_applies(config, f))
            attend_print(stdout, "  %-20s %s\n", f->name, text);
    }
    if (attend_config_attention_layers(config, ATTEND_ATTENTION_CROSS) > 0)
        attend_print(stdout, "  %-20s %s\n", "aligns by", alignment_text(alignment, attend_model_alignment(m), config));
    for (int i = 0; parameters && i < attend_params_count(params); i++) {
        const attend_param *p = attend_params_at(params, i);
        attend_print(stdout, "  %-28s (", attend_param_name(p));
        for (int k = 0; k < attend_param_rank(p); k++)
            attend_print(stdout, "%s%d", k ? ", " : "", attend_param_dim(p, k));
        attend_print(stdout, ")\n");
    }
}

static int run(int argc, char **argv)
{
    info o = { 0 };
    parsed p;
    int status = options_parse(&verb_info, &o, argc, argv, &p);
    if (status == 0 && !p.help && p.positional_count != 1) {
        attend_print(stderr, "attend info: expected one model file: attend info MODEL\n");
        status = 2;
    }
    if (status == 0 && !p.help) {
        const attend_load_options options = { .skip_checksum = o.skip_checksum };
        attend_model *m = NULL;
        status = attend_model_load(&m, p.positional[0], &options);
        if (status == ATTEND_OK && o.json)
            print_json(m, o.parameters);
        else if (status == ATTEND_OK)
            print_text(m, p.positional[0], o.parameters);
        else
            status = cli_fail(&verb_info, status);
        attend_model_free(m);
    }
    options_free(&verb_info, &o, &p);
    return status;
}

const verb verb_info = {
    .name = "info",
    .summary = "describe a model file",
    .synopsis = "attend info MODEL [--json] [--parameters]",
    .details =
        "Verifies the file and prints the model's configuration. Exits with status 4 if the file is damaged or not a\n"
        "model.",
    .examples = "  attend info translate.model\n  attend info translate.model --json --parameters\n",
    .options = table,
    .run = run
};
