"""Attention as graphs of the package nvidia-cudnn-frontend: built ahead of all calls, executed on
PyTorch's tensors with one workspace."""

import os

from assay_peer import Attention, Unsupported, packages, serve  # first: it answers without torch

import torch

PACKAGE = "nvidia-cudnn-frontend"
WITH_BACKWARD = {"backward", "forward_backward"}


class Graph:
    """A graph and the tensors that a call binds, by name."""

    def __init__(self, cudnn, handle, dtype):
        self.cudnn, self.handle, self.dtype = cudnn, handle, dtype
        self.graph = cudnn.pygraph(
            io_data_type=dtype, intermediate_data_type=cudnn.data_type.FLOAT,
            compute_data_type=cudnn.data_type.FLOAT, handle=handle)
        self.bound = {}

    def read(self, name, shape, dtype=None):
        self.bound[name] = self.graph.tensor(
            name=name, dim=list(shape), stride=strides(shape), data_type=dtype or self.dtype)
        return self.bound[name]

    def write(self, name, tensor, shape, dtype=None):
        tensor.set_output(True).set_dim(list(shape)).set_stride(strides(shape))
        tensor.set_data_type(dtype or self.dtype)
        self.bound[name] = tensor

    def build(self):
        """Who executes it: cuDNN, or an engine of the package's own."""
        modes = self.cudnn.heur_mode
        try:
            self.graph.build([modes.A, modes.FALLBACK])
        except self.cudnn.cudnnGraphNotSupportedError as problem:
            raise Unsupported(f"cuDNN {self.cudnn.backend_version_string()}: "
                              f"{' '.join(str(problem).split())}") from problem
        engine = getattr(self.graph, "selected_engine", None)
        return "cuDNN" if engine is None else engine.name

    def execute(self, tensors, workspace):
        self.graph.execute({self.bound[name]: tensor for name, tensor in tensors.items()},
                           workspace, handle=self.handle)


def strides(shape):
    """Of a tensor without gaps."""
    reached, found = 1, []
    for size in reversed(shape):
        found.insert(0, reached)
        reached *= size
    return found


class AttentionGraphs:
    """q, k, v and results: [batch, heads, seq_len, d_head], without gaps."""

    def __init__(self, cudnn, device, dtype, q_shape, k_shape, masked):
        """masked: the scale and the mask, as both operations take them."""
        handle = cudnn.create_handle()
        cudnn.set_stream(handle, torch.cuda.current_stream(device).cuda_stream)
        self.of_graphs = cudnn, handle, dtype
        self.wide, self.device = cudnn.data_type.FLOAT, device
        self.q_shape, self.k_shape, self.masked = q_shape, k_shape, masked
        self.sums_shape = (*q_shape[:-1], 1)
        self.forwards, self.backward, self.workspace = {}, None, None

    def build_forward(self, with_sums):
        graph = Graph(*self.of_graphs)
        q, k, v = (graph.read(name, shape) for name, shape in self.operands())
        out, sums = graph.graph.sdpa(q=q, k=k, v=v, generate_stats=with_sums, **self.masked)
        graph.write("out", out, self.q_shape)
        if with_sums:
            graph.write("sums", sums, self.sums_shape, self.wide)
        self.forwards[with_sums] = graph
        return graph.build()

    def build_backward(self):
        graph = Graph(*self.of_graphs)
        q, k, v = (graph.read(name, shape) for name, shape in self.operands())
        out, dout = (graph.read(name, self.q_shape) for name in ("out", "dout"))
        sums = graph.read("sums", self.sums_shape, self.wide)
        gradients = graph.graph.sdpa_backward(q=q, k=k, v=v, o=out, dO=dout, stats=sums,
                                              **self.masked)
        for (name, shape), gradient in zip(self.operands(), gradients):
            graph.write("d" + name, gradient, shape)
        self.backward = graph
        return graph.build()

    def operands(self):
        return ("q", self.q_shape), ("k", self.k_shape), ("v", self.k_shape)

    def allocate(self):
        graphs = [*self.forwards.values(), self.backward]
        size = max(graph.graph.get_workspace_size() for graph in graphs if graph is not None)
        self.workspace = torch.empty(max(size, 1), dtype=torch.uint8, device=self.device)

    def run_forward(self, q, k, v, with_sums):
        tensors = {"q": q.detach(), "k": k.detach(), "v": v.detach(), "out": torch.empty_like(q)}
        if with_sums:
            tensors["sums"] = torch.empty(self.sums_shape, device=self.device)
        self.forwards[with_sums].execute(tensors, self.workspace)
        return tensors["out"], tensors.get("sums")

    def run_backward(self, q, k, v, out, sums, dout):
        tensors = {"q": q.detach(), "k": k.detach(), "v": v.detach(), "out": out, "sums": sums,
                   "dout": dout.contiguous(), "dq": torch.empty_like(q),
                   "dk": torch.empty_like(k), "dv": torch.empty_like(v)}
        self.backward.execute(tensors, self.workspace)
        return tensors["dq"], tensors["dk"], tensors["dv"]


class AttentionFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, graphs, q, k, v):
        ctx.graphs = graphs
        out, sums = graphs.run_forward(q, k, v, with_sums=True)
        ctx.save_for_backward(q, k, v, out, sums)
        return out

    @staticmethod
    def backward(ctx, dout):
        return None, *ctx.graphs.run_backward(*ctx.saved_tensors, dout)


class CudnnAttention(Attention):
    grouped = windowed = True

    def __init__(self, case):
        packages.require_precision(case, PACKAGE, "bf16", "fp16")
        packages.require_gpu(case.device, PACKAGE)
        super().__init__(case)
        if torch.version.cuda:  # of several CUDA runtimes it would take the oldest
            major = torch.version.cuda.split(".")[0]
            os.environ.setdefault("CUDNN_FRONTEND_CUDART_LIB_NAME", f"libcudart.so.{major}")
        cudnn = packages.imported("cudnn", PACKAGE)
        packages.used[PACKAGE + " cuDNN"] = cudnn.backend_version_string()
        dtype = cudnn.data_type.BFLOAT16 if self.dtype == torch.bfloat16 else cudnn.data_type.HALF
        k_shape = (self.shape[0], self.kv_heads, *self.shape[2:])
        self.graphs = AttentionGraphs(cudnn, self.device, dtype, self.shape, k_shape,
                                      {"attn_scale": self.scale, **self.band(cudnn)})
        self.without_backward = None
        self.build(set(case.passes))

    def build(self, passes):
        engines = []
        if "inference" in passes:
            engines.append("inference by " + self.graphs.build_forward(with_sums=False))
        if passes - {"inference"}:
            engines.append("forward by " + self.graphs.build_forward(with_sums=True))
        if passes & WITH_BACKWARD:
            try:
                engines.append("backward by " + self.graphs.build_backward())
            except Unsupported as problem:
                self.graphs.backward, self.without_backward = None, problem
        packages.used[PACKAGE + " engines"] = ", ".join(engines)
        self.graphs.allocate()

    def band(self, cudnn):
        """The mask: keys less than the left bound before a query, and up to the right after it."""
        window = self.window if 0 < self.window < self.shape[2] else None
        after = 0 if self.causal else None if window is None else window - 1
        return {"diagonal_alignment": cudnn.diagonal_alignment.TOP_LEFT,
                "diagonal_band_left_bound": window, "diagonal_band_right_bound": after}

    def before(self, pass_name):
        if pass_name in WITH_BACKWARD and self.without_backward is not None:
            raise self.without_backward
        super().before(pass_name)

    def forward(self, q, k, v):
        if torch.is_grad_enabled():
            return AttentionFunction.apply(self.graphs, q, k, v)
        return self.graphs.run_forward(q, k, v, with_sums=False)[0]


if __name__ == "__main__":
    serve(CudnnAttention)
