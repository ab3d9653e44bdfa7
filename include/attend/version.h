/* version.h: the version of the library and the kernels in use. */
#ifndef ATTEND_VERSION_H
#define ATTEND_VERSION_H

#ifdef __cplusplus
extern "C" {
#endif

/* While the major version is 0, a new minor version may be incompatible; the build reads the version from here. */
#define ATTEND_VERSION_MAJOR 0
#define ATTEND_VERSION_MINOR 2
#define ATTEND_VERSION_PATCH 0

/* The version of the linked library, such as "0.2.0". */
const char *attend_version(void);
/* The kernel table in use, such as "avx2" (processors.h lists them). The environment variable ATTEND_KERNEL, read at the first use,
 * selects one; a name that this machine does not support is ignored. */
const char *attend_kernel_name(void);

#ifdef __cplusplus
}
#endif
#endif
