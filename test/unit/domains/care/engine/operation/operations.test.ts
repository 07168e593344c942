import { describe, expect, it, test } from 'vitest';
import type { ObjectKey } from '../../../../../../src/model/objects/object-key.ts';
import type { JsonObject } from '../../../../../../src/model/text/json.ts';
import { whyNotTried } from '../../../../../../src/runtime/attempts.ts';
import { createShootWorld, SHOOT_KEY, type ShootWorld, shootYaml } from '../../../../../support/shoot-world.ts';

/** A Shoot that was created with one object. */
function created(spec?: string): ShootWorld {
  const world = createShootWorld(spec);
  world.declare('one');
  world.settle();
  world.report('one');
  expect(world.operation()).toBe('Create/Succeeded 100');
  world.history.length = 0;
  return world;
}

const policyYaml = (care: string) =>
  `apiVersion: fleetrelay.dev/v1alpha1\nkind: FleetPolicy\nmetadata: {name: fleet}\nspec: {care: ${care}}\n`;

const failed = (reason: string, message = '') => ({ state: 'failed', reason, message }) as const;

describe('an operation', () => {
  test('follows the outputs of the Shoot, and writes nothing while nothing happens', () => {
    const world = createShootWorld();
    for (const name of ['one', 'two']) world.declare(name);
    world.settle();
    expect(world.status().lastOperation).toMatchObject({
      ...{ type: 'Create', state: 'Processing', progress: 0, lastUpdateTime: '2026-01-01T00:00:00Z' },
      description: 'Apply ConfigMap/web/one, Apply ConfigMap/web/two',
    });
    expect(world.status().retryCycleStartTime).toBe('2026-01-01T00:00:00Z');
    world.wait(30);
    world.report('two');
    expect(world.status().lastOperation).toMatchObject({ progress: 50, lastUpdateTime: '2026-01-01T00:00:30Z' });
    world.report('one');
    expect(world.status()).toMatchObject({ lastOperation: { state: 'Succeeded' } });
    expect(Object.keys(world.status())).not.toContain('retryCycleStartTime');
    const { length } = world.history;
    world.wait(100_000);
    expect(world.history).toHaveLength(length);
  });

  test('counts the control plane in its Seed, and nothing else there', () => {
    const world = createShootWorld('{seedName: seed}');
    world.register('seed');
    world.declare('etcd', 'seed', 'shoot--web--blue');
    world.declare('other', 'seed', 'elsewhere');
    world.settle();
    expect(world.status().lastOperation).toMatchObject({ description: 'Apply ConfigMap/shoot--web--blue/etcd' });
    expect(world.status().seedName).toBe('seed');
  });
});

