/* garbage.c: tests a command that writes one line per input line with text and random bytes.
 * garbage LINES                        writes LINES lines to standard output.
 * garbage LINES COMMAND ARGUMENT..     feeds LINES lines to the command and reads its output: it must have as many lines; lines that cannot be
 * translated must give empty lines; one sentence must always give the same line; and memory must not grow after the first tenth of the lines (at
 * least 10,000). Prints counts. */
#define _DEFAULT_SOURCE /* wait4 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifdef ATTEND_ARENA_MALLOC /* the sanitizers do not release memory at once */
enum { GROWTH_KB = 1 << 20 };
#else
enum { GROWTH_KB = 16 << 10 };
#endif
enum { LONGEST = (1 << 20) + 64 };
typedef enum kind {
    SENTENCE,
    WORDS,
    BYTES,
    EMPTY,
    BLANKS,
    CRLF,
    CR,
    MARK,
    COMBINING,
    INVALID,
    NUL,
    UNICODE,
    MANY,
    HUGE
} kind;

typedef struct line {
    kind kind;
    char text[LONGEST];
    size_t size;
} line;

static uint64_t state;

static uint32_t next(uint32_t below)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((state >> 33) % below);
}

static void add(line *l, const char *bytes, size_t size)
{
    memcpy(l->text + l->size, bytes, size);
    l->size += size;
}

static void add_words(line *l, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (i) add(l, " ", 1);
        add(l, &"abcdefgh"[next(8)], 1);
    }
}

static void add_character(line *l, uint32_t c)
{
    char b[4];
    if (c < 0x80) {
        b[0] = (char)c;
        add(l, b, 1);
    } else if (c < 0x800) {
        b[0] = (char)(0xc0 | c >> 6), b[1] = (char)(0x80 | (c & 63));
        add(l, b, 2);
    } else if (c < 0x10000) {
        b[0] = (char)(0xe0 | c >> 12), b[1] = (char)(0x80 | (c >> 6 & 63)), b[2] = (char)(0x80 | (c & 63));
        add(l, b, 3);
    } else {
        b[0] = (char)(0xf0 | c >> 18), b[1] = (char)(0x80 | (c >> 12 & 63)), b[2] = (char)(0x80 | (c >> 6 & 63));
        b[3] = (char)(0x80 | (c & 63));
        add(l, b, 4);
    }
}

/* Line i: the writer sends it, and the reader makes it again to check the output. */
static void make(line *l, long i)
{
    static const char *const invalid[] = { "\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80",
                                           "\xe4\xb8", "\x80",         "\xff\xfe" };
    state = (uint64_t)i * 0x9e3779b97f4a7c15u + 1;
    for (int k = 0; k < 4; k++) next(2);
    l->size = 0;
    l->kind = i % 97 == 0 ? SENTENCE : i % 5000 == 4999 ? HUGE : (kind)(WORDS + next(HUGE - WORDS));
    if (l->kind == MANY && next(8)) l->kind = WORDS; /* these are slow */
    switch (l->kind) {
    case SENTENCE:
        if (i == 0) add(l, "\xef\xbb\xbf", 3); /* a byte order mark, which is not part of the text */
        add(l, "a b c d", 7);
        break;
    case WORDS:
        add_words(l, 1 + next(8));
        break;
    case BYTES:
        for (uint32_t n = 1 + next(40); n > 0; n--) {
            const char byte = (char)next(256);
            if (byte != '\n') add(l, &byte, 1);
        }
        break;
    case EMPTY:
        break;
    case BLANKS:
        for (uint32_t n = 1 + next(9); n > 0; n--) add(l, &" \t"[next(2)], 1);
        break;
    case CRLF:
        add_words(l, next(5));
        add(l, "\r", 1);
        break;
    case CR:
        add_words(l, 1 + next(3)), add(l, "\r", 1), add_words(l, 1 + next(3));
        break;
    case MARK:
        add(l, "\xef\xbb\xbf", 3), add_words(l, 1 + next(3));
        break;
    case COMBINING:
        for (uint32_t n = 1 + next(3); n > 0; n--) {
            add_words(l, 1);
            for (uint32_t k = next(5); k > 0; k--) add_character(l, 0x300 + next(0x70));
        }
        break;
    case INVALID:
        add_words(l, 1 + next(3)), add(l, " ", 1);
        const char *bytes = invalid[next(6)];
        add(l, bytes, strlen(bytes)), add(l, " b", 2);
        break;
    case NUL:
        add_words(l, next(3)), add(l, "\0", 1), add_words(l, next(3));
        break;
    case UNICODE:
        for (uint32_t n = 1 + next(10), c; n > 0; n--)
            if ((c = next(0x110000)) != '\n' && (c < 0xd800 || c > 0xdfff)) add_character(l, c);
        break;
    case MANY:
        add_words(l, 20 + next(60));
        break;
    case HUGE:
        for (const char *word = next(2) ? "abc " : "   \t"; l->size < 1 << 20;) add(l, word, 4);
        break;
    }
}

