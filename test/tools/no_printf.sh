#!/bin/sh
# no_printf.sh COMPILER HEADER: cli/no_printf.h refuses every function that writes raw text, and nothing else.
compiler=$1 header=$2 failed=0
check() { # ARGUMENTS...: the source on standard input
    "$compiler" -std=c11 -D_POSIX_C_SOURCE=200809L -Wall -Werror -include "$header" -fsyntax-only "$@" -x c - 2>&1
}
echo 'int main(void) { return fflush(stdout); }' | check || { echo 'the header alone does not compile'; failed=1; }
for call in 'printf("a")' 'puts("a")' 'putchar(65)' 'fprintf(stdout, "a")' 'fputs("a", stdout)' 'fputc(65, stdout)' 'putc(65, stdout)' 'fwrite("a", 1, 1, stdout)' \
    'dprintf(1, "a")' 'perror("a")' 'putchar_unlocked(65)'; do
    printed=$(echo "int main(void) { return ($call), 0; }" | check)
    case $printed in *'attend_print'*) ;; *) echo "not refused: $call: $printed"; failed=1 ;; esac
done
exit $failed
