/* cmd_info.c: describes a model file, or this machine as the library sees it. */
#include "options.h"
#include "plugin_option.h"

#include "alignment_text.h"
#include "json_members.h"
#include "vocabulary_text.h"
#include <attend/device.h>
#include <attend/precision.h>
#include <attend/processors.h>
#include <attend/version.h>
#include <stdlib.h>
#include <string.h>

typedef struct info {
    bool json, parameters, skip_checksum, cpu;
    texts_list plugins;
} info;

static const option table[] = {
    { "json", NULL, "print one JSON object", OPTION_FLAG, offsetof(info, json), 0, 0, NULL },
    { "parameters", NULL, "list every parameter with its shape", OPTION_FLAG, offsetof(info, parameters), 0, 0, NULL },
    { "no-checksum", NULL, "do not verify the checksum", OPTION_FLAG, offsetof(info, skip_checksum), 0, 0, NULL },
    PLUGIN_OPTION(offsetof(info, plugins)),
    { "cpu", NULL, "describe this machine instead of a model: its cores, the kernels in use and why, and its GPU",
      OPTION_FLAG, offsetof(info, cpu), 0, 0, NULL },
    { NULL, NULL, NULL, OPTION_FLAG, 0, 0, 0, NULL },
};

/* "lowercase": "source" */
static void json_case(attend_json_writer *w, const attend_model *m)
{
    bool lower[2] = { false, false };
    for (int side = 0; side < 2; side++) {
        attend_tokenizer *t = NULL;
        if (attend_tokenizer_from_model(&t, m, side ? "target" : "source") == ATTEND_OK)
            lower[side] = attend_tokenizer_is_lowercase(t);
        attend_tokenizer_free(t);
    }
    const bool is_language_model = attend_model_config(m)->task == ATTEND_TASK_LANGUAGE_MODEL;
    json_text(w, "lowercase", lower[1] && (lower[0] || is_language_model) ? "both" : lower[0] ? "source" : "none");
}

