#include "tests/emulation/faulty_kernels.hpp"

#define CAKEJIT_SHARED_SECTION "shared_faulty"
#include "tests/emulation/kernel_view/cuda.hpp"
#include "tests/emulation/kernel_view/ptx.hpp"

extern std::byte __start_shared_faulty[] __attribute__((visibility("hidden")));
extern std::byte __stop_shared_faulty[] __attribute__((visibility("hidden")));

namespace cakejit::emulation {
namespace {

using namespace ptx;

struct alignas(16) Packet {
  float value[4];
};

using Params = const FaultyParams&;
constexpr int kThreads = kFaultyThreads;

int me() {
  return static_cast<int>(threadIdx.x);
}

long long item() {
  return static_cast<long long>(blockIdx.x) * kThreads + me();
}

// In every kernel the result is right if the fault does not bite: out = in.
__device__ void sound(Params p) {
  __shared__ float copied[kThreads];
  __shared__ float mirrored[kThreads];
  cp_async<Reuse::kNone, 4>(&copied[me()], &p.in[item()]);
  copy_async_commit();
  copy_async_wait<0>();
  mirrored[kThreads - 1 - me()] = copied[me()];
  __syncthreads();
  const unsigned lanes = __ballot_sync(0xffffffffu, 1);
  p.out[item()] = lanes == 0xffffffffu ? mirrored[kThreads - 1 - me()] : 0.0f;
}

__device__ void copy_without_wait(Params p) {
  __shared__ float copied[kThreads];
  cp_async<Reuse::kNone, 4>(&copied[me()], &p.in[item()]);
  copy_async_commit();
  p.out[item()] = copied[me()];
  copy_async_wait<0>();
}

__device__ void copy_without_commit(Params p) {
  __shared__ float copied[kThreads];
  cp_async<Reuse::kNone, 4>(&copied[me()], &p.in[item()]);
  copy_async_wait<0>();
  p.out[item()] = copied[me()];
}

__device__ void copy_waited_for_a_group_short(Params p) {
  __shared__ float copied[kThreads];
  cp_async<Reuse::kNone, 4>(&copied[me()], &p.in[item()]);
  copy_async_commit();
  copy_async_commit();
  copy_async_wait<2>();
  p.out[item()] = copied[me()];
}

__device__ void copy_overwritten_in_flight(Params p) {
  __shared__ float copied[kThreads];
  cp_async<Reuse::kNone, 4>(&copied[me()], &p.in[item()]);
  copy_async_commit();
  copied[me()] = p.in[item()];
  copy_async_wait<0>();
  p.out[item()] = copied[me()];
}

__device__ void copy_left_in_flight(Params p) {
  __shared__ float copied[kThreads];
  cp_async<Reuse::kNone, 4>(&copied[me()], &p.in[item()]);
  copy_async_commit();
  p.out[item()] = p.in[item()];
}

__device__ void copy_seen_by_others_without_barrier(Params p) {
  __shared__ float copied[kThreads];
  copied[me()] = 0;
  cp_async<Reuse::kNone, 4>(&copied[me()], &p.in[item()]);
  copy_async_commit();
  copy_async_wait<0>();
  p.out[item() ^ 1] = copied[me() ^ 1];
}

__device__ void misaligned_copy(Params p) {
  __shared__ float copied[2 * kThreads];
  if (me() < kThreads - 1) cp_async<Reuse::kNone, 8>(&copied[2 * me()], &p.in[item()]);
  copy_async_commit();
  copy_async_wait<0>();
  p.out[item()] = p.in[item()];
}

__device__ void missing_barrier(Params p) {
  __shared__ float mirrored[kThreads];
  mirrored[me()] = 0;
  __syncthreads();
  mirrored[kThreads - 1 - me()] = p.in[item()];
  p.out[item()] = mirrored[me()] * 0 + p.in[item()];
}

__device__ void missing_second_barrier(Params p) {
  __shared__ float shared[kThreads];
  shared[me()] = 1;
  __syncthreads();
  const float neighbour = shared[me() ^ 1];
  shared[me()] = 2;
  p.out[item()] = p.in[item()] * neighbour;
}

__device__ void two_writers_in_shared_memory(Params p) {
  __shared__ float shared[kThreads];
  shared[me() / 2] = 1;
  __syncthreads();
  p.out[item()] = p.in[item()] * shared[me() / 2];
}

__device__ void two_writers_in_global_memory(Params p) {
  p.out[item()] = p.in[item()];
  if (me() == 1) p.out[item() - 1] = p.in[item() - 1];
}

__device__ void two_blocks_write_the_same(Params p) {
  p.out[me()] = p.in[me()];
}

__device__ void block_reads_what_another_writes(Params p) {
  p.scratch[item()] = p.in[item()];
  __syncthreads();
  p.out[item()] = p.scratch[item() ^ kThreads];
}

__device__ void index_out_of_a_shared_array(Params p) {
  __shared__ float first[kThreads];
  __shared__ float second[kThreads];
  first[me()] = second[me()] = 1;
  __syncthreads();
  if (me() == kThreads - 1) first[me() + 1] = 1;
  p.out[item()] = p.in[item()] * first[me()] * second[me()];
}

__device__ void pointer_out_of_shared_memory(Params p) {
  float* const end = reinterpret_cast<float*>(__stop_shared_faulty);
  end[me() - kThreads + 1] = 0;
  p.out[item()] = p.in[item()];
}

__device__ void read_past_the_end(Params p) {
  p.out[item()] = p.in[item() + 1] * 0 + p.in[item()];
}

__device__ void read_before_the_start(Params p) {
  p.out[item()] = p.in[item() - 1] * 0 + p.in[item()];
}

__device__ void write_past_the_end(Params p) {
  p.out[item()] = p.in[item()];
  if (me() == kThreads - 1) p.out[item() + 1] = 0;
}

__device__ void write_to_an_input(Params p) {
  p.out[item()] = p.in[item()];
  const_cast<float*>(p.in)[item()] = 0;
}

__device__ void read_of_an_output(Params p) {
  p.out[item()] = p.out[item()] * 0 + p.in[item()];
}

__device__ void null_pointer(Params p) {
  p.out[item()] = p.in[item()] + *p.nothing;
}

__device__ void misaligned_packet(Params p) {
  p.out[item()] = p.in[item()];
  if (me() == 1) *reinterpret_cast<Packet*>(p.out + 1) = Packet{};
}

__device__ void uninitialised_shared_memory(Params p) {
  __shared__ float shared[kThreads];
  if (me() != 5) shared[me()] = 1;
  p.out[item()] = p.in[item()] * shared[me()];
}

__device__ void uninitialised_global_memory(Params p) {
  p.out[item()] = p.in[item()] + p.scratch[item()] * 0;
}

__device__ void output_not_written(Params p) {
  if (me() != 5) p.out[item()] = p.in[item()];
}

__device__ void barrier_in_one_warp(Params p) {
  if (me() < 32) __syncthreads();
  p.out[item()] = p.in[item()];
}

__device__ void barriers_of_two_branches(Params p) {
  if (me() % 2 == 0) {
    __syncthreads();
  } else {
    __syncthreads();
  }
  p.out[item()] = p.in[item()];
}

__device__ void barrier_and_warp_function(Params p) {
  if (me() == 0) {
    __syncthreads();
  } else {
    __ballot_sync(0xffffffffu, 1);
  }
  p.out[item()] = p.in[item()];
}

__device__ void lane_that_has_left(Params p) {
  p.out[item()] = p.in[item()];
  if (me() % 32 == 7) return;
  __ballot_sync(0xffffffffu, 1);
}

__device__ void mask_without_own_lane(Params p) {
  __ballot_sync(0x7fffffffu, 1);
  p.out[item()] = p.in[item()];
}

__device__ void lanes_with_different_masks(Params p) {
  __all_sync(me() % 2 == 0 ? 0xffffffffu : 0xfffffffeu, 1);
  p.out[item()] = p.in[item()];
}

__device__ void different_warp_functions(Params p) {
  if (me() % 2 == 0) {
    __any_sync(0xffffffffu, 1);
  } else {
    __shfl_sync(0xffffffffu, 1, 0);
  }
  p.out[item()] = p.in[item()];
}

__device__ void signed_overflow(Params p) {
  const int large = 0x7fffffff - 62 + me();
  p.out[item()] = large + 1 > 0 ? p.in[item()] : p.in[item()];
}

__device__ void unfilled(Params p) {
  __shared__ float shared[kThreads];
  if (me() > kThreads) shared[0] = 0;
  p.out[item()] = shared[me()];
}

template <void (*Body)(Params)>
constexpr CompiledKernel compiled(const char* symbol) {
  return {.symbol = symbol,
          .entry = [](const void* params) { Body(*static_cast<const FaultyParams*>(params)); },
          .params_bytes = sizeof(FaultyParams),
          .shared_begin = __start_shared_faulty,
          .shared_end = __stop_shared_faulty};
}

template <void (*Body)(Params)>
constexpr FaultyKernel made(const char* fault, const char* violation, unsigned blocks = 1,
                            bool scratch_is_filled = true) {
  return {compiled<Body>(fault), fault, violation, blocks, scratch_is_filled};
}

}  // namespace

constinit const CompiledKernel kSoundKernel = compiled<sound>("sound");
constinit const CompiledKernel kGarbageKernel = compiled<unfilled>("unfilled");

constinit const FaultyKernel kFaultyKernels[] = {
    made<copy_without_wait>("a copy is not waited for", "before the asynchronous copy to it was waited for"),
    made<copy_without_commit>("a copy is not committed", "before the asynchronous copy to it was waited for"),
    made<copy_waited_for_a_group_short>("a wait is a group short", "before the asynchronous copy to it was waited for"),
    made<copy_overwritten_in_flight>("a copy's target is written", "before the asynchronous copy to it was waited for"),
    made<copy_left_in_flight>("a copy is never waited for", "leaves with asynchronous copies in flight"),
    made<copy_seen_by_others_without_barrier>("another thread reads a copy without a barrier",
                                              "races with|waited for|uninitialised"),
    made<misaligned_copy>("a copy is misaligned", "misaligned"),
    made<missing_barrier>("a barrier is missing", "races with a"),
    made<missing_second_barrier>("the barrier before a slot's next use is missing", "races with a"),
    made<two_writers_in_shared_memory>("two threads write one shared word", "races with a write"),
    made<two_writers_in_global_memory>("two threads write one global word", "races with a write"),
    made<two_blocks_write_the_same>("two blocks write the same", "races with a write", 2),
    made<block_reads_what_another_writes>("a block reads what another writes", "races with a", 2),
    made<index_out_of_a_shared_array>("an index is past a shared array", "has the index 64 out of its array's bounds"),
    made<pointer_out_of_shared_memory>("a pointer is past shared memory", "out of bounds"),
    made<read_past_the_end>("a read past the end", "an address outside all tensors: out of bounds"),
    made<read_before_the_start>("a read before the start", "an address outside all tensors: out of bounds"),
    made<write_past_the_end>("a write past the end", "an address outside all tensors: out of bounds"),
    made<write_to_an_input>("an input is written", "of in: not what this tensor is for"),
    made<read_of_an_output>("an output is read", "of out: not what this tensor is for"),
    made<null_pointer>("a null pointer is read", "out of bounds"),
    made<misaligned_packet>("a packet is misaligned", "misaligned"),
    made<uninitialised_shared_memory>("shared memory is read before it is written", "uninitialised"),
    made<uninitialised_global_memory>("global memory is read before it is written", "uninitialised", 1, false),
    made<output_not_written>("an output is not written whole", "byte 20 of row 0 of out was not written"),
    made<barrier_in_one_warp>("one warp alone waits at a barrier", "other threads of its block"),
    made<barriers_of_two_branches>("a barrier diverges", "is at __syncthreads of line"),
    made<barrier_and_warp_function>("a lane waits at a barrier, the others for it",
                                    "is stuck|leaves while|waits at __syncthreads"),
    made<lane_that_has_left>("a warp function names a lane that has left",
                             "in the mask that has left|leaves while other lanes"),
    made<mask_without_own_lane>("a mask lacks the caller's lane", "mask that lacks its own lane"),
    made<lanes_with_different_masks>("lanes of a warp function have different masks", "with mask"),
    made<different_warp_functions>("lanes of a warp call different functions", "calls a warp function at line"),
    made<signed_overflow>("a signed sum overflows", "overflows in an addition"),
};
constinit const std::size_t kFaultyKernelCount = sizeof kFaultyKernels / sizeof kFaultyKernels[0];

}  // namespace cakejit::emulation
