/* runtime.cu: the GPU: its stream, memory, index arrays of the host, and failures. */
#include "device/cuda/launch.h"
#include "device/cuda/runtime.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <iterator>
#include <mutex>
#include <new>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <string>
#include <utility>
#include <vector>

static cuda_scores builtin_scores;
static int (*must_refuse)(void);
static char fault[CUDA_TEXT];
static bool has_fault;
static int multiprocessors = 1;

/* Held by a call while it launches. */
static std::recursive_mutex device_lock;

bool cuda_is_well(void)
{
    return !has_fault;
}

void cuda_fail(const char *what, const char *why)
{
    if (has_fault) return;
    snprintf(fault, sizeof fault, "%.100s: %.140s", what, why);
    has_fault = true;
}

const char *cuda_fault(void)
{
    std::lock_guard<std::recursive_mutex> guard(device_lock);
    return has_fault ? fault : nullptr;
}

const cuda_scores *cuda_builtin_scores(void)
{
    return &builtin_scores;
}

int cuda_multiprocessors(void)
{
    return multiprocessors;
}

#ifdef ATTEND_CUDA_EMULATED

/* ---- emulation: host memory ---- */

static void *memory_new(size_t bytes)
{
    void *p = aligned_alloc(256, (bytes + 255) / 256 * 256);
    if (p) memset(p, 0xff, bytes);
    return p;
}

static void memory_free(void *p)
{
    free(p);
}

static void memory_set_zero(void *p, size_t bytes)
{
    memset(p, 0, bytes);
}

static void memory_copy(void *to, const void *from, size_t bytes, bool)
{
    memcpy(to, from, bytes);
}

static void wait_for_gpu(void)
{
}

bool cuda_allow_shared(const void *, size_t bytes)
{
    return bytes <= 227 << 10;
}

static bool open_gpu(int, cuda_description *d, char *)
{
    snprintf(d->name, sizeof d->name, "emulated GPU");
    d->major = 9, d->multiprocessors = 2, d->memory = d->free_memory = (size_t)1 << 32;
    d->has_tf32 = d->has_bf16 = d->is_emulated = true;
    multiprocessors = d->multiprocessors;
    return true;
}

#else

/* ---- a GPU ---- */

static cudaStream_t stream;

static bool ok(cudaError_t status, const char *what)
{
    if (status == cudaSuccess) return true;
    cuda_fail(what, cudaGetErrorString(status));
    return false;
}

void *cuda_stream(void)
{
    return stream;
}

/* With ATTEND_CUDA_PROFILE, each launch is waited for, and the time of each kernel is printed at the end of the process. */
struct kernel_time {
    size_t launches;
    double seconds;
};
static bool is_profiling;
static std::map<std::string, kernel_time> kernel_times;

static double seconds_now(void)
{
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

static void print_profile(void)
{
    std::vector<std::pair<double, std::string>> order;
    for (const auto &k : kernel_times) order.push_back({ -k.second.seconds, k.first });
    std::sort(order.begin(), order.end());
    for (const auto &k : order)
        fprintf(stderr, "%10.1f ms %8zu launches  %s\n", -k.first * 1e3, kernel_times[k.second].launches,
                k.second.c_str());
}

void cuda_launched(const char *kernel)
{
    ok(cudaGetLastError(), kernel);
    if (!is_profiling) return;
    const double begin = seconds_now();
    ok(cudaStreamSynchronize(stream), kernel);
    kernel_time *t = &kernel_times[kernel];
    t->launches++, t->seconds += seconds_now() - begin;
}

static void *memory_new(size_t bytes)
{
    void *p = nullptr;
    if (has_fault) return nullptr;
    const cudaError_t status = cudaMallocAsync(&p, bytes ? bytes : 1, stream);
    if (status == cudaSuccess) return p;
    cudaGetLastError(); /* memory that ran out is not a fault: the caller reports it */
    if (status != cudaErrorMemoryAllocation) ok(status, "memory of the GPU");
    return nullptr;
}

static void memory_free(void *p)
{
    cudaFreeAsync(p, stream);
}

static void memory_set_zero(void *p, size_t bytes)
{
    ok(cudaMemsetAsync(p, 0, bytes, stream), "clearing memory");
}

static void memory_copy(void *to, const void *from, size_t bytes, bool to_host)
{
    ok(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream), "copying memory");
    if (to_host) ok(cudaStreamSynchronize(stream), "waiting for the GPU");
}

static void wait_for_gpu(void)
{
    ok(cudaStreamSynchronize(stream), "waiting for the GPU");
}

bool cuda_allow_shared(const void *kernel, size_t bytes)
{
    if (bytes <= 48 << 10) return true;
    if (cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes) == cudaSuccess)
        return true;
    cudaGetLastError();
    return false;
}

