import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { dump, loadAll } from 'js-yaml';
import { expect, it } from 'vitest';
import { compositionRoots } from '../../src/cli/roots.ts';
import { KINDS_AS_WRITTEN } from '../../src/model/agent/agent.ts';
import type { JsonObject } from '../../src/model/text/json.ts';
import { runCli } from '../support/cli.ts';
import { createFleetWorld, type FleetWorld } from '../support/fleet-world.ts';
import { runServer } from '../support/running-server.ts';
import { fakeApi } from '../support/server-api.ts';

/** What `examples/care` gives, as `docs/domains/care-of-shoots.md` shows it. */

const example = join(import.meta.dirname, '../../examples/care');
const golden = (name: string): string => join(import.meta.dirname, 'care-example', name);
const page = readFileSync(join(import.meta.dirname, '../../docs/domains/care-of-shoots.md'), 'utf8');

it('rendered', async () => {
  const args = ['render', 'repo', '--clusters', 'clusters', '--status', 'status', '-o', 'json'];
  const run = await runCli([...args, '--at', '2026-01-05T08:00:30Z'], { cwd: example, roots: compositionRoots });
  expect([run.code, run.err]).toEqual([0, '']);
  const { shoots, statuses } = JSON.parse(run.out);
  const ofGreen = statuses['shoots/garden-web/green.yaml'];
  expect(Object.keys(statuses).filter((path) => path.startsWith('shoots/'))).toEqual([
    'shoots/garden-web/green.yaml',
    'shoots/garden-web/night.yaml',
  ]);
  const text = dump({ shoots, green: ofGreen }).replaceAll(
    /(gardenerVersion|^ +version): \d+\.\d+\.\d+.*$/gm,
    '$1: VERSION',
  );
  await expect(text).toMatchFileSnapshot(golden('render.yaml'));
});

it('asked of a server, whose agents report Nodes, webhooks and the Shoot of a Gardener', async () => {
  const world = await createFleetWorld();
  world.source.push(Object.fromEntries(filesIn('repo').map((path) => [path, textOf(`repo/${path}`)])));
  for (const cluster of ['green', 'night', 'garden']) {
    world.agent(cluster).capabilities = [KINDS_AS_WRITTEN];
    world.agent(cluster).connect();
    world.agent(cluster).discovers({ upserts: objectsIn(`clusters/${cluster}`), kinds: [] });
  }
  await settle(world);
  await world.clock.advance(3_600_000);
  world.agent('green').discovers({ upserts: objectsIn('later') });
  await settle(world);
  const { url, stop } = await runServer({ api: { ...fakeApi(), ...world.server.api } }, { people: [] });
  const shown = new Map<string, string>();
  try {
    for (const [file, question] of Object.entries({
      'shoots.txt': 'get shoots',
      'explain-condition.txt': 'explain shoot garden-web/green EveryNodeReady',
      'explain-green.txt': 'explain shoot garden-web/green',
      'explain-orders.txt': 'explain shoot garden-db/orders',
    })) {
      const { code, out, err } = await runCli(question.split(' '), { env: { FLEETRELAY_API: url } });
      expect([question, code, err]).toEqual([question, 0, '']);
      await expect(out).toMatchFileSnapshot(golden(file));
      shown.set(file, `    $ fleetrelay ${question}\n${out.replaceAll(/^(?=.)/gm, '    ')}`);
    }
  } finally {
    await stop();
  }
  for (const file of ['shoots.txt', 'explain-condition.txt', 'explain-orders.txt']) {
    expect(page).toContain(shown.get(file));
  }
});

async function settle(world: FleetWorld): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await world.settle();
}

function textOf(path: string): string {
  return readFileSync(join(example, path), 'utf8');
}

function filesIn(folder: string): readonly string[] {
  const found = readdirSync(join(example, folder), { recursive: true, encoding: 'utf8' });
  return found.filter((path) => path.endsWith('.yaml')).sort();
}

function objectsIn(folder: string): JsonObject[] {
  const documents = filesIn(folder).flatMap((path) => loadAll(textOf(`${folder}/${path}`)) as JsonObject[]);
  return JSON.parse(JSON.stringify(documents)) as JsonObject[];
}
