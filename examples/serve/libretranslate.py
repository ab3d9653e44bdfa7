#!/usr/bin/env python3
"""Translates a text with LibreTranslate's own client (the Python package libretranslatepy): libretranslate.py SOURCE TARGET TEXT"""

import os
import sys

from libretranslatepy import LibreTranslateAPI

server = LibreTranslateAPI(os.environ.get("ATTEND_URL", "http://127.0.0.1:5000"), os.environ.get("ATTEND_KEY"))
print(server.translate(sys.argv[3], sys.argv[1], sys.argv[2], timeout=15))
