import { expect, it } from 'vitest';
import type { EngineDiagnostic } from '../../../src/engine/domain.ts';
import { engineDiagnostics } from '../../../src/engine/status/diagnostics.ts';
import { inOrder, MOST_LISTED, withMore } from '../../../src/engine/status/listed.ts';
import { objectKey } from '../../../src/model/objects/object-key.ts';
import { sha256 } from '../../../src/model/text/digest.ts';
import { locatedDiagnostics } from '../../../src/runtime/api/locator.ts';
import { createEngineWorld } from '../../support/engine-world.ts';
import { clusterYaml, configMapYaml, placementYaml } from '../../support/manifests.ts';

const COUNT = MOST_LISTED + 500;

function worldOfUnplaced() {
  const world = createEngineWorld();
  world.file('east.yaml', clusterYaml('east'));
  for (let at = 0; at < COUNT; at += 1) world.file(`f${at}.yaml`, configMapYaml(`c${at}`, '1'));
  world.engine.commit();
  return world.engine;
}

it('a server lists a part of the findings of one source and reason, and says how many others there are', () => {
  const engine = worldOfUnplaced();
  expect(engineDiagnostics(engine)).toHaveLength(COUNT);
  const listed = engineDiagnostics(engine, MOST_LISTED);
  expect(listed).toHaveLength(MOST_LISTED + 1);
  expect(listed.filter(({ message }) => message.startsWith('the same is found 500 more times'))).toHaveLength(1);
  expect(new Set(listed.map(({ reason }) => reason))).toEqual(new Set(['GoesNowhere']));
});

it('lines are looked for in some files at a time', async () => {
  const engine = worldOfUnplaced();
  let open = 0;
  let most = 0;
  const located = await locatedDiagnostics(engine, {
    find: async ({ path }) => {
      open += 1;
      most = Math.max(most, open);
      await new Promise((resolve) => setImmediate(resolve));
      open -= 1;
      return { path, line: 1, column: 1 };
    },
  });
  expect(located).toHaveLength(COUNT);
  expect(most).toBeLessThanOrEqual(32);
});

it('the number of findings that are left out is said even when those that remain are below the limit', () => {
  const found = ['a', 'b', 'c'].map((path) => ({
    ...{ severity: 'error', reason: 'NotAllowed', message: 'no' },
    at: [{ source: 'main', path, identity: '' }],
  })) as unknown as readonly EngineDiagnostic[];
  const listed = inOrder(withMore(found, 200), MOST_LISTED);
  expect(listed.map(({ message }) => message)).toEqual([
    ...['no', 'no', 'no'],
    'the same is found 200 more times in this source, and is not listed; fleetrelay validate lists all',
  ]);
});

it('a document that is refused in several clusters is one finding, listed or left out', () => {
  const { engine, file } = createEngineWorld();
  const rights = { kinds: ['KubernetesCluster', 'Placement', 'Widget.example.org'], namespaces: ['own'], files: [] };
  engine.inputs.sources.set('', 'main', { order: 0, read: true, rights });
  for (const name of ['east', 'west']) file(`${name}.yaml`, clusterYaml(name, { env: 'prod' }));
  file('placement.yaml', placementYaml('apps', 'apps/**'));
  engine.inputs.kinds.set('east', 'example.org/Widget', {
    ...{ kind: 'example.org/Widget', state: 'complete', message: '', scope: 'Namespaced' },
  });
  for (const name of ['a', 'b', 'c', 'd', 'e']) {
    file(`apps/${name}.yaml`, `apiVersion: example.org/v1\nkind: Widget\nmetadata: {name: ${name}}\n`);
    // It is unknown which of both the document means.
    for (const namespace of ['', 'default']) {
      const key = objectKey({ group: 'example.org', kind: 'Widget', namespace, name });
      const entry = { digest: sha256(name), origins: [], scope: [], phase: 'accepted' } as const;
      engine.inputs.ledger.set('west', key, entry);
    }
  }
  engine.commit();
  expect(engine.indexes.refusedWants.count('main')).toBe(10);
  const all = engineDiagnostics(engine);
  expect(all.map(({ reason, at }) => `${reason} ${at[0]?.path}`)).toEqual(
    ['a', 'b', 'c', 'd', 'e'].map((name) => `NotAllowed apps/${name}.yaml`),
  );
  const listed = engineDiagnostics(engine, 2);
  expect(listed.map(({ message }) => message.slice(0, 34))).toEqual([
    ...all.slice(0, 2).map(({ message }) => message.slice(0, 34)),
    'the same is found 3 more times in ',
  ]);
  file('apps/a.yaml', null);
  engine.commit();
  expect(engineDiagnostics(engine)).toHaveLength(4);
});
