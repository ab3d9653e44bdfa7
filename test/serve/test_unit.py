"""The units of systemd are valid, and the sandbox is strict. Skipped (77) without systemd-analyze.

test_unit.py ATTEND SERVICE SOCKET
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile

if not shutil.which("systemd-analyze"):
    print("skipped: systemd-analyze is not installed (apt-get install systemd)")
    sys.exit(77)
attend, service, socket = (os.path.abspath(p) for p in sys.argv[1:])
with tempfile.TemporaryDirectory() as folder:
    shutil.copy(socket, folder)
    text = open(service).read()
    copy = os.path.join(folder, "attend.service")
    with open(copy, "w") as f:
        f.write(re.sub(r"^ExecStart=\S+", "ExecStart=" + attend, text, flags=re.M))
    # the drop-in of the documentation
    guide = open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs/serve.md")).read()
    found = re.search(r"`systemctl edit attend` adds\n\n((?:    .*\n)+)", guide)
    if not found or "${CREDENTIALS_DIRECTORY}" not in found.group(1):
        sys.exit("docs/serve.md has no drop-in for keys")
    os.mkdir(copy + ".d")
    with open(os.path.join(copy + ".d", "override.conf"), "w") as f:
        f.write(re.sub(r"^    ", "", found.group(1), flags=re.M).replace("/usr/bin/attend", attend))
    verify = subprocess.run(["systemd-analyze", "verify", "--man=no", copy, os.path.join(folder, "attend.socket")], capture_output=True, text=True)
    if verify.returncode or "attend" in verify.stderr:
        sys.exit("systemd-analyze verify: " + verify.stderr)
    # at most 1.5 of 10; an ordinary service has more than 9
    strict = subprocess.run(["systemd-analyze", "security", "--offline=yes", "--threshold=15", copy], capture_output=True, text=True)
    if strict.returncode:
        sys.exit("the sandbox: " + strict.stdout[-300:] + strict.stderr)
print("ok: " + strict.stdout.strip().splitlines()[-1])
