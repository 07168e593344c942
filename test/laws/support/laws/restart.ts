import * as fc from 'fast-check';
import { expect } from 'vitest';
import type { Collection, Derived, Graph, Index, Input } from '../../../../src/engine/collections/types.ts';
import { type Built, buildGraph, bytesOf, entriesOf, stage } from '../build.ts';
import { lawOf } from '../check.ts';
import { numberOf } from '../digest.ts';
import { type GraphSpec, graphSpecs, histories } from '../spec.ts';

/**
 * A restart with the same inputs and the same ledger gives the same bytes. The ledger is an input like any other, into
 * which what came out is fed back between commits; what an output is depends on it.
 */
export const restart = lawOf((create) =>
  fc.property(graphSpecs(), fc.nat(), histories, (spec, pick, history) => {
    const running = withLedger(create(), spec, pick);
    for (const batch of history) {
      for (const write of batch) stage(running.built, write);
      running.graph.commit();
      const restarted = withLedger(create(), spec, pick);
      running.built.inputs.forEach(({ input }, at) => {
        copyEntries(input, restarted.built.inputs[at]?.input as Input<unknown>);
      });
      copyEntries(running.ledger, restarted.ledger);
      restarted.graph.commit();
      expect(restarted.bytes()).toBe(running.bytes());
      running.feedBack();
    }
  }),
);

interface Running {
  readonly graph: Graph;
  readonly built: Built;
  readonly ledger: Input<LedgerRow>;
  /** Stages in the ledger what the last commit changed in the outputs. */
  feedBack(): void;
  bytes(): string;
}

interface LedgerRow {
  readonly digest: number;
  readonly times: number;
}

interface Decision {
  readonly type: 'give' | 'keep' | 'hold';
  readonly digest: number;
  readonly times: number;
}

/** A random graph, and at its end a join of what one of its collections gives with the ledger. */
function withLedger(graph: Graph, spec: GraphSpec, pick: number): Running {
  const built = buildGraph(graph, spec);
  const ledger = graph.input<LedgerRow>('ledger');
  const removed = graph.index('removed', ledger, ({ value }) => (value.digest % 2 === 0 ? ['even'] : []));
  const candidates = built.collections[pick % built.collections.length] as Collection<unknown>;
  const outputs = joinLedger(graph, candidates, ledger, removed);
  const watch = graph.watch(outputs);
  return {
    graph,
    built,
    ledger,
    feedBack: () => {
      for (const { partition, key, after } of watch.take()) {
        if (after === undefined || after.type === 'keep') ledger.delete(partition, key);
        else {
          const times = (ledger.get(partition, key)?.times ?? 0) + 1;
          ledger.set(partition, key, { digest: after.digest, times });
        }
      }
    },
    bytes: () => bytesOf(built) + JSON.stringify([entriesOf(outputs), entriesOf(outputs.failures), entriesOf(ledger)]),
  };
}

function joinLedger(
  graph: Graph,
  candidates: Collection<unknown>,
  ledger: Input<LedgerRow>,
  removed: Index<LedgerRow>,
): Derived<Decision> {
  return graph.join<unknown, LedgerRow, Decision>({
    name: 'outputs',
    left: candidates,
    right: ledger,
    reads: [removed],
    compute: ({ partition, key, left, right }, read, emit) => {
      const digest = left === undefined ? (right?.digest ?? 0) : numberOf(left) % 1000;
      const times = right?.times ?? 0;
      if (digest % 13 === 0) throw new Error('not decided');
      // The incumbent stays while too much else would go.
      const guarded = read.count(removed, 'even') > 2;
      const type = left === undefined ? 'keep' : guarded && right !== undefined ? 'hold' : 'give';
      emit(partition, key, { type, digest: type === 'hold' ? (right?.digest ?? digest) : digest, times });
    },
  });
}

function copyEntries<Value>(from: Input<Value>, to: Input<Value>): void {
  for (const partition of from.partitions()) {
    for (const { key, value } of from.entries(partition)) to.set(partition, key, value);
  }
}
