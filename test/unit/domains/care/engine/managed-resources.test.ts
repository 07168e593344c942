import { describe, expect, test } from 'vitest';
import type { ShootCondition } from '../../../../../src/domains/care/model/shoot.ts';
import type { JsonObject } from '../../../../../src/model/text/json.ts';
import { CONTROL_PLANE, careWorld, SINCE } from '../../../../support/care-world.ts';
import { controlPlaneComponent } from '../../../../support/control-plane.ts';

const MANAGED_RESOURCE = 'resources.gardener.cloud/ManagedResource';
const LABEL = 'care.gardener.cloud/condition-type';
/** The moment when the world begins. */
const NOW = '2026-01-01T00:00:00Z';

const condition = (type: string, status: string, more: JsonObject = {}): JsonObject => ({
  ...{ type: `Resources${type}`, status, reason: `${type}Reason`, message: `${type} message` },
  ...more,
});
const healthy = [condition('Applied', 'True'), condition('Healthy', 'True'), condition('Progressing', 'False')];
const managed = (
  conditions: readonly JsonObject[],
  {
    generation = 1,
    observed = 1,
    label = '',
    spec = {},
  }: Partial<Record<'generation' | 'observed', number>> & {
    readonly label?: string;
    readonly spec?: JsonObject;
  } = {},
): JsonObject => ({
  metadata: { generation, ...(label === '' ? {} : { labels: { [LABEL]: label } }) },
  spec,
  status: { observedGeneration: observed, conditions },
});

/** Without workers: only ManagedResources count for the system components. */
function world() {
  const made = careWorld('{seedName: seed}');
  made.wrote();
  for (const name of ['etcd-main', 'etcd-events']) {
    const metadata = { name, labels: { 'gardener.cloud/role': 'controlplane' } };
    made.live('seed', `druid.gardener.cloud/Etcd/${CONTROL_PLANE}/${name}`, { metadata, status: { ready: true } });
  }
  for (const name of ['gardener-resource-manager', 'kube-apiserver', 'kube-controller-manager']) {
    made.live('seed', `apps/Deployment/${CONTROL_PLANE}/${name}`, controlPlaneComponent('controlplane'));
  }
  return {
    ...made,
    put: (name: string, value?: JsonObject) => made.live('seed', `${MANAGED_RESOURCE}/${CONTROL_PLANE}/${name}`, value),
    found(type: ShootCondition) {
      const { status, reason, message } = made.condition(type) ?? expect.fail();
      return [status, reason, message];
    },
  };
}

const RUNNING = ['True', 'SystemComponentsRunning', 'All system components are healthy.'];
const OUTDATED = `observed generation of managed resource '${CONTROL_PLANE}/addons' outdated`;

describe('the rules about a ManagedResource, in their order', () => {
  test.each<[string, JsonObject, readonly string[]]>([
    ['healthy', managed(healthy), RUNNING],
    [
      'without conditions',
      managed([]),
      [
        ...['False', 'MissingManagedResourceCondition'],
        'ManagedResource addons is missing the following condition(s), [ResourcesApplied ResourcesHealthy ResourcesProgressing]',
      ],
    ],
    [
      'without one condition',
      managed(healthy.slice(0, 2)),
      [
        ...['False', 'MissingManagedResourceCondition'],
        'ManagedResource addons is missing the following condition(s), [ResourcesProgressing]',
      ],
    ],
    [
      'neither applied nor healthy, in the wrong order',
      managed([condition('Healthy', 'False'), condition('Applied', 'False')]),
      ['False', 'AppliedReason', 'Applied message'],
    ],
    [
      'perhaps applied',
      managed([condition('Applied', 'Unknown'), ...healthy.slice(1)]),
      ['False', 'AppliedReason', 'Applied message'],
    ],
    [
      'perhaps healthy',
      managed([condition('Applied', 'True'), condition('Healthy', 'Unknown')]),
      ['False', 'HealthyReason', 'Healthy message'],
    ],
    [
      'without texts',
      managed([condition('Applied', 'False', { reason: '', message: '' })]),
      ['False', 'Unspecified', 'No message given.'],
    ],
    ['outdated', managed(healthy, { generation: 2 }), ['False', 'OutdatedStatus', `${OUTDATED} (1/2)`]],
    ['newer', managed(healthy, { observed: 2 }), ['False', 'OutdatedStatus', `${OUTDATED} (2/1)`]],
    [
      'outdated and not healthy',
      managed([condition('Healthy', 'False')], { generation: 2 }),
      ['False', 'OutdatedStatus', `${OUTDATED} (1/2)`],
    ],
    [
      'outdated and not applied for another reason',
      managed([condition('Applied', 'False')], { generation: 2 }),
      ['False', 'OutdatedStatus', `${OUTDATED} (1/2)`],
    ],
    [
      'outdated because applying fails',
      managed([condition('Applied', 'False', { reason: 'ApplyFailed' })], { generation: 2 }),
      ['False', 'ApplyFailed', 'Applied message'],
    ],
    ['of which no generation is known', { ...managed(healthy), metadata: {} }, RUNNING],
  ])('%s', (_name, value, expected) => {
    const { put, found } = world();
    put('addons', value);
    expect(found('SystemComponentsHealthy')).toEqual(expected);
  });
});

