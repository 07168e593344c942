import { expect, test } from 'vitest';
import { objectHealth } from '../../../../../src/model/objects/object-health/object-health.ts';
import type { JsonObject } from '../../../../../src/model/text/json.ts';
import { conditionList, conditions, liveObject } from '../../../../support/judged-objects.ts';

type Row = readonly [
  what: string,
  parts: { readonly spec?: JsonObject; readonly status?: JsonObject; readonly metadata?: JsonObject },
  state: string,
];

function table(apiVersion: string, kind: string, rows: readonly Row[]): void {
  test.each(rows)(`${kind} (${apiVersion.split('/')[0]}): %s`, (_what, parts, state) => {
    expect(objectHealth(liveObject(apiVersion, kind, parts)).state).toBe(state);
  });
}

const parent = (name: string, ...written: readonly string[]) => ({
  parentRef: { name },
  conditions: conditionList(...written),
});
const stale = (conditions: readonly JsonObject[]) => conditions.map((one) => ({ ...one, observedGeneration: 1 }));

table('gateway.networking.k8s.io/v1', 'GatewayClass', [
  ['no controller has looked at it', {}, 'inProgress'],
  ['accepted', { status: conditions('Accepted=True') }, 'current'],
  ['refused', { status: conditions('Accepted=False:InvalidParameters') }, 'failed'],
  ['pending', { status: conditions('Accepted=Unknown:Pending') }, 'inProgress'],
  [
    'accepted in an earlier generation',
    { status: { conditions: stale(conditionList('Accepted=True')) } },
    'inProgress',
  ],
]);

table('gateway.networking.k8s.io/v1', 'Gateway', [
  ['without a status', {}, 'inProgress'],
  ['programmed', { status: conditions('Accepted=True', 'Programmed=True') }, 'current'],
  ['not yet programmed', { status: conditions('Accepted=True', 'Programmed=False:Pending') }, 'inProgress'],
  ['not accepted', { status: conditions('Accepted=False:ListenersNotValid', 'Programmed=True') }, 'failed'],
  [
    'with a listener that lacks its certificate',
    {
      status: {
        ...conditions('Accepted=True', 'Programmed=True'),
        listeners: [{ name: 'web', conditions: conditionList('ResolvedRefs=False:InvalidCertificateRef') }],
      },
    },
    'failed',
  ],
  [
    'with two listeners of one port',
    {
      status: {
        ...conditions('Accepted=True'),
        listeners: [{ name: 'a', conditions: conditionList('Conflicted=True') }],
      },
    },
    'failed',
  ],
]);

table('gateway.networking.k8s.io/v1', 'HTTPRoute', [
  ['no parent has looked at it', { status: { parents: [] } }, 'inProgress'],
  ['accepted by its parent', { status: { parents: [parent('web', 'Accepted=True', 'ResolvedRefs=True')] } }, 'current'],
  ['without its backend', { status: { parents: [parent('web', 'ResolvedRefs=False:BackendNotFound')] } }, 'failed'],
  ['being programmed', { status: { parents: [parent('web', 'Accepted=True', 'Programmed=False')] } }, 'inProgress'],
  [
    'refused by a parent that it had before',
    {
      status: {
        parents: [
          { parentRef: { name: 'old' }, conditions: stale(conditionList('Accepted=False:NoMatchingParent')) },
          parent('web', 'Accepted=True'),
        ],
      },
    },
    'current',
  ],
  [
    'looked at in an earlier generation only',
    { status: { parents: [{ parentRef: { name: 'web' }, conditions: stale(conditionList('Accepted=True')) }] } },
    'inProgress',
  ],
]);

table('gateway.networking.k8s.io/v1', 'BackendTLSPolicy', [
  [
    'accepted',
    { status: { ancestors: [{ ancestorRef: { name: 'web' }, conditions: conditionList('Accepted=True') }] } },
    'current',
  ],
  [
    'refused by one ancestor of two',
    {
      status: {
        ancestors: [
          { ancestorRef: { name: 'a' }, conditions: conditionList('Accepted=True') },
          { ancestorRef: { name: 'b' }, conditions: conditionList('Accepted=False:NoValidCACertificate') },
        ],
      },
    },
    'failed',
  ],
  ['not looked at', { status: { ancestors: [{ ancestorRef: { name: 'a' }, conditions: [] }] } }, 'inProgress'],
]);

