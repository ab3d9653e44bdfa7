"""LibreTranslate's own Python client, unchanged, in the Python that ATTEND_PEER_PYTHON names, or in the one that runs this. Skipped (77) where that has
no package libretranslatepy."""

import os
import subprocess
import sys
import urllib.error

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "peer"))
from peer import use_packages

use_packages("libretranslatepy")
from libretranslatepy import LibreTranslateAPI

from harness import Server, check, train, translate

train("model", 1)
right = translate("model", ["a b c"])[0]
with open("keys", "w") as f:
    f.write("some-key-1\n")
s = Server("--api-keys", "keys")
url = "http://127.0.0.1:%d" % s.port
client = LibreTranslateAPI(url, "some-key-1")
check(client.translate("a b c", "en", "fr") == right, "translate")
check(client.translate("a b c\nü & ?=+", "en", "fr").split("\n")[0] == right, "lines, and characters that a form escapes")
check(client.languages() == [{"code": "en", "name": "English", "targets": ["fr"]}], "languages")
check(client.detect("a b c") == [{"confidence": 100, "language": "en"}], "detect")
try:
    LibreTranslateAPI(url).translate("a", "en", "fr")
    check(False, "no key")
except urllib.error.HTTPError as error:
    check(error.code == 403, error)
example = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples", "serve", "libretranslate.py")
run = subprocess.run([sys.executable, example, "en", "fr", "a b c"], capture_output=True, text=True, timeout=120,
                     env={**os.environ, "ATTEND_URL": url, "ATTEND_KEY": "some-key-1"})
check(run.returncode == 0 and run.stdout == right + "\n", run)
s.stop()
print("ok")
