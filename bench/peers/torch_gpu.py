"""The models of bench/gpu.c in PyTorch on a GPU, each in several forms, of which the fastest counts: eager, and the whole step as one
CUDA graph; attention also compiled. The models are those of the other peers, in other sizes.

    gpu-rnnsearch | gpu-rnn-small | gpu-luong BATCH LENGTH PRECISION               a training step
    gpu-transformer WIDTH INNER HEADS LAYERS VOCABULARY BATCH LENGTH PRECISION
    gpu-decode-rnnsearch | gpu-decode-transformer BATCH BEAM                       25 source tokens and exactly 25 steps, tf32
    gpu-additive | gpu-dot BATCH HEADS LENGTH WIDTH PRECISION forward|both"""
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel

import torch_decoding
import torch_models
import torch_transformer


def use_gpu(precision):
    torch.set_default_device("cuda")
    is_exact = precision == "fp32"
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = not is_exact


def waiting(run):
    def run_and_wait():
        run()
        torch.cuda.synchronize()

    return run_and_wait


def graphed(run):
    """Captures what `run` launches in one graph; None if that is not possible."""
    try:
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                run()
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            run()
        return waiting(graph.replay)
    except RuntimeError:
        torch.cuda.synchronize()
        return None


def forms(run):
    return [form for form in (waiting(run), graphed(run)) if form]


class DeepLuong(nn.Module):
    """Luong et al. 2015: layers of LSTMs on both sides, general score, input feeding."""

    def __init__(self, layers, width, vocabulary):
        super().__init__()
        self.source, self.target = nn.Embedding(vocabulary, width), nn.Embedding(vocabulary, width)
        self.encoder = nn.LSTM(width, width, layers)
        self.cells = nn.ModuleList(nn.LSTMCell(width * (2 if i == 0 else 1), width) for i in range(layers))
        self.score = nn.Linear(width, width, bias=False)
        self.mix, self.output = nn.Linear(2 * width, width), nn.Linear(width, vocabulary)

    def forward(self, source, target):
        states, (h, c) = self.encoder(self.source(source))
        memory = states.transpose(0, 1).contiguous()
        keys, tokens = self.score(memory), self.target(target)
        h, c, rows = list(h.unbind()), list(c.unbind()), []
        mixed = torch.zeros_like(h[0])
        for t in range(target.shape[0]):
            x = torch.cat([tokens[t], mixed], -1)
            for i, cell in enumerate(self.cells):
                h[i], c[i] = cell(x, (h[i], c[i]))
                x = h[i]
            weights = torch.softmax(torch.bmm(keys, x[:, :, None])[:, :, 0], -1)
            context = torch.bmm(weights[:, None, :], memory)[:, 0]
            mixed = torch.tanh(self.mix(torch.cat([context, x], -1)))
            rows.append(mixed)
        return self.output(torch.stack(rows))


def trainer(model, loss_of, precision):
    adam = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True, capturable=True)

    def run():
        adam.zero_grad(set_to_none=True)
        with torch.autocast("cuda", torch.bfloat16, enabled=precision == "bf16"):
            loss = loss_of()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        adam.step()

    return forms(run)


def random_tokens(vocabulary, *shape):
    return torch.randint(3, vocabulary, shape)


def train_rnnsearch(vocabulary, embedding, hidden, batch, length, precision):
    use_gpu(precision)
    torch_models.VOCABULARY, torch_models.EMBEDDING, torch_models.HIDDEN = vocabulary, embedding, hidden
    model = torch_models.RNNsearch()
    source, target, labels = (random_tokens(vocabulary, int(length), int(batch)) for _ in range(3))

    def loss():
        logits = model(source, None, target, False, None)
        return F.cross_entropy(logits.reshape(-1, vocabulary), labels.reshape(-1))

    return trainer(model, loss, precision)


def train_luong(batch, length, precision):
    use_gpu(precision)
    vocabulary = 50000
    model = DeepLuong(4, 1000, vocabulary)
    source, target, labels = (random_tokens(vocabulary, int(length), int(batch)) for _ in range(3))
    return trainer(model, lambda: F.cross_entropy(model(source, target).reshape(-1, vocabulary), labels.reshape(-1)), precision)


