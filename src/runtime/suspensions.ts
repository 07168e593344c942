import type { Engine } from '../engine/graph.ts';
import type { Receipt } from '../model/fleet/receipt.ts';
import type { StoreEvent } from '../ports/snapshot-store.ts';
import type { RevisionObservation } from '../ports/source.ts';
import type { ServerCore } from './core.ts';
import type { ServerBus } from './events.ts';
import { recordKey } from './ledger/records.ts';
import type { Replica } from './replica/replica.ts';
import type { Intake } from './replica/sources.ts';
import { jsonWrite } from './stored/json-record.ts';

/** Who has suspended a cluster or a source, when and why. */
export interface Suspension {
  readonly by: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  /** Empty: none was given. */
  readonly reason: string;
}

export type SuspensionKind = 'cluster' | 'source';

const PREFIX = 'suspended/';

export type Suspensions = Awaited<ReturnType<typeof createSuspensions>>;

interface SuspensionsDeps extends ServerCore {
  readonly role: Pick<Replica, 'leads'>;
  readonly events: ServerBus;
}

/**
 * Suspended clusters and sources: until a person resumes them, the clusters are sent nothing, and no newer revision of the sources
 * is admitted. Takes over the changes of other replicas from the store. Rejects if the store does not answer.
 */
export async function createSuspensions({ store, fleet, loop, engine, role, events }: SuspensionsDeps) {
  const { leads } = role;
  const all = new Map<string, Suspension>();
  /** Commands that the store may lack, by key: the suspension before the command. */
  const unconfirmed = new Map<string, Suspension | undefined>();
  const changed = (): void => {
    events.emit('suspended');
    loop.transact(() => undefined);
  };
  const put = (key: string, suspension: Suspension | null | undefined): void => {
    if (suspension) all.set(key, suspension);
    else all.delete(key);
    stage(engine, key, suspension ?? undefined);
  };
  /** Takes over a record of the store, unless a command to this process is newer. */
  const replicate = (key: string, value: Uint8Array | undefined): void => {
    if (unconfirmed.has(key)) return;
    const suspension = value === undefined ? undefined : readSuspension(value);
    put(key, suspension);
    fleet.noted(key, suspension ?? null);
  };
  /**
   * Checks that the store has the commands to this process. If the process does not lead any more, its journal cannot write
   * them: they are written here, unless a later leader has received another command.
   */
  const confirm = async (): Promise<void> => {
    for (const [key, before] of unconfirmed) {
      const record = await store.get(key);
      const stored = record === undefined ? undefined : readSuspension(record.value);
      const own = all.get(key);
      const isOverruled = !isSame(stored, before) && !leads();
      if (isSame(stored, own) || isOverruled) {
        unconfirmed.delete(key);
        replicate(key, record?.value);
      } else if (!leads()) {
        await store.write([jsonWrite(key, own === undefined ? null : { ...own }, record?.version ?? null)]);
      } else {
        // A replica that led before may have written it again after a loss of the store.
        fleet.noted(key, stored ?? null);
        fleet.put(key, own ?? null);
      }
    }
  };
  const read = async (): Promise<Map<string, Uint8Array>> => {
    const records = new Map<string, Uint8Array>();
    for await (const { key, value } of store.list(PREFIX)) records.set(key, value);
    return records;
  };
  const onEvent = async (event: StoreEvent): Promise<void> => {
    // The leader writes its records again. If it was lost with the store, only this process may know these.
    if (event.type === 'lost') for (const key of all.keys()) if (!unconfirmed.has(key)) unconfirmed.set(key, undefined);
    if (event.type !== 'down') await confirm();
    if (event.type === 'changed') {
      const keys = event.keys.filter((key) => key.startsWith(PREFIX));
      if (keys.length === 0) return;
      for (const key of keys) replicate(key, (await store.get(key))?.value);
    } else if (event.type === 'up' && !leads()) {
      // A store that was emptied proves no resumption.
      if ((await store.get(recordKey.epoch)) === undefined) return;
      const records = await read();
      for (const key of new Set([...all.keys(), ...records.keys()])) replicate(key, records.get(key));
    } else return;
    changed();
  };

  for (const [key, value] of await read()) replicate(key, value);
  return {
    get: (kind: SuspensionKind, name: string) => all.get(keyOf(kind, name)),
    /** Queues the change for the store as well. Null: it is resumed. */
    set: (kind: SuspensionKind, name: string, suspension: Suspension | null): Receipt => {
      const key = keyOf(kind, name);
      if (!unconfirmed.has(key)) unconfirmed.set(key, all.get(key));
      put(key, suspension);
      fleet.put(key, suspension);
      changed();
      return fleet.receipt([key]);
    },
    /** Of the last change that this process has made, if the store does not have it yet. */
    unwritten: (kind: SuspensionKind, name: string): Receipt | undefined => {
      const key = keyOf(kind, name);
      return fleet.isWritten(key) ? undefined : fleet.receipt([key]);
    },
    /** Ends the reading of what other replicas write. If the store fails there, its next `up` repeats the work. */
    stop: store.watch((event) => void onEvent(event).catch(() => undefined)),
  };
}

