import { expect, it } from 'vitest';
import type { Derived } from '../../../src/engine/collections/types.ts';
import type { Domain } from '../../../src/engine/domain.ts';
import { type Declared, declaredOf } from '../../../src/engine/fleet/declared.ts';
import { documentKey } from '../../../src/engine/fleet/sources.ts';
import type { Engine } from '../../../src/engine/graph.ts';
import type { DerivedWant, Want } from '../../../src/engine/placement/wants.ts';
import type { StatusPart } from '../../../src/engine/status/declared-status.ts';
import { parseClusterName } from '../../../src/model/fleet/ids.ts';
import { objectKey } from '../../../src/model/objects/object-key.ts';
import { objectDigest } from '../../../src/model/text/digest.ts';
import { must } from '../../../src/model/values/result.ts';
import { createEngineWorld } from '../../support/engine-world.ts';

const EAST = must(parseClusterName('east'));
const CARD = objectKey({ group: '', kind: 'ConfigMap', namespace: 'cards', name: 'card' });

/**
 * A domain of these tests alone: each ServiceMirror whose name begins with the domain's becomes the ConfigMap cards/card in the
 * cluster east, which could depend on the live objects of one kind there.
 */
function cards(name: string, reads: string, requires?: DerivedWant['requires']): Domain {
  return {
    name,
    readsLive: { '/ConfigMap': [reads] },
    derive: (graph, { declarations, clusterIndex }) => {
      const wants: Derived<Want> = graph.derive<Declared<'ServiceMirror'>, Want>({
        name: `${name}Wants`,
        ...declaredOf(declarations, 'ServiceMirror'),
        compute: ({ value: declared }, _read, emit) => {
          if (!declared.name.startsWith(name)) return;
          const value = {
            ...{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace: 'cards', name: 'card' } },
            data: { by: name },
          };
          emit(declared.origin.source, documentKey(declared.origin.path, declared.identity), {
            ...{
              key: CARD,
              value,
              digest: objectDigest(value),
              clusters: ['east'],
              scope: [EAST],
              scopeUnknown: false,
            },
            ...{ origin: declared.origin, identity: declared.identity },
            derived: { domain: name, standsFor: { named: name }, ...(requires && { requires }) },
          });
        },
      });
      return {
        collections: { bySource: [wants], anywhere: [] },
        makes: { wants: [wants], reading: { clusters: clusterIndex, wayOut: 'leave it out of the test' } },
        report: () => ({
          statuses: graph.derive<Declared<'ServiceMirror'>, StatusPart>({
            name: `${name}Statuses`,
            ...declaredOf(declarations, 'ServiceMirror'),
            compute: ({ key, value }, _read, emit) => {
              if (value.name.startsWith(name)) emit('ServiceMirror', key, { conditions: [], fields: {} });
            },
          }),
        }),
      };
    },
  };
}

const mirror = (name: string): string =>
  `apiVersion: fleetrelay.dev/v1alpha1\nkind: ServiceMirror\nmetadata: {name: ${name}}\nspec: {from: {names: [east]}, to: {names: [east]}}\n`;

/**
 * Two domains that make ConfigMaps: `blue` of Secrets, `red` of Services. Both kinds are listed in east. `requires`: what each object of
 * `red` requires.
 */
function world(requires?: DerivedWant['requires']) {
  const made = createEngineWorld([cards('blue', '/Secret'), cards('red', '/Service', requires)]);
  const { engine, file } = made;
  file('east.yaml', 'apiVersion: admin.gloo.solo.io/v2\nkind: KubernetesCluster\nmetadata: {name: east}\n');
  const { inputs } = engine;
  const isHere = { connected: true, problem: '', warm: true, assumedWarm: false, kindsAsWritten: true, since: 0 };
  inputs.agents.set('', 'east', isHere);
  inputs.snapshots.set('', 'east', { since: 0 });
  for (const kind of ['/Secret', '/Service']) inputs.kinds.set('east', kind, { kind, state: 'complete', message: '' });
  return { ...made, inputs };
}

