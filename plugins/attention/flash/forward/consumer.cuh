#pragma once

#include "attention/flash/instructions.cuh"
#include "attention/flash/mask.cuh"
#include "attention/flash/problem.h"
#include "attention/flash/softmax.cuh"
#include "attention/flash/threads.cuh"
#include "attention/flash/tile.cuh"
#include "output.cuh"
#include "schedule.cuh"
#include "tile_pass.cuh"
#include "turns.cuh"

// A warpgroup computes 64 queries of each tile: scores, softmax, weighted values.
namespace assay::flash {

template <class T>
__device__ void consume(const Arguments& arguments, Shared<T>& shared, int thread) {
  const Shape& shape = arguments.shape;
  const Consumer me = consumer_of(thread);
  const Operands<T> operands(shared);
  Registers<T> registers;
  unsigned tiles = 0;   // items taken by this block of threads before
  unsigned blocks = 0;  // and blocks of keys

  Turns<T>::begin(me.group);
  while (true) {
    const Turn<2> announced(tiles);
    wait(shared.work_full[announced.stage], announced.parity);
    const int4 work = uniform(shared.work[announced.stage]);
    __syncwarp();
    release(shared.work_empty[announced.stage], me);
    if (work.w < 0) break;

    const Turn<T::query_stages> mine(__shfl_sync(~0u, tiles++, 0));
    const int first_row = first_row_of<T>(shape, work.x);
    const BlockRange loaded =
        seen_blocks(shape, first_row, T::rows, T::keys).part(work.w, arguments.parts.blocks);
    const BlockRange range = blocks_of_group<T>(shape, first_row, me.group, loaded);
#pragma unroll
    for (float& element : registers.output) element = 0;

    pass_over<T>(loaded.end - range.end, blocks, shared, me);
    TilePass<T> pass{arguments,
                     shared,
                     operands,
                     me,
                     registers,
                     mine.stage,
                     first_row,
                     range,
                     Softmax(arguments.scale),
                     Turn<T::stages>(__shfl_sync(~0u, blocks, 0))};
    blocks += range.count();
    wait(shared.queries_full[mine.stage], mine.parity);
    pass.run();
    pass_over<T>(range.first - loaded.first, blocks, shared, me);
    finish_item<T>(registers.output, pass.softmax, arguments, shared, work, mine.stage, me);
  }
  Turns<T>::end(me.group);
  if (me.lane == 0) wait_for_reads();
}

}  // namespace assay::flash
