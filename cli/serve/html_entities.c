/* html_entities.c: character references: "&eacute;", "&#233;", "&#xe9;". The names are those of HTML 4 and "apos". */
#include "serve/html.h"

#include <attend/status.h>
#include <stdlib.h>
#include <string.h>

/* By name. */
static const struct entity {
    const char *name;
    unsigned character;
} entities[] = {
    { "AElig", 198 },   { "Aacute", 193 },  { "Acirc", 194 },   { "Agrave", 192 },  { "Alpha", 913 },
    { "Aring", 197 },   { "Atilde", 195 },  { "Auml", 196 },    { "Beta", 914 },    { "Ccedil", 199 },
    { "Chi", 935 },     { "Dagger", 8225 }, { "Delta", 916 },   { "ETH", 208 },     { "Eacute", 201 },
    { "Ecirc", 202 },   { "Egrave", 200 },  { "Epsilon", 917 }, { "Eta", 919 },     { "Euml", 203 },
    { "Gamma", 915 },   { "Iacute", 205 },  { "Icirc", 206 },   { "Igrave", 204 },  { "Iota", 921 },
    { "Iuml", 207 },    { "Kappa", 922 },   { "Lambda", 923 },  { "Mu", 924 },      { "Ntilde", 209 },
    { "Nu", 925 },      { "OElig", 338 },   { "Oacute", 211 },  { "Ocirc", 212 },   { "Ograve", 210 },
    { "Omega", 937 },   { "Omicron", 927 }, { "Oslash", 216 },  { "Otilde", 213 },  { "Ouml", 214 },
    { "Phi", 934 },     { "Pi", 928 },      { "Prime", 8243 },  { "Psi", 936 },     { "Rho", 929 },
    { "Scaron", 352 },  { "Sigma", 931 },   { "THORN", 222 },   { "Tau", 932 },     { "Theta", 920 },
    { "Uacute", 218 },  { "Ucirc", 219 },   { "Ugrave", 217 },  { "Upsilon", 933 }, { "Uuml", 220 },
    { "Xi", 926 },      { "Yacute", 221 },  { "Yuml", 376 },    { "Zeta", 918 },    { "aacute", 225 },
    { "acirc", 226 },   { "acute", 180 },   { "aelig", 230 },   { "agrave", 224 },  { "alefsym", 8501 },
    { "alpha", 945 },   { "amp", 38 },      { "and", 8743 },    { "ang", 8736 },    { "aring", 229 },
    { "asymp", 8776 },  { "atilde", 227 },  { "auml", 228 },    { "bdquo", 8222 },  { "beta", 946 },
    { "brvbar", 166 },  { "bull", 8226 },   { "cap", 8745 },    { "ccedil", 231 },  { "cedil", 184 },
    { "cent", 162 },    { "chi", 967 },     { "circ", 710 },    { "clubs", 9827 },  { "cong", 8773 },
    { "copy", 169 },    { "crarr", 8629 },  { "cup", 8746 },    { "curren", 164 },  { "dArr", 8659 },
    { "dagger", 8224 }, { "darr", 8595 },   { "deg", 176 },     { "delta", 948 },   { "diams", 9830 },
    { "divide", 247 },  { "eacute", 233 },  { "ecirc", 234 },   { "egrave", 232 },  { "empty", 8709 },
    { "emsp", 8195 },   { "ensp", 8194 },   { "epsilon", 949 }, { "equiv", 8801 },  { "eta", 951 },
    { "eth", 240 },     { "euml", 235 },    { "euro", 8364 },   { "exist", 8707 },  { "fnof", 402 },
    { "forall", 8704 }, { "frac12", 189 },  { "frac14", 188 },  { "frac34", 190 },  { "frasl", 8260 },
    { "gamma", 947 },   { "ge", 8805 },     { "gt", 62 },       { "hArr", 8660 },   { "harr", 8596 },
    { "hearts", 9829 }, { "hellip", 8230 }, { "iacute", 237 },  { "icirc", 238 },   { "iexcl", 161 },
    { "igrave", 236 },  { "image", 8465 },  { "infin", 8734 },  { "int", 8747 },    { "iota", 953 },
    { "iquest", 191 },  { "isin", 8712 },   { "iuml", 239 },    { "kappa", 954 },   { "lArr", 8656 },
    { "lambda", 955 },  { "lang", 9001 },   { "laquo", 171 },   { "larr", 8592 },   { "lceil", 8968 },
    { "ldquo", 8220 },  { "le", 8804 },     { "lfloor", 8970 }, { "lowast", 8727 }, { "loz", 9674 },
    { "lrm", 8206 },    { "lsaquo", 8249 }, { "lsquo", 8216 },  { "lt", 60 },       { "macr", 175 },
    { "mdash", 8212 },  { "micro", 181 },   { "middot", 183 },  { "minus", 8722 },  { "mu", 956 },
    { "nabla", 8711 },  { "nbsp", 160 },    { "ndash", 8211 },  { "ne", 8800 },     { "ni", 8715 },
    { "not", 172 },     { "notin", 8713 },  { "nsub", 8836 },   { "ntilde", 241 },  { "nu", 957 },
    { "oacute", 243 },  { "ocirc", 244 },   { "oelig", 339 },   { "ograve", 242 },  { "oline", 8254 },
    { "omega", 969 },   { "omicron", 959 }, { "oplus", 8853 },  { "or", 8744 },     { "ordf", 170 },
    { "ordm", 186 },    { "oslash", 248 },  { "otilde", 245 },  { "otimes", 8855 }, { "ouml", 246 },
    { "para", 182 },    { "part", 8706 },   { "permil", 8240 }, { "perp", 8869 },   { "phi", 966 },
    { "pi", 960 },      { "piv", 982 },     { "plusmn", 177 },  { "pound", 163 },   { "prime", 8242 },
    { "prod", 8719 },   { "prop", 8733 },   { "psi", 968 },     { "quot", 34 },     { "rArr", 8658 },
    { "radic", 8730 },  { "rang", 9002 },   { "raquo", 187 },   { "rarr", 8594 },   { "rceil", 8969 },
    { "rdquo", 8221 },  { "real", 8476 },   { "reg", 174 },     { "rfloor", 8971 }, { "rho", 961 },
    { "rlm", 8207 },    { "rsaquo", 8250 }, { "rsquo", 8217 },  { "sbquo", 8218 },  { "scaron", 353 },
    { "sdot", 8901 },   { "sect", 167 },    { "shy", 173 },     { "sigma", 963 },   { "sigmaf", 962 },
    { "sim", 8764 },    { "spades", 9824 }, { "sub", 8834 },    { "sube", 8838 },   { "sum", 8721 },
    { "sup", 8835 },    { "sup1", 185 },    { "sup2", 178 },    { "sup3", 179 },    { "supe", 8839 },
    { "szlig", 223 },   { "tau", 964 },     { "there4", 8756 }, { "theta", 952 },   { "thetasym", 977 },
    { "thinsp", 8201 }, { "thorn", 254 },   { "tilde", 732 },   { "times", 215 },   { "trade", 8482 },
    { "uArr", 8657 },   { "uacute", 250 },  { "uarr", 8593 },   { "ucirc", 251 },   { "ugrave", 249 },
    { "uml", 168 },     { "upsih", 978 },   { "upsilon", 965 }, { "uuml", 252 },    { "weierp", 8472 },
    { "xi", 958 },      { "yacute", 253 },  { "yen", 165 },     { "yuml", 255 },    { "zeta", 950 },
    { "zwj", 8205 },    { "zwnj", 8204 },
};

