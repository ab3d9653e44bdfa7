/* version.h: which attend this is. */
#ifndef ATTEND_VERSION_H
#define ATTEND_VERSION_H

#ifdef __cplusplus
extern "C" {
#endif

#define ATTEND_VERSION_MAJOR 0
#define ATTEND_VERSION_MINOR 1
#define ATTEND_VERSION_PATCH 0

/* "0.1.0", of the library that is linked. */
const char *attend_version(void);
/* Which kernels are in use: "plain", "avx2", "avx512". ATTEND_KERNEL in the environment, set before the first
 * use, chooses; a name this machine cannot run is ignored. */
const char *attend_kernel_name(void);

#ifdef __cplusplus
}
#endif
#endif