describe('a task that fails', () => {
  test('is an error when it has failed for the task timeout, also while others move', () => {
    const world = created();
    for (const name of ['bad', 'good']) world.declare(name);
    world.settle();
    world.wait(10);
    world.report('bad', failed('ServerError', 'etcd is full'));
    for (let round = 0; round < 11; round += 1) {
      world.wait(10);
      world.declare(`more${round}`);
      world.settle();
      world.report(`more${round}`);
      expect(world.errors()).toEqual([]);
    }
    world.wait(10);
    expect(world.errors()).toEqual([['Apply ConfigMap/web/bad', null]]);
    expect(world.operation()).toContain('Reconcile/Processing');
    world.report('good');
    expect(world.operation()).toContain('Reconcile/Error');
    expect(world.status().lastOperation).toMatchObject({
      description:
        'Flow "Shoot cluster reconciliation" encountered task errors: [task "Apply ConfigMap/web/bad" failed: ServerError: etcd is full] Operation will be retried.',
    });
    world.report('bad');
    expect(world.status()).toMatchObject({ lastOperation: { state: 'Succeeded' } });
    expect(world.errors()).toEqual([]);
  });

  it('ends Failed after the retry duration, counted from the begin of the operation', () => {
    const world = created();
    world.declare('bad');
    world.settle();
    world.report('bad', failed('ServerError'));
    world.wait(12 * 3600 - 1);
    expect(world.operation()).toBe('Reconcile/Error 50');
    world.wait(1);
    expect(world.operation()).toBe('Reconcile/Failed 50');
    expect(world.history).toEqual([
      ...['Reconcile/Processing 0', 'Reconcile/Processing 50'],
      ...['Reconcile/Error 50', 'Reconcile/Failed 50'],
    ]);
  });

  it('is tried again after a rate limit, by itself', () => {
    const world = created();
    world.declare('bad');
    world.settle();
    world.report('bad', failed('Throttled'));
    world.wait(120);
    expect(world.operation()).toBe('Reconcile/Failed 50');
    world.wait(600);
    expect(world.operation()).toBe('Reconcile/Failed 50');
    world.wait(1);
    expect(world.operation()).toBe('Reconcile/Processing 50');
    expect(world.errors()).toEqual([['Apply ConfigMap/web/bad', ['ERR_INFRA_RATE_LIMITS_EXCEEDED']]]);
    world.wait(119);
    expect(world.operation()).toBe('Reconcile/Processing 50');
    world.wait(1);
    expect(world.operation()).toBe('Reconcile/Failed 50');
  });

  it('that begins to fail anew after other content begins another operation', () => {
    const world = created();
    world.declare('bad');
    world.settle();
    world.report('bad', failed('Invalid'));
    world.wait(300);
    expect(world.operation()).toBe('Reconcile/Failed 50');
    world.declare('bad', 'blue', 'web', 'other');
    // The agent has its answer before the status is written.
    world.engine.commit();
    world.report('bad', failed('Invalid'));
    expect(world.operation()).toBe('Reconcile/Processing 50');
  });

  it('with other content begins another operation before the agent answers', () => {
    const world = created();
    world.declare('bad');
    world.settle();
    world.report('bad', failed('Invalid'));
    world.wait(300);
    world.declare('bad', 'blue', 'web', 'other');
    world.settle();
    expect(world.operation()).toBe('Reconcile/Processing 50');
  });
});

describe('a task that is stuck', () => {
  it('is an error when nothing has moved for the task timeout', () => {
    const world = created();
    world.declare('lost');
    world.settle();
    world.wait(119);
    expect(world.operation()).toBe('Reconcile/Processing 50');
    world.wait(1);
    expect(world.operation()).toBe('Reconcile/Error 50');
    expect(world.status().lastErrors).toEqual([
      {
        ...{ taskID: 'Apply ConfigMap/web/lost', lastUpdateTime: '2026-01-01T00:02:00Z' },
        description: 'task "Apply ConfigMap/web/lost" failed: it was not applied within 2m0s',
      },
    ]);
  });

  it('is not an error early because the policy has another timeout', () => {
    const world = created();
    world.file('policy.yaml', policyYaml('{taskTimeout: 10m}'));
    world.declare('lost');
    world.settle();
    world.wait(599);
    expect(world.operation()).toBe('Reconcile/Processing 50');
    world.wait(1);
    expect(world.operation()).toBe('Reconcile/Error 50');
  });

  it('out of reach says that its agent is away', () => {
    const world = created();
    world.connect('blue', false);
    world.declare('away');
    world.settle();
    world.wait(120);
    expect(world.status().lastErrors).toMatchObject([
      { description: 'task "Apply ConfigMap/web/away" failed: AgentDisconnected: the agent is not connected' },
    ]);
    world.connect('blue');
    world.settle();
    world.report('away');
    expect(world.operation()).toBe('Reconcile/Succeeded 100');
  });
});