describe('progress', () => {
  const KEY = `managedResource/seed/${MANAGED_RESOURCE}/${CONTROL_PLANE}/addons`;
  const progressing = (status: string, more: JsonObject = { lastTransitionTime: NOW }) =>
    managed([...healthy.slice(0, 2), condition('Progressing', status, more)]);
  const stuck = (after: string) => [
    ...['False', 'ProgressingRolloutStuck'],
    `ManagedResource addons is progressing for more than ${after}`,
  ];

  test.each(['True', 'Unknown'])('%s is tolerated until the threshold has passed', (status) => {
    const { policy, put, passed, found, engine } = world();
    policy('{care: {managedResourceProgressingThreshold: 5m}}');
    put('addons', progressing(status));
    expect(found('SystemComponentsHealthy')).toEqual(RUNNING);
    expect(engine.deadlines.get('care', KEY)).toEqual({ at: SINCE + 300 });
    passed(KEY, SINCE + 299);
    expect(found('SystemComponentsHealthy')).toEqual(RUNNING);
    passed(KEY, SINCE + 300);
    expect(found('SystemComponentsHealthy')).toEqual(stuck('5m0s'));
    expect(engine.deadlines.get('care', KEY)).toEqual({ at: SINCE + 300 });
    put('addons', managed(healthy));
    expect(found('SystemComponentsHealthy')).toEqual(RUNNING);
    expect(engine.deadlines.get('care', KEY)).toBeUndefined();
  });

  test('a new rollout has its own time, and the threshold is one hour unless the policy says otherwise', () => {
    const { put, passed, found } = world();
    put('addons', progressing('True'));
    passed(KEY, SINCE + 3_600);
    expect(found('SystemComponentsHealthy')).toEqual(stuck('1h0m0s'));
    put('addons', progressing('True', { lastTransitionTime: '2026-01-01T01:00:00Z' }));
    expect(found('SystemComponentsHealthy')).toEqual(RUNNING);
  });

  test('a missing condition counts meanwhile, and a fault counts before progress', () => {
    const { put, passed, found } = world();
    put('addons', managed([condition('Progressing', 'True', { lastTransitionTime: NOW })]));
    expect(found('SystemComponentsHealthy')[1]).toBe('MissingManagedResourceCondition');
    passed(KEY, SINCE + 3_600);
    expect(found('SystemComponentsHealthy')).toEqual(stuck('1h0m0s'));
    put('addons', managed([condition('Healthy', 'False'), condition('Progressing', 'True')]));
    expect(found('SystemComponentsHealthy')[1]).toBe('HealthyReason');
  });

  test('a rollout of which no time is known is stuck', () => {
    const { put, passed, found } = world();
    put('addons', progressing('True', {}));
    passed(KEY, SINCE);
    expect(found('SystemComponentsHealthy')).toEqual(stuck('1h0m0s'));
  });
});

describe('which conditions a ManagedResource feeds', () => {
  const ofSeed = { class: 'seed' };
  const OBSERVABILITY = 'ObservabilityComponentsHealthy';
  test.each<[string, JsonObject, string, readonly ShootCondition[]]>([
    ['of the Seed', ofSeed, '', ['ControlPlaneHealthy']],
    ['of the Seed, labelled', ofSeed, 'ControlPlaneHealthy', ['ControlPlaneHealthy']],
    ['of the Seed, for observability', ofSeed, OBSERVABILITY, [OBSERVABILITY]],
    ['of the Seed, for the system', ofSeed, 'SystemComponentsHealthy', ['SystemComponentsHealthy']],
    ['of the Seed, for something else', ofSeed, 'Other', []],
    ['of the Shoot', {}, '', ['SystemComponentsHealthy']],
    ['of the Shoot, for the control plane', {}, 'ControlPlaneHealthy', ['SystemComponentsHealthy']],
    ['of the Shoot, for observability', {}, OBSERVABILITY, [OBSERVABILITY, 'SystemComponentsHealthy']],
  ])('one %s', (_name, spec, label, expected) => {
    const { put, found } = world();
    put('addons', managed([], { spec, label }));
    const types = ['ControlPlaneHealthy', 'ObservabilityComponentsHealthy', 'SystemComponentsHealthy'] as const;
    expect(types.filter((type) => found(type)[1] === 'MissingManagedResourceCondition')).toEqual(expected);
  });

  test('the first by name is told, and one of another namespace is not', () => {
    const { live, put, found } = world();
    live('seed', `${MANAGED_RESOURCE}/elsewhere/addons`, managed([]));
    expect(found('SystemComponentsHealthy')).toEqual(RUNNING);
    put('zz', managed([]));
    put('coredns', managed([]));
    expect(found('SystemComponentsHealthy')[2]).toContain('ManagedResource coredns is missing');
  });

  test('ManagedResources that cannot be listed make all three unknown, after what is seen', () => {
    const { kind, put, found } = world();
    kind('seed', MANAGED_RESOURCE, { state: 'unknown', message: 'forbidden' });
    const unseen = ['Unknown', 'ConditionCheckError', 'ManagedResource of cluster seed cannot be listed: forbidden'];
    expect(found('ControlPlaneHealthy')).toEqual(unseen);
    expect(found('ObservabilityComponentsHealthy')).toEqual(unseen);
    expect(found('SystemComponentsHealthy')).toEqual(unseen);
    put('addons', managed([]));
    expect(found('SystemComponentsHealthy')[1]).toBe('MissingManagedResourceCondition');
  });
});
