import { resourcePath } from '../../adapters/kubernetes/api/paths.ts';
import { isJsonObject, type JsonObject, type JsonValue, objectOf, objectsOf } from '../../model/json.ts';
import { type Kube, refusalOf } from '../kube.ts';

/** The names of what an agent in a cluster consists of, however it was installed. */
export interface InstalledAgent {
  readonly deployment: string;
  /** Of Helm; undefined if something else has installed it. */
  readonly release: string | undefined;
  readonly serviceAccount: string;
  /** ConfigMap with the name of the cluster and the address of the server. */
  readonly settings: string;
  readonly tokenSecret: string;
  /** ConfigMap with the authority of the server; undefined: there is none, or it is in a Secret. */
  readonly authority: { readonly name: string; readonly key: string } | undefined;
}

/** The names in the manifests of `cluster register`. Kustomize adds a digest to some, Helm the name of a release. */
const USUAL: InstalledAgent = {
  deployment: 'fleetrelay-agent',
  release: undefined,
  serviceAccount: 'fleetrelay-agent',
  settings: 'fleetrelay-agent-settings',
  tokenSecret: 'fleetrelay-agent-token',
  authority: { name: 'fleetrelay-relay-ca', key: 'ca.crt' },
};

type Lookup = Pick<Kube, 'client' | 'namespace'>;

/** What the Deployment of the agent names; the usual names if there is none, or it may not be read. */
export async function installedAgent({ client, namespace }: Lookup): Promise<InstalledAgent> {
  const resource = { group: 'apps', version: 'v1', resource: 'deployments' };
  const query = { labelSelector: 'app.kubernetes.io/part-of=fleetrelay' };
  const answer = await client.request({ method: 'GET', path: resourcePath({ resource, namespace }), query });
  const items = answer.type === 'ok' ? objectsOf(answer.body.items) : [];
  return items.map(agentOf).find((found) => found !== undefined) ?? USUAL;
}

/** The name of the cluster, as the settings of the agent in it say; undefined if there are none. Rejects if nobody knows. */
export async function installedClusterName(kube: Lookup): Promise<string | undefined> {
  const { client, namespace } = kube;
  const { settings } = await installedAgent(kube);
  const resource = { group: '', version: 'v1', resource: 'configmaps' };
  const answer = await client.request({ method: 'GET', path: resourcePath({ resource, namespace, name: settings }) });
  if (answer.type === 'refused' && answer.status === 404) return undefined;
  if (answer.type !== 'ok') throw new Error(`${client.server}: ${refusalOf(answer)}`);
  return isJsonObject(answer.body.data) ? String(answer.body.data.cluster) : '';
}

function agentOf({ metadata, spec }: JsonObject): InstalledAgent | undefined {
  const pod = objectAt(objectAt(spec, 'template'), 'spec');
  const container = objectsOf(pod.containers).find(({ args }) => Array.isArray(args) && args[0] === 'agent');
  if (container === undefined) return undefined;
  const cluster = objectsOf(container.env).find(({ name }) => name === 'CLUSTER');
  const volumes = new Map(objectsOf(pod.volumes).map((volume) => [volume.name, volume]));
  const ca = objectAt(volumes.get('ca'), 'configMap');
  const [item] = objectsOf(ca.items);
  const labels = objectAt(metadata, 'labels');
  const isRelease = labels['app.kubernetes.io/managed-by'] === 'Helm';
  return {
    deployment: textAt(metadata, 'name') ?? USUAL.deployment,
    release: isRelease ? textAt(labels, 'app.kubernetes.io/instance') : undefined,
    serviceAccount: textAt(pod, 'serviceAccountName') ?? 'default',
    settings: textAt(objectAt(objectAt(cluster, 'valueFrom'), 'configMapKeyRef'), 'name') ?? USUAL.settings,
    tokenSecret: textAt(objectAt(volumes.get('token'), 'secret'), 'secretName') ?? USUAL.tokenSecret,
    authority: typeof ca.name === 'string' ? { name: ca.name, key: textAt(item, 'key') ?? 'ca.crt' } : undefined,
  };
}

function objectAt(value: JsonValue | undefined, member: string): JsonObject {
  return objectOf(objectOf(value)[member]);
}

function textAt(value: JsonValue | undefined, member: string): string | undefined {
  const inner = objectOf(value)[member];
  return typeof inner === 'string' ? inner : undefined;
}
