import { beforeEach, describe, expect, it } from 'vitest';
import { HealthStatus } from '../../../generated/envoy/config/core/v3/core_pb.ts';
import type { ExplainRequest, Explanation } from '../../../src/api/server-api.ts';
import { clusterHealth, createFakeEnvoys, type FakeEnvoys } from '../../support/fake-envoys.ts';
import { createFleetWorld, type FleetWorld } from '../../support/fleet-world.ts';
import { clusterYaml } from '../../support/manifests.ts';
import { container, dataplaneYaml, inbound, pod, service } from '../domains/health/engine/support.ts';
import { dbYaml } from '../domains/health/xds/support.ts';

/** Explanations of data planes and of services of meshes. */

let envoys: FakeEnvoys;
let world: FleetWorld;

const complete = (kind: string) => ({ kind, state: 'complete', message: '', scope: 'Namespaced' }) as const;

beforeEach(async () => {
  envoys = createFakeEnvoys();
  world = await createFleetWorld({ xds: envoys.setup });
  world.source.push({
    'clusters/east/cluster.yaml': clusterYaml('east'),
    'clusters/west/cluster.yaml': clusterYaml('west'),
    'db.yaml': dbYaml(),
    'api.yaml': `type: Dataplane
mesh: default
name: api
networking:
  address: 10.0.0.7
  inbound:
  - port: 80
    state: NotReady
    tags: {kuma.io/service: api}
  - {port: 81, health: {ready: false}, tags: {kuma.io/service: api}}
  - {port: 82, tags: {kuma.io/service: api}}
  - {port: 83, state: Ignored, tags: {kuma.io/service: api}}
`,
    'other.yaml': dataplaneYaml({
      mesh: 'other',
      name: 'one',
      networking: { address: '10.0.0.8', inbound: [inbound('api', 80)] },
    }),
  });
  world.agent('east').connect();
  await world.settle();
});

const arrive = () => world.clock.advance(200);

async function ask(question: ExplainRequest): Promise<Explanation | string> {
  const answer = await world.server.api.explain(question);
  return answer.ok ? answer.value : `${answer.kind}: ${answer.message}`;
}

/** The lines of an explanation, indented by depth. */
async function lines(question: ExplainRequest): Promise<readonly string[]> {
  const answer = await ask(question);
  if (typeof answer === 'string') return [answer];
  return answer.because.map(
    ({ kind, name, at, note, depth = 0 }) =>
      '  '.repeat(depth) + [kind, name, at, note].filter((text) => text !== '').join(' | '),
  );
}

