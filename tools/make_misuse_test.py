#!/usr/bin/env python3
"""Writes the calls of test/misuse: every function of the public headers, with every argument wrong in turn.

    tools/make_misuse_test.py HEADERS OUTPUT      HEADERS: include/attend, OUTPUT: a C file

The headers say which functions, parameters, enumerations and structs there are. The tables below say what a valid argument of
each type is (test/misuse/objects.h makes them) and which arguments may be NULL. A function or type that the tables do not know
is an error, so that a new function cannot be forgotten.

Each function is called with valid arguments, and then with one of them wrong: a pointer NULL, an integer 0, negative or huge, an
enumeration out of range, a number that is none, an array of numbers out of range, a member of a struct of options wrong in the
same ways; at last with every pointer NULL.
"""

import glob
import os
import re
import sys

# ---- what a valid argument is ----

# By type; const is left out.
VALID = {
    "attend_ranks *": "NULL",  # alone
    "attend_ctx *": "a_ctx()", "attend_ctx * *": "some_contexts()", "attend_var *": "a_var()", "attend_var * *": "some_vars()",
    "attend_ragged *": "a_ragged()", "attend_source *": "a_source()", "attend_attention_options *": "an_attention()",
    "attend_attention_inputs *": "attention_inputs()", "attend_runner *": "a_runner()", "attend_arrays *": "some_arrays()",
    "attend_array_gradients *": "array_gradients()", "attend_cache *": "a_cache()", "attend_cell *": "a_cell()",
    "attend_state *": "a_state()", "attend_lstmn_cell *": "an_lstmn_cell()", "attend_lstmn_fusion *": "a_fusion()",
    "attend_lstmn_source *": "an_lstmn_source()", "attend_lstmn_io *": "lstmn_io()", "attend_params *": "some_params()",
    "attend_param *": "a_param()", "attend_grads *": "some_grads()", "attend_team *": "a_team()",
    "attend_optimizer *": "an_optimizer()", "attend_optimizer_options *": "&(attend_optimizer_options)ATTEND_OPTIMIZER_OPTIONS_INIT",
    "attend_schedule *": "a_schedule()", "attend_loss_fn": "a_loss", "attend_shard_fn": "a_shard", "attend_config *": "a_config()",
    "attend_config_field *": "attend_config_field_at(0)", "attend_model *": "a_model()", "attend_model * *": "some_models()",
    "attend_pairs *": "some_pairs()", "attend_decoding *": "a_decoding()", "attend_loss_options *": "loss_options()",
    "attend_score *": "&attend_score_dot", "attend_load_options *": "&(attend_load_options){ 0 }", "attend_search_options *": "search_options()",
    "attend_search_sources *": "search_sources()", "attend_search_result *": "a_search_result()", "attend_shortlist *": "a_shortlist()",
    "attend_tokenizer *": "a_tokenizer()", "attend_tokenizer_options *": "tokenizer_options()", "attend_line_fn": "next_line",
    "attend_string *": "a_string()", "attend_ids *": "some_ids()", "attend_string_table *": "a_string_table()",
    "attend_lines *": "some_lines()", "attend_pairs_spec *": "a_spec()", "attend_pairs_file *": "a_pairs_file()",
    "attend_sentence_reader *": '&(attend_sentence_reader){ .text = "a. B", .size = 4 }',
    "attend_data_check_report *": "a_report()", "attend_data_check_counts *": "(const attend_data_check_counts[]){ { 0 } }", "attend_atomic_file *": "an_atomic_file()", "attend_json_writer *": "a_json_writer()",
    "attend_json_sink": "a_sink", "attend_json_reader *": "a_json_reader()", "char": "'a'", "FILE *": "a_file()", "attend_metric_options *": "metric_options()",
    "attend_metric_sums *": "metric_sums()", "attend_aer_sums *": "aer_sums()", "attend_word_link *": "some_links()",
    "attend_pair_links *": "pair_links()", "attend_scorer *": "a_scorer()", "attend_scored_pair *": "a_scored_pair()",
    "attend_aligner *": "an_aligner()", "attend_aligner_options *": "aligner_options()",
    "attend_map_selection *": "a_map_selection()", "attend_translator *": "a_translator()",
    "attend_translator_options *": "translator_options()", "attend_line_result *": "a_line_result()",
    "attend_hypothesis *": "a_hypothesis()", "attend_dictionary *": "a_dictionary()",
    "attend_batcher_options *": "batcher_options()", "attend_batcher *": "a_batcher()", "attend_batcher_model *": "a_batcher_model()",
    "attend_request *": "some_requests()", "attend_future *": "a_future()", "attend_batcher_statistics *": "scratch()", "attend_map *": "a_map()",
    "attend_view_options *": "view_options()", "attend_map_list *": "a_map_list()", "attend_panel *": "some_panels()", "attend_grid *": "a_grid()",
    "attend_plot *": "a_plot()", "attend_train_options *": "train_options()", "attend_train_events *": "train_events()",
    "attend_data_size *": "data_size()", "attend_training_request *": "training_request()", "attend_training_choice *": "scratch()", "attend_training_history *": "a_history()", "attend_rng *": "&(attend_rng){ 0 }",
    "attend_alignment": "(attend_alignment){ 0, 0, false }", "attend_mark": "attend_ctx_mark(a_ctx())", "attend_colour": "(attend_colour){ 0, 0, 0 }",
    "char *": '"a"', "char * *": '(const char *const[]){ "a b", "b c", "a b", "b c" }', "int *": "(const int[]){ 1, 1, 1, 1 }",
    "size_t *": "(const size_t[]){ 3, 3, 3, 3 }", "bool *": "scratch()", "void *": "scratch()", "double": "0.5", "bool": "false",
    "size_t": "1", "uint64_t": "1", "int64_t": "1", "int": "1",
}
# By the name of the parameter, for the basic types.
VALID_NAMED = {
    "char *": {"path": '"lines"', "format": '"text"', "side": '"source"', "json": '"null"', "space": '" "', "name": '"hidden"',
               "value": '"4"', "source": '"a b"', "target": '"b c"', "hypothesis": '"a b"'},
    "char * *": {"names": '(const char *const[]){ "a.tsv", "b.tsv", "c.tsv", "d.tsv" }', "paths": '(const char *const[]){ "model", "model", "model", "model" }'},
    "int *": {"shape": "(const int[]){ 2, 4, 1, 1 }", "lengths": "(const int[]){ 2, 2, 2, 2 }", "source": "(const int[]){ 3, 2, 3, 2 }",
              "tokens": "(const int[]){ ATTEND_BEGIN, 3, 3, 3 }", "parents": "(const int[]){ 0, 0, 0, 0 }", "from": "(const int[]){ 0, 0, 0, 0 }",
              "ids": "(const int[]){ 0, 1, 0, 1 }", "rows": "(const int[]){ 0, 1, 2, 3 }", "kinds": "(const int[]){ -1, -1 }",
              "target_ids": "(const int[]){ 3, 2, 3, 2 }"},
    "int": {"rank": "2", "layer": "0", "head": "0", "axis": "0", "i": "0", "hypothesis": "0", "pair": "0", "line": "0", "rank_of": "0",
            "sequence": "0", "first": "0", "flags": "ATTEND_TRANSPOSE_B", "room": "4", "samples": "10", "n": "2", "parameter": "0", "which": "0", "number": "0",
            "first_position": "0", "batch": "2"},
    "double": {"scale": "1", "rate": "0.001", "score": "-1", "step": "1e-3"},
    "size_t": {"size": "1"},
}
# By function and parameter, where the above does not fit.
VALID_HERE = {
    "attend_backward.loss": "a_number()", "attend_layer_norm.gain": "a_vector()", "attend_layer_norm.bias": "a_vector()",
    "attend_linear.b": "NULL", "attend_window_position.wp": "a_var()", "attend_window_position.vp": "attend_slice(a_ctx(), a_var(), 0, 2)",
    "attend_source_new.parameters": "NULL", "attend_alignment_loss.weights": "a_weights()", "attend_cache_append.rows": "1",
    "attend_shortlist_new.source_vocab": "6", "attend_shortlist_new.target_vocab": "6", "attend_shortlist_add.source": "3",
    "attend_shortlist_add.target": "3", "attend_shortlist_count.target": "3", "attend_search_result_at.source": "0",
    "attend_search_result_at.rank": "0", "attend_search_result_count.source": "0", "attend_grads_of.p": "a_param()",
    "attend_decoding_step.d": "a_new_decoding()", "attend_decoding_set_top_k.d": "a_new_decoding()", "attend_decoding_set_top_k.k": "2",
    "attend_decoding_use_shortlist.d": "a_new_decoding()", "attend_params_find.name": '"w"', "attend_params_add.name": '"v"',
    "attend_cross_entropy.targets": "(const int[]){ 0, 1, 0, 1 }", "attend_score_find.name": '"dot"', "attend_metric_find.name": '"bleu"',
    "attend_model_load.path": '"model"', "attend_is_checkpoint.path": '"model"', "attend_checkpoint_held_out.path": '"model"', "attend_checkpoint_option.path": '"model"',
    "attend_checkpoint_option.name": '"hidden"', "attend_checkpoint_option.text": "scratch()", "attend_checkpoint_option.size": "64",
    "attend_dictionary_read.path": '"words"', "attend_aligner_load.path": '"aligner"', "attend_aligner_check_file.path": '"aligner"', "attend_aligner_save.path": '"saved"',
    "attend_aligner_add.a": "a_new_aligner()", "attend_aligner_train.a": "a_new_aligner()", "attend_aligner_align_added.first": "0",
    "attend_training_history_read.path": '"log"', "attend_pairs_try_hold_out.train": "a_spec()", "attend_atomic_file_begin.path": '"written"', "attend_plot_write.path": '"plot"',
    "attend_model_save.path": '"saved"', "attend_parse_real.text": '"1.5"', "attend_parse_integer.text": '"15"', "attend_parse_unsigned.text": '"15"',
    "attend_model_quantize.precision": "ATTEND_INT8", "attend_model_attached.name": '"source.vocabulary"', "attend_model_load_bytes.bytes": "scratch()",
    "attend_map_new.target_ids": "NULL", "attend_map_new.target_count": "0", "attend_slice.count": "2", "attend_config_get.size": "64",
    "attend_config_get.text": "scratch()", "attend_metric_signature.text": "scratch()", "attend_format_real.text": "scratch()",
    "attend_score_names.out": "scratch()", "attend_model_new.seed": "1", "attend_scorer_set_memory.bytes": "(size_t)1 << 30", "attend_map_selection_set_memory.bytes": "(size_t)1 << 30", "attend_data_check.memory": "0", "attend_symmetrize.out_count": "scratch()",
    "attend_reshape.rank": "1", "attend_reshape.shape": "(const int[]){ 8, 1, 1, 1 }", "attend_rotary.heads": "1",
    "attend_swiglu.ab": "a_var()", "attend_add_learned_positions.table": "a_var()", "attend_backward_from.gradient": "scratch()",
    "attend_decoding_top_k.hypothesis": "0", "attend_optimizer_step.o": "an_optimizer()", "attend_pairs_specs.count": "2",
    "attend_monolingual_specs.names": '(const char *const[]){ "a", "b", "c", "d" }',
    "attend_check_finite.non_finite": "0",
    "attend_device_select.name": '"cpu"', "attend_ranks_join.timeout": "60", "attend_ranks_host.rank": "0",
    "attend_cell_sequence.state": "a_state()", "attend_ctx_rewind.mark": "attend_ctx_mark(a_ctx())",
}

