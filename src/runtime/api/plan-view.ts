import type { EnginePlan, PlannedObject } from '../../engine/explain/plan.ts';
import type { PlanCause, SidedRef } from '../../engine/explain/plan-causes.ts';
import { displayKey } from '../../model/objects/object-key.ts';
import {
  type ClusterPlan,
  MOST_FIELDS,
  type PlannedChange,
  type PlannedField,
  type PlanReason,
  type PlanSummary,
} from '../../model/plan/plan.ts';
import type { CompareVersions, FieldChange } from '../../model/text/field-diff.ts';
import { parseFieldPath } from '../../model/text/field-path.ts';
import { compareText, type JsonValue } from '../../model/text/json.ts';
import { given } from '../../model/values/given.ts';

/** Displays the place of a document as `path:line:column`; only the path if it cannot be found. */
export type PlaceOf = (ref: SidedRef) => Promise<string>;

/** The objects of a plan for people, by cluster. */
export async function clusterPlans(
  { objects, waits }: EnginePlan,
  placeOf: PlaceOf,
  compare: CompareVersions,
): Promise<readonly ClusterPlan[]> {
  const reasons = await displayCauses(objects, placeOf);
  const fields = await displayFields(objects, placeOf, compare);
  return [...Map.groupBy(objects, ({ cluster }) => cluster)]
    .sort(([a], [b]) => compareText(a, b))
    .map(([cluster, planned]) => ({
      cluster,
      ...waiting(waits.get(cluster)),
      changes: planned.map(({ key, action, from, hold, before, after, causes }): PlannedChange => {
        const differing = action === 'change' && after && before ? fields.get(compare(before, after)) : undefined;
        return {
          object: displayKey(key),
          action,
          ...(from === undefined ? {} : { from: from.path }),
          ...(hold === undefined ? {} : { reason: hold.reason, message: hold.message }),
          ...differing,
          because: causes.map((cause) => reasons.get(causeKey(cause)) ?? { what: '', at: cause.at.path }),
        };
      }),
    }));
}

/** Counts the objects of a plan by what happens to them. */
export function summaryOf({ objects, registered }: EnginePlan): PlanSummary {
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

const DOCUMENT_CHANGES: Readonly<Record<Extract<PlanCause, { readonly type: 'document' }>['change'], string>> = {
  added: '',
  changed: '',
  removed: 'its manifest was removed',
  unreadable: 'its file cannot be read',
};

function nameOf(cause: PlanCause): string {
  switch (cause.type) {
    case 'document':
      return cause.why === undefined ? DOCUMENT_CHANGES[cause.change] : `its file is not read any more: ${cause.why}`;
    case 'placement':
      return cause.selects
        ? `Placement ${cause.name} selects it`
        : `Placement ${cause.name} does not select it any more`;
    case 'label': {
      const { placement, label, before, after } = cause;
      const reads = `which Placement ${placement} selects by`;
      if (before === undefined) return `the cluster gets the label ${label}: ${after}, ${reads}`;
      return after === undefined
        ? `the cluster loses the label ${label}: ${before}, ${reads}`
        : `the label ${label} of the cluster, ${reads}, changes from ${before} to ${after}`;
    }
    case 'cluster':
      return cause.change === 'added' ? 'the cluster is new' : 'the cluster is not declared any more';
    case 'rule':
      return `${cause.kind} ${cause.name}`;
  }
}

function waiting(waits: string | undefined): Pick<ClusterPlan, 'waits'> {
  return given({ waits });
}

/** Longer values are cut, in characters. */
const LONGEST_VALUE = 300;

type Fields = Pick<PlannedChange, 'fields' | 'moreFields'>;

/** The fields of each list of changes. */
async function displayFields(
  objects: readonly PlannedObject[],
  placeOf: PlaceOf,
  compare: CompareVersions,
): Promise<ReadonlyMap<readonly FieldChange[], Fields>> {
  const asked = new Map<readonly FieldChange[], Promise<Fields>>();
  for (const { action, before, after, causes } of objects) {
    if (action !== 'change' || before === undefined || after === undefined) continue;
    const changes = compare(before, after);
    if (asked.has(changes)) continue;
    const [cause] = causes;
    const own = cause?.type === 'document' && cause.change === 'changed' ? cause.at : undefined;
    asked.set(changes, fieldsOf(changes, own, placeOf));
  }
  // Together, so that lines of one file are found at once.
  return new Map(await Promise.all([...asked].map(async ([changes, fields]) => [changes, await fields] as const)));
}

async function fieldsOf(
  changes: readonly FieldChange[],
  manifest: SidedRef | undefined,
  placeOf: PlaceOf,
): Promise<Fields> {
  const fields = await Promise.all(
    changes.slice(0, MOST_FIELDS).map(async (change): Promise<PlannedField> => {
      const field = parseFieldPath(change.path);
      if (manifest === undefined || !field.ok) return shortened(change);
      return { ...shortened(change), at: await placeOf({ ...manifest, field: field.value }) };
    }),
  );
  const moreFields = changes.length - fields.length;
  return moreFields > 0 ? { fields, moreFields } : { fields };
}

/** A long value would be repeated for every cluster. */
function shortened({ path, before, after }: FieldChange): FieldChange {
  return {
    path,
    ...(before === undefined ? {} : { before: shortValue(before) }),
    ...(after === undefined ? {} : { after: shortValue(after) }),
  };
}

function shortValue(value: JsonValue): JsonValue {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length <= LONGEST_VALUE ? value : `${text.slice(0, LONGEST_VALUE)}... (${text.length} characters)`;
}
