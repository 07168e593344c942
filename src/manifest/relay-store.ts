import type { RelayConfig as ConfigDocument, RedisStore } from '../../generated/relay-config.js';
import type { FieldPath } from '../model/field-path.ts';
import type {
  RedisNode,
  RedisStoreConfig,
  ReplicasConfig,
  SecretReference,
  StoreConfig,
  UsernameReference,
} from '../model/relay-config.ts';
import { type FieldProblem, fieldError } from './problem.ts';
import { readSecret } from './relay-secrets.ts';

const REDIS_PORT = 6379;
/** What the address of a replica has to look like, for messages. */
export const REPLICA_ADDRESS =
  'must be HOST:PORT, or an address that begins with http:// or https://, without user and password';

/** Where the ledger and the snapshots are kept. */
export function readStore(document: ConfigDocument, problems: FieldProblem[]): StoreConfig {
  const { type = 'sqlite', path, redis } = document.store ?? {};
  if (type !== 'sqlite' && path !== undefined) {
    const what = type === 'memory' ? 'a store in memory' : 'a store of the type redis';
    problems.push(fieldError('WrongChoice', ['store', 'path'], `${what} has no path`));
  }
  if (type !== 'redis' && redis !== undefined) {
    problems.push(fieldError('WrongChoice', ['store', 'redis'], 'redis belongs to a store of the type redis'));
  }
  if (type === 'memory') return { type };
  if (type === 'sqlite') return { type, ...(path === undefined ? {} : { path }) };
  if (redis !== undefined) return readRedis(redis, ['store', 'redis'], problems);
  problems.push(fieldError('MissingField', ['store'], 'a store of the type redis needs redis.nodes'));
  return { type, nodes: [], database: 0, prefix: 'fleetrelay' };
}

function readRedis(redis: RedisStore, at: FieldPath, problems: FieldProblem[]): RedisStoreConfig {
  const { nodes, sentinel, database = 0, prefix = 'fleetrelay', tls } = redis;
  if (sentinel === undefined && nodes.length > 1) {
    const message = 'without sentinel there is one node; a cluster of Redis servers cannot be used';
    problems.push(fieldError('WrongChoice', [...at, 'nodes'], message));
  }
  if ((tls?.certFile === undefined) !== (tls?.keyFile === undefined)) {
    problems.push(fieldError('MissingField', [...at, 'tls'], 'certFile and keyFile belong together'));
  }
  return {
    type: 'redis',
    nodes: nodes.flatMap((node, index) => readNode(node, [...at, 'nodes', index], problems)),
    ...(sentinel === undefined
      ? {}
      : { sentinel: { master: sentinel.master, ...readLogin(sentinel, [...at, 'sentinel'], problems) } }),
    ...readLogin(redis, at, problems),
    database,
    ...(tls === undefined ? {} : { tls }),
    prefix,
  };
}

interface Login {
  readonly username?: string;
  readonly usernameEnv?: string;
  readonly usernameFile?: string;
  readonly passwordEnv?: string;
  readonly passwordFile?: string;
}

function readLogin(
  { username, usernameEnv, usernameFile, passwordEnv, passwordFile }: Login,
  at: FieldPath,
  problems: FieldProblem[],
): { readonly username?: UsernameReference; readonly password?: SecretReference } {
  const kept = readSecret('username', usernameEnv, usernameFile, at, problems);
  if (username !== undefined && kept !== undefined) {
    problems.push(fieldError('WrongChoice', at, 'at most one of username, usernameEnv, usernameFile may be given'));
  }
  const user: UsernameReference | undefined = username === undefined ? kept : { type: 'text', text: username };
  const password = readSecret('password', passwordEnv, passwordFile, at, problems);
  if (user !== undefined && password === undefined) {
    problems.push(fieldError('MissingField', at, 'a user name needs a password: passwordEnv or passwordFile'));
  }
  return { ...(user === undefined ? {} : { username: user }), ...(password === undefined ? {} : { password }) };
}

function readNode(text: string, at: FieldPath, problems: FieldProblem[]): readonly RedisNode[] {
  const node = parseRedisNode(text);
  if (node === undefined) {
    problems.push(fieldError('BadAddress', at, 'a node is HOST:PORT, for example redis.example.com:6379'));
  }
  return node === undefined ? [] : [node];
}

/** `HOST`, `HOST:PORT` or `[IPV6]:PORT`; undefined if it is none. */
export function parseRedisNode(text: string): RedisNode | undefined {
  const match = /^(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9._-]+))(?::(\d{1,5}))?$/.exec(text);
  const host = match?.[1] ?? match?.[2];
  const port = match?.[3] === undefined ? REDIS_PORT : Number(match[3]);
  return host === undefined || port < 1 || port > 65_535 ? undefined : { host, port };
}

/** Whether several servers work as one. */
export function readReplicas(document: ConfigDocument, store: StoreConfig, problems: FieldProblem[]): ReplicasConfig {
  const shared = store.type === 'redis';
  const { mode = shared ? 'several' : 'one', lease = 'store', advertise } = document.replicas ?? {};
  if (mode === 'several' && !shared) {
    const message = 'several replicas need a store that they share: a store of the type redis';
    problems.push(fieldError('WrongChoice', ['replicas', 'mode'], message));
  }
  if (advertise !== undefined && !isReplicaAddress(advertise)) {
    problems.push(fieldError('BadAddress', ['replicas', 'advertise'], `replicas.advertise ${REPLICA_ADDRESS}`));
  }
  return { mode, lease, ...(advertise === undefined ? {} : { advertise }) };
}

/** HOST:PORT or the http(s) address of an API, without anything that could be a secret. */
export function isReplicaAddress(text: string): boolean {
  const url = /^https?:\/\//.test(text) ? text : `http://${text}`;
  if (!URL.canParse(url)) return false;
  const { username, password, pathname, search, hash, host } = new URL(url);
  return username === '' && password === '' && search === '' && hash === '' && pathname === '/' && host !== '';
}
