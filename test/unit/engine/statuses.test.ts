import { describe, expect, it } from 'vitest';
import { SHOOT_CONDITIONS } from '../../../src/domains/care/model/shoot.ts';
import { type KindState, LEFT_OUT } from '../../../src/model/agent/agent.ts';
import { engineKindIds } from '../../../src/model/fleet/engine-kinds.ts';
import { createEngineWorld } from '../../support/engine-world.ts';
import { clusterYaml, placementYaml, policyYaml } from '../../support/manifests.ts';

const shoot = (name: string, purpose = 'testing'): string =>
  `apiVersion: core.gardener.cloud/v1beta1\nkind: Shoot\nmetadata:\n  name: ${name}\n  namespace: garden-dev\nspec:\n  purpose: ${purpose}\n`;
const dataplane = (name: string, mesh: string, port = 80): string =>
  `type: Dataplane\nmesh: ${mesh}\nname: ${name}\nnetworking:\n  address: 10.0.0.1\n  inbound:\n    - port: ${port}\n      tags:\n        kuma.io/service: web\n`;
const broken = 'kind: [';

function declared() {
  const world = createEngineWorld();
  world.file('east.yaml', clusterYaml('east'));
  world.file('apps.yaml', placementYaml('apps', 'apps/**'));
  world.file('policy.yaml', policyYaml(5));
  world.file('shoot.yaml', shoot('one'));
  world.file('web.yaml', `${dataplane('web', 'default')}---\n${dataplane('web', 'other')}`);
  world.engine.commit();
  return world;
}

describe('statuses of declared objects', () => {
  it('are there for every declaration, each with a file of its own on the status branch', () => {
    const { statuses } = declared().engine;
    const paths = engineKindIds.flatMap((kind) => [...statuses.entries(kind)].map(({ value }) => value.path));
    expect(paths.sort()).toEqual([
      'clusters/east.yaml',
      'dataplanes/default/web.yaml',
      'dataplanes/other/web.yaml',
      'declared/FleetPolicy/_cluster/fleet.yaml',
      'declared/Placement/_cluster/apps.yaml',
      'shoots/garden-dev/one.yaml',
    ]);
    expect(statuses.get('FleetPolicy', '')).toMatchObject({
      kind: 'FleetPolicy',
      name: 'fleet',
      path: 'declared/FleetPolicy/_cluster/fleet.yaml',
      conditions: [{ type: 'Accepted', status: 'True', reason: 'Accepted', message: '' }],
      fields: {},
    });
    const types = statuses.get('Shoot', 'garden-dev/one')?.conditions.map(({ type }) => type);
    expect(types).toEqual(SHOOT_CONDITIONS.filter((type) => type !== 'EveryNodeReady'));
  });

  it('say of a declaration that holds as last known good what is wrong with its file', () => {
    const { engine, file } = declared();
    const { namespace, name, value, origin } = engine.declarations.get('Placement', 'apps') ?? expect.fail();
    engine.inputs.lastKnownGood.set('Placement', 'apps', { kind: 'Placement', namespace, name, value, origin });
    file('apps.yaml', broken);
    engine.commit();
    expect(engine.statuses.get('Placement', 'apps')?.conditions[0]).toEqual({
      ...{ type: 'Accepted', status: 'False', reason: 'Invalid', message: expect.stringContaining(']') },
    });
  });

  it('say of a cluster in which namespaces a kind cannot be listed, unless they are left out on purpose', () => {
    const { engine } = declared();
    const discovered = () =>
      engine.statuses.get('KubernetesCluster', 'east')?.conditions.find(({ type }) => type === 'Discovered');
    const set = (kind: string, unlisted: KindState['unlisted']): void => {
      const state = { kind, state: 'complete', message: '', ...(unlisted === undefined ? {} : { unlisted }) } as const;
      engine.inputs.kinds.set('east', kind, state);
      engine.commit();
    };
    set('/Pod', { a: LEFT_OUT });
    expect(discovered()).toBeUndefined();
    set('/Secret', { a: LEFT_OUT, b: 'no right', c: 'no right' });
    expect(discovered()).toMatchObject({
      ...{ status: 'False', reason: 'KindsUnknown' },
      message: '/Secret in b and 1 more namespaces cannot be listed: no right',
    });
    set('/Secret', undefined);
    expect(discovered()).toBeUndefined();
  });

  it('are computed for what has changed alone', () => {
    const { engine, file } = declared();
    for (let at = 0; at < 200; at += 1) file(`planes/${at}.yaml`, dataplane(`p${at}`, 'default'));
    engine.commit();
    const changed = engine.graph.watch(engine.statuses);
    expect(engine.commit().computed).toBe(0);
    file('planes/7.yaml', broken);
    const { namespace, name, value, origin } = engine.declarations.get('Dataplane', 'p7@default') ?? expect.fail();
    engine.inputs.lastKnownGood.set('Dataplane', 'p7@default', { kind: 'Dataplane', namespace, name, value, origin });
    expect(engine.commit().computed).toBeLessThan(20);
    expect(changed.take().map(({ key }) => key)).toEqual(['p7@default']);
  });
});
