/* attention_test.cpp: attention of the CUDA plug-in compared with that of the CPU, forward and backward, for many combinations
 * of scores, windows, masks, selections, shapes and layouts. Compiled with the sources of the plug-in: by g++ with
 * ATTEND_CUDA_EMULATED, or by nvcc for a GPU.
 *
 *     attention_test [first seed] [cases] [speed]
 */
#include "device/cuda/launch.h"
#include "device/cuda/runtime.h"
extern "C" {
#include "core/arena.h"
#include "device/scores.h"
bool attend_cpu_attention(const attend_compute *c, const device_attention *a);
bool attend_cpu_attention_backward(const attend_compute *c, const device_attention *a);
bool attend_cpu_beam_attention(const attend_compute *c, const device_beam *b);
void attend_cpu_cache_keys(const attend_compute *c, const device_source *s);
}

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <string>
#include <vector>

#ifdef ATTEND_CUDA_STUB_PRODUCTS
extern "C" bool cuda_products_open(void)
{
    return true;
}
#endif

static int failures;
static uint64_t state = 1;

static uint32_t draw(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    uint64_t x = state;
    x ^= x >> 29;
    return (uint32_t)((x * 0x9E3779B97F4A7C15u) >> 32);
}

static int range(int low, int high)
{
    return low + (int)(draw() % (unsigned)(high - low + 1));
}

static real normal(void)
{
    double x = 0;
    for (int i = 0; i < 6; i++) x += draw() / 4294967296.0;
    return (real)((x - 3) * 1.4);
}

/* Numbers on the CPU and a copy of them on the device. */
struct numbers {
    std::vector<real> host, device_copy;
    real *device = nullptr;
    void fill(size_t n, double scale)
    {
        host.resize(n);
        for (real &x : host) x = (real)scale * normal();
        send();
    }
    void set(size_t n, real value)
    {
        host.assign(n, value);
        send();
    }
    void send()
    {
        if (device) cuda_memory_give(device);
        device = static_cast<real *>(cuda_memory_take(host.size() * sizeof(real) + 1));
        cuda_memory_upload(device, host.data(), host.size() * sizeof(real));
    }
    void fetch()
    {
        device_copy.resize(host.size());
        cuda_memory_download(device_copy.data(), device, host.size() * sizeof(real));
    }
    ~numbers()
    {
        if (device) cuda_memory_give(device);
    }
};

#ifdef ATTEND_DOUBLE
static double bound = 1e-10;
#else
static double bound = 1e-5;
#endif

/* The largest difference, relative to the largest number. */
static void compare(const std::string &what, numbers *x)
{
    x->fetch();
    double error = 0, largest = 1e-3;
    size_t at = 0;
    for (size_t i = 0; i < x->host.size(); i++) {
        const double a = (double)x->host[i], b = (double)x->device_copy[i];
        if (std::isfinite(a) && fabs(a) > largest) largest = fabs(a);
        if (a == b || (a != a && b != b)) continue;
        const double e = fabs(a - b);
        if (!(e <= error)) error = e, at = i;
        if (e != e) {
            error = INFINITY;
            break;
        }
    }
    if (error <= bound * largest) return;
    failures++;
    printf("%s: element %zu of %zu is %.9g on the CPU and %.9g on the device; bound %.3g of %.3g\n", what.c_str(), at,
           x->host.size(), (double)x->host[at], (double)x->device_copy[at], bound, largest);
}

/* Lengths, offsets and strides of the rows of B sequences. */
struct layout {
    std::vector<int> lengths, offsets;
    attention_rows rows;
    size_t size;
    void make(int count, const std::vector<int> &n, int heads, int width, bool packed, bool heads_first, int max)
    {
        lengths = n, offsets.clear();
        rows = attention_rows();
        int total = 0;
        for (int b = 0; b < count; b++) offsets.push_back(total), total += n[(size_t)b];
        const size_t all = (size_t)heads * (size_t)width;
        rows.lengths = lengths.data();
        if (packed) {
            rows.offsets = offsets.data();
            rows.head = (size_t)width, rows.row = all + 3, rows.first = 2;
            size = (size_t)total * rows.row + 8;
        } else {
            rows.row = heads_first ? (size_t)width : all, rows.head = heads_first ? (size_t)max * width : (size_t)width;
            rows.sequence = (size_t)max * all;
            size = (size_t)count * rows.sequence;
        }
    }
};

