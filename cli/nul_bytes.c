#include "nul_bytes.h"

#include "core/status.h"
#include <string.h>

int byte_zero_refuse(const char *text, size_t size, const char *file, uint64_t line)
{
    if (!memchr(text, '\0', size)) return ATTEND_OK;
    return attend_fail(ATTEND_BAD_DATA, "%s:%llu: a byte 0: no text has one; take it out (tr -d '\\000')", file,
                       (unsigned long long)line);
}

int byte_zero_refuse_pair(const attend_text_pair *p)
{
    const int status = byte_zero_refuse(p->source, p->source_size, p->source_file, p->line);
    return status == ATTEND_OK ? byte_zero_refuse(p->target, p->target_size, p->source_file, p->line) : status;
}
