import type { AgentHolding, ObjectResult } from '../../model/agent/agent.ts';
import type { Digest } from '../../model/fleet/ids.ts';
import { comparePositions, type OutputPosition } from '../../model/fleet/output.ts';
import type { ObjectKey } from '../../model/objects/object-key.ts';
import { cutText } from '../../model/text/messages.ts';
import type { SendOutcome } from '../../relay/session.ts';
import { type DeltaDraft, explained, movedSources } from './changes.ts';
import {
  type ChangedObject,
  type DeltaRecord,
  inOrder,
  MOST_BYTES,
  MOST_DELTA_BYTES,
  MOST_DELTAS,
  MOST_MESSAGE,
  type ObjectOutcome,
  sizeOf,
  sizeOfObject,
  totalOf,
} from './records.ts';

/** How a delta has ended; `calledOff`: before it left. */
export type DeltaEnd = SendOutcome | { readonly type: 'calledOff'; readonly reason: string };

/** One delta in memory. */
interface Logged {
  /** Of its record: one after the other, modulo the number of slots. */
  readonly slot: number;
  /** Its list of objects is the one below. */
  record: DeltaRecord;
  /** Changed in place: a copy for each result would cost as much as the delta has objects. */
  readonly objects: ChangedObject[];
  /** Places of the objects in their list. */
  readonly places: ReadonlyMap<string, number>;
  bytes: number;
}

type Write = (slot: number, record: DeltaRecord | null) => void;

export type ClusterLog = ReturnType<typeof createClusterLog>;

/**
 * The deltas of one cluster, within the bounds. `stored`: what the store has, by slot. `write` is called for each slot that
 * changes; null: the delta is dropped.
 */
export function createClusterLog(stored: ReadonlyMap<number, DeltaRecord>, write: Write, now: () => number) {
  const { logged, dirty, append, grew } = createDeltas(stored, write);
  const answer = (one: Logged, state: DeltaRecord['answer']['state'], message = ''): void => {
    // An answer to a later delta can have taken its place.
    if (!logged.includes(one)) return;
    const more = message === '' ? {} : { message: cutText(message, MOST_MESSAGE) };
    one.record = { ...one.record, answer: { state, at: now(), ...more } };
    dirty.delete(one);
    write(one.slot, one.record);
    grew(one, sizeOf(one.record) - one.bytes);
  };

  const note = (result: ObjectResult): boolean => {
    const one = logged.findLast(({ places }) => places.has(result.key));
    const place = one?.places.get(result.key) ?? -1;
    const before = one?.objects[place];
    const outcome = before && outcomeOf(before, result, now());
    if (one === undefined || before === undefined || outcome === undefined) return false;
    const { message, ...bare } = outcome;
    const by = (after: ObjectOutcome): number => sizeOfObject({ ...before, outcome: after }) - sizeOfObject(before);
    const isCut = message !== undefined && one.bytes + by(outcome) > MOST_DELTA_BYTES;
    if (isCut && before.outcome?.state === bare.state) return false;
    const noted = isCut ? bare : outcome;
    one.objects[place] = { ...before, outcome: noted };
    dirty.add(one);
    grew(one, by(noted));
    return true;
  };
  const flush = (): void => {
    for (const { slot, record } of dirty) write(slot, record);
    dirty.clear();
  };

  return {
    /** Oldest first. */
    records: (): readonly DeltaRecord[] => logged.map(({ record }) => record),
    sent: (draft: DeltaDraft): void => append(recordOf(draft, logged)),
    answered: (position: OutputPosition, end: DeltaEnd): void => {
      const one = logged.findLast(({ record }) => comparePositions(record.position, position) === 0);
      if (one?.record.answer.state !== 'sent') return;
      if (end.type === 'accepted') answer(one, 'accepted');
      else if (end.type === 'rejected') answer(one, 'rejected', `${end.reason}: ${end.message}`);
      else if (end.type === 'calledOff') answer(one, 'calledOff', end.reason);
    },
    /**
     * The agent says at its connect which delta it has accepted last. The one before it was accepted or lost, which only a server
     * knew that has not written it. A server may have ended before it wrote how far the objects are, too: what is removed is not
     * among the entries, and the last result of the others is known.
     */
    connected: (holding: Held, lastResult: (key: ObjectKey) => ObjectResult | undefined): void => {
      for (const one of [...logged]) {
        const { answer: last, position: its } = one.record;
        if (last.state !== 'sent' && last.state !== 'unknown') continue;
        const order = comparePositions(holding.position, its);
        if (order <= 0) answer(one, order === 0 ? 'accepted' : 'lost');
        else if (last.state === 'sent') answer(one, 'unknown');
      }
      const last = logged.at(-1)?.record.position ?? { epoch: 0, sequence: 0 };
      if (comparePositions(holding.position, last) > 0) append(unrecorded(holding.position, now()));
      for (const found of missedResults(logged, holding, lastResult)) note(found);
    },
    /** The agent reports how far an object is. Returns true if the log has noted it, and is to be written. */
    result: note,
    /** The connection of the agent has ended. */
    left: (): void => {
      for (const one of [...logged]) if (one.record.answer.state === 'sent') answer(one, 'unknown');
      flush();
    },
    /** Writes the noted outcomes. */
    flush,
  };
}

