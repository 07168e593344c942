import { readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { decodeRelayConfig } from '../../manifest/relay-config.ts';
import { displayDiagnostic } from '../../model/diagnostic.ts';
import { customKinds } from '../../model/engine-kinds.ts';
import { parseSourceName } from '../../model/ids.ts';
import {
  type BindAddress,
  type CertificateSource,
  CLIENT_CERTIFICATE_SECONDS,
  type CredentialReferences,
  type PersonConfig,
  type RelayConfig,
  type RelayTls,
  type SecretReference,
  type SourceConfig,
} from '../../model/relay-config.ts';
import { must } from '../../model/result.ts';
import type { ListenAddress } from '../../server/listen-address.ts';
import type { RunIo, ServeOptions } from '../options.ts';
import { withEnvironment } from './config-environment.ts';
import { absolutePaths, absoluteRepository, absoluteStore } from './config-paths.ts';

/** The name of the only source when it is given by flags. */
const ONLY_SOURCE = must(parseSourceName('main'));
/** The name of the source that --custom-resources adds. */
const CUSTOM_RESOURCES = must(parseSourceName('custom-resources'));
/** Who has the token of --api-token-file. */
const TOKEN_PERSON = 'token';

/**
 * What the server runs with: its configuration file with the environment and the flags over it, or these alone. All paths
 * are absolute. Rejects with a text for a person.
 */
export async function resolveServeConfig(options: ServeOptions, io: Pick<RunIo, 'cwd' | 'env'>): Promise<RelayConfig> {
  const file = options.configFile === undefined ? undefined : resolve(io.cwd, options.configFile);
  const written = file === undefined ? minimalConfig(options.fleet ?? 'fleet') : await readConfig(file);
  const { config, diagnostics } = decodeRelayConfig(file ?? 'the flags', written);
  if (config === undefined) {
    throw new Error(['the configuration cannot be used:', ...diagnostics.map(displayDiagnostic)].join('\n  '));
  }
  const based = absolutePaths(config, file === undefined ? io.cwd : dirname(file));
  return withFlags(withEnvironment(based, io.env), options, io.cwd, file !== undefined);
}

function readConfig(file: string): Promise<Uint8Array> {
  return readFile(file).catch((cause: unknown) => {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unreadable';
    const why = code === 'ENOENT' ? 'there is no such file' : code;
    throw new Error(`the configuration ${file} cannot be read: ${why}`, { cause });
  });
}

/** The file that says nothing: every default, and a source that flags must replace. */
function minimalConfig(fleet: string): Uint8Array {
  const document = {
    apiVersion: 'fleetrelay.dev/v1alpha1',
    kind: 'RelayConfig',
    fleet: { name: fleet },
    sources: [{ name: ONLY_SOURCE, files: { path: '.' } }],
  };
  return new TextEncoder().encode(JSON.stringify(document));
}

function withFlags(config: RelayConfig, options: ServeOptions, cwd: string, hasFile: boolean): RelayConfig {
  const sources = flaggedSources(config, options, cwd, hasFile);
  if (sources.length === 0) {
    throw new Error(
      'there is nothing to follow: name a repository with --repo URL, a folder with --watch DIR, custom resources with --custom-resources, or a file with --config',
    );
  }
  const { http, metrics } = config;
  const { store, replicas } = flaggedStore(config, options, cwd);
  return {
    ...config,
    fleet: options.fleet ?? config.fleet,
    dataDirectory: options.dataDir === undefined ? config.dataDirectory : resolve(cwd, options.dataDir),
    sources,
    store,
    replicas,
    relay: flaggedRelay(config.relay, options, cwd),
    http: {
      ...http,
      listen: flaggedListen(http.listen, options.http),
      people: flaggedPeople(http.people, options, cwd),
    },
    metrics: { listen: flaggedListen(metrics.listen, options.metrics) },
  };
}

function flaggedListen(listen: BindAddress, flag: ListenAddress | undefined): BindAddress {
  return flag === undefined ? listen : { address: flag.host, port: flag.port };
}

function flaggedStore(
  { store, replicas }: RelayConfig,
  options: ServeOptions,
  cwd: string,
): Pick<RelayConfig, 'store' | 'replicas'> {
  const named = options.store === undefined ? store : absoluteStore(options.store, cwd);
  const password = options.storePasswordFile;
  if (password !== undefined && named.type !== 'redis') {
    throw new Error('--store-password-file belongs to a store of the type redis (--store redis://HOST:PORT)');
  }
  const chosen =
    password === undefined || named.type !== 'redis' ? named : { ...named, password: inFile(cwd, password) };
  const shared = chosen.type === 'redis';
  const byStore = shared ? 'several' : 'one';
  // The file's word goes with the file's store.
  const mode = options.replicas ?? (options.store === undefined ? replicas.mode : byStore);
  if (mode === 'several' && !shared) {
    throw new Error('--replicas several needs a store that replicas share: --store redis://HOST:PORT');
  }
  const { advertise = replicas.advertise } = options;
  return { store: chosen, replicas: { ...replicas, mode, ...(advertise === undefined ? {} : { advertise }) } };
}

function flaggedRelay(relay: RelayConfig['relay'], options: ServeOptions, cwd: string): RelayConfig['relay'] {
  const secrets = options.relaySecretFiles.map((file) => inFile(cwd, file));
  return {
    ...relay,
    listen: flaggedListen(relay.listen, options.listen),
    secrets: secrets.length === 0 ? relay.secrets : secrets,
    tls: flaggedTls(relay.tls, options, cwd),
  };
}

/** The token of --api-token-file belongs to somebody of its own, beside those in the file. */
function flaggedPeople(
  people: readonly PersonConfig[],
  { apiTokenFile }: ServeOptions,
  cwd: string,
): readonly PersonConfig[] {
  if (apiTokenFile === undefined) return people;
  const token: PersonConfig = { name: TOKEN_PERSON, role: 'operate', token: inFile(cwd, apiTokenFile) };
  return [...people.filter(({ name }) => name !== TOKEN_PERSON), token];
}

/**
 * What flags name takes the place of what the file names; custom resources come beside it, and last. The flag for them
 * alone says that there are some, not which: those in the file are as good.
 */
function flaggedSources(
  config: RelayConfig,
  options: ServeOptions,
  cwd: string,
  hasFile: boolean,
): readonly SourceConfig[] {
  const source = flaggedSource(options, cwd);
  const before = source !== undefined ? [source] : hasFile ? config.sources : [];
  if (options.customResources === undefined) return before;
  const { kubeconfig, context, namespace } = options.customResources;
  const saysWhich = (kubeconfig ?? context ?? namespace) !== undefined;
  if (!saysWhich && before.some(({ type }) => type === 'kubernetes')) return before;
  return [
    ...before.filter((each) => each.type !== 'kubernetes' && each.name !== CUSTOM_RESOURCES),
    {
      type: 'kubernetes',
      name: CUSTOM_RESOURCES,
      ...(kubeconfig === undefined ? {} : { kubeconfig: resolve(cwd, kubeconfig) }),
      ...(context === undefined ? {} : { context }),
      ...(namespace === undefined ? {} : { namespaces: [namespace] }),
      kinds: customKinds,
    },
  ];
}

function flaggedSource(options: ServeOptions, cwd: string): SourceConfig | undefined {
  if (options.watch !== undefined) {
    return { type: 'files', name: ONLY_SOURCE, path: resolve(cwd, options.watch, options.path ?? '.') };
  }
  if (options.repo === undefined) return undefined;
  const credentials = flaggedCredentials(options, cwd);
  return {
    type: 'git',
    name: ONLY_SOURCE,
    url: absoluteRepository(options.repo, cwd),
    ...(options.branch === undefined ? {} : { branch: options.branch }),
    path: options.path ?? '',
    ...(credentials === undefined ? {} : { credentials }),
    pollIntervalSeconds: options.pollSeconds ?? 60,
    ...(options.hookSecretFile === undefined ? {} : { hookSecret: inFile(cwd, options.hookSecretFile) }),
  };
}

function flaggedCredentials(options: ServeOptions, cwd: string): CredentialReferences | undefined {
  if (options.repoTokenFile === undefined) return undefined;
  const token = inFile(cwd, options.repoTokenFile);
  return options.repoUsername === undefined
    ? { token }
    : { token, username: { type: 'text', text: options.repoUsername } };
}

function flaggedTls(tls: RelayTls, options: ServeOptions, cwd: string): RelayTls {
  if (options.insecure) return { mode: 'insecure', confirmed: options.insecureListenAnywhere };
  const certificate = flaggedCertificate(options, cwd);
  if (certificate === undefined) return tls;
  return tls.mode === 'insecure'
    ? { mode: 'mtls', certificate, clients: { type: 'issued', lifetimeSeconds: CLIENT_CERTIFICATE_SECONDS } }
    : { ...tls, certificate };
}

function flaggedCertificate(options: ServeOptions, cwd: string): CertificateSource | undefined {
  if (options.tlsCertFile !== undefined && options.tlsKeyFile !== undefined) {
    const certFile = resolve(cwd, options.tlsCertFile);
    return { type: 'files', certFile, keyFile: resolve(cwd, options.tlsKeyFile), caFile: certFile };
  }
  return options.tlsNames.length === 0 ? undefined : { type: 'generated', names: options.tlsNames };
}

function inFile(cwd: string, path: string): SecretReference {
  return { type: 'file', path: resolve(cwd, path) };
}
