import type { DeclaredStatus } from '../../engine/status/declared-status.ts';
import type { ObjectStatus, RevisionStatus } from '../../engine/status/rollout.ts';
import {
  type Condition,
  type ConditionForm,
  type ConditionValue,
  momentsAt,
  readConditions,
  withTimes,
  withUpdateTimes,
} from '../../model/fleet/conditions.ts';
import { type Diagnostic, displayDiagnostic } from '../../model/fleet/diagnostic.ts';
import { engineKindRow } from '../../model/fleet/engine-kinds.ts';
import { kindSegment, namespaceSegment, pathSegment, statusFile } from '../../model/fleet/status-path.ts';
import { displayKey, type ObjectKey, objectRefOf } from '../../model/objects/object-key.ts';
import { isJsonObject, type JsonObject, type JsonValue, objectOf, objectsOf } from '../../model/text/json.ts';
import { parseRfc3339, rfc3339 } from '../../model/text/time.ts';
import { given } from '../../model/values/given.ts';
import type { AdmittedRevision } from '../replica/admission.ts';
import { isPartial, type SourceState } from '../source-table.ts';

/** Paths of the files on the status branch, beside the files of declared objects. */
export const statusPath = {
  object: (key: string) => {
    const { group, kind, namespace, name } = objectRefOf(key as ObjectKey);
    return statusFile(['objects', kindSegment(group, kind), namespaceSegment(namespace)], name);
  },
  source: (name: string) => statusFile(['sources'], name),
  revision: (source: string, revision: string) => statusFile(['revisions', pathSegment(source)], revision),
  revisionsOf: (source: string) => `revisions/${pathSegment(source)}/`,
} as const;

/** The parts of a file as last written that its next version depends on. */
export interface WrittenBefore {
  readonly conditions: readonly Condition[];
  /** Lists of conditions beside `conditions`, by field. */
  readonly lists: Readonly<Record<string, readonly Condition[]>>;
  /** Other members with a `lastUpdateTime`. */
  readonly timed: JsonObject;
  readonly admittedAt: string | undefined;
}

export const nothingWritten: WrittenBefore = { conditions: [], lists: {}, timed: {}, admittedAt: undefined };

/**
 * Reads {@link WrittenBefore} from a parsed status file; parts of another shape count as not written.
 *
 * @param now milliseconds since 1970: replaces later and invalid times. Omitted: the file is our own, and its times are trusted.
 */
export function writtenBefore(value: JsonValue, now = Number.POSITIVE_INFINITY): WrittenBefore {
  if (!isJsonObject(value)) return nothingWritten;
  const { conditions, ...others } = isJsonObject(value.status) ? value.status : {};
  const read = (list: JsonValue | undefined) => readConditions(list).map((condition) => clamped(condition, now));
  const lists = Object.entries(others).flatMap(([field, list]) => {
    const found = read(list);
    return found.length === 0 ? [] : [[field, found] as const];
  });
  const admittedAt = typeof value.admittedAt === 'string' ? notAfter(value.admittedAt, now) : undefined;
  const timed = Object.entries(others).flatMap(([field, member]) =>
    [objectOf(member), ...objectsOf(member)].some(({ lastUpdateTime }) => typeof lastUpdateTime === 'string')
      ? [[field, withoutFuture(member, now)] as const]
      : [],
  );
  const found = { lists: Object.fromEntries(lists), timed: Object.fromEntries(timed) };
  return { conditions: read(conditions), ...found, admittedAt };
}

/** The status in a file of the branch, which others may have written: `now` replaces later and invalid times. */
export function trustedStatus(status: JsonValue | undefined, now: number): JsonObject | undefined {
  if (status === undefined || !isJsonObject(status)) return undefined;
  const trusted = ([field, value]: [string, JsonValue | undefined]) => {
    const conditions = readConditions(value).map((condition) => ({ ...clamped(condition, now) }) as JsonObject);
    return [field, conditions.length === 0 ? withoutFuture(value, now) : conditions] as const;
  };
  return Object.fromEntries(Object.entries(status).map(trusted));
}

/** A value with every time later than `now` replaced by `now`, at any depth. */
function withoutFuture(value: JsonValue | undefined, now: number): JsonValue | undefined {
  if (typeof value === 'string') {
    const at = parseRfc3339(value);
    return at !== undefined && at > now ? rfc3339(now) : value;
  }
  if (Array.isArray(value)) return value.map((item) => withoutFuture(item, now) ?? null);
  if (value === undefined || !isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, withoutFuture(member, now)]));
}

function clamped({ lastTransitionTime, lastUpdateTime, ...condition }: Condition, now: number): Condition {
  return {
    ...condition,
    lastTransitionTime: notAfter(lastTransitionTime, now),
    ...(lastUpdateTime === undefined ? {} : { lastUpdateTime: notAfter(lastUpdateTime, now) }),
  };
}

function notAfter(time: string, now: number): string {
  const at = Date.parse(time);
  return now < Number.POSITIVE_INFINITY && (Number.isNaN(at) || at > now) ? rfc3339(now) : time;
}