# ---- what may be NULL ----

# Documented in the headers. Functions that free or close accept NULL by convention.
MAY_BE_NULL = """
attend_linear.b attend_source_new.parameters attend_source_new.values attend_attention.inputs attend_attention.weights
attend_runner_forward.weights attend_runner_forward.scores attend_runner_backward.dweights attend_cache_append.value
attend_cache_present.key attend_cache_present.value attend_check_gradients.user attend_data_check.valid attend_json_to_sink.user
attend_content_check.before attend_map_selection_add.gold attend_metric_bootstrap.other attend_model_load.options attend_model_load_bytes.options
attend_model_attached.size attend_model_loss.options attend_model_score.log_probability attend_model_score.row_log_probability
attend_model_score.weights attend_cell_sequence.state attend_lstmn_sequence.io attend_lstmn_tape_width.source
attend_cross_entropy.nll attend_parse_real.end attend_parse_integer.end attend_parse_unsigned.end attend_score_names.out
attend_search.options attend_ctx_set_grads.g attend_constant.data attend_input.data attend_tokenizer_learn.user
attend_team_gradient.user attend_optimizer_step.norm attend_training_sizes_for.kinds attend_train.events attend_train.end
attend_translator_run_from.prefixes attend_translator_run_from.prefix_sizes attend_translator_run_some.prefixes
attend_translator_run_some.prefix_sizes attend_map_new.source attend_map_new.target
attend_map_new.target_ids attend_search_ensemble.options attend_ctx_message.c attend_cell_step.state attend_view_html.options attend_params_add.out
attend_team_gradient.loss attend_ranks_leave.r attend_ranks_abort.r attend_ranks_wait.r attend_ranks_is_broken.r attend_ranks_count.r attend_ranks_rank.r
attend_ranks_host.r attend_ranks_hand_out.r attend_ranks_collect.r attend_ranks_bytes_sent.r attend_ranks_seconds.r attend_ranks_started.rank
""".split()
FREES = re.compile(r"_(free|close|abandon)$")

