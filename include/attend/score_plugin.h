/* score_plugin.h: score functions that are compiled apart and loaded by a running program.
 *
 * Purpose    A score plug-in is a shared object with one score function (score.h), written and compiled outside the
 *            library with its public headers. The last lines of docs/add-a-score.md show one from the source file to
 *            a trained model; examples/l2_score.c is its source.
 * Writing    ATTEND_SCORE_PLUGIN(score) at the end of the source file defines the variable that a plug-in exports:
 *
 *                static const attend_score l2 = { .name = "l2", .formula = "-|q - W k|^2", ... };
 *                ATTEND_SCORE_PLUGIN(l2);
 *
 *            It is compiled with cc -shared -fPIC and not linked with libattend: the program that loads it has the
 *            functions of op.h and tape.h.
 * Versions   The variable says for which version of the interface and of the library the plug-in was compiled, and the
 *            sizes of the structs. A plug-in of another version is refused, before any of its functions is called.
 * Trust      A plug-in is a program: its code runs with the rights of the process as soon as it is loaded. A model file
 *            names the score function that it needs, and never a file; nothing is loaded because of a model.
 * Ownership  A plug-in stays loaded until the process ends, so that models may borrow its score function.
 * Threads    Any thread may load a plug-in at any time. */
#ifndef ATTEND_SCORE_PLUGIN_H
#define ATTEND_SCORE_PLUGIN_H

#include <attend/score.h>
#include <attend/version.h>

#ifdef __cplusplus
extern "C" {
#define ATTEND_SCORE_PLUGIN_LINKAGE extern "C"
#else
#define ATTEND_SCORE_PLUGIN_LINKAGE
#endif

/* The version of this interface: of attend_score_plugin, and of what attend_score and attend_tile mean. */
#define ATTEND_SCORE_PLUGIN_ABI 1

/* What a plug-in exports under the name "attend_score_plugin_info". `abi` is the first member in every version. */
typedef struct attend_score_plugin {
    unsigned abi;                              /* ATTEND_SCORE_PLUGIN_ABI */
    unsigned version[3];                       /* of the library's headers: major, minor, patch */
    unsigned real_size, tile_size, score_size; /* sizeof attend_real, attend_tile and attend_score */
    const attend_score *score;
} attend_score_plugin;

#define ATTEND_SCORE_PLUGIN(own_score)                                                                                 \
    ATTEND_SCORE_PLUGIN_LINKAGE __attribute__((visibility("default")))                                                 \
    const attend_score_plugin attend_score_plugin_info = {                                                             \
        ATTEND_SCORE_PLUGIN_ABI,        { ATTEND_VERSION_MAJOR, ATTEND_VERSION_MINOR, ATTEND_VERSION_PATCH },          \
        (unsigned)sizeof(attend_real),  (unsigned)sizeof(attend_tile),                                                 \
        (unsigned)sizeof(attend_score), &(own_score)                                                                   \
    }

/* Loads a plug-in, registers its score function (attend_score_register) and returns it. A name without a slash is a
 * file in the working directory. Loading the same file again returns the same score function. ATTEND_IO: the file
 * cannot be read. ATTEND_BAD_USAGE: it is not a shared object for this machine, is truncated, exports no score plug-in,
 * was compiled for another version or precision, or its score function is refused; or this program is statically
 * linked and cannot load one. */
int attend_score_plugin_load(const attend_score **out, const char *path);

#ifdef __cplusplus
}
#endif
#endif
