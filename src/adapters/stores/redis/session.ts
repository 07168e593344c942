import type { Clock } from '../../../ports/clock.ts';
import type { Log } from '../../../ports/log.ts';
import { type Connection, dial } from './connection.ts';
import { RefusedServer, sessionError } from './errors.ts';
import { type Layout, texts } from './layout.ts';
import type { RedisStoreOptions, RedisTimeouts } from './options.ts';
import { BEAT, BEGIN, OPEN, PROBE } from './scripts.ts';

/** The oldest major version that still receives fixes and that the test suites run on. */
const OLDEST_MAJOR = 7;
const EVICTS =
  'Redis evicts records of the store when its memory is full, and they must be written again; set maxmemory-policy to noeviction';
const INDEXED_AT_ONCE = 1_000;

export type Session = Awaited<ReturnType<typeof connectSession>>;

/**
 * State that Redis reports. `count`: batches in the store. `batch`: id of the batch that has the number of the caller's last
 * known batch. `newest`: id of the newest batch.
 */
export interface ReportedState {
  readonly marker: string;
  readonly count: number;
  readonly batch: string;
  readonly newest: string;
}

export interface SessionOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly store: RedisStoreOptions;
  readonly timeouts: RedisTimeouts;
  readonly layout: Layout;
  readonly handle: string;
  /** Also check the rights of the user and the eviction policy. */
  readonly probe: boolean;
  /** Ends an attempt to connect. */
  readonly signal: AbortSignal;
  /** Receives the messages on the channel of changes. */
  readonly onMessage: (message: string) => void;
}

/**
 * Two connections to one server: one for commands, one that receives changes. Redis accepts writes of a handle from its
 * newest session only: commands of an older session that are still under way are not carried out. Rejects with RefusedServer
 * if another attempt would fail in the same way.
 */
export async function connectSession(options: SessionOptions) {
  const { clock, log, store, timeouts, layout, handle, signal } = options;
  const access = await store.access();
  const connections: Connection[] = [];
  const connect = async (): Promise<Connection> => {
    const connection = await dial(clock, { store, access, timeouts, signal });
    connections.push(connection);
    return connection;
  };
  const close = (): void => {
    for (const connection of connections) connection.close();
  };
  try {
    const commands = await connect();
    await checkServer(commands, store);
    if (options.probe) {
      await checkRights(commands, layout, handle);
      const policy = await evictingPolicy(commands);
      if (policy !== undefined) log.warn(EVICTS, { policy });
    }
    const events = await connect();
    await events.subscribe(layout.changes, options.onMessage);
    const keys = [layout.state, layout.index, layout.writer(handle)];
    return {
      commands,
      /** Names of state, index and writer: the first keys of most scripts. */
      keys,
      /** Resolves with the reason when one of the connections has ended. */
      over: Promise.race([commands.over, events.over]),
      /**
       * Registers `token`, a new id, as the newest session of the handle, and creates the store if there is none. `count`:
       * number of the last known batch. Rejects if another process has replaced the store meanwhile.
       */
      open: async (token: string, count: number): Promise<ReportedState> => {
        // A store that this session creates has the token as its marker.
        const [state, begins] = stateOf(await commands.run(OPEN, keys, [token, token, count]));
        if (begins === '1') await begin(commands, keys, layout, state.marker);
        return state;
      },
      /** Reads the state and the token in force, and extends the registration. `count` as for `open`. */
      beat: async (count: number): Promise<{ readonly found: ReportedState; readonly token: string }> => {
        // The PING shows whether the connection that only receives is still alive.
        const [answer] = await Promise.all([commands.run(BEAT, keys, [count]), events.send('PING')]);
        const [found, token] = stateOf(answer);
        return { found, token };
      },
      /** Resolves when the messages of all earlier batches were received: Redis sends them before its answer to the PING. */
      notified: async (): Promise<void> => void (await events.send('PING')),
      close,
    };
  } catch (error) {
    close();
    throw sessionError(error, store);
  }
}

