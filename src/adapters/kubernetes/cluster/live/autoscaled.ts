import { autoscaledBy } from '../../../../model/autoscalers.ts';
import type { JsonObject } from '../../../../model/json.ts';
import type { ObjectKey } from '../../../../model/object-key.ts';

export type Autoscaled = ReturnType<typeof createAutoscaled>;

/** The objects whose replicas a HorizontalPodAutoscaler sets. */
export function createAutoscaled() {
  /** By autoscaler. */
  const targets = new Map<ObjectKey, ObjectKey>();
  return {
    /** Whether this object is the target of a live autoscaler. */
    has: (key: ObjectKey): boolean => targets.values().some((target) => target === key),
    autoscalers: (): readonly ObjectKey[] => [...targets.keys()],
    /** Takes the present value of an autoscaler; undefined: it is gone. Returns the old and new target if they differ. */
    note(autoscaler: ObjectKey, value: JsonObject | undefined): readonly ObjectKey[] {
      const before = targets.get(autoscaler);
      const now = value === undefined ? undefined : autoscaledBy(autoscaler, value);
      if (before === now) return [];
      if (now === undefined) targets.delete(autoscaler);
      else targets.set(autoscaler, now);
      return [before, now].filter((key) => key !== undefined);
    },
  };
}
