import { readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { decodeRelayConfig } from '../../manifest/relay-config.ts';
import { displayDiagnostic } from '../../model/diagnostic.ts';
import { parseSourceName } from '../../model/ids.ts';
import {
  type CredentialReferences,
  customKindNames,
  type RelayConfig,
  type SecretReference,
  type SourceConfig,
  type UsernameReference,
} from '../../model/relay-config.ts';
import { must, unreachable } from '../../model/result.ts';
import type { RunIo, ServeOptions } from '../options.ts';

/** The name of the only source when it is given by flags. */
const ONLY_SOURCE = must(parseSourceName('main'));
/** The name of the source that --custom-resources adds. */
const CUSTOM_RESOURCES = must(parseSourceName('custom-resources'));

/**
 * What the server runs with: its configuration file with the flags over it, or the flags alone. All paths are absolute.
 * Rejects with a text for a person.
 */
export async function resolveServeConfig(options: ServeOptions, io: Pick<RunIo, 'cwd'>): Promise<RelayConfig> {
  const file = options.configFile === undefined ? undefined : resolve(io.cwd, options.configFile);
  const written = file === undefined ? minimalConfig(options.fleet ?? 'fleet') : await readConfig(file);
  const { config, diagnostics } = decodeRelayConfig(file ?? 'the flags', written);
  if (config === undefined) {
    throw new Error(['the configuration cannot be used:', ...diagnostics.map(displayDiagnostic)].join('\n  '));
  }
  const based = absolutePaths(config, file === undefined ? io.cwd : dirname(file));
  return withFlags(based, options, io.cwd, file !== undefined);
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
  const { relay, http } = config;
  return {
    ...config,
    fleet: options.fleet ?? config.fleet,
    dataDirectory: options.dataDir === undefined ? config.dataDirectory : resolve(cwd, options.dataDir),
    sources,
    relay: {
      ...relay,
      listen: options.listen === undefined ? relay.listen : { address: options.listen.host, port: options.listen.port },
      ...(options.relaySecretFile === undefined ? {} : { secretFile: resolve(cwd, options.relaySecretFile) }),
      tls: flaggedTls(relay.tls, options, cwd),
    },
    http: {
      ...http,
      listen: options.http === undefined ? http.listen : { address: options.http.host, port: options.http.port },
      ...(options.apiTokenFile === undefined ? {} : { tokenFile: resolve(cwd, options.apiTokenFile) }),
    },
  };
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
      kinds: customKindNames,
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

function flaggedTls(tls: RelayConfig['relay']['tls'], options: ServeOptions, cwd: string): RelayConfig['relay']['tls'] {
  if (options.insecure) return { mode: 'none' };
  if (options.tlsCertFile !== undefined && options.tlsKeyFile !== undefined) {
    const certFile = resolve(cwd, options.tlsCertFile);
    return {
      mode: 'server',
      certificate: { type: 'files', certFile, keyFile: resolve(cwd, options.tlsKeyFile), caFile: certFile },
    };
  }
  if (options.tlsNames.length === 0) return tls;
  return { mode: 'server', certificate: { type: 'generated', names: options.tlsNames } };
}

function absolutePaths(config: RelayConfig, base: string): RelayConfig {
  const secret = <Reference extends UsernameReference>(reference: Reference): Reference =>
    reference.type === 'file' ? { ...reference, path: resolve(base, reference.path) } : reference;
  const credentials = ({ username, password, token }: CredentialReferences): CredentialReferences => ({
    ...(username === undefined ? {} : { username: secret(username) }),
    ...(password === undefined ? {} : { password: secret(password) }),
    ...(token === undefined ? {} : { token: secret(token) }),
  });
  const source = (each: SourceConfig): SourceConfig => {
    switch (each.type) {
      case 'files':
        return { ...each, path: resolve(base, each.path) };
      case 'kubernetes':
        return each.kubeconfig === undefined ? each : { ...each, kubeconfig: resolve(base, each.kubeconfig) };
      case 'git':
        return {
          ...each,
          url: absoluteRepository(each.url, base),
          ...(each.credentials === undefined ? {} : { credentials: credentials(each.credentials) }),
          ...(each.caFile === undefined ? {} : { caFile: resolve(base, each.caFile) }),
          ...(each.hookSecret === undefined ? {} : { hookSecret: secret(each.hookSecret) }),
        };
      default:
        return unreachable(each);
    }
  };
  const { store, relay, http, statusGit } = config;
  return {
    ...config,
    dataDirectory: resolve(base, config.dataDirectory),
    sources: config.sources.map(source),
    store: store.type === 'sqlite' && store.path !== undefined ? { ...store, path: resolve(base, store.path) } : store,
    relay: {
      ...relay,
      ...(relay.secretFile === undefined ? {} : { secretFile: resolve(base, relay.secretFile) }),
      tls: absoluteTls(relay.tls, base),
    },
    http: { ...http, ...(http.tokenFile === undefined ? {} : { tokenFile: resolve(base, http.tokenFile) }) },
    statusGit: {
      ...statusGit,
      ...(statusGit.credentials === undefined ? {} : { credentials: credentials(statusGit.credentials) }),
    },
  };
}

function absoluteTls(tls: RelayConfig['relay']['tls'], base: string): RelayConfig['relay']['tls'] {
  if (tls.mode === 'none' || tls.certificate.type === 'generated') return tls;
  const { certFile, keyFile, caFile } = tls.certificate;
  const certificate = {
    certFile: resolve(base, certFile),
    keyFile: resolve(base, keyFile),
    caFile: resolve(base, caFile),
  };
  return { mode: 'server', certificate: { type: 'files', ...certificate } };
}

function inFile(cwd: string, path: string): SecretReference {
  return { type: 'file', path: resolve(cwd, path) };
}

/** An address stays as it is; a path is made absolute. */
function absoluteRepository(repository: string, base: string): string {
  return /^[a-z+]+:\/\//.test(repository) ? repository : resolve(base, repository);
}
