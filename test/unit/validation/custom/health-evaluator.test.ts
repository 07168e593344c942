import { expect, test } from 'vitest';
import type { HealthCheck } from '../../../../src/model/objects/health-check.ts';
import type { JsonObject } from '../../../../src/model/text/json.ts';
import { createHealthEvaluator } from '../../../../src/validation/custom/cel/health-evaluator.ts';
import { conditions, liveObject } from '../../../support/judged-objects.ts';

const check: HealthCheck = {
  apiVersion: 'example.com/v1',
  kind: 'Database',
  inProgress: "has(status.phase) && status.phase == 'Moving'",
  failed:
    "status.?phase.orValue('') == 'Broken' || status.conditions.exists(c, c.type == 'Ready' && c.reason == 'Gone')",
  current: "status.conditions.exists(c, c.type == 'Ready' && c.status == 'True') && metadata.generation == 2",
};
const database = (status?: JsonObject) =>
  liveObject('example.com/v1', 'Database', status === undefined ? {} : { status });
const judged = (object: JsonObject, given: HealthCheck = check) =>
  createHealthEvaluator([given]).judge('example.com/Database', object)?.health;

test.each([
  ['the first that is true counts', { phase: 'Moving', ...conditions('Ready=True') }, 'inProgress'],
  ['failed counts before current', { phase: 'Broken', ...conditions('Ready=True') }, 'failed'],
  ['current', conditions('Ready=True'), 'current'],
  ['none is true', conditions('Ready=False'), 'inProgress'],
  ['its status is of an earlier generation', { observedGeneration: 1, ...conditions('Ready=True') }, 'inProgress'],
])('%s', (_what, status, state) => {
  expect(judged(database(status))?.state).toBe(state);
});

test('what the object lacks is still to come', () => {
  expect(judged(database())).toMatchObject({
    state: 'inProgress',
    message: expect.stringContaining('cannot be evaluated yet'),
  });
  expect(judged(database({ phase: 'Ready' }))).toMatchObject({ state: 'inProgress' });
});

test('the message comes from the condition Ready', () => {
  const [ready] = (conditions('Ready=False:Gone').conditions ?? []) as readonly JsonObject[];
  const status = { conditions: [{ ...ready, message: 'the disk is gone' }] };
  expect(judged(database(status))).toEqual({ state: 'failed', message: 'the disk is gone' });
});

test('fields of any name are variables, and numbers without a fraction are integers', () => {
  const given = { ...check, inProgress: 'replicas < 3', failed: 'false', current: 'ready == replicas * 1' };
  const object = { ...database(), replicas: 4, ready: 4 };
  expect(judged(object, given)).toEqual({ state: 'current', message: '' });
});

test.each([
  ['it cannot be parsed', 'status.phase =='],
  ['its function is not known', 'status.phase.shout()'],
  ['its value is neither true nor false', "'yes'"],
  [
    'it takes too many steps',
    '[0,1,2,3,4,5,6,7,8,9].all(a, [0,1,2,3,4,5,6,7,8,9].all(b, [0,1,2,3,4,5,6,7,8,9].all(c, [0,1,2,3,4,5,6,7,8,9].all(d, [0,1,2,3,4,5,6,7,8,9].all(e, [0,1,2,3,4,5,6,7,8,9].all(f, a + b + c + d + e + f >= 0))))))',
  ],
])('an expression that no evaluator can judge makes the health unknown: %s', (_what, current) => {
  const given = { apiVersion: 'example.com/v1', kind: 'Database', current };
  expect(judged(database({ phase: 'x' }), given)).toMatchObject({
    state: 'unknown',
    message: expect.stringContaining('healthChecks.current cannot be evaluated: '),
  });
});

test('values of Secrets are not seen', () => {
  const given = { apiVersion: 'v1', kind: 'Secret', current: "data.password == 'eA=='" };
  const secret = { ...liveObject('v1', 'Secret'), data: { password: 'eA==' } };
  expect(createHealthEvaluator([given]).judge('/Secret', secret)?.health).toMatchObject({ state: 'inProgress' });
});

test('an object is read once for all expressions of its kind', () => {
  const list = Array.from({ length: 10_000 }, (_, index) => index);
  const steps = (given: Partial<HealthCheck>) => {
    const { health, steps: counted } =
      createHealthEvaluator([{ ...check, ...given }]).judge('example.com/Database', database({ list })) ??
      expect.fail();
    expect(health.state).toBe('inProgress');
    return counted;
  };
  const one = steps({ inProgress: 'size(status.list) > 0' });
  const three = steps({
    inProgress: 'size(status.list) < 0',
    failed: 'size(status.list) < 0',
    current: 'size(status.list) < 0',
  });
  expect(one).toBeGreaterThan(10_000);
  expect(three - one).toBeLessThan(1_000);
});

test('other kinds are not judged', () => {
  expect(createHealthEvaluator([check]).judge('example.com/Table', database())).toBeUndefined();
});
