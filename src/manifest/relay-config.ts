import { type RelayConfig as ConfigDocument, type Source, validate } from '../../generated/relay-config.js';
import { type Diagnostic, diagnosticOf } from '../model/diagnostic.ts';
import { customKinds } from '../model/engine-kinds.ts';
import type { FieldPath } from '../model/field-path.ts';
import { parseFleetName, parseSourceName, type SourceName } from '../model/ids.ts';
import { isJsonObject } from '../model/json.ts';
import type { RelayConfig, SourceConfig, StatusTarget } from '../model/relay-config.ts';
import { check } from './kinds/reading.ts';
import { defaultDecodeLimits } from './limits.ts';
import { type FieldProblem, fieldError } from './problem.ts';
import { type Finding, inOrder, isClean, readFile } from './read-file.ts';
import { readHttp, readRelay } from './relay-listen.ts';
import { readCredentials, readSecret } from './relay-secrets.ts';
import { readReplicas, readStore } from './relay-store.ts';
import { repositoryProblem, subFolderProblem } from './repository-address.ts';

/** The server's configuration, absent if there is an error among the diagnostics. */
export interface DecodedRelayConfig {
  readonly config?: RelayConfig;
  readonly diagnostics: readonly Diagnostic[];
}

/** Decodes the server's own file: exactly one `fleetrelay.dev/v1alpha1 RelayConfig`. Never throws for any bytes. */
export function decodeRelayConfig(path: string, bytes: Uint8Array): DecodedRelayConfig {
  const file = readFile(path, bytes, defaultDecodeLimits);
  const findings: Finding[] = [...file.findings];
  const documents = file.documents.filter((document) => document.value !== null);
  const [document, extra] = documents;
  if (!isClean(findings)) return { diagnostics: inOrder(findings) };
  if (document === undefined) {
    const message = 'the file holds no RelayConfig';
    return { diagnostics: [diagnosticOf({ severity: 'error', reason: 'NoConfig', message, at: { path } })] };
  }
  if (extra !== undefined) {
    findings.push(
      file.place(extra, fieldError('SeveralDocuments', [], 'the file must hold one RelayConfig and no more')),
    );
  }
  const problems: FieldProblem[] = [];
  const config = isJsonObject(document.value) ? readConfig(document.value, problems) : undefined;
  if (!isJsonObject(document.value)) problems.push(fieldError('NotAnObject', [], 'a RelayConfig must be a mapping'));
  findings.push(...problems.map((problem) => file.place(document, problem)));
  const diagnostics = inOrder(findings);
  return config === undefined || !isClean(findings) ? { diagnostics } : { config, diagnostics };
}

function readConfig(value: Parameters<typeof check>[0], problems: FieldProblem[]): RelayConfig | undefined {
  const checked = check(value, validate);
  if (!checked.ok) {
    problems.push(...checked.problems);
    return undefined;
  }
  const document = checked.value;
  const fleet = parseFleetName(document.fleet.name);
  if (!fleet.ok) problems.push(fieldError('BadName', ['fleet', 'name'], fleet.problem));
  const sources = document.sources.flatMap((source, index) => readSource(source, ['sources', index], problems) ?? []);
  checkNamesDiffer(document.sources, problems);
  const statusGit = readStatus(document, sources, document.fleet.name, problems);
  const store = readStore(document, problems);
  const replicas = readReplicas(document, store, problems);
  const relay = readRelay(document, problems);
  const http = readHttp(document, problems);
  const metrics = document.metrics?.listen;
  if (!fleet.ok) return undefined;
  return {
    fleet: fleet.value,
    dataDirectory: document.dataDirectory ?? 'fleetrelay-data',
    sources: customResourcesLast(sources),
    store,
    replicas,
    relay,
    http,
    metrics: { listen: { address: metrics?.address ?? '127.0.0.1', port: metrics?.port ?? 9981 } },
    audit: document.audit ?? {},
    statusGit,
    statusKubernetes: { enabled: document.status?.kubernetes?.enabled ?? true },
    bounds: {
      guards: document.bounds?.guards ?? {},
      safeModes: document.bounds?.safeMode?.modes ?? ['strict', 'scoped', 'off'],
    },
  };
}

