/* Any bytes as the body of a request to attend serve: the first byte chooses JSON or a form. A body is refused with an
 * error or gives texts within the limits that end inside the memory of the request. */
#include "fuzz/fuzz.h"
#include "serve/translate_request.h"

#include <stdlib.h>
#include <string.h>

static void must(int holds)
{
    if (!holds) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    enum { MAX_TEXTS = 5 };
    translate_request r;
    if (size == 0) return 0;
    const char *body = (const char *)bytes + 1;
    const bool ok = bytes[0] % 2 ? translate_request_read_json(&r, body, size - 1, MAX_TEXTS)
                                 : translate_request_read_form(&r, body, size - 1, MAX_TEXTS);
    must(ok == (r.error == NULL));
    must(r.text_count >= 0 && r.text_count <= MAX_TEXTS);
    size_t total = 0;
    for (int i = 0; i < r.text_count; i++) total += strlen(r.texts[i]);
    must(total < size);
    const char *fields[] = { r.source, r.target, r.format, r.api_key, r.prefix };
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) must(!fields[i] || strlen(fields[i]) < size);
    must(r.alternatives >= 0);
    translate_request_free(&r);
    return 0;
}

void fuzz_seeds(void (*seed)(const void *bytes, size_t size))
{
    static const char *const seeds[] = {
        "1{\"q\": \"a b\", \"source\": \"en\", \"target\": \"fr\", \"format\": \"text\", \"alternatives\": 3}",
        "1{\"q\": [\"a\", \"\\u00e9\\n\"], \"x\": {\"y\": [1, [true, null]]}, \"attention\": true, \"api_key\": \"k\"}",
        "1{\"x\": [[[[[[[[[[1]]]]]]]]]]}",
        "1{}",
        "1",
        "0q=a+b%20c&source=en&target=fr&alternatives=2&attention=true",
        "0q=a&q=b&&=&x&y=&api_key=%41",
        "0q=%",
        "0",
    };
    for (size_t i = 0; i < sizeof seeds / sizeof *seeds; i++) seed(seeds[i], strlen(seeds[i]));
}
