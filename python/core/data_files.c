#include "data_files.h"

bool data_files_read(data_files *d, PyObject *from, bool lines, const char *what)
{
    *d = (data_files){ 0 };
    if (from == Py_None) return true;
    if (!core_paths_read(&d->paths, from, what)) return false;
    d->specs = PyMem_Calloc((size_t)d->paths.count, sizeof *d->specs);
    d->count = d->paths.count;
    int status = ATTEND_NO_MEMORY;
    if (!d->specs)
        PyErr_NoMemory();
    else if (lines)
        status = attend_monolingual_specs(d->specs, d->paths.names, d->paths.count);
    else
        status = attend_pairs_specs(d->specs, &d->count, d->paths.names, d->paths.count);
    if (status == ATTEND_OK) return true;
    if (d->specs) core_fail(status, "%s: %s", what, attend_message());
    data_files_free(d);
    return false;
}

void data_files_free(data_files *d)
{
    core_paths_free(&d->paths);
    PyMem_Free(d->specs);
    *d = (data_files){ 0 };
}
