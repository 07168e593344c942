import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { dump, loadAll } from 'js-yaml';
import { expect, it } from 'vitest';
import type { ServerApi } from '../../src/api/server-api.ts';
import { compositionRoots } from '../../src/cli/roots.ts';
import type { JsonObject } from '../../src/model/text/json.ts';
import { runCli } from '../support/cli.ts';
import { createFleetWorld } from '../support/fleet-world.ts';
import { printsAsShown, stepsOf } from '../support/page-session.ts';
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

/** The files of the example's repository. */
function repository(): Readonly<Record<string, string>> {
  const names = readdirSync(join(example, 'repo'), { recursive: true, encoding: 'utf8' });
  const files = names.filter((name) => name.endsWith('.yaml'));
  return Object.fromEntries(files.map((name) => [name, readFileSync(join(example, 'repo', name), 'utf8')]));
}

it('asked of a server, whose agent of the cluster reports the Pods', async () => {
  const world = await createFleetWorld();
  world.source.push(repository());
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

it('the configuration of an Envoy, as docs/domains/envoys.md shows it', async () => {
  const world = await createFleetWorld();
  world.source.push(repository());
  await world.settle();
  const folder = mkdtempSync(join(tmpdir(), 'fleetrelay-envoy-page-'));
  for (const name of ['db-07.token', 'ca.crt']) writeFileSync(join(folder, name), 'x\n');
  const xds = { address: '0.0.0.0', port: 5678, tls: true };
  const questions: ServerApi['questions'] = world.server.api.questions.map(({ path, answer }) => ({
    path,
    answer: (texts) => {
      const given = answer(texts);
      return given.ok && path.startsWith('/dataplanes/') ? { ok: true, value: { ...given.value, xds } } : given;
    },
  }));
  const { url, stop } = await runServer({ api: { ...fakeApi(), questions } }, { people: [] });
  try {
    const [step] = stepsOf(readFileSync(join(import.meta.dirname, '../../docs/domains/envoys.md'), 'utf8'));
    const words = step?.command.split(' ').slice(1) ?? [];
    const env = { FLEETRELAY_API: url };
    const { out, err } = await runCli(words, { env, cwd: folder, roots: compositionRoots });
    const printed = (err + out).replaceAll(folder, '/home/you');
    expect(printsAsShown(step?.output ?? [], printed), printed).toBe(true);
  } finally {
    await stop();
    rmSync(folder, { recursive: true, force: true });
  }
});