type Held = Pick<AgentHolding, 'position' | 'entries'>;

/** Results that are known of objects without one: of the last delta that lists each, if the agent has accepted it. */
function* missedResults(
  logged: readonly Logged[],
  { entries }: Held,
  lastResult: (key: ObjectKey) => ObjectResult | undefined,
): Generator<ObjectResult> {
  const isOpen = ({ outcome }: ChangedObject): boolean => outcome === undefined || outcome.state === 'removing';
  const accepted = logged.filter(({ record }) => record.answer.state === 'accepted');
  const open = accepted.flatMap(({ objects }) => objects.filter(isOpen));
  if (open.length === 0) return;
  const held = new Set(entries.map(({ key }) => key));
  for (const { key, change } of open) {
    const last = change === 'remove' ? undefined : lastResult(key);
    if (last !== undefined) yield last;
    if (change !== 'remove' || held.has(key)) continue;
    yield { key, digest: '' as Digest, state: 'removed', reason: '', message: '' };
  }
}

/** The deltas in their order, and their bounds. */
function createDeltas(stored: ReadonlyMap<number, DeltaRecord>, write: Write) {
  const logged = [...stored]
    .map(([slot, record]) => loggedOf(slot, record))
    .sort((a, b) => inOrder(a.record, b.record));
  /** Deltas with outcomes that are not written yet. */
  const dirty = new Set<Logged>();
  let bytes = logged.reduce((sum, each) => sum + each.bytes, 0);
  const forget = (one: Logged): void => {
    bytes -= one.bytes;
    dirty.delete(one);
  };
  const dropOldest = (): void => {
    while (bytes > MOST_BYTES && logged.length > 1) {
      for (const oldest of logged.splice(0, 1)) {
        forget(oldest);
        write(oldest.slot, null);
      }
    }
  };
  return {
    logged,
    dirty,
    grew: (one: Logged, by: number): void => {
      one.bytes += by;
      bytes += by;
      dropOldest();
    },
    append: (record: DeltaRecord): void => {
      const slot = ((logged.at(-1)?.slot ?? -1) + 1) % MOST_DELTAS;
      const taken = logged.findIndex((each) => each.slot === slot);
      if (taken >= 0) logged.splice(taken, 1).forEach(forget);
      const one = loggedOf(slot, record);
      logged.push(one);
      bytes += one.bytes;
      write(slot, one.record);
      dropOldest();
    },
  };
}

function loggedOf(slot: number, record: DeltaRecord): Logged {
  const objects = [...record.objects];
  const places = new Map(objects.map(({ key }, place) => [key as string, place]));
  return { slot, record: { ...record, objects }, objects, places, bytes: sizeOf(record) };
}

/** The object as the last accepted delta has it; undefined: that is not known. */
function lastListed(logged: readonly Logged[], key: ObjectKey): ChangedObject | undefined {
  // A delta that does not list all its objects may have had it, too.
  const isMeant = ({ record, places, objects }: Logged): boolean =>
    record.answer.state === 'accepted' &&
    (places.has(key) || objects.length < totalOf(record) || record.unrecorded === true);
  const last = logged.findLast(isMeant);
  return last?.objects[last.places.get(key) ?? -1];
}

function recordOf(draft: DeltaDraft, logged: readonly Logged[]): DeltaRecord {
  const { position, at, revisions, counts, keeps, rest = 0 } = draft;
  const before = logged.at(-1)?.record;
  const moved = movedSources(before?.unrecorded === true ? undefined : before?.revisions, draft);
  // What the delta before had no room for is sent for the reasons of that one.
  const since = [...new Set([...(before?.cut?.moved ?? []), ...moved])];
  const isFirst = draft.wasEmpty || before?.cut?.isFirst === true;
  return {
    position,
    at,
    revisions,
    moved,
    counts,
    keeps,
    ...(rest === 0 ? {} : { cut: { rest, isFirst, moved: since } }),
    answer: { state: 'sent', at },
    objects: explained({ ...draft, wasEmpty: isFirst }, since, (key) => lastListed(logged, key)),
  };
}

/** A delta that the agent has, and of which the log has nothing: the log was lost, or the end of it. */
function unrecorded(position: OutputPosition, at: number): DeltaRecord {
  return {
    position,
    at,
    revisions: [],
    moved: [],
    keeps: 0,
    objects: [],
    answer: { state: 'accepted', at },
    counts: { create: 0, change: 0, remove: 0, touch: 0 },
    unrecorded: true,
  };
}

/** What a result says of the object of a delta; undefined: nothing new, or it is about other content. */
function outcomeOf(
  { change, digest, outcome }: ChangedObject,
  { state, digest: about, reason, message }: ObjectResult,
  at: number,
): ObjectOutcome | undefined {
  const isRemoval = state === 'removed' || state === 'removing';
  const isAbout = change === 'remove' ? state !== 'applied' : !isRemoval;
  if (!isAbout || (digest !== undefined && !about.startsWith(digest))) return undefined;
  const text = cutText([reason, message].filter((each) => each !== '').join(': '), MOST_MESSAGE);
  const isSame = outcome?.state === state && (outcome.message ?? '') === (state === 'applied' ? '' : text);
  if (isSame) return undefined;
  return { state, at, ...(state === 'applied' || text === '' ? {} : { message: text }) };
}
