import type { AgentSettings } from '../../../../model/agent-settings.ts';
import type { LoadEvaluator } from '../../../../model/health-check.ts';
import type { JsonObject } from '../../../../model/json.ts';
import { type Judgement, judgeObject } from '../../../../model/object-health/object-health.ts';
import { isUnschedulable } from '../../../../model/object-health/pods.ts';
import { kindOf, type ObjectKey } from '../../../../model/object-key.ts';
import type { FollowerDeps } from '../../api/types.ts';
import type { LiveEntry } from './entry.ts';
import { createHealthChecks } from './health-checks.ts';
import { createScaleUps } from './scale-ups.ts';
import { createLiveStore } from './store.ts';

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
  const scaleUps = createScaleUps(deps);
  const checks = createHealthChecks({ log: deps.log, loadEvaluator }, (kinds) => {
    if (!isClosed && judgeKinds(kinds)) news();
  });
  /** When an object is to be judged again, in milliseconds since 1970. */
  const due = new Map<ObjectKey, number>();
  let timer: { readonly at: number; readonly cancel: () => void } | undefined;
  let isClosed = false;

  return {
    store,
    judge,
    /** Puts the health checks of the policy in force, and judges the objects of kinds whose checks have changed. */
    configure: ({ healthChecks = [] }: AgentSettings): void => checks.configure(healthChecks),
    close(): void {
      isClosed = true;
      timer?.cancel();
      due.clear();
    },
  };

  function judge(raw: JsonObject): Judgement {
    if (isUnschedulable(raw)) return scaleUps.judge(raw, checks.judge);
    return judgeObject(raw, { now: clock.now(), checks: checks.judge });
  }

  /** Returns whether the health of an object has changed. */
  function judgeKinds(kinds: ReadonlySet<string>): boolean {
    const keys = [...store.objects.keys()].filter((key) => kinds.has(kindOf(key)));
    return keys.map((key) => store.judge(key, judge)).includes(true);
  }

  function placed({ key, uid, judgeAt, health }: LiveEntry): void {
    if (judgeAt !== undefined) {
      due.set(key, judgeAt);
      wakeAt(judgeAt);
      return;
    }
    due.delete(key);
    // What was found for a Pod that stays unschedulable still counts.
    if (health?.state !== 'failed') scaleUps.forget(uid);
  }

  function dropped({ key, uid }: LiveEntry): void {
    due.delete(key);
    scaleUps.forget(uid);
  }

  function wakeAt(at: number): void {
    if (isClosed || (timer !== undefined && timer.at <= at)) return;
    timer?.cancel();
    const wait = Math.min(Math.max(0, at - clock.now()), LONGEST_MS);
    timer = { at, cancel: clock.schedule(wait, () => void judgeDue()) };
  }

  async function judgeDue(): Promise<void> {
    timer = undefined;
    const now = clock.now();
    const passed = [...due].filter(([, at]) => at <= now);
    for (const [key] of passed) due.delete(key);
    const next = Math.min(...due.values());
    if (Number.isFinite(next)) wakeAt(next);
    let isChanged = false;
    for (const [key] of passed) {
      const entry = store.objects.get(key);
      if (entry === undefined || isClosed) continue;
      if (entry.raw !== undefined) await scaleUps.look(entry.raw);
      isChanged = store.judge(key, judge) || isChanged;
    }
    if (isChanged) news();
  }
}
