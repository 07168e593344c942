import { openJoinedRecord, type RecordDeps, type RecordKind } from './joined-record.ts';

/** Name of the file with the acceptances in the trust folder of a server. */
export const ACCEPTANCES_FILE = 'acceptances.json';

/** Agents that wait for one name; a person cannot tell more of them apart. */
const MOST_WAITING = 5;
/** Milliseconds after its last request when an agent does not wait any more. */
const WAITS_MS = 60 * 60 * 1000;
/** An accepted agent that has not enrolled within this time has to be accepted again, in milliseconds. */
const ACCEPTED_MS = 24 * 60 * 60 * 1000;
/** An agent that waits is noted again after this time, in milliseconds: asking often costs no write. */
const NOTED_AGAIN_MS = 10 * 60 * 1000;

/** An agent that asks for a name with the shared token. */
export interface Asker {
  readonly clusterId: string;
  /** sha256 of its key (SubjectPublicKeyInfo), in hex. */
  readonly key: string;
  /** When it asked last, or when it was accepted, in milliseconds since 1970. */
  readonly at: number;
}

/** Who waits for a name, and who was accepted. */
interface Name {
  readonly waiting: readonly Asker[];
  readonly accepted?: Asker;
}

const names: RecordKind<Name> = {
  storeKey: 'trust/acceptances',
  what: 'the agents that wait for "cluster accept"',
  repair: 'remove it: the agents ask again',
  read(json) {
    const { waiting, accepted } = Object(json) as { waiting?: unknown; accepted?: unknown };
    if (!Array.isArray(waiting) || !waiting.every(isAsker)) return undefined;
    if (accepted === undefined) return { waiting };
    return isAsker(accepted) ? { waiting, accepted } : undefined;
  },
  join(one, other) {
    const all = new Map<string, Asker>();
    for (const each of [...one.waiting, ...other.waiting].sort(byTime)) all.set(nameOf(each), each);
    const accepted = [one.accepted, other.accepted]
      .filter((each) => each !== undefined)
      .sort(byTime)
      .at(-1);
    const waiting = [...all.values()].slice(0, MOST_WAITING);
    return accepted === undefined ? { waiting } : { waiting, accepted };
  },
  isOver: ({ waiting, accepted }, now) =>
    waiting.every(({ at }) => at + WAITS_MS <= now) && (accepted?.at ?? 0) + ACCEPTED_MS <= now,
};

function isAsker(json: unknown): json is Asker {
  const { clusterId, key, at } = Object(json) as Partial<Record<keyof Asker, unknown>>;
  return typeof clusterId === 'string' && typeof key === 'string' && Number.isSafeInteger(at);
}

function nameOf({ clusterId, key }: Asker): string {
  return `${key} ${clusterId}`;
}

/** The order is the same at every replica. */
function byTime(one: Asker, other: Asker): number {
  return one.at - other.at || (nameOf(one) < nameOf(other) ? -1 : 1);
}

/** Agents that came by the shared token: each waits until a person accepts it for the name that it asks for. */
export interface Acceptances {
  /** Whether the agent was accepted. If it was not, it waits from now on. */
  ask(cluster: string, asker: Omit<Asker, 'at'>): boolean;
  waiting(cluster: string): readonly Asker[];
  /** Accepts an agent for a name. Resolves when that is durable and shared with the reachable replicas; rejects with a text for people. */
  accept(cluster: string, asker: Omit<Asker, 'at'>): Promise<void>;
}

/** Acceptances that follow the store until they are stopped. */
export interface OpenedAcceptances extends Acceptances {
  stop(): Promise<void>;
}

/** Opens the record of acceptances. Rejects with a text for people if it cannot be read. */
export async function openAcceptances(deps: RecordDeps): Promise<OpenedAcceptances> {
  const { clock } = deps;
  const record = await openJoinedRecord(deps, names);
  const waiting = (cluster: string): readonly Asker[] =>
    (record.get(cluster)?.waiting ?? []).filter(({ at }) => at + WAITS_MS > clock.now());
  return {
    ask(cluster, { clusterId, key }) {
      const now = clock.now();
      const accepted = record.get(cluster)?.accepted;
      const isSame = (each: Asker | undefined): boolean => each?.clusterId === clusterId && each.key === key;
      if (isSame(accepted) && (accepted?.at ?? 0) + ACCEPTED_MS > now) return true;
      const waits = waiting(cluster);
      const known = waits.find(isSame);
      // While the list is full an agent is not noted: it takes the place of the first one that asks no more.
      const isNoted = known === undefined ? waits.length >= MOST_WAITING : known.at + NOTED_AGAIN_MS > now;
      if (!isNoted) record.learn(new Map([[cluster, { waiting: [{ clusterId, key, at: now }] }]]));
      return false;
    },
    waiting,
    accept: (cluster, asker) =>
      record.add(() => new Map([[cluster, { waiting: [], accepted: { ...asker, at: clock.now() } }]])),
    stop: record.stop,
  };
}
