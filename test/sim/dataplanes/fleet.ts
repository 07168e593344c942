import type { ObjectKey } from '../../../src/model/objects/object-key.ts';
import type { JsonObject } from '../../../src/model/text/json.ts';
import type { Dice } from '../core/dice.ts';
import type { SimCluster } from '../ports/cluster.ts';

/** The live objects and declarations of which data planes come, in all their kinds. */

export const NAMESPACE = 'web';
const PODS = ['p0', 'p1', 'p2', 'p3', 'p4', 'p5'] as const;
const APPS = ['a', 'b'] as const;

/** An object of a person is in the cluster as given; null: it is gone. */
function put({ memory, foreign }: SimCluster, key: string, value: JsonObject | null): void {
  const id = key as ObjectKey;
  if (value !== null) {
    foreign.set(id, value);
    memory.personPuts(id, value, 'drop');
  } else if (foreign.delete(id)) memory.personRemoves(id);
}

/** Something happens in a cluster. */
export function changeCluster(cluster: SimCluster, dice: Dice): void {
  const what = dice.int(12);
  if (what < 7) changePod(cluster, dice, dice.pick(PODS));
  else if (what < 9) changeService(cluster, dice);
  else if (what < 10) changeNamespace(cluster, dice);
  else changeDataplane(cluster, dice, dice.pick(PODS));
}

/** What every cluster begins with. */
export function fillCluster(cluster: SimCluster, dice: Dice): void {
  changeNamespace(cluster, dice);
  for (const name of PODS) changePod(cluster, dice, name);
  for (let count = 0; count < 4; count += 1) changeService(cluster, dice);
  const owner = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'shop', controller: true };
  const metadata = { name: 'shop-1', namespace: NAMESPACE, ownerReferences: [owner] };
  put(cluster, `apps/ReplicaSet/${NAMESPACE}/shop-1`, { apiVersion: 'apps/v1', kind: 'ReplicaSet', metadata });
}

function changePod(cluster: SimCluster, dice: Dice, name: string): void {
  put(cluster, `/Pod/${NAMESPACE}/${name}`, dice.chance(0.1) ? null : podOf(dice, name));
}

function podOf(dice: Dice, name: string): JsonObject {
  const maybe = (chance: number, value: JsonObject): JsonObject => (dice.chance(chance) ? value : {});
  const containers = [
    ...(dice.chance(0.9) ? [{ name: dice.pick(['kuma-sidecar', 'istio-proxy']) }] : []),
    { name: 'app', ports: dice.chance(0.7) ? [{ name: 'http', containerPort: 8080 }] : [] },
    ...(dice.chance(0.3) ? [{ name: 'second' }] : []),
  ];
  const statuses = containers.flatMap((one) =>
    dice.chance(0.1) ? [] : [{ name: one.name, ready: dice.chance(0.7), state: { running: {} } }],
  );
  const owner = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'shop-1', controller: true };
  return {
    ...{ apiVersion: 'v1', kind: 'Pod' },
    metadata: {
      ...{ name, namespace: NAMESPACE, uid: `uid-${name}-${dice.int(2)}` },
      labels: { app: dice.pick(APPS), ...maybe(0.2, { 'kuma.io/mesh': 'labelled' }) },
      annotations: { ...maybe(0.1, { 'kuma.io/gateway': 'enabled' }), ...maybe(0.1, { 'kuma.io/mesh': 'annotated' }) },
      ...maybe(0.1, { deletionTimestamp: '2026-01-05T09:00:30Z' }),
      ...maybe(0.5, { ownerReferences: [owner] }),
    },
    spec: { containers },
    status: {
      phase: dice.pick(['Running', 'Running', 'Running', 'Pending', 'Failed', 'Succeeded']),
      podIP: dice.chance(0.9) ? `10.0.0.${1 + dice.int(200)}` : '',
      containerStatuses: statuses,
    },
  };
}

