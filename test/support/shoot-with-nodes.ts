import type { JsonObject } from '../../src/model/text/json.ts';
import { createEngineWorld } from './engine-world.ts';
import { clusterYaml } from './manifests.ts';

const SINCE = 1_767_225_600;
const KEY = 'garden-web/blue';
const CONTROL_PLANE = 'shoot--web--blue';

/** A condition of an object. */
export const condition = (type: string, status: string, reason = 'Because', message = 'so it is'): JsonObject => ({
  ...{ type, status, reason, message },
});

/** What differs from a Node as it should be. */
export interface NodeDifference {
  readonly pool?: string | null;
  readonly conditions?: readonly JsonObject[];
  readonly version?: string;
  readonly labels?: JsonObject;
  readonly annotations?: JsonObject;
  readonly spec?: JsonObject;
}

/** An engine with the Shoot `blue`, whose cluster has an agent; with `seed`, also a Seed in which its API server runs. */
export function createShootWithNodes(pools: string, { seed }: { readonly seed: boolean }) {
  const world = createEngineWorld();
  const { engine } = world;
  const { inputs } = engine;
  let digests = 0;
  const isHere = { since: SINCE * 1000, problem: '', warm: true, assumedWarm: false, kindsAsWritten: true };
  for (const name of seed ? ['blue', 'seed'] : ['blue']) {
    world.file(`${name}.yaml`, clusterYaml(name));
    inputs.agents.set('', name, { ...isHere, connected: true });
    inputs.snapshots.set('', name, { since: SINCE * 1000 });
  }
  const spec = `{${seed ? 'seedName: seed, ' : ''}kubernetes: {version: 1.33.2}, provider: {type: local, workers: ${pools}}}`;
  world.file(
    'shoot.yaml',
    `apiVersion: core.gardener.cloud/v1beta1\nkind: Shoot\nmetadata: {name: blue, namespace: garden-web}\nspec: ${spec}\n`,
  );
  const live = (cluster: string, key: string, value?: JsonObject): void => {
    digests += 1;
    if (value === undefined) inputs.live.delete(cluster, key);
    else inputs.live.set(cluster, key, { key, value, digest: String(digests) } as never);
  };
  if (seed) live('seed', `apps/Deployment/${CONTROL_PLANE}/kube-apiserver`, { spec: { replicas: 1 } });
  const metadata = (name: string, labels: JsonObject = {}, annotations: JsonObject = {}) => ({
    name,
    labels,
    annotations,
  });

  return {
    ...world,
    /** Stages a live object; absent without a value. */
    live,
    /** Stages a Node that is as it should be, but for the difference. */
    node(name: string, { pool = 'a', conditions = [], version = 'v1.33.2', ...more }: NodeDifference = {}): void {
      const label = pool === null ? {} : { 'worker.gardener.cloud/pool': pool };
      const applied = { 'checksum/cloud-config-data': 'c1', ...more.annotations };
      const ready = conditions.some(({ type }) => type === 'Ready') ? [] : [condition('Ready', 'True')];
      live('blue', `/Node//${name}`, {
        metadata: metadata(name, { ...label, ...more.labels }, applied),
        spec: more.spec ?? {},
        status: { nodeInfo: { kubeletVersion: version }, conditions: [...ready, ...conditions] },
      });
    },
    /** Stages the operating system config of a pool. */
    config(pool: string, checksum = 'c1', name = `osc-${pool}`): void {
      const labels = { 'gardener.cloud/role': 'operating-system-config', 'worker.gardener.cloud/pool': pool };
      live('blue', `/Secret/kube-system/${name}`, {
        metadata: metadata(name, labels, { 'checksum/data-script': checksum }),
      });
    },
    /** Stages the report of Leases. */
    leases(valid: readonly string[], expired: readonly string[] = [], leftOut?: number): void {
      const status = {
        valid,
        expired: expired.map((lease) => ({ lease })),
        ...(leftOut === undefined ? {} : { leftOut }),
      };
      live('blue', 'internal.fleetrelay.dev/LeaseReport//leases', { metadata: { name: 'leases' }, status });
    },
    /** Stages a Machine in the namespace of the control plane. */
    machine(name: string, phase: string, node = '', deletionTimestamp?: string, preserveExpiryTime?: string): void {
      const labels = node === '' ? {} : { node };
      live('seed', `machine.sapcloud.io/Machine/${CONTROL_PLANE}/${name}`, {
        metadata: { name, labels, ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }) },
        status: { currentStatus: { phase, ...(preserveExpiryTime === undefined ? {} : { preserveExpiryTime }) } },
      });
    },
    /** Stages a MachineDeployment in the namespace of the control plane. */
    machines(name: string, replicas: number, status: JsonObject = {}, more: JsonObject = {}): void {
      const value = { metadata: { name, ...more }, spec: { replicas }, status };
      live('seed', `machine.sapcloud.io/MachineDeployment/${CONTROL_PLANE}/${name}`, value);
    },
    /** Stages that a kind cannot be listed, in a cluster or in a Namespace of it. */
    unseen(cluster: string, kind: string, namespace?: string): void {
      const listed = {
        kind,
        state: 'complete',
        message: '',
        unlisted: { [namespace ?? '']: 'it is forbidden' },
      } as const;
      const unlisted = { kind, state: 'unknown', message: 'it is forbidden' } as const;
      inputs.kinds.set(cluster, kind, namespace === undefined ? unlisted : listed);
    },
    /** Stages the status written last. */
    wrote(conditions: readonly JsonObject[], lastOperation?: JsonObject): void {
      inputs.observed.set('Shoot', KEY, { conditions, fields: { lastOperation } } as never);
    },
    /** Commits; returns the condition EveryNodeReady, undefined if there is none. */
    found() {
      engine.commit();
      return engine.statuses.get('Shoot', KEY)?.conditions.find(({ type }) => type === 'EveryNodeReady');
    },
  };
}
