import { join } from 'node:path';
import { createTurns } from '../../model/in-turn.ts';
import { isJsonObject, parseJsonBytes } from '../../model/json.ts';
import { errorText } from '../../model/messages.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import type { SnapshotStore } from '../../ports/snapshot-store.ts';
import type { TokenGenerations } from '../../ports/token-generations.ts';
import { ensurePrivateFolder, readIfThere, writePrivate } from './files.ts';

const FILE = 'token-generations.json';
/** Where replicas share them in the store. */
export const GENERATIONS_KEY = 'trust/tokens';
/** The store is looked at this often at least: it may lose a record without a word. */
const LOOK_MS = 60_000;
/** Tries before it is given up that two replicas ever agree. */
const MOST_CONFLICTS = 20;

type Generations = ReadonlyMap<string, number>;

/** What {@link openTokenGenerations} needs of the world. `store`: the one that replicas share; absent: there is none. */
export interface TokenGenerationDeps {
  readonly folder: string;
  readonly store?: SnapshotStore;
  readonly clock: Clock;
  readonly log: Log;
}

/** Generations that are kept up to date until they are stopped. */
export interface OpenedTokenGenerations extends TokenGenerations {
  /** Follows the store no more. Resolves when what was under way has ended, files included. */
  stop(): Promise<void>;
}

/**
 * Reads the generations of tokens from a folder, and from the store that replicas share. What anybody knows
 * counts, and the later one of two: so a store that has lost them, or fell back to an older copy, gets them back from any
 * replica's memory or folder. Rejects with a text for people if they cannot be read: an earlier token must not count again.
 */
export async function openTokenGenerations(deps: TokenGenerationDeps): Promise<OpenedTokenGenerations> {
  const { folder, store, clock, log } = deps;
  let known: Generations = await readTokenGenerations(folder);
  const listeners = new Set<(cluster: string) => void>();
  // Each starts from what the one before has found.
  const inTurn = createTurns();
  const keep = createFile(folder, textOf(known));
  const learn = (more: Generations): void => {
    const raised = [...more].filter(([cluster, generation]) => generation > (known.get(cluster) ?? 0));
    known = later(known, more);
    for (const [cluster] of raised) for (const listener of listeners) listener(cluster);
  };
  /** What is in the store is known here, and the other way round; `more` too, once it is durable. */
  const agree = async (more: Generations): Promise<void> => {
    if (store === undefined) {
      const joined = later(known, more);
      await keep(joined);
      learn(joined);
      return;
    }
    learn(await share(store, later(known, more)));
    // What the store has is durable; this is for the day on which the store is lost.
    await keep(known).catch((error: unknown) =>
      log.error('relay: the generations of tokens cannot be kept on disk', { detail: errorText(error) }),
    );
  };
  const agreeLater = (more: Generations): void => {
    inTurn(() => agree(more)).catch((error: unknown) =>
      log.warn('relay: the generations of tokens cannot be shared now', { detail: errorText(error) }),
    );
  };
  let cancel = (): void => undefined;
  const look = (): void => {
    cancel = clock.schedule(LOOK_MS, look);
    agreeLater(new Map());
  };
  if (store !== undefined) {
    await agree(new Map());
    cancel = clock.schedule(LOOK_MS, look);
  }
  const unwatch = store?.watch((event) => {
    const concerns = event.type === 'changed' ? event.keys.includes(GENERATIONS_KEY) : event.type !== 'down';
    if (concerns) agreeLater(new Map());
  });

  return {
    current: (cluster) => known.get(cluster) ?? 0,
    renew: (cluster) =>
      inTurn(async () => {
        const generation = Math.max((known.get(cluster) ?? 0) + 1, Math.floor(clock.now() / 1000));
        await agree(new Map([[cluster, generation]]));
        return known.get(cluster) ?? generation;
      }),
    shown(cluster, generation) {
      if (generation <= (known.get(cluster) ?? 0)) return;
      log.warn(
        'relay: a renewed token was shown whose renewal was not known here: earlier ones do not count any more',
        {
          ...{ cluster, generation },
        },
      );
      const more = new Map([[cluster, generation]]);
      learn(more);
      agreeLater(more);
    },
    watch(changed) {
      listeners.add(changed);
      return () => listeners.delete(changed);
    },
    async stop() {
      cancel();
      unwatch?.();
      await inTurn(async () => undefined);
    },
  };
}

/** Writes them into a folder that holds `text` now. */
function createFile(folder: string, text: string): (generations: Generations) => Promise<void> {
  let onDisk = text;
  return async (generations) => {
    const next = textOf(generations);
    if (next === onDisk) return;
    await ensurePrivateFolder(folder);
    await writePrivate(join(folder, FILE), Buffer.from(next));
    onDisk = next;
  };
}

/** What a folder has of them. Rejects with a text for people if that cannot be read. */
export async function readTokenGenerations(folder: string): Promise<Generations> {
  const path = join(folder, FILE);
  const bytes = await readIfThere(path);
  if (bytes === undefined) return new Map();
  const generations = parse(bytes);
  if (generations !== undefined) return generations;
  throw new Error(
    `${path} is damaged: restore it, or remove it and renew again every token that was renewed (earlier ones count until then)`,
  );
}

/** Joins these with what is in the store. Rejects if that cannot be asked. */
async function share(store: SnapshotStore, generations: Generations): Promise<Generations> {
  for (let conflicts = 0; conflicts < MOST_CONFLICTS; conflicts += 1) {
    const record = await store.get(GENERATIONS_KEY);
    // What is spoiled is written anew from what is known here.
    const there = record === undefined ? new Map<string, number>() : (parse(record.value) ?? new Map<string, number>());
    const joined = later(there, generations);
    if (textOf(joined) === textOf(there)) return joined;
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

/** In order of names: equal ones are equal texts. */
function textOf(generations: Generations): string {
  const sorted = [...generations].sort(([a], [b]) => (a < b ? -1 : 1));
  return `${JSON.stringify(Object.fromEntries(sorted))}\n`;
}

function parse(bytes: Uint8Array): Generations | undefined {
  const json = parseJsonBytes(bytes);
  if (!isJsonObject(json)) return undefined;
  const entries = Object.entries(json);
  const isGeneration = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) > 0;
  if (!entries.every(([, value]) => isGeneration(value))) return undefined;
  return new Map(entries as [string, number][]);
}