# ---- functions ----

# int that is not a status
COUNTS = """
attend_model_member_count attend_cache_length attend_cache_batch attend_config_field_find attend_config_max_tokens attend_config_attention_layers
attend_config_attention_heads attend_alignment_map_count attend_pairs_rows attend_ragged_count attend_ragged_rows
attend_ragged_length attend_ragged_offset attend_cell_gates attend_lstmn_tape_width attend_format_real attend_word_distance
attend_print attend_processors_threads attend_word_count attend_unit_count attend_scorer_links attend_search_result_count attend_string_table_find attend_params_count attend_param_rank
attend_param_dim attend_rank attend_dim attend_columns attend_tokenizer_size attend_hypothesis_links attend_ctx_status attend_ranks_count attend_ranks_rank attend_ranks_started attend_config_alignment_layer
""".split()
# Valid arguments do not make these succeed.
MAY_FAIL = """
attend_fail attend_closest_word attend_model_load_bytes attend_decoding_top_k attend_gradient attend_grads_of
attend_dictionary_find attend_view_model_name attend_score_plugin_load attend_model_add_member
""".split()
SKIPPED = {"attend_print_v": "va_list; attend_print calls it"}

# A count of elements of the caller's array cannot be checked: huge values are not passed.
COUNT_OF_ARRAY = re.compile(r"^(count|.*_count|size|n|room|shards|rows|batch)$")
HUGE_TOO = ["attend_cache_new.batch", "attend_cache_reserve.rows", "attend_atomic_file_begin.size", "attend_slice.count"]  # no array
# Structs whose members are made wrong one by one: what a caller fills in.
INPUT = re.compile(r"^attend_(.*_options|arrays|attention_inputs|pairs|search_sources|request|config|cell|lstmn_cell|lstmn_fusion|schedule|pairs_spec|map_list|pair_links|data_size|plot)$")
OPTIONS = re.compile(r"^attend_(.*_options|config|schedule)$")