/* The pool keeps what was freed, so that memory is not returned to the driver between two steps. */
static bool keep_memory(int device)
{
    cudaMemPool_t pool;
    uint64_t all = UINT64_MAX;
    return ok(cudaDeviceGetDefaultMemPool(&pool, device), "the memory pool") &&
           ok(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &all), "the memory pool");
}

/* Why there is no GPU, in `text`. */
static void explain_absence(cudaError_t status, const cuda_description *d, char *text)
{
    if (d->driver == 0)
        snprintf(text, CUDA_TEXT, "there is no NVIDIA driver (libcuda.so.1), at least version %d.%d of CUDA is needed",
                 d->runtime / 1000, d->runtime % 1000 / 10);
    else if (status == cudaErrorInsufficientDriver)
        snprintf(text, CUDA_TEXT, "the NVIDIA driver is too old: it supports CUDA %d.%d, and %d.%d is needed",
                 d->driver / 1000, d->driver % 1000 / 10, d->runtime / 1000, d->runtime % 1000 / 10);
    else if (status == cudaSuccess || status == cudaErrorNoDevice)
        snprintf(text, CUDA_TEXT, "this machine has no GPU, or CUDA_VISIBLE_DEVICES hides it");
    else
        snprintf(text, CUDA_TEXT, "%s", cudaGetErrorString(status));
}

/* Whether the plug-in has code for a GPU of this compute capability: the machine code or PTX of an older one. */
static bool has_code(int major, int minor)
{
    static const int architectures[] = { __CUDA_ARCH_LIST__ };
    return major * 100 + minor * 10 >= *std::min_element(std::begin(architectures), std::end(architectures));
}

static bool open_gpu(int device, cuda_description *d, char *text)
{
    if (getenv("ATTEND_CUDA_PROFILE")) is_profiling = atexit(print_profile) == 0;
    int count = 0;
    cudaDriverGetVersion(&d->driver);
    cudaRuntimeGetVersion(&d->runtime);
    cudaError_t status = cudaGetDeviceCount(&count);
    if (status != cudaSuccess || count == 0) {
        explain_absence(status, d, text);
        return false;
    }
    if (device < 0 || device >= count) {
        snprintf(text, CUDA_TEXT, "there is no GPU %d: this machine has %d, counted from 0", device, count);
        return false;
    }
    cudaDeviceProp properties;
    if (!ok(cudaSetDevice(device), "choosing the GPU") ||
        !ok(cudaGetDeviceProperties(&properties, device), "reading the properties of the GPU") ||
        !ok(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "a stream") || !keep_memory(device) ||
        !ok(cudaMemGetInfo(&d->free_memory, &d->memory), "asking for the free memory")) {
        snprintf(text, CUDA_TEXT, "%s", fault);
        return false;
    }
    snprintf(d->name, sizeof d->name, "%s", properties.name);
    d->major = properties.major, d->minor = properties.minor;
    d->multiprocessors = multiprocessors = properties.multiProcessorCount;
    d->has_tf32 = d->has_bf16 = properties.major >= 8;
    if (!has_code(d->major, d->minor)) {
        snprintf(text, CUDA_TEXT, "%.100s has compute capability %d.%d, which is older than the plug-in was built for",
                 d->name, d->major, d->minor);
        return false;
    }
    return true;
}

#endif

/* ---- index arrays ---- */

/* Arrays go through a ring of pinned host memory into a ring of the same size on the GPU. Kernels read the smallest ones from
 * host memory: that takes microseconds for each warp, so that a copy pays for any other. A segment is used again only when the GPU has finished what was launched before it was left. */
enum { SEGMENTS = 4, SEGMENT = 1 << 20, MAX_DIRECT = 64, MAX_RING = 64 << 10 };
static unsigned char *ring, *ring_on_gpu;
static size_t ring_segment, ring_used;

#ifdef ATTEND_CUDA_EMULATED
static bool ring_new(void)
{
    ring = ring_on_gpu = (unsigned char *)malloc((size_t)SEGMENTS * SEGMENT);
    return ring != nullptr;
}

static void ring_left(size_t)
{
}

static void ring_entered(size_t)
{
}

static void *ring_copy(size_t at, size_t)
{
    return ring_on_gpu + at;
}
#else
static cudaEvent_t ring_events[SEGMENTS];
static unsigned char *mirror;

static bool ring_new(void)
{
    for (int i = 0; i < SEGMENTS; i++)
        if (!ok(cudaEventCreateWithFlags(&ring_events[i], cudaEventDisableTiming), "an event")) return false;
    return ok(cudaHostAlloc((void **)&ring, SEGMENTS * SEGMENT, cudaHostAllocMapped), "memory for index arrays") &&
           ok(cudaHostGetDevicePointer((void **)&ring_on_gpu, ring, 0), "memory for index arrays") &&
           ok(cudaMalloc((void **)&mirror, SEGMENTS * SEGMENT), "memory for index arrays");
}

