import { backOffMs } from '../../model/limits/back-off.ts';
import type { ObjectKey } from '../../model/objects/object-key.ts';
import { isOlderVersion } from '../../model/objects/resource-version.ts';
import { canonicalJson, type JsonObject } from '../../model/text/json.ts';
import type { Clock } from '../../ports/clock.ts';
import type { CustomResource } from '../../ports/custom-resources.ts';
import type { Log } from '../../ports/log.ts';
import type { Random } from '../../ports/random.ts';
import type {
  MetadataChange,
  ResourceEvent,
  ResourceStatus,
  StatusTarget,
  StatusWriting,
} from '../../ports/resource-status.ts';
import { createReversals, type Reversals } from './reversals.ts';
import { isWritten, metadataChange, type StatusContent, statusOf } from './status-content.ts';
import { eventsBetween } from './status-events.ts';

/** A custom resource and the status that it should have. */
export interface StatusSubject {
  /** As it is in its cluster. */
  readonly resource: CustomResource;
  /** The generation that the status describes. */
  readonly generation: number;
  readonly content: StatusContent;
}

/** Writes the status of custom resources where it differs. */
export interface ResourceStatusSink {
  /** These custom resources, or the status that they should have, may have changed. */
  changed(keys: Iterable<ObjectKey>): void;
  stop(): Promise<void>;
}