enum { DOT, ADDITIVE, LOCATION, SENSITIVE };

struct test_case {
    int score, heads, key_heads, width, value_width, count, filters, taps;
    layout query, key, value, context;
    numbers q, k, v, o, u, uf, f, weights, scores, stored, bias, position, previous;
    numbers go, gw, dq, dk, dv, db, dp, dprev, du, duf, df;
    std::vector<selected> chosen;
    selected *chosen_device = nullptr;
    std::vector<unsigned char> allowed;
    std::vector<double> advantage;
    device_source source = {}, source_device = {};
    device_attention a = {}, d = {};
    std::string name;
    ~test_case()
    {
        if (chosen_device) cuda_memory_give(chosen_device);
    }
};

/* An argument in both versions of the call. */
#define BOTH(member, x)                                                                                                \
    do {                                                                                                               \
        t->a.member = (x).host.data(), t->d.member = (x).device;                                                       \
    } while (0)

static void mask_axes(const test_case *t, int queries, int keys, size_t strides[4], size_t *n)
{
    const int full[4] = { t->count, t->heads, queries, keys };
    size_t step = 1;
    for (int i = 3; i >= 0; i--) {
        const bool is_broadcast = range(0, 1) == 0 && i != 3;
        strides[i] = is_broadcast ? 0 : step;
        step *= is_broadcast ? 1 : (size_t)full[i];
    }
    *n = step;
}

static void make_source(test_case *t, int max_keys, bool cached)
{
    static void (*const tiles[])(const attend_tile *) = { attend_dot_tile, attend_additive_tile, attend_location_tile,
                                                          attend_location_sensitive_tile };
    static void (*const backward[])(const attend_tile *, const attend_tile_gradients *) = {
        attend_dot_tile_backward, attend_additive_tile_backward, attend_location_tile_backward,
        attend_location_sensitive_tile_backward
    };
    device_source *s = &t->source;
    s->score.tile = tiles[t->score], s->score.tile_backward = backward[t->score];
    s->score.scratch_size = t->score == DOT         ? attend_dot_scratch
                            : t->score == ADDITIVE  ? attend_additive_scratch
                            : t->score == SENSITIVE ? attend_location_sensitive_scratch
                                                    : nullptr;
    (void)cached;
    s->heads = t->heads, s->key_heads = t->key_heads, s->count = t->count, s->max_keys = max_keys;
    s->key_width = t->width, s->value_width = t->value_width;
    s->key_rows = t->key.rows, s->value_rows = t->value.rows;
    s->keys = t->k.host.data(), s->values = t->v.host.data();
    s->parameter_count = t->score == DOT || t->score == LOCATION ? 0 : t->score == ADDITIVE ? 4 : 6;
    const int shapes[6][2] = {
        {}, {}, {}, { t->heads * t->width, 0 }, { t->width, t->filters }, { t->filters, t->taps }
    };
    memcpy(s->parameter_shapes, shapes, sizeof shapes);
    s->parameters[3] = t->u.host.data(), s->parameters[4] = t->uf.host.data(), s->parameters[5] = t->f.host.data();
    s->parameter_sizes[3] = t->u.host.size(), s->parameter_sizes[4] = t->uf.host.size();
    s->parameter_sizes[5] = t->f.host.size();
    t->source_device = *s;
    device_source *x = &t->source_device;
    x->keys = t->k.device, x->values = t->v.device;
    x->parameters[3] = t->u.device, x->parameters[4] = t->uf.device, x->parameters[5] = t->f.device;
}

struct shape {
    int max_queries, max_keys, width, value_width, heads, key_heads, count;
};

