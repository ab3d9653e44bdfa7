"""A Python peer of attend serve: CTranslate2 behind http.server, a thread for each connection and two for translating. Its model has random weights and
the sizes of a small Transformer (bench/peers/ctranslate2_peer.py): peer.py PORT"""

import json
import os
import sys
import tempfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

port = int(sys.argv[1])
sys.argv[1:] = ["worker"]  # it imports ctranslate2 then
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "peers"))
import ctranslate2_peer
import ctranslate2

TOKENS = ctranslate2_peer.TOKENS
directory = tempfile.mkdtemp()
ctranslate2_peer.save_model(directory)
translator = ctranslate2.Translator(directory, compute_type="int8", inter_threads=2, intra_threads=1)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        tokens = ["t%d" % (3 + hash(w) % 9000) for w in body["q"].split()]
        result = translator.translate_batch([tokens], beam_size=5, max_decoding_length=TOKENS, min_decoding_length=TOKENS)
        text = json.dumps({"translatedText": " ".join(result[0].hypotheses[0])}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    request_queue_size = 128


print("ready", flush=True)
Server(("127.0.0.1", port), Handler).serve_forever()
