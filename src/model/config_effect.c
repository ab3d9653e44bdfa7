/* config_effect.c: fields that have no effect for the task and the architecture of a configuration. */
#include "core/status.h"
#include "model/architecture.h"
#include "model/config.h"
#include <stdio.h>
#include <string.h>

enum { VALUE_TEXT = 64 };

static unsigned architectures_of(attend_task task, const attend_config_field *f)
{
    return task == ATTEND_TASK_LANGUAGE_MODEL ? f->language_model : f->translation;
}

bool attend_config_field_applies(const attend_config *config, const attend_config_field *f)
{
    ATTEND_REQUIRE(false, attend_config_has_architecture(config) && f);
    return (architectures_of(config->task, f) & 1u << config->architecture) != 0;
}

/* Whether the value of a field without effect is harmless: "no", 0, or the value that the library sets if the field is
 * left at its default (cell lstm of an LSTMN). */
static bool is_harmless(const attend_config *config, const char *name)
{
    static const attend_config defaults = ATTEND_CONFIG_INIT;
    attend_config without = *config;
    char value[VALUE_TEXT], usual[VALUE_TEXT];
    if (attend_config_get(config, name, value, sizeof value) != ATTEND_OK) return true;
    if (strcmp(value, "no") == 0 || strcmp(value, "0") == 0) return true;
    if (attend_config_get(&defaults, name, usual, sizeof usual) != ATTEND_OK ||
        attend_config_set(&without, name, usual) != ATTEND_OK)
        return false;
    attend_config_set_defaults(&without);
    return attend_config_get(&without, name, usual, sizeof usual) == ATTEND_OK && strcmp(value, usual) == 0;
}

static int refuse_field(const attend_config *config, const attend_config_field *f)
{
    const unsigned architectures = architectures_of(config->task, f);
    char list[256] = "";
    if (architectures == 0)
        return attend_fail(ATTEND_BAD_USAGE, "%s has no effect for a language model, which has no source: leave it out",
                           f->name);
    for (int i = 0; attend_architectures[i]; i++) {
        const size_t length = strlen(list);
        if (architectures & 1u << i)
            snprintf(list + length, sizeof list - length, "%s'%s'", length ? " or " : "",
                     attend_architectures[i]->name);
    }
    return attend_fail(ATTEND_BAD_USAGE, "%s belongs to architecture %s, but this model is '%s': leave it out", f->name,
                       list, attend_architectures[config->architecture]->name);
}

int attend_config_check_given(const attend_config *config, const bool *given)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, config && given);
    const attend_config_field *f;
    for (int i = 0; (f = attend_config_field_at(i)); i++) {
        if (!given[i] || attend_config_field_applies(config, f)) continue;
        if (architectures_of(config->task, f) == 0 || !is_harmless(config, f->name)) return refuse_field(config, f);
    }
    return ATTEND_OK;
}

int attend_config_check_effects(const attend_config *config)
{
    const attend_config_field *f;
    for (int i = 0; (f = attend_config_field_at(i)); i++)
        if (f->refused_elsewhere && !attend_config_field_applies(config, f) && !is_harmless(config, f->name))
            return refuse_field(config, f);
    return ATTEND_OK;
}