static bool nothing_can_be_said(const line *l)
{
    return l->kind == EMPTY || l->kind == BLANKS || l->kind == INVALID || l->kind == HUGE ||
           (l->kind == CRLF && l->size == 1);
}

static long memory_of(pid_t child)
{
    char path[64], text[256];
    long peak = -1;
    snprintf(path, sizeof path, "/proc/%ld/status", (long)child);
    FILE *f = fopen(path, "r");
    while (f && fgets(text, sizeof text, f))
        if (sscanf(text, "VmHWM: %ld", &peak) == 1) break;
    if (f) fclose(f);
    return peak;
}

/* The last line has no line feed. */
static void write_all(int to, long lines)
{
    static line l;
    FILE *f = fdopen(to, "wb");
    for (long i = 0; f && i < lines; i++) {
        make(&l, i);
        fwrite(l.text, 1, l.size, f);
        if (i + 1 < lines) fputc('\n', f);
    }
    if (f) fclose(f);
}

static bool check_line(long i, const char *said, char *sentence, size_t capacity)
{
    static line l;
    make(&l, i);
    if (nothing_can_be_said(&l) && *said) {
        printf("line %ld, of kind %d, gave '%.60s' and not an empty line\n", i + 1, l.kind, said);
        return false;
    }
    if (l.kind != SENTENCE) return true;
    if (i == 0) snprintf(sentence, capacity, "%s", said);
    if (*said && strcmp(said, sentence) == 0) return true;
    printf("line %ld gave '%.60s', and line 1, which is the same, '%.60s'\n", i + 1, said, sentence);
    return false;
}

int main(int argc, char **argv)
{
    int to[2], from[2], status = -1;
    if (argc == 2) return write_all(1, strtol(argv[1], NULL, 10)), 0;
    if (argc < 3 || pipe(to) != 0 || pipe(from) != 0) return fprintf(stderr, "usage: garbage LINES COMMAND ..\n"), 2;
    const long lines = strtol(argv[1], NULL, 10), early = lines / 10 > 10000 ? lines / 10 : 10000;
    const time_t begin = time(NULL);
    const pid_t child = fork();
    if (child == 0) {
        dup2(to[0], 0), dup2(from[1], 1);
        close(to[0]), close(to[1]), close(from[0]), close(from[1]);
        execvp(argv[2], argv + 2);
        _exit(127);
    }
    close(to[0]), close(from[1]);
    const pid_t writer = fork();
    if (writer == 0) {
        close(from[0]);
        write_all(to[1], lines);
        _exit(0);
    }
    close(to[1]);
    char *said = NULL, sentence[256] = "";
    size_t capacity = 0;
    long count = 0, held = 0, before = -1;
    bool ok = true;
    FILE *f = fdopen(from[0], "rb");
    for (ssize_t size; f && (size = getline(&said, &capacity, f)) > 0; count++) {
        if (said[size - 1] == '\n') said[size - 1] = '\0';
        if (ok && count < lines) ok = check_line(count, said, sentence, sizeof sentence);
        held += ok;
        if (count + 1 == early) before = memory_of(child);
    }
    if (f) fclose(f);
    free(said);
    struct rusage used = { 0 };
    wait4(child, &status, 0, &used);
    waitpid(writer, NULL, 0);
    printf(
        "tried %ld, held %ld: %ld lines out, status %d, %ld s; peak memory %ld kB after %ld lines, %ld kB at the end\n",
        lines, held, count, status, (long)(time(NULL) - begin), before, early, used.ru_maxrss);
    if (count != lines || status != 0) ok = false;
    if (before > 0 && used.ru_maxrss > before + GROWTH_KB) {
        printf("memory grows\n");
        ok = false;
    }
    return ok ? 0 : 1;
}