function readSource(source: Source, at: FieldPath, problems: FieldProblem[]): SourceConfig | undefined {
  const name = parseSourceName(source.name);
  if (!name.ok) problems.push(fieldError('BadName', [...at, 'name'], name.problem));
  if (source.files !== undefined) {
    return name.ok ? { type: 'files', name: name.value, path: source.files.path } : undefined;
  }
  const { git, kubernetes } = source;
  if (kubernetes !== undefined) {
    const { kinds = customKinds, ...rest } = kubernetes;
    return name.ok ? { type: 'kubernetes', name: name.value, ...rest, kinds: [...new Set(kinds)] } : undefined;
  }
  if (git === undefined) return undefined;
  const badUrl = repositoryProblem(git.url);
  if (badUrl !== undefined) problems.push(fieldError('BadAddress', [...at, 'git', 'url'], badUrl));
  const folder = (git.path ?? '').replace(/^\.?\/+|\/+$/g, '');
  const badFolder = subFolderProblem(folder);
  if (badFolder !== undefined) problems.push(fieldError('BadPath', [...at, 'git', 'path'], badFolder));
  const credentials = readCredentials(git.credentials, [...at, 'git', 'credentials'], problems);
  const hook = git.hook ?? {};
  const hookSecret = readSecret('secret', hook.secretEnv, hook.secretFile, [...at, 'git', 'hook'], problems);
  if (!name.ok) return undefined;
  return {
    type: 'git',
    name: name.value,
    url: git.url,
    ...optional('branch', git.branch),
    path: folder,
    ...optional('credentials', credentials),
    ...optional('caFile', git.caFile),
    pollIntervalSeconds: git.pollIntervalSeconds ?? 60,
    ...optional('hookSecret', hookSecret),
  };
}

/** Of two declarations of one thing, a repository's wins over a custom resource, wherever the two are configured. */
function customResourcesLast(sources: readonly SourceConfig[]): readonly SourceConfig[] {
  return [
    ...sources.filter((source) => source.type !== 'kubernetes'),
    ...sources.filter((source) => source.type === 'kubernetes'),
  ];
}

function checkNamesDiffer(sources: readonly Source[], problems: FieldProblem[]): void {
  const seen = new Set<string>();
  for (const [index, { name }] of sources.entries()) {
    if (seen.has(name)) {
      problems.push(fieldError('DuplicateName', ['sources', index, 'name'], `the source name ${name} is here twice`));
    }
    seen.add(name);
  }
}

function readStatus(
  document: ConfigDocument,
  sources: readonly SourceConfig[],
  fleet: string,
  problems: FieldProblem[],
): RelayConfig['statusGit'] {
  const at = ['status', 'git'];
  const status = document.status?.git ?? {};
  const branch = status.branch ?? `fleetrelay/status/${fleet}`;
  if (sources.some((source) => source.type === 'git' && source.branch === branch)) {
    const message = 'the status branch must not be a branch that is read as desired state';
    problems.push(fieldError('BadBranch', [...at, ...(status.branch === undefined ? [] : ['branch'])], message));
  }
  const credentials = readCredentials(status.credentials, [...at, 'credentials'], problems);
  return {
    enabled: status.enabled ?? true,
    target: readTarget(status, sources, problems),
    branch,
    ...optional('credentials', credentials),
    author: { name: status.author?.name ?? 'fleetrelay', email: status.author?.email ?? 'fleetrelay@localhost' },
  };
}

function readTarget(
  status: { readonly url?: string; readonly source?: string },
  sources: readonly SourceConfig[],
  problems: FieldProblem[],
): StatusTarget {
  const at = ['status', 'git'];
  if (status.url !== undefined) {
    if (status.source !== undefined) {
      problems.push(fieldError('WrongChoice', at, 'status.git needs at most one of source, url'));
    }
    const bad = repositoryProblem(status.url);
    if (bad !== undefined) problems.push(fieldError('BadAddress', [...at, 'url'], bad));
    return { type: 'url', url: status.url };
  }
  if (status.source === undefined) return { type: 'source' };
  const known = sources.find((source) => source.type === 'git' && source.name === status.source);
  if (known === undefined) {
    problems.push(fieldError('UnknownSource', [...at, 'source'], `${status.source} is not the name of a git source`));
  }
  return { type: 'source', source: (known?.name ?? status.source) as SourceName };
}

/** The member, or nothing at all: optional members are absent, never undefined. */
function optional<Name extends string, Value>(
  name: Name,
  value: Value | undefined,
): { readonly [Key in Name]?: Value } {
  return value === undefined ? {} : ({ [name]: value } as { readonly [Key in Name]?: Value });
}
