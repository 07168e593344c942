import { type RelayConfig as ConfigDocument, type Source, validate } from '../../generated/relay-config.js';
import { type Diagnostic, diagnosticOf } from '../model/fleet/diagnostic.ts';
import { customKinds } from '../model/fleet/engine-kinds.ts';
import { parseFleetName, parseSourceName } from '../model/fleet/ids.ts';
import {
  type CertificateSource,
  CLIENT_CERTIFICATE_SECONDS,
  type ClientCertificates,
  type PersonConfig,
  type RedisStoreConfig,
  type RelayConfig,
  type RelayTls,
  type ReplicasConfig,
  type SourceConfig,
  type StoreConfig,
} from '../model/fleet/relay-config.ts';
import { parseFieldPath } from '../model/text/field-path.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../model/text/json.ts';
import { given } from '../model/values/given.ts';
import { must } from '../model/values/result.ts';
import { check } from './kinds/reading.ts';
import { defaultDecodeLimits } from './limits.ts';
import { type FieldProblem, fieldError, type Refuse } from './problem.ts';
import { readPullRequests } from './pull-requests.ts';
import { type FileFinding, inOrder, isClean, readFile } from './read-file.ts';
import { refuseOtherAccess } from './repository-access.ts';
import { isSshAddress, repositoryProblem, subFolderProblem } from './repository-address.ts';
import { readCredentials, readLogin, secretOf } from './secret-references.ts';
import { isReplicaAddress, parseRedisNode, REPLICA_ADDRESS } from './server-address.ts';

/** Makes a path that may be relative absolute. */
export type Absolute = (path: string) => string;

/** A RelayConfig that was read. */
export interface ReadRelayConfig {
  /** The document with the schema's defaults and with absolute paths; absent if it is not as the schema demands. */
  readonly document?: ConfigDocument;
  /** Absent if there is a problem. */
  readonly config?: RelayConfig;
  readonly problems: readonly FieldProblem[];
}

/** The server's configuration file, decoded. */
export interface DecodedRelayConfig extends Pick<ReadRelayConfig, 'document' | 'config'> {
  readonly diagnostics: readonly Diagnostic[];
}

/**
 * Decodes the server's own file: exactly one `fleetrelay.dev/v1alpha1 RelayConfig`. Never throws for any bytes. If a
 * diagnostic is an error, there is neither `document` nor `config`.
 */
export function decodeRelayConfig(path: string, bytes: Uint8Array, absolute?: Absolute): DecodedRelayConfig {
  const file = readFile(path, bytes, defaultDecodeLimits);
  const findings: FileFinding[] = [...file.findings];
  const [document, extra] = file.documents.filter(({ value }) => value !== null);
  if (!isClean(findings)) return { diagnostics: inOrder(findings) };
  if (document === undefined) {
    const message = 'the file holds no RelayConfig';
    return { diagnostics: [diagnosticOf({ severity: 'error', reason: 'NoConfig', message, at: { path } })] };
  }
  if (extra !== undefined) {
    const message = 'the file must hold one RelayConfig and no more';
    findings.push(file.place(extra, fieldError('SeveralDocuments', [], message)));
  }
  const { problems, ...read } = isJsonObject(document.value)
    ? readRelayConfig(document.value, absolute)
    : { problems: [fieldError('NotAnObject', [], 'a RelayConfig must be a mapping')] };
  findings.push(...problems.map((problem) => file.place(document, problem)));
  const diagnostics = inOrder(findings);
  return isClean(findings) ? { ...read, diagnostics } : { diagnostics };
}

/** Reads a RelayConfig document: fills in defaults, makes paths absolute (by default leaves them), and checks all rules. */
export function readRelayConfig(value: JsonObject, absolute: Absolute = (path) => path): ReadRelayConfig {
  const checked = check(value, validate);
  if (!checked.ok) return { problems: checked.problems };
  const document = withAbsolutePaths(checked.value as unknown as JsonObject, absolute) as unknown as ConfigDocument;
  const problems: FieldProblem[] = [];
  const config = readConfig(document, (reason, at, message) => {
    problems.push(fieldError(reason, must(parseFieldPath(at)), message));
  });
  return problems.length === 0 && config !== undefined ? { document, config, problems } : { document, problems };
}

/** Paths of the fields that name a file or folder. */
const FILES = /\.(dataDirectory|kubeconfig|socket|\w+File|(files|store)\.path|audit\.file)$/;
/** Paths of the fields that name a repository, which may be a local folder. */
const REPOSITORIES = /\.git\.url$/;

