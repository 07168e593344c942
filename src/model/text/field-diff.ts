import { isSecretPath, mayBeSecret } from '../objects/secret-values.ts';
import { displayPath, type FieldPath } from './field-path.ts';
import { compareText, isJsonObject, type JsonObject, type JsonValue, jsonEquals } from './json.ts';

/** One field that differs between two versions of an object. */
export interface FieldChange {
  /** See {@link displayPath}. An index counts in the newer list, or in the older list for a removed item. */
  readonly path: string;
  /** Absent: the older version has no such field. */
  readonly before?: JsonValue;
  /** Absent: the newer version has no such field. */
  readonly after?: JsonValue;
}

/** Stands for a value of a Secret. */
export const MASKED = '(masked)';

/** The fields that differ between two versions of one object, in canonical order. Values of Secrets are masked. */
export function fieldDiff(before: JsonObject, after: JsonObject): readonly FieldChange[] {
  const changes: Difference[] = [];
  compareObjects([], before, after, changes);
  const isMasked = mayBeSecret(before) || mayBeSecret(after);
  return changes.map(({ path, before: older, after: newer }) => {
    const shown = (value: JsonValue): JsonValue => (isMasked && isSecretPath(path) ? MASKED : value);
    return {
      path: displayPath(path),
      ...(older === undefined ? {} : { before: shown(older) }),
      ...(newer === undefined ? {} : { after: shown(newer) }),
    };
  });
}

/** Names of the fields that differ, such as `data.greeting`, in canonical order. A list is one field. */
export function differingFields(before: JsonObject, after: JsonObject): readonly string[] {
  const changes: Difference[] = [];
  compareObjects([], before, after, changes);
  const names = changes.map(({ path }) => {
    const index = path.findIndex((step) => typeof step === 'number');
    return path.slice(0, index < 0 ? path.length : index).join('.');
  });
  return [...new Set(names)];
}

/** Compares each pair of versions once: clusters share contents. The same pair gives the same list. */
export type CompareVersions = (before: JsonObject, after: JsonObject) => readonly FieldChange[];

/** Creates a {@link CompareVersions}. */
export function createComparison(): CompareVersions {
  const known = new Map<JsonObject, Map<JsonObject, readonly FieldChange[]>>();
  return (before, after) => {
    const versions = known.get(after) ?? new Map<JsonObject, readonly FieldChange[]>();
    known.set(after, versions);
    const changes = versions.get(before) ?? fieldDiff(before, after);
    versions.set(before, changes);
    return changes;
  };
}

interface Difference {
  readonly path: FieldPath;
  readonly before: JsonValue | undefined;
  readonly after: JsonValue | undefined;
}

function compareObjects(path: FieldPath, before: JsonObject, after: JsonObject, changes: Difference[]): void {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  for (const name of [...names].sort(compareText)) compare([...path, name], before[name], after[name], changes);
}

function compare(
  path: FieldPath,
  before: JsonValue | undefined,
  after: JsonValue | undefined,
  changes: Difference[],
): void {
  if (jsonEquals(before, after)) return;
  if (isJsonObject(before) && isJsonObject(after)) compareObjects(path, before, after, changes);
  else if (Array.isArray(before) && Array.isArray(after)) compareLists(path, before, after, changes);
  else changes.push({ path, before, after });
}

/** Items with names are compared by name, others by place. */
function compareLists(
  path: FieldPath,
  before: readonly JsonValue[],
  after: readonly JsonValue[],
  changes: Difference[],
): void {
  const [older, newer] = [byName(before), byName(after)];
  if (older === undefined || newer === undefined) {
    const length = Math.max(before.length, after.length);
    for (let index = 0; index < length; index += 1) compare([...path, index], before[index], after[index], changes);
    return;
  }
  for (const [name, { index, item }] of older) {
    if (!newer.has(name)) compare([...path, index], item, undefined, changes);
  }
  for (const [name, { index, item }] of newer) compare([...path, index], older.get(name)?.item, item, changes);
  const [first, then] = [[...older.keys()], [...newer.keys()]];
  // The order of containers and variables counts, too.
  if (first.length === then.length && first.every((name) => newer.has(name)) && !jsonEquals(first, then)) {
    changes.push({ path, before: first, after: then });
  }
}

/** The items by their `name`; undefined if one has none, or two have the same. */
function byName(
  items: readonly JsonValue[],
): ReadonlyMap<string, { readonly index: number; readonly item: JsonValue }> | undefined {
  const named = new Map<string, { readonly index: number; readonly item: JsonValue }>();
  for (const [index, item] of items.entries()) {
    if (!isJsonObject(item) || typeof item.name !== 'string' || named.has(item.name)) return undefined;
    named.set(item.name, { index, item });
  }
  return named;
}
