/* double.c: the module attend._double: Array and Attention in double precision, linked with the double-precision twin of
 * the library. For checking gradients (torch.autograd.gradcheck). */
#include "core.h"

int core_type_add(PyObject *module, PyType_Spec *spec, PyTypeObject **type)
{
    *type = (PyTypeObject *)PyType_FromModuleAndSpec(module, spec, NULL);
    return *type ? PyModule_AddType(module, *type) : -1;
}

static int fill(PyObject *module)
{
    if (core_errors_import() < 0 || core_array_add(module) < 0 || core_attention_add(module) < 0) return -1;
    return core_fork_watch();
}

static PyModuleDef_Slot slots[] = { { Py_mod_exec, fill }, { 0, NULL } };
static PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "attend._double", "Attention in double precision.", 0, NULL, slots, NULL, NULL, NULL
};

PyMODINIT_FUNC PyInit__double(void)
{
    return PyModuleDef_Init(&definition);
}
