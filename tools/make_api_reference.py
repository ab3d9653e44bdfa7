#!/usr/bin/env python3
"""Writes the API reference: one HTML page for each public header, and an index.

    tools/make_api_reference.py HEADERS OUTPUT      HEADERS: include/attend, OUTPUT: build/docs/api
    tools/make_api_reference.py --check HEADERS     only checks that every public function has a comment

A comment documents the declarations that follow it, up to the next comment or blank line; a comment at the end of a line
documents that line. A comment "---- title ----" begins a section. A struct whose members come from a list macro
(ATTEND_CONFIG_FIELDS) is shown with its members. Exits with 1 and names file and line of each public function without a
comment. Needs nothing but Python's standard library.
"""

import html
import os
import re
import sys

STYLE = """
:root { color-scheme: light dark; --text: #1c2128; --muted: #59636e; --page: #ffffff; --code: #f4f6f8; --line: #d8dee4; --link: #0b57a4; }
@media (prefers-color-scheme: dark) {
  :root { --text: #d9e0e8; --muted: #9aa5b1; --page: #14181d; --code: #1d232a; --line: #343c45; --link: #79b8ff; }
}
body { margin: 0 auto; padding: 1.5rem 1rem 4rem; max-width: 62rem; font: 16px/1.5 system-ui, sans-serif; color: var(--text); background: var(--page); }
h1 { font-size: 1.6rem; margin: 0.5rem 0; }
h2 { font-size: 1.15rem; margin: 2.2rem 0 0.6rem; padding-bottom: 0.2rem; border-bottom: 1px solid var(--line); }
a { color: var(--link); text-decoration: none; }
a:hover { text-decoration: underline; }
nav { color: var(--muted); font-size: 0.9rem; }
pre { margin: 0; padding: 0.6rem 0.8rem; background: var(--code); border-radius: 6px; overflow-x: auto; font: 0.84rem/1.45 ui-monospace, monospace; }
.entry { margin: 1.1rem 0 1.5rem; }
.comment { margin: 0.45rem 0.8rem 0; }
.comment p { margin: 0.3rem 0; }
.comment pre, dd pre { background: none; padding: 0.2rem 0.8rem; }
code { font: 0.92em ui-monospace, monospace; }
.remark { color: var(--muted); }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0.3rem 1rem; }
dt { font-weight: 600; }
dd { margin: 0; }
dd p { margin: 0 0 0.3rem; }
table { border-collapse: collapse; }
td { padding: 0.2rem 1rem 0.2rem 0; vertical-align: top; }
.names { columns: 18rem; font: 0.84rem/1.6 ui-monospace, monospace; list-style: none; padding: 0; }
:target { outline: 2px solid var(--link); border-radius: 6px; }
"""

TOKEN = re.compile(r"/\*.*?\*/|\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|[{}();]|\n|[^/\"'{}();\n]+|/", re.S)


class Code:
    """A declaration: its text, its line, and the comment that stands at its end."""

    def __init__(self, text, line):
        self.text, self.line, self.remark = text, line, ""


class Entry:
    """Declarations that share a comment."""

    def __init__(self, comment, section):
        self.comment, self.section, self.codes = comment, section, []


def comment_text(token):
    """The text of a comment without its delimiters and without the column of asterisks."""
    lines = token[2:-2].split("\n")
    return "\n".join([lines[0].strip()] + [re.sub(r"^\s*\* ?", "", line).rstrip() for line in lines[1:]]).strip("\n")


