import { readFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { Person, RelayTls, Source, Store } from '../../../generated/relay-config.js';
import { decodeRelayConfig, readRelayConfig } from '../../manifest/relay-config.ts';
import { displayDiagnostic } from '../../model/fleet/diagnostic.ts';
import type { RelayConfig } from '../../model/fleet/relay-config.ts';
import { sameRightsAs } from '../../model/fleet/source-rights.ts';
import { displayPath } from '../../model/text/field-path.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../model/text/json.ts';
import type { HttpAddress, ListenAddress } from '../../server/listen-address.ts';
import type { RunIo, ServeOptions } from '../options.ts';

/** Name of the source that `--repo` or `--folder` gives. */
const ONLY_SOURCE = 'main';
/** Name of the source that `--custom-resources` gives. */
const CUSTOM_RESOURCES = 'custom-resources';
/** Name of the person who has the token of `--api-token-file`. */
const TOKEN_PERSON = 'token';

const SHARED_TOKEN = 'RELAY_TOKEN';
const WITHOUT_CLIENT_CERTIFICATES = 'RELAY_DISABLE_CLIENT_CERTIFICATE_AUTHENTICATION';

/**
 * Returns the server's configuration: its file, changed by the environment and then by the flags. All paths are absolute.
 * Rejects with a text for a person.
 */
export async function resolveServeConfig(options: ServeOptions, io: Pick<RunIo, 'cwd' | 'env'>): Promise<RelayConfig> {
  const given: Given = {
    ...options,
    [SHARED_TOKEN]: io.env[SHARED_TOKEN],
    [WITHOUT_CLIENT_CERTIFICATES]: io.env[WITHOUT_CLIENT_CERTIFICATES],
  };
  let document = options.config === undefined ? WITHOUT_FILE : await readDocument(resolve(io.cwd, options.config));
  for (const [name, path, change] of ROWS) {
    const value = given[name];
    if (value === undefined || value === '' || (Array.isArray(value) && value.length === 0)) continue;
    const changed = change ?? ((same: unknown) => same);
    document = withPart(document, path.split('.'), (part) => changed(value as never, part as never, given));
  }
  if (Array.isArray(document.sources) && document.sources.length === 0) {
    throw new Error(
      'there is nothing to follow: name a repository with --repo URL, a folder with --folder DIR, custom resources with --custom-resources, or a file with --config',
    );
  }
  return configOf(document, io.cwd);
}

/** Returns the configuration in a file, without environment and flags. All paths are absolute. Rejects with a text for a person. */
export async function readConfigFile(file: string): Promise<RelayConfig> {
  return configOf(await readDocument(file), dirname(file));
}

function configOf(document: JsonObject, folder: string): RelayConfig {
  const { config, problems } = readRelayConfig(document, (path) => resolve(folder, path));
  if (config === undefined) throw unusable(problems.map(({ path, message }) => `${displayPath(path)}: ${message}`));
  return config;
}

const WITHOUT_FILE: JsonObject = {
  apiVersion: 'fleetrelay.dev/v1alpha1',
  kind: 'RelayConfig',
  fleet: { name: 'fleet' },
  sources: [],
};

async function readDocument(file: string): Promise<JsonObject> {
  const bytes = await readFile(file).catch((cause: unknown) => {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unreadable';
    const why = code === 'ENOENT' ? 'there is no such file' : code;
    throw new Error(`the configuration ${file} cannot be read: ${why}`, { cause });
  });
  const { document, diagnostics } = decodeRelayConfig(file, bytes, (path) => resolve(dirname(file), path));
  if (document === undefined) throw unusable(diagnostics.map(displayDiagnostic));
  return document as unknown as JsonObject;
}

function unusable(reasons: readonly string[]): Error {
  return new Error(['the configuration cannot be used:', ...reasons].join('\n  '));
}

/** The document with another part at a path; without the part if `change` returns undefined. */
function withPart(
  document: JsonObject,
  [step = '', ...rest]: readonly string[],
  change: (part: unknown) => unknown,
): JsonObject {
  const { [step]: part, ...others } = document;
  const changed = rest.length === 0 ? change(part) : withPart(isJsonObject(part) ? part : {}, rest, change);
  return changed === undefined ? others : { ...others, [step]: changed as JsonValue };
}

/** Values of flags and environment variables. */
type Given = ServeOptions &
  Readonly<Record<typeof SHARED_TOKEN | typeof WITHOUT_CLIENT_CERTIFICATES, string | undefined>>;

/**
 * A flag or environment variable, the path of the part of the document that it changes, and a function that returns the
 * new part. By default, the value is the new part.
 */
type Row = readonly [name: keyof Given, path: string, change?: (value: never, part: never, given: Given) => unknown];

/** All of them, in the order in which they change the document. */
const ROWS: readonly Row[] = [
  [SHARED_TOKEN, 'relay.sharedToken', (_, part: object | undefined) => part ?? { tokenEnv: SHARED_TOKEN }],
  [WITHOUT_CLIENT_CERTIFICATES, 'relay.tls', withoutClientCertificates],
  ['fleet', 'fleet.name'],
  ['dataDir', 'dataDirectory'],
  ['folder', 'sources', sourceOfFolder],
  ['repo', 'sources', sourceOfRepository],
  ['customResources', 'sources', withCustomResources],
  ['store', 'store'],
  // The mode in the file is for the store in the file.
  ['store', 'replicas.mode', () => undefined],
  ['storePasswordFile', 'store', withStorePassword],
  ['replicas', 'replicas.mode'],
  ['advertise', 'replicas.advertise'],
  ['listen', 'relay.listen', bindAddress],
  ['relaySecretFile', 'relay.secrets', (files: readonly string[]) => files.map((secretFile) => ({ secretFile }))],
  ['tlsName', 'relay.tls', withCertificateNames],
  ['tlsCertFile', 'relay.tls', withCertificate],
  ['insecure', 'relay.tls', (_, __, { insecureListenAnywhere }) => ({ mode: 'insecure', insecureListenAnywhere })],
  ['http', 'http.listen', httpAddress],
  ['apiTokenFile', 'http.people', withTokenPerson],
  ['metrics', 'metrics.listen', bindAddress],
  ['xds', 'xds.listen', bindAddress],
];

function bindAddress({ host, port }: ListenAddress) {
  return { address: host, port };
}

function httpAddress(at: HttpAddress) {
  return 'socket' in at ? at : bindAddress(at);
}

function withoutClientCertificates(text: string, tls: Partial<RelayTls> = {}) {
  const value = text.toLowerCase();
  if (!['true', '1', 'false', '0'].includes(value)) {
    throw new Error(`the environment variable ${WITHOUT_CLIENT_CERTIFICATES} must be true or false`);
  }
  const isMutual = (tls.mode ?? 'mtls') === 'mtls';
  return isMutual && ['true', '1'].includes(value) ? { ...tls, mode: 'tls', clients: undefined } : tls;
}

function sourceOfFolder(folder: string, _: unknown, { path = '.' }: Given) {
  return [{ name: ONLY_SOURCE, files: { path: join(folder, path) } }];
}

function sourceOfRepository(
  url: string,
  _: unknown,
  { branch, path, poll, repoTokenFile, repoUsername, hookSecretFile }: Given,
) {
  const credentials = repoTokenFile && { tokenFile: repoTokenFile, username: repoUsername };
  const hook = hookSecretFile && { secretFile: hookSecretFile };
  return [{ name: ONLY_SOURCE, git: { url, branch, path, pollIntervalSeconds: poll, credentials, hook } }];
}

/** Adds custom resources to the sources, with the rights of the first one. If no cluster is named, custom resources in the file are enough. */
function withCustomResources(_: true, sources: readonly Source[], { kubeconfig, context, namespace }: Given) {
  const isNamed = (kubeconfig ?? context ?? namespace) !== undefined;
  const first = sources.find(({ kubernetes, name }) => kubernetes === undefined && name !== CUSTOM_RESOURCES);
  const granted = first === undefined ? {} : { allow: sameRightsAs(first) };
  if (!isNamed && sources.some(({ kubernetes }) => kubernetes !== undefined)) {
    return sources.map((source) => (source.kubernetes === undefined ? source : { ...granted, ...source }));
  }
  const others = sources.filter(({ kubernetes, name }) => kubernetes === undefined && name !== CUSTOM_RESOURCES);
  const kubernetes = { kubeconfig, context, namespaces: namespace && [namespace] };
  return [...others, { name: CUSTOM_RESOURCES, ...granted, kubernetes }];
}

function withStorePassword(passwordFile: string, store: Partial<Store> = {}) {
  if (store.redis === undefined) {
    throw new Error('--store-password-file belongs to a store of the type redis (--store redis://HOST:PORT)');
  }
  return { ...store, redis: { ...store.redis, passwordEnv: undefined, passwordFile } };
}

function withCertificateNames(names: readonly string[], tls: Partial<RelayTls> = {}) {
  return { ...(tls.mode === 'insecure' ? {} : tls), certificate: undefined, names };
}

function withCertificate(certFile: string, tls: Partial<RelayTls> = {}, { tlsKeyFile: keyFile }: Given) {
  return { ...(tls.mode === 'insecure' ? {} : tls), certificate: { certFile, keyFile, caFile: certFile } };
}

function withTokenPerson(tokenFile: string, people: readonly Person[] = []) {
  return [...people.filter(({ name }) => name !== TOKEN_PERSON), { name: TOKEN_PERSON, role: 'operate', tokenFile }];
}
