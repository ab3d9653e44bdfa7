/* module.c: the module attend._core. */
#include "core.h"

int core_type_add(PyObject *module, PyType_Spec *spec, PyTypeObject **type)
{
    *type = (PyTypeObject *)PyType_FromModuleAndSpec(module, spec, NULL);
    return *type ? PyModule_AddType(module, *type) : -1;
}

static int fill(PyObject *module)
{
    static int (*const add[])(PyObject *) = { core_errors_add,      core_array_add,    core_model_add,
                                              core_translation_add, core_scoring_add,  core_tokenizer_add,
                                              core_metrics_add,     core_aligner_add,  core_data_check_add,
                                              core_map_add,         core_decoding_add, core_attention_add,
                                              core_training_add,    core_batching_add, core_information_add };
    static bool is_filled;
    if (is_filled) { /* the types are shared by the whole process */
        PyErr_SetString(PyExc_ImportError, "attend can be imported by one interpreter of a process only");
        return -1;
    }
    is_filled = true;
    for (size_t i = 0; i < sizeof add / sizeof *add; i++)
        if (add[i](module) < 0) return -1;
    return core_fork_watch();
}

static PyModuleDef_Slot slots[] = { { Py_mod_exec, fill }, { 0, NULL } };
static PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "attend._core", "The C part of attend.", 0, NULL, slots, NULL, NULL, NULL
};

PyMODINIT_FUNC PyInit__core(void)
{
    return PyModuleDef_Init(&definition);
}
