#!/bin/bash
# bash.sh COMPLETION: loads the completion and completes command lines, whose last word is the part typed so far.
failed=0
# shellcheck source=/dev/null
. "$1" || exit 1
[[ $(complete -p attend) == *"-F _attend attend" ]] || { echo "attend has no completion"; failed=1; }

# expect WORDS.. -- LINE..: the expected completions of a line; = is a separate word, as in a shell
expect() {
    local wanted=()
    while [ "$1" != -- ]; do wanted+=("$1"); shift; done
    shift
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
    _attend
    [ "${COMPREPLY[*]}" = "${wanted[*]}" ] && return
    echo "$*: offers '${COMPREPLY[*]}' instead of '${wanted[*]}'"
    failed=1
}

expect train translate -- attend tr
expect --version -- attend --v
expect --optimizer -- attend train --opt
expect sgd adam -- attend train --optimizer ''
expect adam -- attend train --optimizer a
expect adam -- attend train --optimizer = a
expect sgd adam -- attend train --optimizer =
expect tiny translate-small translate -- attend train --train a.tsv --preset t
expect additive -- attend train --attention ad
expect yes no -- attend train --bidirectional ''
expect --bidirectional -- attend train --bidir
expect --by-length -- attend evaluate --by
expect 13a -- attend evaluate --bleu-tokenizer 1
expect auto -- attend evaluate --by-length ''
expect -- attend translate --beam ''
expect -- attend translate --model ''
expect -- attend info ''
expect --parameters -- attend info --par
expect --help -- attend info --he
expect -- attend nonsense --
exit $failed
