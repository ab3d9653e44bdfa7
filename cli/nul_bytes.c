#include "nul_bytes.h"

#include <attend/status.h>
#include <string.h>

int nul_bytes_check(const char *text, size_t size, const char *file, uint64_t line)
{
    if (!memchr(text, '\0', size)) return ATTEND_OK;
    return attend_fail(ATTEND_BAD_DATA, "%s:%llu: the line contains a NUL byte; remove it (tr -d '\\000')", file,
                       (unsigned long long)line);
}

int nul_bytes_check_pair(const attend_text_pair *p)
{
    const int status = nul_bytes_check(p->source, p->source_size, p->source_file, p->line);
    return status == ATTEND_OK ? nul_bytes_check(p->target, p->target_size, p->source_file, p->line) : status;
}
