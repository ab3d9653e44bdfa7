/* file_diagnosis.c: recognises common file formats by their first bytes. */
#include "format/file_diagnosis.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

/* The first bytes of a file. */
typedef struct prefix {
    const char *bytes;
    size_t size;
} prefix;

static bool has_at(prefix o, size_t at, const char *magic, size_t length)
{
    return o.size >= at + length && memcmp(o.bytes + at, magic, length) == 0;
}

static bool contains(prefix o, const char *text)
{
    const size_t length = strlen(text);
    for (size_t i = 0; i + length <= o.size; i++)
        if (memcmp(o.bytes + i, text, length) == 0) return true;
    return false;
}

/* Without a byte order mark and leading white space. */
static prefix trimmed(prefix o)
{
    size_t i = has_at(o, 0, "\xef\xbb\xbf", 3) ? 3 : 0;
    while (i < o.size && strchr(" \t\r\n", o.bytes[i]) && o.bytes[i]) i++;
    return (prefix){ o.bytes + i, o.size - i };
}

static bool is_text(prefix o)
{
    for (size_t i = 0; i < o.size; i++) {
        unsigned char c = (unsigned char)o.bytes[i];
        if ((c < 0x20 && !(c >= '\t' && c <= '\r')) || c == 0x7f) return false;
    }
    return true;
}

static bool is_zero(prefix o)
{
    for (size_t i = 0; i < o.size; i++)
        if (o.bytes[i]) return false;
    return true;
}

/* ONNX has no magic number: field 1 is a small version number, and another field of the model follows. */
static bool is_probably_onnx(prefix o)
{
    static const unsigned char fields[] = { 0x12, 0x1a, 0x22, 0x2a, 0x32, 0x3a, 0x42 };
    return o.size >= 4 && o.bytes[0] == 0x08 && o.bytes[1] > 0 && o.bytes[1] < 32 &&
           memchr(fields, o.bytes[2], sizeof fields);
}

static const char *diagnose_zip(prefix o)
{
    if (contains(o, "data.pkl"))
        return "a PyTorch file (a zip archive with data.pkl); convert it in Python with safetensors.torch.save_file";
    if (contains(o, ".npy")) return "a NumPy archive (.npz); convert it in Python with safetensors.numpy.save_file";
    return "a zip archive; unpack it first";
}

static const char *diagnose_text(prefix o)
{
    if (has_at(o, 0, "version https://git-lfs", 23))
        return "a Git LFS pointer, not the file itself; fetch the file with: git lfs pull";
    prefix t = trimmed(o);
    if (t.size >= 5 && (strncasecmp(t.bytes, "<!doc", 5) == 0 || strncasecmp(t.bytes, "<html", 5) == 0))
        return "a web page (HTML); the download returned a page instead of the file";
    if (has_at(t, 0, "<?xml", 5) || (t.size > 0 && t.bytes[0] == '<'))
        return "an XML page; the download returned an error message instead of the file";
    if (t.size > 0 && (t.bytes[0] == '{' || t.bytes[0] == '[')) return "JSON text, not a model (a safetensors file)";
    return "plain text, not a model (a safetensors file)";
}

const char *attend_diagnose_file(const void *bytes, size_t size)
{
    enum { MAX_PREFIX = 4096 };
    static const struct {
        const char *magic;
        size_t length, at;
        const char *kind;
    } kinds[] = {
        { "\x1f\x8b", 2, 0, "a gzip file; unpack it first, with: gunzip" },
        { "\xfd"
          "7zXZ\0",
          6, 0, "an xz file; unpack it first, with: unxz" },
        { "\x28\xb5\x2f\xfd", 4, 0, "a zstd file; unpack it first, with: unzstd" },
        { "BZh", 3, 0, "a bzip2 file; unpack it first, with: bunzip2" },
        { "ustar", 5, 257, "a tar archive; unpack it first, with: tar -xf" },
        { "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19", 14, 0,
          "an old PyTorch file (a pickle); convert it in Python with safetensors.torch.save_file" },
        { "\x80\x02", 2, 0, "a Python pickle, perhaps a PyTorch file, not a model (a safetensors file)" },
        { "\x80\x03", 2, 0, "a Python pickle, perhaps a PyTorch file, not a model (a safetensors file)" },
        { "\x80\x04", 2, 0, "a Python pickle, perhaps a PyTorch file, not a model (a safetensors file)" },
        { "\x80\x05", 2, 0, "a Python pickle, perhaps a PyTorch file, not a model (a safetensors file)" },
        { "\x93NUMPY", 6, 0, "a NumPy array (.npy); convert it in Python with safetensors.numpy.save_file" },
        { "\x89HDF\r\n\x1a\n", 8, 0, "an HDF5 file (perhaps Keras), not a model (a safetensors file)" },
        { "GGUF", 4, 0, "a GGUF file (llama.cpp), which attend does not read" },
        { "%PDF-", 5, 0, "a PDF document" },
        { "\x7f"
          "ELF",
          4, 0, "a program (ELF)" },
    };
    const prefix o = { bytes, size < MAX_PREFIX ? size : MAX_PREFIX };
    if (size == 0) return "empty; the program that wrote it did not finish: write or copy it again";
    if (is_zero(o)) return "only zeros at its start, as after a power failure; copy it again";
    if (has_at(o, 0, "PK\3\4", 4) || has_at(o, 0, "PK\5\6", 4)) return diagnose_zip(o);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (has_at(o, kinds[i].at, kinds[i].magic, kinds[i].length)) return kinds[i].kind;
    if (is_probably_onnx(o)) return "an ONNX model (probably), not a model (a safetensors file)";
    return is_text(o) ? diagnose_text(o) : NULL;
}