describe('a declared data plane is explained', () => {
  it('by the line of each field that takes an inbound out of the set', async () => {
    expect(await ask({ object: 'dataplane/api' })).toMatchObject({
      ...{ object: 'dataplane/api', parent: { kind: 'mesh', name: 'default' } },
      message: 'inbound[port=80,svc=api] is not ready; inbound[port=81,svc=api] is not ready',
      entity: { mesh: 'default', name: 'api', status: 'Offline', connection: { state: 'never' } },
    });
    expect(await lines({ object: 'dataplane/api' })).toEqual([
      'manifest | Dataplane.kuma.io/api@default | api.yaml:1:1@r1 | declares it',
      'connection | never connected: no Envoy of it has ever opened a stream',
      'inbound | 10.0.0.7:80 | api.yaml:7:5@r1 | of service api; is not ready, not in the load-balancing set',
      '  Dataplane | api.yaml:8:12@r1 | has state: NotReady',
      'inbound | 10.0.0.7:81 | api.yaml:10:5@r1 | of service api; is not ready, not in the load-balancing set',
      '  Dataplane | api.yaml:10:24@r1 | has health.ready: false',
      'inbound | 10.0.0.7:82 | api.yaml:11:5@r1 | of service api; is ready, in the load-balancing set',
      'inbound | 10.0.0.7:83 | api.yaml:12:5@r1 | of service api; is declared as ignored, and counts nowhere',
    ]);
  });

  it('by what its Envoy reports, since when it is connected, and why its stream has ended', async () => {
    const facts = async () => (await lines({ object: 'dp/db' })).filter((line) => /connection|Envoy/.test(line));
    expect(await facts()).toEqual([
      'connection | never connected: no Envoy of it has ever opened a stream',
      expect.stringMatching(
        /^ {2}Envoy \| has not reported the health of 127\.0\.0\.1:80(; its report is waited for.*)?$/,
      ),
    ]);
    const envoy = envoys.hds('default.db');
    await arrive();
    envoy.report(clusterHealth('localhost:80', HealthStatus.UNHEALTHY, '127.0.0.1'));
    await arrive();
    const time = '\\d{4}-\\d\\d-\\d\\dT[0-9:]{8}Z';
    expect(await facts()).toEqual([
      expect.stringMatching(new RegExp(`^connection \\| connected since ${time}$`)),
      expect.stringMatching(
        new RegExp(`^ {2}Envoy \\| reports 127.0.0.1:80 as unhealthy; its last report with news came at ${time}$`),
      ),
    ]);
    const told = (await facts())[1];
    await world.clock.advance(10_000);
    envoy.report(clusterHealth('localhost:80', HealthStatus.UNHEALTHY, '127.0.0.1'));
    await arrive();
    expect((await facts())[1]).toBe(told);
    envoy.break();
    await arrive();
    expect((await facts())[0]).toMatch(
      new RegExp(`^connection \\| disconnected since ${time}: its Envoy has ended the stream$`),
    );
  });

  it('by the endpoints that its Envoy refuses', async () => {
    const refusals = async () => (await lines({ object: 'dp/db' })).filter((line) => line.includes('refuses'));
    const envoy = envoys.ads('default.db', ['api']);
    await arrive();
    expect(await refusals()).toEqual([]);
    envoy.answer('no such locality');
    await arrive();
    expect(await refusals()).toEqual(['Envoy | refuses the endpoints that it was sent last: no such locality']);
  });

  it('by the fields and conditions of its declaration, if a question names one', async () => {
    expect(await ask({ object: 'dataplane/api', part: 'networking.inbound[0].state' })).toMatchObject({
      field: { at: 'api.yaml:8:5@r1', found: 'value' },
    });
    expect(await ask({ object: 'Dataplane/api@default' })).toMatchObject({ cluster: null, state: 'inForce' });
  });
});

describe('a data plane of a cluster is explained', () => {
  const containers = [container('kuma-sidecar'), container('app', { name: 'http', containerPort: 8080 })];
  const statuses = [
    { name: 'kuma-sidecar', ready: true },
    { name: 'app', ready: false, state: { waiting: { reason: 'CrashLoopBackOff' } } },
  ];
  const crashing = pod({ containers, status: { containerStatuses: statuses } });

  beforeEach(async () => {
    const kinds = ['/Pod', '/Service'].map(complete);
    world.agent('east').discovers({ upserts: [crashing, service('web', {})], kinds });
    await world.settle();
  });

  it('by the container that waits, and why', async () => {
    expect(await lines({ object: 'dataplane/example.demo' })).toEqual([
      'live object | Pod/demo/example | cluster east | is the data plane example.demo',
      'connection | connected: its Pod is Running',
      'inbound | 10.0.0.1:8080 | cluster east | of service web_demo_svc_80; is not ready, not in the load-balancing set',
      '  container | app | cluster east | is not ready: CrashLoopBackOff',
    ]);
    expect(await ask({ object: 'dataplane/example.demo', part: 'Ready' })).toBe(
      'notFound: dataplane/example.demo is not declared, so it has neither fields nor conditions of its own',
    );
  });

  it('as stale while its agent is not connected, or cannot list Pods', async () => {
    const stale = async () =>
      (await lines({ object: 'dataplane/example.demo' })).filter((line) => line.includes('stale'));
    expect(await stale()).toEqual([]);
    world.agent('east').discovers({ kinds: [{ ...complete('/Pod'), state: 'unknown', message: 'forbidden' }] });
    await world.settle();
    expect(await stale()).toEqual([
      'cluster | east | is stale: its agent cannot list Pod: forbidden; this was known last',
    ]);
    world.agent('east').disconnect();
    await world.settle();
    expect(await stale()).toEqual([
      expect.stringMatching(
        /^cluster \| east \| is stale: its agent is not connected since .*Z, and this was known last$/,
      ),
    ]);
  });

  it('in one of several clusters, which the question names', async () => {
    world.agent('west').connect();
    await world.settle();
    world.agent('west').discovers({ upserts: [crashing], kinds: [complete('/Pod')] });
    await world.settle();
    expect(await ask({ object: 'dataplane/example.demo' })).toBe(
      'conflict: several clusters have dataplane/example.demo: name one of east, west, as in "east dataplane/example.demo"',
    );
    expect(await ask({ cluster: 'west', object: 'dataplane/example.demo' })).toMatchObject({
      ...{ parent: { kind: 'mesh', name: 'default' }, cluster: 'west' },
      entity: { status: 'Offline' },
    });
  });
});

