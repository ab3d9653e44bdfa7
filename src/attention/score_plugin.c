/* score_plugin.c: loads a score function from a shared object. */
#define _GNU_SOURCE /* dl_iterate_phdr */
#include <attend/score_plugin.h>

#include "core/status.h"
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- the file ---- */

/* The dynamic linker trusts the sizes in a file, and a truncated one ends the process. They are checked before. */
typedef struct elf_file {
    int descriptor;
    uint64_t size;
    ElfW(Ehdr) header;
    const char *path;
} elf_file;

static int refuse(const elf_file *f, const char *why)
{
    return attend_fail(ATTEND_BAD_USAGE, "%s is not a score plug-in: %s", f->path, why);
}

static bool read_at(const elf_file *f, uint64_t at, void *to, size_t size)
{
    return at <= f->size && size <= f->size - at && pread(f->descriptor, to, size, (off_t)at) == (ssize_t)size;
}

/* The class and machine of this program: those of the plug-in must be the same. */
static bool is_of_this_machine(const ElfW(Ehdr) * h)
{
#if defined(__x86_64__)
    enum { MACHINE = EM_X86_64 };
#elif defined(__aarch64__)
    enum { MACHINE = EM_AARCH64 };
#else
    const int MACHINE = h->e_machine; /* the dynamic linker checks it */
#endif
    const unsigned char class = sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32;
    return h->e_ident[EI_CLASS] == class && h->e_machine == MACHINE;
}

static int check_elf(elf_file *f)
{
    char magic[SELFMAG];
    if (!read_at(f, 0, magic, sizeof magic) || memcmp(magic, ELFMAG, SELFMAG) != 0)
        return refuse(f, "it is not a shared object; compile it with cc -shared -fPIC");
    if (!read_at(f, 0, &f->header, sizeof f->header)) return refuse(f, "it is truncated; compile it again");
    const ElfW(Ehdr) *h = &f->header;
    if (!is_of_this_machine(h)) return refuse(f, "it was compiled for another processor");
    if (h->e_type != ET_DYN) return refuse(f, "it is not a shared object; compile it with cc -shared -fPIC");
    for (int i = 0; i < h->e_phnum; i++) {
        ElfW(Phdr) segment;
        if (h->e_phentsize != sizeof segment ||
            !read_at(f, h->e_phoff + (uint64_t)i * sizeof segment, &segment, sizeof segment) ||
            segment.p_offset > f->size || segment.p_filesz > f->size - segment.p_offset)
            return refuse(f, "it is truncated or damaged; compile it again");
    }
    /* the section headers, which the dynamic linker does not read, are at the end */
    if (h->e_shoff > f->size || (uint64_t)h->e_shnum * h->e_shentsize > f->size - h->e_shoff)
        return refuse(f, "it is truncated or damaged; compile it again");
    return ATTEND_OK;
}

static int check_file(const char *path)
{
    struct stat s;
    elf_file f = { .path = path, .descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) };
    if (f.descriptor < 0 || fstat(f.descriptor, &s) != 0) {
        const int error = errno;
        if (f.descriptor >= 0) close(f.descriptor);
        return attend_fail(ATTEND_IO, "cannot read the score plug-in %s: %s", path, attend_errno_text(error));
    }
    f.size = (uint64_t)s.st_size;
    const int status = S_ISREG(s.st_mode) ? check_elf(&f) : refuse(&f, "it is not a regular file");
    close(f.descriptor);
    return status;
}

/* ---- the program ---- */

/* The first object is the program itself; a dynamically linked one names its dynamic linker. */
static int find_interpreter(struct dl_phdr_info *info, size_t size, void *found)
{
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) *(bool *)found |= info->dlpi_phdr[i].p_type == PT_INTERP;
    return 1;
}

static int check_program(const char *path)
{
    bool is_dynamic = false;
    dl_iterate_phdr(find_interpreter, &is_dynamic);
    if (is_dynamic) return ATTEND_OK;
    return attend_fail(ATTEND_BAD_USAGE,
                       "cannot load the score plug-in %s: this program is statically linked; use one that is linked "
                       "dynamically, or add the score function to the program",
                       path);
}

/* ---- the plug-in ---- */

/* Versions 0.x are incompatible with each other; from 1.0 on, a later minor version accepts plug-ins of earlier ones. */
static bool is_compatible(const unsigned version[3])
{
    const unsigned major = ATTEND_VERSION_MAJOR, minor = ATTEND_VERSION_MINOR;
    return version[0] == major && (major == 0 ? version[1] == minor : version[1] <= minor);
}

static int check_plugin(const attend_score_plugin *p, const char *path)
{
    if (p->abi != ATTEND_SCORE_PLUGIN_ABI)
        return attend_fail(
            ATTEND_BAD_USAGE,
            "%s is a score plug-in for version %u of the interface, and attend %s has version %d: compile "
            "it again with the headers of attend %s",
            path, p->abi, attend_version(), ATTEND_SCORE_PLUGIN_ABI, attend_version());
    if (!is_compatible(p->version))
        return attend_fail(
            ATTEND_BAD_USAGE,
            "%s is a score plug-in for attend %u.%u.%u, and this is attend %s: compile it again with the "
            "headers of this version",
            path, p->version[0], p->version[1], p->version[2], attend_version());
    if (p->real_size != sizeof(attend_real))
        return attend_fail(
            ATTEND_BAD_USAGE,
            "%s is a score plug-in for numbers of %u bytes, and this program computes with %zu: compile it "
            "%s -DATTEND_DOUBLE",
            path, p->real_size, sizeof(attend_real), sizeof(attend_real) == 8 ? "with" : "without");
    if (p->tile_size != sizeof(attend_tile) || p->score_size != sizeof(attend_score) || !p->score)
        return attend_fail(ATTEND_BAD_USAGE,
                           "%s is a score plug-in whose structs differ from those of attend %s: compile it again with "
                           "the headers of this version",
                           path, attend_version());
    return ATTEND_OK;
}

/* Registers the score function of a loaded plug-in. */
static int use_plugin(const attend_score **out, void *handle, const char *path)
{
    const attend_score_plugin *p = dlsym(handle, "attend_score_plugin_info");
    if (!p)
        return attend_fail(
            ATTEND_BAD_USAGE,
            "%s is not a score plug-in: it does not export attend_score_plugin_info; end its source with "
            "ATTEND_SCORE_PLUGIN(score)",
            path);
    int status = check_plugin(p, path);
    if (status != ATTEND_OK) return status;
    status = attend_score_register(p->score);
    if (status == ATTEND_OK) {
        *out = p->score;
        return ATTEND_OK;
    }
    return attend_fail(status, "%s: %s", path, attend_message());
}

int attend_score_plugin_load(const attend_score **out, const char *path)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, out && path);
    *out = NULL;
    int status = check_program(path);
    if (status == ATTEND_OK) status = check_file(path);
    if (status != ATTEND_OK) return status;
    char file[PATH_MAX]; /* with a slash: the dynamic linker searches its directories for other names */
    if (snprintf(file, sizeof file, "%s%s", strchr(path, '/') ? "" : "./", path) >= (int)sizeof file)
        return attend_fail(ATTEND_IO, "cannot read the score plug-in %s: %s", path, attend_errno_text(ENAMETOOLONG));
    void *handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        const char *why = dlerror();
        return attend_fail(ATTEND_BAD_USAGE, "cannot load the score plug-in %s: %s", path, why ? why : "unknown error");
    }
    status = use_plugin(out, handle, path);
    if (status != ATTEND_OK) dlclose(handle);
    return status;
}
