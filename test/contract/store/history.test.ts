import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createMemoryStore } from '../../../src/adapters/stores/memory.ts';
import { createSqliteStore } from '../../../src/adapters/stores/sqlite.ts';
import { createSystemClock } from '../../../src/adapters/system/clock.ts';
import { engineDomains } from '../../../src/domains/engines.ts';
import { createGraph } from '../../../src/engine/collections/graph.ts';
import { createEngine } from '../../../src/engine/graph.ts';
import type { Digest } from '../../../src/model/fleet/ids.ts';
import type { Registration } from '../../../src/model/fleet/ledger.ts';
import type { SequencedDelta } from '../../../src/model/fleet/output.ts';
import type { ObjectKey } from '../../../src/model/objects/object-key.ts';
import type { SnapshotStore } from '../../../src/ports/snapshot-store.ts';
import { createHistory, type History } from '../../../src/runtime/history/history.ts';
import { MOST_DELTAS } from '../../../src/runtime/history/records.ts';
import { createJournal } from '../../../src/runtime/stored/journal.ts';
import { noProgram } from '../../support/programs.ts';
import { type RedisProcess, startRedis } from '../../support/redis.ts';
import { openRedisStore } from '../../support/redis-store.ts';
import { silentLog } from '../../support/silent-log.ts';

const clock = createSystemClock();
const CLUSTER = 'east';
const KEY = '/ConfigMap/web/a' as ObjectKey;
const DIGEST = 'd'.repeat(64) as Digest;
const WRITTEN_MS = 30_000;

/** The log as one server process has it, until another one writes the records of the cluster. */
function open(store: SnapshotStore) {
  const journal = createJournal({ store, clock, log: silentLog });
  const group = journal.group();
  let isWriter = true;
  let predecessors = 0;
  const engine = createEngine(createGraph(), engineDomains);
  const registration = (): Registration => ({ predecessors }) as Registration;
  const ledger = { recordsOf: () => (isWriter ? group : undefined), registration };
  return {
    journal,
    history: createHistory({ engine, store, fleet: group, ledger, clock, log: silentLog }),
    handOver: (): void => {
      isWriter = false;
    },
    /** The cluster is deregistered, and registered again. */
    registerAnew: (): void => {
      predecessors += 1;
    },
  };
}

function delta(sequence: number): SequencedDelta {
  return {
    ...{ from: DIGEST, to: DIGEST, touches: [], removals: [], keeps: [] },
    upserts: [{ key: KEY, digest: DIGEST, value: {}, origins: [], scope: [] }],
    revisions: [{ source: 'main' as never, revision: `r${sequence}` }],
    position: { epoch: 1, sequence },
  };
}

const sequencesOf = async (history: History): Promise<readonly number[]> =>
  (await history.read(CLUSTER)).map(({ position }) => position.sequence);

/** The log of a cluster on a store: `make` opens the same store again at each call. */
function logContract(name: string, make: () => Promise<SnapshotStore>): void {
  test(`${name}: the log is the same for another process, keeps its bound, and goes on there`, async () => {
    const [one, two] = [await make(), await make()];
    const first = open(one);
    first.history.connected(CLUSTER, { position: { epoch: 0, sequence: 0 }, entries: [] });
    for (let sequence = 1; sequence <= MOST_DELTAS + 5; sequence += 1) {
      first.history.sent(CLUSTER, delta(sequence));
      first.history.answered(CLUSTER, { epoch: 1, sequence }, { type: 'accepted' });
      // The log is read before: what waits for that is bounded, too.
      if (sequence === 1) await expect.poll(() => sequencesOf(first.history), { timeout: WRITTEN_MS }).toEqual([1]);
    }
    first.history.results(CLUSTER, [{ key: KEY, digest: DIGEST, state: 'applied', reason: '', message: '' }]);
    first.history.disconnected(CLUSTER);
    expect(await first.journal.flush(WRITTEN_MS)).toBe(true);
    first.handOver();

    const second = open(two);
    const expected = Array.from({ length: MOST_DELTAS }, (_, at) => at + 6);
    expect(await sequencesOf(second.history)).toEqual(expected);
    expect((await second.history.read(CLUSTER)).at(-1)).toMatchObject({
      answer: { state: 'accepted' },
      revisions: [{ revision: `r${MOST_DELTAS + 5}` }],
      objects: [{ outcome: { state: 'applied' } }],
    });
    second.history.connected(CLUSTER, { position: { epoch: 1, sequence: MOST_DELTAS + 5 }, entries: [] });
    second.history.sent(CLUSTER, delta(MOST_DELTAS + 6));
    const after = [...expected.slice(1), MOST_DELTAS + 6];
    await expect.poll(() => sequencesOf(second.history), { timeout: WRITTEN_MS }).toEqual(after);
    second.history.disconnected(CLUSTER);
    expect(await second.journal.flush(WRITTEN_MS)).toBe(true);
    expect(await sequencesOf(first.history)).toEqual(after);

    // The process ended before it deleted the log with its registration.
    const third = open(await make());
    third.registerAnew();
    expect(await sequencesOf(third.history)).toEqual([]);
    third.history.connected(CLUSTER, { position: { epoch: 0, sequence: 0 }, entries: [] });
    third.history.sent(CLUSTER, delta(1));
    await expect.poll(() => sequencesOf(third.history), { timeout: WRITTEN_MS }).toEqual([1]);
    expect(await third.journal.flush(WRITTEN_MS)).toBe(true);
    await third.history.stop();
    third.journal.stop();
    expect(await sequencesOf(first.history)).toEqual([]);

    second.history.end(CLUSTER);
    await expect.poll(() => sequencesOf(first.history), { timeout: WRITTEN_MS }).toEqual([]);
    for (const { history, journal } of [first, second]) {
      await history.stop();
      journal.stop();
    }
    await Promise.all([...new Set([one, two])].map((store) => store.close()));
  });
}

const memory = createMemoryStore();
logContract('memory', async () => memory);

describe('on disk', () => {
  const root = mkdtempSync(join(tmpdir(), 'fleetrelay-history-'));
  afterAll(() => rmSync(root, { recursive: true, force: true }));
  let store: Promise<SnapshotStore> | undefined;
  logContract('sqlite', () => {
    store ??= createSqliteStore(join(root, 'store.sqlite'));
    return store;
  });
});

describe.skipIf(noProgram('redis-server'))('on a real redis-server', () => {
  let redis: RedisProcess;
  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(() => redis?.stop());
  logContract('redis', () => openRedisStore(redis, { prefix: 'log' }));
});
