import { request } from 'node:https';
import { parseDocument } from 'yaml';
import { loadCatalog } from '../../../src/adapters/kubernetes/api/catalog.ts';
import { connectKube } from '../../../src/adapters/kubernetes/api/connect.ts';
import { createCredentials } from '../../../src/adapters/kubernetes/api/credentials.ts';
import { readKubeconfig } from '../../../src/adapters/kubernetes/api/kubeconfig.ts';
import { resourcePath } from '../../../src/adapters/kubernetes/api/paths.ts';
import type { ApiCatalog, KubeClient } from '../../../src/adapters/kubernetes/api/types.ts';
import { createSystemClock } from '../../../src/adapters/system/clock.ts';
import { createSystemRandom } from '../../../src/adapters/system/random.ts';
import { metadataOf } from '../../../src/model/objects/object-key.ts';
import { type JsonObject, type JsonValue, objectOf, parseJson, textOf } from '../../../src/model/text/json.ts';
import { must } from '../../../src/model/values/result.ts';
import { silentLog } from '../silent-log.ts';
import type { ValidationCase } from '../validation-corpus.ts';

/** What the API server answered to one manifest. */
export interface DryRunAnswer {
  readonly isRefused: boolean;
  /** Its words; empty if it accepts the manifest. */
  readonly message: string;
}

/** Asks an API server whether it would take manifests, as `kubectl create --dry-run=server --validate=strict` does. */
export interface DryRun {
  /** Creates the case's namespace and CustomResourceDefinition for real, if they are not there. */
  prepare(cases: readonly ValidationCase[]): Promise<void>;
  /** Sends the text of the manifest as it is. Rejects if the server gives no answer about the manifest. */
  send(validationCase: ValidationCase): Promise<DryRunAnswer>;
  close(): Promise<void>;
}

const DRY_RUN = 'dryRun=All&fieldValidation=Strict';
const CRDS = { group: 'apiextensions.k8s.io', version: 'v1', resource: 'customresourcedefinitions' };
const ESTABLISHED_MS = 60_000;

/** Connects as the current context of the kubeconfig. */
export async function createDryRun(kubeconfig: string): Promise<DryRun> {
  const clock = createSystemClock();
  const deps = { clock, random: createSystemRandom(), log: silentLog };
  const { client } = must(await connectKube(deps, { kubeconfig, userAgent: 'fleetrelay-test/1' }));
  // The client sends JSON; a manifest is sent as it is written, so that duplicate keys arrive.
  const credentials = createCredentials(clock, () => readKubeconfig([kubeconfig], undefined));
  let catalog = must(await loadCatalog(client));
  const impossible = new Set<string>();
  return {
    prepare: async (cases) => {
      for (const name of new Set(cases.map(({ bytes }) => textOf(metadataOf(readLoosely(bytes)).namespace)))) {
        const body = { apiVersion: 'v1', kind: 'Namespace', metadata: { name } };
        if (name === '') continue;
        const answer = await client.request({ method: 'POST', path: '/api/v1/namespaces', body });
        if (answer.type === 'refused' && answer.refusal.reason === 'Invalid') impossible.add(name);
      }
      for (const { crd } of cases) {
        if (crd !== undefined) catalog = await createDefinition(client, catalog, readLoosely(crd));
      }
    },
    send: async ({ bytes }) => {
      const manifest = readLoosely(bytes);
      const path = collectionOf(catalog, manifest);
      if (impossible.has(textOf(metadataOf(manifest).namespace))) {
        return { isRefused: true, message: 'no namespace can have this name' };
      }
      if (path === undefined) return { isRefused: true, message: 'the server does not have this kind' };
      const { headers, agent } = must(await credentials.access());
      const { promise, resolve, reject } = Promise.withResolvers<string>();
      const options = { method: 'POST', agent, headers: { ...headers, 'content-type': 'application/yaml' } };
      const sent = request(`${client.server}${path}?${DRY_RUN}`, options, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => resolve(Buffer.concat(chunks).toString('utf8')));
      });
      sent.on('error', reject);
      sent.end(bytes);
      return answerOf(await promise);
    },
    close: async () => {
      await credentials.close();
      await client.close();
    },
  };
}

/** The manifest as far as the path of the request needs it, whatever is wrong with it. */
function readLoosely(text: Uint8Array | string): JsonObject {
  const source = typeof text === 'string' ? text : new TextDecoder().decode(text);
  return objectOf(parseDocument(source, { uniqueKeys: false, logLevel: 'silent' }).toJS() as JsonValue);
}

function collectionOf(catalog: ApiCatalog, manifest: JsonObject): string | undefined {
  const apiVersion = textOf(manifest.apiVersion);
  const slash = apiVersion.indexOf('/');
  const group = apiVersion.slice(0, Math.max(slash, 0));
  const resource = catalog.find(group, textOf(manifest.kind), apiVersion.slice(slash + 1));
  if (resource === undefined) return undefined;
  const namespace = textOf(metadataOf(manifest).namespace) || 'default';
  return resourcePath({ resource, ...(resource.namespaced ? { namespace } : {}) });
}

/** Refusals for what the manifest holds. The reason `AlreadyExists` comes after all checks of the manifest. */
const REFUSALS: readonly string[] = ['Invalid', 'BadRequest', 'Forbidden'];

function answerOf(text: string): DryRunAnswer {
  const body = objectOf(parseJson(text));
  const { kind, status, reason, message } = body;
  if (kind !== 'Status' || status === 'Success' || reason === 'AlreadyExists') return { isRefused: false, message: '' };
  if (REFUSALS.includes(textOf(reason))) return { isRefused: true, message: textOf(message) };
  // Failures to decode a value have no reason of their own.
  if (body.code === 500 || body.code === 422) return { isRefused: true, message: textOf(message) };
  throw new Error(`the API server did not judge the manifest: ${text}`);
}

/** Creates the definition and waits until the server offers the kind. */
async function createDefinition(client: KubeClient, before: ApiCatalog, crd: JsonObject): Promise<ApiCatalog> {
  const { group, names } = objectOf(crd.spec);
  const answer = await client.request({ method: 'POST', path: resourcePath({ resource: CRDS }), body: crd });
  if (answer.type !== 'ok' && !(answer.type === 'refused' && answer.status === 409)) {
    throw new Error(`the CustomResourceDefinition was not created: ${JSON.stringify(answer)}`);
  }
  const until = Date.now() + ESTABLISHED_MS;
  for (;;) {
    const catalog = must(await loadCatalog(client, before));
    if (catalog.find(textOf(group), textOf(objectOf(names).kind)) !== undefined) return catalog;
    if (Date.now() > until) throw new Error(`the API server does not offer ${JSON.stringify(names)}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