static void make_arrays(test_case *t, const shape &s, bool packed, bool heads_first, int query_width, bool rising)
{
    std::vector<int> nq, nk;
    int max_q = 0, max_k = 0;
    for (int b = 0; b < t->count; b++) {
        nq.push_back(range(b ? 0 : s.max_queries, s.max_queries)), nk.push_back(range(b ? 0 : s.max_keys, s.max_keys));
        if (s.max_queries == s.max_keys) nk.back() = nq.back();
        if (rising && nk.back() < nq.back()) nk.back() = nq.back();
        if (nq.back() > max_q) max_q = nq.back();
        if (nk.back() > max_k) max_k = nk.back();
    }
    t->query.make(t->count, nq, t->heads, query_width, packed, heads_first, max_q);
    t->context.make(t->count, nq, t->heads, t->value_width, packed, heads_first, max_q);
    t->key.make(t->count, nk, t->key_heads, t->width, packed, heads_first, max_k);
    t->value.make(t->count, nk, t->key_heads, t->value_width, packed, heads_first, max_k);
    t->a.max_queries = t->d.max_queries = max_q;
    t->a.query_width = t->d.query_width = query_width;
    t->q.fill(t->query.size, 1), t->k.fill(t->key.size, 1), t->v.fill(t->value.size, 1);
    t->o.fill(t->context.size, 1), t->go.fill(t->context.size, 1);
    t->dq.fill(t->query.size, 1), t->dk.fill(t->key.size, 1), t->dv.fill(t->value.size, 1);
    if (t->score == SENSITIVE) t->filters = range(1, 5), t->taps = range(1, 7);
    t->u.fill((size_t)t->heads * t->width, 0.7), t->uf.fill((size_t)t->width * t->filters, 0.5);
    t->f.fill((size_t)t->filters * t->taps, 1);
    t->du.fill(t->u.host.size(), 1), t->duf.fill(t->uf.host.size(), 1), t->df.fill(t->f.host.size(), 1);
    make_source(t, max_k, false);
    const size_t rows = (size_t)t->count * t->heads * (size_t)max_q;
    selected none;
    none.max = -1, none.normalizer = 0, none.choice = 7;
    t->chosen.assign(rows + 1, none);
    t->chosen_device = static_cast<selected *>(cuda_memory_take((rows + 1) * sizeof(selected)));
    cuda_memory_upload(t->chosen_device, t->chosen.data(), (rows + 1) * sizeof(selected));
    t->a.selected = t->chosen.data(), t->d.selected = t->chosen_device;
    t->a.source = &t->source, t->d.source = &t->source_device;
    BOTH(query, t->q);
    BOTH(context, t->o);
    t->a.query_rows = t->d.query_rows = t->query.rows;
    t->a.context_rows = t->d.context_rows = t->context.rows;
    t->a.scale = t->d.scale = t->score == DOT ? 1 / sqrt((double)query_width) : range(0, 1) ? 1 : 0.8;
}

static void make_dropout(test_case *t)
{
    if (range(0, 3) != 0) return;
    device_attention *both[] = { &t->a, &t->d };
    for (device_attention *x : both) x->dropout = 0.3, x->dropout_random = attend_rng{ 5, (uint64_t)1 << 33, 9 };
    t->name += " dropout";
}

/* NaN in the last key of each sequence, which causal queries but the last do not see, and which the last may drop. */
static void hide_nan(test_case *t)
{
    for (int b = 0; b < t->count; b++) {
        if (t->key.lengths[(size_t)b] == 0) continue;
        t->k.host[attention_row(&t->key.rows, b, 0, t->key.lengths[(size_t)b] - 1)] = NAN;
        t->v.host[attention_row(&t->value.rows, b, 0, t->key.lengths[(size_t)b] - 1)] = NAN;
    }
    t->k.send(), t->v.send();
    t->source_device.keys = t->k.device, t->source_device.values = t->v.device;
    t->name += " NaN";
}