def parse(text):
    """The purpose comment of a header, and its entries."""
    purpose_match = re.match(r"\s*/\*.*?\*/", text, re.S)
    if not purpose_match:
        raise SystemExit("a header does not begin with a comment that states its purpose")
    purpose = comment_text(purpose_match.group().strip())
    line = purpose_match.group().count("\n") + 1
    body = text[purpose_match.end():]

    # Remove the include guard, includes and the C++ wrapper; keep the line count. Definitions stay.
    def blank(match):
        return "\n" * match.group().count("\n")

    body = re.sub(r"(?m)^#ifdef __cplusplus\n.*?^#endif\n?", blank, body, flags=re.S)
    body = re.sub(r"(?m)^#\s*(include|ifndef|ifdef|if|else|elif|endif|error|pragma)\b.*\n?", blank, body)
    body = re.sub(r"(?m)^#define \w+_H[ \t]*\n", blank, body)

    entries, section, pending, current = [], "", None, None
    buffer, start, depth, blanks = "", 0, 0, 0
    last_code, last_code_line = None, -1

    def add_code(text, first_line):
        nonlocal pending, current, last_code
        if current is None or pending is not None:
            current = Entry(pending or "", section)
            entries.append(current)
            pending = None
        last_code = Code(text.strip("\n"), first_line)
        current.codes.append(last_code)

    # Macro definitions: one per directive, with continuation lines.
    macro = re.compile(r"#define (?:.*\\\n)*.*")
    position = 0
    while position < len(body):
        directive = macro.match(body, position) if not buffer.strip() and body[position] == "#" else None
        if directive:
            add_code(re.sub(r"[ \t]*\\\n", " \\\\\n", directive.group()), line)
            line += directive.group().count("\n")
            last_code_line = line
            position = directive.end()
            blanks = 0
            continue
        token = TOKEN.match(body, position).group()
        position += len(token)
        if token.startswith("/*") and not buffer.strip():
            words = comment_text(token)
            heading = re.fullmatch(r"-{3,}\s*(.*?)\s*-{3,}", words, re.S)
            if line == last_code_line and last_code is not None:
                last_code.remark = words
            elif heading:
                section, pending, current = " ".join(heading.group(1).split()), None, None
            else:
                pending = words
            line += token.count("\n")
            if line != last_code_line:
                last_code_line = -1
            blanks = 0
            continue
        if token == "\n":
            if buffer.strip():
                buffer += token
            else:
                blanks += 1
                if blanks > 1:
                    current = None
                    if pending is not None:  # a comment with no declaration
                        entries.append(Entry(pending, section))
                        pending = None
            line += 1
            continue
        if not buffer.strip():
            if not token.strip():
                continue
            start, buffer = line, ""
        buffer += token
        line += token.count("\n")
        depth += token in "{(" and token != ""
        depth -= token in "})" and token != ""
        if token == ";" and depth == 0:
            add_code(buffer, start)
            buffer, last_code_line, blanks = "", line, 0
        elif token.strip():
            blanks = 0
    expand_lists(entries)
    return purpose, entries


def arguments_of(text):
    """The arguments in the parentheses with which the text begins, and the rest of the text."""
    arguments, depth, start = [], 0, 1
    for match in re.finditer(r'"(?:\\.|[^"\\])*"|[(),]', text):
        token = match.group()
        depth += (token == "(") - (token == ")")
        if (token == "," and depth == 1) or depth == 0:
            arguments.append(" ".join(text[start:match.start()].split()))
            start = match.end()
        if depth == 0:
            return arguments, text[match.end():]
    raise SystemExit(f"unbalanced parentheses: {text[:60]}")


def expand_lists(entries):
    """Shows the members of a struct that a list macro declares. The comment of the list names the columns of a line, of
    which the help text and the default become the comment of the member. The list itself is abridged."""
    codes = [(entry, code) for entry in entries for code in entry.codes]
    for _, user in codes:
        call = re.search(r"\n *([A-Z_]+)\(([A-Z_]+), [A-Z_]+\)\n", user.text) if "typedef struct" in user.text else None
        for entry, code in codes:
            if not call or not code.text.startswith(f"#define {call.group(1)}("):
                continue
            lines = code.text.replace("\\\n", "\n")
            columns, _ = arguments_of(re.search(r"FIELD(\(type.*\))", entry.comment).group(1))
            rest = lines[lines.index(")") + 1:].strip()
            members = []
            while rest:
                line, rest = arguments_of(rest[rest.index("("):])
                column = dict(zip(columns, line))
                remark = "".join(re.findall(r'"((?:\\.|[^"\\])*)"', column["help"]))
                kind = column["type"] + ("" if column["type"].endswith("*") else " ")
                members.append(f"    {kind}{column['member']}; /* {remark} (default: {column['default']}) */")
                rest = rest.strip()
            user.text = user.text.replace(call.group(), "\n" + "\n".join(members) + "\n")
            code.text = lines.split("\n")[0].rstrip() + " ..."
        if call and call.group() in user.text:
            raise SystemExit(f"{call.group(1)}, which declares the members of a struct, is not defined in the same header")


def without_comments(code):
    return re.sub(r"/\*.*?\*/", " ", code, flags=re.S)


