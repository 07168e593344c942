import { AUTOSCALER_KIND, autoscaledBy } from '../../../../model/objects/autoscalers.ts';
import { kindOf, type ObjectKey } from '../../../../model/objects/object-key.ts';
import type { JsonObject } from '../../../../model/text/json.ts';

export type Autoscaled = ReturnType<typeof createAutoscaled>;

/** The objects whose replicas a HorizontalPodAutoscaler sets. */
export function createAutoscaled() {
  const live = createTargets();
  const declared = createTargets();
  return {
    /** Whether this object is the target of a live autoscaler. */
    has: live.has,
    /** Whether it is the target of an autoscaler that is live, or that we are to apply: the cluster may refuse that for now. */
    isClaimed: (key: ObjectKey): boolean => live.has(key) || declared.has(key),
    autoscalers: live.autoscalers,
    /** Takes the present value of an autoscaler; undefined: it is gone. Returns the old and new target if they differ. */
    note: live.set,
    /** An object is to be applied with this value; undefined: it is to be removed. Only autoscalers count. */
    declare(key: ObjectKey, value: JsonObject | undefined): void {
      if (kindOf(key) === AUTOSCALER_KIND) declared.set(key, value);
    },
  };
}

function createTargets() {
  const targets = new Map<ObjectKey, ObjectKey>();
  const counts = new Map<ObjectKey, number>();
  const count = (target: ObjectKey | undefined, by: 1 | -1): void => {
    if (target === undefined) return;
    const now = (counts.get(target) ?? 0) + by;
    if (now === 0) counts.delete(target);
    else counts.set(target, now);
  };
  return {
    has: (key: ObjectKey): boolean => counts.has(key),
    autoscalers: (): readonly ObjectKey[] => [...targets.keys()],
    set(autoscaler: ObjectKey, value: JsonObject | undefined): readonly ObjectKey[] {
      const before = targets.get(autoscaler);
      const now = value === undefined ? undefined : autoscaledBy(autoscaler, value);
      if (before === now) return [];
      if (now === undefined) targets.delete(autoscaler);
      else targets.set(autoscaler, now);
      count(before, -1);
      count(now, 1);
      return [before, now].filter((key) => key !== undefined);
    },
  };
}