def read(headers):
    """The functions (header, return type, name, parameters), the enumerations and the members of structs."""
    functions, enums, structs = [], set(), {}
    for path in sorted(glob.glob(os.path.join(headers, "*.h"))):
        text = re.sub(r"/\*.*?\*/", " ", open(path, encoding="utf-8").read(), flags=re.S)
        text = re.sub(r"(?m)^\s*#(?:.*\\\n)*.*$", "", text)
        text = text.replace('extern "C" {', "")
        text = re.sub(r"ATTEND_PRINTF\([^)]*\)", "", text)
        enums.update(re.findall(r"typedef enum (\w+)", text))
        for name, body in re.findall(r"typedef struct (\w+) \{([^{}]*)\}", text):
            structs[name] = [member for line in body.split(";") for member in members(" ".join(line.split()))]
        while re.search(r"\{[^{}]*\}", text):
            text = re.sub(r"\{[^{}]*\}", ";", text)
        for statement in text.split(";"):
            statement = " ".join(statement.split())
            match = re.match(r"^(?:static inline )?((?:const )?\w+ (?:\*)?)(attend_\w+)\((.*)\)$", statement)
            if match and not statement.startswith("typedef"):
                parameters = [] if match.group(3) == "void" else [parameter(p) for p in match.group(3).split(",")]
                functions.append((match.group(1).strip(), match.group(2), parameters))
    return functions, enums, structs


