"""Requests whose end two servers could see in different places are refused, and the connection is closed: nothing after them is answered."""

import time

from harness import Server, check, raw, train

train("model", 1, updates=5)
s = Server("--rate", "0")
second = b"GET /frontend/settings HTTP/1.1\r\nHost: x\r\n\r\n"  # the smuggled one
head = b"POST /translate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
cases = [
    (b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "both"),
    (b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n", "both"),
    (b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello", "two lengths"),
    (b"Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello", "two equal lengths"),
    (b"Content-Length: 5, 5\r\n\r\nhello", "a list of lengths"),
    (b"Content-Length: +5\r\n\r\nhello", "a signed length"),
    (b"Content-Length: -5\r\n\r\nhello", "a negative length"),
    (b"Content-Length: 0x5\r\n\r\nhello", "a hexadecimal length"),
    (b"Content-Length: 99999999999999999999999\r\n\r\nhello", "a huge length"),
    (b"Content-Length:\r\n\r\nhello", "an empty length"),
    (b"Content-Length: 5 5\r\n\r\nhello", "a length with a space"),
    (b"Transfer-Encoding: identity\r\n\r\nhello", "identity"),
    (b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", "gzip"),
    (b"Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n", "chunked twice"),
    (b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n", "two encodings"),
    (b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", "an unknown encoding"),
    (b"Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n", "a vertical tab"),
    (b"Transfer-Encoding: chunked\r\n\r\nzz\r\nhello\r\n0\r\n\r\n", "a chunk size that is no number"),
    (b"Transfer-Encoding: chunked\r\n\r\n-5\r\nhello\r\n0\r\n\r\n", "a negative chunk size"),
    (b"Transfer-Encoding: chunked\r\n\r\nfffffffffffffffffff\r\nhello\r\n0\r\n\r\n", "a huge chunk size"),
    (b"Host: y\r\nContent-Length: 5\r\n\r\nhello", "two hosts"),
    (b"Content-Length : 5\r\n\r\nhello", "a space before the colon"),
]
# an answer of 400 is needed: an unknown header would be no reason to refuse
strict = [
    (b"Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n", "a space before the colon"),
    (b"Transfer-Encoding\t: chunked\r\n\r\n0\r\n\r\n", "a tab before the colon"),
    (b"Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n", "a folded encoding"),
    (b"Transfer-Encoding: chunked\r\n x\r\n\r\n0\r\n\r\n", "an encoding with a second line"),
    (b"Content-Length: 4\r\n 0\r\n\r\nhello", "a folded length"),
    (b"Content-Leng: 5\r\n th\r\n\r\nhello", "a name that a second line completes"),
    (b"X: 5\r\n y\r\n\r\n", "any folded header"),
    (b"X: 5\r\n\ty: z\r\n\r\n", "a folded header with a tab and a colon"),
    (b"Transfer-Encodingx: chunked\r\n\r\n0\r\n\r\n", "a longer name"),
    (b"Content-Length2: 5\r\n\r\nhello", "a longer name"),
    (b"Host2: y\r\n\r\n", "a longer host"),
    (b"Content Length: 5\r\n\r\nhello", "a space in a name"),
    (b"X\x01: 5\r\n\r\n", "a control character in a name"),
    (b"X\x7f: 5\r\n\r\n", "DEL in a name"),
    (b"X\xe9: 5\r\n\r\n", "a name that is not ASCII"),
    (b"X(y): 5\r\n\r\n", "a separator in a name"),
    (b": 5\r\n Content-Length\r\n\r\nhello", "an empty name that a second line completes"),
    (b"Transfer-Encoding: chunked\0x\r\n\r\n0\r\n\r\n", "NUL in an encoding"),
    (b"Transfer-Encoding: chunked\0\r\nX: y\r\n\r\n0\r\n\r\n", "NUL after an encoding"),
    (b"Transfer-Encoding: chunked\0\r\n\r\n0\r\n\r\n", "NUL at the end of the header"),
    (b"Transfer-Encoding: chunked\n\r\n0\r\n\r\n", "a line feed alone"),
    (b"X: y\rContent-Length: 5\r\n\r\nhello", "a carriage return alone before a length"),
    (b"X:\rContent-Length: 5\r\n\r\nhello", "a carriage return alone after an empty value"),
    (b"X: y\nContent-Length: 5\r\n\r\nhello", "a line feed alone before a length"),
    (b"X: y\r\r", "a header that ends with two carriage returns"),
    (b"X: y\n\n", "a header that ends with two line feeds"),
    (b"Content-Length: 5\0005\r\n\r\nhello", "NUL in a length"),
]
before = s.metric("malformed_total")
for rest, name in cases:
    answer = raw(s, head + rest + second, timeout=5)
    check(b"charLimit" not in answer, (name, answer[:300]))
    check(answer == b"" or answer.startswith(b"HTTP/1.1 400") or answer.startswith(b"HTTP/1.1 413"), (name, answer[:100]))
for rest, name in strict:
    answer = raw(s, head + rest + second, timeout=5)
    check(answer.startswith(b"HTTP/1.1 400") and answer.count(b"HTTP/1.") == 1, (name, answer[:300]))
check(s.metric("malformed_total") > before, "the metric")
for line_end in (b"\r", b"\n"):  # after the first line
    answer = raw(s, head.replace(b"1.1\r\n", b"1.1" + line_end) + b"Content-Length: 2\r\n\r\n{}" + second, timeout=5)
    check(b" 400 " in answer.split(b"\r\n")[0] and b"charLimit" not in answer, answer[:300])
answer = raw(s, head.replace(b"1.1", b"1.0") + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n" + second, timeout=5)
check(b" 400 " in answer.split(b"\r\n")[0] and b"charLimit" not in answer, answer[:300])
# blanks around values, and bytes of UTF-8 in values, are allowed
answer = raw(s, b"GET /health HTTP/1.1\r\nHost:x\r\nX:\t  y \r\nEmpty:\r\nY: \xc3\xa9\r\nConnection: close\r\n\r\n")
check(answer.startswith(b"HTTP/1.1 200"), answer[:300])
# a well-formed request with something after it is two requests
answer = raw(s, head + b"Content-Length: 2\r\n\r\n{}" + second.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
check(answer.count(b"HTTP/1.1") == 2 and b"charLimit" in answer, answer)
# unless its body comes in chunks, whose end a proxy could see elsewhere
for chunks in (b"2\r\n{}\r\n0\r\n\r\n", b"2;a=b\r\n{}\r\n0\r\n\r\n", b"2;\n{}\r\n0\r\n\r\n", b"2\n{}\n0\n\n"):
    answer = raw(s, head + b"Transfer-Encoding: chunked\r\n\r\n" + chunks + second)
    check(answer.count(b"HTTP/1.1") == 1 and b"Connection: close" in answer, answer)
    # libmicrohttpd 1.0 accepts the first of them only
    check(b"q is missing" in answer or (not chunks.startswith(b"2\r\n") and b"chunked encoding is syntactically incorrect" in answer), answer)
# large headers in pieces of any size, several on a connection, are accepted wherever the length is
with s.connect() as c:
    for pieces in (1 << 20, 1000, 97, 1):
        for before, after in ((0, 0), (5000, 0), (0, 5000), (12000, 3000), (15000, 0), (100, 15000)):
            if pieces == 1:
                before, after = before // 10, after // 10
            data = head + b"".join(b"X: %s\r\n" % (b"a" * 90) for _ in range(before // 100)) + b"Content-Length: 2\r\n"
            data += b"".join(b"Y: %s\r\n" % (b"b" * 90) for _ in range(after // 100)) + b"\r\n{}"
            for i in range(0, len(data), pieces):
                c.sendall(data[i:i + pieces])
                if pieces < 1000 and i % 20 == 0:
                    time.sleep(0.0002)
            answer = b""
            while not answer.endswith(b"}\n"):
                part = c.recv(65536)
                check(part, (pieces, before, after, answer))
                answer += part
            check(b"q is missing" in answer, (pieces, before, after, answer))
# not HTTP at all
for data in (b"\x16\x03\x01\x02\x00", b"GET\r\n\r\n", b"\r\n" * 1000, b"GET / HTTP/9.9\r\n\r\n", b"\0" * 100, b"GET /" + b"a" * 100000):
    raw(s, data, timeout=1)
check(s.request("GET", "/health")[0] == 200, "it still answers")
s.stop()
print("%d cases" % (len(cases) + len(strict)))
