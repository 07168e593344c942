import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { until } from '../../support/fleet-processes.ts';
import { configMapYaml } from '../../support/manifests.ts';
import { noProgram } from '../../support/programs.ts';
import { type RedisProcess, type RedisProcessOptions, startRedis } from '../../support/redis.ts';
import { type RedisTrio, startRedisTrio } from '../../support/redis-sentinel.ts';
import { type Contents, type RelayFleet, type Replica, startRelayFleet } from '../../support/relay-fleet.ts';
import {
  changed,
  everywhere,
  exportService,
  mirrored,
  restartAll,
  sceneContents,
  sceneFiles,
  setScene,
} from '../../support/relay-scene.ts';
import { directoryClusters } from '../../support/test-clusters.ts';

const names = ['east', 'west'];
const LOST = 'the store has lost records; they are written again from memory';
const RECORDS = '{fleetrelay}:record:*';

describe.skipIf(noProgram('redis-server'))('a sentinel fails over to a replica of Redis that is older', () => {
  const folder = mkdtempSync(join(tmpdir(), 'fleetrelay-sentinel-'));
  const processes: RedisProcess[] = [];
  let trio: RedisTrio;
  let fleet: RelayFleet;
  let expected: Contents = sceneContents(names);

  beforeAll(async () => {
    trio = await startRedisTrio(async (options?: RedisProcessOptions) => {
      const started = await startRedis(options);
      processes.push(started);
      return started;
    });
    const config = join(folder, 'relay.yaml');
    writeFileSync(config, JSON.stringify(configOf(trio.sentinel.port)));
    fleet = await startRelayFleet({
      clusters: directoryClusters.open(),
      names,
      files: sceneFiles(names),
      store: { redis: trio.master, serve: ['--config', config] },
    });
    await setScene(fleet, names);
  });
  afterAll(async () => {
    await fleet?.stop();
    for (const one of processes) await one.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const recordsOf = async (redis: RedisProcess): Promise<readonly string[]> => {
    const found = await redis.command('KEYS', RECORDS);
    return Array.isArray(found) ? found.map(String).sort() : [];
  };
  const applied = async (): Promise<void> => {
    for (const { looks } of [fleet.a, fleet.b]) await looks.summary(/^applied by 2 of 2 clusters$/);
  };

  it('nothing is removed or rewritten, and the replica is filled with what it lacks', async () => {
    await applied();
    await trio.leaveBehind();
    fleet.push({
      'apps/a.yaml': configMapYaml('a', 'two'),
      'apps/b.yaml': null,
      'apps/c.yaml': configMapYaml('c', 'new'),
    });
    await exportService(fleet, 'west', 'shop', ['10.2.0.2']);
    expected = everywhere(changed(expected, { east: mirrored('west', 'shop', '10.2.0.2') }), {
      'ConfigMap/web/a': 'two',
      'ConfigMap/web/b': null,
      'ConfigMap/web/c': 'new',
    });
    await fleet.holds(expected);
    await applied();
    const before = await fleet.versions();
    const sent = [fleet.a.sent(), fleet.b.sent()];
    // Permits end once the ledgers show their removals as done, and are not written again.
    await until('the leader has ended its permits', async () => {
      const found = await recordsOf(trio.master);
      return !found.some((record) => record.includes('removal-permits/'));
    });
    const records = await recordsOf(trio.master);
    expect(await recordsOf(trio.replica)).not.toEqual(records);
    // It keeps what west says, and cannot write it again before the other one has read the older copy.
    fleet.b.signal('SIGSTOP');
    await trio.master.kill();
    const { said, leads } = fleet.a;
    await until('a admits anew', () => leads() && said(LOST) && admittedSince(fleet.a));
    fleet.b.signal('SIGCONT');
    await until('b knows of the loss', () => fleet.b.said(LOST));
    await until('the replica has every record', async () => {
      const found = await recordsOf(trio.replica);
      const missing = records.filter((record) => !found.includes(record));
      if (missing.length > 0) throw new Error(`it lacks ${missing.join(', ')}`);
      return true;
    });
    await until('one leads', () => fleet.a.leads() !== fleet.b.leads());
    await applied();
    expect([fleet.a.sent(), fleet.b.sent()]).toEqual(sent);
    expect(await fleet.contents()).toEqual(expected);
    expect(await fleet.versions()).toEqual(before);
    for (const { status } of [fleet.a, fleet.b]) expect((await status()).safeMode).toBeNull();
  });

  it('servers that start now find in it what they need, and send nothing', async () => {
    const before = await fleet.versions();
    await restartAll(fleet, names, { late: [], keeps: true });
    await applied();
    for (const { status, sent } of [fleet.a, fleet.b]) {
      expect((await status()).safeMode).toBeNull();
      expect(sent()).toEqual([]);
    }
    expect(await fleet.versions()).toEqual(before);
  });

  it('what comes next is admitted and applied', async () => {
    await exportService(fleet, 'east', 'shop', ['10.1.0.2']);
    fleet.push({ 'apps/a.yaml': configMapYaml('a', 'three'), 'apps/d.yaml': configMapYaml('d', 'new') });
    const next = { 'ConfigMap/web/a': 'three', 'ConfigMap/web/d': 'new' };
    await fleet.holds(everywhere(changed(expected, { west: mirrored('east', 'shop', '10.1.0.2') }), next));
  });
});

function admittedSince({ logs }: Replica): boolean {
  const messages = logs.map(({ message }) => message);
  return messages.lastIndexOf('admitted') > messages.indexOf(LOST);
}

/** Flags say everything but how sentinels are reached. */
function configOf(port: number): object {
  return {
    apiVersion: 'fleetrelay.dev/v1alpha1',
    kind: 'RelayConfig',
    fleet: { name: 'test' },
    sources: [{ name: 'main', files: { path: '.' } }],
    store: { type: 'redis', redis: { nodes: [`127.0.0.1:${port}`], sentinel: { master: 'ours' } } },
  };
}
