#pragma once

#include <cuda.h>

#include <cstdint>

// What the compiler has no names for: one function an instruction.
namespace assay::flash {

__device__ inline std::uint32_t shared_address(const void* pointer) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer));
}

// ---- mbarriers: a phase ends when all arrivals and all announced bytes have come. ----

__device__ inline void init_barrier(std::uint64_t& barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(&barrier)),
               "r"(arrivals)
               : "memory");
}

// Makes initialised barriers known to the copy engine. A __syncthreads() follows.
__device__ inline void publish_barriers() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

__device__ inline void arrive(std::uint64_t& barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(&barrier))
               : "memory");
}

__device__ inline void arrive_and_expect(std::uint64_t& barrier, int bytes) {
  asm volatile(
      "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(&barrier)),
      "r"(bytes)
      : "memory");
}

__device__ inline bool phase_has_ended(std::uint64_t& barrier, int parity) {
  std::uint32_t ended;
  asm volatile(
      "{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;"
      "selp.u32 %0, 1, 0, p;}"
      : "=r"(ended)
      : "r"(shared_address(&barrier)), "r"(parity)
      : "memory");
  return ended != 0;
}

// Without waiting; phase_has_ended may wait a while.
__device__ inline bool phase_has_ended_now(std::uint64_t& barrier, int parity) {
  std::uint32_t ended;
  asm volatile(
      "{.reg .pred p; mbarrier.test_wait.parity.shared::cta.b64 p, [%1], %2;"
      "selp.u32 %0, 1, 0, p;}"
      : "=r"(ended)
      : "r"(shared_address(&barrier)), "r"(parity)
      : "memory");
  return ended != 0;
}

// Returns once the phase of this parity has ended. The phase before a barrier's first counts as
// ended with parity 1.
__device__ inline void wait(std::uint64_t& barrier, int parity) {
  while (!phase_has_ended(barrier, parity)) {
  }
}

// ---- Named barriers: `threads` counts those that arrive and those that wait. ----

__device__ inline void wait_named(int barrier, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

__device__ inline void arrive_named(int barrier, int threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

// ---- The copy engine (TMA). ----

// How long a line stays in the L2 cache: encoded policies as cuda::createpolicy makes them.
enum class Keep : std::uint64_t { first_out = 0x12F0000000000000, last_out = 0x14F0000000000000 };

// Where a box begins: column of the head, row, head, batch.
struct Place {
  int column, row, head, batch;
};

// Copies the map's box at `from` into shared memory; its bytes count towards `barrier`.
__device__ inline void load_box(void* to, const CUtensorMap& map, Place from,
                                std::uint64_t& barrier, Keep keep) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes"
      ".L2::cache_hint [%0], [%1, {%2, %3, %4, %5}], [%6], %7;" ::"r"(shared_address(to)),
      "l"(&map), "r"(from.column), "r"(from.row), "r"(from.head), "r"(from.batch),
      "r"(shared_address(&barrier)), "l"(static_cast<std::uint64_t>(keep))
      : "memory");
}

// Copies a box of shared memory to `to`; rows and columns beyond the tensor are left out.
__device__ inline void store_box(const CUtensorMap& map, Place to, const void* from) {
  asm volatile(
      "cp.async.bulk.tensor.4d.global.shared::cta.bulk_group [%0, {%1, %2, %3, %4}], [%5];" ::"l"(
          &map),
      "r"(to.column), "r"(to.row), "r"(to.head), "r"(to.batch), "r"(shared_address(from))
      : "memory");
}

__device__ inline void end_stores() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }

// This thread's stores have read shared memory.
__device__ inline void wait_for_reads() {
  asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
}

// Copies `bytes`, a multiple of 16, that lie side by side; they count towards `barrier`.
__device__ inline void load_bytes(void* to, const void* from, int bytes, std::uint64_t& barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
          "r"(shared_address(to)),
      "l"(from), "r"(bytes), "r"(shared_address(&barrier))
      : "memory");
}

