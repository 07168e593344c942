import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { createTarGzip } from 'nanotar';
import type { JsonValue } from '../../model/json.ts';
import { errorText } from '../../model/messages.ts';
import { type KubeTarget, systemDeps } from '../kube.ts';
import type { RunIo } from '../options.ts';
import { kubernetesPieces } from './kubernetes.ts';
import type { DebugPiece } from './piece.ts';
import { redacted, withoutSecrets } from './redact.ts';

export interface DebugSnapshotRequest {
  /** `.tar.gz` or `.tgz`: an archive; anything else is a folder that is made. */
  readonly destination: string;
  /** What a server has answered; as it came. */
  readonly server: readonly DebugPiece[];
  /** RelayConfig of the server. */
  readonly configFile?: string;
  /** Address of the server's listener for health and metrics; null: it is not asked. */
  readonly serverMetrics: string | null;
  /** Addresses of agents' health listeners. */
  readonly agentHealth: readonly string[];
  readonly kube?: KubeTarget;
  /** Lines of each log. */
  readonly logLines: number;
}

/** What is in a snapshot, and what is not. */
export interface DebugManifest {
  readonly takenAt: string;
  readonly version: string;
  readonly destination: string;
  readonly files: readonly { readonly path: string; readonly bytes: number }[];
  readonly missing: readonly { readonly path: string; readonly why: string }[];
  readonly leftOut: readonly string[];
}

const LEFT_OUT = [
  'what Secrets hold, and digests of it: never asked for, or masked',
  'ConfigMaps other than the settings of the agent: they are never asked for',
  'the content of the desired state: it is in the repository',
  'values of members, options and environment variables whose names speak of secrets: masked',
  'credentials in addresses, headers and texts, tokens, private keys: masked',
];

/**
 * Collects what a maintainer needs into one file, readable by its owner alone. What cannot be had is named in the manifest
 * and is no failure. Rejects with a text for a person if the file is there already or cannot be written.
 */
export async function takeDebugSnapshot(
  request: DebugSnapshotRequest,
  io: Pick<RunIo, 'cwd' | 'env' | 'version'>,
): Promise<DebugManifest> {
  const destination = resolve(io.cwd, request.destination);
  if ((await stat(destination).catch(() => undefined)) !== undefined) {
    throw new Error(`${destination} is there already; name another file with --file`);
  }
  const pieces = [
    ...request.server,
    ...(await configPieces(request, io.cwd)),
    ...(request.serverMetrics === null ? [] : await healthPieces(request.serverMetrics, 'server/')),
    ...(await Promise.all(request.agentHealth.map((each, index) => healthPieces(each, `agents/${index}-`)))).flat(),
    ...(request.kube === undefined ? [] : await kubernetesPieces(request.kube, request.logLines, io)),
  ];
  const files = pieces.flatMap((piece) =>
    piece.type === 'missing' ? [] : [{ path: piece.path, text: safeText(piece) }],
  );
  const missing = pieces.flatMap((piece) =>
    piece.type === 'missing' ? [{ path: piece.path, why: withoutSecrets(piece.why) }] : [],
  );
  const manifest: DebugManifest = {
    takenAt: new Date(systemDeps().clock.now()).toISOString(),
    version: io.version,
    destination,
    files: files.map(({ path, text }) => ({ path, bytes: Buffer.byteLength(text) })),
    missing,
    leftOut: LEFT_OUT,
  };
  const { destination: _where, ...inside } = manifest;
  await write(destination, [{ path: 'manifest.json', text: `${JSON.stringify(inside, undefined, 2)}\n` }, ...files]);
  return manifest;
}

interface SnapshotFile {
  readonly path: string;
  readonly text: string;
}

function safeText(piece: Exclude<DebugPiece, { readonly type: 'missing' }>): string {
  return piece.type === 'text'
    ? withoutSecrets(piece.text)
    : `${JSON.stringify(redacted(piece.value), undefined, 2)}\n`;
}

async function configPieces({ configFile }: DebugSnapshotRequest, cwd: string): Promise<readonly DebugPiece[]> {
  if (configFile === undefined) return [];
  const path = 'server/config.json';
  try {
    const { load } = await import('js-yaml');
    const value = load(await readFile(resolve(cwd, configFile), 'utf8')) as JsonValue;
    return [{ path, type: 'json', value }];
  } catch (error) {
    // The message of a parser quotes the file.
    const why = error instanceof Error && 'code' in error ? errorText(error) : 'it is no YAML';
    return [{ path, type: 'missing', why }];
  }
}

const HEALTH_DEADLINE_MS = 5_000;

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

async function write(destination: string, files: readonly SnapshotFile[]): Promise<void> {
  if (!/\.(tar\.gz|tgz)$/.test(destination)) {
    for (const { path, text } of files) {
      const target = join(destination, path);
      await mkdir(dirname(target), { recursive: true, mode: 0o700 });
      await writeFile(target, text, { mode: 0o600, flag: 'wx' });
    }
    return;
  }
  const folder = 'fleetrelay-debug';
  const archive = await createTarGzip(
    files.map(({ path, text }) => ({ name: `${folder}/${path}`, data: text })),
    { attrs: { mode: '600', uid: 0, gid: 0 } },
  );
  await mkdir(dirname(destination), { recursive: true });
  await writeFile(destination, archive, { mode: 0o600, flag: 'wx' });
}
