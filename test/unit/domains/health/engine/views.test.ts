import { beforeEach, describe, expect, test } from 'vitest';
import type { ViewFilter } from '../../../../../src/model/fleet/view-filter.ts';
import type { JsonObject } from '../../../../../src/model/text/json.ts';
import { createEngineWorld } from '../../../../support/engine-world.ts';
import { container, dataplaneYaml, inbound, pod, rowsOf, stageLive } from './support.ts';

/** What filters select of the views. */

let world: ReturnType<typeof createEngineWorld>;
beforeEach(() => {
  world = createEngineWorld();
  const tags = (service: string, version: string) => ({ tags: { 'kuma.io/service': service, version } });
  declare('default', 'two', [inbound('web', 80, tags('web', 'v1')), inbound('api', 81, tags('api', 'v2'))]);
  declare('default', 'out', [inbound('web', 80, { ...tags('web', 'v2'), state: 'NotReady' })]);
  declare('other', 'one', [inbound('web', 80, tags('web', 'v1'))]);
  const containers = [container('kuma-sidecar'), container('app', 80)];
  stageLive(world.engine, 'east', pod({ containers }));
  world.engine.commit();
});

function declare(mesh: string, name: string, inbounds: readonly JsonObject[]): void {
  const networking = { address: '10.0.0.4', inbound: inbounds };
  world.file(`${mesh}/${name}.yaml`, dataplaneYaml({ mesh, name, networking }));
}

const names = (view: string, filter: ViewFilter, member = 'name') =>
  rowsOf(world.engine, view, filter).map((row) => `${String(row.mesh)}/${String(row[member])}`);

describe('a filter by', () => {
  test.each<
    readonly [
      what: string,
      filter: ViewFilter,
      dataplanes: readonly string[],
      services: readonly string[],
      endpoints: readonly string[],
    ]
  >([
    ['mesh', { mesh: ['other'] }, ['other/one'], ['other/web'], ['other/web']],
    [
      'cluster',
      { cluster: ['east'] },
      ['default/example.demo'],
      ['default/example_demo_svc'],
      ['default/example_demo_svc'],
    ],
    ['a tag', { tag: ['version=v2'] }, ['default/out', 'default/two'], ['default/api', 'default/web'], ['default/api']],
    ['tags of one inbound', { tag: ['version=v2', 'kuma.io/service=web'] }, ['default/out'], ['default/web'], []],
    ['tags that no one inbound has', { tag: ['version=v1', 'kuma.io/service=api'] }, [], [], []],
    ['mesh and tag', { mesh: ['other'], tag: ['version=v2'] }, [], [], []],
    [
      'a tag of any value',
      { tag: ['version', 'kuma.io/service=api'] },
      ['default/two'],
      ['default/api'],
      ['default/api'],
    ],
    [
      'one cluster twice',
      { cluster: ['east', 'east'] },
      ['default/example.demo'],
      ['default/example_demo_svc'],
      ['default/example_demo_svc'],
    ],
    ['a mesh of two', { mesh: ['other', 'nowhere'] }, ['other/one'], ['other/web'], ['other/web']],
    ['an unknown cluster', { cluster: ['nowhere'] }, [], [], []],
    ['a name of an object', { tag: ['constructor'] }, [], [], []],
    [
      'a filter that these views do not have',
      { colour: ['red'], mesh: ['other'] },
      ['other/one'],
      ['other/web'],
      ['other/web'],
    ],
  ])('%s', (_, filter, dataplanes, services, endpoints) => {
    expect(names('dataplanes', filter)).toEqual(dataplanes);
    expect(names('services', filter)).toEqual(services);
    expect(names('endpoints', filter, 'service')).toEqual(endpoints);
  });
});