/** The status of a declared object. */
export function declaredDocument(
  {
    kind: id,
    namespace,
    name,
    mesh: parent,
    conditions,
    othersConditions = [],
    conditionLists = {},
    fields,
    timedFields = {},
    moments = {},
    labels,
  }: DeclaredStatus,
  before: WrittenBefore,
  now: number,
): JsonObject {
  const { group, versions, kind, statusPath, universal, isAcceptedByListing, conditionForm } = engineKindRow(id);
  const shown = conditions.filter(
    ({ type, status }) => !(isAcceptedByListing === true && type === 'Accepted' && status === 'True'),
  );
  return {
    apiVersion: `${group}/${versions[0]}`,
    kind,
    ...(universal === undefined || parent === undefined ? {} : { [universal.parent]: parent }),
    metadata: {
      name,
      // Kinds with a path of their own have a namespace only if their path has it.
      ...(namespace === '' || statusPath?.includes('NAMESPACE') === false ? {} : { namespace }),
      ...given({ labels }),
    },
    status: {
      ...fields,
      ...withUpdateTimes(timedFields, before.timed, now),
      ...momentsAt(moments, now),
      conditions: [
        ...othersConditions.map((condition) => ({ ...condition })),
        ...conditionsOf(shown, before.conditions, now, conditionForm),
      ],
      ...Object.fromEntries(
        Object.entries(conditionLists).map(([field, list]) => [
          field,
          conditionsOf(list, before.lists[field] ?? [], now, conditionForm),
        ]),
      ),
    },
  };
}

/** The status of one object over all clusters. */
export function objectDocument(key: string, status: ObjectStatus, before: WrittenBefore, now: number): JsonObject {
  return {
    apiVersion: 'fleetrelay.dev/v1alpha1',
    kind: 'ObjectStatus',
    object: displayKey(key as ObjectKey),
    declaredIn: status.origins.map(({ source, path }) => `${source}:${path}`),
    status: {
      counts: { ...status.counts },
      conditions: conditionsOf(status.conditions, before.conditions, now),
      clusters: status.clusters.map(({ cluster, progress: { state, reason, message, health } }) => ({
        cluster,
        state,
        ...(reason === '' ? {} : { reason }),
        ...(message === '' ? {} : { message }),
        ...(health === undefined ? {} : { health: health.state }),
        ...(health === undefined || health.message === '' ? {} : { healthMessage: health.message }),
      })),
    },
  };
}

/** The status of one revision of a source. */
export function revisionDocument(
  { source, revision, description, state, diagnostics }: AdmittedRevision,
  status: RevisionStatus,
  found: readonly Diagnostic[],
  before: WrittenBefore,
  now: number,
): JsonObject {
  const all = listedFindings([...diagnostics, ...found]);
  return {
    apiVersion: 'fleetrelay.dev/v1alpha1',
    kind: 'RevisionStatus',
    source,
    revision,
    ...(description === undefined
      ? {}
      : { subject: description.subject, author: description.author, committedAt: rfc3339(description.committedAt) }),
    admittedAt: before.admittedAt ?? rfc3339(now),
    summary: status.summary,
    status: {
      // The files of the status branch call a complete revision whole.
      state: state === 'complete' ? 'whole' : state,
      clusters: { targeted: status.targeted, applied: status.applied },
      objects: status.counts,
      ...given({ statuses: status.statuses }),
      conditions: conditionsOf(status.conditions, before.conditions, now),
      ...(status.waiting.length === 0
        ? {}
        : { waiting: status.waiting.map(({ cluster, message }) => ({ cluster, message })) }),
      ...(all.length === 0 ? {} : { diagnostics: all }),
    },
  };
}

/** A file of the branch is written as a whole at each commit, so it has a part of many findings. */
function listedFindings(findings: readonly Diagnostic[]): readonly string[] {
  const more = findings.length - MOST_FINDINGS;
  const listed = findings.slice(0, MOST_FINDINGS).map(displayDiagnostic);
  return more <= 0 ? listed : [...listed, `and ${more} more; fleetrelay validate lists all`];
}

function conditionsOf(
  values: readonly ConditionValue[],
  before: readonly Condition[],
  now: number,
  form: ConditionForm = 'metav1',
): JsonObject[] {
  return withTimes(values, before, now, form).map((condition) => ({ ...condition }));
}

/** Findings that the file of a revision lists. */
const MOST_FINDINGS = 2_000;

/** The status of a source: its revision, and whether it is synced and complete. */
export function sourceDocument(state: SourceState, before: WrittenBefore, now: number): JsonObject {
  const { source, condition, admitted } = state;
  const conditions = withTimes(
    [syncedCondition(condition), READABLE[isPartial(state) ? 'partial' : (admitted?.state ?? 'none')]],
    before.conditions,
    now,
  );
  return {
    apiVersion: 'fleetrelay.dev/v1alpha1',
    kind: 'SourceStatus',
    source: source.name,
    ...(admitted === undefined ? {} : { revision: admitted.revision }),
    ...given({ refusedRevision: condition.refusedRevision }),
    status: { conditions: conditions as unknown as JsonValue },
  };
}

function syncedCondition({ state, reason, message }: SourceState['condition']): ConditionValue {
  // The message of a successful look names the revision, which the document contains already.
  if (state === 'synced') return { type: 'Synced', status: 'True', reason, message: '' };
  return { type: 'Synced', status: state === 'pending' ? 'Unknown' : 'False', reason, message };
}

/** The condition `Whole` of a source, by the state of its admitted revision. */
const READABLE = {
  complete: { type: 'Whole', status: 'True', reason: 'Whole', message: '' },
  partial: {
    type: 'Whole',
    status: 'False',
    reason: 'Partial',
    message: 'files cannot be read: the source removes nothing',
  },
  none: { type: 'Whole', status: 'Unknown', reason: 'NotRead', message: '' },
} as const satisfies Record<string, ConditionValue>;