def names_of(code):
    """(kind, name) of everything that a declaration declares."""
    text = without_comments(code)
    macro = re.match(r"\s*#define (\w+)", text)
    if macro:
        return [("macro", macro.group(1))]
    found = []
    constants = re.match(r"\s*(?:typedef\s+)?enum\b[^{]*\{(.*)\}", text, re.S)
    if constants:
        for item in constants.group(1).split(","):
            name = re.match(r"\s*(\w+)", item)
            if name:
                found.append(("constant", name.group(1)))
    if re.match(r"\s*typedef\b", text):
        function_type = re.search(r"\(\*(\w+)\)\s*\(", text) if "{" not in text else None
        name = function_type or re.search(r"(\w+)\s*(?:\[[^\]]*\])*\s*;\s*$", text)
        found.append(("type", name.group(1)))
        return found
    record = re.match(r"\s*(?:struct|union|enum)\s+(\w+)\s*(?:\{|;)", text)
    if record:
        return found + [("type", record.group(1))]
    if "{" in text:
        return found
    function = re.match(r"[^(]*?(\w+)\s*\(", text)
    if function:
        return [("function", function.group(1))]
    for name in re.findall(r"(\w+)\s*(?:\[[^\]]*\])*\s*(?:,|;)", text):
        found.append(("object", name))
    return found


class Reference:
    def __init__(self, directory):
        self.headers = {}  # name: (purpose, entries)
        self.where = {}  # identifier: header
        self.kind = {}
        for name in sorted(os.listdir(directory)):
            if not name.endswith(".h"):
                continue
            with open(os.path.join(directory, name), encoding="utf-8") as file:
                self.headers[name] = parse(file.read())
            for entry in self.headers[name][1]:
                for code in entry.codes:
                    for kind, identifier in names_of(code.text):
                        if identifier not in self.where or kind != "type" or "{" in code.text:
                            self.where[identifier], self.kind[identifier] = name, kind

    def undocumented(self):
        """(header, line, function) for each function without a comment."""
        missing = []
        for header, (_, entries) in self.headers.items():
            for entry in entries:
                for code in entry.codes:
                    for kind, name in names_of(code.text):
                        if kind == "function" and not entry.comment and not code.remark:
                            missing.append((header, code.line, name))
        return missing

    def linked(self, text, here, defined=()):
        """Escapes text and links the identifiers and headers in it. Names in `defined` are not linked."""

        def replace(match):
            word = match.group()
            if word in self.headers and word != here:
                return f'<a href="{page_of(word)}">{word}</a>'
            if word in self.where and word not in defined:
                target = self.where[word]
                return f'<a href="{"" if target == here else page_of(target)}#{word}">{word}</a>'
            return word

        return re.sub(r"\b\w+\.h\b|\b\w+\b", replace, html.escape(text, quote=False))

    def prose(self, text, here):
        """Paragraphs; lines that are indented by four blanks or more stay as they are (formulas)."""
        parts, paragraph, formula = [], [], []

        def flush():
            if paragraph:
                text = self.linked(" ".join(paragraph), here)
                parts.append("<p>" + re.sub(r"`([^`]+)`", r"<code>\1</code>", text) + "</p>")
            if formula:
                parts.append(f"<pre>{self.linked(chr(10).join(formula), here)}</pre>")
            paragraph.clear()
            formula.clear()

        for line in text.split("\n"):
            indented = len(line) - len(line.lstrip()) >= 4
            if not line.strip() or (indented and paragraph) or (formula and not indented):
                flush()
            if line.strip():
                (formula if indented else paragraph).append(line[4:] if indented else line.strip())
        flush()
        return "\n".join(parts)

    def purpose(self, text, here):
        """The opening comment: a sentence, then labelled paragraphs ("Threads    ...") as a list of definitions."""
        first, _, rest = text.partition("\n\n")
        if "\n" in first and re.search(r"\n\w[\w ]*?\s{2,}\S", first):
            first, _, rest = first.partition("\n")
        first = re.sub(r"^\w+\.h:\s*", "", " ".join(first.split()))
        first = first[:1].upper() + first[1:]
        out, labelled, plain = [f"<p>{self.linked(first, here)}</p>"], [], []
        label = re.compile(r"^([A-Z]\w+(?: \w+)?)\s{2,}(\S.*)$")
        column = 0
        for line in rest.split("\n"):
            match = label.match(line)
            if match:
                column = match.start(2)
                labelled.append([match.group(1), [match.group(2)]])
            elif labelled and (not line.strip() or line.startswith(" " * min(column, 8))):
                labelled[-1][1].append(line[column:] if line.startswith(" " * column) else line.strip())
            else:
                plain.append(line)
        if any(line.strip() for line in plain):
            out.append(self.prose("\n".join(plain), here))
        if labelled:
            out.append("<dl>")
            for name, lines in labelled:
                body = self.prose("\n".join(lines), here)
                out.append(f"<dt>{html.escape(name)}</dt><dd>{body}</dd>")
            out.append("</dl>")
        return "\n".join(out)

    def summary(self, header):
        text = self.headers[header][0].split("\n\n")[0]
        text = re.sub(r"^\w+\.h:\s*", "", " ".join(text.split()))
        text = re.split(r"(?<=\.)\s", text)[0]
        return text[:1].upper() + text[1:]

    def header_page(self, header):
        purpose, entries = self.headers[header]
        out = [f"<h1>&lt;attend/{header}&gt;</h1>", self.purpose(purpose, header)]
        section = None
        for entry in entries:
            if entry.section != section and entry.section:
                section = entry.section
                out.append(f"<h2>{self.linked(section[0].upper() + section[1:], header)}</h2>")
            if not entry.codes:
                out.append(f'<div class="comment">{self.prose(entry.comment, header)}</div>')
                continue
            out.append('<div class="entry">')
            lines = []
            for code in entry.codes:
                names = [name for _, name in names_of(code.text) if self.where.get(name) == header]
                text = self.linked(code.text, header, names)
                for name in names:  # the anchor is the name itself, where it first occurs
                    text = re.sub(rf"(?<![\w#\">])\b{name}\b", f'<b id="{name}">{name}</b>', text, count=1)
                remark = f' <span class="remark">/* {self.linked(" ".join(code.remark.split()), header)} */</span>' if code.remark else ""
                lines.append(text + remark)
            out.append("<pre>" + "\n".join(lines) + "</pre>")
            if entry.comment:
                out.append(f'<div class="comment">{self.prose(entry.comment, header)}</div>')
            out.append("</div>")
        return page(header, out)

    def index_page(self):
        out = ["<h1>attend: C API reference</h1>", "<p>Generated from the headers in <code>include/attend</code>.</p>", "<h2>Headers</h2>", "<table>"]
        for header in self.headers:
            out.append(f'<tr><td><a href="{page_of(header)}">{header}</a></td><td>{self.linked(self.summary(header), header)}</td></tr>')
        out.append("</table>")
        for kind, title in (("function", "Functions"), ("type", "Types"), ("constant", "Constants"), ("macro", "Macros"), ("object", "Objects")):
            names = sorted(name for name in self.where if self.kind[name] == kind)
            if names:
                out.append(f'<h2>{title}</h2><ul class="names">')
                out += [f'<li><a href="{page_of(self.where[name])}#{name}">{name}</a></li>' for name in names]
                out.append("</ul>")
        return page("C API reference", out, top=False)