/* Numbers that mean the characters of Windows-1252, as browsers read them. */
static const unsigned windows[] = { 0x20ac, 0x0081, 0x201a, 0x0192, 0x201e, 0x2026, 0x2020, 0x2021,
                                    0x02c6, 0x2030, 0x0160, 0x2039, 0x0152, 0x008d, 0x017d, 0x008f,
                                    0x0090, 0x2018, 0x2019, 0x201c, 0x201d, 0x2022, 0x2013, 0x2014,
                                    0x02dc, 0x2122, 0x0161, 0x203a, 0x0153, 0x009d, 0x017e, 0x0178 };

static bool is_alphanumeric(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static size_t put_utf8(unsigned c, char to[4])
{
    if (c < 0x80) return to[0] = (char)c, 1;
    if (c < 0x800) return to[0] = (char)(0xc0 | c >> 6), to[1] = (char)(0x80 | (c & 0x3f)), 2;
    if (c < 0x10000)
        return to[0] = (char)(0xe0 | c >> 12), to[1] = (char)(0x80 | (c >> 6 & 0x3f)),
               to[2] = (char)(0x80 | (c & 0x3f)), 3;
    return to[0] = (char)(0xf0 | c >> 18), to[1] = (char)(0x80 | (c >> 12 & 0x3f)),
           to[2] = (char)(0x80 | (c >> 6 & 0x3f)), to[3] = (char)(0x80 | (c & 0x3f)), 4;
}

static unsigned allowed(unsigned c)
{
    if (c >= 0x80 && c < 0xa0) return windows[c - 0x80];
    const bool is_valid = c > 0 && c <= 0x10ffff && !(c >= 0xd800 && c < 0xe000);
    return is_valid ? c : 0xfffd;
}

/* "&#" is followed by at least one digit: at least 4 characters with ";", and 3 for one below U+0800. */
static size_t decode_number(const char *at, const char *end, char to[4], size_t *size)
{
    const char *c = at + 2;
    const bool hex = c < end && (*c == 'x' || *c == 'X');
    unsigned number = 0;
    c += hex;
    const char *first = c;
    for (; c < end; c++) {
        const int digit = *c >= '0' && *c <= '9'          ? *c - '0'
                          : hex && *c >= 'a' && *c <= 'f' ? *c - 'a' + 10
                          : hex && *c >= 'A' && *c <= 'F' ? *c - 'A' + 10
                                                          : -1;
        if (digit < 0) break;
        if (number < 0x110000) number = number * (hex ? 16 : 10) + (unsigned)digit;
    }
    if (c == first || c == end || *c != ';') return 0;
    *size = put_utf8(allowed(number), to);
    return (size_t)(c + 1 - at);
}

typedef struct entity_name {
    const char *text;
    size_t size;
} entity_name;

static int compare(const void *x, const void *y)
{
    const entity_name *name = x;
    const struct entity *e = y;
    const int order = strncmp(name->text, e->name, name->size);
    return order != 0 ? order : e->name[name->size] != '\0' ? -1 : 0;
}

size_t html_decode_entity(const char *at, const char *end, char to[4], size_t *size)
{
    enum { MAX_NAME = 8 };
    if (end - at >= 2 && at[1] == '#') return decode_number(at, end, to, size);
    entity_name name = { at + 1, 0 };
    while (name.size <= MAX_NAME && name.text + name.size < end && is_alphanumeric(name.text[name.size])) name.size++;
    if (name.size < 2 || name.size > MAX_NAME) return 0;
    const struct entity *e = bsearch(&name, entities, sizeof entities / sizeof *entities, sizeof *entities, compare);
    const bool has_end = name.text + name.size < end && name.text[name.size] == ';';
    if (!e || (!has_end && e->character > 0xff)) return 0; /* browsers accept the oldest names without ";" */
    *size = put_utf8(e->character, to);
    return 1 + name.size + has_end;
}

int html_escape(attend_string *out, const char *text, size_t size)
{
    int status = ATTEND_OK;
    for (size_t i = 0, from = 0; status == ATTEND_OK && i <= size; i++) {
        const bool is_nbsp = i + 1 < size && text[i] == '\xc2' && text[i + 1] == '\xa0';
        const char *reference = i == size        ? ""
                                : text[i] == '&' ? "&amp;"
                                : text[i] == '<' ? "&lt;"
                                : text[i] == '>' ? "&gt;"
                                : is_nbsp        ? "&nbsp;"
                                                 : NULL;
        if (!reference) continue;
        status = attend_string_add(out, text + from, i - from);
        if (status == ATTEND_OK) status = attend_string_add(out, reference, strlen(reference));
        from = i + 1 + is_nbsp;
    }
    return status;
}