function withAbsolutePaths(value: JsonValue, absolute: Absolute, at = ''): JsonValue {
  if (Array.isArray(value)) return value.map((item) => withAbsolutePaths(item, absolute, at));
  if (isJsonObject(value)) {
    const members = Object.entries(value) as [string, JsonValue][];
    return Object.fromEntries(
      members.map(([key, member]) => [key, withAbsolutePaths(member, absolute, `${at}.${key}`)]),
    );
  }
  if (FILES.test(at) || (REPOSITORIES.test(at) && isFolder(String(value)))) return absolute(String(value));
  return value;
}

/** False also for an address that is refused later. */
function isFolder(repository: string): boolean {
  return repositoryProblem(repository) === undefined && !isSshAddress(repository) && !repository.includes('://');
}

function readConfig(document: ConfigDocument, refuse: Refuse): RelayConfig | undefined {
  const { dataDirectory, relay, http, xds, metrics, audit, status, git, bounds, limits } = document;
  const fleet = parseFleetName(document.fleet.name);
  if (!fleet.ok) refuse('BadName', 'fleet.name', fleet.problem);
  const sources = document.sources.flatMap((source, index) => readSource(source, `sources[${index}]`, refuse) ?? []);
  refuseDuplicates('source name', document.sources, 'sources', refuse);
  for (const [index, { allow }] of document.sources.entries()) {
    for (const [at, file] of (allow?.files ?? []).entries()) {
      if (document.sources.some(({ name }) => name === file)) continue;
      refuse('UnknownSource', `sources[${index}].allow.files[${at}]`, `${file} is not the name of a source`);
    }
  }
  const store = readStore(document, refuse);
  const config = {
    dataDirectory,
    // A repository's declaration wins over a custom resource, in any order of the configuration.
    sources: sources.toSorted((a, b) => Number(a.type === 'kubernetes') - Number(b.type === 'kubernetes')),
    store,
    replicas: readReplicas(document, store, refuse),
    relay: {
      listen: relay.listen,
      secrets: (relay.secrets ?? []).map((secret) => secretOf(secret, 'secret')),
      ...(relay.sharedToken && { sharedToken: secretOf(relay.sharedToken, 'token') }),
      tls: readTls(relay.tls, refuse),
    },
    http: {
      listen: readHttpListen(document, refuse),
      people: readPeople(http.people ?? [], refuse),
      ...(http.tls && { tls: http.tls }),
    },
    ...(xds && { xds }),
    metrics,
    audit,
    statusGit: readStatus(document, sources, refuse),
    statusKubernetes: status.kubernetes,
    bounds: {
      guards: bounds.guards,
      safeModes: bounds.safeMode.modes,
      webhookRemediator: bounds.care.webhookRemediator,
      approvals: bounds.approvals,
      ...readDriftBounds(bounds.drift),
    },
    ...readSigners(bounds, refuse),
    git,
    limits,
  };
  return fleet.ok ? { fleet: fleet.value, ...config } : undefined;
}

function readDriftBounds({ mode, ...bounds }: ConfigDocument['bounds']['drift']) {
  return { ...bounds, ...given({ driftMode: mode }) };
}

/** Returns whose signatures count, if any do. */
function readSigners(
  { approvals, approvalSigners: signers }: ConfigDocument['bounds'],
  refuse: Refuse,
): Pick<RelayConfig, 'approvalSigners'> {
  const at = 'bounds.approvals';
  if (!approvals.includes('signedFile')) {
    if (signers !== undefined)
      refuse('WrongChoice', 'bounds.approvalSigners', `signers have no meaning unless ${at} lists signedFile`);
    return {};
  }
  if (approvals.includes('file'))
    refuse(
      'WrongChoice',
      at,
      'with file, a RemovalApproval without a signature counts as well: leave out file or signedFile',
    );
  if (signers === undefined) {
    const message =
      'signedFile needs approvalSigners with allowedSignersFile (SSH keys) or openpgpKeysFile (OpenPGP keys)';
    refuse('MissingField', at, message);
    return {};
  }
  return { approvalSigners: signers };
}

