/* languages.h: names of languages. */
#ifndef ATTEND_CLI_SERVE_LANGUAGES_H
#define ATTEND_CLI_SERVE_LANGUAGES_H

/* The English name of a language by its code (ISO 639-1); the code itself if it is not known. */
const char *language_name(const char *code);

#endif
