import { renameSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { type Fleet, PROGRAM, startFleet, until } from '../support/fleet-processes.ts';
import { clusterYaml, configMapYaml } from '../support/manifests.ts';
import { type PinnedVersion, pinnedVersion } from '../support/pinned-version.ts';

/** docs/guides/upgrade.md: the version of a pinned commit is upgraded to this one while pushes go on, and taken back. */

const CLUSTERS = ['east', 'west'] as const;
type Name = (typeof CLUSTERS)[number];
/** A bound of what never ends: the older version runs from its sources, which takes long to start on a busy machine. */
const LONG_MS = 1_800_000;
const STILL = ['still-0', 'still-1', 'still-2', 'still-3'];

describe('an upgrade, and the way back', () => {
  let older: PinnedVersion;
  let fleet: Fleet | undefined;
  beforeAll(async () => {
    older = await pinnedVersion();
  });
  afterEach(async () => {
    await fleet?.stop();
    fleet = undefined;
  });
  afterAll(async () => {
    if (older?.ok) await older.remove();
  });

  test(
    'the server first, then one agent after the other, while pushes go on; and back, with an empty store',
    async ({ skip }) => {
      if (!older.ok) return skip(older.problem);
      const { program } = older;
      const running = await startOlder(program);
      const before = stampsOf(running);
      for (const who of ['server', ...CLUSTERS] as const) await replace(running, who, PROGRAM);
      expect(stampsOf(running), 'what no push touches is neither removed nor written').toEqual(before);
      // The ledger has come along: what the older version has applied is removed when the repository drops it.
      running.push(Object.fromEntries(CLUSTERS.map((name) => [`clusters/${name}/dropped.yaml`, null])));
      for (const name of CLUSTERS) {
        await until(`${name} drops it`, async () => (await running.live(name, live('dropped'))) === undefined);
      }
      await allApplied(running, STILL.length + 1);

      await running.server.kill('SIGTERM');
      const store = join(running.dataDir, 'store.db');
      for (const [change, undo] of NEWER_STORES) {
        inDatabase(store, change);
        await expect(running.server.start(program)).rejects.toThrow(
          /the store .*was written by a newer version \(format 1000, known is \d+\)/,
        );
        inDatabase(store, undo);
      }
      expect(stampsOf(running), 'a server that refuses the store removes nothing').toEqual(before);

      // As the page says: the store is moved away, and trust/ is kept.
      renameSync(store, `${store}.away`);
      await running.server.start(program);
      await allApplied(running, STILL.length + 1);
      for (const name of CLUSTERS) await replace(running, name, program);
      expect(stampsOf(running), 'the way back removes and writes nothing').toEqual(before);
    },
    LONG_MS,
  );

  /** A fleet of the older version that has applied everything. */
  async function startOlder(program: string): Promise<Fleet> {
    const files = CLUSTERS.flatMap((name) => [
      [`clusters/${name}/cluster.yaml`, clusterYaml(name)] as const,
      ...[...STILL, 'moving', 'dropped'].map(
        (object) => [`clusters/${name}/${object}.yaml`, configMapYaml(object, '0')] as const,
      ),
    ]);
    const started = await startFleet(Object.fromEntries(files), { program });
    fleet = started;
    for (const name of CLUSTERS) await started.agent(name).start();
    await allApplied(started, STILL.length + 2);
    return started;
  }
});

/** What makes a store one of a newer format, and what undoes it: the tables of SQLite, and the records in them. */
const NEWER_STORES: readonly (readonly [change: string, undo: string])[] = [
  ['PRAGMA user_version = 1000', 'PRAGMA user_version = 1'],
  [
    `UPDATE records SET value = CAST('{"format":1000}' AS BLOB) WHERE key = 'format'`,
    `UPDATE records SET value = CAST('{"format":1}' AS BLOB) WHERE key = 'format'`,
  ],
];

function inDatabase(path: string, statement: string): void {
  const database = new DatabaseSync(path);
  database.exec(statement);
  database.close();
}

const live = (object: string): string => `ConfigMap/web/${object}`;

/** Waits until each cluster is connected and has applied this number of objects. */
async function allApplied(fleet: Fleet, count: number): Promise<void> {
  await until(`every cluster has applied ${count} objects`, async () => {
    const { clusters } = await fleet.status();
    const done = clusters.filter(({ connected, inSync, counts }) => connected && inSync && counts.applied === count);
    return done.length === CLUSTERS.length;
  });
}

/** Which file each object lies in that no push touches, and when it was written. */
function stampsOf(fleet: Fleet): readonly string[] {
  return CLUSTERS.flatMap((name) =>
    STILL.map((object) => {
      const path = join(fleet.sandbox.path, 'clusters', name, 'namespaces', 'web', 'configmap', `${object}.yaml`);
      const { ino, mtimeMs } = statSync(path);
      return `${name} ${object} ${ino} ${mtimeMs}`;
    }),
  );
}

/** Pushes a new value to every cluster. Returns what waits until all of them have applied it. */
function push(fleet: Fleet): () => Promise<void> {
  pushes += 1;
  const value = `value-${pushes}`;
  const holds = new RegExp(`\\b${value}\\b`);
  const changes = CLUSTERS.map((name) => [`clusters/${name}/moving.yaml`, configMapYaml('moving', value)]);
  fleet.push(Object.fromEntries(changes));
  return async () => {
    for (const name of CLUSTERS) {
      await until(`${name} holds ${value}`, async () => holds.test((await fleet.live(name, live('moving'))) ?? ''));
    }
  };
}

let pushes = 0;

/** Ends a process and starts it as another version: a push is under way when it ends, one is made while it is away, one when it is back. */
async function replace(fleet: Fleet, who: 'server' | Name, program: string): Promise<void> {
  push(fleet);
  if (who === 'server') await fleet.server.kill('SIGTERM');
  else await fleet.agent(who).kill('SIGTERM');
  push(fleet);
  if (who === 'server') await fleet.server.start(program);
  else await fleet.agent(who).start({ program });
  const { logs } = who === 'server' ? fleet.server : fleet.agent(who);
  await push(fleet)().catch((error: unknown) => {
    throw new Error(`${who} as ${program} said last: ${JSON.stringify(logs.slice(-8))}`, { cause: error });
  });
}
