#include "valid_metric.h"

#include "perplexity.h"

#include <stdio.h>

/* Names of metrics come first, then what they are called where lines are words. */
enum { PERPLEXITY, BLEU, CHRF, TOKEN_ACCURACY, WORD_ERROR, EXACT, PHONEME_ERROR, CHARACTER_ERROR, WER, CER };
const char *const valid_metric_choices[] = {
    "perplexity", "bleu", "chrf", "token-accuracy", "word-error", "exact", "phoneme-error", "character-error",
    "wer",        "cer",  NULL
};

attend_valid_metric valid_metric_of(int choice, bool is_word_level)
{
    static const attend_valid_metric metrics[] = {
        [PERPLEXITY] = ATTEND_VALID_LOSS,
        [BLEU] = ATTEND_VALID_BLEU,
        [CHRF] = ATTEND_VALID_CHRF,
        [TOKEN_ACCURACY] = ATTEND_VALID_TOKEN_ACCURACY,
        [EXACT] = ATTEND_VALID_EXACT,
        [PHONEME_ERROR] = ATTEND_VALID_WER,
        [CHARACTER_ERROR] = ATTEND_VALID_CER,
        [WER] = ATTEND_VALID_WER,
        [CER] = ATTEND_VALID_CER,
    };
    if (choice == WORD_ERROR) return is_word_level ? ATTEND_VALID_LINE_ERROR : ATTEND_VALID_WER;
    return metrics[choice];
}

score_style valid_metric_style(int choice)
{
    static const score_style styles[] = {
        [PERPLEXITY] = { "perplexity", SCORE_PERPLEXITY },
        [BLEU] = { "BLEU", SCORE_POINTS },
        [CHRF] = { "chrF", SCORE_POINTS },
        [TOKEN_ACCURACY] = { "token accuracy", SCORE_PERCENT },
        [WORD_ERROR] = { "word error", SCORE_PERCENT },
        [EXACT] = { "exact match", SCORE_PERCENT },
        [PHONEME_ERROR] = { "phoneme error", SCORE_PERCENT },
        [CHARACTER_ERROR] = { "character error", SCORE_PERCENT },
        [WER] = { "WER", SCORE_PERCENT },
        [CER] = { "CER", SCORE_PERCENT },
    };
    return styles[choice];
}

const char *score_text(char text[SCORE_TEXT], score_style style, double score)
{
    char number[PERPLEXITY_TEXT];
    const int digits = style.kind == SCORE_PERCENT  ? 1
                       : style.kind == SCORE_POINTS ? 2
                       : score < 10                 ? 3
                       : score < 100                ? 2
                       : score < 1000               ? 1
                                                    : 0;
    snprintf(text, SCORE_TEXT, "%s%s", perplexity_text(number, digits, score), style.kind == SCORE_PERCENT ? " %" : "");
    return text;
}