def page_of(header):
    return header.replace(".h", ".html")


def page(title, body, top=True):
    navigation = '<nav><a href="index.html">attend C API</a></nav>' if top else ""
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>{html.escape(title)}: attend</title><style>{STYLE}</style></head><body>\n{navigation}\n" + "\n".join(body) + "\n</body></html>\n"
    )


def main(arguments):
    check_only = arguments[:1] == ["--check"]
    if len(arguments) != 2:
        raise SystemExit(__doc__)
    directory = arguments[1] if check_only else arguments[0]
    reference = Reference(directory)
    missing = reference.undocumented()
    for header, line, name in missing:
        print(f"{os.path.join(directory, header)}:{line}: {name} has no comment", file=sys.stderr)
    if not check_only:
        output = arguments[1]
        os.makedirs(output, exist_ok=True)
        pages = {page_of(header): reference.header_page(header) for header in reference.headers if header != "attend.h"}
        pages["attend.html"] = reference.header_page("attend.h")
        pages["index.html"] = reference.index_page()
        for name, text in pages.items():
            with open(os.path.join(output, name), "w", encoding="utf-8") as file:
                file.write(text)
        functions = sum(kind == "function" for kind in reference.kind.values())
        print(f"{len(pages)} pages, {functions} functions: {os.path.join(output, 'index.html')}")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
