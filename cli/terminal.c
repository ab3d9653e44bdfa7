#include "terminal.h"

#include <attend/parse.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

int terminal_columns(int descriptor)
{
    struct winsize size;
    return isatty(descriptor) && ioctl(descriptor, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

int terminal_width(void)
{
    const int terminal = terminal_columns(STDOUT_FILENO);
    const char *text = getenv("COLUMNS");
    long long columns;
    if (terminal > 0) return terminal;
    return text && attend_parse_integer(text, NULL, &columns) && columns > 0 && columns <= 10000 ? (int)columns : 80;
}

int terminal_colours(void)
{
    const char *none = getenv("NO_COLOR"), *term = getenv("TERM"), *colours = getenv("COLORTERM");
    if ((none && *none) || !isatty(STDOUT_FILENO) || !term || !*term || strcmp(term, "dumb") == 0) return 0;
    if (colours && (strcmp(colours, "truecolor") == 0 || strcmp(colours, "24bit") == 0)) return 1 << 24;
    return strstr(term, "256color") || strstr(term, "direct") ? 256 : 0;
}
