"""The clients of examples/serve, and the examples of the documentation, against the server."""

import json
import os
import shutil
import subprocess
import sys

from harness import Server, check, train, translate

EXAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples", "serve")
train("model", 1)
lines = ["a b c", "", "h g f e"] + ["d e f"] * 40
right = translate("model", lines)
with open("keys", "w") as f:
    f.write("some-key-1\n")
s = Server("--api-keys", "keys")
environment = {**os.environ, "ATTEND_URL": "http://127.0.0.1:%d" % s.port, "ATTEND_KEY": "some-key-1"}


def run(*command, text="", key=True):
    r = subprocess.run(command, input=text, capture_output=True, text=True, timeout=120, env={**environment, **({} if key else {"ATTEND_KEY": "none"})})
    return r.returncode, r.stdout, r.stderr


client = os.path.join(EXAMPLES, "client.py")
code, out, err = run(sys.executable, client, "en", "fr", text="".join(line + "\n" for line in lines))
check(code == 0 and out.split("\n")[:-1] == right, (code, out, err))
code, out, err = run(sys.executable, client, "en", "fr", text="a\n", key=False)
check(code == 1 and "invalid API key" in err, err)
code, out, err = run(sys.executable, client, "en", "zz", text="a\n")
check(code == 1 and "not supported" in err, err)
if shutil.which("curl"):
    code, out, err = run(os.path.join(EXAMPLES, "curl.sh"), "en", "fr", "a b c")
    check(code == 0 and json.loads(out) == {"translatedText": right[0]}, (out, err))
    code, out, err = run(os.path.join(EXAMPLES, "curl.sh"), "en", "fr", "a b c", key=False)
    check(code != 0 and "invalid API key" in out, (out, err))
else:
    print("curl is not installed: examples/serve/curl.sh is not tested")
s.stop()
print("ok")
