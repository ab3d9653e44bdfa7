/* guided_links.h: the links that guide a model's attention: for each pair of a corpus, which target token is aligned
 * with which source token.
 *
 * Origin     Links between words, of the statistical aligner (align/aligner.h), which is trained on the pairs, or of a
 *            file. A token is linked to the tokens of the words to which its word is linked.
 * Words      The aligner's words are those of the text, split where letters, digits, other characters and scripts meet,
 *            so that "word," is two. In a file they are what white space separates.
 * Memory     The links are in temporary files, as the tokens of a corpus are. The aligner keeps its tables in memory
 *            until all pairs are aligned. */
#ifndef ATTEND_TRAIN_GUIDED_LINKS_H
#define ATTEND_TRAIN_GUIDED_LINKS_H

#include "text/corpus.h"
#include <attend/model.h>

typedef struct attend_guided_links attend_guided_links;

typedef struct guided_links_options {
    const char *file; /* of links; NULL: the statistical aligner */
    const attend_tokenizer *tokenizers[2];
    int threads;
    size_t memory; /* limit of the aligner's tables; 0: none */
    void *user;
    void (*progress)(void *user, int done, int iterations); /* of the aligner; NULL: nothing */
    bool (*stop)(void *user);                               /* true: give up, with ATTEND_FAILED; NULL: never */
} guided_links_options;

/* The corpus keeps its texts. ATTEND_BAD_DATA: a line of the file is malformed, or a link is outside its pair; the
 * message names the line. *out is the caller's, freed by attend_guided_links_free (NULL is allowed there). */
int attend_guided_links_new(attend_guided_links **out, const attend_corpus *corpus,
                            const guided_links_options *options);
void attend_guided_links_free(attend_guided_links *l);

/* The number of all links, of target tokens with a link, and a hash of all links. */
typedef struct guided_links_counts {
    uint64_t links, linked_tokens, fingerprint;
} guided_links_counts;
guided_links_counts attend_guided_links_count(const attend_guided_links *l);

/* The links of pair i of the corpus, by target and source token: *list, which the caller owns and which grows as needed,
 * receives them from `used` on, with pair number `pair`. Sets *count. ATTEND_IO, ATTEND_NO_MEMORY. */
int attend_guided_links_read(const attend_guided_links *l, uint64_t i, int pair, attend_link **list, size_t *capacity,
                             size_t used, int *count);

#endif
