// The device's own limits for this operation's traffic: read one stream and write one (the forward), read two and write one (the
// backward). Grid-stride kernels over 16-byte words with kUnroll independent loads in flight; cake-bench takes the best of several.
#ifndef __CUDACC_RTC__
constexpr int kUnroll = 4;  // cake-bench generates this line
#endif

extern "C" __global__ void __launch_bounds__(512) limit_copy(const uint4* in, uint4* out, long long words) {
  const long long tile = 512ll * kUnroll;
  for (long long base = blockIdx.x * tile; base < words; base += gridDim.x * tile) {
    uint4 value[kUnroll];
    const long long first = base + threadIdx.x;
    if (base + tile <= words) {
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) value[u] = in[first + u * 512];
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) out[first + u * 512] = value[u];
    } else {
      for (long long i = first; i < words; i += 512) out[i] = in[i];
    }
  }
}

// The sum stands for any cheap arithmetic: its time is hidden.
__device__ inline uint4 combine(uint4 a, uint4 b) { return make_uint4(a.x ^ b.x, a.y ^ b.y, a.z ^ b.z, a.w ^ b.w); }

extern "C" __global__ void __launch_bounds__(512) limit_add(const uint4* a, const uint4* b, uint4* out, long long words) {
  const long long tile = 512ll * kUnroll;
  for (long long base = blockIdx.x * tile; base < words; base += gridDim.x * tile) {
    uint4 left[kUnroll];
    uint4 right[kUnroll];
    const long long first = base + threadIdx.x;
    if (base + tile <= words) {
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) {
        left[u] = a[first + u * 512];
        right[u] = b[first + u * 512];
      }
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) out[first + u * 512] = combine(left[u], right[u]);
    } else {
      for (long long i = first; i < words; i += 512) out[i] = combine(a[i], b[i]);
    }
  }
}