def size_transformer(width, inner, heads, layers, vocabulary):
    t = torch_transformer
    t.WIDTH, t.INNER, t.HEADS, t.LAYERS, t.VOCABULARY = width, inner, heads, layers, vocabulary


class EqualBatch:
    """Pairs of one length: no masks, and no rows to leave out."""

    def __init__(self, vocabulary, batch, length):
        self.source, self.target, self.labels = (random_tokens(vocabulary, batch, length) for _ in range(3))
        self.mask, self.hidden, self.real = None, None, slice(None)


def train_transformer(width, inner, heads, layers, vocabulary, batch, length, precision):
    use_gpu(precision)
    size_transformer(*(int(x) for x in (width, inner, heads, layers, vocabulary)))
    model, data = torch_transformer.Transformer(), EqualBatch(int(vocabulary), int(batch), int(length))
    return trainer(model, lambda: F.cross_entropy(model(data).flatten(0, 1), data.labels.flatten()), precision)


def decode_rnnsearch(batch, beam):
    use_gpu("tf32")
    torch_models.VOCABULARY, torch_models.EMBEDDING, torch_models.HIDDEN = 30000, 620, 1000
    torch_decoding.VOCABULARY, torch_decoding.HIDDEN = 30000, 1000
    decoder = torch_decoding.Decoder(int(batch))
    run = decoder.greedy if int(beam) == 1 else decoder.beam(int(beam), True)
    return forms(run)


def decode_transformer(batch, beam):
    use_gpu("tf32")
    size_transformer(512, 2048, 8, 6, 32000)
    runs = [torch_transformer.Decoder(int(batch), int(beam), grow) for grow in (False, True)]
    return [form for d in runs for form in forms(d.greedy if d.beam == 1 else d.search)]


def additive(batch, heads, length, width, precision, passes):
    use_gpu(precision)
    batch, length, width = int(batch), int(length), int(width)
    number = torch.bfloat16  # fp32 takes twice the memory and is slower
    q, k, v = (torch.randn(batch, length, width, dtype=number, requires_grad=True) for _ in range(3))
    u = (torch.randn(width, dtype=number) * width**-0.5).requires_grad_()
    gradient = torch.randn(batch, length, width, dtype=number)

    def attend(q, k, v, u):
        scores = torch.matmul(torch.tanh(q[:, :, None, :] + k[:, None, :, :]), u)
        return torch.bmm(torch.softmax(scores, -1), v)

    def runner(form):
        def run():
            q.grad = k.grad = v.grad = u.grad = None
            form(q, k, v, u).backward(gradient)

        return waiting(run)

    return [runner(attend), runner(torch.compile(attend))]


def dot(batch, heads, length, width, precision, passes):
    use_gpu(precision)
    number = torch.bfloat16 if precision == "bf16" else torch.float32
    q, k, v = (torch.randn(int(batch), int(heads), int(length), int(width), dtype=number, requires_grad=passes == "both")
               for _ in range(3))
    gradient = torch.randn_like(q).detach()

    def runner(backend):
        def run():
            q.grad = k.grad = v.grad = None
            with sdpa_kernel(backend):
                y = F.scaled_dot_product_attention(q, k, v)
            if passes == "both":
                y.backward(gradient)

        return waiting(run)

    return [runner(backend) for backend in (SDPBackend.FLASH_ATTENTION, SDPBackend.CUDNN_ATTENTION)]


MAKERS = {
    "gpu-rnnsearch": lambda *x: train_rnnsearch(30000, 620, 1000, *x),
    "gpu-rnn-small": lambda *x: train_rnnsearch(8000, 128, 256, *x),
    "gpu-luong": train_luong,
    "gpu-transformer": train_transformer,
    "gpu-decode-rnnsearch": decode_rnnsearch,
    "gpu-decode-transformer": decode_transformer,
    "gpu-additive": additive,
    "gpu-dot": dot,
}
