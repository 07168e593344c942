import { resolve } from 'node:path';
import { loadCatalog } from '../adapters/kubernetes/api/catalog.ts';
import { connectKube } from '../adapters/kubernetes/api/connect.ts';
import { resourcePath } from '../adapters/kubernetes/api/paths.ts';
import type { ApiCatalog, ApiResource, KubeAnswer, KubeClient, KubeRequest } from '../adapters/kubernetes/api/types.ts';
import { createSystemClock } from '../adapters/system/clock.ts';
import { createPinoLog } from '../adapters/system/pino-log.ts';
import { createSystemRandom } from '../adapters/system/random.ts';
import { displayKey, objectKey, parseApiVersion, refOfObject } from '../model/objects/object-key.ts';
import type { JsonObject } from '../model/text/json.ts';
import { given } from '../model/values/given.ts';
import { must } from '../model/values/result.ts';
import type { AgentPlace, KubeTarget, RunIo } from './options.ts';

/** An open connection to an API server. */
export interface Kube extends AsyncDisposable {
  readonly client: KubeClient;
  readonly catalog: ApiCatalog;
  /** The given namespace, else the context's, else `fleetrelay`. */
  readonly namespace: string;
}

/** The part of {@link Kube} that reading needs. */
export type KubeReader = Pick<Kube, 'client' | 'namespace'>;

/** The part of a process that a command with an API server needs. */
export type KubeIo = Pick<RunIo, 'cwd' | 'env' | 'version'>;

/** A resource of an API server. */
export interface KubeResource {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
}

/** Resources that the commands read. */
export const RESOURCES = {
  namespaces: { group: '', version: 'v1', resource: 'namespaces' },
  configMaps: { group: '', version: 'v1', resource: 'configmaps' },
  secrets: { group: '', version: 'v1', resource: 'secrets' },
  pods: { group: '', version: 'v1', resource: 'pods' },
  serviceAccounts: { group: '', version: 'v1', resource: 'serviceaccounts' },
  roles: { group: 'rbac.authorization.k8s.io', version: 'v1', resource: 'roles' },
  roleBindings: { group: 'rbac.authorization.k8s.io', version: 'v1', resource: 'rolebindings' },
  clusterRoles: { group: 'rbac.authorization.k8s.io', version: 'v1', resource: 'clusterroles' },
  clusterRoleBindings: { group: 'rbac.authorization.k8s.io', version: 'v1', resource: 'clusterrolebindings' },
  deployments: { group: 'apps', version: 'v1', resource: 'deployments' },
  statefulSets: { group: 'apps', version: 'v1', resource: 'statefulsets' },
  mutatingWebhooks: {
    group: 'admissionregistration.k8s.io',
    version: 'v1',
    resource: 'mutatingwebhookconfigurations',
  },
  admissionPolicies: {
    group: 'admissionregistration.k8s.io',
    version: 'v1',
    resource: 'validatingadmissionpolicies',
  },
  admissionPolicyBindings: {
    group: 'admissionregistration.k8s.io',
    version: 'v1',
    resource: 'validatingadmissionpolicybindings',
  },
} as const satisfies Readonly<Record<string, KubeResource>>;

/** The value of `accept` that asks for the metadata of an object only. */
export const METADATA_ONLY = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1';

/** The label selector of everything that belongs to an installation of fleetrelay. */
export const OUR_PARTS = { labelSelector: 'app.kubernetes.io/part-of=fleetrelay' };

/** Clock, randomness and log of every command that talks to an API server. */
export function systemDeps() {
  return { clock: createSystemClock(), random: createSystemRandom(), log: createPinoLog({ level: 'error' }) };
}

/** Where `cluster register` installs an agent unless it is told otherwise. */
export const AGENT_NAMESPACE = 'fleetrelay';

/** Connects to an API server without asking it anything. Rejects with a text for a person. */
export async function openClient(target: KubeTarget, { cwd, env, version }: KubeIo): Promise<KubeReader> {
  const { kubeconfig, context } = target;
  const found = await connectKube(systemDeps(), {
    userAgent: `fleetrelay/${version}`,
    env,
    ...(kubeconfig === undefined ? {} : { kubeconfig: resolve(cwd, kubeconfig) }),
    ...given({ context }),
  });
  if (!found.ok) throw new Error(found.problem);
  const { client, namespace } = found.value;
  return { client, namespace: target.namespace ?? namespace ?? AGENT_NAMESPACE };
}

/** Connects to an API server and asks it for its kinds. Rejects with a text for a person. */
export async function openKube(target: KubeTarget, io: KubeIo): Promise<Kube> {
  const opened = await openClient(target, io);
  const { client } = opened;
  const catalog = await loadCatalog(client);
  if (catalog.ok) return { ...opened, catalog: catalog.value, [Symbol.asyncDispose]: () => client.close() };
  await client.close();
  throw new Error(`${client.server}: ${catalog.problem}`);
}

/** As {@link openKube}, for the cluster with the agent. */
export function openAgentKube(place: AgentPlace, io: KubeIo): Promise<Kube> {
  const { agentKubeconfig: kubeconfig, agentContext: context, agentNamespace: namespace } = place;
  return openKube({ kubeconfig, context, namespace }, io);
}

/** Reads one object of the namespace, or the list of them if no name is given. */
export function read(
  { client, namespace }: KubeReader,
  resource: KubeResource,
  { name, ...more }: { readonly name?: string } & Pick<KubeRequest, 'accept' | 'query'> = {},
): Promise<KubeAnswer> {
  const path = resourcePath({ resource, namespace, ...given({ name }) });
  return client.request({ method: 'GET', path, ...more });
}

/** Whether the API server answers that the object does not exist. */
export function isMissing(answer: KubeAnswer): boolean {
  return answer.type === 'refused' && answer.status === 404;
}

/** Why a request did not succeed, for people; undefined if it did. */
export function refusalOf(answer: KubeAnswer): string | undefined {
  switch (answer.type) {
    case 'ok':
      return undefined;
    case 'refused':
      return answer.refusal.message === '' ? `status ${answer.status}` : answer.refusal.message;
    case 'unreachable':
      return answer.message;
  }
}

/** `Deployment.apps/fleetrelay/fleetrelay-agent`. */
export function nameOf(manifest: JsonObject): string {
  return displayKey(objectKey(must(refOfObject(manifest))));
}

/** The kind of a manifest as this API server offers it. Throws with a text for a person if it does not. */
export function resourceOf({ catalog, client }: Kube, manifest: JsonObject): ApiResource {
  const { group, kind } = must(refOfObject(manifest));
  const { version } = must(parseApiVersion(String(manifest.apiVersion)));
  const found = catalog.find(group, kind, version);
  if (found !== undefined) return found;
  throw new Error(`${client.server} has no kind ${kind} of ${String(manifest.apiVersion)}`);
}

/** Whether this API server has the kind of a manifest. */
export function isOffered({ catalog }: Pick<Kube, 'catalog'>, manifest: JsonObject): boolean {
  const { group, kind } = must(refOfObject(manifest));
  return catalog.find(group, kind) !== undefined;
}

/** The path of the object of a manifest. */
export function pathOf(kube: Kube, manifest: JsonObject): string {
  const resource = resourceOf(kube, manifest);
  const { namespace, name } = must(refOfObject(manifest));
  return resourcePath({ resource, name, ...(resource.namespaced ? { namespace } : {}) });
}