static void make_extras(test_case *t, int selection)
{
    const int queries = t->a.max_queries, keys = t->source.max_keys;
    const size_t area = (size_t)t->count * t->heads * (size_t)queries * (size_t)keys;
    device_attention *both[] = { &t->a, &t->d };
    if (range(0, 3) == 0) {
        size_t n;
        mask_axes(t, queries, keys, t->a.allowed_strides, &n);
        memcpy(t->d.allowed_strides, t->a.allowed_strides, sizeof t->a.allowed_strides);
        t->allowed.resize(n + 1);
        for (unsigned char &x : t->allowed) x = range(0, 3) != 0;
        t->a.allowed = t->d.allowed = t->allowed.data();
        t->name += " mask";
    }
    if (range(0, 3) == 0) {
        size_t n;
        mask_axes(t, queries, keys, t->a.bias_strides, &n);
        memcpy(t->d.bias_strides, t->a.bias_strides, sizeof t->a.bias_strides);
        t->bias.fill(n + 1, 1);
        for (real &x : t->bias.host)
            if (range(0, 9) == 0) x = (real)-INFINITY;
        t->bias.send();
        BOTH(bias, t->bias);
        t->db.fill(n + 1, 1);
        if (range(0, 3)) BOTH(dbias, t->db);
        t->name += " bias";
    }
    if (t->source.window == ATTEND_WINDOW_LOCAL_P) {
        t->position.fill(t->query.rows.offsets ? t->query.size : (size_t)t->count * (size_t)queries + 1, 0.3);
        for (real &x : t->position.host) x = x < 0 ? -x : x;
        t->position.send();
        t->dp.fill(t->position.host.size(), 1);
        BOTH(position, t->position);
        if (range(0, 3)) BOTH(dposition, t->dp);
    }
    if (t->score == SENSITIVE) {
        const size_t n = (size_t)t->count * (size_t)queries * (size_t)keys;
        t->previous.fill(n + 1, 0.3), t->dprev.fill(n + 1, 1);
        BOTH(previous, t->previous);
        if (range(0, 3)) BOTH(dprevious, t->dprev);
    }
    if (selection != ATTEND_SELECT_HARD) make_dropout(t);
    if (selection == ATTEND_SELECT_HARD) {
        for (int b = 0; b < t->count; b++) t->advantage.push_back((double)normal());
        for (device_attention *x : both) x->advantage = t->advantage.data();
    }
    if (range(0, 2) == 0) {
        t->weights.set(area + 1, 0), t->gw.fill(area + 1, 1);
        BOTH(weights, t->weights);
        if (range(0, 1)) BOTH(dweights, t->gw);
        t->name += t->a.dweights ? " dweights" : " weights";
    }
    if (range(0, 4) == 0) {
        t->scores.set(area + 1, (real)-INFINITY);
        BOTH(scores, t->scores);
        t->name += " scores";
    }
    if (selection != ATTEND_SELECT_HARD && t->source.soft_cap == 0 && range(0, 2) == 0) {
        t->stored.set(area + 1, 0);
        BOTH(stored_weights, t->stored);
        t->name += " stored";
    }
}

/* Both devices compute the call; all results are compared. */
static void run(test_case *t, attend_compute *c)
{
    if (!attend_cpu_attention(c, &t->a) || !attend_cuda_attention(c, &t->d)) {
        printf("%s: forward failed\n", t->name.c_str());
        failures++;
        return;
    }
    compare(t->name + ": context", &t->o);
    if (t->a.weights) compare(t->name + ": weights", &t->weights);
    if (t->a.scores) compare(t->name + ": scores", &t->scores);
    if (range(0, 9)) BOTH(dcontext, t->go);
    if (range(0, 9)) BOTH(dquery, t->dq);
    if (range(0, 9)) BOTH(dkey, t->dk);
    if (range(0, 9)) BOTH(dvalue, t->dv);
    /* self-attention without projections: one array has all gradients */
    if (t->a.dquery && t->query.size == t->key.size && t->a.query_width == t->width && t->heads == t->key_heads &&
        t->query.lengths == t->key.lengths && t->score != LOCATION) {
        BOTH(dkey, t->dq);
        t->name += " one gradient";
    }
    if (t->source.parameter_count > 3 && range(0, 9)) BOTH(dparameters[3], t->du);
    if (t->source.parameter_count > 4 && range(0, 9)) BOTH(dparameters[4], t->duf);
    if (t->source.parameter_count > 5 && range(0, 9)) BOTH(dparameters[5], t->df);
    if (!attend_cpu_attention_backward(c, &t->a) || !attend_cuda_attention_backward(c, &t->d)) {
        printf("%s: backward failed\n", t->name.c_str());
        failures++;
        return;
    }
    compare(t->name + ": dquery", &t->dq);
    compare(t->name + ": dkey", &t->dk);
    compare(t->name + ": dvalue", &t->dv);
    compare(t->name + ": du", &t->du);
    compare(t->name + ": duf", &t->duf);
    compare(t->name + ": df", &t->df);
    if (t->a.bias) compare(t->name + ": dbias", &t->db);
    if (t->a.position) compare(t->name + ": dposition", &t->dp);
    if (t->a.previous) compare(t->name + ": dprevious", &t->dprev);
}