/** The cluster has taken what is to be sent. */
function deliver(engine: Engine): void {
  const output = engine.outputs.get('east', CARD);
  if (output?.type !== 'object') throw new Error('there is nothing to deliver');
  const { digest, origins, scope, madeBy } = output;
  engine.inputs.ledger.set('east', CARD, { digest, origins, scope, phase: 'accepted', ...(madeBy && { madeBy }) });
  engine.commit();
}

const makerOf = (engine: Engine): string | undefined => {
  const output = engine.outputs.get('east', CARD);
  return output?.type === 'object' ? output.madeBy : output?.type;
};

const conditionOf = (engine: Engine, name: string) =>
  engine.statuses.get('ServiceMirror', name)?.conditions.find(({ type }) => type === 'Stalled');

it('the first domain of the list makes an object that two domains want, in any order of their files', () => {
  const { engine, file } = world();
  file('a.yaml', mirror('red-one'));
  file('b.yaml', mirror('blue-one'));
  engine.commit();
  expect(makerOf(engine)).toBe('blue');
});

it('the domain that has the object keeps it until its want is gone', () => {
  const { engine, file } = world();
  file('a.yaml', mirror('red-one'));
  engine.commit();
  deliver(engine);
  expect(makerOf(engine)).toBe('red');
  file('b.yaml', mirror('blue-one'));
  engine.commit();
  expect(makerOf(engine)).toBe('red');
  file('a.yaml', null);
  engine.commit();
  expect(makerOf(engine)).toBe('blue');
});

it('the one that loses is told by a condition, which goes with the cause', () => {
  const { engine, file } = world();
  file('a.yaml', mirror('red-one'));
  file('b.yaml', mirror('blue-one'));
  engine.commit();
  expect(conditionOf(engine, 'red-one')).toMatchObject({
    status: 'True',
    reason: 'NameTaken',
    message: 'ConfigMap/cards/card of cluster east is made by the domain blue, which had the name first',
  });
  expect(conditionOf(engine, 'blue-one')).toBeUndefined();
  file('b.yaml', null);
  engine.commit();
  expect(conditionOf(engine, 'red-one')).toBeUndefined();
});

it('the one that loses to a document is told which file has the object', () => {
  const { engine, file } = world();
  file('a.yaml', 'apiVersion: v1\nkind: ConfigMap\nmetadata: {namespace: cards, name: card}\n');
  file(
    'place.yaml',
    'apiVersion: fleetrelay.dev/v1alpha1\nkind: Placement\nmetadata: {name: cards}\nspec: {paths: [a.yaml], clusters: {names: [east]}}\n',
  );
  file('b.yaml', mirror('blue-one'));
  engine.commit();
  expect(makerOf(engine)).toBeUndefined();
  expect(conditionOf(engine, 'blue-one')).toMatchObject({
    reason: 'NameTaken',
    message: 'ConfigMap/cards/card of cluster east comes from a.yaml of source main, which had the name first',
  });
  file('a.yaml', null);
  engine.commit();
  expect(conditionOf(engine, 'blue-one')).toBeUndefined();
});

it('the one that loses to an object that stays, and whose maker is not known, is told which file has it', () => {
  const { engine, file, inputs } = world();
  file('a.yaml', mirror('red-one'));
  engine.commit();
  deliver(engine);
  const { madeBy: _, ...unknown } = inputs.ledger.get('east', CARD) ?? expect.fail();
  inputs.ledger.set('east', CARD, { ...unknown, digest: objectDigest({}) });
  for (const kind of ['/Secret', '/Service'])
    inputs.kinds.set('east', kind, { kind, state: 'unknown', message: 'forbidden' });
  file('b.yaml', mirror('blue-one'));
  engine.commit();
  expect(engine.outputs.get('east', CARD)).toMatchObject({ type: 'keep' });
  expect(conditionOf(engine, 'blue-one')).toMatchObject({
    reason: 'NameTaken',
    message: 'ConfigMap/cards/card of cluster east comes from a.yaml of source main, which had the name first',
  });
  expect(conditionOf(engine, 'red-one')).toBeUndefined();
});