function readSource(
  { name: text, allow, git, files, kubernetes }: Source,
  at: string,
  refuse: Refuse,
): SourceConfig | undefined {
  const parsed = parseSourceName(text);
  if (!parsed.ok) refuse('BadName', `${at}.name`, parsed.problem);
  const repository = git && readGit(git, `${at}.git`, refuse);
  if (!parsed.ok) return undefined;
  const common = { name: parsed.value, ...(allow && { allow }) };
  if (repository !== undefined) return { type: 'git', ...common, ...repository };
  if (files !== undefined) return { type: 'files', ...common, path: files.path };
  return { type: 'kubernetes', ...common, ...kubernetes, kinds: [...new Set(kubernetes?.kinds ?? customKinds)] };
}

function readGit(git: NonNullable<Source['git']>, at: string, refuse: Refuse) {
  const { credentials, hook, path, pullRequests, ...rest } = git;
  const folder = path.replace(/^\.?\/+|\/+$/g, '');
  const badUrl = repositoryProblem(rest.url);
  if (badUrl !== undefined) refuse('BadAddress', `${at}.url`, badUrl);
  const badFolder = subFolderProblem(folder);
  if (badFolder !== undefined) refuse('BadPath', `${at}.path`, badFolder);
  const read = credentials && readCredentials(credentials, `${at}.credentials`, refuse);
  refuseOtherAccess(git, git.url, at, refuse);
  return {
    ...rest,
    path: folder,
    ...(read && { credentials: read }),
    ...(hook && { hookSecret: secretOf(hook, 'secret') }),
    ...(pullRequests && { pullRequests: readPullRequests(pullRequests, git, `${at}.pullRequests`, refuse) }),
  };
}

function refuseDuplicates(what: string, items: readonly { readonly name: string }[], at: string, refuse: Refuse): void {
  for (const [index, { name }] of items.entries()) {
    if (items.findIndex((other) => other.name === name) < index)
      refuse('DuplicateName', `${at}[${index}].name`, `the ${what} ${name} is here twice`);
  }
}

function readStore({ store: { type, path, redis } }: ConfigDocument, refuse: Refuse): StoreConfig {
  const what = type === 'memory' ? 'a store in memory' : `a store of the type ${type}`;
  if (type !== 'sqlite' && path !== undefined) refuse('WrongChoice', 'store.path', `${what} has no path`);
  if (type !== 'redis') {
    if (redis !== undefined) refuse('WrongChoice', 'store.redis', 'redis belongs to a store of the type redis');
    return type === 'memory' || path === undefined ? { type } : { type, path };
  }
  if (redis !== undefined) return readRedis(redis, refuse);
  refuse('MissingField', 'store', `${what} needs redis.nodes`);
  return { type, nodes: [], database: 0, prefix: '' };
}

function readRedis(redis: NonNullable<ConfigDocument['store']['redis']>, refuse: Refuse): RedisStoreConfig {
  const at = 'store.redis';
  const { nodes, sentinel, database, prefix, tls } = redis;
  if (sentinel === undefined && nodes.length > 1) {
    const message = 'without sentinel there is one node; a cluster of Redis servers cannot be used';
    refuse('WrongChoice', `${at}.nodes`, message);
  }
  if ((tls?.certFile === undefined) !== (tls?.keyFile === undefined))
    refuse('MissingField', `${at}.tls`, 'certFile and keyFile belong together');
  const parsed = nodes.map(parseRedisNode);
  for (const [index, node] of parsed.entries()) {
    if (node === undefined)
      refuse('BadAddress', `${at}.nodes[${index}]`, 'a node is HOST:PORT, for example redis.example.com:6379');
  }
  return {
    type: 'redis',
    nodes: parsed.filter((node) => node !== undefined),
    ...(sentinel && { sentinel: { master: sentinel.master, ...readLogin(sentinel, `${at}.sentinel`, refuse) } }),
    ...readLogin(redis, at, refuse),
    database,
    ...(tls && { tls }),
    prefix,
  };
}

function readReplicas({ replicas }: ConfigDocument, store: StoreConfig, refuse: Refuse): ReplicasConfig {
  const shared = store.type === 'redis';
  const { mode = shared ? 'several' : 'one', ...rest } = replicas;
  if (mode === 'several' && !shared) {
    const message =
      'several replicas need a store that they share: a store of the type redis (--store redis://HOST:PORT)';
    refuse('WrongChoice', 'replicas.mode', message);
  }
  if (rest.advertise !== undefined && !isReplicaAddress(rest.advertise))
    refuse('BadAddress', 'replicas.advertise', `replicas.advertise ${REPLICA_ADDRESS}`);
  return { mode, ...rest };
}

