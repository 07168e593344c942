import { describe, expect, it, test } from 'vitest';
import { engineDiagnostics } from '../../../../../src/engine/status/diagnostics.ts';
import type { JsonObject } from '../../../../../src/model/text/json.ts';
import { createDeclarationRecorder } from '../../../../../src/runtime/ledger/recorders.ts';
import { createEngineWorld } from '../../../../support/engine-world.ts';
import { clusterYaml } from '../../../../support/manifests.ts';

const KEY = 'garden-web/blue';
const SINCE = 1_767_225_600;
const WEBHOOKS = 'admissionregistration.k8s.io';
const DEFINITION = 'apiextensions.k8s.io/CustomResourceDefinition';

const shootYaml = (spec: string) =>
  `apiVersion: core.gardener.cloud/v1beta1\nkind: Shoot\nmetadata: {name: blue, namespace: garden-web}\nspec: ${spec}\n`;

function world(spec = '{}') {
  const made = createEngineWorld();
  const { inputs } = made.engine;
  const record = createDeclarationRecorder(made.engine, { put: () => undefined } as never);
  made.file('blue.yaml', clusterYaml('blue'));
  made.file('shoot.yaml', shootYaml(spec));
  const isHere = { since: SINCE * 1000, problem: '', warm: true, assumedWarm: false, kindsAsWritten: true };
  inputs.agents.set('', 'blue', { ...isHere, connected: true });
  inputs.snapshots.set('', 'blue', { since: SINCE * 1000 });
  made.engine.commit();
  let digests = 0;
  return {
    ...made,
    /** Stages an object of the Shoot's cluster; absent without `value`. */
    live(key: string, value?: JsonObject) {
      digests += 1;
      if (value === undefined) inputs.live.delete('blue', key);
      else inputs.live.set('blue', key, { key, value, digest: String(digests) } as never);
      made.engine.commit();
    },
    /** Commits, and records declarations as last known good. */
    record() {
      do made.engine.commit();
      while (record());
    },
    /** Stages what was written last. */
    wrote(operation: string, constraints: readonly JsonObject[] = []) {
      const [type = '', state = ''] = operation.split('/');
      const lastOperation = { type, state, lastUpdateTime: '2026-01-01T00:00:00Z' };
      inputs.observed.set('Shoot', KEY, { conditions: [], fields: { lastOperation, constraints } });
      made.engine.commit();
    },
    constraints: () => made.engine.statuses.get('Shoot', KEY)?.conditionLists?.constraints ?? [],
  };
}

const hook = (resources: readonly string[], metadata: JsonObject = {}): JsonObject => ({
  metadata: { name: 'policy', ...metadata },
  webhooks: [
    {
      name: 'hook.example.com',
      failurePolicy: 'Fail',
      timeoutSeconds: 10,
      rules: [{ operations: ['*'], apiGroups: ['*'], apiVersions: ['*'], resources }],
    },
  ],
});
const definition = (strategy: string, ...storedVersions: readonly string[]): JsonObject => ({
  spec: { conversion: { strategy } },
  status: { storedVersions },
});

const GOOD = ['HibernationPossible', 'MaintenancePreconditionsSatisfied'].map((type) => ({
  ...{ type, status: 'True', reason: 'NoProblematicWebhooks' },
  message: 'All webhooks are properly configured.',
}));

describe('webhooks of a Shoot', () => {
  test('both required constraints have the same result, validating configurations first', () => {
    const { live, wrote, constraints } = world();
    wrote('Create/Succeeded');
    expect(constraints()).toEqual(GOOD);
    live(`${WEBHOOKS}/MutatingWebhookConfiguration//policy`, hook(['nodes']));
    expect(constraints()[0]?.message).toContain('MutatingWebhookConfiguration "policy" is problematic: webhook');
    live(`${WEBHOOKS}/ValidatingWebhookConfiguration//policy`, hook(['nodes']));
    const message =
      'ValidatingWebhookConfiguration "policy" is problematic: webhook "hook.example.com" with failurePolicy "Fail" and 10s timeout might prevent worker nodes from properly joining the shoot cluster';
    const problem = { status: 'False', reason: 'ProblematicWebhooks', message, codes: ['ERR_PROBLEMATIC_WEBHOOK'] };
    expect(constraints()).toEqual(GOOD.map(({ type }) => ({ type, ...problem })));
    live(`${WEBHOOKS}/ValidatingWebhookConfiguration//policy`, hook(['foos']));
    live(`${WEBHOOKS}/MutatingWebhookConfiguration//policy`);
    expect(constraints()).toEqual(GOOD);
  });

  test('one that was remediated, and webhooks of Gardener', () => {
    const { live, wrote, constraints } = world();
    wrote('Reconcile/Succeeded');
    const key = `${WEBHOOKS}/ValidatingWebhookConfiguration//policy`;
    live(key, hook(['foos'], { annotations: { 'gardener.cloud/warning': 'mended' } }));
    expect(constraints()[1]).toMatchObject({ status: 'False', reason: 'RemediatedWebhooks' });
    live(key, hook(['nodes'], { labels: { app: 'gardener-resource-manager' } }));
    expect(constraints()).toEqual(GOOD);
  });

  test('a change in one configuration computes as much in a cluster with many', () => {
    const { live, wrote, engine, constraints } = world();
    wrote('Create/Succeeded');
    const flip = (resources: readonly string[]) => {
      engine.inputs.live.set('blue', `${WEBHOOKS}/ValidatingWebhookConfiguration//z`, {
        ...{ key: `${WEBHOOKS}/ValidatingWebhookConfiguration//z`, value: hook(resources), digest: resources.join() },
      } as never);
      return engine.commit().computed;
    };
    flip(['foos']);
    const alone = flip(['nodes']);
    flip(['foos']);
    for (let n = 0; n < 50; n += 1) live(`${WEBHOOKS}/ValidatingWebhookConfiguration//a${n}`, hook(['foos']));
    expect(flip(['nodes'])).toBe(alone);
    expect(constraints()[0]?.status).toBe('False');
  });
});