describe('a service of a mesh is explained', () => {
  it('from the service to the data plane to the inbound to its evidence', async () => {
    expect(await ask({ object: 'service/postgres' })).toMatchObject({
      ...{ object: 'service/postgres', parent: { kind: 'mesh', name: 'default' } },
      message: '0 of 1 data plane online, 0 of 1 endpoint in the load-balancing set',
      entity: { status: 'offline' },
    });
    expect(await lines({ object: 'service/postgres' })).toEqual([
      'data plane | db | db.yaml:1:1@r1 | Offline',
      '  connection | never connected: no Envoy of it has ever opened a stream',
      '  inbound | 10.0.0.4:5432 | db.yaml:1:96@r1 | is not ready, not in the load-balancing set',
      expect.stringMatching(/^ {4}Envoy \| has not reported the health of 127\.0\.0\.1:80/),
    ]);
  });

  it('in one of several meshes, which the question names', async () => {
    expect(await ask({ object: 'service/api' })).toBe(
      'conflict: more than one mesh has service/api: name one of default, other with --mesh',
    );
    expect(await ask({ object: 'service/api', parent: 'other' })).toMatchObject({
      parent: { kind: 'mesh', name: 'other' },
      entity: { mesh: 'other' },
    });
    expect(await ask({ object: 'service/postgres', parent: 'other' })).toBe(
      'notFound: there is no service/postgres in mesh "other"; there is one in mesh default',
    );
    expect(await ask({ object: 'svc/postgrs' })).toBe(
      'notFound: there is no service/postgrs; did you mean service/postgres?',
    );
    expect(await ask({ object: 'Placement/x', parent: 'other' })).toBe(
      'invalid: a mesh has no Placement/x: leave the mesh out',
    );
  });

  it('in a bounded number of lines, those that are not online first', async () => {
    const files = Object.fromEntries(
      Array.from({ length: 60 }, (_, at) => {
        const name = `big-${String(at).padStart(2, '0')}`;
        const state = at === 50 ? { state: 'NotReady' } : {};
        const networking = { address: `10.1.0.${at}`, inbound: [inbound('big', 80, state), inbound('big', 81)] };
        return [`${name}.yaml`, dataplaneYaml({ mesh: 'default', name, networking })];
      }),
    );
    world.source.push(files);
    await world.settle();
    for (let at = 0; at < 60; at += 1) if (at !== 55) envoys.hds(`default.big-${String(at).padStart(2, '0')}`);
    await arrive();
    const told = (await lines({ object: 'service/big' })).filter((line) => line.startsWith('data plane'));
    expect(told).toHaveLength(21);
    expect(told.slice(0, 3)).toEqual([
      'data plane | big-55 | big-55.yaml:1:1@r2 | Offline',
      'data plane | big-50 | big-50.yaml:1:1@r2 | Partially degraded',
      'data plane | big-00 | big-00.yaml:1:1@r2 | Online',
    ]);
    expect(told.at(-1)).toBe('data planes | and 40 more: 40 online, 0 not');
  });
});