table('gateway.networking.k8s.io/v1', 'TCPRoute', [
  ['a route that names no parent', { spec: { rules: [] }, status: { parents: [] } }, 'current'],
  ['a route that names a parent', { spec: { parentRefs: [{ name: 'web' }] } }, 'inProgress'],
]);

for (const [apiVersion, kind] of [
  ['gateway.networking.k8s.io/v1', 'ListenerSet'],
  ['gateway.networking.x-k8s.io/v1alpha1', 'XListenerSet'],
  ['gateway.networking.x-k8s.io/v1alpha1', 'XMesh'],
] as const) {
  table(apiVersion, kind, [
    ['without a status', {}, 'inProgress'],
    ['accepted', { status: conditions('Accepted=True', 'Programmed=True') }, 'current'],
    ['refused', { status: conditions('Accepted=False:NotAllowed') }, 'failed'],
    [
      'with a listener in conflict',
      {
        status: {
          ...conditions('Accepted=True'),
          listeners: [{ name: 'a', conditions: conditionList('Conflicted=True:HostnameConflict') }],
        },
      },
      'failed',
    ],
  ]);
}

const left = (...written: readonly string[]) => stale(conditionList(...written));

table('gateway.networking.k8s.io/v1', 'Gateway', [
  [
    'with a condition that a controller of before has left',
    { status: { conditions: [...conditionList('Accepted=True', 'Programmed=True'), ...left('Scheduled=True')] } },
    'current',
  ],
  ['programmed in an earlier generation', { status: { conditions: left('Programmed=True') } }, 'inProgress'],
]);

table('gateway.networking.k8s.io/v1', 'BackendTLSPolicy', [
  [
    'looked at in an earlier generation only',
    { status: { ancestors: [{ ancestorRef: { name: 'web' }, conditions: left('Accepted=True') }] } },
    'inProgress',
  ],
]);

table('example.com/v1', 'Route', [
  [
    'a route of another group is judged by its parents, and not by its conditions',
    {
      spec: { host: 'a' },
      status: { ...conditions('Accepted=True'), parents: [parent('web', 'Accepted=False:NotAllowed')] },
    },
    'failed',
  ],
]);

table('gateway.networking.k8s.io/v1', 'ReferenceGrant', [['it never has a status', {}, 'current']]);

table('policies.example.com/v1', 'RateLimitPolicy', [
  [
    'a policy of any group says what its ancestors made of it',
    { status: { ancestors: [{ ancestorRef: { name: 'a' }, conditions: conditionList('Accepted=False:Conflicted') }] } },
    'failed',
  ],
]);

table('cert-manager.io/v1', 'Certificate', [
  ['new', {}, 'inProgress'],
  ['before the first request', { status: conditions('Ready=False:DoesNotExist') }, 'inProgress'],
  ['being issued', { status: conditions('Ready=False:DoesNotExist', 'Issuing=True:DoesNotExist') }, 'inProgress'],
  ['being renewed', { status: conditions('Ready=True', 'Issuing=True:Renewing') }, 'inProgress'],
  ['issued', { status: conditions('Ready=True') }, 'current'],
  ['that cannot be issued', { status: conditions('Ready=False:DoesNotExist', 'Issuing=False:Failed') }, 'failed'],
  ['with a wrong configuration', { status: conditions('Ready=False:ConfigError') }, 'failed'],
  ['expired, and not being issued', { status: conditions('Ready=False:Expired') }, 'failed'],
  ['whose Secret was changed', { status: conditions('Ready=False:SecretMismatch') }, 'inProgress'],
  ['issued for an earlier generation', { status: { conditions: left('Ready=True') } }, 'inProgress'],
]);

table('cert-manager.io/v1', 'ClusterIssuer', [
  ['new', {}, 'inProgress'],
  ['registered', { status: conditions('Ready=True:ACMEAccountRegistered') }, 'current'],
  ['refused', { status: conditions('Ready=False:ErrRegisterACMEAccount') }, 'failed'],
]);

table('cert-manager.io/v1', 'CertificateRequest', [
  ['waiting for its issuer', { status: conditions('Ready=False:Pending') }, 'inProgress'],
  ['denied', { status: conditions('Denied=True', 'Ready=False:Denied') }, 'failed'],
]);