__device__ inline void prefetch_map(const CUtensorMap& map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
}

// Shared memory this thread has written may be read by the copy engine and the tensor cores.
__device__ inline void show_shared_writes() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// ---- Kernels behind each other in a stream. ----

// A kernel launched behind this one may begin once all blocks of threads have come here.
__device__ inline void let_next_begin() {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

// Until the kernel before has ended and what it wrote is seen.
__device__ inline void wait_for_kernel_before() {
  asm volatile("griddepcontrol.wait;" ::: "memory");
}

// ---- Clusters. ----

// All threads of the cluster that have not exited; what they wrote before is seen behind it.
__device__ inline void meet_cluster() {
  asm volatile(
      "barrier.cluster.arrive.release;\n"
      "barrier.cluster.wait.acquire;" ::
          : "memory");
}

// ---- Registers: all four warps of a warpgroup call these. ----

template <int count>
__device__ inline void give_registers_back() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(count));
}

template <int count>
__device__ inline void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(count));
}

// ---- wgmma: products run on while the warpgroup does other things. ----

// Before the first product after registers it uses were written.
__device__ inline void begin_products() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }

__device__ inline void end_products() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

// Waits until at most `pending` of the groups closed by end_products() still run.
template <int pending>
__device__ inline void wait_for_products() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(pending) : "memory");
}

// Keeps the compiler from moving uses of an accumulator over this place.
template <int count>
__device__ inline void pin(float (&registers)[count]) {
#pragma unroll
  for (int i = 0; i < count; ++i) asm volatile("" : "+f"(registers[i])::"memory");
}

// 2^x, with denormal results flushed to 0: one instruction of the special function unit.
__device__ inline float exp2_fast(float x) {
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}

// 1 / x, to the last bit or the one before.
__device__ inline float reciprocal(float x) {
  float result;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}

// Not a number where either is none, in place of the other as fminf() has it.
__device__ inline float smaller(float x, float y) {
  float result;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(x), "f"(y));
  return result;
}

// log2(x), to 2^-22 between 0.5 and 2 and in relative terms elsewhere.
__device__ inline float log2_fast(float x) {
  float result;
  asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}

// Four 8 × 8 matrices of 2-byte elements, matrix i with its rows at the addresses of lanes 8i …: a
// lane gets elements 2t and 2t + 1, t = lane mod 4, of row lane / 4 of each.
__device__ inline void load_matrices(std::uint32_t (&registers)[4], std::uint32_t address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(registers[0]), "=r"(registers[1]), "=r"(registers[2]), "=r"(registers[3])
               : "r"(address)
               : "memory");
}

// The reverse of load_matrices.
__device__ inline void store_matrices(std::uint32_t address, const std::uint32_t (&registers)[4]) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address),
               "r"(registers[0]), "r"(registers[1]), "r"(registers[2]), "r"(registers[3])
               : "memory");
}

__device__ inline void store_shared(std::uint32_t address, std::uint32_t value) {
  asm volatile("st.shared.u32 [%0], %1;" ::"r"(address), "r"(value) : "memory");
}

__device__ inline float load_shared(std::uint32_t address) {
  float value;
  asm volatile("ld.shared.f32 %0, [%1];" : "=f"(value) : "r"(address));
  return value;
}

__device__ inline float2 load_shared_pair(std::uint32_t address) {
  float2 pair;
  asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(pair.x), "=f"(pair.y) : "r"(address));
  return pair;
}

// ---- Sums in global memory. ----

__device__ inline void add_global(float* to, float4 value) {
  asm volatile("red.relaxed.gpu.global.add.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(to), "f"(value.x),
               "f"(value.y), "f"(value.z), "f"(value.w)
               : "memory");
}

// What other blocks of threads have written before they moved the counter on is seen after.
__device__ inline unsigned look_at(const unsigned* counter) {
  unsigned count;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(count) : "l"(counter) : "memory");
  return count;
}

__device__ inline void move_on(unsigned* counter) {
  asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(counter) : "memory");
}

}  // namespace assay::flash
