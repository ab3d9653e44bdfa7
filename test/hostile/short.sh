#!/bin/sh
# short.sh CAMPAIGN COMMAND DATA: the short form of a campaign (campaign.h), 15 s. The seed is the time of the last commit, so that a revision tries the same
# cases each time and the next one tries others; where there is no repository it is the day. HOSTILE_SEED replaces it. The campaign prints the seed.
seed=${HOSTILE_SEED:-$(git -C "$(dirname "$0")" log -1 --format=%ct 2>/dev/null || date +%Y%m%d)}
exec "$1" "$2" "$3" "$seed" 15