static void print_json(const attend_model *m, bool has_text, bool parameters)
{
    const attend_params *params = attend_model_params(m);
    const attend_config *config = attend_model_config(m);
    const attend_alignment a = attend_model_alignment(m);
    char text[64];
    attend_json_writer w = attend_json_to_file(stdout);
    attend_json_begin_object(&w);
    json_integer(&w, "parameters", (long long)attend_params_size(params));
    json_integer(&w, "members", attend_model_member_count(m));
    json_text(&w, "precision", attend_precision_name(attend_model_precision(m)));
    json_bool(&w, "shortlist", attend_model_has_shortlist(m));
    json_bool(&w, "text", has_text);
    if (has_text) json_case(&w, m);
    json_begin_object(&w, "config");
    for (int i = 0; attend_config_field_at(i); i++)
        if (attend_config_get(config, attend_config_field_at(i)->name, text, sizeof text) == ATTEND_OK)
            json_text(&w, attend_config_field_at(i)->key, text);
    attend_json_end_object(&w);
    if (attend_config_attention_layers(config, ATTEND_ATTENTION_CROSS) > 0) {
        json_begin_object(&w, "alignment");
        json_integer(&w, "layer", a.layer);
        json_integer(&w, "head", a.head);
        json_bool(&w, "shifted", a.shifted);
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

/* A tokenizer that has been checked (attend_model_check_text). */
static void print_tokens(const attend_model *m, int side)
{
    attend_tokenizer *t = NULL, *other = NULL;
    char text[VOCABULARY_TEXT];
    if (attend_tokenizer_from_model(&t, m, side ? "target" : "source") != ATTEND_OK) return;
    const bool is_pair = attend_model_config(m)->task == ATTEND_TASK_TRANSLATION &&
                         attend_tokenizer_from_model(&other, m, side ? "source" : "target") == ATTEND_OK;
    const bool are_symbols = is_pair && attend_tokenizer_unit(other) == ATTEND_UNIT_CHARACTER;
    attend_print(stdout, "  %-20s %s%s\n", side ? "target tokens" : "source tokens",
                 vocabulary_text(text, attend_tokenizer_kind(t), attend_tokenizer_size(t), are_symbols),
                 attend_tokenizer_is_lowercase(t) ? "; texts are lower-cased" : "");
    attend_tokenizer_free(t);
    attend_tokenizer_free(other);
}

/* A built-in score function is in the list; another one needs its plug-in. */
static const char *plugin_note(const attend_config *config, const attend_config_field *f)
{
    if (f->type != ATTEND_FIELD_SCORE || !config->attention) return "";
    for (const attend_score *const *s = attend_scores; *s; s++)
        if (*s == config->attention) return "";
    return " (a score plug-in)";
}

static void print_text(const attend_model *m, const char *path, bool has_text, bool parameters)
{
    const attend_params *params = attend_model_params(m);
    const attend_config *config = attend_model_config(m);
    char text[64], alignment[ALIGNMENT_TEXT];
    const int members = attend_model_member_count(m);
    attend_print(stdout, "%s: ", path);
    if (members > 1) attend_print(stdout, "an ensemble of %d models, each with ", members);
    attend_print(stdout, "%s%zu parameters, %s%s\n",
                 config->task == ATTEND_TASK_LANGUAGE_MODEL ? "a language model, " : "", attend_params_size(params),
                 attend_precision_name(attend_model_precision(m)),
                 attend_model_has_shortlist(m) ? ", with a shortlist" : "");
    for (int i = 0; attend_config_field_at(i); i++) {
        const attend_config_field *f = attend_config_field_at(i);
        if (attend_config_get(config, f->name, text, sizeof text) == ATTEND_OK &&
            attend_config_field_applies(config, f))
            attend_print(stdout, "  %-20s %s%s\n", f->name, text, plugin_note(config, f));
    }
    if (!has_text) attend_print(stdout, "  %-20s %s\n", "text", "none: it reads and writes token ids");
    for (int side = config->task == ATTEND_TASK_LANGUAGE_MODEL; has_text && side < 2; side++) print_tokens(m, side);
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

/* ---- this machine ---- */

/* The GPU that --device auto would use; not is_gpu: `fallback` says why there is none. */
static attend_device_info find_gpu(void)
{
    attend_device_info d = { .fallback = "" };
    if (attend_device_select("auto") == ATTEND_OK) d = attend_device_describe();
    return d;
}

static void print_gpu_json(attend_json_writer *w)
{
    const attend_device_info d = find_gpu();
    char text[32];
    json_begin_object(w, "gpu");
    if (d.is_gpu) {
        json_text(w, "name", d.name);
        json_text(w, "model", d.model);
        snprintf(text, sizeof text, "%d.%d", d.major, d.minor);
        json_text(w, "compute_capability", text);
        json_integer(w, "memory", (long long)d.memory);
        json_integer(w, "free_memory", (long long)d.free_memory);
        json_integer(w, "driver", d.driver);
        json_integer(w, "runtime", d.runtime);
    } else {
        json_text(w, "reason", d.fallback);
    }
    attend_json_end_object(w);
}

static void print_gpu_text(void)
{
    const attend_device_info d = find_gpu();
    if (d.is_gpu)
        attend_print(stdout,
                     "gpu         %s, %s, compute capability %d.%d, %.1f of %.1f GiB free, driver for CUDA %d.%d\n",
                     d.name, d.model, d.major, d.minor, (double)d.free_memory / (1 << 30), (double)d.memory / (1 << 30),
                     d.driver / 1000, d.driver % 1000 / 10);
    else
        attend_print(stdout, "gpu         none: %s\n", d.fallback);
}

static void print_cpu_json(void)
{
    const attend_processors p = attend_processors_read();
    attend_kernel_info k;
    attend_json_writer w = attend_json_to_file(stdout);
    attend_json_begin_object(&w);
    json_integer(&w, "online", p.online);
    json_integer(&w, "allowed", p.allowed);
    json_integer(&w, "cores", p.cores);
    json_number(&w, "quota", 3, p.quota);
    json_integer(&w, "threads", p.threads);
    json_begin_array(&w, "kernels");
    for (int i = 0; attend_kernel_at(i, &k); i++) {
        attend_json_begin_object(&w);
        json_text(&w, "name", k.name);
        json_text(&w, "needs", k.needs);
        json_bool(&w, "supported", k.supported);
        json_bool(&w, "in_use", k.in_use);
        json_bool(&w, "refused", k.refused);
        attend_json_end_object(&w);
    }
    attend_json_end_array(&w);
    json_begin_array(&w, "compute");
    for (int i = 0; i < ATTEND_COMPUTE_TF32; i++) {
        attend_json_begin_object(&w);
        json_text(&w, "name", attend_compute_names[i]);
        json_bool(&w, "fast", attend_compute_is_fast((attend_compute_precision)i));
        attend_json_end_object(&w);
    }
    attend_json_end_array(&w);
    print_gpu_json(&w);
    json_end_line(&w);
}

static void print_cpu_text(void)
{
    const attend_processors p = attend_processors_read();
    attend_kernel_info k;
    attend_print(stdout, "processors  %d logical, of which this process may use %d, on %d physical cores\n", p.online,
                 p.allowed, p.cores);
    if (p.quota > 0)
        attend_print(stdout, "quota       %.4g CPUs, set by the control group\n", p.quota);
    else
        attend_print(stdout, "quota       none\n");
    attend_print(stdout, "threads     %d by default\n", p.threads);
    const char *wanted = getenv("ATTEND_KERNEL");
    attend_print(stdout, "kernels     the last supported table of this list%s\n",
                 wanted && strcmp(wanted, attend_kernel_name()) == 0
                     ? ", unless ATTEND_KERNEL selects another, as it does now"
                     : "");
    for (int i = 0; attend_kernel_at(i, &k); i++)
        attend_print(stdout, "  %-12s needs %-42s %s\n", k.name, k.needs,
                     k.in_use      ? "in use"
                     : k.supported ? "supported"
                     : k.refused   ? "refused by the operating system"
                                   : "not supported by this processor");
    attend_print(stdout, "compute     the precisions of matrix products on the CPU (option --compute)\n");
    for (int i = 0; i < ATTEND_COMPUTE_TF32; i++)
        attend_print(stdout, "  %-12s %s\n", attend_compute_names[i],
                     i == ATTEND_COMPUTE_FP32                              ? "the default"
                     : attend_compute_is_fast((attend_compute_precision)i) ? "faster than fp32"
                                                                           : "slower than fp32");
    print_gpu_text();
}

static int run(int argc, char **argv)
{
    info o = { 0 };
    parsed p;
    int status = options_parse(&verb_info, &o, argc, argv, &p);
    if (status == 0 && !p.help && o.cpu) {
        if (p.positional_count > 0 || o.parameters || o.skip_checksum)
            status =
                usage_error(&verb_info, "--cpu describes this machine; it takes no model and no option but --json");
        else if (o.json)
            print_cpu_json();
        else
            print_cpu_text();
        options_free(&verb_info, &o, &p);
        return status;
    }
    if (status == 0 && !p.help && p.positional_count != 1) {
        attend_print(stderr, "attend info: expected one model file: attend info MODEL\n");
        status = 2;
    }
    if (status == 0 && !p.help) {
        const attend_load_options options = { .skip_checksum = o.skip_checksum };
        attend_model *m = NULL;
        bool has_text = false;
        status = attend_model_load(&m, p.positional[0], &options);
        if (status == ATTEND_OK) status = attend_model_check_text(m, &has_text);
        if (status == ATTEND_OK && o.json)
            print_json(m, has_text, o.parameters);
        else if (status == ATTEND_OK)
            print_text(m, p.positional[0], has_text, o.parameters);
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
    .synopsis = "attend info MODEL [--json] [--parameters]\n       attend info --cpu [--json]",
    .details =
        "Verifies the file and prints the model's configuration. Exits with status 4 if the file is damaged or not a\n"
        "model.",
    .examples =
        "  attend info translate.model\n  attend info translate.model --json --parameters\n  attend info --cpu\n",
    .options = table,
    .arguments_are_inputs = true,
    .run = run
};