table('acme.cert-manager.io/v1', 'Challenge', [
  ['that is presented', { status: { state: 'pending' } }, 'inProgress'],
  ['that is solved', { status: { state: 'valid' } }, 'current'],
  ['that is not solved', { status: { state: 'invalid', reason: 'wrong answer' } }, 'failed'],
]);

table('kustomize.toolkit.fluxcd.io/v1', 'Kustomization', [
  ['new', {}, 'inProgress'],
  ['applied', { status: { observedGeneration: 2, ...conditions('Ready=True') } }, 'current'],
  [
    'suspended before its change was taken up',
    { spec: { suspend: true }, status: { observedGeneration: 1 } },
    'suspended',
  ],
  ['being applied', { status: conditions('Ready=Unknown:Progressing', 'Reconciling=True:Progressing') }, 'inProgress'],
  ['without its source', { status: { observedGeneration: -1, ...conditions('Ready=False:ArtifactFailed') } }, 'failed'],
  ['waiting for another one', { status: conditions('Ready=False:DependencyNotReady') }, 'inProgress'],
  [
    'tried again after a failure',
    { status: conditions('Ready=False:BuildFailed', 'Reconciling=True:ProgressingWithRetry') },
    'failed',
  ],
  ['applied in an earlier generation', { status: { conditions: stale(conditionList('Ready=True')) } }, 'inProgress'],
]);

table('helm.toolkit.fluxcd.io/v2', 'HelmRelease', [
  ['installed', { status: conditions('Ready=True:InstallSucceeded', 'Released=True') }, 'current'],
  [
    'rolled back',
    { status: conditions('Reconciling=True:ProgressingWithRetry', 'Ready=False:RollbackSucceeded') },
    'failed',
  ],
  ['stalled', { status: conditions('Stalled=True:RetriesExceeded', 'Ready=False:UpgradeFailed') }, 'failed'],
]);

table('source.toolkit.fluxcd.io/v1', 'HelmRepository', [
  ['of the type oci has no status', { spec: { type: 'oci' } }, 'current'],
  ['not read yet', {}, 'inProgress'],
]);
table('notification.toolkit.fluxcd.io/v1beta3', 'Alert', [['it never has a status', {}, 'current']]);

table('argoproj.io/v1alpha1', 'Rollout', [
  ['new', {}, 'inProgress'],
  ['healthy', { status: { observedGeneration: '2', phase: 'Healthy' } }, 'current'],
  ['degraded', { status: { observedGeneration: '2', phase: 'Degraded', message: 'InvalidSpec' } }, 'failed'],
  [
    'waiting for a person',
    { status: { observedGeneration: '2', phase: 'Paused', message: 'CanaryPauseStep' } },
    'suspended',
  ],
  ['of an earlier generation', { status: { observedGeneration: '1', phase: 'Healthy' } }, 'inProgress'],
  [
    'of a workload that has changed',
    {
      spec: { workloadRef: { name: 'web' } },
      metadata: { annotations: { 'rollout.argoproj.io/workload-generation': '3' } },
      status: { observedGeneration: '2', phase: 'Healthy', workloadObservedGeneration: '2' },
    },
    'inProgress',
  ],
  [
    'of an early version that writes no phase',
    {
      spec: { replicas: 1, strategy: { canary: {} } },
      status: {
        observedGeneration: 'a1b2',
        currentPodHash: 'x',
        stableRS: 'x',
        replicas: 1,
        updatedReplicas: 1,
        availableReplicas: 1,
      },
    },
    'current',
  ],
  ['aborted', { status: { observedGeneration: 'a1b2', ...conditions('Progressing=False:RolloutAborted') } }, 'failed'],
]);

table('argoproj.io/v1alpha1', 'AnalysisRun', [
  ['running', { status: { phase: 'Running' } }, 'inProgress'],
  ['successful', { status: { phase: 'Successful' } }, 'current'],
  ['with an error', { status: { phase: 'Error' } }, 'failed'],
  ['inconclusive', { status: { phase: 'Inconclusive' } }, 'unknown'],
]);
table('argoproj.io/v1alpha1', 'Application', [
  ['degraded', { status: { health: { status: 'Degraded' } } }, 'failed'],
  ['suspended', { status: { health: { status: 'Suspended' } } }, 'suspended'],
]);