static void ring_left(size_t segment)
{
    ok(cudaEventRecord(ring_events[segment], stream), "an event");
}

static void ring_entered(size_t segment)
{
    ok(cudaEventSynchronize(ring_events[segment]), "waiting for the GPU");
}

/* What is read often is copied to the GPU's own memory. */
static void *ring_copy(size_t at, size_t bytes)
{
    if (bytes <= MAX_DIRECT) return ring_on_gpu + at;
    ok(cudaMemcpyAsync(mirror + at, ring + at, bytes, cudaMemcpyHostToDevice, stream), "copying index arrays");
    return mirror + at;
}
#endif

static const void *ring_put(const void *from, size_t bytes)
{
    const size_t size = (bytes + 63) / 64 * 64;
    if (ring_used + size > SEGMENT) {
        ring_left(ring_segment);
        ring_segment = (ring_segment + 1) % SEGMENTS, ring_used = 0;
        ring_entered(ring_segment);
    }
    const size_t at = ring_segment * SEGMENT + ring_used;
    memcpy(ring + at, from, bytes);
    ring_used += size;
    return ring_copy(at, bytes);
}

/* ---- calls ---- */

cuda_call::cuda_call(const attend_compute *c, cuda_failure failure) : compute(c), can_fail(failure == CUDA_CAN_FAIL)
{
    device_lock.lock();
}

cuda_call::~cuda_call()
{
    for (void *p : blocks) memory_free(p);
    device_lock.unlock();
}

void *cuda_call::take(size_t bytes)
{
    if (can_fail && must_refuse && must_refuse()) return nullptr;
    void *p = memory_new(bytes ? bytes : 1);
    if (!p) return nullptr;
    try {
        blocks.push_back(p);
    } catch (const std::bad_alloc &) {
        memory_free(p);
        return nullptr;
    }
    return p;
}

const void *cuda_call::upload(const void *from, size_t bytes)
{
    static const uint64_t nothing = 0;
    if (bytes == 0) return ring_put(&nothing, sizeof nothing);
    if (bytes <= MAX_RING) return ring_put(from, bytes);
    void *p = take(bytes);
    if (p) memory_copy(p, from, bytes, false);
    return p;
}

void cuda_call::download(void *to, const void *from, size_t bytes)
{
    if (bytes && cuda_is_well())
        memory_copy(to, from, bytes, true);
    else if (bytes) /* what is read after a failure is defined; the caller reports the failure */
        memset(to, 0, bytes);
}

/* ---- memory of the library ---- */

void *cuda_memory_take(size_t bytes)
{
    if (must_refuse && must_refuse()) return nullptr;
    std::lock_guard<std::recursive_mutex> guard(device_lock);
    return memory_new(bytes ? bytes : 1);
}

void *cuda_memory_take_zeroed(size_t bytes)
{
    void *p = cuda_memory_take(bytes);
    if (p) cuda_memory_zero(p, bytes);
    return p;
}

void cuda_memory_expect_use(void *, size_t)
{
}

void cuda_memory_give(void *p)
{
    if (!p) return;
    std::lock_guard<std::recursive_mutex> guard(device_lock);
    memory_free(p);
}

void cuda_memory_upload(void *to, const void *from, size_t bytes)
{
    std::lock_guard<std::recursive_mutex> guard(device_lock);
    if (bytes && cuda_is_well()) memory_copy(to, from, bytes, false);
}

void cuda_memory_download(void *to, const void *from, size_t bytes)
{
    std::lock_guard<std::recursive_mutex> guard(device_lock);
    if (bytes && cuda_is_well())
        memory_copy(to, from, bytes, true);
    else if (bytes)
        memset(to, 0, bytes);
}

void cuda_memory_copy(void *to, const void *from, size_t bytes)
{
    std::lock_guard<std::recursive_mutex> guard(device_lock);
    if (bytes && cuda_is_well()) memory_copy(to, from, bytes, false);
}

void cuda_memory_zero(void *p, size_t bytes)
{
    std::lock_guard<std::recursive_mutex> guard(device_lock);
    if (bytes && cuda_is_well()) memory_set_zero(p, bytes);
}

void cuda_memory_finish(void)
{
    std::lock_guard<std::recursive_mutex> guard(device_lock);
    if (cuda_is_well()) wait_for_gpu();
}

bool cuda_open(const cuda_host *host, cuda_description *d, char *text)
{
    builtin_scores = host->scores;
    must_refuse = host->must_refuse;
    if (!open_gpu(host->device, d, text)) return false;
    if (ring_new() && cuda_products_open()) return true;
    snprintf(text, CUDA_TEXT, "%s", fault);
    return false;
}