function readTls(tls: ConfigDocument['relay']['tls'], refuse: Refuse): RelayTls {
  const at = 'relay.tls';
  const { mode, clients, insecureListenAnywhere } = tls;
  if (mode !== 'insecure' && insecureListenAnywhere)
    refuse('WrongChoice', `${at}.insecureListenAnywhere`, `with mode ${mode} nothing is insecure`);
  if (mode !== 'mtls' && clients !== undefined)
    refuse('WrongChoice', `${at}.clients`, 'agents show certificates with mode mtls only');
  if (mode === 'insecure') {
    if (tls.certificate !== undefined)
      refuse('WrongChoice', `${at}.certificate`, 'without TLS there is no certificate');
    return { mode, confirmed: insecureListenAnywhere };
  }
  const certificate: CertificateSource = tls.certificate
    ? { type: 'files', ...tls.certificate }
    : { type: 'generated', names: tls.names };
  return mode === 'tls'
    ? { mode, certificate }
    : { mode, certificate, clients: readClients(clients ?? {}, `${at}.clients`, refuse) };
}

function readClients(
  {
    caFile,
    signing,
    lifetimeSeconds = CLIENT_CERTIFICATE_SECONDS,
  }: Partial<NonNullable<ConfigDocument['relay']['tls']['clients']>>,
  at: string,
  refuse: Refuse,
): ClientCertificates {
  if (caFile === undefined) return { type: 'issued', ...(signing && { signing }), lifetimeSeconds };
  if (signing !== undefined || lifetimeSeconds !== CLIENT_CERTIFICATE_SECONDS) {
    const message = 'with caFile agents bring their certificates: signing and lifetimeSeconds have no meaning';
    refuse('WrongChoice', at, message);
  }
  return { type: 'given', caFile };
}

/** Most bytes in the path of a Unix socket, on the strictest system. */
const LONGEST_SOCKET = 103;

function readHttpListen({ http: { listen, tls } }: ConfigDocument, refuse: Refuse): RelayConfig['http']['listen'] {
  const { socket, address, port } = listen;
  if (socket === undefined) return { address, port };
  if (Buffer.byteLength(socket) > LONGEST_SOCKET) {
    refuse('BadPath', 'http.listen.socket', `the path of a Unix socket has at most ${LONGEST_SOCKET} bytes`);
  }
  if (tls !== undefined) refuse('WrongChoice', 'http.tls', 'a Unix socket has no TLS: leave out http.tls or socket');
  return { socket };
}

function readPeople(people: NonNullable<ConfigDocument['http']['people']>, refuse: Refuse): readonly PersonConfig[] {
  refuseDuplicates('person', people, 'http.people', refuse);
  return people.map((person, index) => {
    const { name, role } = person;
    if (/\p{C}|^\s|\s$/u.test(name))
      refuse('BadName', `http.people[${index}].name`, 'a name has no spaces around it and no control characters');
    return { name, role, token: secretOf(person, 'token') };
  });
}

function readStatus(
  { status: { git }, fleet }: ConfigDocument,
  sources: readonly SourceConfig[],
  refuse: Refuse,
): RelayConfig['statusGit'] {
  const at = 'status.git';
  const { credentials, branch = `fleetrelay/status/${fleet.name}`, ...rest } = git;
  if (sources.some((source) => source.type === 'git' && source.branch === branch)) {
    const message = 'the status branch must not be a branch that is read as desired state';
    refuse('BadBranch', git.branch === undefined ? at : `${at}.branch`, message);
  }
  if (rest.url !== undefined && rest.source !== undefined)
    refuse('WrongChoice', at, 'status.git needs at most one of source, url');
  const badUrl = repositoryProblem(rest.url ?? '');
  if (badUrl !== undefined) refuse('BadAddress', `${at}.url`, badUrl);
  if (rest.source !== undefined && !sources.some(({ type, name }) => type === 'git' && name === rest.source))
    refuse('UnknownSource', `${at}.source`, `${rest.source} is not the name of a git source`);
  const read = credentials && readCredentials(credentials, `${at}.credentials`, refuse);
  const target = sources.find((source) => source.type === 'git' && source.name === (rest.source ?? source.name));
  const inherited = target?.type === 'git' && rest.url === undefined ? target : undefined;
  const url = rest.url ?? inherited?.url;
  const hasOwn = (rest.url ?? git.ssh ?? credentials) !== undefined;
  if (hasOwn && url !== undefined) refuseOtherAccess({ ...given({ ssh: inherited?.ssh }), ...git }, url, at, refuse);
  return { ...rest, branch, ...(read && { credentials: read }) };
}