/** The state in the answer of a script, and the text that follows it. */
function stateOf(answer: unknown): readonly [ReportedState, string] {
  const [marker = '', count = '0', batch = '', newest = '', last = ''] = texts(answer);
  return [{ marker, count: Number(count), batch, newest }, last];
}

/** Enters all records into the index of a new store: Redis may have evicted the old index alone. */
async function begin(commands: Connection, keys: readonly string[], layout: Layout, marker: string): Promise<void> {
  let cursor = '0';
  do {
    const answer = await commands.send('SCAN', cursor, 'MATCH', layout.anyRecord, 'COUNT', INDEXED_AT_ONCE);
    if (!Array.isArray(answer) || !Array.isArray(answer[1])) throw new Error('Redis answered SCAN in an unknown form');
    cursor = String(answer[0]);
    const members = answer[1].flatMap((name) => [0, `k${layout.keyOf(String(name))}`]);
    if (members.length > 0) await commands.send('ZADD', layout.index, ...members);
  } while (cursor !== '0');
  if (String(await commands.run(BEGIN, keys, [marker])) !== '1') throw new Error('the store was emptied or replaced');
}

async function checkServer(commands: Connection, { sentinel, database, nodes }: RedisStoreOptions): Promise<void> {
  const where = nodes.map(({ host, port }) => `${host}:${port}`).join(', ');
  const { version = '', mode, role } = await hello(commands);
  if (Number.parseInt(version, 10) < OLDEST_MAJOR || version === '') {
    throw new RefusedServer(
      `Redis at ${where} is too old (${version === '' ? 'below 6' : version}): the store needs ${OLDEST_MAJOR}.0 or newer`,
    );
  }
  if (mode === 'cluster') {
    throw new RefusedServer(
      `Redis at ${where} runs in cluster mode, which the store does not use: name a standalone server, or sentinels`,
    );
  }
  if (mode === 'sentinel') {
    throw new RefusedServer(`${where} is a sentinel: configure the store with \`sentinel\` and the name of its master`);
  }
  if (role !== 'master') {
    const text = `Redis at ${where} is a replica: name its primary, or the sentinels that know it`;
    throw sentinel === undefined ? new RefusedServer(text) : new Error(text);
  }
  if (database !== 0) await commands.send('SELECT', database);
}

/** The members of the answer to HELLO; none if the server does not know the command. */
async function hello(commands: Connection): Promise<Readonly<Record<string, string>>> {
  const answer = await commands.send('HELLO').catch((error: unknown) => {
    if (error instanceof Error && /unknown command/i.test(error.message)) return [];
    throw error;
  });
  const items = texts(answer);
  return Object.fromEntries(items.flatMap((name, at) => (at % 2 === 0 ? [[name, items[at + 1] ?? '']] : [])));
}

/** Reports all rights that the account lacks at once. Throws `RefusedServer` with the ACL command that grants them. */
async function checkRights(commands: Connection, layout: Layout, handle: string): Promise<void> {
  const names = [layout.state, layout.index, layout.writer(handle), layout.record('k')];
  const missing = texts(await commands.run(PROBE, names, [layout.changes]));
  if (missing.length === 0) return;
  throw new RefusedServer(
    `the user of the store lacks rights in Redis: ${missing.join(', ')}; give it these commands, on its keys and channels: ` +
      `ACL SETUSER NAME ${[...new Set(missing.map((call) => `+${call.split(' ')[0]}`))].join(' ')} ~${layout.base}:* &${layout.base}:*`,
  );
}

/** The server's eviction policy if it evicts keys without expiry; undefined if it does not, or if the policy is not readable. */
async function evictingPolicy(commands: Connection): Promise<string | undefined> {
  const about = await commands.send('INFO', 'memory').catch(() => '');
  return /^maxmemory_policy:(allkeys-\S+)/m.exec(String(about))?.[1];
}
