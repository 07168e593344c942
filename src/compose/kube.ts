import { resolve } from 'node:path';
import { loadCatalog } from '../adapters/kubernetes/api/catalog.ts';
import { connectKube } from '../adapters/kubernetes/api/connect.ts';
import { resourcePath } from '../adapters/kubernetes/api/paths.ts';
import type { ApiCatalog, ApiResource, KubeAnswer, KubeClient } from '../adapters/kubernetes/api/types.ts';
import { createSystemClock } from '../adapters/system/clock.ts';
import { createPinoLog } from '../adapters/system/pino-log.ts';
import { createSystemRandom } from '../adapters/system/random.ts';
import type { JsonObject } from '../model/json.ts';
import { displayKey, objectKey, parseApiVersion, refOfObject } from '../model/object-key.ts';
import { must } from '../model/result.ts';
import type { RunIo } from './options.ts';

/** Which API server, as whom and in which namespace; what is left out is found by kubectl's rules. */
export interface KubeTarget {
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly namespace?: string;
}

/** An API server that a command speaks to. */
export interface Kube {
  readonly client: KubeClient;
  readonly catalog: ApiCatalog;
  /** As told, else of the context, else `fleetrelay`. */
  readonly namespace: string;
}

/** Of an object only whether it is there and what its metadata say: for `accept` of a request. */
export const METADATA_ONLY = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1';

/** What every command that speaks to an API server works with. */
export function systemDeps() {
  return { clock: createSystemClock(), random: createSystemRandom(), log: createPinoLog({ level: 'error' }) };
}

/** Opens a way to an API server without asking it anything. Rejects with a text for a person. */
export async function openClient(
  target: KubeTarget,
  { cwd, env, version }: Pick<RunIo, 'cwd' | 'env' | 'version'>,
): Promise<Omit<Kube, 'catalog'>> {
  const { kubeconfig, context } = target;
  const found = await connectKube(systemDeps(), {
    userAgent: `fleetrelay/${version}`,
    env,
    ...(kubeconfig === undefined ? {} : { kubeconfig: resolve(cwd, kubeconfig) }),
    ...(context === undefined ? {} : { context }),
  });
  if (!found.ok) throw new Error(found.problem);
  const { client, namespace } = found.value;
  return { client, namespace: target.namespace ?? namespace ?? 'fleetrelay' };
}

/** Opens a way to an API server and asks it for its kinds. Rejects with a text for a person. */
export async function openKube(target: KubeTarget, io: Pick<RunIo, 'cwd' | 'env' | 'version'>): Promise<Kube> {
  const opened = await openClient(target, io);
  const catalog = await loadCatalog(opened.client);
  if (catalog.ok) return { ...opened, catalog: catalog.value };
  await opened.client.close();
  throw new Error(`${opened.client.server}: ${catalog.problem}`);
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

/** Where the object of a manifest is. */
export function pathOf(kube: Kube, manifest: JsonObject): string {
  const resource = resourceOf(kube, manifest);
  const { namespace, name } = must(refOfObject(manifest));
  return resourcePath({ resource, name, ...(resource.namespaced ? { namespace } : {}) });
}