describe('definitions with conversion webhooks', () => {
  test('are a constraint only while there are some', () => {
    const { live, wrote, constraints } = world();
    wrote('Create/Succeeded');
    live(`${DEFINITION}//b.example.com`, definition('Webhook', 'v1', 'v1beta1'));
    live(`${DEFINITION}//a.example.com`, definition('Webhook', 'v1', 'v1beta1'));
    live(`${DEFINITION}//c.example.com`, definition('Webhook', 'v1'));
    live(`${DEFINITION}//d.example.com`, definition('None', 'v1', 'v1beta1'));
    const type = 'CRDsWithProblematicConversionWebhooks';
    expect(constraints()[2]).toMatchObject({ type, status: 'False', reason: type });
    expect(constraints()[2]?.message).toContain('configured: a.example.com, b.example.com. Please see');
    live(`${DEFINITION}//b.example.com`);
    live(`${DEFINITION}//a.example.com`, definition('Webhook', 'v1'));
    expect(constraints()).toEqual(GOOD);
  });

  test('the message of many names the first ones', () => {
    const { live, wrote, constraints } = world();
    wrote('Create/Succeeded');
    for (let n = 100; n < 160; n += 1) live(`${DEFINITION}//c${n}.example.com`, definition('Webhook', 'v1', 'v2'));
    expect(constraints()[2]?.message).toContain('c149.example.com and 10 more. Please');
  });
});

describe('constraints follow from', () => {
  test('an operation that creates the Shoot: False is shown as Progressing', () => {
    const { live, wrote, constraints } = world();
    live(`${WEBHOOKS}/ValidatingWebhookConfiguration//policy`, hook(['nodes']));
    live(`${DEFINITION}//a.example.com`, definition('Webhook', 'v1', 'v1beta1'));
    expect(constraints().map(({ status }) => status)).toEqual(['Progressing', 'Progressing', 'Progressing']);
    wrote('Create/Processing');
    expect(constraints()[0]).toMatchObject({ status: 'Progressing', reason: 'ProblematicWebhooks' });
    wrote('Create/Succeeded');
    expect(constraints().map(({ status }) => status)).toEqual(['False', 'False', 'False']);
  });

  test('hibernation: all are True', () => {
    const { live, constraints } = world('{hibernation: {enabled: true}}');
    live(`${WEBHOOKS}/ValidatingWebhookConfiguration//policy`, hook(['nodes']));
    expect(constraints().map(({ type, status, reason }) => `${type} ${status} ${reason}`)).toEqual([
      'HibernationPossible True ConstraintNotChecked',
      'MaintenancePreconditionsSatisfied True ConstraintNotChecked',
      'CACertificateValiditiesAcceptable True ConstraintNotChecked',
      'CRDsWithProblematicConversionWebhooks True ConstraintNotChecked',
    ]);
  });

  test('constraints of others stay as they were written, also while nothing of the cluster is here', () => {
    const made = world();
    const time = '2026-01-01T00:00:00Z';
    const value = { type: 'ReadyForMigration', status: 'False', reason: 'Busy', message: 'not yet' } as const;
    made.wrote('Reconcile/Succeeded', [{ ...value, lastTransitionTime: time, lastUpdateTime: time }]);
    const types = () => made.constraints().map(({ type }) => type);
    expect(made.constraints()[0]).toEqual(value);
    expect(types()).toEqual(['ReadyForMigration', 'HibernationPossible', 'MaintenancePreconditionsSatisfied']);
    made.engine.inputs.snapshots.delete('', 'blue');
    made.engine.commit();
    expect(types().filter((type) => type === 'ReadyForMigration')).toHaveLength(1);
  });

  test('an agent that is silent, a cluster that is unknown, and a kind that cannot be listed', () => {
    const { engine, file, wrote, constraints } = world();
    wrote('Create/Succeeded');
    const kind = `${WEBHOOKS}/MutatingWebhookConfiguration`;
    engine.inputs.kinds.set('blue', kind, { kind, state: 'unknown', message: 'webhooks are forbidden' } as never);
    engine.commit();
    expect(constraints()[0]).toMatchObject({
      ...{ status: 'Unknown', reason: 'ConditionCheckError' },
      message: 'MutatingWebhookConfiguration of cluster blue cannot be listed: webhooks are forbidden',
    });
    const agent = engine.inputs.agents.get('', 'blue') ?? expect.fail();
    engine.inputs.agents.set('', 'blue', { ...agent, connected: false });
    engine.inputs.elapsed.set('care', 'silent/blue', SINCE + 200);
    engine.commit();
    expect(constraints().map(({ status, reason }) => `${status} ${reason}`)).toEqual([
      'Unknown StatusUnknown',
      'Unknown StatusUnknown',
    ]);
    file('blue.yaml', clusterYaml('other'));
    engine.commit();
    expect(constraints()[0]).toMatchObject({ status: 'Unknown', reason: 'ConditionCheckError' });
  });
});

