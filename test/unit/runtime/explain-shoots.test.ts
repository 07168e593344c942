import { beforeEach, describe, expect, it } from 'vitest';
import type { ExplainRequest, Explanation } from '../../../src/api/server-api.ts';
import type { JsonObject } from '../../../src/model/text/json.ts';
import { createFleetWorld, type FleetWorld } from '../../support/fleet-world.ts';
import { clusterYaml } from '../../support/manifests.ts';

/** Explanations of Shoots. */

let world: FleetWorld;

const shoot = (name: string, namespace = 'garden-web'): JsonObject => ({
  apiVersion: 'core.gardener.cloud/v1beta1',
  kind: 'Shoot',
  metadata: { name, namespace },
  spec: { region: 'eu-west-1' },
});

const complete = (kind: string) => ({ kind, state: 'complete', message: '' }) as const;

function probe(status: JsonObject): void {
  const metadata = { name: 'healthz' };
  world.agent('blue').discovers({
    upserts: [{ apiVersion: 'internal.fleetrelay.dev/v1', kind: 'ApiServerProbe', metadata, status }],
    kinds: [
      { ...complete('internal.fleetrelay.dev/ApiServerProbe'), scope: 'Cluster' },
      complete('core.gardener.cloud/Shoot'),
    ],
  });
}

async function settle(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await world.settle();
}

async function ask(question: ExplainRequest): Promise<Explanation | string> {
  const answer = await world.server.api.explain(question);
  return answer.ok ? answer.value : `${answer.kind}: ${answer.message}`;
}

async function lines(question: ExplainRequest): Promise<readonly string[]> {
  const answer = await ask(question);
  if (typeof answer === 'string') return [answer];
  return answer.because.map(
    ({ kind, name, at, note, depth = 0 }) =>
      '  '.repeat(depth) + [kind, name, at, note].filter((text) => text !== '').join(' | '),
  );
}

const BLUE = 'shoot/garden-web/blue';

beforeEach(async () => {
  world = await createFleetWorld();
  world.source.push({ 'blue.yaml': clusterYaml('blue'), 'shoot.yaml': JSON.stringify(shoot('blue')) });
  world.agent('blue').connect();
  probe({ code: 200 });
  await settle();
});

it('what a Gardener has written of a declared Shoot does not follow from what is judged here', async () => {
  const condition = {
    ...{ type: 'APIServerAvailable', status: 'Progressing', reason: 'HealthzRequestFailed', message: 'slow' },
    ...{ lastTransitionTime: '2026-01-01T00:00:00Z', lastUpdateTime: '2026-01-01T00:00:00Z' },
  };
  const status = { gardener: { name: 'gardener-controller-manager' }, conditions: [condition] } as never;
  world.source.push({ 'blue.yaml': clusterYaml('blue'), 'shoot.yaml': JSON.stringify({ ...shoot('blue'), status }) });
  probe({ error: 'connection refused' });
  await settle();
  expect(await lines({ object: BLUE, part: 'APIServerAvailable' } as never)).toEqual([
    'condition | APIServerAvailable | Progressing since 2026-01-01T00:00:00Z',
  ]);
});

