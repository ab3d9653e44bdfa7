#!/bin/sh
# plugin.sh ATTEND SOURCE CC: score plug-ins: --score-plugin of every verb, and plug-ins that are refused.
. "$(dirname "$0")/cases.sh"
source=$2 cc=$3
cd "$folder" || exit 1

compile() { # OUTPUT SOURCE FLAGS...
    to=$1 from=$2
    shift 2
    $cc -std=c11 -O2 -Wall -Wextra -Werror -shared -fPIC "$from" -I "$source/include" -o "$to" "$@" || fail "$from does not compile"
}
compile l2.so "$source/examples/l2_score.c"

awk 'BEGIN { srand(1); for (i = 0; i < 300; i++) { s = ""; t = ""; n = 1 + int(rand() * 4);
    for (j = 0; j < n; j++) { k = 1 + int(rand() * 9); s = s (j ? " " : "") substr("abcdefghi", k, 1); t = t (j ? " " : "") substr("ABCDEFGHI", k, 1) }
    print s "\t" t } }' >pairs.tsv
cut -f1 pairs.tsv | head -20 >lines
options="--train pairs.tsv --valid pairs.tsv --tokens word --hidden 24 --embedding 24 --dropout 0 --learning-rate 0.01 --valid-every 50 --no-check --quiet --threads 2"

# ---- training, resuming, and every verb that reads the model ----

"$attend" train $options --model m --score-plugin ./l2.so --updates 200 || failed=1
"$attend" train $options --model named --attention l2 --score-plugin ./l2.so --updates 200 || failed=1
same 'a model with --attention and without' m named
"$attend" train $options --model resumed --score-plugin ./l2.so --updates 100 || failed=1
"$attend" train $options --model resumed --score-plugin ./l2.so --updates 200 || failed=1
same 'a resumed model' m resumed
expect 4 "the model needs the score function 'l2'" train $options --model resumed --updates 300
expect 2 'load the score plug-in that defines it (option --score-plugin FILE)' train $options --model x --attention l2 --updates 1
printf 'score-plugin ./l2.so\nattention l2\n' >config
"$attend" train $options --config config --model by-file --updates 200 || failed=1
same 'a model by a configuration file' m by-file
expect 2 "did you mean 'dot'" train $options --model x --attention dott --updates 1
expect 2 'say which one' train $options --model x --score-plugin l2.so --score-plugin ./l2.so --updates 1

# the plug-in that docs/tutorials/own-score.md makes of an example
{ echo '#include <attend/score_plugin.h>'; sed '/^static attend_param /,$d' "$source/examples/own_score.c"; echo 'ATTEND_SCORE_PLUGIN(cosine);'; } >cosine.c
compile cosine.so cosine.c
"$attend" train --train pairs.tsv --model cosine --score-plugin ./cosine.so --hidden 24 --embedding 24 --updates 5 --no-check --quiet || failed=1
expect 0 cosine info cosine --score-plugin ./cosine.so

# the next command, which training prints, loads the plug-in
"$attend" train --train pairs.tsv --model talks --score-plugin ./l2.so --hidden 24 --embedding 24 --updates 5 2>log || fail "training: $(cat log)"
eval "$(sed -n 's/^next        //p' log)" >printed 2>&1 || fail "the next command fails: $(cat log printed)"

"$attend" translate --model m --score-plugin ./l2.so <lines >translated || failed=1
cut -f2 pairs.tsv | head -20 >expected
[ "$(cat translated expected | sort | uniq -d | wc -l)" -ge 5 ] || fail 'the model with a plug-in learns nothing'
"$attend" translate --model m --score-plugin l2.so --threads 1 --batch-tokens 5 <lines >alone || failed=1 # a file in this directory, not of the system
same 'translations in any batch' translated alone
expect 0 'l2 (a score plug-in)' info m --score-plugin ./l2.so
expect 0 '"attention": "l2"' info m --score-plugin ./l2.so --json
expect 0 '-' score --model m --input pairs.tsv --score-plugin ./l2.so
expect 0 '0-0' align --model m --input pairs.tsv --score-plugin ./l2.so
expect 0 'a   b   c' show --model m 'a b c' --score-plugin ./l2.so
expect 0 'exact' evaluate --model m --input pairs.tsv --metric exact --score-plugin ./l2.so
expect 0 '' convert --model m --output m8 --precision int8 --score-plugin ./l2.so
expect 0 'int8' info m8 --score-plugin ./l2.so
expect 0 '' convert --average m named --output mean --score-plugin ./l2.so
expect 0 'l2' compare $options --vary attention=additive,l2 --updates 20 --output both --score-plugin ./l2.so
expect 0 '' train --train pairs.tsv --valid pairs.tsv --init-from m --model tuned --updates 5 --no-check --quiet --score-plugin ./l2.so

