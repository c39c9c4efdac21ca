#!/usr/bin/env python3
"""Times cakejit's host route against PyTorch's CPU operators, in one process, call by call in turn.

  python bench/host_vs_torch.py --library build/release/runtime/libcakejit.so

PyTorch has no packed causal conv1d, so it is given its best case: one document, and three ways to write the operation,
of which the fastest counts:
  conv1d      silu(conv1d(x)), depthwise, with x laid out [1, C, S] as conv1d likes it best
  transposed  the same from and to token-major [S, C], which is what cakejit takes
  shifted     four multiply-adds of shifted token-major rows, then silu
"""
import argparse
import ctypes
import datetime
import json
import os
import platform
import statistics
import sys
import time

import torch
import torch.nn.functional as functional

DTYPES = {"bf16": (1, torch.bfloat16), "fp16": (2, torch.float16), "fp32": (3, torch.float32)}
FP32, INT64, SILU, HOST = 3, 5, 1, 0


def struct(name, fields):
    """A sized C struct: struct_size first, then `fields` as (type, names)."""
    members = [("struct_size", ctypes.c_size_t)]
    members += [(member, kind) for kind, names in fields for member in names.split()]
    return type(name, (ctypes.Structure,), {"_fields_": members})


Problem = struct("Problem", [
    (ctypes.c_int, "device"), (ctypes.c_int64, "tokens channels documents"),
    (ctypes.c_int, "dtype weight_dtype bias_dtype weight_grad_dtype bias_grad_dtype cu_seqlens_dtype activation"),
    (ctypes.c_int64, "x_row_stride y_row_stride dy_row_stride dx_row_stride")])
ForwardArgs = struct("ForwardArgs", [
    (ctypes.c_void_p, "x weight bias cu_seqlens cu_seqlens_host y workspace"), (ctypes.c_size_t, "workspace_bytes")])
BackwardArgs = struct("BackwardArgs", [
    (ctypes.c_void_p, "x weight bias dy cu_seqlens cu_seqlens_host dx dweight dbias workspace"),
    (ctypes.c_size_t, "workspace_bytes")])


class Cakejit:
    """The two passes on given tensors, through the C ABI."""

    def __init__(self, library, x, weight, bias, dy):
        self.library = library
        tokens, channels = x.shape
        code = next(code for code, dtype in DTYPES.values() if dtype == x.dtype)
        self.problem = Problem(ctypes.sizeof(Problem), HOST, tokens, channels, 1, code, FP32, FP32, FP32, FP32, INT64,
                               SILU, channels, channels, channels, channels)
        bytes_needed = ctypes.c_size_t()
        self.call("backward_workspace_bytes", ctypes.byref(self.problem), ctypes.byref(bytes_needed))
        self.cu_seqlens = torch.tensor([0, tokens])
        self.workspace = torch.empty(max(bytes_needed.value, 1), dtype=torch.uint8)
        self.y, self.dx = torch.empty_like(x), torch.empty_like(x)
        self.dweight, self.dbias = torch.empty(channels, 4), torch.empty(channels)
        self.inputs = (x, weight, bias, dy)  # kept alive
        pointer = lambda tensor: tensor.data_ptr()
        self.forward_args = ForwardArgs(ctypes.sizeof(ForwardArgs), pointer(x), pointer(weight), pointer(bias),
                                        pointer(self.cu_seqlens), None, pointer(self.y), None, 0)
        self.backward_args = BackwardArgs(ctypes.sizeof(BackwardArgs), pointer(x), pointer(weight), pointer(bias),
                                          pointer(dy), pointer(self.cu_seqlens), None, pointer(self.dx),
                                          pointer(self.dweight), pointer(self.dbias), pointer(self.workspace),
                                          bytes_needed.value)

    def call(self, name, *args):
        status = getattr(self.library, "cake_causal_conv1d_det_train_" + name)(*args)
        if status != 0:
            sys.exit(f"{name} failed: " + ctypes.c_char_p(self.library.cake_last_error()).value.decode())

    def forward(self):
        self.call("forward", None, ctypes.byref(self.problem), ctypes.byref(self.forward_args), None)

    def backward(self):
        self.call("backward", None, ctypes.byref(self.problem), ctypes.byref(self.backward_args), None)


