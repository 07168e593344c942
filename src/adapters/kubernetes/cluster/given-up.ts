import type { FieldNames } from '../../../model/objects/ignored-fields.ts';
import { displayKey } from '../../../model/objects/object-key.ts';
import { WRITTEN_ANNOTATIONS } from '../../../model/objects/server-fields.ts';
import type { JsonObject } from '../../../model/text/json.ts';
import type { ApplyOutcome, ApplyRequest } from '../../../ports/cluster-api.ts';
import { ADOPT_FROM } from './annotations.ts';
import {
  fieldsOf,
  isEmpty,
  joinedFields,
  sharedFields,
  subtractFields,
  undeclaredFields,
  withoutPaths,
} from './field-sets.ts';
import { allFields } from './former-managers.ts';
import { leftToOthers } from './ignored-fields.ts';
import { type FieldManager, type FieldSet, fieldManagers, isOurs } from './ownership.ts';
import { type FieldConflict, listConflicts, managersOf } from './refusals.ts';
import type { Looking } from './write.ts';

/** No manifest has these (`model/objects/server-fields.ts`), but an earlier version of one may have had them. */
const WRITTEN: readonly FieldNames[] = [...WRITTEN_ANNOTATIONS].map((name) => ['metadata', 'annotations', name]);

/** An object that is applied. */
interface Applied extends Looking {
  readonly request: ApplyRequest;
  /** The declared object as it is applied. */
  readonly body: JsonObject;
}

/**
 * The fields that the inventory is to have as given up, if it lacks one of them: a write would give them up, and other managers own them
 * too. They would stay live, and nothing but the inventory would know that they were ours. Undefined: it has all of them.
 */
export function fieldsGivenUp(applied: Applied, managers: readonly FieldManager[]): FieldSet | undefined {
  const { givenUp = {} } = applied.request;
  const leaving = undeclared(applied, allFields(managers.filter(isOurs)));
  const shared = managers.filter((one) => !isOurs(one)).map(({ fields }) => sharedFields(leaving, fields));
  const all = [givenUp, ...shared].reduce(joinedFields, {});
  const known = new Set(fieldsOf(givenUp).map(({ name }) => name));
  return fieldsOf(all).every(({ name }) => known.has(name)) ? undefined : all;
}

/**
 * Our fields that are not declared and are left to others. An apply would remove them if they were still ours, now or once the
 * manifest no longer leaves them to others.
 */
export function fieldsLeft(applied: Applied, ours: FieldSet): FieldSet {
  const paths = leftToOthers(applied, applied.request);
  if (paths.length === 0) return {};
  const leaving = undeclaredFields(ours, applied.body);
  return subtractFields(leaving, withoutPaths(leaving, paths));
}

/** The conflict with the managers that own fields that we gave up; undefined: there are none. */
export function contestedFields(applied: Applied, live: JsonObject): ApplyOutcome | undefined {
  const { key, givenUp = {} } = applied.request;
  const leaving = undeclared(applied, givenUp);
  if (isEmpty(leaving)) return undefined;
  const conflicts = fieldManagers(live)
    .filter((one) => !isOurs(one))
    .flatMap(({ manager, operation, fields }) =>
      fieldsOf(sharedFields(leaving, fields)).map(({ name }): FieldConflict => ({ manager, field: name, operation })),
    );
  if (conflicts.length === 0) return undefined;
  const owner = managersOf(conflicts).join(', ');
  const message = `fields of ${displayKey(key)} are not declared any more, and stay because others own them: ${listConflicts(conflicts)}; let them be removed there, or name the manager in the annotation ${ADOPT_FROM} of its manifest, and they are removed`;
  return { type: 'conflict', owner, message };
}

/** The fields that are not declared, that others do not own by agreement, and that no controller writes anew. */
function undeclared(applied: Applied, fields: FieldSet): FieldSet {
  const leaving = undeclaredFields(fields, applied.body);
  if (isEmpty(leaving)) return leaving;
  return withoutPaths(leaving, [...leftToOthers(applied, applied.request), ...WRITTEN]);
}
