import { expect, it } from 'vitest';
import { engineDomains } from '../../../src/domains/engines.ts';
import { createGraph } from '../../../src/engine/collections/graph.ts';
import { createEngine } from '../../../src/engine/graph.ts';
import { stageFile } from '../../../src/runtime/replica/sources.ts';
import { decodeFile } from '../../support/decode-file.ts';
import { bytesOf } from '../../support/decoding.ts';
import { clusterYaml, configMapYaml, placementYaml } from '../../support/manifests.ts';

/** Globs that need more steps for a long path than another source has. */
const heavy = Array.from({ length: 6 }, (_, at) => `**/${'*a'.repeat(98)}${at}`);
const long = `${'a'.repeat(250)}/`.repeat(6);

/** Placements of `platform` place what lies under `apps` in the files of `blue` and `red`. */
function createWorld() {
  const engine = createEngine(createGraph(), engineDomains);
  engine.inputs.fleet.set('', '', { bounds: { guards: {}, safeModes: [], webhookRemediator: false }, role: 'leader' });
  const sources = ['platform', 'blue', 'red'];
  for (const [order, source] of sources.entries()) {
    const rights = { kinds: 'all', files: source === 'platform' ? sources : [] } as const;
    engine.inputs.sources.set('', source, { order, read: true, rights });
  }
  const file = (source: string, path: string, text: string | null): void =>
    stageFile(engine, source, path, text === null ? null : decodeFile(path, bytesOf(text), text).reading);
  file('platform', 'east.yaml', clusterYaml('east'));
  file('platform', 'p.yaml', placementYaml('p', 'apps/**'));
  return {
    file,
    /** Returns the number of called functions. */
    commit: (): number => engine.commit().computed,
    /** The cluster has everything that goes there. */
    apply: (): void => {
      for (const { key, value } of engine.outputs.entries('east')) {
        if (value.type !== 'object') continue;
        const { digest, origins, scope } = value;
        engine.inputs.ledger.set('east', key, { digest, origins, scope, phase: 'accepted' });
      }
      engine.commit();
    },
    typeOf: (key: string) => engine.outputs.get('east', key)?.type,
    types: () => [...new Set([...engine.outputs.entries('east')].map(({ value }) => value.type))],
  };
}

const clusterRole = (namespace: string): string =>
  `apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: a${namespace}}\nrules: []\n`;

const widget = (namespace: string): string =>
  `apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: a${namespace}}\n`;

it.each([10, 100])('one more document of a name that %d objects have is judged for none of these', (count) => {
  const world = createWorld();
  for (let at = 0; at < count; at += 1) {
    world.file('blue', `apps/${at}.yaml`, configMapYaml('settings', '1', `ns-${at}`));
  }
  world.commit();
  world.apply();
  world.file('platform', 'q.yaml', 'kind: [');
  for (let at = 0; at < count; at += 1) {
    world.file('blue', `apps/${at}.yaml`, null);
    world.file('blue', `moved/${at}.yaml`, configMapYaml('settings', '1', `ns-${at}`));
  }
  world.commit();
  expect(world.types()).toEqual(['keep']);
  world.file('blue', 'moved/more.yaml', configMapYaml('settings', '1', 'other'));
  expect(world.commit()).toBeLessThan(10);
});

it.each([10, 100])(
  'one more document at a path with too many steps is judged for none of %d objects of its name',
  (count) => {
    const world = createWorld();
    for (let at = 0; at < count; at += 1) {
      world.file('blue', `apps/${at}.yaml`, configMapYaml('settings', '1', `ns-${at}`));
    }
    world.file('platform', 'q.yaml', placementYaml('q', heavy));
    world.commit();
    world.apply();
    for (let at = 0; at < count; at += 1) world.file('blue', `apps/${at}.yaml`, null);
    world.commit();
    world.file('red', `${long}more.yaml`, configMapYaml('settings', '1', 'other'));
    expect(world.commit()).toBeLessThan(10);
  },
);

it.each([
  ['in its namespace', '/ConfigMap/web/a', configMapYaml('a', '1'), configMapYaml('a', '1'), 'keep'],
  ['in another namespace', '/ConfigMap/web/a', configMapYaml('a', '1'), configMapYaml('a', '1', 'other'), 'remove'],
  [
    'without a namespace, which means the default one',
    '/ConfigMap/default/a',
    configMapYaml('a', '1', 'default'),
    'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n',
    'keep',
  ],
  [
    'with a namespace that its kind does not have',
    'rbac.authorization.k8s.io/ClusterRole//a',
    clusterRole(''),
    clusterRole(', namespace: web'),
    'keep',
  ],
  [
    'without a namespace, and its kind may have one',
    'example.com/Widget/default/a',
    widget(', namespace: default'),
    widget(''),
    'keep',
  ],
])(
  'an object stays while a document of its name lies at a path with too many steps, or where an unreadable file may place it: %s',
  (_, key, before, after, type) => {
    for (const [path, q] of [
      [`${long}a.yaml`, placementYaml('q', heavy)],
      ['moved/a.yaml', 'kind: ['],
    ] as const) {
      const world = createWorld();
      world.file('blue', 'apps/a.yaml', before);
      world.commit();
      world.apply();
      expect(world.typeOf(key)).toBe('object');
      world.file('platform', 'q.yaml', q);
      world.file('blue', 'apps/a.yaml', null);
      world.file('blue', path, after);
      world.commit();
      expect(world.typeOf(key)).toBe(type);
    }
  },
);
