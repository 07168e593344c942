import { resolve } from 'node:path';
import type {
  ClientCertificates,
  CredentialReferences,
  RedisStoreConfig,
  RelayConfig,
  RelayTls,
  SecretReference,
  SourceConfig,
  StoreConfig,
  UsernameReference,
} from '../../model/relay-config.ts';
import { unreachable } from '../../model/result.ts';

/** The configuration with every path made absolute; relative ones begin at `base`. */
export function absolutePaths(config: RelayConfig, base: string): RelayConfig {
  const { relay, http, audit, statusGit } = config;
  const { sharedToken } = relay;
  return {
    ...config,
    dataDirectory: resolve(base, config.dataDirectory),
    sources: config.sources.map((source) => absoluteSource(source, base)),
    store: absoluteStore(config.store, base),
    relay: {
      ...relay,
      secrets: relay.secrets.map((reference) => absoluteSecret(reference, base)),
      ...(sharedToken === undefined ? {} : { sharedToken: absoluteSecret(sharedToken, base) }),
      tls: absoluteTls(relay.tls, base),
    },
    http: {
      ...http,
      people: http.people.map((person) => ({ ...person, token: absoluteSecret(person.token, base) })),
      ...(http.tls === undefined
        ? {}
        : { tls: absoluteFiles(http.tls, ['certFile', 'keyFile', 'clientCaFile'], base) }),
    },
    audit: absoluteFiles(audit, ['file'], base),
    statusGit: {
      ...statusGit,
      ...(statusGit.credentials === undefined ? {} : { credentials: absoluteCredentials(statusGit.credentials, base) }),
    },
  };
}

/** An address stays as it is; a path is made absolute. */
export function absoluteRepository(repository: string, base: string): string {
  return /^[a-z+]+:\/\//.test(repository) ? repository : resolve(base, repository);
}

function absoluteSource(source: SourceConfig, base: string): SourceConfig {
  switch (source.type) {
    case 'files':
      return { ...source, path: resolve(base, source.path) };
    case 'kubernetes':
      return absoluteFiles(source, ['kubeconfig'], base);
    case 'git':
      return {
        ...absoluteFiles(source, ['caFile'], base),
        url: absoluteRepository(source.url, base),
        ...(source.credentials === undefined ? {} : { credentials: absoluteCredentials(source.credentials, base) }),
        ...(source.hookSecret === undefined ? {} : { hookSecret: absoluteSecret(source.hookSecret, base) }),
      };
    default:
      return unreachable(source);
  }
}

/** A store with its paths made absolute. */
export function absoluteStore(store: StoreConfig, base: string): StoreConfig {
  switch (store.type) {
    case 'memory':
      return store;
    case 'sqlite':
      return absoluteFiles(store, ['path'], base);
    case 'redis':
      return absoluteRedis(store, base);
    default:
      return unreachable(store);
  }
}

function absoluteRedis(store: RedisStoreConfig, base: string): RedisStoreConfig {
  const { sentinel, tls } = store;
  return {
    ...store,
    ...absoluteLogin(store, base),
    ...(sentinel === undefined ? {} : { sentinel: { ...sentinel, ...absoluteLogin(sentinel, base) } }),
    ...(tls === undefined ? {} : { tls: absoluteFiles(tls, ['caFile', 'certFile', 'keyFile'], base) }),
  };
}

function absoluteTls(tls: RelayTls, base: string): RelayTls {
  if (tls.mode === 'insecure') return tls;
  const certificate =
    tls.certificate.type === 'files'
      ? absoluteFiles(tls.certificate, ['certFile', 'keyFile', 'caFile'], base)
      : tls.certificate;
  return tls.mode === 'tls'
    ? { ...tls, certificate }
    : { ...tls, certificate, clients: absoluteClients(tls.clients, base) };
}

function absoluteClients(clients: ClientCertificates, base: string): ClientCertificates {
  if (clients.type === 'given') return absoluteFiles(clients, ['caFile'], base);
  const { signing } = clients;
  return signing === undefined
    ? clients
    : { ...clients, signing: absoluteFiles(signing, ['certFile', 'keyFile'], base) };
}

function absoluteCredentials({ username, password, token }: CredentialReferences, base: string): CredentialReferences {
  return {
    ...absoluteLogin(
      { ...(username === undefined ? {} : { username }), ...(password === undefined ? {} : { password }) },
      base,
    ),
    ...(token === undefined ? {} : { token: absoluteSecret(token, base) }),
  };
}

interface Login {
  readonly username?: UsernameReference;
  readonly password?: SecretReference;
}

function absoluteLogin({ username, password }: Login, base: string): Login {
  return {
    ...(username === undefined ? {} : { username: absoluteSecret(username, base) }),
    ...(password === undefined ? {} : { password: absoluteSecret(password, base) }),
  };
}

function absoluteSecret<Reference extends UsernameReference>(reference: Reference, base: string): Reference {
  return reference.type === 'file' ? { ...reference, path: resolve(base, reference.path) } : reference;
}

function absoluteFiles<Name extends string, Part extends { readonly [Key in Name]?: string }>(
  part: Part,
  names: readonly Name[],
  base: string,
): Part {
  const files = names.flatMap((name) => {
    const file = part[name];
    return file === undefined ? [] : [[name, resolve(base, file)]];
  });
  return { ...part, ...Object.fromEntries(files) };
}