/* Every third case is one that tiles of tensor cores compute, in three precisions. */
static void attention_case(unsigned seed, attend_compute *c)
{
    const bool plain = seed % 3 == 0;
    static const char *const scores[] = { "dot", "additive", "location", "location-sensitive" };
    static const char *const selections[] = { "soft", "sparsemax", "entmax", "hard" };
    state = seed * 7919u + 17;
    draw();
    test_case all, *t = &all;
    shape s;
    t->score = range(0, 5) % 4;
    if (t->score == SENSITIVE && range(0, 1)) t->score = ADDITIVE;
    if (plain) t->score = DOT;
    s.count = t->count = range(1, 3);
    s.key_heads = t->key_heads = t->score == SENSITIVE ? 1 : range(1, 2);
    s.heads = t->heads = t->key_heads * (t->score == SENSITIVE ? 1 : range(1, 2));
    static const int widths[] = { 5, 16, 32, 64, 40, 129 };
    s.width = t->width = widths[range(0, 5)], s.value_width = t->value_width = widths[range(0, 5)];
    const int sizes[] = { 1, 2, 7, 20, 33, 70 };
    s.max_queries = sizes[range(0, 5)], s.max_keys = sizes[range(0, 5)];
    const bool is_long = plain && seed % 12 == 0; /* long sequences have kernels of their own */
    if (is_long) s.max_queries = range(256, 300), s.max_keys = range(256, 300), s.count = t->count = range(1, 2);
    if (is_long && s.width == 129) s.width = t->width = 128;
    if (is_long && s.value_width == 129) s.value_width = t->value_width = 128;
    t->filters = t->taps = 1;
    const int selection = plain || range(0, 2) ? ATTEND_SELECT_SOFT : range(1, 3);
    int window = range(0, 2) ? ATTEND_WINDOW_GLOBAL : range(1, plain ? 1 : 2);
    if (selection == ATTEND_SELECT_HARD && window == ATTEND_WINDOW_LOCAL_P) window = ATTEND_WINDOW_GLOBAL;
    const bool causal = window != ATTEND_WINDOW_LOCAL_P && range(0, 2) == 0, packed = range(0, 1) != 0;
    make_arrays(t, s, packed, range(0, 1) != 0, t->score == LOCATION ? s.max_keys + 40 : t->width, false);
    device_source *sources[] = { &t->source, &t->source_device };
    const double cap = !plain && range(0, 4) == 0 ? 1.5 : 0;
    const int window_size = range(1, 9);
    for (device_source *x : sources)
        x->window = (attend_window)window, x->window_size = window_size, x->causal = causal, x->soft_cap = cap;
    t->name = "seed " + std::to_string(seed) + " " + scores[t->score] + " " + selections[selection] + " window " +
              std::to_string(window) + (causal ? " causal" : "") + (cap > 0 ? " cap" : "") + " heads " +
              std::to_string(t->heads) + "/" + std::to_string(t->key_heads) + " width " + std::to_string(t->width) +
              "/" + std::to_string(t->value_width) + " queries " + std::to_string(s.max_queries) + " keys " +
              std::to_string(s.max_keys);
    const bool training = range(0, 3) != 0, reinforce = range(0, 1) != 0, one = range(0, 3) == 0;
    const int first = range(0, 3) ? 0 : range(0, 5);
    device_attention *both[] = { &t->a, &t->d };
    for (device_attention *x : both) {
        x->select.selection = (attend_selection)selection, x->select.training = training;
        x->select.estimator = reinforce ? ATTEND_REINFORCE : ATTEND_STRAIGHT_THROUGH;
        x->select.temperature = 0.7, x->select.entropy_bonus = 0.1;
        x->select.random = attend_rng{ 11, 4, 2 };
        x->one_position = one, x->first_position = first;
    }
    const double exact = bound;
    if (plain) {
        if (!is_long) make_dropout(t);
        if (causal && range(0, 1)) hide_nan(t);
        static const attend_compute_precision precisions[] = { ATTEND_COMPUTE_FP32, ATTEND_COMPUTE_TF32,
                                                               ATTEND_COMPUTE_BF16 };
        static const double bounds[] = { 1e-5, 3e-3, 5e-2 };
        const int which = is_long ? 2 : range(0, 2);
        c->precision = precisions[which];
        t->name += std::string(" plain ") + (which == 0 ? "fp32" : which == 1 ? "tf32" : "bf16");
        if (sizeof(real) == 4) bound = bounds[which];
    } else {
        make_extras(t, selection);
    }
    run(t, c);
    c->precision = ATTEND_COMPUTE_FP32, bound = exact;
}