it('a want whose required object is another one is not told that its name is taken', () => {
  const other = objectKey({ group: '', kind: 'ConfigMap', namespace: 'cards', name: 'other' });
  const { engine, file, inputs } = world({ key: other, standsFor: { named: 'red' } });
  inputs.live.set('east', other, { key: other, digest: objectDigest({}), value: {} });
  file('a.yaml', mirror('red-one'));
  file('b.yaml', mirror('blue-one'));
  engine.commit();
  expect(makerOf(engine)).toBe('blue');
  expect(conditionOf(engine, 'red-one')).toBeUndefined();
});

it('a kind that one of them reads and that cannot be listed holds nothing of the other', () => {
  const { engine, file, inputs } = world();
  file('b.yaml', mirror('blue-one'));
  engine.commit();
  deliver(engine);
  inputs.kinds.set('east', '/Service', { kind: '/Service', state: 'unknown', message: 'forbidden' });
  file('b.yaml', null);
  engine.commit();
  expect(engine.outputs.get('east', CARD)).toMatchObject({ type: 'remove' });
  inputs.kinds.set('east', '/Secret', { kind: '/Secret', state: 'unknown', message: 'forbidden' });
  engine.commit();
  expect(engine.outputs.get('east', CARD)).toMatchObject({ type: 'keep', reason: 'KindUnknown' });
});

it('an object whose maker is not known waits for the kinds of both', () => {
  const { engine, file, inputs } = world();
  file('b.yaml', mirror('blue-one'));
  engine.commit();
  deliver(engine);
  const { madeBy: _, ...unknown } = inputs.ledger.get('east', CARD) ?? expect.fail();
  inputs.ledger.set('east', CARD, unknown);
  inputs.kinds.set('east', '/Service', { kind: '/Service', state: 'unknown', message: 'forbidden' });
  file('b.yaml', null);
  engine.commit();
  expect(engine.outputs.get('east', CARD)).toMatchObject({ type: 'keep', reason: 'KindUnknown' });
});

it('a removal waits for the kinds of a domain that contends for the name and has never had it', () => {
  const { engine, file, inputs } = world();
  // A document has the object, and was computed from nothing.
  file('b.yaml', mirror('blue-one'));
  engine.commit();
  deliver(engine);
  const { madeBy: _, ...declared } = inputs.ledger.get('east', CARD) ?? expect.fail();
  inputs.ledger.set('east', CARD, { ...declared, scope: [] });
  inputs.contenders.set('east', CARD, { origins: [], scope: [EAST] });
  inputs.kinds.set('east', '/Service', { kind: '/Service', state: 'unknown', message: 'forbidden' });
  file('b.yaml', null);
  engine.commit();
  expect(engine.outputs.get('east', CARD)).toMatchObject({ type: 'keep', reason: 'KindUnknown' });
});

it('the domain that has the object keeps it when its document moves to another file', () => {
  const { engine, file } = world();
  file('a.yaml', mirror('red-one'));
  engine.commit();
  deliver(engine);
  file('b.yaml', mirror('blue-one'));
  file('a.yaml', null);
  file('c.yaml', mirror('red-one'));
  engine.commit();
  expect(makerOf(engine)).toBe('red');
});

it('another domain replaces the object only when the cluster has been read completely', () => {
  const { engine, file, inputs } = world();
  file('a.yaml', mirror('red-one'));
  engine.commit();
  deliver(engine);
  inputs.snapshots.set('', 'east', { since: 0, isArriving: true });
  file('b.yaml', mirror('blue-one'));
  file('a.yaml', null);
  engine.commit();
  expect(engine.outputs.get('east', CARD)).toMatchObject({ type: 'keep', reason: 'SnapshotArriving' });
  inputs.snapshots.set('', 'east', { since: 0 });
  engine.commit();
  expect(makerOf(engine)).toBe('blue');
});