def parameter(text):
    """(type, name); an array is a pointer. The type has no const."""
    text = text.strip()
    if text == "...":
        return ("...", "")
    match = re.match(r"^(.*?)(\w+)((?:\[\w*\])*)$", text)
    kind = re.sub(r"\bconst\b", "", match.group(1)).replace("*", " * ") + ("* " if match.group(3) else "")
    return (" ".join(kind.split()), match.group(2))


def members(line):
    """Members declared by one line of a struct: "const int *a, *b"."""
    if not line or "(" in line or "[" in line:
        return []
    first, *others = line.split(",")
    kind, name = parameter(first)
    base = kind.replace("*", "").strip()
    found = [(kind, name)]
    for other in others:
        found.append((" ".join((base + " *" * other.count("*")).split()), other.replace("*", "").replace("const", "").strip()))
    return found


class Writer:
    def __init__(self, enums, structs):
        self.enums, self.structs, self.unknown = enums, structs, []

    def valid(self, function, kind, name):
        here = VALID_HERE.get(function + "." + name)
        if here:
            return here
        if name in VALID_NAMED.get(kind, {}):
            return VALID_NAMED[kind][name]
        if kind in VALID:
            return VALID[kind]
        if kind in self.enums:
            return "(%s)0" % kind
        if kind.endswith("*"):  # something to write to
            return "scratch()"
        self.unknown.append("%s: no valid argument '%s %s'" % (function, kind, name))
        return "0"

    def wrong_numbers(self, kind, name, huge):
        """(value, must fail) of a basic type."""
        if kind == "int":
            return [(v, False) for v in ["0", "-1", "INT_MIN"] + (["INT_MAX"] if huge else [])]
        if kind in ("size_t", "uint64_t"):
            return [("0", False)] + ([("(%s)-1" % kind, False)] if huge else [])
        if kind == "int64_t":
            return [("INT64_MIN", False), ("INT64_MAX", False)]
        if kind == "double":
            return [(v, False) for v in ("0", "-1", "NAN", "INFINITY", "-INFINITY", "1e308")]
        if kind == "bool":
            return [("true", False)]
        if kind in self.enums:
            return [("(%s)%s" % (kind, v), True) for v in ("-1", "99", "INT_MAX")]
        return []

    def wrong(self, function, kind, name):
        """(label, expression, member, must fail) for each way in which an argument is wrong."""
        ways = []
        if kind.endswith("*") or kind.endswith(("_fn", "_sink")):
            free = FREES.search(function) or function + "." + name in MAY_BE_NULL
            ways.append((name + " = NULL", "NULL", None, not free))
        huge = function + "." + name in HUGE_TOO or not COUNT_OF_ARRAY.match(name)
        for value, fail in self.wrong_numbers(kind, name, huge):
            ways.append(("%s = %s" % (name, value), value, None, fail))
        if kind == "int *" and self.valid(function, kind, name) != "scratch()":
            for value in ("0", "-1") + (("INT_MAX",) if not name.endswith(("lengths", "counts")) else ()):
                numbers = "(const int[]){ %s }" % ", ".join([value] * 4)
                ways.append(("%s = { %s, ... }" % (name, value), numbers, None, False))
        if kind == "attend_alignment":
            ways += [("alignment = { %s, %s }" % (v, v), "(attend_alignment){ %s, %s, false }" % (v, v), None, v != "-1") for v in ("-1", "-2", "99", "INT_MAX")]
        if kind == "attend_colour":
            ways.append(("c = { NAN }", "(attend_colour){ NAN, NAN, NAN }", None, False))
        if kind == "attend_mark":
            ways.append(("mark = { 0 }", "(attend_mark){ 0 }", None, False))
        if kind.endswith(" *") and kind.count("*") == 1 and kind[:-2] in self.structs and INPUT.match(kind[:-2]):
            ways.append((name + " = { 0 }", "scratch()", None, False))
            ways += self.wrong_members(kind[:-2], name, "")
        return ways

    def wrong_members(self, struct, name, before):
        ways = []
        huge = OPTIONS.match(struct)
        for kind, member in self.structs[struct]:
            at = before + member
            if kind.endswith("*"):
                ways.append(("%s->%s = NULL" % (name, at), "NULL", at, False))
            elif kind in self.structs and INPUT.match(kind) and struct != "attend_train_options":
                ways += self.wrong_members(kind, name, at + ".")
            for value, fail in self.wrong_numbers(kind, member, huge and not COUNT_OF_ARRAY.match(member)):
                ways.append(("%s->%s = %s" % (name, at, value), value, at, False))
        return ways

    def function(self, returned, name, parameters):
        kind = "STATUS" if returned == "int" and name not in COUNTS else "POINTER" if returned.endswith("*") else "OTHER"
        cases = [("valid arguments", "MAY_SUCCEED" if name in MAY_FAIL or kind == "OTHER" else "MUST_SUCCEED")]
        declarations, mangled = [], []
        ways = [self.wrong(name, k, p) for k, p in parameters]
        every = 1 + sum(len(w) for w in ways)
        needs = False
        for (k, p), wrong in zip(parameters, ways):
            if k == "...":
                continue
            value = self.valid(name, k, p)
            for label, expression, member, fail in wrong:
                number = len(cases)
                cases.append((label, "MUST_FAIL" if fail else "MAY_SUCCEED"))
                if member:
                    mangled.append("    if (number == %d) arg_%s->%s = %s;" % (number, p, member, expression))
                elif expression == "NULL":
                    needs = needs or fail
                    value = "number == %d || number == %d ? NULL : %s" % (number, every, value)
                else:
                    value = "number == %d ? %s : %s" % (number, expression, value)
            declarations.append("    %s arg_%s = %s;" % (self.declared(k), p, cast(k, value)))
        if any(k.endswith("*") for k, _ in parameters):
            cases.append(("every pointer NULL", "MUST_FAIL" if needs else "MAY_SUCCEED"))
        call = "%s(%s)" % (name, ", ".join("arg_" + p for k, p in parameters if k != "..."))
        call = {"STATUS": "outcome->status = %s", "POINTER": "outcome->pointer = %s", "OTHER": "%s"}[kind] % call
        if kind == "OTHER" and returned != "void":
            call = "(void)" + call
        lines = ["static const misuse_case cases_%s[] = {" % name]
        lines += ['    { "%s", %s },' % (label, expected) for label, expected in cases]
        lines += ["};", "static void call_%s(int number, misuse_outcome *outcome)" % name, "{", "    (void)number, (void)outcome;"]
        lines += declarations + mangled + ["    %s;" % call, "}", ""]
        entry = '    { "%s", RETURNS_%s, call_%s, cases_%s, %d },' % (name, kind, name, name, len(cases))
        return lines, entry

    def declared(self, kind):
        """A type that any argument of this kind converts to and from."""
        if not kind.endswith("*"):
            return kind
        if kind.count("*") == 1 and kind[:-2] in self.structs and INPUT.match(kind[:-2]):
            return kind.replace(" ", "")[:-1] + " *"
        return "void *"


