#include "serve/languages.h"

#include <string.h>

const char *language_name(const char *code)
{
    static const char *const names[][2] = {
        { "ar", "Arabic" },     { "az", "Azerbaijani" }, { "be", "Belarusian" }, { "bg", "Bulgarian" },
        { "bn", "Bengali" },    { "bs", "Bosnian" },     { "ca", "Catalan" },    { "cs", "Czech" },
        { "cy", "Welsh" },      { "da", "Danish" },      { "de", "German" },     { "el", "Greek" },
        { "en", "English" },    { "eo", "Esperanto" },   { "es", "Spanish" },    { "et", "Estonian" },
        { "eu", "Basque" },     { "fa", "Persian" },     { "fi", "Finnish" },    { "fr", "French" },
        { "ga", "Irish" },      { "gl", "Galician" },    { "gu", "Gujarati" },   { "he", "Hebrew" },
        { "hi", "Hindi" },      { "hr", "Croatian" },    { "hu", "Hungarian" },  { "hy", "Armenian" },
        { "id", "Indonesian" }, { "is", "Icelandic" },   { "it", "Italian" },    { "ja", "Japanese" },
        { "ka", "Georgian" },   { "kk", "Kazakh" },      { "ko", "Korean" },     { "la", "Latin" },
        { "lt", "Lithuanian" }, { "lv", "Latvian" },     { "mk", "Macedonian" }, { "ml", "Malayalam" },
        { "mr", "Marathi" },    { "ms", "Malay" },       { "mt", "Maltese" },    { "nb", "Norwegian Bokmål" },
        { "nl", "Dutch" },      { "no", "Norwegian" },   { "pa", "Punjabi" },    { "pl", "Polish" },
        { "pt", "Portuguese" }, { "ro", "Romanian" },    { "ru", "Russian" },    { "sk", "Slovak" },
        { "sl", "Slovenian" },  { "sq", "Albanian" },    { "sr", "Serbian" },    { "sv", "Swedish" },
        { "sw", "Swahili" },    { "ta", "Tamil" },       { "te", "Telugu" },     { "th", "Thai" },
        { "tl", "Tagalog" },    { "tr", "Turkish" },     { "uk", "Ukrainian" },  { "ur", "Urdu" },
        { "vi", "Vietnamese" }, { "zh", "Chinese" },
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(code, names[i][0]) == 0) return names[i][1];
    return code;
}