# without the plug-in, every verb says what to do; a model never loads a library
for command in 'info m' 'translate --model m' 'score --model m --input pairs.tsv' 'align --model m --input pairs.tsv' 'show --model m a' \
    'evaluate --model m --input pairs.tsv' 'convert --model m --output x --precision int8' 'convert --average m named --output x' \
    'train --train pairs.tsv --valid pairs.tsv --init-from m --model x --no-check'; do
    expect 4 "the model needs the score function 'l2', which is not built in; load the score plug-in that defines it (option --score-plugin FILE)" $command <lines
done

# ---- plug-ins that are refused ----

expect 5 'cannot read the score plug-in none.so: No such file' info m --score-plugin none.so
expect 2 'not a regular file' info m --score-plugin .
expect 2 'not a shared object' info m --score-plugin pairs.tsv
: >empty.so
expect 2 'not a shared object' info m --score-plugin empty.so
$cc -c -fPIC "$source/examples/l2_score.c" -I "$source/include" -o l2.o || failed=1
expect 2 'not a shared object' info m --score-plugin l2.o
size=$(wc -c <l2.so)
for kept in 4 63 64 500 4096 8192 $((size / 2)) $((size - 1)); do
    head -c "$kept" l2.so >short.so
    expect 2 'is not a score plug-in: it is truncated' info m --score-plugin short.so
done
{ head -c 18 l2.so && printf '\377\377' && tail -c +21 l2.so; } >machine.so
expect 2 'for another processor' info m --score-plugin machine.so
echo 'int attend_other;' >other.c
compile other.so other.c
expect 2 'does not export attend_score_plugin_info' info m --score-plugin ./other.so
echo 'int attend_no_such_function(void); int attend_other(void); int attend_other(void) { return attend_no_such_function(); }' >undefined.c
compile undefined.so undefined.c
expect 2 'attend_no_such_function' info m --score-plugin ./undefined.so

# a plug-in as another version would have compiled it: ABI MAJOR MINOR REAL TILE SCORE NAME
version() {
    cat >version.c <<END
#include <attend/score_plugin.h>
static void tile(const attend_tile *t) { t->score[0] = 0; }
static void tile_backward(const attend_tile *t, const attend_tile_gradients *g) { (void)t, (void)g; }
static const attend_score score = { .name = "$7", .formula = "0", .tile = tile, .tile_backward = tile_backward };
const attend_score_plugin attend_score_plugin_info = { $1, { $2, $3, 0 }, $4, $5, $6, &score };
END
    compile version.so version.c
}
major=ATTEND_VERSION_MAJOR minor=ATTEND_VERSION_MINOR tile='sizeof(attend_tile)' score='sizeof(attend_score)'
version 1 $major $minor 4 "$tile" "$score" good
expect 0 'l2' info m --score-plugin ./l2.so --score-plugin ./version.so
version 2 $major $minor 4 "$tile" "$score" good
expect 2 'for version 2 of the interface' info m --score-plugin ./version.so
version 1 0 1 4 "$tile" "$score" good
expect 2 'a score plug-in for attend 0.1.0, and this is attend' info m --score-plugin ./version.so
version 1 $major $minor 8 "$tile" "$score" good
expect 2 'without -DATTEND_DOUBLE' info m --score-plugin ./version.so
version 1 $major $minor 4 "$tile + 8" "$score" good
expect 2 'structs differ' info m --score-plugin ./version.so
version 1 $major $minor 4 "$tile" "$score" additive
expect 2 "there is already a score function 'additive'" info m --score-plugin ./version.so
version 1 $major $minor 4 "$tile" "$score" 'a b'
expect 2 'the name of a score function' info m --score-plugin ./version.so
version 1 $major $minor 4 "$tile" "$score" l2
expect 2 "there is already a score function 'l2'" info m --score-plugin ./l2.so --score-plugin ./version.so

# the plug-in is an input: no output replaces it
expect 2 'also the input of --score-plugin' translate --model m --score-plugin ./l2.so --output l2.so <lines
exit $failed
