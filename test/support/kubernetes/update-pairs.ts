import fc from 'fast-check';
import type { JsonObject } from '../../../src/model/text/json.ts';

/** Generates manifests, without metadata, whose fields are there or not and have one of a few values. */

const one = <Value>(...values: readonly Value[]): fc.Arbitrary<Value> => fc.constantFrom(...values);
/** An object that has each of these fields or not. */
const some = (fields: Record<string, fc.Arbitrary<unknown>>): fc.Arbitrary<JsonObject> =>
  fc.record(fields, { requiredKeys: [] }) as fc.Arbitrary<JsonObject>;
/** The same with members that are always there. */
const always = (fixed: JsonObject, varying: fc.Arbitrary<JsonObject>): fc.Arbitrary<JsonObject> =>
  varying.map((value) => ({ ...fixed, ...value }));

const probe = one<JsonObject>(
  { httpGet: { port: 80 } },
  { httpGet: { port: 80, path: '/', scheme: 'HTTPS' } },
  { tcpSocket: { port: 80 }, periodSeconds: 5, failureThreshold: 9 },
);
const container = always(
  { name: 'main' },
  fc
    .tuple(
      one('a', 'a:1', 'a:latest'),
      some({
        imagePullPolicy: one('Always', 'Never'),
        command: one(['x'], ['y', 'z']),
        env: one([{ name: 'A', value: '1' }], [{ name: 'P', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }]),
        ports: one<JsonObject[]>([{ containerPort: 80 }], [{ containerPort: 80, name: 'http' }]),
        resources: one<JsonObject>({ requests: { cpu: '1' } }, { limits: { memory: '1Gi' } }),
        livenessProbe: probe,
        terminationMessagePolicy: one('File', 'FallbackToLogsOnError'),
      }),
    )
    .map(([image, rest]) => ({ image, ...rest })),
);
const podSpec = (restartPolicies: readonly string[]): fc.Arbitrary<JsonObject> =>
  fc
    .tuple(
      container,
      some({
        terminationGracePeriodSeconds: one(30, 60),
        dnsPolicy: one('ClusterFirst', 'Default'),
        schedulerName: one('default-scheduler', 'other'),
        hostNetwork: one(true),
        serviceAccountName: one('default', 'robot'),
        nodeSelector: one({ disk: 'ssd' }, { disk: 'hdd' }),
        volumes: one<JsonObject[]>(
          [{ name: 'v', configMap: { name: 'm' } }],
          [{ name: 'v', configMap: { name: 'm', defaultMode: 256 } }],
          [{ name: 'v', emptyDir: {} }],
        ),
      }),
      one(...restartPolicies),
    )
    .map(([main, rest, restartPolicy]) => ({
      ...rest,
      ...(restartPolicy === '' ? {} : { restartPolicy }),
      containers: [main],
    }));
const template = (restartPolicies: readonly string[] = ['', 'Always']): fc.Arbitrary<JsonObject> =>
  fc
    .tuple(podSpec(restartPolicies), some({ annotations: one({ a: '1' }, { a: '2' }, { b: '1' }) }))
    .map(([spec, metadata]) => ({ metadata: { labels: { app: 'web' }, ...metadata }, spec }));

const workload = (apiVersion: string, kind: string, fields: Record<string, fc.Arbitrary<unknown>>) =>
  fc.tuple(some(fields), template(), one('web', 'web', 'web', 'site')).map(([spec, pods, track]) => ({
    ...{ apiVersion, kind },
    spec: {
      ...spec,
      selector: { matchLabels: { app: 'web', ...(track === 'web' ? {} : { track }) } },
      template: labelled(pods, track),
    },
  }));
const labelled = (pods: JsonObject, track: string): JsonObject =>
  track === 'web' ? pods : { ...pods, metadata: { ...(pods.metadata as JsonObject), labels: { app: 'web', track } } };

const port = always(
  { port: 80 },
  some({
    name: one('http'),
    targetPort: one<number | string>(80, 8080, 'http'),
    protocol: one('TCP'),
    nodePort: one(30_080),
  }),
);
const plain = (apiVersion: string, kind: string, rest: fc.Arbitrary<JsonObject>) => always({ apiVersion, kind }, rest);