class TorchWay:
    """One way to write the operation; `backward` differentiates the graph of one forward again and again."""

    def __init__(self, function, x, weight, bias, dy):
        self.function = function
        self.leaves = [tensor.clone().requires_grad_() for tensor in (x, weight.to(x.dtype), bias.to(x.dtype))]
        self.plain = [leaf.detach() for leaf in self.leaves]
        self.dy = dy
        self.y = function(*self.leaves)

    def forward(self):
        with torch.no_grad():
            self.function(*self.plain)

    def backward(self):
        self.gradients = torch.autograd.grad(self.y, self.leaves, self.dy, retain_graph=True)


def channel_major(x, weight, bias):
    return functional.silu(functional.conv1d(x, weight[:, None, :], bias, padding=3, groups=x.shape[1])[..., : x.shape[2]])


def transposed(x, weight, bias):
    return channel_major(x.t().contiguous()[None], weight, bias)[0].t().contiguous()


def shifted(x, weight, bias):
    padded = functional.pad(x, (0, 0, 3, 0))
    z = torch.addcmul(bias, padded[3:], weight[:, 3])
    for tap in range(3):
        z = torch.addcmul(z, padded[tap : tap + x.shape[0]], weight[:, tap])
    return functional.silu(z)


def median_times(calls, repeats):
    """Median seconds of each call; the calls take turns, so that a busy machine slows all of them alike."""
    times = {name: [] for name in calls}
    for turn in range(repeats + 2):
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            if turn >= 2:  # warm-up
                times[name].append(time.perf_counter() - start)
    return {name: statistics.median(values) for name, values in times.items()}


def compare(library, dtype_name, tokens, channels, repeats):
    torch.manual_seed(1)
    dtype = DTYPES[dtype_name][1]
    x, dy = torch.randn(tokens, channels).to(dtype), torch.randn(tokens, channels).to(dtype)
    weight, bias = torch.randn(channels, 4) * 0.5, torch.randn(channels) * 0.5
    ours = Cakejit(library, x, weight, bias, dy)
    channels_first = lambda tensor: tensor.t().contiguous()[None]
    ways = {"conv1d": TorchWay(channel_major, channels_first(x), weight, bias, channels_first(dy)),
            "transposed": TorchWay(transposed, x, weight, bias, dy),
            "shifted": TorchWay(shifted, x, weight, bias, dy)}
    rows = []
    for passing in ("forward", "backward"):
        calls = {"cakejit": getattr(ours, passing), **{name: getattr(way, passing) for name, way in ways.items()}}
        times = median_times(calls, repeats)
        best = min(ways, key=times.get)
        rows.append({"dtype": dtype_name, "pass": passing, "ratio": times[best] / times["cakejit"], "best": best,
                     **{name + "_ms": seconds * 1e3 for name, seconds in times.items()}})
    exact = TorchWay(shifted, x.double(), weight.double(), bias.double(), dy.double())
    exact.backward()
    error = lambda found, right: ((found.double() - right).norm() / right.norm()).item()
    rows[0]["error"] = error(ours.y, exact.y.detach())
    rows[1]["error"] = max(error(ours.dx, exact.gradients[0]), error(ours.dweight, exact.gradients[1]))
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", default="build/release/runtime/libcakejit.so")
    parser.add_argument("--tokens", type=int, default=8192)
    parser.add_argument("--channels", type=int, default=2048)
    parser.add_argument("--dtypes", default="fp32,bf16")
    parser.add_argument("--repeats", type=int, default=25)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--json", action="store_true", help="one JSON object per line instead of a table")
    options = parser.parse_args()

    os.environ["CAKEJIT_HOST_THREADS"] = str(options.threads)  # read when the default context is made
    torch.set_num_threads(options.threads)
    library = ctypes.CDLL(os.path.abspath(options.library))
    library.cake_last_error.restype = ctypes.c_void_p
    header = (f"{datetime.date.today()}, {platform.machine()} ({torch.backends.cpu.get_cpu_capability()}), "
              f"{options.threads} threads, torch {torch.__version__}, S={options.tokens}, C={options.channels}")
    if not options.json:
        print(header)
        print(f"{'':14}{'cakejit':>10}{'conv1d':>10}{'transposed':>12}{'shifted':>10}  (median ms)   faster than the best")
    for dtype in options.dtypes.split(","):
        for row in compare(library, dtype, options.tokens, options.channels, options.repeats):
            if options.json:
                print(json.dumps({"run": header, **row}))
                continue
            print(f"{row['dtype']:5}{row['pass']:9}{row['cakejit_ms']:10.2f}{row['conv1d_ms']:10.2f}"
                  f"{row['transposed_ms']:12.2f}{row['shifted_ms']:10.2f}{'':17}{row['ratio']:.1f} x "
                  f"({row['best']}); error {row['error']:.1e}")


if __name__ == "__main__":
    main()
