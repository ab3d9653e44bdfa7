/* abbreviations.c: short lists for English, German, French and Spanish. All languages share them: a word that is an
 * abbreviation in one of them and also ends sentences in another ("me", "no") is only listed where a number must
 * follow, or not at all. Abbreviations of single letters, "e.g." and "z.B." need no list (sentences.c). */
#include "text/abbreviations.h"

#include <string.h>

static const char titles[] =
    /* English */
    " mr mrs ms messrs dr prof rev hon gen col capt lt sgt cpl maj gov sen rep pres st mt vs approx cf viz al "
    /* German */
    " hr fr frl dipl ing bzw ca evtl ggf inkl sog vgl zzgl geb gest hl phil med jur rer nat dt engl franz bspw insb "
    "allg bes "
    /* French */
    " mme mlle mgr pr ste "
    /* Spanish */
    " sr sra sres sras srta dra dña ud uds vd vds lic arq gral av avda ej aprox dpto ";

static const char numbered[] =
    " no nos nr núm num art arts fig figs p pp pg pág págs vol vols cap ch chap sec abs abb kap bd s tab tel eq ref "
    "jan feb mar apr jun jul aug sep sept oct nov dec okt dez ";

static const char after_ordinals[] = " januar jänner februar märz april mai juni juli august september oktober "
                                     "november dezember jahrhundert jahrhunderts ";

/* Whether a list contains a word, whatever the case of its ASCII letters. */
static bool has(const char *list, const char *word, size_t size)
{
    enum { LONGEST = 16 };
    char spaced[LONGEST + 3] = " ";
    if (size == 0 || size > LONGEST || memchr(word, ' ', size) || memchr(word, '\0', size)) return false;
    for (size_t i = 0; i < size; i++)
        spaced[i + 1] = (char)(word[i] >= 'A' && word[i] <= 'Z' ? word[i] - 'A' + 'a' : word[i]);
    spaced[size + 1] = ' ';
    return strstr(list, spaced) != NULL;
}

bool attend_is_title(const char *word, size_t size)
{
    return has(titles, word, size);
}

bool attend_takes_number(const char *word, size_t size)
{
    return has(numbered, word, size);
}

bool attend_follows_ordinal(const char *word, size_t size)
{
    return has(after_ordinals, word, size);
}
