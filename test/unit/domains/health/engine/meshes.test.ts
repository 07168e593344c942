import { expect, test } from 'vitest';
import { health } from '../../../../../src/domains/health/engine/health.ts';
import type { JsonObject } from '../../../../../src/model/text/json.ts';
import { createEngineWorld } from '../../../../support/engine-world.ts';
import { container, dataplaneYaml, inbound, pod, removeLive, stageLive } from './support.ts';

test('the counts of a mesh follow the statuses of its data planes and services', () => {
  const world = createEngineWorld();
  const declare = (mesh: string, name: string, ...inbounds: readonly JsonObject[]): void => {
    const networking = { address: '10.0.0.4', inbound: inbounds };
    world.file(`${mesh}/${name}.yaml`, dataplaneYaml({ mesh, name, networking }));
  };
  const connect = (mesh: string, name: string): void =>
    world.engine.domainInputs.health?.connections?.set('', `${mesh}/${name}`, { connected: true, since: 0 });
  const counts = () => {
    world.engine.commit();
    return new Map(
      world.engine
        .reported(health)
        ?.parts.meshCounts()
        .map(({ mesh, ...each }) => [mesh, each]),
    );
  };
  expect(counts()).toEqual(new Map());

  declare('default', 'one', inbound('web', 80));
  declare('default', 'two', inbound('web', 80), inbound('api', 81, { state: 'NotReady' }));
  declare('other', 'three', inbound('web', 80));
  connect('default', 'one');
  connect('default', 'two');
  const containers = [container('kuma-sidecar'), container('app', 80)];
  const inCluster = pod({ containers });
  stageLive(world.engine, 'east', inCluster);
  expect(counts()).toEqual(
    new Map([
      [
        'default',
        {
          dataplanes: { online: 2, partially_degraded: 1, offline: 0 },
          services: { online: 1, partially_degraded: 1, offline: 1 },
        },
      ],
      [
        'other',
        {
          dataplanes: { online: 0, partially_degraded: 0, offline: 1 },
          services: { online: 0, partially_degraded: 0, offline: 1 },
        },
      ],
    ]),
  );

  removeLive(world.engine, 'east', inCluster);
  connect('other', 'three');
  world.file('default/two.yaml', null);
  const alone = { dataplanes: { ...NONE, online: 1 }, services: { ...NONE, online: 1 } };
  expect(counts()).toEqual(
    new Map([
      ['default', alone],
      ['other', alone],
    ]),
  );
});

const NONE = { online: 0, partially_degraded: 0, offline: 0 };