describe('the code of a task', () => {
  it.each([
    ['Unauthorized', 'ERR_INFRA_UNAUTHENTICATED'],
    ['Forbidden', 'ERR_INFRA_UNAUTHORIZED'],
    ['QuotaExceeded', 'ERR_INFRA_QUOTA_EXCEEDED'],
    ['Throttled', 'ERR_INFRA_RATE_LIMITS_EXCEEDED'],
    ['Invalid', 'ERR_CONFIGURATION_PROBLEM'],
    ['Rejected', 'ERR_CONFIGURATION_PROBLEM'],
    ['DeniedByWebhook', 'ERR_RETRYABLE_CONFIGURATION_PROBLEM'],
    ['DeniedByPolicy', 'ERR_RETRYABLE_CONFIGURATION_PROBLEM'],
    ['Conflict', 'ERR_RETRYABLE_CONFIGURATION_PROBLEM'],
    ['ServerError', null],
    ['toString', null],
  ])('%s: %s', (reason, code) => {
    const world = created();
    world.declare('bad');
    world.settle();
    // The words of the API server would imply another code.
    world.report('bad', failed(reason, 'Too many requests, DependencyViolation'));
    world.wait(120);
    expect(world.errors()).toEqual([['Apply ConfigMap/web/bad', code && [code]]]);
  });

  const hook = (name: string, timeoutSeconds: number) => ({
    ...{ name, failurePolicy: 'Fail', timeoutSeconds },
    rules: [{ operations: ['*'], apiGroups: ['*'], apiVersions: ['*'], resources: ['*'] }],
  });
  it.each([
    ['good.example.com', null],
    ['bad.example.com', ['ERR_PROBLEMATIC_WEBHOOK']],
    ['other.example.com', null],
  ])('of a webhook that does not answer (%s) says whether it is problematic', (name, codes) => {
    const world = created();
    const key = 'admissionregistration.k8s.io/ValidatingWebhookConfiguration//policy';
    const harmless = { ...hook('good.example.com', 5), namespaceSelector: { matchLabels: { team: 'a' } }, rules: [] };
    const value = {
      metadata: { name: 'policy' },
      webhooks: [harmless, hook('first.example.com', 9), hook('bad.example.com', 9)],
    };
    world.engine.inputs.live.set('blue', key, { key, value, digest: 'hooks' } as never);
    world.declare('bad');
    world.settle();
    const message = `Internal error occurred: failed calling webhook "${name}": failed to call webhook: Post "https://hook": EOF`;
    world.report('bad', failed('WebhookUnavailable', message));
    world.wait(120);
    expect(world.errors()).toEqual([['Apply ConfigMap/web/bad', codes]]);
  });

  it('of finalizers comes after five minutes', () => {
    const world = created();
    world.file('clusters/blue/web-one.yaml', null);
    world.engine.commit();
    const entry = world.engine.inputs.ledger.get('blue', '/ConfigMap/web/one') ?? expect.fail();
    world.engine.inputs.ledger.set('blue', '/ConfigMap/web/one', { ...entry, phase: 'removing' });
    const key = '/ConfigMap/web/one' as never;
    const message = 'held by finalizers: example.com/hook';
    const result = {
      key,
      digest: entry.digest,
      state: 'removing',
      reason: 'Waiting',
      message,
      since: world.now(),
    } as const;
    world.engine.inputs.results.set('blue', key, result);
    world.settle();
    world.wait(120);
    expect(world.errors()).toEqual([['Remove ConfigMap/web/one', null]]);
    world.wait(179);
    expect(world.errors()).toEqual([['Remove ConfigMap/web/one', null]]);
    world.wait(1);
    expect(world.errors()).toEqual([['Remove ConfigMap/web/one', ['ERR_CLEANUP_CLUSTER_RESOURCES']]]);
    // It does not stop the retries.
    expect(world.operation()).toBe('Reconcile/Error 0');
  });
});

describe('extension objects', () => {
  const extension = (world: ShootWorld, name: string, lastError: JsonObject | undefined) => {
    const key = `extensions.gardener.cloud/${name}`;
    const value = { status: lastError === undefined ? {} : { lastError } };
    world.engine.inputs.live.set('seed', key, { key, value, digest: JSON.stringify(value) } as never);
    world.settle();
  };
  it('have an entry at once, with their own codes or codes that their words mean', () => {
    const world = createShootWorld('{seedName: seed}');
    world.register('seed');
    world.settle();
    extension(world, 'Worker/shoot--web--blue/pool', { description: 'Throttling', codes: ['ERR_INFRA_DEPENDENCIES'] });
    extension(world, 'Infrastructure/shoot--web--blue/net', { description: 'cannot get hosted zones: Throttling' });
    extension(world, 'BackupEntry//shoot--web--blue--1234', { description: 'lost' });
    extension(world, 'Network/shoot--web--other/net', { description: 'lost' });
    expect(world.errors()).toEqual([
      ['BackupEntry/shoot--web--blue--1234', null],
      ['Infrastructure/shoot--web--blue/net', ['ERR_INFRA_RATE_LIMITS_EXCEEDED']],
      ['Worker/shoot--web--blue/pool', ['ERR_INFRA_DEPENDENCIES']],
    ]);
    extension(world, 'Worker/shoot--web--blue/pool', undefined);
    expect(world.errors()).toHaveLength(2);
  });
});