interface SinkDeps {
  readonly status: ResourceStatus;
  /** Undefined: the object has no status of ours. */
  readonly subject: (key: ObjectKey) => StatusSubject | undefined;
  /** False: nothing is written and the changed keys are dropped; {@link ResourceStatusSink.changed} names all keys later. */
  readonly mayWrite: () => boolean;
  /** Called with the status that an object has now. */
  readonly written?: (key: ObjectKey, status: JsonObject) => void;
  /** The types of our conditions in the status of an object. */
  readonly ownConditions: (key: ObjectKey) => readonly string[];
  /** The Events of a change of the status that only objects of its kind have. */
  readonly events?: (key: ObjectKey, before: JsonObject | undefined, after: JsonObject) => readonly ResourceEvent[];
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/** The last attempt to write a status. */
interface Attempt {
  readonly uid: string;
  /** resourceVersion from which the write was computed. */
  readonly from: string;
  /** resourceVersion since the write; without a write the same as `from`. */
  readonly to: string;
  readonly status: JsonObject;
  readonly outcome: 'written' | 'refused' | 'retry';
  /** In a row. */
  readonly failures: number;
}

interface State {
  readonly deps: SinkDeps;
  readonly attempts: Map<ObjectKey, Attempt>;
  readonly reversals: Reversals;
  /** Messages of refusals that concern a whole kind and are logged. */
  readonly refusals: Set<string>;
  /** Keys for the next run. */
  readonly dirty: Set<ObjectKey>;
  /** Keys that are tried again, and when; monotonic milliseconds. */
  readonly retries: Map<ObjectKey, number>;
  /** When the next run begins; monotonic milliseconds. */
  due: number;
  cancel: () => void;
  running: Promise<void> | undefined;
  isStopped: boolean;
}

const GATHER_MS = 500;
const FIRST_RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 5 * 60_000;
const AT_ONCE = 8;

/** A custom resource in the state that was read. */
export function statusTarget({ key, uid, resourceVersion, value }: CustomResource): StatusTarget {
  return { key, uid, resourceVersion, apiVersion: String(value.apiVersion) };
}

/** Creates the sink. An object that cannot be written delays no other. */
export function createResourceStatusSink(deps: SinkDeps): ResourceStatusSink {
  const state: State = {
    deps,
    attempts: new Map(),
    reversals: createReversals(() => deps.clock.monotonic()),
    refusals: new Set(),
    dirty: new Set(),
    retries: new Map(),
    due: Number.POSITIVE_INFINITY,
    cancel: () => undefined,
    running: undefined,
    isStopped: false,
  };
  return {
    changed(keys) {
      for (const key of keys) state.dirty.add(key);
      if (state.running === undefined && state.dirty.size > 0) schedule(state, GATHER_MS);
    },
    async stop() {
      state.isStopped = true;
      state.cancel();
      await state.running;
    },
  };
}

function schedule(state: State, milliseconds: number): void {
  const { clock, log } = state.deps;
  const due = clock.monotonic() + milliseconds;
  if (state.isStopped || due >= state.due) return;
  state.cancel();
  state.due = due;
  state.cancel = clock.schedule(milliseconds, () => {
    state.due = Number.POSITIVE_INFINITY;
    state.running = run(state)
      .catch((error: unknown) => log.error('status cannot be worked out', { error: String(error) }))
      .finally(() => {
        state.running = undefined;
        if (state.dirty.size > 0) schedule(state, GATHER_MS);
        const now = clock.monotonic();
        for (const notBefore of state.retries.values()) schedule(state, Math.max(GATHER_MS, notBefore - now));
      });
  });
}

async function run(state: State): Promise<void> {
  const { deps, dirty, retries } = state;
  const now = deps.clock.monotonic();
  for (const [key, notBefore] of retries) if (notBefore <= now) dirty.add(key);
  const keys = [...dirty];
  dirty.clear();
  if (!deps.mayWrite()) {
    retries.clear();
    return;
  }
  const writes = keys.flatMap((key) => {
    const subject = deps.subject(key);
    if (subject !== undefined) return planWrite(state, subject) ?? [];
    retries.delete(key);
    state.attempts.delete(key);
    state.reversals.forget(key);
    return [];
  });
  const workers = Array.from({ length: AT_ONCE }, async () => {
    for (let write = writes.shift(); write !== undefined && !state.isStopped; write = writes.shift()) await write();
  });
  await Promise.all(workers);
}

/**
 * Returns the write that an object needs now; undefined if it needs none or must wait. Forgets attempts that have succeeded, and
 * delays the write of a status that another writer reverses again and again.
 */
function planWrite(state: State, { resource, generation, content }: StatusSubject): (() => Promise<void>) | undefined {
  const { deps, attempts, retries } = state;
  const { key, uid, resourceVersion } = resource;
  const known = attempts.get(key);
  const last = known?.uid === uid ? known : undefined;
  const isStale = last?.outcome === 'written' && isReadBefore(resourceVersion, last);
  const before = isStale ? withLast(resource.status, last.status, content) : resource.status;
  // A status whose write failed keeps its transition times of the first attempt.
  const times = last === undefined || last.outcome === 'written' ? before : last.status;
  const status = statusOf(content, times, generation, deps.clock.now());
  const metadata = isStale ? undefined : metadataChange(resource.value, content);
  const isCurrent = isWritten(before, status, deps.ownConditions(key), content.absentFields);
  if (metadata === undefined && isCurrent) {
    retries.delete(key);
    if (!isStale) attempts.delete(key);
    return undefined;
  }
  if (last?.outcome === 'refused' && canonicalJson(last.status) === canonicalJson(status)) return undefined;
  const now = deps.clock.monotonic();
  if (last !== undefined && (retries.get(key) ?? now) > now) return undefined;
  retries.delete(key);
  const wait = isCurrent || last?.outcome === 'retry' ? 0 : state.reversals.waitFor(key, uid, status);
  if (wait > 0) {
    deps.log.warn('another manager reverses a status repeatedly; its next write is delayed', {
      object: key,
      seconds: wait / 1000,
    });
    attempts.set(key, { uid, from: resourceVersion, to: resourceVersion, status, outcome: 'retry', failures: 0 });
    retries.set(key, now + wait);
    return undefined;
  }
  return () => write(state, statusTarget(resource), { before, status, metadata, isCurrent }, last?.failures ?? 0);
}

/** The status as our last write left it: of the fields that are to be absent, it has those that the write had. */
function withLast(read: JsonObject | undefined, last: JsonObject, { absentFields = [] }: StatusContent): JsonObject {
  const kept = Object.entries(read ?? {}).filter(([name]) => !absentFields.includes(name));
  return { ...Object.fromEntries(kept), ...last };
}

/** Whether this version of the object was read before our last write, at the version that the write was based on or later. */
function isReadBefore(resourceVersion: string, { from, to }: Attempt): boolean {
  return resourceVersion === from || (isOlderVersion(resourceVersion, to) && !isOlderVersion(resourceVersion, from));
}

interface PlannedWrite {
  readonly before: JsonObject | undefined;
  readonly status: JsonObject;
  readonly metadata: MetadataChange | undefined;
  /** The object has this status already: only its metadata is written, and no other writer has reversed the status. */
  readonly isCurrent: boolean;
}

async function write(state: State, target: StatusTarget, planned: PlannedWrite, failures: number): Promise<void> {
  const { deps, attempts, retries, reversals } = state;
  const { clock, random, log } = deps;
  const { key, uid, resourceVersion } = target;
  const { before, status, isCurrent } = planned;
  const result = await writeBoth(deps.status, target, planned);
  const attempt = { uid, from: resourceVersion, to: resourceVersion, status };
  const events = () => [...eventsBetween(before, status), ...(deps.events?.(key, before, status) ?? [])];
  switch (result.type) {
    case 'written':
      attempts.set(key, { ...attempt, to: result.resourceVersion, outcome: 'written', failures: 0 });
      if (!isCurrent) reversals.written(key, uid, status);
      deps.written?.(key, status);
      for (const event of events()) await deps.status.event(target, event);
      return;
    case 'refused':
      if (!state.refusals.has(result.message)) {
        log.warn('a status is not taken', { object: key, reason: result.reason, detail: result.message });
      }
      // All objects of a kind without status get the same refusal.
      if (result.reason === 'NoStatusSubresource') state.refusals.add(result.message);
      attempts.set(key, { ...attempt, outcome: 'refused', failures: 0 });
      // `kubectl describe` shows at least what is wrong.
      for (const event of events()) {
        if (event.type === 'Warning') await deps.status.event(target, event);
      }
      return;
    case 'gone':
      // The source reports that as well.
      attempts.set(key, { ...attempt, outcome: 'refused', failures: 0 });
      return;
    case 'retry': {
      const wait = backOffMs(failures, FIRST_RETRY_MS, LONGEST_RETRY_MS) * (0.5 + 0.5 * random.next());
      const data = { object: key, reason: result.reason, detail: result.message };
      if (failures === 0) log.warn('a status cannot be written just now', data);
      attempts.set(key, { ...attempt, outcome: 'retry', failures: failures + 1 });
      retries.set(key, clock.monotonic() + wait);
    }
  }
}

/** Writes metadata and status, each only if it differs. */
async function writeBoth(
  port: ResourceStatus,
  target: StatusTarget,
  { status, metadata, isCurrent }: PlannedWrite,
): Promise<StatusWriting> {
  const { resourceVersion } = target;
  const marked: StatusWriting =
    metadata === undefined ? { type: 'written', resourceVersion } : await port.mark(target, metadata);
  if (marked.type !== 'written' || isCurrent) return marked;
  return port.write({ ...target, resourceVersion: marked.resourceVersion }, status);
}