/** The reason why a suspended cluster or source does not change, for people. */
export function displaySuspension({ by, at, reason }: Suspension): string {
  return `suspended by ${by} at ${new Date(at).toISOString()}${reason === '' ? '' : `: ${reason}`}`;
}

/** An intake that keeps the observations of suspended sources, merged per source, until the source is resumed. */
export function createSuspendableIntake(intake: Intake, suspensions: Suspensions, events: ServerBus): Intake {
  const waiting = new Map<string, RevisionObservation>();
  const isSuspended = (source: string): boolean => suspensions.get('source', source) !== undefined;
  events.on('suspended', () => {
    for (const [source, observation] of waiting) {
      if (isSuspended(source)) continue;
      waiting.delete(source);
      intake.observed(observation);
    }
  });
  return {
    ...intake,
    observed: (observation) => {
      const { source } = observation;
      if (!isSuspended(source)) return intake.observed(observation);
      const before = waiting.get(source)?.changes ?? [];
      const changes = new Map([...before, ...observation.changes].map((change) => [change.path, change]));
      waiting.set(source, { ...observation, changes: [...changes.values()] });
    },
  };
}

/** A replica that sends nothing to suspended clusters. The message of the suspension is shown elsewhere. */
export function withSuspensions(replica: Replica, suspensions: Suspensions): Replica {
  const obstacle = (cluster: string): string | undefined =>
    suspensions.get('cluster', cluster) === undefined ? replica.obstacle(cluster) : '';
  return { ...replica, obstacle };
}

/** The engine tells what waits for the end of a cluster's suspension. */
function stage(
  { inputs: { suspended } }: Pick<Engine, 'inputs'>,
  key: string,
  suspension: Suspension | undefined,
): void {
  const prefix = keyOf('cluster', '');
  if (!key.startsWith(prefix)) return;
  const cluster = key.slice(prefix.length);
  if (suspension === undefined) {
    suspended.delete('', cluster);
    return;
  }
  const wayOut = `go on with: fleetrelay cluster resume ${cluster}`;
  suspended.set('', cluster, `cluster ${cluster} is ${displaySuspension(suspension)}; ${wayOut}`);
}

function keyOf(kind: SuspensionKind, name: string): string {
  return `${PREFIX}${kind}/${name}`;
}

function isSame(a: Suspension | undefined, b: Suspension | undefined): boolean {
  return a?.at === b?.at && a?.by === b?.by && a?.reason === b?.reason;
}

function readSuspension(bytes: Uint8Array): Suspension {
  try {
    const value = JSON.parse(new TextDecoder().decode(bytes)) as Partial<Suspension> | null;
    // A damaged record suspends too: to continue against a person's order is the worse mistake.
    return { by: String(value?.by ?? 'unknown'), at: Number(value?.at ?? 0), reason: String(value?.reason ?? '') };
  } catch {
    return { by: 'unknown', at: 0, reason: 'the record of it is damaged' };
  }
}