describe('another Seed', () => {
  it('is a migration and then a restoration', () => {
    const world = createShootWorld('{seedName: old}');
    for (const cluster of ['old', 'new']) world.register(cluster);
    world.settle();
    world.history.length = 0;
    world.file('shoot.yaml', shootYaml('{seedName: new}'));
    world.engine.commit();
    expect(world.engine.statuses.get('Shoot', SHOOT_KEY)?.fields.seedName).toBe('old');
    world.settle();
    expect(world.history).toEqual([
      ...['Migrate/Processing 0', 'Migrate/Succeeded 100'],
      ...['Restore/Processing 0', 'Restore/Succeeded 100'],
    ]);
    expect(world.status().seedName).toBe('new');
  });
});

it('a migration does not end while the old Seed is still to hold objects', () => {
  const world = createShootWorld('{seedName: old}');
  for (const cluster of ['old', 'new']) world.register(cluster);
  world.declare('etcd', 'old', 'shoot--web--blue');
  world.settle();
  world.report('etcd', {}, 'old', 'shoot--web--blue');
  world.file('shoot.yaml', shootYaml('{seedName: new}'));
  world.settle();
  expect(world.operation()).toBe('Migrate/Pending 99');
  world.file('clusters/old/shoot--web--blue-etcd.yaml', null);
  world.engine.commit();
  world.engine.inputs.ledger.delete('old', '/ConfigMap/shoot--web--blue/etcd');
  world.settle();
  expect(world.operation()).toBe('Restore/Succeeded 100');
});

describe('a request', () => {
  const RECONCILED = ['Reconcile/Processing 0', 'Reconcile/Succeeded 100'];
  const annotate = (world: ShootWorld, annotations: string) => {
    world.file('shoot.yaml', shootYaml('{}', annotations));
    world.settle();
    return world.history.splice(0);
  };

  it('by a command begins one reconciliation', () => {
    const world = created();
    world.ask('reconcile');
    expect(world.history).toEqual(RECONCILED);
  });

  it('by a retry ends a Failed operation, and tasks have their time again', () => {
    const world = created();
    // It is for Failed operations.
    world.ask('retry');
    world.declare('bad');
    world.settle();
    world.report('bad', failed('Forbidden'));
    world.wait(120);
    expect(world.operation()).toBe('Reconcile/Failed 50');
    world.ask('reconcile');
    expect(world.operation()).toBe('Reconcile/Failed 50');
    world.ask('retry');
    expect(world.history.slice(-2)).toEqual(['Reconcile/Processing 0', 'Reconcile/Processing 50']);
    expect(world.errors()).toEqual([['Apply ConfigMap/web/bad', ['ERR_INFRA_UNAUTHORIZED']]]);
    world.wait(119);
    expect(world.operation()).toBe('Reconcile/Processing 50');
    world.wait(1);
    expect(world.operation()).toBe('Reconcile/Failed 50');
  });

  it('by an annotation counts once each time that it appears, and is taken off then', () => {
    const world = created();
    expect(annotate(world, '{gardener.cloud/operation: reconcile}')).toEqual(RECONCILED);
    expect(world.engine.statuses.get('Shoot', SHOOT_KEY)?.removeAnnotations).toEqual({
      'gardener.cloud/operation': 'reconcile',
    });
    expect(annotate(world, '{gardener.cloud/operation: reconcile, other: "1"}')).toEqual([]);
    expect(annotate(world, '{}')).toEqual([]);
    expect(annotate(world, '{gardener.cloud/operation: reconcile}')).toEqual(RECONCILED);
    // It is for Failed operations.
    expect(annotate(world, '{gardener.cloud/operation: retry}')).toEqual([]);
    expect(annotate(world, '{gardener.cloud/operation: other}')).toEqual([]);
  });

  it('by a changed spec begins one reconciliation', () => {
    const world = created();
    world.file('shoot.yaml', shootYaml('{purpose: production}'));
    world.settle();
    expect(world.history).toEqual(RECONCILED);
  });
});

