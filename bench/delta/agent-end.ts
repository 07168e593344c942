import { setImmediate as nextTurn } from 'node:timers/promises';
import { create } from '@bufbuild/protobuf';
import { OutputHeadSchema } from '../../generated/relay_pb.ts';
import { EMPTY_INVENTORY } from '../../src/agent/reconciler/inventory.ts';
import { createReconciler } from '../../src/agent/reconciler/reconciler.ts';
import type { ReconcilerDeps } from '../../src/agent/reconciler/state.ts';
import { createResultBook } from '../../src/agent/result-book.ts';
import { NO_SETTINGS } from '../../src/model/agent/agent-settings.ts';
import { parseFleetName } from '../../src/model/fleet/ids.ts';
import type { SequencedDelta } from '../../src/model/fleet/output.ts';
import { must } from '../../src/model/values/result.ts';
import type { OutputStep, StoredOutput } from '../../src/ports/agent-disk.ts';
import { DEFAULT_LIMITS } from '../../src/relay/limits.ts';
import { unpackChunk } from '../../src/relay/transfer.ts';
import { createOutputAssembler } from '../../src/relay/wire/output.ts';
import type { Travelling } from './server-end.ts';
import { complainingLog, ignore, stillClock } from './stand-ins.ts';

const FLEET = must(parseFleetName('bench'));

/** The reconciler of an agent; its disk and its API server answer at once. */
export function createAgentEnd() {
  const deps = {
    ...{ clock: stillClock, log: complainingLog, takenOver: ignore, idle: ignore, results: createResultBook(ignore) },
    random: { next: () => 0.5, id: () => '0'.repeat(32) },
    settings: () => NO_SETTINGS,
    drifts: { note: ignore, putBack: ignore, end: ignore },
    disk: {
      append: async ({ put }: OutputStep) => new Map(put.map((object) => [object.key, object])),
      replace: async ({ objects }: StoredOutput) => objects,
    },
    cluster: { saveInventory: async () => undefined, apply: async () => ({ type: 'unchanged' }) },
  } as unknown as ReconcilerDeps;
  const reconciler = createReconciler(deps, { inventory: EMPTY_INVENTORY, trusted: true });
  return {
    /** Reads, verifies and takes a delta in, until it is answered. */
    take: async ({ head, chunks }: Travelling): Promise<void> => {
      let delta: SequencedDelta | undefined;
      const assembler = createOutputAssembler(create(OutputHeadSchema, head), DEFAULT_LIMITS, (read) => {
        delta = read;
      });
      for (const chunk of chunks) for (const record of unpackChunk(chunk).records) assembler.take(record);
      assembler.finish();
      if (delta === undefined) throw new Error('no delta was read');
      const answer = await reconciler.accept(delta, FLEET);
      if (!answer.accepted) throw new Error(`${answer.reason}: ${answer.message}`);
    },
    /** Resolves when the queue of objects is worked on. */
    rest: async (): Promise<void> => {
      for (let turn = 0; turn < 20; turn += 1) await nextTurn();
    },
    owned: () => reconciler.inventory().records.size,
  };
}
