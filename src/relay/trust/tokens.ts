import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { createTurns } from '../../model/in-turn.ts';
import { isJsonObject, parseJsonBytes } from '../../model/json.ts';
import { errorText } from '../../model/messages.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import type { SnapshotStore } from '../../ports/snapshot-store.ts';
import type { StreamMetadata } from '../../ports/transport.ts';

/** A token that was never renewed, and a renewed one, which states its generation. */
const FIRST_PREFIX = 'frt1_';
const RENEWED_PREFIX = 'frt2_';
const RENEWED = /^frt2_([1-9]\d{0,14})_/;
/** A shorter secret could be guessed. */
const MIN_SECRET_BYTES = 32;

/**
 * The token of a cluster, derived from the relay secret: no secret is stored per cluster, and a token reveals nothing about
 * another one. Throws if the secret is shorter than 32 bytes.
 *
 * @param generation 0: never renewed; see {@link TokenGenerations}
 */
export function clusterToken(secret: Uint8Array, cluster: string, generation = 0): string {
  if (secret.length < MIN_SECRET_BYTES) throw new Error(`a relay secret needs at least ${MIN_SECRET_BYTES} bytes`);
  const derive = (text: string): string => createHmac('sha256', secret).update(text).digest('base64url');
  if (generation === 0) return `${FIRST_PREFIX}${derive(`token\u0000${cluster}`)}`;
  return `${RENEWED_PREFIX}${generation}_${derive(`token\u0000${cluster}\u0000${generation}`)}`;
}

/**
 * The generation that a token of this cluster states and proves, under any of the secrets; undefined: the token is wrong.
 * Takes the same time for every wrong token: it tries all secrets, and compares digests of equal length in constant time.
 */
export function tokenGeneration(secrets: readonly Uint8Array[], cluster: string, token: string): number | undefined {
  const generation = Number(RENEWED.exec(token)?.[1] ?? 0);
  let right = false;
  for (const secret of secrets) {
    const expected = hashed(secret, clusterToken(secret, cluster, generation));
    right = timingSafeEqual(expected, hashed(secret, token)) || right;
  }
  return right ? generation : undefined;
}

/** Whether a token is the shared token of all clusters. In constant time for any lengths. */
export function isSharedToken(shared: string, token: string): boolean {
  const key = randomBytes(MIN_SECRET_BYTES);
  return timingSafeEqual(hashed(key, shared), hashed(key, token));
}

function hashed(secret: Uint8Array, text: string): Buffer {
  return createHmac('sha256', secret).update(text).digest();
}

/** The token in the metadata of a call; undefined: there is none; empty: it is malformed. */
export function bearerToken({ authorization }: StreamMetadata): string | undefined {
  if (authorization === undefined) return undefined;
  return /^Bearer ([\x21-\x7e]{1,512})$/.exec(authorization)?.[1] ?? '';
}

/** Metadata of a call: the cluster, and the token unless it is empty. */
export function streamMetadata(cluster: string, token: string): StreamMetadata {
  const shown = token.trim();
  return { 'fleetrelay-cluster': cluster, ...(shown === '' ? {} : { authorization: `Bearer ${shown}` }) };
}

/** The command that prints the newest token of a cluster. `more`: flags beside `--relay-secret-file FILE`. */
export function tokenCommand(cluster: string, more = ''): string {
  return `fleetrelay cluster token ${cluster} --data-dir DIR (or --relay-secret-file FILE${more})`;
}

/**
 * The current generation of the tokens of each cluster: earlier tokens are refused. A generation is the second (since 1970)
 * of its renewal, or the previous generation plus one if that is later. So a renewal is later than all earlier ones, even
 * than those that were forgotten. 0: never renewed.
 */
export interface TokenGenerations {
  current(cluster: string): number;
  /**
   * Begins a new generation, which makes all tokens of the cluster invalid. Resolves with it when it is durable and shared
   * with the reachable replicas. Rejects with a text for people; then nothing has changed.
   */
  renew(cluster: string): Promise<number>;
  /** Takes the generation of a valid token. A later generation than the known one was forgotten, and becomes the current one. */
  shown(cluster: string, generation: number): void;
  /** Calls `changed` with each cluster whose generation has changed, until the returned function is called. */
  watch(changed: (cluster: string) => void): () => void;
}

/** Name of the file with the generations in the trust folder of a server. */
export const GENERATIONS_FILE = 'token-generations.json';
/** Where replicas share the generations in the store. */
export const GENERATIONS_KEY = 'trust/tokens';
/** Interval of reading the store, which may lose a record without an event. */
const LOOK_MS = 60_000;
/** Attempts to write the shared record before giving up. */
const MOST_CONFLICTS = 20;

type Generations = ReadonlyMap<string, number>;

/** A file that only this process writes. */
export interface GenerationsFile {
  readonly path: string;
  /** Undefined: it does not exist. */
  read(): Promise<Uint8Array | undefined>;
  /** Replaces the content atomically; durable when it resolves. */
  write(bytes: Uint8Array): Promise<void>;
}

/** What {@link openTokenGenerations} needs. `store`: shared with other replicas; absent: there are none. */
export interface TokenGenerationDeps {
  readonly file: GenerationsFile;
  readonly store?: SnapshotStore;
  readonly clock: Clock;
  readonly log: Log;
}

type State = ReturnType<typeof newState>;

function newState(deps: TokenGenerationDeps, known: Generations) {
  return {
    ...deps,
    known,
    /** The content of the file. */
    onDisk: textOf(known),
    listeners: new Set<(cluster: string) => void>(),
  };
}

