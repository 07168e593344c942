import type { AgentSettings } from '../../../../model/agent/agent-settings.ts';
import type { LoadEvaluator } from '../../../../model/objects/health-check.ts';
import type { ObjectHealth } from '../../../../model/objects/object-health/health.ts';
import { type Judgement, judgeObject } from '../../../../model/objects/object-health/object-health.ts';
import { isUnschedulable } from '../../../../model/objects/object-health/pods.ts';
import { kindOf, metadataOf, type ObjectKey } from '../../../../model/objects/object-key.ts';
import { type JsonObject, textOf } from '../../../../model/text/json.ts';
import type { Clock } from '../../../../ports/clock.ts';
import type { FollowerDeps } from '../../api/types.ts';
import type { LiveEntry } from './entry.ts';
import { createHealthChecks } from './health-checks.ts';
import { createLiveStore } from './store.ts';
import { createUnschedulablePods } from './unschedulable-pods.ts';

/** The longest time for which a timer is set, in milliseconds. */
const LONGEST_MS = 3_600_000;

/**
 * A store whose objects of ours are judged: when they are read, and again when a deadline passes while they stay as they are.
 * Deadlines are moments of the wall clock, because they count from times that the API server has written. `news` is called after
 * the health of an object has changed without a change of the object.
 */
export function createJudgedStore(
  deps: FollowerDeps,
  { loadEvaluator }: { readonly loadEvaluator?: LoadEvaluator | undefined },
  news: () => void,
) {
  const { clock } = deps;
  const store = createLiveStore({ placed, dropped });
  const pods = createUnschedulablePods(deps, (key) => store.objects.get(key), judgeAll);
  const checks = createHealthChecks({ ...deps, loadEvaluator }, (kinds) => {
    judgeAll([...store.objects.keys()].filter((key) => kinds.has(kindOf(key))));
  });
  /** When an object is to be judged again, in milliseconds since 1970. */
  const due = new Map<ObjectKey, number>();
  /** The health of current objects with a note, by UID: a rule may keep it. */
  const notes = new Map<string, ObjectHealth>();
  const alarm = createAlarm(clock, judgeDue);

  return {
    store,
    judge,
    /** Puts the health checks of the policy in force, and judges the objects of kinds whose checks have changed. */
    configure: ({ healthChecks = [] }: AgentSettings): void => checks.configure(healthChecks),
    close(): void {
      alarm.close();
      due.clear();
      pods.close();
      checks.close();
    },
  };

  function judge(raw: JsonObject): Judgement {
    const before = notes.get(textOf(metadataOf(raw).uid));
    const facts = { now: clock.now(), checks: checks.judge, before };
    return isUnschedulable(raw) ? pods.judgement(raw, facts) : judgeObject(raw, facts);
  }

  /** Judges objects again, and those for which the work of this turn of the event loop does not suffice in the next ones. */
  function judgeAll(keys: Iterable<ObjectKey>): void {
    let isChanged = false;
    for (const key of keys) {
      due.delete(key);
      if (checks.isSpent()) due.set(key, clock.now());
      else {
        isChanged = store.judge(key, judge) || isChanged;
        // Also if nothing has changed: the clock can have been set back.
        schedule(store.objects.get(key));
      }
    }
    alarm.setNext(due.values());
    if (isChanged) news();
  }

  function placed(entry: LiveEntry, before: LiveEntry | undefined): void {
    const { uid, health } = entry;
    if (before !== undefined && before.uid !== uid) forget(before.uid);
    if (health?.state === 'current' && health.message !== '') notes.set(uid, health);
    else notes.delete(uid);
    schedule(entry);
    // What was found for a Pod that stays unschedulable still counts.
    if (entry.judgeAt !== undefined) alarm.set(entry.judgeAt);
    else if (health?.state !== 'failed') pods.forget(uid);
  }

  function dropped({ key, uid }: LiveEntry): void {
    due.delete(key);
    forget(uid);
  }

  function forget(uid: string): void {
    notes.delete(uid);
    pods.forget(uid);
  }

  function schedule(entry: LiveEntry | undefined): void {
    if (entry === undefined) return;
    if (entry.judgeAt === undefined) due.delete(entry.key);
    else due.set(entry.key, entry.judgeAt);
  }

  function judgeDue(): void {
    const now = clock.now();
    const passed = [...due].filter(([, at]) => at <= now).map(([key]) => key);
    const others = passed.filter((key) => {
      const raw = store.objects.get(key)?.raw;
      if (raw === undefined || !isUnschedulable(raw)) return true;
      due.delete(key);
      pods.look(key);
      return false;
    });
    judgeAll(others);
  }
}

/** A timer for the next of several moments of the wall clock, in milliseconds since 1970. It may be early. */
function createAlarm(clock: Clock, call: () => void) {
  let timer: { readonly at: number; readonly cancel: () => void } | undefined;
  let isClosed = false;
  return {
    set,
    setNext(moments: Iterable<number>): void {
      let next: number | undefined;
      for (const at of moments) if (next === undefined || at < next) next = at;
      if (next !== undefined) set(next);
    },
    close(): void {
      isClosed = true;
      timer?.cancel();
    },
  };

  function set(at: number): void {
    if (isClosed || (timer !== undefined && timer.at <= at)) return;
    timer?.cancel();
    const wait = Math.min(Math.max(0, at - clock.now()), LONGEST_MS);
    const cancel = clock.schedule(wait, () => {
      timer = undefined;
      call();
    });
    timer = { at, cancel };
  }
}
