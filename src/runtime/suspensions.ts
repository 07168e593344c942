import type { Clock } from '../ports/clock.ts';
import type { SnapshotStore, StoreEvent } from '../ports/snapshot-store.ts';
import type { RevisionObservation } from '../ports/source.ts';
import type { Loop } from './loop.ts';
import type { Intake } from './replica/intake.ts';
import { jsonWrite } from './replica/records.ts';
import type { Replica } from './replica/replica.ts';
import type { RecordWriter } from './stored/write-group.ts';

/** What a person has stopped for now, and why. */
export interface Suspension {
  readonly by: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  /** Empty: none was given. */
  readonly reason: string;
}

export type SuspensionKind = 'cluster' | 'source';

/** Clusters that are sent nothing, and sources of which nothing new is admitted, until a person resumes them. */
export interface Suspensions {
  get(kind: SuspensionKind, name: string): Suspension | undefined;
  /** Notes it in the store as well, soon. Null: it is resumed. */
  set(kind: SuspensionKind, name: string, suspension: Suspension | null): void;
  /** Is told after each change. */
  onChange(listener: () => void): void;
  /** Of several replicas, each takes over what the others have written to the store; the returned function ends it. */
  follow(leads: () => boolean): () => void;
}

const PREFIX = 'suspended/';
const EPOCH = 'epoch';

/** Rejects when the store cannot be asked. */
export async function createSuspensions(deps: {
  readonly store: SnapshotStore;
  readonly journal: RecordWriter;
  readonly loop: Loop;
}): Promise<Suspensions> {
  const { store, journal, loop } = deps;
  const all = new Map<string, Suspension>();
  const listeners: (() => void)[] = [];
  /** By key, what a person has told this process and the store is not known to have yet: what it had before. */
  const told = new Map<string, Suspension | undefined>();
  const changed = (): void => {
    for (const listener of listeners) listener();
    loop.transact(() => undefined);
  };
  const note = (key: string, value: Uint8Array | undefined): void => {
    const suspension = value === undefined ? undefined : readSuspension(value);
    if (suspension === undefined) all.delete(key);
    else all.set(key, suspension);
    told.delete(key);
    journal.noted(key, suspension ?? null);
  };
  /**
   * Looks whether the store has what this process was told. If the process leads no more, its journal cannot write that:
   * it is written here, unless a later leader has been told something else.
   */
  const confirm = async (leads: () => boolean): Promise<void> => {
    for (const [key, before] of told) {
      const record = await store.get(key);
      const there = record === undefined ? undefined : readSuspension(record.value);
      const own = all.get(key);
      const isTheirs = !isSame(there, before) && !leads();
      if (isSame(there, own) || isTheirs) note(key, record?.value);
      else if (!leads()) {
        await store.write([jsonWrite(key, own === undefined ? null : { ...own }, record?.version ?? null)]);
      }
    }
  };
  /** What a person has told this process is later than what the store has. */
  const noteUnlessTold = (key: string, value: Uint8Array | undefined): void => {
    if (!told.has(key)) note(key, value);
  };
  const read = async (): Promise<Map<string, Uint8Array>> => {
    const records = new Map<string, Uint8Array>();
    for await (const { key, value } of store.list(PREFIX)) records.set(key, value);
    return records;
  };

  for (const [key, value] of await read()) note(key, value);
  return {
    get: (kind, name) => all.get(keyOf(kind, name)),
    set: (kind, name, suspension) => {
      const key = keyOf(kind, name);
      if (!told.has(key)) told.set(key, all.get(key));
      if (suspension === null) all.delete(key);
      else all.set(key, suspension);
      journal.put(key, suspension);
      changed();
    },
    onChange: (listener) => void listeners.push(listener),
    follow: (leads) => {
      const hear = async (event: StoreEvent): Promise<void> => {
        if (event.type !== 'down') await confirm(leads);
        if (event.type === 'changed') {
          const keys = event.keys.filter((key) => key.startsWith(PREFIX));
          if (keys.length === 0) return;
          for (const key of keys) noteUnlessTold(key, (await store.get(key))?.value);
        } else if (event.type === 'up' && !leads()) {
          // A store that was emptied says nothing of what was resumed.
          if ((await store.get(EPOCH)) === undefined) return;
          const records = await read();
          for (const key of new Set([...all.keys(), ...records.keys()])) noteUnlessTold(key, records.get(key));
        } else return;
        changed();
      };
      // Should the store fail here, it comes back, and tells that.
      return store.watch((event) => void hear(event).catch(() => undefined));
    },
  };
}

/** Why somebody is sent nothing, for people. */
export function displaySuspension({ by, at, reason }: Suspension): string {
  return `suspended by ${by} at ${new Date(at).toISOString()}${reason === '' ? '' : `: ${reason}`}`;
}

/** A suspension that begins now. */
export function suspensionBy(clock: Clock, by: string, reason: string): Suspension {
  return { by, at: clock.now(), reason };
}

/** What suspended sources observe waits here, put together, until they are resumed. */
export function createPatientIntake(intake: Intake, suspensions: Suspensions): Intake {
  const waiting = new Map<string, RevisionObservation>();
  suspensions.onChange(() => {
    for (const [source, observation] of waiting) {
      if (suspensions.get('source', source) !== undefined) continue;
      waiting.delete(source);
      intake.observed(observation);
    }
  });
  return {
    ...intake,
    observed: (observation) => {
      const { source } = observation;
      if (suspensions.get('source', source) === undefined) return intake.observed(observation);
      const before = waiting.get(source)?.changes ?? [];
      const changes = new Map([...before, ...observation.changes].map((change) => [change.path, change]));
      waiting.set(source, { ...observation, changes: [...changes.values()] });
    },
  };
}

/** A suspended cluster is sent nothing, whatever else is in its way. */
export function withSuspensions(replica: Replica, suspensions: Suspensions): Replica {
  const obstacle = (cluster: string): string | undefined =>
    suspensions.get('cluster', cluster) === undefined ? replica.obstacle(cluster) : '';
  return { ...replica, obstacle };
}

function keyOf(kind: SuspensionKind, name: string): string {
  return `${PREFIX}${kind}/${name}`;
}

function isSame(a: Suspension | undefined, b: Suspension | undefined): boolean {
  return a?.at === b?.at && a?.by === b?.by && a?.reason === b?.reason;
}

function readSuspension(bytes: Uint8Array): Suspension | undefined {
  try {
    const value = JSON.parse(new TextDecoder().decode(bytes)) as Partial<Suspension> | null;
    // A damaged record suspends as well: going on where somebody said stop is the worse mistake.
    return { by: String(value?.by ?? 'somebody'), at: Number(value?.at ?? 0), reason: String(value?.reason ?? '') };
  } catch {
    return { by: 'somebody', at: 0, reason: 'the record of it is damaged' };
  }
}
