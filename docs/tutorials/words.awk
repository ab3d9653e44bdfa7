# words.awk: makes words in a Spanish-like spelling, each with its pronunciation: word, TAB, phonemes separated by spaces.
#   awk -v count=3000 -v seed=1 -f words.awk > train.tsv
function pick(list,    parts, n) { n = split(list, parts, " "); return parts[1 + int(rand() * n)] }

# Adds one syllable to `word` and `sounds`. The spelling of a consonant depends on the vowel that follows it.
function syllable(    vowel, front, letters, sound) {
    vowel = pick("a e i o u")
    front = vowel ~ /[ei]/
    sound = pick("b k D f g x l y m n J p r s t T C -")
    if (sound == "k") letters = front ? "qu" : "c"
    else if (sound == "T") letters = front ? "c" : "z"
    else if (sound == "g") letters = front ? "gu" : "g"
    else if (sound == "x") letters = front ? "g" : "j"
    else if (sound == "b") letters = pick("b v")
    else if (sound == "D") letters = "d"
    else if (sound == "y") letters = pick("ll y")
    else if (sound == "J") letters = "ñ"
    else if (sound == "C") letters = "ch"
    else if (sound == "-") letters = "h" # silent
    else letters = sound
    word = word letters vowel
    sounds = sounds (sound == "-" ? "" : " " sound) " " vowel
    if (rand() < 0.2) { sound = pick("n s l"); word = word sound; sounds = sounds " " sound }
}

BEGIN {
    srand(seed)
    while (made < count) {
        word = sounds = ""
        for (n = 1 + int(rand() * 3); n >= 0; n--) syllable()
        if (word in seen) continue
        seen[word] = 1
        made++
        print word "\t" substr(sounds, 2)
    }
}
