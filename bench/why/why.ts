/** `npm run bench -- why`: how long a server takes to answer where an object comes from, why it is missing, and what was sent. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import process from 'node:process';
import { createSqliteStore } from '../../src/adapters/stores/sqlite.ts';
import type { ServerApi } from '../../src/api/server-api.ts';
import { createFleetWorld, type FleetWorld } from '../../test/support/fleet-world.ts';
import { clusterYaml, configMapYaml, placementYaml } from '../../test/support/manifests.ts';
import { percentile } from '../push/percentile.ts';

const CLUSTERS = 1_000;
const OBJECTS = 100;
/** Pushes after the first one, so that the log has something. */
const PUSHES = 20;
const ROUNDS = 20;
const GOAL_MILLIS = 1_000;

/** A question; rejects unless it is answered. */
type Ask = (api: ServerApi, round: number) => Promise<unknown>;

const cluster = (round: number): string => `c${(round * 379) % CLUSTERS}`;
const object = (round: number): string => `ConfigMap/web/o${(round * 7) % OBJECTS}`;

const questions: Readonly<Record<string, Ask>> = {
  explainMillis: (api, round) => api.explain({ cluster: cluster(round), object: object(round), part: 'data.value' }),
  /** Of an object that is there, of one that no Placement selects, and of a name that exists nowhere. */
  whyNotMillis: (api, round) =>
    api.whyNot({
      cluster: cluster(round),
      object: [object(round), 'ConfigMap/web/unplaced', 'ConfigMap/web/nowhere'][round % 3] ?? '',
    }),
  /** Of the file of one object, of the Placement of all, and of a KubernetesCluster. */
  impactMillis: (api, round) => {
    const paths = [`apps/o${round % OBJECTS}.yaml`, 'fleet/placement.yaml', `clusters/${cluster(round)}/cluster.yaml`];
    return api.impact({ path: paths[round % 3] ?? '', limit: 100 });
  },
  /** Of all deltas of a cluster, and of one object; every other cluster is asked of the store alone. */
  historyMillis: (api, round) =>
    api.history({ cluster: cluster(round), limit: 100, ...(round % 3 === 0 ? { object: object(round) } : {}) }),
};

export async function run(args: readonly string[]): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'fleetrelay-bench-'));
  const store = await createSqliteStore(join(folder, 'store.db'));
  try {
    const world = await createFleetWorld({ store });
    await fill(world);
    const figures: Record<string, number> = {};
    const medians: Record<string, number> = {};
    for (const [name, ask] of Object.entries(questions)) {
      const millis = await times(world, ask, name === 'historyMillis');
      figures[name] = round(millis.at(-1) ?? Number.NaN);
      medians[name] = round(percentile(millis, 50));
    }
    const result = { pairs: CLUSTERS * OBJECTS, ...figures, medians, goal: GOAL_MILLIS };
    process.stdout.write(
      args.includes('--json') ? `${JSON.stringify(result, undefined, 2)}\n` : tableOf(figures, medians),
    );
    await world.server.stop();
  } finally {
    await store.close();
    await rm(folder, { recursive: true });
  }
}

/** Every cluster has everything applied, and a log of some deltas. */
async function fill(world: FleetWorld): Promise<void> {
  const files: Record<string, string> = {
    'fleet/placement.yaml': placementYaml('apps', 'apps/**'),
    'other/unplaced.yaml': configMapYaml('unplaced', '1'),
  };
  for (let at = 0; at < CLUSTERS; at += 1)
    files[`clusters/c${at}/cluster.yaml`] = clusterYaml(`c${at}`, { env: 'prod' });
  for (let at = 0; at < OBJECTS; at += 1) files[`apps/o${at}.yaml`] = configMapYaml(`o${at}`, '0');
  world.source.push(files);
  await world.settle();
  for (let at = 0; at < CLUSTERS; at += 1) world.agent(`c${at}`).connect();
  await world.settle();
  for (let push = 1; push <= PUSHES; push += 1) {
    const [one, other] = [push % OBJECTS, (push * 3) % OBJECTS];
    world.source.push({
      [`apps/o${one}.yaml`]: configMapYaml(`o${one}`, String(push)),
      [`apps/o${other}.yaml`]: configMapYaml(`o${other}`, `also ${push}`),
    });
    await world.settle();
  }
  const states = world.server.api.clusters().filter(({ counts, inSync }) => inSync && counts.applied === OBJECTS);
  if (states.length !== CLUSTERS) throw new Error(`only ${states.length} clusters have everything`);
}

/** Sorted. With `away`, every other cluster is left by its agent first: its log is read from the store. */
async function times({ server, agent }: FleetWorld, ask: Ask, away: boolean): Promise<readonly number[]> {
  const millis: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    if (away && round % 2 === 0) agent(cluster(round)).disconnect();
    const begun = performance.now();
    const answer = (await ask(server.api, round)) as { readonly ok: boolean; readonly message?: string };
    millis.push(performance.now() - begun);
    if (!answer.ok) throw new Error(answer.message);
  }
  return millis.sort((a, b) => a - b);
}

function round(millis: number): number {
  return Math.round(millis * 10) / 10;
}

function tableOf(figures: Readonly<Record<string, number>>, medians: Readonly<Record<string, number>>): string {
  const rows = Object.entries(figures).map(([name, worst]) => {
    const shown = [medians[name] ?? Number.NaN, worst].map((value) => value.toFixed(1).padStart(10)).join('');
    return `${name.replace('Millis', '').padEnd(12)}${shown}\n`;
  });
  return `${'question'.padEnd(12)}${'p50 ms'.padStart(10)}${'worst ms'.padStart(10)}\n${rows.join('')}`;
}