/** Generations that follow the store until they are stopped. */
export interface OpenedTokenGenerations extends TokenGenerations {
  /** Resolves after the current write, also of the file. */
  stop(): Promise<void>;
}

/**
 * Reads the generations from the file and from the shared store, and joins them: the later generation of each cluster is
 * current. So a store that has lost its record or was restored from a backup is corrected by any replica. Rejects with a
 * text for people if they cannot be read, because an earlier token must not become valid again.
 */
export async function openTokenGenerations(deps: TokenGenerationDeps): Promise<OpenedTokenGenerations> {
  const { store, clock, log } = deps;
  const state = newState(deps, await readTokenGenerations(deps.file));
  // Each call starts from the result of the one before.
  const inTurn = createTurns();
  const shareLater = (more: Generations): void => {
    inTurn(() => share(state, more)).catch((error: unknown) =>
      log.warn('relay: the generations of tokens cannot be shared now', { detail: errorText(error) }),
    );
  };
  let cancel = (): void => undefined;
  const lookLater = (): void => {
    cancel = clock.schedule(LOOK_MS, () => {
      lookLater();
      shareLater(new Map());
    });
  };
  if (store !== undefined) {
    await share(state, new Map());
    lookLater();
  }
  const unwatch = store?.watch((event) => {
    const concerns = event.type === 'changed' ? event.keys.includes(GENERATIONS_KEY) : event.type !== 'down';
    if (concerns) shareLater(new Map());
  });
  const current = (cluster: string): number => state.known.get(cluster) ?? 0;

  return {
    current,
    renew: (cluster) =>
      inTurn(async () => {
        const generation = Math.max(current(cluster) + 1, Math.floor(clock.now() / 1000));
        await share(state, new Map([[cluster, generation]]));
        return current(cluster);
      }),
    shown(cluster, generation) {
      if (generation <= current(cluster)) return;
      const message = 'relay: a token of an unknown renewal was shown: earlier tokens of its cluster are refused now';
      log.warn(message, { cluster, generation });
      const more = new Map([[cluster, generation]]);
      learn(state, more);
      shareLater(more);
    },
    watch(changed) {
      state.listeners.add(changed);
      return () => state.listeners.delete(changed);
    },
    async stop() {
      cancel();
      unwatch?.();
      await inTurn(async () => undefined);
    },
  };
}

/** The generations in a file. Rejects with a text for people if the file is damaged. */
export async function readTokenGenerations({ path, read }: Omit<GenerationsFile, 'write'>): Promise<Generations> {
  const bytes = await read();
  const generations = bytes === undefined ? new Map<string, number>() : parse(bytes);
  if (generations !== undefined) return generations;
  throw new Error(
    `${path} is damaged: restore it, or remove it and renew again every token that was renewed (earlier ones count until then)`,
  );
}

/** Joins the known generations with these and with the store, and writes what the store and the file lack. */
async function share(state: State, more: Generations): Promise<void> {
  const { store, known, log } = state;
  if (store === undefined) {
    await writeFile(state, later(known, more));
    learn(state, more);
    return;
  }
  learn(state, await joinStore(store, later(known, more)));
  // The record in the store is durable; the file is a copy in case the store is lost.
  await writeFile(state, state.known).catch((error: unknown) =>
    log.error('relay: the generations of tokens cannot be kept on disk', { detail: errorText(error) }),
  );
}

function learn(state: State, more: Generations): void {
  const raised = [...more].filter(([cluster, generation]) => generation > (state.known.get(cluster) ?? 0));
  state.known = later(state.known, more);
  for (const [cluster] of raised) for (const listener of state.listeners) listener(cluster);
}

async function writeFile(state: State, generations: Generations): Promise<void> {
  const text = textOf(generations);
  if (text === state.onDisk) return;
  await state.file.write(Buffer.from(text));
  state.onDisk = text;
}

/** Joins these with the record in the store, and returns the result. Rejects if the store does not answer. */
async function joinStore(store: SnapshotStore, generations: Generations): Promise<Generations> {
  for (let conflicts = 0; conflicts < MOST_CONFLICTS; conflicts += 1) {
    const record = await store.get(GENERATIONS_KEY);
    // A damaged record is replaced.
    const stored = (record && parse(record.value)) ?? new Map<string, number>();
    const joined = later(stored, generations);
    if (textOf(joined) === textOf(stored)) return joined;
    const write = { key: GENERATIONS_KEY, value: Buffer.from(textOf(joined)), ifVersion: record?.version ?? null };
    if ((await store.write([write])) === 'written') return joined;
  }
  throw new Error('the replicas do not agree on the generations of tokens: their record changes all the time');
}

function later(one: Generations, other: Generations): Generations {
  const joined = new Map(one);
  for (const [cluster, generation] of other) joined.set(cluster, Math.max(generation, joined.get(cluster) ?? 0));
  return joined;
}

/** Sorted by name, so that equal generations have equal texts. */
function textOf(generations: Generations): string {
  const sorted = [...generations].sort(([a], [b]) => (a < b ? -1 : 1));
  return `${JSON.stringify(Object.fromEntries(sorted))}\n`;
}

function parse(bytes: Uint8Array): Generations | undefined {
  const json = parseJsonBytes(bytes);
  if (!isJsonObject(json)) return undefined;
  const entries = Object.entries(json);
  const isGeneration = ([, value]: [string, unknown]): boolean => Number.isSafeInteger(value) && Number(value) > 0;
  return entries.every(isGeneration) ? new Map(entries as [string, number][]) : undefined;
}