/** The Service of an application, or one without selector and its slice. */
function changeService(cluster: SimCluster, dice: Dice): void {
  const name = dice.pick([...APPS, 'named']);
  const key = `/Service/${NAMESPACE}/${name}`;
  if (dice.chance(0.2)) {
    put(cluster, key, null);
    return;
  }
  const selector = name === 'named' ? {} : { selector: { app: name } };
  const ports = [{ port: 80, targetPort: dice.pick<string | number>(['http', 8080, 9090]) }];
  put(cluster, key, {
    ...{ apiVersion: 'v1', kind: 'Service', metadata: { name, namespace: NAMESPACE } },
    spec: { ...selector, ports: dice.chance(0.3) ? [...ports, { port: 81, targetPort: 9090 }] : ports },
  });
  if (name !== 'named') return;
  const labels = { 'kubernetes.io/service-name': name };
  const targets = PODS.filter(() => dice.chance(0.4));
  put(cluster, `discovery.k8s.io/EndpointSlice/${NAMESPACE}/named-1`, {
    ...{ apiVersion: 'discovery.k8s.io/v1', kind: 'EndpointSlice', addressType: 'IPv4' },
    metadata: { name: 'named-1', namespace: NAMESPACE, labels },
    endpoints: targets.map((pod) => ({
      addresses: ['10.0.0.1'],
      targetRef: { kind: 'Pod', name: pod, uid: `uid-${pod}-0` },
    })),
    ports: [{ port: 8080 }],
  });
}

function changeNamespace(cluster: SimCluster, dice: Dice): void {
  const mesh = { 'kuma.io/mesh': 'of-namespace' };
  const metadata = { name: NAMESPACE, ...(dice.chance(0.3) ? { annotations: mesh } : {}) };
  put(cluster, `/Namespace//${NAMESPACE}`, { apiVersion: 'v1', kind: 'Namespace', metadata });
}

/** The Dataplane that Kuma has written for a Pod, and its insight. */
function changeDataplane(cluster: SimCluster, dice: Dice, name: string): void {
  const isGone = dice.chance(0.4);
  const common = { apiVersion: 'kuma.io/v1alpha1', mesh: 'default', metadata: { name, namespace: NAMESPACE } };
  const spec = dice.chance(0.1) ? {} : { networking: { address: '10.0.1.1', inbound: inboundsOf(dice) } };
  put(cluster, `kuma.io/Dataplane/${NAMESPACE}/${name}`, isGone ? null : { ...common, kind: 'Dataplane', spec });
  const ended = dice.chance(0.5) ? { disconnectTime: '2026-01-05T10:00:00Z' } : {};
  const subscriptions = dice.chance(0.8) ? [{ connectTime: '2026-01-05T09:00:00Z', ...ended }] : [];
  put(
    cluster,
    `kuma.io/DataplaneInsight/${NAMESPACE}/${name}`,
    isGone ? null : { ...common, kind: 'DataplaneInsight', status: { subscriptions } },
  );
}

function inboundsOf(dice: Dice): readonly JsonObject[] {
  return Array.from({ length: dice.int(4) }, (_none, at) => ({
    port: 8080 + at,
    tags: { 'kuma.io/service': dice.pick(['shared', 'own']), ...(dice.chance(0.5) ? { 'kuma.io/zone': 'z1' } : {}) },
    ...dice.pick<JsonObject>([
      {},
      {},
      { health: {} },
      { health: { ready: true } },
      { state: 'NotReady' },
      { state: 'Ignored' },
    ]),
    ...(dice.chance(0.2) ? { serviceProbe: { tcp: {} } } : {}),
  }));
}

/** A declared data plane. */
export function declaredDataplane(dice: Dice, name: string): JsonObject {
  const gateway = { gateway: { type: 'BUILTIN', tags: { 'kuma.io/service': 'shared' } } };
  const parts = dice.chance(0.1) ? gateway : { inbound: inboundsOf(dice) };
  return { type: 'Dataplane', mesh: 'default', name, networking: { address: '10.0.2.1', ...parts } };
}