describe('hibernation', () => {
  const possible = (status: string) => ({
    ...{ type: 'HibernationPossible', status, reason: 'ProblematicWebhooks', message: 'a webhook blocks nodes' },
    lastTransitionTime: '2026-01-01T00:00:00Z',
  });
  const asleep = (made: ReturnType<typeof world>) => {
    made.file('shoot.yaml', shootYaml('{hibernation: {enabled: true}}'));
    made.engine.commit();
    return made.constraints()[0]?.reason === 'ConstraintNotChecked';
  };

  it.each(['False', 'Progressing', 'Unknown'])(
    'is refused while the constraint is %s, and enters once it is True',
    (status) => {
      const made = world();
      made.record();
      made.wrote('Create/Succeeded', [possible(status)]);
      expect(asleep(made)).toBe(false);
      expect(engineDiagnostics(made.engine)).toEqual([
        {
          ...{ severity: 'warning', reason: 'LastKnownGood' },
          message: `'HibernationPossible' constraint is '${status}': a webhook blocks nodes`,
          hint: 'until the change is accepted, Shoot garden-web/blue holds as last known good',
          at: [expect.objectContaining({ path: 'shoot.yaml', field: ['spec', 'hibernation', 'enabled'] })],
        },
      ]);
      made.wrote('Create/Succeeded', [possible('True')]);
      expect(made.constraints()[0]?.reason).toBe('ConstraintNotChecked');
    },
  );

  it('is accepted of a Shoot that is new, and where nothing is known', () => {
    expect(world('{hibernation: {enabled: true}}').constraints()[0]?.reason).toBe('ConstraintNotChecked');
    const made = world();
    made.record();
    expect(asleep(made)).toBe(true);
  });

  it('a Shoot that sleeps can be changed otherwise', () => {
    const made = world('{hibernation: {enabled: true}}');
    made.record();
    made.wrote('Create/Succeeded', [possible('False')]);
    made.file('shoot.yaml', shootYaml('{hibernation: {enabled: true}, purpose: testing}'));
    made.engine.commit();
    expect(made.engine.declarations.get('Shoot', KEY)?.value.spec).toMatchObject({ purpose: 'testing' });
    made.file('shoot.yaml', shootYaml('{hibernation: {enabled: false}}'));
    made.engine.commit();
    expect(made.constraints()).toEqual(GOOD);
  });
});

test('what a selector of the FleetPolicy leaves out of discovery is not known to be well', () => {
  const made = world();
  expect(made.constraints()).toMatchObject([{ status: 'True' }, { status: 'True' }]);
  const head = 'apiVersion: fleetrelay.dev/v1alpha1\nkind: FleetPolicy\nmetadata: {name: fleet}';
  made.file('policy.yaml', `${head}\nspec: {discovery: {objectSelector: {matchLabels: {team: web}}}}\n`);
  made.engine.commit();
  const unknown = { status: 'Unknown', reason: 'ConditionCheckError' };
  const message = expect.stringContaining('the FleetPolicy selects objects by their labels');
  expect(made.constraints()).toMatchObject([
    { type: 'HibernationPossible', ...unknown, message },
    { type: 'MaintenancePreconditionsSatisfied', ...unknown, message },
    { type: 'CRDsWithProblematicConversionWebhooks', ...unknown, message },
  ]);
});
