import { describe, expect, it, test } from 'vitest';
import type { ObjectResult } from '../../../../../src/model/agent/agent.ts';
import type { JsonObject } from '../../../../../src/model/text/json.ts';
import { CONTROL_PLANE, careWorld } from '../../../../support/care-world.ts';

const TYPE = 'SystemComponentsHealthy';
const labels = { 'care.gardener.cloud/condition-type': TYPE };
const pod = (phase: string, metadata: JsonObject = { labels }): JsonObject => ({
  ...{ apiVersion: 'v1', kind: 'Pod', metadata },
  status: { phase, message: 'out of memory' },
});

function world(spec = '{}') {
  const made = careWorld(spec);
  made.live('seed', `apps/Deployment/${CONTROL_PLANE}/kube-apiserver`, { spec: { replicas: 1 } });
  made.wrote();
  return made;
}

describe('a live object with the label', () => {
  test('feeds the condition while it is not well', () => {
    const made = world();
    made.live('blue', '/Pod/web/shop', pod('Failed'));
    expect(made.condition(TYPE)).toEqual({
      ...{ type: TYPE, status: 'False', reason: 'ObjectUnhealthy' },
      message: 'Pod/web/shop is unhealthy: out of memory',
    });
    expect(made.condition('ControlPlaneHealthy')?.status).toBe('True');
    made.live('blue', '/Pod/web/shop', pod('Succeeded'));
    expect(made.condition(TYPE)?.status).toBe('True');
  });

  test('does not feed it while it only waits for an address that nothing may make', () => {
    const made = world();
    const service = {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { labels, creationTimestamp: '2026-01-01T00:00:00Z' },
    };
    made.live('blue', '/Service/web/shop', { ...service, spec: { type: 'LoadBalancer' } });
    expect(made.condition(TYPE)?.status).toBe('True');
  });

  it.each([
    ['another type', pod('Failed', { labels: { 'care.gardener.cloud/condition-type': 'Other' } })],
    ['no label', pod('Failed', { labels: { other: TYPE } })],
    ['only a mention of the label', pod('Failed', { annotations: labels })],
  ])('with %s does not count', (_what, value) => {
    const made = world();
    made.live('blue', '/Pod/web/shop', value);
    expect(made.condition(TYPE)?.status).toBe('True');
  });

  test('does not feed it while the agent that has applied it finds it well, as by a health check of the policy', () => {
    const made = world();
    made.live('blue', '/Pod/web/shop', pod('Failed'));
    const said = { key: '/Pod/web/shop', digest: 'd', state: 'applied', reason: 'Applied', message: '' };
    const report = (state: string) => {
      made.engine.inputs.results.set('blue', '/Pod/web/shop', { ...said, health: { state, message: '' } } as never);
      made.engine.commit();
      return made.condition(TYPE)?.status;
    };
    expect(report('current')).toBe('True');
    expect(report('failed')).toBe('False');
    made.live('blue', '/Pod/web/stranger', pod('Failed'));
    expect(report('suspended')).toBe('False');
  });

  test('counts in the Seed only in the namespace of the control plane', () => {
    const made = world('{seedName: seed}');
    made.live('seed', '/Pod/shoot--web--green/shop', pod('Failed'));
    expect(made.condition(TYPE)?.status).toBe('True');
    made.live('seed', `/Pod/${CONTROL_PLANE}/shop`, pod('Failed'));
    expect(made.condition(TYPE)?.message).toContain(`Pod/${CONTROL_PLANE}/shop is unhealthy`);
  });

  test('is not judged by this rule if Gardener has one for its kind', () => {
    const made = world();
    made.live('blue', `resources.gardener.cloud/ManagedResource/web/a`, {
      ...{ metadata: { labels, generation: 2 }, status: { observedGeneration: 1 } },
    });
    expect(made.condition(TYPE)?.status).toBe('True');
  });

  test('is found by its bytes or its text, whichever is known', () => {
    const made = world();
    const value = pod('Failed');
    const text = JSON.stringify(value);
    const stage = (known: object) => {
      const object = { key: '/Pod/web/shop', digest: JSON.stringify(Object.keys(known)), value, ...known };
      made.engine.inputs.live.set('blue', '/Pod/web/shop', object as never);
      made.engine.commit();
      return made.condition(TYPE)?.status;
    };
    expect(stage({ text })).toBe('False');
    expect(stage({ text: '{}', hidden: 1 })).toBe('True');
    expect(stage({ content: new TextEncoder().encode(text) })).toBe('False');
    expect(stage({ content: new TextEncoder().encode('{}'), hidden: 1 })).toBe('True');
  });
});

describe('a declared object with the label', () => {
  const KEY = '/ConfigMap/web/settings';
  const start = (label = TYPE) => {
    const made = world();
    made.file(
      'clusters/blue/settings.yaml',
      `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: web, labels: {care.gardener.cloud/condition-type: ${label}}}\n`,
    );
    made.engine.commit();
    const output = made.engine.outputs.get('blue', KEY);
    const digest = output?.type === 'object' ? output.digest : expect.fail();
    const result = (state: ObjectResult['state'], more: Partial<ObjectResult> = {}) => {
      const said = { key: KEY, digest, state, reason: 'Forbidden', message: 'quota is exceeded' };
      made.engine.inputs.results.set('blue', KEY, { ...said, ...more } as ObjectResult);
      made.engine.commit();
      return made.condition(TYPE);
    };
    return { made, result };
  };

  test('feeds the condition while it fails to apply', () => {
    const { made, result } = start();
    expect(made.condition(TYPE)?.status).toBe('True');
    const message = 'ConfigMap/web/settings fails to apply: quota is exceeded';
    expect(result('failed')).toMatchObject({ status: 'False', reason: 'ObjectUnhealthy', message });
    expect(result('conflict')).toMatchObject({ message });
    expect(result('applied')?.status).toBe('True');
  });

  test('feeds it while its agent finds that it does not work', () => {
    const { result } = start();
    const health = { state: 'failed', message: 'no endpoint' } as const;
    expect(result('applied', { health })?.message).toBe('ConfigMap/web/settings is unhealthy: no endpoint');
    for (const state of ['unknown', 'suspended', 'current'] as const) {
      expect(result('applied', { health: { state, message: '' } })?.status).toBe('True');
    }
  });

  test('a result of other content, and another label, do not count', () => {
    expect(start().result('failed', { digest: 'other' as never })?.status).toBe('True');
    expect(start('Other').result('failed')?.status).toBe('True');
  });

  test('what an agent says is cut if it is long', () => {
    const { message = '' } = start().result('failed', { message: 'x'.repeat(1_000_000) }) ?? {};
    expect(message.length).toBeLessThan(2_300);
    expect(message).toMatch(/cut, \d+ characters$/);
  });

  test('does not count when it is gone', () => {
    const { made, result } = start();
    result('failed');
    made.file('clusters/blue/settings.yaml', null);
    made.engine.commit();
    expect(made.condition(TYPE)?.status).toBe('True');
  });
});

test('a change costs as much beside very many labelled objects', () => {
  const made = world();
  const flip = (phase: string) => {
    made.engine.inputs.live.set('blue', '/Pod/web/z', { key: '/Pod/web/z', value: pod(phase), digest: phase } as never);
    return made.engine.commit().computed;
  };
  flip('Succeeded');
  const alone = flip('Failed');
  flip('Succeeded');
  for (let n = 0; n < 100; n += 1) made.live('blue', `/Pod/web/a${n}`, pod('Succeeded'));
  expect(flip('Failed')).toBe(alone);
});
