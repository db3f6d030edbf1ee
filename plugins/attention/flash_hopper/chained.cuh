#pragma once

#include "consumer.cuh"

// A consumer that does not stop between items: an item's first scores are computed together with
// the last weighted values of the item before, whose output is written while the products of the
// other warpgroups run.
namespace assay::flash {

template <class T>
__device__ void consume_chained(const Arguments& arguments, Shared<T>& shared, int thread) {
  static_assert(!T::output_over_queries, "an item's queries come before the last one's have gone");
  using Element = typename T::Element;
  const Shape& shape = arguments.shape;
  const Consumer me = consumer_of(thread);
  unsigned items = 0;    // taken by this block of threads before
  unsigned counted = 0;  // and blocks of keys
  float output[T::head / 2];
  float scores[T::keys / 2];
  std::uint32_t weights[T::keys / 16][4] = {};
  Softmax softmax;
  int4 last = {0, 0, 0,
               -1};  // the item whose last weighted values are still to be added; w < 0: none

  const auto shrink = [&](float2 factors) {
    if (__any_sync(~0u, factors.x != 1 || factors.y != 1)) scale_rows(output, factors);
  };
  const auto begin_scores = [&](int query_stage, unsigned count) {
    const Turn<T::stages> turn(count);
    wait(shared.keys_full[turn.stage], turn.parity);
    start_scores<T>(
        scores,
        shared_address(shared.queries[query_stage]) + me.group * group_rows * block_row_bytes,
        shared_address(shared.keys[turn.stage]));
  };
  const auto end_scores = [&](unsigned count) {
    pin(scores);
    release(shared.keys_empty[Turn<T::stages>(count).stage], me);
  };
  const auto begin_values = [&](unsigned count, bool loaded) {
    const Turn<T::stages> turn(count);
    if (loaded) wait(shared.values_full[turn.stage], turn.parity);
    start_values<T>(output, weights, shared_address(shared.values[turn.stage]));
  };
  const auto end_values = [&](unsigned count) {
    pin(output);
    release(shared.values_empty[Turn<T::stages>(count).stage], me);
  };
  const auto clear = [&] {
#pragma unroll
    for (float& element : output) element = 0;
  };
  // Adds the last weighted values of the item before.
  const auto flush = [&] {
    if (last.w < 0) return;
    begin_values(__shfl_sync(~0u, counted, 0) - 1, true);
    wait_for_products<0>();
    end_values(__shfl_sync(~0u, counted, 0) - 1);
    finish_item<T>(output, softmax, arguments, shared, last, 0, me);
    last.w = -1;
  };

  clear();
  Turns<T>::begin(me.group);
  while (true) {
    const Turn<2> announced(items);
    wait(shared.work_full[announced.stage], announced.parity);
    const int4 work = uniform(shared.work[announced.stage]);
    release(shared.work_empty[announced.stage], me);
    if (work.w < 0) break;

    const Turn<T::query_stages> mine(__shfl_sync(~0u, items++, 0));
    const int first_row = work.x * T::rows;
    const BlockRange range =
        seen_blocks(shape, first_row, T::rows, T::keys).part(work.w, arguments.parts.blocks);
    const unsigned before = __shfl_sync(~0u, counted, 0);
    const auto number = [&](int block) {
      return before + static_cast<unsigned>(range.end - 1 - block);
    };
    const auto mask = [&](int block) {
      if (range.needs_mask(block, T::keys)) {
        const int row = first_row + me.row, column = block * T::keys + me.column;
        hide(scores, from_column(seen_keys(shape, row), column),
             from_column(seen_keys(shape, row + 8), column));
      }
    };

    wait(shared.queries_full[mine.stage], mine.parity);
    if (range.empty()) {
      flush();
      clear();
      softmax = Softmax();
      release(shared.queries_empty[mine.stage], me);
      finish_item<T>(output, softmax, arguments, shared, work, mine.stage, me);
      continue;
    }
    counted += range.count();

    // Without an item before, what the second product adds is cleared with the output.
    Turns<T>::take(me.group);
    begin_scores(mine.stage, before);
    begin_values(before - 1, last.w >= 0);
    Turns<T>::pass(me.group);
    wait_for_products<1>();
    end_scores(before);
    mask(range.end - 1);
    Softmax begun;
    begun.weigh(scores, shape.scale);
    keep_before(begun.sum[0] + begun.sum[1]);
    wait_for_products<0>();
    pin(scores);
    pin(output);
    as_operand<Element>(weights, scores);
    if (last.w >= 0) {
      end_values(before - 1);
      finish_item<T>(output, softmax, arguments, shared, last, 0, me);
    }
    clear();
    softmax = begun;
    last = work;

    for (int block = range.end - 2; block >= range.first; --block) {
      Turns<T>::take(me.group);
      begin_scores(mine.stage, number(block));
      begin_values(number(block + 1), true);
      Turns<T>::pass(me.group);
      wait_for_products<1>();
      end_scores(number(block));
      mask(block);
      const float2 factors = softmax.weigh(scores, shape.scale);
      keep_before(softmax.sum[0] + softmax.sum[1]);
      wait_for_products<0>();
      pin(scores);
      end_values(number(block + 1));
      shrink(factors);
      as_operand<Element>(weights, scores);
    }
    release(shared.queries_empty[mine.stage], me);
  }
  flush();
  Turns<T>::end(me.group);
  if (me.lane == 0) wait_for_stores();
}

}  // namespace assay::flash
