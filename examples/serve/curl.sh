#!/bin/sh
# Translates a text with a server: curl.sh SOURCE TARGET TEXT. ATTEND_URL is its address, ATTEND_KEY an API key, if it needs one.
set -eu
curl --silent --show-error --fail-with-body --max-time 15 "${ATTEND_URL:-http://127.0.0.1:5000}/translate" \
    --data-urlencode "q=$3" --data-urlencode "source=$1" --data-urlencode "target=$2" --data-urlencode "api_key=${ATTEND_KEY:-}"
