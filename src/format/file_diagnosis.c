#include "format/file_diagnosis.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

typedef struct opening {
    const char *bytes;
    size_t size;
} opening;

static bool has(opening o, size_t at, const char *magic, size_t length)
{
    return o.size >= at + length && memcmp(o.bytes + at, magic, length) == 0;
}

static bool holds(opening o, const char *word)
{
    const size_t length = strlen(word);
    for (size_t i = 0; i + length <= o.size; i++)
        if (memcmp(o.bytes + i, word, length) == 0) return true;
    return false;
}

/* White space and a byte order mark left out. */
static opening trimmed(opening o)
{
    size_t i = has(o, 0, "\xef\xbb\xbf", 3) ? 3 : 0;
    while (i < o.size && strchr(" \t\r\n", o.bytes[i]) && o.bytes[i]) i++;
    return (opening){ o.bytes + i, o.size - i };
}

static bool is_text(opening o)
{
    for (size_t i = 0; i < o.size; i++) {
        unsigned char c = (unsigned char)o.bytes[i];
        if ((c < 0x20 && !(c >= '\t' && c <= '\r')) || c == 0x7f) return false;
    }
    return true;
}

static bool is_zero(opening o)
{
    for (size_t i = 0; i < o.size; i++)
        if (o.bytes[i]) return false;
    return true;
}

/* ONNX has no magic: field 1 is a small version number, and another field of the model follows. */
static bool looks_like_onnx(opening o)
{
    return o.size >= 4 && o.bytes[0] == 0x08 && o.bytes[1] > 0 && o.bytes[1] < 32 &&
           memchr("\x12\x1a\x22\x2a\x32\x3a\x42", o.bytes[2], 7);
}

static const char *archive(opening o)
{
    if (holds(o, "data.pkl"))
        return "a PyTorch file (a zip archive with data.pkl); in Python, safetensors.torch.save_file writes its "
               "tensors in "
               "the form read here";
    if (holds(o, ".npy"))
        return "a NumPy archive (.npz); in Python, safetensors.numpy.save_file writes its arrays in the form "
               "read here";
    return "a zip archive; unpack it first";
}

static const char *text(opening o)
{
    if (has(o, 0, "version https://git-lfs", 23))
        return "a Git LFS pointer, not the file it stands for; fetch that with: git lfs pull";
    opening t = trimmed(o);
    if (t.size >= 5 && (strncasecmp(t.bytes, "<!doc", 5) == 0 || strncasecmp(t.bytes, "<html", 5) == 0))
        return "a web page (HTML); the download got a page instead of the file";
    if (has(t, 0, "<?xml", 5) || (t.size > 0 && t.bytes[0] == '<'))
        return "an XML page; the download got an error message instead of the file";
    if (t.size > 0 && (t.bytes[0] == '{' || t.bytes[0] == '[')) return "a JSON text, not a tensor file";
    return "plain text, not a tensor file";
}

const char *attend_file_diagnosis(const void *bytes, size_t size)
{
    enum { LOOK_AT = 4096 };
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
          "an old PyTorch file (a pickle); in Python, safetensors.torch.save_file writes its tensors in the form read "
          "here" },
        { "\x80\x02", 2, 0, "a Python pickle, perhaps a PyTorch file, not a tensor file" },
        { "\x80\x03", 2, 0, "a Python pickle, perhaps a PyTorch file, not a tensor file" },
        { "\x80\x04", 2, 0, "a Python pickle, perhaps a PyTorch file, not a tensor file" },
        { "\x80\x05", 2, 0, "a Python pickle, perhaps a PyTorch file, not a tensor file" },
        { "\x93NUMPY", 6, 0,
          "a NumPy array (.npy); in Python, safetensors.numpy.save_file writes arrays in the form read here" },
        { "\x89HDF\r\n\x1a\n", 8, 0, "an HDF5 file (Keras?), not a tensor file" },
        { "GGUF", 4, 0, "a GGUF file (llama.cpp), which attend does not read" },
        { "%PDF-", 5, 0, "a PDF document" },
        { "\x7f"
          "ELF",
          4, 0, "a program (ELF)" },
    };
    const opening o = { bytes, size < LOOK_AT ? size : LOOK_AT };
    if (size == 0) return "empty; whatever made it did not finish";
    if (is_zero(o))
        return "nothing but zeros at its beginning, as a disk leaves a file after a power cut; copy it again";
    if (has(o, 0, "PK\3\4", 4) || has(o, 0, "PK\5\6", 4)) return archive(o);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (has(o, kinds[i].at, kinds[i].magic, kinds[i].length)) return kinds[i].kind;
    if (looks_like_onnx(o)) return "an ONNX model by the look of it, not a tensor file";
    return is_text(o) ? text(o) : NULL;
}
