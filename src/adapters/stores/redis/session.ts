import type { Clock } from '../../../ports/clock.ts';
import type { Log } from '../../../ports/log.ts';
import { type Connection, dial } from './connection.ts';
import type { Found } from './history.ts';
import type { Layout } from './layout.ts';
import type { RedisStoreOptions, RedisTimeouts } from './options.ts';
import { RefusedServer, sessionError } from './refusals.ts';
import { BEAT, BEGIN, OPEN, PROBE } from './scripts.ts';

/** The oldest that still gets mended, and that the suites run on. */
const OLDEST_MAJOR = 7;
const EVICTS =
  'Redis throws records of the store away when its memory is full, which are then written again; set maxmemory-policy to noeviction';

/**
 * Two connections to the same server, one for commands and one that hears of changes. Redis lets a handle write by its
 * newest session only: what an older one has sent and what is still under way is never carried out any more.
 */
export interface Session {
  readonly commands: Connection;
  /** State, index and writer, as scripts want them. */
  readonly keys: readonly string[];
  /** Resolves with the reason when one of the connections is over. */
  readonly over: Promise<string>;
  /** Introduces the handle anew, and begins a store if there is none. `count`: of the last batch that is known here. */
  open(token: string, count: number): Promise<Opened>;
  /** All records of a store that begins are in its index. Rejects if another store has begun since. */
  begin(marker: string): Promise<void>;
  beat(count: number): Promise<Beat>;
  close(): void;
}

export interface Opened {
  readonly found: Found;
  /** There was no store, or it was not whole: it begins, and is used by nobody before `begin`. */
  readonly begins: boolean;
}

export interface Beat {
  readonly found: Found;
  readonly token: string;
}

export interface SessionDeps {
  readonly clock: Clock;
  /** Gives it up while it is not connected yet. */
  readonly signal: AbortSignal;
  readonly log: Log;
  readonly newId: () => string;
  readonly onMessage: (message: string) => void;
}

export interface SessionOptions {
  readonly store: RedisStoreOptions;
  readonly timeouts: RedisTimeouts;
  readonly layout: Layout;
  readonly handle: string;
  /** Also look whether the user has all rights. */
  readonly probe: boolean;
}

/** Rejects with RefusedServer if trying again is of no use. */
export async function connectSession(deps: SessionDeps, options: SessionOptions): Promise<Session> {
  const { store, timeouts, layout, handle } = options;
  const access = await store.access();
  const opened: Connection[] = [];
  const connect = async (): Promise<Connection> => {
    const connection = await dial(deps, { store, access, timeouts });
    opened.push(connection);
    return connection;
  };
  try {
    const commands = await connect();
    await checkServer(commands, store);
    if (options.probe) {
      await checkRights(commands, layout, handle);
      const policy = await evictingPolicy(commands);
      if (policy !== undefined) deps.log.warn(EVICTS, { policy });
    }
    const events = await connect();
    await events.subscribe(layout.changes, deps.onMessage);
    const close = (): void => {
      for (const connection of opened) connection.close();
    };
    const over = Promise.race([commands.over, events.over]);
    const keys = [layout.state, layout.index, layout.writer(handle)];
    return {
      commands,
      keys,
      over,
      open: async (token, count) => {
        const [marker, total, batch, newest, begins] = texts(
          await commands.run(OPEN, keys, [deps.newId(), token, count]),
        );
        return { found: foundOf(marker, total, batch, newest), begins: begins === '1' };
      },
      begin: async (marker) => {
        if (String(await commands.run(BEGIN, keys, [marker])) !== '1')
          throw new Error('the store was emptied or replaced');
      },
      beat: async (count) => {
        // A connection that only listens would never notice that its other end is gone.
        const [answer] = await Promise.all([commands.run(BEAT, keys, [count]), events.send('PING')]);
        const [marker, total, batch, newest, token = ''] = texts(answer);
        return { found: foundOf(marker, total, batch, newest), token };
      },
      close,
    };
  } catch (error) {
    for (const connection of opened) connection.close();
    throw sessionError(error, store);
  }
}

async function checkServer(commands: Connection, { sentinel, database, nodes }: RedisStoreOptions): Promise<void> {
  const where = nodes.map(({ host, port }) => `${host}:${port}`).join(', ');
  const about = await hello(commands);
  const version = about.get('version') ?? '';
  if (Number.parseInt(version, 10) < OLDEST_MAJOR || version === '') {
    throw new RefusedServer(
      `Redis at ${where} is too old (${version === '' ? 'below 6' : version}): the store needs ${OLDEST_MAJOR}.0 or newer`,
    );
  }
  const mode = about.get('mode');
  if (mode === 'cluster') {
    throw new RefusedServer(
      `Redis at ${where} runs in cluster mode, which the store does not use: name a standalone server, or sentinels`,
    );
  }
  if (mode === 'sentinel') {
    throw new RefusedServer(`${where} is a sentinel: configure the store with \`sentinel\` and the name of its master`);
  }
  if (about.get('role') !== 'master') {
    const text = `Redis at ${where} is a replica: name its primary, or the sentinels that know it`;
    throw sentinel === undefined ? new RefusedServer(text) : new Error(text);
  }
  if (database !== 0) await commands.send('SELECT', database);
}

async function hello(commands: Connection): Promise<ReadonlyMap<string, string>> {
  try {
    const answer = await commands.send('HELLO');
    const about = new Map<string, string>();
    if (!Array.isArray(answer)) return about;
    for (let at = 0; at + 1 < answer.length; at += 2) about.set(String(answer[at]), String(answer[at + 1]));
    return about;
  } catch (error) {
    if (error instanceof Error && /unknown command/i.test(error.message)) return new Map();
    throw error;
  }
}

/** Better now than when the first of them is needed. */
async function checkRights(commands: Connection, layout: Layout, handle: string): Promise<void> {
  const names = [layout.state, layout.index, layout.writer(handle), layout.record('k'), layout.part(handle, 0)];
  const missing = texts(await commands.run(PROBE, names, [layout.changes]));
  if (missing.length === 0) return;
  throw new RefusedServer(
    `the user of the store lacks rights in Redis: ${missing.join(', ')}; give it these commands, on its keys and channels: ` +
      `ACL SETUSER NAME ${[...new Set(missing.map((call) => `+${call.split(' ')[0]}`))].join(' ')} ~${layout.base}:* &${layout.base}:*`,
  );
}

/** The server's policy, if it evicts what has no expiry; undefined: it does not, or it does not say. */
async function evictingPolicy(commands: Connection): Promise<string | undefined> {
  const about = await commands.send('INFO', 'memory').catch(() => '');
  return /^maxmemory_policy:(allkeys-\S+)/m.exec(String(about))?.[1];
}

function foundOf(marker = '', count = '0', batch = '', newest = ''): Found {
  return { marker, count: Number(count), batch, newest };
}

/** The texts of an answer that is a list of texts. */
export function texts(answer: unknown): readonly string[] {
  return Array.isArray(answer) ? answer.map(String) : [];
}
