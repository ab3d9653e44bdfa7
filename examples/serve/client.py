#!/usr/bin/env python3
"""Translates lines of standard input with a server, by the standard library of Python alone.

    client.py SOURCE TARGET < lines > translations

ATTEND_URL is its address, ATTEND_KEY an API key, if it needs one. A busy server is asked again when it says so.
"""

import itertools
import json
import os
import sys
import time
import urllib.error
import urllib.request

URL = os.environ.get("ATTEND_URL", "http://127.0.0.1:5000")
LINES = 32  # of a request: they are translated together
TRIES = 5


def translate(lines, source, target):
    body = {"q": lines, "source": source, "target": target, "api_key": os.environ.get("ATTEND_KEY", "")}
    request = urllib.request.Request(URL + "/translate", json.dumps(body).encode(), {"Content-Type": "application/json"})
    for attempt in range(TRIES):
        try:
            with urllib.request.urlopen(request, timeout=15) as response:
                return json.load(response)["translatedText"]
        except urllib.error.HTTPError as error:
            message = json.load(error)["error"]
            if error.code not in (429, 503) or attempt == TRIES - 1:
                sys.exit(f"the server refuses: {message}")
            time.sleep(float(error.headers.get("Retry-After", 1)))
        except urllib.error.URLError as error:
            sys.exit(f"{URL} does not answer: {error.reason}")


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: client.py SOURCE TARGET < lines > translations")
    lines = (line.rstrip("\n") for line in sys.stdin)
    while block := list(itertools.islice(lines, LINES)):
        print("\n".join(translate(block, *sys.argv[1:])), flush=True)


if __name__ == "__main__":
    main()