describe('a Shoot of ours is explained', () => {
  it('by the object that is the cause, since when, and when the condition turns False', async () => {
    expect(await ask({ object: BLUE })).toMatchObject({
      object: BLUE,
      message: 'Create Succeeded (100%): Shoot cluster has been successfully reconciled.',
      entity: { namespace: 'garden-web', name: 'blue' },
    });
    await world.clock.advance(3_600_000);
    await settle();
    probe({ code: 503, body: 'shutting down' });
    await settle();
    const explanation = await ask({ object: BLUE, part: 'APIServerAvailable' });
    if (typeof explanation === 'string') return expect.fail(explanation);
    const { since = '', turnsFalseAt = '', ...condition } = explanation.condition ?? expect.fail();
    expect(condition).toMatchObject({
      ...{ type: 'APIServerAvailable', status: 'Progressing', reason: 'HealthzRequestError' },
      cause: { cluster: 'blue', object: 'ApiServerProbe.internal.fleetrelay.dev/healthz' },
    });
    // A moment that is exactly one threshold later still counts.
    expect(Date.parse(turnsFalseAt) - Date.parse(since)).toBe(61_000);
    expect(await lines({ object: BLUE, part: 'APIServerAvailable' })).toEqual([
      `condition | APIServerAvailable | Progressing since ${since}; turns False at ${turnsFalseAt} unless it recovers before`,
      '  live object | ApiServerProbe.internal.fleetrelay.dev/healthz | cluster blue | is the cause',
    ]);
    await world.clock.advance(61_000);
    await settle();
    expect(await lines({ object: BLUE, part: 'APIServerAvailable' })).toEqual([
      expect.stringMatching(/^condition \| APIServerAvailable \| False since \S+$/),
      '  live object | ApiServerProbe.internal.fleetrelay.dev/healthz | cluster blue | is the cause',
    ]);
    expect((await lines({ object: BLUE })).slice(0, 3)).toEqual([
      'manifest | Shoot.core.gardener.cloud/garden-web/blue | shoot.yaml:1:1@r1 | declares it',
      'cluster | blue | is the cluster of the Shoot',
      expect.stringMatching(/^condition \| APIServerAvailable \| False since \S+$/),
    ]);
  });

  it('by NAME alone; a field is found in its declaration', async () => {
    expect(await ask({ object: 'Shoots/blue' })).toMatchObject({ object: BLUE });
    expect(await ask({ object: BLUE, part: 'spec.region' })).toMatchObject({ field: { at: 'shoot.yaml:1:120@r1' } });
  });

  it('a condition that it does not have is no answer', async () => {
    expect(await ask({ object: BLUE, part: 'Healthy' })).toMatch(
      /^notFound: shoot\/garden-web\/blue has no condition Healthy now; it has APIServerAvailable/,
    );
    expect(await ask({ object: 'shoot/garden-web/blau' })).toBe(
      'notFound: there is no shoot/garden-web/blau; did you mean shoot/garden-web/blue?',
    );
  });

  it('of several with one name the namespace is asked for', async () => {
    world.source.push({ 'other.yaml': JSON.stringify(shoot('blue', 'garden-db')) });
    await settle();
    expect(await ask({ object: 'shoot/blue' })).toBe(
      'conflict: shoot/blue can be shoot/garden-db/blue, shoot/garden-web/blue: name its namespace',
    );
  });
});

it('a failure that the last operation excuses does not turn False by time', async () => {
  world.source.push({ 'red.yaml': clusterYaml('red'), 'red-shoot.yaml': JSON.stringify(shoot('red')) });
  const metadata = { name: 'healthz' };
  world.agent('red').connect();
  world.agent('red').discovers({
    upserts: [
      { apiVersion: 'internal.fleetrelay.dev/v1', kind: 'ApiServerProbe', metadata, status: { error: 'refused' } },
    ],
    kinds: [{ ...complete('internal.fleetrelay.dev/ApiServerProbe'), scope: 'Cluster' }],
  });
  await settle();
  const [line] = await lines({ object: 'shoot/garden-web/red', part: 'APIServerAvailable' });
  expect(line).toContain('the last operation excuses it (Create Processing); it turns False after that');
});

it('a Shoot of a Gardener is explained by its own status', async () => {
  const condition = { type: 'EveryNodeReady', status: 'False', reason: 'NodeUnhealthy', message: 'a is not ready' };
  const lastTransitionTime = '2025-12-01T00:00:00Z';
  const lastErrors = [{ taskID: 'worker', description: 'no quota', codes: ['ERR_INFRA_QUOTA_EXCEEDED'] }];
  const status = { conditions: [{ ...condition, lastTransitionTime, lastUpdateTime: lastTransitionTime }], lastErrors };
  world.agent('blue').discovers({ upserts: [{ ...shoot('theirs', 'garden-db'), status }] });
  await settle();
  expect(await ask({ object: 'shoot/theirs' })).toMatchObject({
    ...{ object: 'shoot/garden-db/theirs', cluster: 'blue', message: '<pending>' },
    conditions: [{ ...condition, since: lastTransitionTime }],
  });
  expect(await lines({ object: 'shoot/theirs' })).toEqual([
    'live object | Shoot.core.gardener.cloud/garden-db/theirs | cluster blue | is the Shoot; no source declares it: fleetrelay writes nothing to it',
    'error | worker | no quota (ERR_INFRA_QUOTA_EXCEEDED)',
    `condition | EveryNodeReady | False since ${lastTransitionTime}`,
  ]);
  expect(await ask({ object: 'shoot/theirs', part: 'spec.region' })).toMatch(/^notFound: .* is not declared/);
});

it('a Shoot is asked for without what contains it, for nothing does', async () => {
  expect(await ask({ object: BLUE, parent: 'default' })).toBe(
    'invalid: a mesh has no shoot/garden-web/blue: leave the mesh out',
  );
});
