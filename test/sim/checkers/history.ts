import { comparePositions, type SequencedDelta } from '../../../src/model/fleet/output.ts';
import { objectOf, parseJsonBytes, textOf } from '../../../src/model/text/json.ts';
import {
  type DeltaRecord,
  inOrder,
  MOST_BYTES,
  MOST_DELTA_BYTES,
  MOST_DELTAS,
  sizeOf,
} from '../../../src/runtime/history/records.ts';
import { recordKey } from '../../../src/runtime/ledger/records.ts';
import { clusterLeaseKey } from '../../../src/runtime/replica/cluster-leases.ts';
import type { World } from '../world.ts';
import { isHostile, type MakeChecker } from './checker.ts';
import { followUnwritten } from './unwritten.ts';

/** A delta that has left a server. */
interface Departure {
  readonly process: string;
  readonly at: number;
  readonly delta: SequencedDelta;
  /** The log may lack it: its server ended before the record was written, or the store has lost records since. */
  mayLack: boolean;
  /** Since when its server has had the lease of the cluster, without which it may not write the log; undefined: it never had it. */
  leasedAt: number | undefined;
  /** What the agent has said; undefined: nothing that is known. */
  answer?: 'accepted' | 'rejected';
  /** A server has ended the registration that it belongs to. The number is of ended registrations in the store at that moment. */
  endedAs?: number | undefined;
}

/**
 * The log in the store tells the truth: each delta that left is in it, within its bounds, in order, with its revisions, its
 * objects and its answer; and it has no other delta that an agent has taken. A log ends with its registration, unless the server ends before it
 * has written that, or the store becomes an older copy.
 */
export const history: MakeChecker = (world, fail) => {
  const unwritten = followUnwritten(world);
  /** By cluster. While the store cannot be written, two replicas may give one position to deltas. */
  const departures = new Map<string, Departure[]>();
  /** When the store was lost last. */
  let lostAt = Number.POSITIVE_INFINITY;
  /** By cluster: what left a server without the lease, which it has not got since. */
  const unleased = new Map<string, Departure[]>();
  const of = (cluster: string): Departure[] => {
    const known = departures.get(cluster) ?? [];
    departures.set(cluster, known);
    return known;
  };
  const doubt = (isMeant: (departure: Departure) => boolean): void => {
    for (const departure of [...departures.values()].flat()) if (isMeant(departure)) departure.mayLack = true;
  };
  const isWritten = ({ process, at, leasedAt }: Departure): boolean =>
    leasedAt !== undefined && Math.max(at, leasedAt) < unwritten.since(process);
  const endLog = (cluster: string): void => {
    const endedAs = registrationsBefore(world, cluster);
    for (const departure of of(cluster)) {
      departure.mayLack = true;
      departure.endedAs ??= endedAs;
    }
  };
  const bringBack = (): void => {
    for (const departure of [...departures.values()].flat()) departure.endedAs = undefined;
  };
  world.listen((event) => {
    switch (event.type) {
      case 'departed': {
        const { process, cluster, delta } = event;
        const isLeased = leaseholder(world, cluster.name) === process;
        const leasedAt = isLeased ? Number.NEGATIVE_INFINITY : undefined;
        const departure: Departure = { process, at: world.time.elapsed(), delta, mayLack: false, leasedAt };
        of(cluster.name).push(departure);
        if (!isLeased) unleased.set(cluster.name, [...(unleased.get(cluster.name) ?? []), departure]);
        return;
      }
      case 'taken':
      case 'refused': {
        const { position, to } = event.delta;
        const isIt = ({ delta }: Departure): boolean =>
          comparePositions(delta.position, position) === 0 && delta.to === to;
        const departure = of(event.cluster.name).findLast(isIt);
        if (departure !== undefined) departure.answer = event.type === 'taken' ? 'accepted' : 'rejected';
        return;
      }
      case 'connected':
        // What another server has not written by now it may not write any more, once this one has the lease.
        for (const departure of of(event.cluster.name))
          if (departure.process !== event.process && !isWritten(departure)) departure.mayLack = true;
        return;
      case 'died':
        return doubt((departure) => departure.process === event.process && !isWritten(departure));
      case 'storeLost':
        if (event.isOlderCopy === true) bringBack();
        lostAt = world.time.elapsed();
        return doubt(() => true);
      case 'evicted':
        return doubt(() => true);
      case 'log':
        // With the store it has lost its lease, and may write nothing of the cluster any more.
        if (event.line.message === 'this replica has lost the lease of a cluster')
          for (const departure of of(String(event.line.data.cluster)))
            if (departure.process === event.line.process && departure.at >= lostAt) departure.mayLack = true;
        if (event.line.message.startsWith('a cluster is deregistered')) endLog(String(event.line.data.cluster));
        return;
      default:
        return;
    }
  });
  return {
    name: 'history',
    stepped: () => {
      for (const [cluster, departures] of unleased) {
        const holder = leaseholder(world, cluster);
        for (const departure of departures) if (departure.process === holder) departure.leasedAt = world.time.elapsed();
        const left = departures.filter(({ leasedAt, mayLack }) => leasedAt === undefined && !mayLack);
        if (left.length > 0) unleased.set(cluster, left);
        else unleased.delete(cluster);
      }
    },
    atRest: () => {
      for (const { cluster } of world.agents) {
        if (isHostile(world, cluster) || !isRegistered(world, cluster.name)) continue;
        const now = registrationsBefore(world, cluster.name);
        const left = of(cluster.name).filter(({ endedAs = now }) => endedAs === now);
        for (const problem of problemsOf(logOf(world, cluster.name, now), left))
          fail(`the log of ${cluster.name} ${problem}`);
      }
    },
  };
};