/** Two versions of one object. */
export const pairs: fc.Arbitrary<readonly [before: JsonObject, after: JsonObject]> = fc.oneof(
  ...[
    workload('apps/v1', 'Deployment', {
      replicas: one(0, 1, 5),
      paused: one(true, false),
      minReadySeconds: one(5),
      revisionHistoryLimit: one(3, 10),
      progressDeadlineSeconds: one(600, 700),
      strategy: one<JsonObject>(
        { type: 'Recreate' },
        { type: 'RollingUpdate' },
        { rollingUpdate: { maxSurge: 1 } },
        { type: 'RollingUpdate', rollingUpdate: { maxSurge: '25%', maxUnavailable: 0 } },
      ),
    }),
    workload('apps/v1', 'StatefulSet', {
      replicas: one(1, 5),
      serviceName: one('a', 'b'),
      podManagementPolicy: one('OrderedReady', 'Parallel'),
      minReadySeconds: one(5),
      updateStrategy: one<JsonObject>(
        { type: 'OnDelete' },
        { type: 'RollingUpdate' },
        { rollingUpdate: { partition: 2 } },
      ),
      persistentVolumeClaimRetentionPolicy: one<JsonObject>({ whenDeleted: 'Delete' }, { whenScaled: 'Retain' }),
    }),
    workload('apps/v1', 'DaemonSet', {
      minReadySeconds: one(5),
      updateStrategy: one<JsonObject>({ type: 'RollingUpdate' }, { rollingUpdate: { maxUnavailable: 2 } }),
    }),
    plain(
      'v1',
      'Service',
      some({
        type: one('ClusterIP', 'NodePort', 'LoadBalancer'),
        clusterIP: one('None'),
        sessionAffinity: one('None', 'ClientIP'),
        internalTrafficPolicy: one('Cluster', 'Local'),
        publishNotReadyAddresses: one(true),
        selector: one({ app: 'a' }, { app: 'b', track: 'c' }),
      }).chain((spec) => port.map((first) => ({ spec: { ...spec, ports: [first] } }))),
    ),
    plain('v1', 'ConfigMap', some({ data: one({ a: '1' }, { a: '2', b: '1' }), immutable: one(true, false) })),
    plain(
      'v1',
      'Secret',
      some({ data: one({ a: 'MQ==' }, { a: 'Mg==' }), immutable: one(true), type: one('Opaque', 'own') }),
    ),
    plain(
      'v1',
      'PersistentVolumeClaim',
      some({ volumeMode: one('Filesystem', 'Block'), accessModes: one(['ReadWriteOnce'], ['ReadWriteMany']) }).map(
        (spec) => ({
          spec: {
            accessModes: ['ReadWriteOnce'],
            storageClassName: 'a',
            resources: { requests: { storage: '1Gi' } },
            ...spec,
          },
        }),
      ),
    ),
    plain(
      'batch/v1',
      'Job',
      fc
        .tuple(
          some({
            parallelism: one(1, 2),
            completions: one(1, 3),
            backoffLimit: one(2, 6),
            suspend: one(true, false),
            completionMode: one('NonIndexed', 'Indexed'),
            ttlSecondsAfterFinished: one(10),
          }),
          one<JsonObject>({ a: '1' }, { a: '1' }, { a: '2' }),
        )
        .map(([spec, annotations]) => ({
          spec: {
            ...spec,
            template: {
              metadata: { annotations },
              spec: { restartPolicy: 'Never', containers: [{ name: 'main', image: 'a' }] },
            },
          },
        })),
    ),
    plain(
      'batch/v1',
      'CronJob',
      fc
        .tuple(
          some({
            suspend: one(true, false),
            concurrencyPolicy: one('Allow', 'Forbid'),
            successfulJobsHistoryLimit: one(0, 3),
            failedJobsHistoryLimit: one(0, 1),
            startingDeadlineSeconds: one(10),
          }),
          template(['Never', 'OnFailure']),
        )
        .map(([spec, pods]) => ({ spec: { ...spec, schedule: '@daily', jobTemplate: { spec: { template: pods } } } })),
    ),
    plain(
      'networking.k8s.io/v1',
      'NetworkPolicy',
      some({
        policyTypes: one(['Ingress'], ['Ingress', 'Egress'], ['Egress']),
        ingress: one<JsonObject[]>([{}], [{ ports: [{ port: 80 }] }]),
        egress: one<JsonObject[]>([{ ports: [{ port: 53, protocol: 'UDP' }] }]),
      }).map((spec) => ({ spec: { podSelector: {}, ...spec } })),
    ),
    plain(
      'rbac.authorization.k8s.io/v1',
      'RoleBinding',
      fc
        .tuple(
          one<JsonObject>({ kind: 'Role', name: 'a' }, { kind: 'Role', name: 'b' }),
          some({
            subjects: one<JsonObject[]>(
              [{ kind: 'User', name: 'u' }],
              [{ kind: 'ServiceAccount', name: 's', namespace: 'n' }],
            ),
          }),
          some({ apiGroup: one('rbac.authorization.k8s.io') }),
        )
        .map(([role, rest, group]) => ({
          ...rest,
          roleRef: { apiGroup: 'rbac.authorization.k8s.io', ...role, ...group },
        })),
    ),
    plain(
      'autoscaling/v2',
      'HorizontalPodAutoscaler',
      some({ minReplicas: one(1, 2) }).map((spec) => ({
        spec: { scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'none' }, maxReplicas: 9, ...spec },
      })),
    ),
    plain(
      'v1',
      'Pod',
      podSpec(['', 'Always']).map((spec) => ({ spec })),
    ),
  ].map((manifest) => fc.tuple(manifest, manifest) as fc.Arbitrary<readonly [JsonObject, JsonObject]>),
);
