import { backOffMs } from '../../model/back-off.ts';
import { canonicalJson, type JsonObject } from '../../model/json.ts';
import type { ObjectKey } from '../../model/object-key.ts';
import { unreachable } from '../../model/result.ts';
import type { Clock } from '../../ports/clock.ts';
import type { CustomResource } from '../../ports/custom-resources.ts';
import type { Log } from '../../ports/log.ts';
import type { Random } from '../../ports/random.ts';
import type { MetadataChange, ResourceStatus, StatusTarget } from '../../ports/resource-status.ts';
import { createReversals, type Reversals } from './reversals.ts';
import { metadataChange, type StatusContent, saysAlready, statusOf } from './status-content.ts';
import { eventsBetween } from './status-events.ts';

/** A custom resource of which something is to be said. */
export interface StatusSubject {
  /** As it is in its cluster. */
  readonly resource: CustomResource;
  /** Of the version of it that the status speaks of. */
  readonly generation: number;
  readonly content: StatusContent;
}

/** Keeps the status of custom resources as it should be. */
export interface ResourceStatusSink {
  /** These custom resources, or what is to be said of them, may have changed: soon what differs is written. */
  changed(keys: Iterable<ObjectKey>): void;
  stop(): Promise<void>;
}

interface SinkDeps {
  readonly status: ResourceStatus;
  /** The custom resource with this key and what is to be said of it now; undefined: nothing. */
  readonly subject: (key: ObjectKey) => StatusSubject | undefined;
  /** False: nothing is written, and what has changed is forgotten; then {@link ResourceStatusSink.changed} names all anew. */
  readonly mayWrite: () => boolean;
  /** An object has this status now. */
  readonly written?: (key: ObjectKey, status: JsonObject) => void;
  /** Types of the conditions that are ours in the status of an object. */
  readonly ownConditions: (key: ObjectKey) => readonly string[];
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/** What is known of the last try to write one status. */
interface Tried {
  readonly uid: string;
  /** Of the object when it was tried: while it is the same, the object's status is not news. */
  readonly resourceVersion: string;
  readonly status: JsonObject;
  readonly outcome: 'written' | 'refused' | 'retry';
  readonly failures: number;
}

interface State {
  readonly deps: SinkDeps;
  readonly tried: Map<ObjectKey, Tried>;
  readonly reversals: Reversals;
  cancel: (() => void) | undefined;
  /** Monotonic milliseconds of what is scheduled. */
  due: number;
  running: Promise<void> | undefined;
  /** What is to be looked at in the next run. */
  readonly dirty: Set<ObjectKey>;
  /** What is tried again, and when; monotonic milliseconds. */
  readonly retries: Map<ObjectKey, number>;
  stopped: boolean;
}

const GATHER_MS = 500;
const FIRST_RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 5 * 60_000;
const AT_ONCE = 8;

/** Creates the sink. One object that cannot be written stops only itself. */
export function createResourceStatusSink(deps: SinkDeps): ResourceStatusSink {
  const state: State = {
    deps,
    tried: new Map(),
    reversals: createReversals(() => deps.clock.monotonic()),
    cancel: undefined,
    due: Number.POSITIVE_INFINITY,
    running: undefined,
    dirty: new Set(),
    retries: new Map(),
    stopped: false,
  };
  return {
    changed: (keys) => {
      for (const key of keys) state.dirty.add(key);
      if (state.running === undefined && state.dirty.size > 0) schedule(state, GATHER_MS);
    },
    stop: async () => {
      state.stopped = true;
      state.cancel?.();
      await state.running;
    },
  };
}

function schedule(state: State, milliseconds: number): void {
  const { clock } = state.deps;
  const due = clock.monotonic() + milliseconds;
  if (state.stopped || due >= state.due) return;
  state.cancel?.();
  state.due = due;
  state.cancel = clock.schedule(milliseconds, () => {
    state.due = Number.POSITIVE_INFINITY;
    state.cancel = undefined;
    state.running = run(state)
      .catch((error: unknown) => state.deps.log.error('status cannot be worked out', { error: String(error) }))
      .finally(() => {
        state.running = undefined;
        scheduleNext(state);
      });
  });
}

function scheduleNext(state: State): void {
  if (state.dirty.size > 0) schedule(state, GATHER_MS);
  const now = state.deps.clock.monotonic();
  for (const notBefore of state.retries.values()) schedule(state, Math.max(GATHER_MS, notBefore - now));
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
  const due = keys.flatMap((key) => {
    const subject = deps.subject(key);
    if (subject !== undefined) return writeOf(state, subject) ?? [];
    retries.delete(key);
    state.tried.delete(key);
    state.reversals.forget(key);
    return [];
  });
  const workers = Array.from({ length: Math.min(AT_ONCE, due.length) }, async () => {
    for (let write = due.shift(); write !== undefined && !state.stopped; write = due.shift()) await write();
  });
  await Promise.all(workers);
}

/** The write that a subject needs; undefined if it says already what it should, or may not be tried again yet. */
function writeOf(state: State, { resource, generation, content }: StatusSubject): (() => Promise<void>) | undefined {
  const { deps, tried, retries } = state;
  const { key, uid, resourceVersion } = resource;
  const last = tried.get(key);
  const isSame = last?.uid === uid;
  // Our own write may not have come back yet.
  const isAhead = isSame && last.outcome === 'written' && last.resourceVersion === resourceVersion;
  const before = isAhead ? { ...resource.status, ...last.status } : resource.status;
  // A status that was not taken has begun when it was first offered.
  const since = isSame && last.outcome !== 'written' ? last.status : before;
  const status = statusOf(content, since, generation, deps.clock.now());
  const metadata = isAhead ? undefined : metadataChange(resource.value, content);
  if (metadata === undefined && saysAlready(before, status, deps.ownConditions(key))) {
    retries.delete(key);
    if (!isAhead) tried.delete(key);
    return undefined;
  }
  if (isSame && last.outcome === 'refused' && canonicalJson(last.status) === canonicalJson(status)) return undefined;
  const notBefore = isSame ? retries.get(key) : undefined;
  if (notBefore !== undefined && deps.clock.monotonic() < notBefore) return undefined;
  retries.delete(key);
  const wait = isSame && last.outcome === 'retry' ? 0 : state.reversals.waitFor(key, uid, status);
  if (wait > 0) {
    deps.log.warn('a status is undone again and again; it waits', { object: key, seconds: wait / 1000 });
    tried.set(key, { uid, resourceVersion, status, outcome: 'retry', failures: 0 });
    retries.set(key, deps.clock.monotonic() + wait);
    return undefined;
  }
  const { apiVersion } = resource.value;
  const target = { key, uid, resourceVersion, apiVersion: String(apiVersion) };
  return () => writeOne(state, target, { before, status, metadata }, isSame ? last.failures : 0);
}

/** What is to be written of one object. */
interface Writing {
  readonly before: JsonObject | undefined;
  readonly status: JsonObject;
  readonly metadata: MetadataChange | undefined;
}

async function writeOne(
  { deps, tried, retries, reversals }: State,
  target: StatusTarget,
  { before, status, metadata }: Writing,
  failures: number,
): Promise<void> {
  const { key, uid, resourceVersion } = target;
  const { clock, random, log } = deps;
  const marking = metadata && (await deps.status.mark(target, metadata));
  const isMarked = marking === undefined || marking.type === 'written';
  const writing = isMarked ? await deps.status.write(target, status) : marking;
  const same = { uid, resourceVersion, status };
  switch (writing.type) {
    case 'written':
      tried.set(key, { ...same, outcome: 'written', failures: 0 });
      reversals.written(key, uid, status);
      deps.written?.(key, status);
      for (const event of eventsBetween(before, status)) await deps.status.event(target, event);
      return;
    case 'gone':
      // The source will say so itself.
      tried.set(key, { ...same, outcome: 'refused', failures: 0 });
      return;
    case 'refused':
      log.warn('a status is not taken', { object: key, reason: writing.reason, detail: writing.message });
      tried.set(key, { ...same, outcome: 'refused', failures: 0 });
      return;
    case 'retry': {
      const wait = backOffMs(failures, FIRST_RETRY_MS, LONGEST_RETRY_MS) * (0.5 + 0.5 * random.next());
      const data = { object: key, reason: writing.reason, detail: writing.message };
      if (failures === 0) log.warn('a status cannot be written just now', data);
      tried.set(key, { ...same, outcome: 'retry', failures: failures + 1 });
      retries.set(key, clock.monotonic() + wait);
      return;
    }
    default:
      unreachable(writing);
  }
}