/** The server that has the lease of the cluster in the store; of the only server: itself. */
function leaseholder({ memory, setting, servers }: World, cluster: string): string | undefined {
  if (setting.servers === 1) return servers[0]?.life()?.process.name;
  const record = memory.peek(clusterLeaseKey(cluster));
  const { replica, instance } = objectOf(record && parseJsonBytes(record.value));
  return instance === '' ? undefined : textOf(replica);
}

function placeOf({ position: { epoch, sequence } }: Pick<SequencedDelta, 'position'>): string {
  return `(${epoch}, ${sequence})`;
}

function isRegistered({ servers }: World, cluster: string): boolean {
  return servers.every(({ life }) => life()?.server?.engine.clusters.get('', cluster) !== undefined);
}

/** The number of ended registrations of the name that the registration in the store tells of; undefined: there is none. */
function registrationsBefore({ memory }: World, cluster: string): number | undefined {
  const record = memory.copy().get(recordKey.registration(cluster));
  const { predecessors } = objectOf(record && parseJsonBytes(record.value));
  return typeof predecessors === 'number' ? predecessors : undefined;
}

function logOf({ memory }: World, cluster: string, registration: number | undefined): readonly DeltaRecord[] {
  const prefix = `history/${cluster}/`;
  return [...memory.copy()]
    .filter(([key]) => key.startsWith(prefix))
    .map(([, { value }]) => parseJsonBytes(value) as unknown as DeltaRecord & { readonly predecessors: number })
    .filter(({ predecessors }) => predecessors === registration)
    .sort(inOrder);
}

function* problemsOf(log: readonly DeltaRecord[], left: readonly Departure[]): Generator<string> {
  const bytes = log.reduce((sum, record) => sum + sizeOf(record), 0);
  const [oldest] = log;
  if (log.length > MOST_DELTAS || (bytes > MOST_BYTES && log.length > 1))
    yield `has ${log.length} deltas and ${bytes} bytes`;
  const byPlace = Map.groupBy(left, ({ delta }) => placeOf(delta));
  for (const record of log) {
    if (record.unrecorded === true) continue;
    const departures = byPlace.get(placeOf(record)) ?? [];
    // After a loss of the store a position is given again, and that delta may not have left.
    const mayNotHaveLeft = departures.every(({ mayLack, answer }) => mayLack || answer !== undefined);
    const meant = mayNotHaveLeft ? [...departures, undefined] : departures;
    const found = meant.map((departure) => [...problemsOfRecord(record, departure)]);
    if (found.every((problems) => problems.length > 0)) yield* found[0] ?? [];
  }
  const known = new Set(log.map(placeOf));
  const isFull = log.length === MOST_DELTAS || bytes > MOST_BYTES - MOST_DELTA_BYTES;
  for (const { delta, mayLack } of left) {
    const place = placeOf(delta);
    if (mayLack || known.has(place)) continue;
    const isDropped = isFull && oldest !== undefined && delta.position.sequence < oldest.position.sequence;
    if (!isDropped) yield `lacks the delta ${place}`;
  }
}

function* problemsOfRecord(record: DeltaRecord, departure: Departure | undefined): Generator<string> {
  const place = placeOf(record);
  const { state } = record.answer;
  if (departure === undefined) {
    if (state === 'accepted' || state === 'rejected')
      yield `has the delta ${place}, which has not left in this registration and is ${state}`;
    return;
  }
  const { delta, answer, mayLack } = departure;
  const revisions = (refs: DeltaRecord['revisions']): string =>
    refs.map(({ source, revision }) => `${source}@${revision}`).join(' ');
  if (revisions(record.revisions) !== revisions(delta.revisions))
    yield `has ${place} of ${revisions(record.revisions)}, and it was computed from ${revisions(delta.revisions)}`;
  const { upserts, removals, touches } = delta;
  const { create, change, remove, touch } = record.counts;
  if (create + change !== upserts.length || remove !== removals.length || touch !== touches.length)
    yield `counts ${JSON.stringify(record.counts)} objects in ${place}, and there were ${upserts.length}, ${removals.length} and ${touches.length}`;
  const keys = new Set<string>([...upserts.map(({ key }) => key), ...removals, ...touches.map(({ key }) => key)]);
  for (const { key } of record.objects) if (!keys.has(key)) yield `has ${key} in ${place}, where it was not`;
  if (answer !== undefined && !mayLack && state !== answer && !(answer === 'rejected' && state === 'lost'))
    yield `says that ${place} is ${state}, and it was ${answer}`;
}