describe('a Failed operation of a policy that stops then', () => {
  const stopped = (world: ShootWorld, name = 'bad') => {
    const output = world.engine.outputs.get('blue', `/ConfigMap/web/${name}`);
    return output?.type === 'object' ? output.stopped : undefined;
  };
  function failedWorld(policy: string, takesStopped: boolean): ShootWorld {
    const world = created();
    if (takesStopped) {
      const agent = world.engine.inputs.agents.get('', 'blue') ?? expect.fail();
      world.engine.inputs.agents.set('', 'blue', { ...agent, takesStopped });
    }
    world.file('policy.yaml', policyYaml(policy));
    world.declare('bad');
    world.settle();
    world.report('bad', failed('Forbidden'));
    expect(stopped(world)).toBeUndefined();
    world.wait(120);
    expect(world.operation()).toBe('Reconcile/Failed 50');
    return world;
  }

  it('stops the objects that failed, and no others, until it is tried again', () => {
    const world = failedWorld('{stopFailed: true}', true);
    expect([stopped(world), stopped(world, 'one')]).toEqual([true, undefined]);
    const whyNot = (name: string) => whyNotTried(world.engine, 'blue', `/ConfigMap/web/${name}` as ObjectKey);
    expect(whyNot('bad')).toBe('an operation of its Shoot has failed, which stops it: see fleetrelay shoot retry');
    expect(world.engine.pending.get('blue', '/ConfigMap/web/bad')).toMatchObject({ type: 'touch', stopped: true });
    world.ask('retry');
    expect(stopped(world)).toBeUndefined();
  });

  it('does not stop other content', () => {
    const world = failedWorld('{stopFailed: true}', true);
    world.declare('bad', 'blue', 'web', 'other');
    world.engine.commit();
    expect(stopped(world)).toBeUndefined();
    world.settle();
    expect(world.operation()).toBe('Reconcile/Processing 50');
  });

  it('stops nothing because an operation of a Gardener has failed', () => {
    const world = failedWorld('{stopFailed: true}', true);
    const { observed } = world.engine.inputs;
    const written = observed.get('Shoot', SHOOT_KEY) ?? expect.fail();
    const fields = { ...written.fields, gardener: { name: 'gardener-controller-manager' } };
    observed.set('Shoot', SHOOT_KEY, { ...written, fields });
    world.engine.commit();
    expect(stopped(world)).toBeUndefined();
  });

  it.each([
    ['without the setting', '{stopFailed: false}', true],
    ['at an agent that does not know it', '{stopFailed: true}', false],
  ])('stops nothing %s', (_, policy, takesStopped) => {
    expect(stopped(failedWorld(policy, takesStopped))).toBeUndefined();
  });
});

describe('another operation', () => {
  const attempt = (world: ShootWorld) => world.engine.pending.get('blue', '/ConfigMap/web/bad');
  function failedWorld(takesAttempts: boolean): ShootWorld {
    const world = created();
    if (takesAttempts) {
      const agent = world.engine.inputs.agents.get('', 'blue') ?? expect.fail();
      world.engine.inputs.agents.set('', 'blue', { ...agent, takesAttempts });
    }
    world.declare('bad');
    world.settle();
    world.report('bad', failed('Forbidden'));
    world.settle();
    return world;
  }

  it.each([true, false])('is another attempt of what failed before it, at an agent that knows it: %s', (knowsIt) => {
    const world = failedWorld(knowsIt);
    expect(attempt(world)).toBeUndefined();
    world.wait(120);
    world.wait(24 * 3_600);
    expect(world.operation()).toBe('Reconcile/Failed 50');
    expect(attempt(world)).toBeUndefined();
    world.ask('retry');
    const expected = { type: 'touch', attempt: expect.any(Number) };
    if (knowsIt) expect(attempt(world)).toMatchObject(expected);
    else expect(attempt(world)).toBeUndefined();
  });
});

