import { isJsonObject, type JsonObject, textOf } from '../../../../model/json.ts';
import { type ObjectKey, objectKey, objectRefOf } from '../../../../model/object-key.ts';

/** The objects whose replicas a HorizontalPodAutoscaler sets. */
export interface Autoscaled {
  /** Whether this object is the target of a live autoscaler. */
  has(key: ObjectKey): boolean;
  /** Takes the present value of an autoscaler; undefined: it is gone. Returns the old and new target if they differ. */
  note(autoscaler: ObjectKey, value: JsonObject | undefined): readonly ObjectKey[];
  autoscalers(): readonly ObjectKey[];
}

export function createAutoscaled(): Autoscaled {
  const targets = new Map<ObjectKey, ObjectKey>();

  return { has, note, autoscalers: () => [...targets.keys()] };

  function has(key: ObjectKey): boolean {
    for (const target of targets.values()) if (target === key) return true;
    return false;
  }

  function note(autoscaler: ObjectKey, value: JsonObject | undefined): readonly ObjectKey[] {
    const before = targets.get(autoscaler);
    const now = value === undefined ? undefined : targetOf(autoscaler, value);
    if (before === now) return [];
    if (now === undefined) targets.delete(autoscaler);
    else targets.set(autoscaler, now);
    return [before, now].filter((key) => key !== undefined);
  }
}

function targetOf(autoscaler: ObjectKey, { spec }: JsonObject): ObjectKey | undefined {
  const target = isJsonObject(spec) ? spec.scaleTargetRef : undefined;
  if (!isJsonObject(target)) return undefined;
  const { apiVersion, kind, name } = target;
  const slash = textOf(apiVersion).indexOf('/');
  const group = slash < 0 ? '' : textOf(apiVersion).slice(0, slash);
  return objectKey({ group, kind: textOf(kind), namespace: objectRefOf(autoscaler).namespace, name: textOf(name) });
}
