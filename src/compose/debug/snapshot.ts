import { readFile, stat, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { createTarGzip } from 'nanotar';
import { makeFolders } from '../../adapters/disk/folders.ts';
import { resourcePath } from '../../adapters/kubernetes/api/paths.ts';
import type { KubeAnswer } from '../../adapters/kubernetes/api/types.ts';
import { openInventory } from '../../adapters/kubernetes/inventory/inventory.ts';
import { LEASES } from '../../adapters/kubernetes/lease.ts';
import { metadataOf } from '../../model/objects/object-key.ts';
import { type JsonValue, objectsOf, textOf } from '../../model/text/json.ts';
import { errorText } from '../../model/text/messages.ts';
import { runChecks } from '../check/checks.ts';
import { type Kube, type KubeIo, OUR_PARTS, openKube, RESOURCES, read, refusalOf, systemDeps } from '../kube.ts';
import { installedAgent } from '../manifests/installed-agent.ts';
import type { KubeTarget } from '../options.ts';
import { redacted, withoutSecrets } from './redact.ts';

export interface DebugSnapshotRequest {
  /** `.tar.gz` or `.tgz`: an archive; anything else is a folder that is made. */
  readonly destination: string;
  /** The answers of a server, not redacted yet. */
  readonly server: readonly DebugPiece[];
  /** RelayConfig of the server. */
  readonly configFile?: string | undefined;
  /** Address of the server's listener for health and metrics; null: it is not asked. */
  readonly serverMetrics: string | null;
  /** Addresses of agents' health listeners. */
  readonly agentHealth: readonly string[];
  readonly kube?: KubeTarget | undefined;
  /** Lines of each log. */
  readonly logLines: number;
}

/** A file of the snapshot, or why it is missing. */
export type DebugPiece =
  | { readonly path: string; readonly type: 'json'; readonly value: JsonValue }
  | { readonly path: string; readonly type: 'text'; readonly text: string }
  | { readonly path: string; readonly type: 'missing'; readonly why: string };

/** The contents of a snapshot. */
export interface DebugManifest {
  readonly takenAt: string;
  readonly version: string;
  readonly destination: string;
  readonly files: readonly { readonly path: string; readonly bytes: number }[];
  readonly missing: readonly { readonly path: string; readonly why: string }[];
  readonly leftOut: readonly string[];
}

const HEALTH_DEADLINE_MS = 5_000;
const LEFT_OUT = [
  'what Secrets hold, and digests of it: never asked for, or masked',
  'ConfigMaps other than the settings of the agent: they are never asked for',
  'the content of the desired state: it is in the repository',
  'values of members, options and environment variables whose names speak of secrets: masked',
  'credentials in addresses, headers and texts, tokens, private keys: masked',
];

/** The lists that are read in the namespace of fleetrelay. No Secrets, and no ConfigMaps but the agent's settings. */
const LISTS = [
  RESOURCES.deployments,
  RESOURCES.pods,
  { group: 'apps', version: 'v1', resource: 'replicasets' },
  { group: '', version: 'v1', resource: 'events' },
  { group: '', version: 'v1', resource: 'services' },
  LEASES,
  { group: 'networking.k8s.io', version: 'v1', resource: 'networkpolicies' },
];

/**
 * Collects what a maintainer needs into one file, readable by its owner alone. A missing piece is named in the manifest
 * and is no failure. Rejects with a text for a person if the file exists or cannot be written.
 */
export async function takeDebugSnapshot(request: DebugSnapshotRequest, io: KubeIo): Promise<DebugManifest> {
  const destination = resolve(io.cwd, request.destination);
  if ((await stat(destination).catch(() => undefined)) !== undefined) {
    throw new Error(`${destination} is there already; name another file with --file`);
  }
  const { configFile, serverMetrics, agentHealth, kube, logLines } = request;
  const pieces = [
    ...request.server,
    ...(configFile === undefined ? [] : [await configPiece(resolve(io.cwd, configFile))]),
    ...(serverMetrics === null ? [] : await healthPieces(serverMetrics, 'server/')),
    ...(await Promise.all(agentHealth.map((each, index) => healthPieces(each, `agents/${index}-`)))).flat(),
    ...(kube === undefined ? [] : await kubernetesPieces(kube, logLines, io)),
  ];
  const files: SnapshotFile[] = [];
  const missing: { path: string; why: string }[] = [];
  for (const piece of pieces) {
    const { path } = piece;
    if (piece.type === 'missing') missing.push({ path, why: withoutSecrets(piece.why) });
    else if (piece.type === 'text') files.push({ path, text: withoutSecrets(piece.text) });
    else files.push({ path, text: `${JSON.stringify(redacted(piece.value), undefined, 2)}\n` });
  }
  const inside = {
    takenAt: new Date(systemDeps().clock.now()).toISOString(),
    version: io.version,
    files: files.map(({ path, text }) => ({ path, bytes: Buffer.byteLength(text) })),
    missing,
    leftOut: LEFT_OUT,
  };
  await write(destination, [{ path: 'manifest.json', text: `${JSON.stringify(inside, undefined, 2)}\n` }, ...files]);
  return { ...inside, destination };
}

interface SnapshotFile {
  readonly path: string;
  readonly text: string;
}

async function write(destination: string, files: readonly SnapshotFile[]): Promise<void> {
  if (!/\.(tar\.gz|tgz)$/.test(destination)) {
    for (const { path, text } of files) {
      const target = join(destination, path);
      await makeFolders(dirname(target), { mode: 0o700 });
      await writeFile(target, text, { mode: 0o600, flag: 'wx' });
    }
    return;
  }
  const archive = await createTarGzip(
    files.map(({ path, text }) => ({ name: `fleetrelay-debug/${path}`, data: text })),
    { attrs: { mode: '600', uid: 0, gid: 0 } },
  );
  await makeFolders(dirname(destination));
  await writeFile(destination, archive, { mode: 0o600, flag: 'wx' });
}

async function configPiece(file: string): Promise<DebugPiece> {
  const path = 'server/config.json';
  try {
    const { load } = await import('js-yaml');
    return { path, type: 'json', value: load(await readFile(file, 'utf8')) as JsonValue };
  } catch (error) {
    // The message of a parser quotes the file.
    const why = error instanceof Error && 'code' in error ? errorText(error) : 'it is no YAML';
    return { path, type: 'missing', why };
  }
}

async function healthPieces(address: string, prefix: string): Promise<readonly DebugPiece[]> {
  return Promise.all(
    ['readyz', 'metrics'].map(async (what): Promise<DebugPiece> => {
      const path = `${prefix}${what}.txt`;
      try {
        const url = new URL(what, address.endsWith('/') ? address : `${address}/`);
        const response = await fetch(url, { signal: AbortSignal.timeout(HEALTH_DEADLINE_MS), redirect: 'error' });
        return { path, type: 'text', text: await response.text() };
      } catch (error) {
        return { path, type: 'missing', why: `${address}: ${errorText(error)}` };
      }
    }),
  );
}

/** What the API server of a cluster holds in the namespace of fleetrelay. */
async function kubernetesPieces(target: KubeTarget, logLines: number, io: KubeIo): Promise<readonly DebugPiece[]> {
  const opened = await openKube(target, io).catch(errorText);
  if (typeof opened === 'string') return [{ path: 'kubernetes', type: 'missing', why: opened }];
  await using kube = opened;
  const { client, catalog, namespace } = kube;
  const get = (path: string): Promise<KubeAnswer> => client.request({ method: 'GET', path });
  const { settings } = await installedAgent(kube);
  const kinds = {
    kinds: catalog.preferred.map(({ group, version, kind }) => `${kind}.${version}.${group}`),
    unreadableGroups: [...catalog.unreadableGroups],
  };
  const findings = await runChecks({ kube: target }, io);
  return [
    { path: 'kubernetes/check.json', type: 'json', value: findings.map((finding) => ({ ...finding })) },
    answerPiece('version', await get('/version')),
    { path: 'kubernetes/kinds.json', type: 'json', value: kinds },
    answerPiece('namespace', await get(resourcePath({ resource: RESOURCES.namespaces, name: namespace }))),
    answerPiece('settings', await read(kube, RESOURCES.configMaps, { name: settings })),
    ...(await Promise.all(LISTS.map(async (resource) => answerPiece(resource.resource, await read(kube, resource))))),
    await inventoryPiece(kube),
    ...(await logPieces(kube, logLines)),
  ];
}

function answerPiece(name: string, answer: KubeAnswer): DebugPiece {
  const path = `kubernetes/${name}.json`;
  return answer.type === 'ok'
    ? { path, type: 'json', value: answer.body }
    : { path, type: 'missing', why: refusalOf(answer) ?? '' };
}

async function inventoryPiece({ client, namespace }: Kube): Promise<DebugPiece> {
  const path = 'kubernetes/inventory.json';
  try {
    const loaded = await openInventory({ ...systemDeps(), client }, { namespace }).load();
    return { path, type: 'json', value: JSON.parse(JSON.stringify(loaded)) as JsonValue };
  } catch (error) {
    return { path, type: 'missing', why: errorText(error) };
  }
}

async function logPieces(kube: Kube, lines: number): Promise<readonly DebugPiece[]> {
  const answer = await read(kube, RESOURCES.pods, { query: OUR_PARTS });
  const listed = answer.type === 'ok' ? objectsOf(answer.body.items) : [];
  const names = listed.map((pod) => textOf(metadataOf(pod).name)).filter((name) => name !== '');
  return Promise.all(
    names.map(async (name): Promise<DebugPiece> => {
      // A name in an archive is at most 100 bytes long.
      const path = `kubernetes/logs/${name.slice(-60)}.log`;
      const log = await kube.client.request({
        method: 'GET',
        path: resourcePath({ resource: RESOURCES.pods, namespace: kube.namespace, name, subresource: 'log' }),
        query: { tailLines: String(lines), timestamps: 'true' },
        accept: 'text/plain, */*',
      });
      return log.type === 'ok'
        ? { path, type: 'text', text: String(log.body.text ?? '') }
        : { path, type: 'missing', why: refusalOf(log) ?? '' };
    }),
  );
}
