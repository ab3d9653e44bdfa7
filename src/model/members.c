/* members.c: ensembles: models that own other models, their members. */
#include "model/model.h"

#include "core/memory.h"
#include "core/status.h"
#include <string.h>

int attend_model_member_count(const attend_model *m)
{
    ATTEND_REQUIRE(0, m);
    return m->member_count > 1 ? m->member_count : 1;
}

const attend_model *attend_model_member(const attend_model *m, int i)
{
    ATTEND_REQUIRE(NULL, m);
    if (i == 0) return m;
    return i > 0 && i < m->member_count ? m->members[i - 1] : NULL;
}

int attend_model_list_members(const attend_model *m, const attend_model *to[ATTEND_MAX_MEMBERS])
{
    const int count = attend_model_member_count(m);
    for (int i = 0; i < count; i++) to[i] = attend_model_member(m, i);
    return count;
}

int attend_model_append_member(attend_model *m, attend_model *member)
{
    if (!m->members) m->members = attend_memory_zeroed(ATTEND_MAX_MEMBERS - 1, sizeof(attend_model *));
    if (!m->members) return attend_fail(ATTEND_NO_MEMORY, "no memory for an ensemble");
    m->member_count = attend_model_member_count(m) + 1;
    m->members[m->member_count - 2] = member;
    member->owner = m;
    return ATTEND_OK;
}

/* ---- adding a model ---- */

/* Attachments that must be equal in all models, since they define what each token is. */
static bool defines_tokens(const char *name)
{
    return strcmp(name, "source.vocabulary") == 0 || strcmp(name, "source.tokenizer") == 0 ||
           strcmp(name, "target.vocabulary") == 0 || strcmp(name, "target.tokenizer") == 0;
}

static int same_config(const attend_model *a, const char *first, const attend_model *b, const char *path,
                       const char *what)
{
    for (int i = 0; attend_config_field_at(i); i++) {
        const char *name = attend_config_field_at(i)->name;
        char x[64], y[64];
        int status = attend_config_get(&a->config, name, x, sizeof x);
        if (status == ATTEND_OK) status = attend_config_get(&b->config, name, y, sizeof y);
        if (status == ATTEND_OK && strcmp(x, y) != 0)
            status = attend_fail(ATTEND_BAD_USAGE, "%s has %s '%s', and %s has '%s': only models %s", path, name, y,
                                 first, x, what);
        if (status != ATTEND_OK) return status;
    }
    return ATTEND_OK;
}

/* Whether every attachment of a that defines tokens is also one of b. */
static bool same_tokens(const attend_model *a, const attend_model *b)
{
    for (size_t i = 0; i < a->attachments.count; i++) {
        const attachment *x = a->attachments.list[i];
        if (defines_tokens(x->name) && !attend_attachments_equal(x, attend_attachments_find(&b->attachments, x->name)))
            return false;
    }
    return true;
}

int attend_models_check_same(const attend_model *a, const char *first, const attend_model *b, const char *path,
                             const char *what)
{
    const int status = same_config(a, first, b, path, what);
    if (status != ATTEND_OK || (same_tokens(a, b) && same_tokens(b, a))) return status;
    return attend_fail(ATTEND_BAD_USAGE, "%s has other vocabularies than %s: only models %s", path, first, what);
}

static int check(const attend_model *m, const attend_model *member)
{
    const char *path = member->name ? member->name : "the new member", *first = m->name ? m->name : "the first member";
    if (m == member || m->owner || member->owner || member->member_count > 1)
        return attend_fail(ATTEND_BAD_USAGE, "%s is an ensemble or a member of one: it cannot become a member", path);
    if (m->member_count == ATTEND_MAX_MEMBERS)
        return attend_fail(ATTEND_BAD_USAGE, "an ensemble has at most %d members", ATTEND_MAX_MEMBERS);
    if (m->shortlist || member->shortlist)
        return attend_fail(ATTEND_BAD_USAGE, "%s has a shortlist, and an ensemble cannot use one",
                           m->shortlist ? first : path);
    if (attend_model_precision(m) != attend_model_precision(member))
        return attend_fail(ATTEND_BAD_USAGE, "%s and %s differ in precision: form the ensemble first, then quantise it",
                           path, first);
    return attend_models_check_same(m, first, member, path, "of one configuration and data can form an ensemble");
}

int attend_model_add_member(attend_model *m, attend_model *member)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, m && member);
    int status = check(m, member);
    if (status != ATTEND_OK) return status;
    const attend_alignment a = attend_model_alignment(m), b = attend_model_alignment(member);
    status = attend_model_append_member(m, member);
    if (status != ATTEND_OK) return status;
    if (a.layer != b.layer || a.head != b.head || a.shifted != b.shifted)
        attend_attachments_remove(&m->attachments, "alignment");
    attend_attachments_free(&member->attachments); /* those of the ensemble count */
    return ATTEND_OK;
}
