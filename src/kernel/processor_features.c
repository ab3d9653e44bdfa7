/* Linux saves the tiles of AMX, 8 KiB for each thread, only for processes that have asked for them: an instruction on tiles
 * ends any other process with SIGILL. */
#define _GNU_SOURCE /* syscall */
#include "kernel/processor_features.h"

#if defined(ATTEND_X86) && defined(__linux__)
#include <cpuid.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

bool attend_has_amx(void)
{
    enum { BF16 = 1 << 22, TILE = 1 << 24, INT8 = 1 << 25, ALL = BF16 | TILE | INT8 }; /* in EDX of leaf 7 */
    unsigned a, b, c, d;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d & ALL) == ALL;
}

/* Whether the operating system saves the registers of tiles: bits 17 and 18 of XCR0. */
static bool saves_tiles(void)
{
    enum { OSXSAVE = 1 << 27 }; /* in ECX of leaf 1 */
    const uint32_t tiles = 3u << 17;
    unsigned a, b, c, d, low, high;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & OSXSAVE)) return false;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (low & tiles) == tiles;
}

bool attend_request_amx(void)
{
    enum { REQUEST_PERMISSION = 0x1023, TILE_DATA = 18 }; /* ARCH_REQ_XCOMP_PERM of <asm/prctl.h> */
    return attend_has_amx() && saves_tiles() && syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA) == 0;
}
#else
bool attend_has_amx(void)
{
    return false;
}

bool attend_request_amx(void)
{
    return false;
}
#endif