describe('a Shoot that no source declares any more', () => {
  const removing = (world: ShootWorld, isGone: boolean) => {
    const key = '/ConfigMap/web/one' as never;
    const entry = world.engine.inputs.ledger.get('blue', key);
    if (entry !== undefined && !isGone) world.engine.inputs.ledger.set('blue', key, { ...entry, phase: 'removing' });
    else world.engine.inputs.ledger.delete('blue', key);
    world.settle();
  };

  it('is deleted, and its status ends when its objects are gone', () => {
    const world = created();
    world.file('clusters/blue/web-one.yaml', null);
    world.file('shoot.yaml', null);
    world.settle();
    removing(world, false);
    expect(world.status().lastOperation).toMatchObject({ type: 'Delete', description: 'Remove ConfigMap/web/one' });
    expect(world.engine.statuses.get('Shoot', SHOOT_KEY)).toMatchObject({
      ...{ path: 'shoots/garden-web/blue.yaml', labels: { 'shoot.gardener.cloud/status': 'healthy' } },
    });
    removing(world, true);
    expect(world.history.slice(-2)).toEqual(['Delete/Processing 0', 'Delete/Succeeded 100']);
    expect(world.engine.statuses.get('Shoot', SHOOT_KEY)).toBeUndefined();
  });

  it('with its cluster has nothing left to do', () => {
    const world = created();
    for (const path of ['clusters/blue/web-one.yaml', 'shoot.yaml', 'blue.yaml']) world.file(path, null);
    world.settle();
    expect(world.history).toEqual(['Delete/Processing 0', 'Delete/Succeeded 100']);
  });

  it('is not taken for gone before every source was read', () => {
    const world = created();
    world.engine.inputs.sources.set('', 'later', { order: 1, read: false });
    world.file('shoot.yaml', null);
    world.settle();
    expect(world.engine.statuses.get('Shoot', SHOOT_KEY)).toBeUndefined();
  });

  it('comes back as a new one', () => {
    const world = created();
    world.file('shoot.yaml', null);
    world.file('clusters/blue/web-one.yaml', null);
    world.settle();
    removing(world, false);
    world.file('shoot.yaml', shootYaml());
    world.settle();
    expect(world.operation()).toContain('Create/');
  });

  it('of a custom resource ends with it', () => {
    const world = created();
    const before = world.engine.inputs.observed.get('Shoot', SHOOT_KEY) ?? expect.fail();
    world.engine.inputs.observed.set('Shoot', SHOOT_KEY, { ...before, fields: { ...before.fields, uid: '1' } });
    world.file('shoot.yaml', null);
    world.settle();
    expect(world.engine.statuses.get('Shoot', SHOOT_KEY)).toBeUndefined();
  });
});

it('a suspended cluster makes an operation wait for a person', () => {
  const world = created();
  const { suspended } = world.engine.inputs;
  suspended.set('', 'blue', 'cluster blue is suspended by ada');
  world.declare('two');
  world.settle();
  expect(world.status().lastOperation).toMatchObject({
    state: 'Pending',
    description: 'cluster blue is suspended by ada',
  });
  suspended.delete('', 'blue');
  world.settle();
  expect(world.operation()).toBe('Reconcile/Processing 50');
});

it('an operation is aborted when its cluster is deregistered', () => {
  const world = created();
  world.declare('two');
  world.settle();
  world.file('blue.yaml', null);
  world.settle();
  expect(world.operation()).toBe('Reconcile/Aborted 50');
});

it('an operation is aborted when its cluster is replaced, and begins again in the other one', () => {
  const world = created();
  const agent = world.engine.inputs.agents.get('', 'blue') ?? expect.fail();
  const withId = (id: string) => world.engine.inputs.agents.set('', 'blue', { ...agent, id: id as never });
  withId('first');
  world.declare('two');
  world.settle();
  withId('second');
  world.settle();
  expect(world.history).toEqual([
    ...['Reconcile/Processing 0', 'Reconcile/Processing 50', 'Reconcile/Aborted 50'],
    ...['Reconcile/Processing 0', 'Reconcile/Processing 50'],
  ]);
});

it('a passed moment leaves nothing behind when the operation has ended', () => {
  const world = created();
  world.declare('bad');
  world.settle();
  world.report('bad', failed('ServerError'));
  world.wait(200);
  world.report('bad');
  expect([...world.engine.deadlines.entries('care')]).toEqual([]);
});

it('an applied object that has drifted sets no deadline of a task', () => {
  const world = created();
  const key = '/ConfigMap/web/one' as ObjectKey;
  const { results } = world.engine.inputs;
  const result = results.get('blue', key) ?? expect.fail();
  const drift = { drift: 'changed', fields: [], managers: [] } as const;
  results.set('blue', key, { ...result, drift, since: 1_000 });
  world.engine.commit();
  expect([...world.engine.deadlines.entries('care')]).toEqual([]);
});
