import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../../../../src/model/text/json.ts';
import { CONTROL_PLANE, careWorld } from '../../../../support/care-world.ts';
import { controlPlaneComponent as component } from '../../../../support/control-plane.ts';

const DEPLOYMENT = 'apps/Deployment';
const ETCD = 'druid.gardener.cloud/Etcd';
const CONTROL_PLANE_NAMES = [
  ...['gardener-resource-manager', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler'],
  ...['machine-controller-manager', 'vpa-admission-controller', 'vpa-recommender', 'vpa-updater'],
];
const POOL = 'provider: {workers: [{name: a, minimum: 1, maximum: 1}]}';

const etcd = (status: JsonObject = { ready: true }, name = 'etcd-main'): JsonObject => ({
  metadata: { name, labels: { 'gardener.cloud/role': 'controlplane' } },
  status,
});

function world(spec = `{seedName: seed, ${POOL}}`) {
  const made = careWorld(spec);
  made.wrote();
  const put = (kind: string, name: string, value?: JsonObject): void =>
    made.live('seed', `${kind}/${CONTROL_PLANE}/${name}`, value);
  for (const name of ['etcd-main', 'etcd-events']) put(ETCD, name, etcd({ ready: true }, name));
  for (const name of CONTROL_PLANE_NAMES) put(DEPLOYMENT, name, component('controlplane'));
  put(DEPLOYMENT, 'kube-state-metrics', component('monitoring'));
  const short = (type: 'ControlPlaneHealthy' | 'ObservabilityComponentsHealthy') => {
    const { status, reason, message } = made.condition(type) ?? expect.fail();
    return [status, reason, message];
  };
  return {
    ...made,
    put,
    controlPlane: () => short('ControlPlaneHealthy'),
    observability: () => short('ObservabilityComponentsHealthy'),
  };
}

const RUNNING = ['True', 'ControlPlaneRunning', 'All control plane components are healthy.'];
const OBSERVED = ['True', 'ObservabilityComponentsRunning', 'All observability components are healthy.'];

describe('the control plane in the Seed', () => {
  test('is healthy while all required parts are there', () => {
    const { controlPlane, observability } = world();
    expect(controlPlane()).toEqual(RUNNING);
    expect(observability()).toEqual(OBSERVED);
  });

  test('faults count in their order: Etcds that are missing, that are unhealthy, then Deployments', () => {
    const { put, controlPlane } = world();
    put(DEPLOYMENT, 'kube-scheduler', component('controlplane', { conditions: [] }));
    expect(controlPlane()).toEqual([
      ...['False', 'DeploymentUnhealthy'],
      'Deployment "kube-scheduler" is unhealthy: condition "Available" is missing',
    ]);
    put(DEPLOYMENT, 'gardener-resource-manager');
    put(DEPLOYMENT, 'vpa-updater');
    const missing = 'Missing required deployments: [gardener-resource-manager vpa-updater]';
    expect(controlPlane()).toEqual(['False', 'DeploymentMissing', missing]);
    put(ETCD, 'etcd-main', etcd({}));
    expect(controlPlane()).toEqual([
      ...['False', 'EtcdUnhealthy'],
      'Etcd extension resource "etcd-main" is unhealthy: etcd "etcd-main" is not ready yet',
    ]);
    put(ETCD, 'etcd-main');
    expect(controlPlane()).toEqual(['False', 'EtcdMissing', 'Missing required etcds: [etcd-main]']);
    put(ETCD, 'etcd-events');
    expect(controlPlane()[2]).toBe('Missing required etcds: [etcd-events etcd-main]');
  });

  test('a part with another role is not the one that is required', () => {
    const { put, controlPlane } = world();
    put(DEPLOYMENT, 'kube-scheduler', component('logging'));
    expect(controlPlane()[2]).toBe('Missing required deployments: [kube-scheduler]');
  });

  test('a part that no Shoot requires has to be healthy too, and the first by name is told', () => {
    const { put, controlPlane } = world();
    const unhealthy = component('controlplane', { observedGeneration: 1 });
    put(DEPLOYMENT, 'zz', unhealthy);
    put(DEPLOYMENT, 'dns', unhealthy);
    expect(controlPlane()[2]).toBe('Deployment "dns" is unhealthy: observed generation outdated (1/2)');
  });

  test.each<[string, JsonObject, string | undefined]>([
    ['a newer status', { observedGeneration: 3 }, undefined],
    ['no status', { observedGeneration: 0, conditions: [] }, 'observed generation outdated (0/2)'],
    [
      'not available',
      { conditions: [{ type: 'Available', status: 'False', reason: 'MinimumReplicas', message: '0 of 1' }] },
      'condition "Available" has invalid status False (expected True) due to MinimumReplicas: 0 of 1',
    ],
    [
      'a rollout that does not go on',
      { conditions: [...available(), { type: 'Progressing', status: 'False', reason: 'Late', message: 'timed out' }] },
      'condition "Progressing" has invalid status False (expected True) due to Late: timed out',
    ],
    [
      'Pods that cannot be created',
      { conditions: [...available(), { type: 'ReplicaFailure', status: 'True', reason: 'Quota', message: 'full' }] },
      'condition "ReplicaFailure" has invalid status True (expected False) due to Quota: full',
    ],
    ['no failure', { conditions: [...available(), { type: 'ReplicaFailure', status: 'False' }] }, undefined],
  ])('a Deployment with %s', (_name, status, problem) => {
    const { put, controlPlane } = world();
    put(DEPLOYMENT, 'kube-scheduler', component('controlplane', status));
    const unhealthy = ['False', 'DeploymentUnhealthy', `Deployment "kube-scheduler" is unhealthy: ${problem}`];
    expect(controlPlane()).toEqual(problem === undefined ? RUNNING : unhealthy);
  });

  test.each<[string, string | undefined]>([
    ['True', undefined],
    ['False', 'backup for etcd "etcd-main" is reported as unready: no bucket'],
    ['Unknown', 'backup for etcd "etcd-main" is reported as unready: no bucket'],
  ])('an Etcd whose backup is %s', (status, problem) => {
    const { put, controlPlane } = world();
    const conditions = [{ type: 'BackupReady', status, message: 'no bucket' }];
    put(ETCD, 'etcd-main', etcd({ ready: true, conditions }));
    const unhealthy = ['False', 'EtcdUnhealthy', `Etcd extension resource "etcd-main" is unhealthy: ${problem}`];
    expect(controlPlane()).toEqual(problem === undefined ? RUNNING : unhealthy);
  });

  test('controllers that the dependency-watchdog has scaled down, only with workers', () => {
    const { put, spec, controlPlane } = world();
    const annotations = { 'dependency-watchdog.gardener.cloud/meltdown-protection-active': '' };
    const scaledDown = component('controlplane', {}, { annotations });
    put(DEPLOYMENT, 'machine-controller-manager', scaledDown);
    put(DEPLOYMENT, 'kube-scheduler', scaledDown);
    const what = 'The following deployments have been scaled down to 0 replicas by dependency-watchdog-prober';
    expect(controlPlane()).toEqual(['False', 'ControllersScaledDown', `${what}: machine-controller-manager`]);
    put(DEPLOYMENT, 'cluster-autoscaler', scaledDown);
    put(DEPLOYMENT, 'kube-controller-manager', scaledDown);
    const all = 'kube-controller-manager, machine-controller-manager, cluster-autoscaler';
    expect(controlPlane()[2]).toBe(`${what}: ${all}`);
    spec('{seedName: seed}');
    expect(controlPlane()).toEqual(RUNNING);
  });

  test.each([
    ['no workers', '{seedName: seed}', 'gardener-resource-manager kube-apiserver kube-controller-manager'],
    ['workers', `{seedName: seed, ${POOL}}`, CONTROL_PLANE_NAMES.join(' ')],
    [
      'a pool that scales',
      '{seedName: seed, provider: {workers: [{name: a, minimum: 1, maximum: 2}]}}',
      ['cluster-autoscaler', ...CONTROL_PLANE_NAMES].join(' '),
    ],
    [
      'no vertical pod autoscaler',
      `{seedName: seed, kubernetes: {verticalPodAutoscaler: {enabled: false}}, ${POOL}}`,
      CONTROL_PLANE_NAMES.slice(0, 5).join(' '),
    ],
  ])('a Shoot with %s requires its Deployments', (_name, spec, names) => {
    const { put, controlPlane } = world(spec);
    for (const name of CONTROL_PLANE_NAMES) put(DEPLOYMENT, name);
    expect(controlPlane()[2]).toBe(`Missing required deployments: [${names}]`);
  });

  test('what cannot be listed is unknown, and a fault that is seen counts before it', () => {
    const { kind, put, policy, controlPlane } = world();
    kind('seed', ETCD, { unlisted: { [CONTROL_PLANE]: 'forbidden' } });
    const unseen = `Etcd in namespace ${CONTROL_PLANE} of cluster seed cannot be listed: forbidden`;
    expect(controlPlane()).toEqual(['Unknown', 'ConditionCheckError', unseen]);
    put(ETCD, 'etcd-main');
    expect(controlPlane()[2]).toBe(unseen);
    put(DEPLOYMENT, 'kube-scheduler');
    expect(controlPlane()[1]).toBe('DeploymentMissing');
    put(DEPLOYMENT, 'kube-scheduler', component('controlplane'));
    kind('seed', ETCD, {});
    expect(controlPlane()[1]).toBe('EtcdMissing');
    put(ETCD, 'etcd-main', etcd());
    kind('seed', DEPLOYMENT, { state: 'unknown', message: 'forbidden' });
    expect(controlPlane()).toEqual([
      ...['Unknown', 'ConditionCheckError'],
      'Deployment of cluster seed cannot be listed: forbidden',
    ]);
    kind('seed', DEPLOYMENT, {});
    policy(`{discovery: {excludedNamespaces: [${CONTROL_PLANE}]}}`);
    const excluded = `namespace ${CONTROL_PLANE} of cluster seed is left out of discovery by the FleetPolicy`;
    expect(controlPlane()).toEqual(['Unknown', 'ConditionCheckError', excluded]);
  });

  test('a kind that the FleetPolicy excludes is unknown, also where no cluster reports it', () => {
    const { policy, observability, condition } = world('{seedName: seed}');
    policy('{discovery: {excludedKinds: [ManagedResource.resources.gardener.cloud]}}');
    const why = 'ManagedResource of cluster seed is left out of discovery by the FleetPolicy';
    expect(observability()).toEqual(['Unknown', 'ConditionCheckError', why]);
    expect(condition('SystemComponentsHealthy')?.message).toBe(why);
  });

  test('what the FleetPolicy does not select is unknown', () => {
    const { live, put, policy, controlPlane, observability, condition } = world('{seedName: seed}');
    policy('{discovery: {namespaceSelector: {matchLabels: {care: "yes"}}}}');
    const why = `namespace ${CONTROL_PLANE} of cluster seed is not discovered: the FleetPolicy selects namespaces by their labels`;
    expect(controlPlane()).toEqual(['Unknown', 'ConditionCheckError', why]);
    expect(observability()).toEqual(['Unknown', 'ConditionCheckError', why]);
    expect(condition('SystemComponentsHealthy')?.message).toBe(why);
    live('seed', `/Namespace//${CONTROL_PLANE}`, { metadata: { labels: { care: 'yes' } } });
    expect(controlPlane()).toEqual(RUNNING);
    policy('{discovery: {objectSelector: {matchLabels: {care: "yes"}}}}');
    const objects = `namespace ${CONTROL_PLANE} of cluster seed is not discovered completely: the FleetPolicy selects objects by their labels`;
    expect(controlPlane()).toEqual(['Unknown', 'ConditionCheckError', objects]);
    put(ETCD, 'etcd-main', etcd({}));
    expect(controlPlane()[1]).toBe('EtcdUnhealthy');
    put(ETCD, 'etcd-main', etcd());
    policy('{discovery: {objectSelector: {}}}');
    expect(controlPlane()).toEqual(RUNNING);
  });

  test('it is checked while the API server does not run, but not while the cluster sleeps', () => {
    const { put, spec, condition, controlPlane } = world();
    put(DEPLOYMENT, 'kube-apiserver', { ...component('controlplane'), spec: { replicas: 0 } });
    expect(condition('APIServerAvailable')?.reason).toBe('APIServerDown');
    expect(controlPlane()).toEqual(RUNNING);
    spec('{seedName: seed, hibernation: {enabled: true}}');
    expect(controlPlane()).toEqual(['True', 'ConditionNotChecked', 'Shoot cluster has been hibernated.']);
  });

  test('a long message of a part is cut, and says so', () => {
    const { put, controlPlane } = world();
    const conditions = [{ type: 'Available', status: 'False', reason: 'Late', message: 'x'.repeat(1_000_000) }];
    put(DEPLOYMENT, 'kube-scheduler', component('controlplane', { conditions }));
    expect(controlPlane()[2]?.length).toBeLessThan(2_300);
    expect(controlPlane()[2]).toContain('... cut, 10000');
  });
});

test('a change of one part costs the same among 3 and among 3,000 others', () => {
  const costs = [3, 3_000].map((others) => {
    const { engine, put } = world();
    const stage = (name: string, value: JsonObject): void => {
      const key = `${DEPLOYMENT}/${CONTROL_PLANE}/${name}`;
      engine.inputs.live.set('seed', key, { key, value, digest: JSON.stringify(value) } as never);
    };
    for (let index = 0; index < others; index += 1) {
      stage(`other-${index}`, component('controlplane', { conditions: [] }));
      const key = `resources.gardener.cloud/ManagedResource/${CONTROL_PLANE}/other-${index}`;
      engine.inputs.live.set('seed', key, { key, value: { spec: {} }, digest: key } as never);
    }
    engine.commit();
    put(DEPLOYMENT, 'kube-scheduler', component('controlplane', { conditions: [] }));
    stage('kube-scheduler', component('controlplane'));
    return engine.commit().computed;
  });
  expect(costs[1]).toBe(costs[0]);
  expect(costs[0]).toBeLessThan(20);
});

describe('the control plane without a Seed is what /readyz says', () => {
  test.each<[string, JsonObject, string | undefined]>([
    ['all checks hold', { code: 200 }, undefined],
    ['only /healthz fails', { code: 503, body: 'no' }, undefined],
    [
      'checks fail',
      { code: 503, failedChecks: ['etcd', 'shutdown'] },
      'API server /readyz endpoint reports failed checks: etcd, shutdown',
    ],
    [
      '/readyz does not answer',
      { code: 200, readyzError: 'timeout' },
      'Request to API server /readyz endpoint failed. (timeout)',
    ],
    [
      'nothing answers',
      { error: 'connection refused' },
      'Request to API server /readyz endpoint failed. (connection refused)',
    ],
    [
      'many checks fail',
      { failedChecks: Array.from({ length: 110 }, (_, index) => `check-${index}`) },
      `API server /readyz endpoint reports failed checks: ${Array.from({ length: 100 }, (_, index) => `check-${index}`).join(', ')} and 10 more`,
    ],
  ])('%s', (_name, status, message) => {
    const { live, controlPlane } = world('{}');
    live('blue', 'internal.fleetrelay.dev/ApiServerProbe//healthz', { status });
    expect(controlPlane()).toEqual(message === undefined ? RUNNING : ['False', 'ReadyzChecksFailed', message]);
  });

  test('a directory has no API server, and another cluster has to report one', () => {
    const { engine, controlPlane, observability, condition } = world('{}');
    expect(controlPlane()).toEqual(RUNNING);
    expect(observability()).toEqual(OBSERVED);
    expect(condition('SystemComponentsHealthy')?.status).toBe('True');
    const agent = engine.inputs.agents.get('', 'blue') ?? expect.fail();
    engine.inputs.agents.set('', 'blue', { ...agent, kindsAsWritten: false });
    engine.commit();
    const message = 'the agent of cluster blue reports no probe of its API server';
    expect(controlPlane()).toEqual(['Unknown', 'ConditionCheckError', message]);
    expect(observability()).toEqual(OBSERVED);
  });
});

describe('observability', () => {
  test('kube-state-metrics is required, and every part of monitoring has to be healthy', () => {
    const { put, observability } = world();
    put(DEPLOYMENT, 'plutono', component('monitoring', { conditions: [] }));
    expect(observability()).toEqual([
      ...['False', 'DeploymentUnhealthy'],
      'Deployment "plutono" is unhealthy: condition "Available" is missing',
    ]);
    put(DEPLOYMENT, 'kube-state-metrics');
    const missing = 'Missing required deployments: [kube-state-metrics]';
    expect(observability()).toEqual(['False', 'DeploymentMissing', missing]);
  });

  test.each([
    ['has no workers', '{seedName: seed}', '{}'],
    ['is for testing', `{seedName: seed, purpose: testing, ${POOL}}`, '{}'],
    ['has no monitoring', `{seedName: seed, ${POOL}}`, '{care: {monitoringEnabled: false}}'],
  ])('nothing is required of a Shoot that %s', (_name, spec, policy) => {
    const made = world(spec);
    made.policy(policy);
    made.put(DEPLOYMENT, 'kube-state-metrics');
    expect(made.observability()).toEqual(OBSERVED);
  });

  test('event-logger is required where logging is on', () => {
    const { policy, put, spec, observability } = world();
    policy('{care: {loggingEnabled: true}}');
    const missing = ['False', 'DeploymentMissing', 'Missing required deployments: [event-logger]'];
    expect(observability()).toEqual(missing);
    put(DEPLOYMENT, 'event-logger', component('logging', { conditions: [] }));
    expect(observability()[1]).toBe('DeploymentUnhealthy');
    put(DEPLOYMENT, 'event-logger', component('logging'));
    expect(observability()).toEqual(OBSERVED);
    put(DEPLOYMENT, 'event-logger');
    spec(`{seedName: seed, purpose: testing, ${POOL}}`);
    expect(observability()).toEqual(OBSERVED);
  });
});

function available(): readonly JsonObject[] {
  return [{ type: 'Available', status: 'True' }];
}
