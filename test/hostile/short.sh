#!/bin/sh
# short.sh CAMPAIGN COMMAND DATA: the short form of a campaign (campaign.h), 15 s. The seed is that of the sources as they are committed, so that a
# revision tries the same cases each time, and a change of the sources tries others; where git does not tell, it is a constant. HOSTILE_SEED replaces
# it. The campaign prints the seed.
sources=$(cd "$(dirname "$0")/../.." && git rev-parse HEAD:src HEAD:cli HEAD:test/hostile 2>/dev/null) || sources=unknown
seed=${HOSTILE_SEED:-$(printf %s "$sources" | cksum | sed 's/ .*//')}
exec "$1" "$2" "$3" "$seed" 15
