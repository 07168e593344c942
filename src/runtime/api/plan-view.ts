import type { EnginePlan, PlannedObject } from '../../engine/explain/plan.ts';
import type { PlanCause, SidedRef } from '../../engine/explain/plan-causes.ts';
import { fieldDiff } from '../../model/field-diff.ts';
import { compareText, type JsonObject } from '../../model/json.ts';
import { displayKey } from '../../model/object-key.ts';
import {
  type ClusterPlan,
  MOST_FIELDS,
  type PlannedChange,
  type PlanReason,
  type PlanSummary,
} from '../../model/plan.ts';

/** Displays the place of a document as `path:line:column`; only the path if it cannot be found. */
export type PlaceOf = (ref: SidedRef) => Promise<string>;

/** The objects of a plan for people, by cluster. */
export async function clusterPlans({ objects }: EnginePlan, placeOf: PlaceOf): Promise<readonly ClusterPlan[]> {
  const reasons = await displayCauses(objects, placeOf);
  const fieldsOf = createFieldDiffs();
  return [...Map.groupBy(objects, ({ cluster }) => cluster)]
    .sort(([a], [b]) => compareText(a, b))
    .map(([cluster, planned]) => ({
      cluster,
      changes: planned.map((each): PlannedChange => {
        const { key, action, hold } = each;
        return {
          ...{ object: displayKey(key), action },
          ...(hold === undefined ? {} : { reason: hold.reason, message: hold.message }),
          ...(action === 'change' ? fieldsOf(each) : {}),
          because: each.causes.map((cause) => reasons.get(causeKey(cause)) ?? { what: '', at: cause.at.path }),
        };
      }),
    }));
}

/** Counts the objects of a plan by what happens to them. */
export function summaryOf({ objects, clusters: { after: registered } }: EnginePlan): PlanSummary {
  const counts = { create: 0, change: 0, move: 0, remove: 0, hold: 0, stay: 0, leave: 0, cancel: 0 };
  for (const { action } of objects) counts[action] += 1;
  return { ...counts, clusters: new Set(objects.map(({ cluster }) => cluster)).size, registered };
}

/** Each distinct cause is displayed once. */
async function displayCauses(
  objects: readonly PlannedObject[],
  placeOf: PlaceOf,
): Promise<ReadonlyMap<string, PlanReason>> {
  const distinct = new Map(objects.flatMap(({ causes }) => causes.map((cause) => [causeKey(cause), cause] as const)));
  const shown = await Promise.all(
    [...distinct].map(async ([key, cause]) => [key, { what: nameOf(cause), at: await placeOf(cause.at) }] as const),
  );
  return new Map(shown);
}

function causeKey(cause: PlanCause): string {
  return JSON.stringify(cause);
}

function nameOf(cause: PlanCause): string {
  switch (cause.type) {
    case 'document':
      return { added: '', changed: '', removed: 'its manifest was removed' }[cause.change];
    case 'placement':
      return cause.selects
        ? `Placement ${cause.name} selects it`
        : `Placement ${cause.name} does not select it any more`;
    case 'label': {
      const { label, before, after } = cause;
      if (before === undefined) return `the cluster gets the label ${label}: ${after}`;
      return after === undefined
        ? `the cluster loses the label ${label}: ${before}`
        : `the label ${label} of the cluster changes from ${before} to ${after}`;
    }
    case 'cluster':
      return cause.change === 'added' ? 'the cluster is new' : 'the cluster is not declared any more';
    case 'rule':
      return `${cause.kind} ${cause.name}`;
  }
}

/** Clusters share values, so that each pair of versions is compared once. */
function createFieldDiffs(): (planned: PlannedObject) => Pick<PlannedChange, 'fields' | 'moreFields'> {
  const known = new Map<JsonObject, Map<JsonObject, Pick<PlannedChange, 'fields' | 'moreFields'>>>();
  return ({ before, after }) => {
    if (before === undefined || after === undefined) return {};
    const versions = known.get(after) ?? new Map<JsonObject, Pick<PlannedChange, 'fields' | 'moreFields'>>();
    known.set(after, versions);
    const found = versions.get(before) ?? cut(fieldDiff(before, after));
    versions.set(before, found);
    return found;
  };
}

function cut(fields: ReturnType<typeof fieldDiff>): Pick<PlannedChange, 'fields' | 'moreFields'> {
  const more = fields.length - MOST_FIELDS;
  return more > 0 ? { fields: fields.slice(0, MOST_FIELDS), moreFields: more } : { fields };
}
