import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { dump, loadAll } from 'js-yaml';
import { expect, it } from 'vitest';
import { compositionRoots } from '../../src/cli/roots.ts';
import type { JsonObject } from '../../src/model/json.ts';
import { runCli } from '../support/cli.ts';
import { createFleetWorld } from '../support/fleet-world.ts';
import { runServer } from '../support/running-server.ts';
import { fakeApi } from '../support/server-api.ts';

/** What `examples/health` gives, as `docs/domains/data-planes.md` shows it. */

const example = join(import.meta.dirname, '../../examples/health');
const golden = (name: string): string => join(import.meta.dirname, 'health-example', name);
const page = readFileSync(join(import.meta.dirname, '../../docs/domains/data-planes.md'), 'utf8');

it('rendered', async () => {
  const args = ['render', 'repo', '--clusters', 'clusters', '--insights', 'insights.yaml', '-o', 'json'];
  const run = await runCli([...args, '--at', '2026-01-05T09:30:00Z'], { cwd: example, roots: compositionRoots });
  expect([run.code, run.err]).toEqual([0, '']);
  const { dataplanes, services, endpoints } = JSON.parse(run.out);
  await expect(dump({ dataplanes, services, endpoints })).toMatchFileSnapshot(golden('render.yaml'));
});

it('asked of a server, whose agent of the cluster reports the Pods', async () => {
  const world = await createFleetWorld();
  const files = readdirSync(join(example, 'repo'), { recursive: true, encoding: 'utf8' }).filter((path) =>
    path.endsWith('.yaml'),
  );
  world.source.push(Object.fromEntries(files.map((path) => [path, readFileSync(join(example, 'repo', path), 'utf8')])));
  world.agent('east').connect();
  await world.settle();
  const live = readFileSync(join(example, 'clusters/east/namespaces/shop/web.yaml'), 'utf8');
  const upserts = loadAll(live) as JsonObject[];
  const kinds = ['/Pod', '/Service'].map((kind) => ({ kind, state: 'complete', message: '' }) as const);
  world.agent('east').discovers({ upserts: JSON.parse(JSON.stringify(upserts)), kinds });
  await world.settle();
  const shown = new Map<string, string>();
  const { url, stop } = await runServer({ api: { ...fakeApi(), ...world.server.api } }, { people: [] });
  try {
    for (const [file, question] of Object.entries({
      'dataplanes.txt': 'get dataplanes',
      'services.txt': 'get services',
      'endpoints.txt': 'get endpoints',
      'explain-web.txt': 'explain service/web_shop_svc_80',
      'explain-postgres.txt': 'explain service/postgres',
    })) {
      const { code, out, err } = await runCli(question.split(' '), { env: { FLEETRELAY_API: url } });
      expect([question, code, err]).toEqual([question, 0, '']);
      await expect(out).toMatchFileSnapshot(golden(file));
      shown.set(file, `    $ fleetrelay ${question}\n${out.replaceAll(/^(?=.)/gm, '    ')}`);
    }
  } finally {
    await stop();
  }
  for (const file of ['dataplanes.txt', 'explain-web.txt']) expect(page).toContain(shown.get(file));
});
