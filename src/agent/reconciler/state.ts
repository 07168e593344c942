import type { AgentSettings } from '../../model/agent/agent-settings.ts';
import type { ObjectKey } from '../../model/objects/object-key.ts';
import type { LiveState } from '../../ports/cluster-api.ts';
import type { Random } from '../../ports/random.ts';
import type { ResultBook } from '../result-book.ts';
import { createDrift } from './drift.ts';
import type { DriftBook } from './drift-book.ts';
import { createHandovers } from './handovers.ts';
import { createHealthReporter } from './health-reporter.ts';
import { createInventoryStore, type StoreDeps } from './inventory-store.ts';
import { createLateWrites } from './late-writes.ts';
import { workRank } from './object-step.ts';
import { createPrerequisites } from './prerequisites.ts';
import type { Recovered } from './recovery.ts';
import type { ServerState } from './server-state.ts';
import { createWorkQueue, type WorkQueueOptions } from './work-queue.ts';

export interface ReconcilerDeps extends StoreDeps {
  readonly random: Random;
  readonly results: ResultBook;
  readonly drifts: Pick<DriftBook, 'note' | 'putBack' | 'end'>;
  /** The settings of the fleet that are in force. */
  readonly settings: () => AgentSettings;
  /** The work queue is empty. */
  readonly idle: () => void;
  /** The inventory lacks a content that it had; the holding says so now. */
  readonly contentLost: () => void;
}

/** What a reconciler knows, and the parts that know more. */
export type State = ReturnType<typeof createState>;

/** `run`: works on one object. */
export function createState(deps: ReconcilerDeps, { inventory, trusted }: Recovered, run: WorkQueueOptions['run']) {
  const store = createInventoryStore(deps, inventory, trusted);
  const prerequisites = createPrerequisites();
  const lateWrites = createLateWrites({ ...deps, recovered: inventory.records });
  const queue = createWorkQueue(deps, {
    rank: (key) => {
      const record = store.current().records.get(key) ?? lateWrites.record(key);
      return record === undefined ? undefined : workRank(record);
    },
    bytes: (key) => store.current().contents.get(key)?.bytes ?? 0,
    run,
    idle: () => {
      for (const key of prerequisites.takeFreed()) queue.hasten(key);
      deps.idle();
    },
  });
  const state = {
    deps,
    store,
    queue,
    prerequisites,
    lateWrites,
    server: (trusted ? 'away' : 'recovering') as ServerState,
    /** Counts the links to the server: a delta permits removals only until its link ends. */
    link: 0,
    /** The newest live state; undefined: the cluster was not read yet. */
    live: undefined as LiveState | undefined,
    /** What is compared with the next state besides its changes: the objects that were being worked on, or everything. */
    due: 'everything' as ReadonlySet<ObjectKey> | 'everything',
    handovers: createHandovers({ ...deps, inventory: store.current, live: (): LiveState | undefined => state.live }),
    health: createHealthReporter(deps),
    drift: createDrift({ ...deps, queue }),
  };
  return state;
}
