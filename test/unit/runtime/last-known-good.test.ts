import { describe, expect, it } from 'vitest';
import { type EngineKind, engineKindIds, engineKinds } from '../../../src/model/fleet/engine-kinds.ts';
import type { FleetWorld } from '../../support/fleet-world.ts';
import { base, restart, startedWorld, typo } from '../../support/started-world.ts';
import { keysOf } from '../../support/stored-maps.ts';

const own = (kind: string, spec: string) =>
  `apiVersion: fleetrelay.dev/v1alpha1\nkind: ${kind}\nmetadata: {name: one, namespace: fleet}\nspec: ${spec}\n`;

/** A document of each kind, and the key that it has. */
const SAMPLES: { readonly [Kind in EngineKind]: { readonly key: string; readonly text: string } } = {
  KubernetesCluster: {
    key: 'one',
    text: 'apiVersion: admin.gloo.solo.io/v2\nkind: KubernetesCluster\nmetadata: {name: one, namespace: fleet}\n',
  },
  Placement: { key: 'one', text: own('Placement', '{paths: [none/**], clusters: {names: [east]}}') },
  ServiceMirror: { key: 'one', text: own('ServiceMirror', '{from: {names: [east]}, to: {names: [west]}}') },
  FleetPolicy: { key: '', text: own('FleetPolicy', '{safeMode: {mode: strict}}') },
  RemovalApproval: { key: 'one', text: own('RemovalApproval', `{digest: ${'a'.repeat(64)}}`) },
  Dataplane: {
    key: 'one@default',
    text: 'type: Dataplane\nname: one\nnetworking: {address: 10.0.0.1}\n',
  },
  Shoot: {
    key: 'garden/one',
    text: `apiVersion: core.gardener.cloud/v1beta1
kind: Shoot
metadata: {name: one, namespace: garden}
spec:
  cloudProfileName: local
  provider: {type: local}
  region: local
`,
  },
};

const PATH = 'declared.yaml';
const record = (kind: EngineKind) => `declared/${kind}/${SAMPLES[kind].key}`;

function declared({ server: { engine } }: FleetWorld, kind: EngineKind) {
  return engine.declarations.get(kind, SAMPLES[kind].key);
}

describe.each(engineKindIds)('a declaration of the kind %s', (kind) => {
  const { holdsAsLastKnownGood: holds } = engineKinds[kind];

  it(`that cannot be read any more ${holds ? 'holds as last known good' : 'is not in force'}, also after a restart`, async () => {
    const first = await startedWorld();
    first.source.push({ [PATH]: SAMPLES[kind].text });
    await first.settle();
    const before = declared(first, kind);
    expect(before).toMatchObject({ kind, name: 'one', isLastKnownGood: false, origin: { path: PATH } });
    expect((await keysOf(first.store)).includes(record(kind))).toBe(holds);
    first.source.push({ [PATH]: typo });
    await first.settle();
    const expected = holds ? { ...before, identity: '', isLastKnownGood: true } : undefined;
    expect(declared(first, kind)).toEqual(expected);
    const again = await restart(first);
    again.source.push({ ...base, [PATH]: typo });
    await again.settle();
    expect(declared(again, kind)).toEqual(expected);
    expect(again.server.api.diagnostics().filter(({ reason }) => reason === 'LastKnownGood')).toHaveLength(
      holds ? 1 : 0,
    );
  });

  it('that is proven gone is forgotten, also by the store', async () => {
    const world = await startedWorld();
    world.source.push({ [PATH]: SAMPLES[kind].text });
    await world.settle();
    world.source.push({ [PATH]: null });
    await world.settle();
    expect(declared(world, kind)).toBeUndefined();
    expect(world.server.engine.inputs.lastKnownGood.get(kind, SAMPLES[kind].key)).toBeUndefined();
    expect(await keysOf(world.store)).not.toContain(record(kind));
  });

  it('that two files declare is one of them, and the other is reported', async () => {
    const world = await startedWorld();
    world.source.push({ [PATH]: SAMPLES[kind].text, 'second.yaml': SAMPLES[kind].text });
    await world.settle();
    expect(declared(world, kind)).toMatchObject({ origin: { path: PATH }, losers: [{ path: 'second.yaml' }] });
    const twice = world.server.api.diagnostics().filter(({ reason }) => reason === 'DeclaredTwice');
    expect(twice).toMatchObject([{ message: expect.stringContaining('is declared 2 times') }]);
  });
});