static void beam_case(unsigned seed, attend_compute *c)
{
    state = seed * 104729u + 3;
    const size_t count = (size_t)range(1, 7), heads = (size_t)range(1, 4), width = (size_t)range(1, 80), block = 4;
    const size_t max_length = (size_t)range(1, 20), list = max_length + 3, block_count = 6;
    const size_t stride = 2 * heads * width + 5;
    numbers blocks[6], q, o, weights;
    std::vector<const real *> host, device;
    for (numbers &x : blocks) x.fill(block * stride, 1), host.push_back(x.host.data()), device.push_back(x.device);
    std::vector<int> rows(count * list, 0), lengths(count);
    for (int &x : rows) x = range(0, (int)(block * block_count) - 1);
    for (size_t i = 0; i < count; i++) lengths[i] = i ? range(1, (int)max_length) : (int)max_length;
    q.fill(count * (heads * width + 2), 1), o.fill(count * (heads * width + 1), 1);
    weights.fill(count * heads * max_length, 1);
    device_beam b = {};
    b.count = count, b.max_length = max_length, b.blocks = host.data(), b.block = block, b.row_stride = stride;
    b.rows = rows.data(), b.lengths = lengths.data(), b.list_stride = list, b.query = q.host.data();
    b.query_stride = heads * width + 2, b.heads = heads, b.width = width, b.key = 1, b.value = heads * width + 3;
    b.scale = (real)0.3, b.context = o.host.data(), b.context_stride = heads * width + 1;
    b.weights = seed % 2 ? weights.host.data() : nullptr;
    device_beam d = b;
    d.blocks = device.data(), d.query = q.device, d.context = o.device, d.weights = seed % 2 ? weights.device : nullptr;
    if (!attend_cpu_beam_attention(c, &b) || !attend_cuda_beam_attention(c, &d)) failures++, printf("beam: failed\n");
    const std::string name = "beam seed " + std::to_string(seed);
    compare(name + ": context", &o);
    compare(name + ": weights", &weights);
}

int main(int argc, char **argv)
{
    const unsigned first = argc > 1 ? (unsigned)atoi(argv[1]) : 1, cases = argc > 2 ? (unsigned)atoi(argv[2]) : 300;
    cuda_host host = {};
    host.scores =
        cuda_scores{ attend_dot_tile, attend_additive_tile, attend_location_tile, attend_location_sensitive_tile };
    cuda_description gpu;
    char text[CUDA_TEXT];
    if (!cuda_open(&host, &gpu, text)) {
        printf("skipped: %s\n", text);
        return 77;
    }
    attend_arena arena = {};
    attend_compute c = {};
    c.scratch = &arena;
    for (unsigned seed = first; seed < first + cases; seed++) {
        attention_case(seed, &c);
        if (seed % 8 == 0) beam_case(seed, &c);
        if (cuda_fault()) {
            printf("seed %u: %s\n", seed, cuda_fault());
            return 1;
        }
    }
    attend_arena_free(&arena);
    printf("%u cases on %s, %d failures\n", cases, gpu.name, failures);
    return failures != 0;
}