table('s3.aws.upbound.io/v1beta2', 'Bucket', [
  ['new', {}, 'inProgress'],
  ['being made', { status: conditions('Ready=False:Creating', 'Synced=True:ReconcileSuccess') }, 'inProgress'],
  ['there', { status: conditions('Ready=True:Available', 'Synced=True:ReconcileSuccess') }, 'current'],
  [
    'there, and its change is refused',
    { status: conditions('Ready=True:Available', 'Synced=False:ReconcileError') },
    'failed',
  ],
  ['paused', { status: conditions('Ready=False:Creating', 'Synced=False:ReconcilePaused') }, 'suspended'],
  [
    'with a failed operation',
    { status: conditions('Ready=True', 'Synced=True', 'LastAsyncOperation=False:AsyncUpdateFailure') },
    'failed',
  ],
]);
table('pkg.crossplane.io/v1', 'Provider', [
  ['being unpacked', { status: conditions('Installed=False:UnpackingPackage') }, 'inProgress'],
  ['healthy', { status: conditions('Installed=True', 'Healthy=True') }, 'current'],
  ['unhealthy', { status: conditions('Installed=True', 'Healthy=False:UnhealthyPackageRevision') }, 'failed'],
]);
table('ops.crossplane.io/v1alpha1', 'CronOperation', [
  ['scheduling', { status: conditions('Synced=True:ReconcileSuccess', 'Scheduling=True') }, 'current'],
  ['that cannot be scheduled', { status: conditions('Synced=False:ReconcileError') }, 'failed'],
]);
table('ops.crossplane.io/v1alpha1', 'WatchOperation', [
  ['watching', { status: conditions('Synced=True:ReconcileSuccess', 'Watching=True') }, 'current'],
  ['not watching', { status: conditions('Synced=True:ReconcileSuccess', 'Watching=False:WatchFailed') }, 'inProgress'],
]);
table('ops.crossplane.io/v1alpha1', 'Operation', [
  ['new', {}, 'inProgress'],
  ['running', { status: conditions('Synced=True', 'ValidPipeline=True', 'Succeeded=Unknown') }, 'inProgress'],
  ['done', { status: conditions('Synced=True', 'ValidPipeline=True', 'Succeeded=True') }, 'current'],
  ['that has failed', { status: conditions('Synced=True', 'ValidPipeline=True', 'Succeeded=False') }, 'failed'],
]);
table('pkg.crossplane.io/v1beta1', 'Lock', [['it has no status', {}, 'current']]);
table('apiextensions.crossplane.io/v1alpha1', 'ManagedResourceActivationPolicy', [['it has no status', {}, 'current']]);
table('aws.upbound.io/v1beta1', 'ProviderConfig', [['it needs no controller', {}, 'current']]);
table('platform.example.com/v1', 'XDatabase', [
  [
    'a composite resource of any group that cannot be composed',
    { status: conditions('Synced=False:ReconcileError', 'Ready=True') },
    'failed',
  ],
  [
    'a composite resource of any group that is paused',
    { status: conditions('Synced=False:ReconcilePaused') },
    'suspended',
  ],
]);

table('serving.knative.dev/v1', 'Service', [
  ['new', {}, 'inProgress'],
  ['ready', { status: conditions('ConfigurationsReady=True', 'Ready=True', 'RoutesReady=True') }, 'current'],
  ['rolling out', { status: conditions('ConfigurationsReady=True', 'Ready=Unknown:RolloutInProgress') }, 'inProgress'],
  [
    'with a revision that does not start',
    { status: conditions('ConfigurationsReady=False:RevisionFailed', 'Ready=False:RevisionFailed') },
    'failed',
  ],
]);
table('serving.knative.dev/v1', 'Revision', [
  [
    'scaled to zero',
    {
      status: {
        conditions: [
          { type: 'Ready', status: 'True' },
          { type: 'Active', status: 'False', severity: 'Info' },
        ],
      },
    },
    'current',
  ],
]);
table('operator.knative.dev/v1beta1', 'KnativeServing', [
  ['coming up', { status: conditions('InstallSucceeded=True', 'Ready=False') }, 'inProgress'],
  ['not installed', { status: conditions('InstallSucceeded=False:Error', 'Ready=False') }, 'failed'],
]);

table('gloo.solo.io/v1', 'Upstream', [
  [
    'rejected by one installation',
    { status: { statuses: { a: { state: 'Accepted' }, b: { state: 'Rejected', reason: 'why' } } } },
    'failed',
  ],
  ['accepted', { status: { statuses: { a: { state: 1 } } } }, 'current'],
]);