def cast(kind, value):
    return "(void *)(%s)" % value if kind.endswith("*") else value


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    functions, enums, structs = read(sys.argv[1])
    writer = Writer(enums, structs)
    lines, entries = [], []
    for returned, name, parameters in functions:
        if name in SKIPPED:
            continue
        body, entry = writer.function(returned, name, parameters)
        lines += body
        entries.append(entry)
    names = {name for _, name, _ in functions}
    tables = [entry.split(".")[0] for entry in list(VALID_HERE) + MAY_BE_NULL + HUGE_TOO] + COUNTS + MAY_FAIL + list(SKIPPED)
    writer.unknown += ["the tables name %s, which does not exist" % name for name in tables if name not in names]
    parameters_of = {name + "." + p for _, name, ps in functions for _, p in ps}
    writer.unknown += ["the tables name %s, which does not exist" % e for e in list(VALID_HERE) + MAY_BE_NULL + HUGE_TOO if e not in parameters_of]
    if writer.unknown:
        sys.exit("make_misuse_test: " + "\nmake_misuse_test: ".join(sorted(set(writer.unknown))))
    with open(sys.argv[2], "w", encoding="utf-8") as out:
        out.write("/* Written by tools/make_misuse_test.py from the public headers. */\n")
        out.write('#include "misuse/objects.h"\n#include "misuse/run.h"\n#include <limits.h>\n#include <math.h>\n\n')
        out.write("\n".join(lines))
        out.write("\nconst misuse_function misuse_functions[] = {\n%s\n    { 0 },\n};\n" % "\n".join(entries))


main()
