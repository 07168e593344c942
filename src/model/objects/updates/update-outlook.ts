import { type FieldChange, fieldDiff } from '../../text/field-diff.ts';
import { parseFieldPath } from '../../text/field-path.ts';
import { isJsonObject, type JsonObject, type JsonValue, jsonEquals } from '../../text/json.ts';
import { isLasting } from '../lasting-objects.ts';
import { annotationOf, type ObjectKey, type ObjectRef, objectRefOf } from '../object-key.ts';
import { withDefaults } from './defaults.ts';
import { refusedByDefault, UPDATE_RULES, type UpdateRule, updateRuleOf } from './update-rules.ts';

/** A field that a manifest leaves out, and the value that it has then. */
export interface LeftOut {
  readonly path: string;
  readonly value: JsonValue;
}

/** What an API server does with an update, beside what the manifest says. */
export interface UpdateOutlook {
  /** Changed fields that it refuses to change. */
  readonly refused: readonly string[];
  /** Fields that keep the value that the manifest had. */
  readonly kept: readonly LeftOut[];
  /** Fields that get another value than the manifest had: their default. */
  readonly restored: readonly LeftOut[];
}

/**
 * What an API server does with an update of an object from one declared version to another. `changes`: see {@link fieldDiff}.
 */
export function updateOutlook(
  { group, kind }: Pick<ObjectRef, 'group' | 'kind'>,
  before: JsonObject,
  after: JsonObject,
  changes: readonly FieldChange[],
): UpdateOutlook {
  const name = `${group}/${kind}`;
  const { defaults = [], kept = unchanged }: UpdateRule = UPDATE_RULES[name] ?? {};
  const older = withDefaults(kept({}, before, before), defaults);
  const newer = withDefaults(kept(older, after, before), defaults);
  const byDefault = refusedByDefault(name, before, after);
  const rule = updateRuleOf(name, older, newer);
  const leftOut = changes.flatMap(({ path, before: was, after: is }) => {
    // An item has no default, and another one may have its place.
    const value = is === undefined && !path.endsWith(']') ? valueAt(newer, path) : undefined;
    return was === undefined || value === undefined
      ? []
      : [{ path, value, stays: jsonEquals(valueAt(older, path), value) }];
  });
  const isKept = new Set(keptPaths(kept, before, after));
  return {
    refused: [
      ...fieldDiff(older, newer)
        .filter((change) => isRefused(change, rule))
        .map(({ path }) => path),
      ...(byDefault === undefined ? [] : [byDefault]),
    ],
    kept: leftOut.filter(({ path, stays }) => stays && isKept.has(path)).map(({ path, value }) => ({ path, value })),
    restored: leftOut
      .filter(({ stays, value }) => !stays && !isEmpty(value))
      .map(({ path, value }) => ({ path, value })),
  };
}

function unchanged(_live: JsonObject, after: JsonObject): JsonObject {
  return after;
}

/** The fields that stay, with any value, although a manifest leaves them out. */
function keptPaths(kept: NonNullable<UpdateRule['kept']>, before: JsonObject, after: JsonObject): readonly string[] {
  return fieldDiff(after, kept(before, after, before)).map(({ path }) => path);
}

/** The annotation of a manifest by which a change that is refused makes a new object of it. */
export const REPLACE = 'fleetrelay.dev/replace';

/**
 * What an agent does with a change that an API server refuses because a field never changes. `never`: all that is in such an object
 * would go with it. `lasts`: every cluster has it.
 */
export function replacementOf(key: ObjectKey, manifest: JsonObject): 'replaces' | 'asks' | 'never' | 'lasts' {
  const { kind } = objectRefOf(key);
  if (isLasting(key)) return 'lasts';
  if (kind === 'Namespace' || kind === 'CustomResourceDefinition') return 'never';
  return annotationOf(manifest, REPLACE) === 'true' ? 'replaces' : 'asks';
}

function isRefused(
  { path, before, after }: FieldChange,
  { fixed = [], except = [], once = [], whileSet = [] }: UpdateRule,
): boolean {
  const isSet = before !== undefined && after !== undefined;
  if (isSet && whileSet.some((field) => isBelow(path, field))) return true;
  if (before !== undefined && once.some((field) => isBelow(path, field))) return true;
  if (!fixed.some((field) => isBelow(path, field))) return false;
  if (except.some((field) => isBelow(path, field))) return false;
  // A whole part that appears can hold fields that can change only.
  const parts = [before, after].flatMap((value) => (isJsonObject(value) ? Object.keys(value) : []));
  return parts.length === 0 || parts.some((part) => !except.some((field) => isBelow(`${path}.${part}`, field)));
}

function isBelow(path: string, field: string): boolean {
  const plain = path.replace(/\[\d+\]/g, '.*');
  return plain === field || plain.startsWith(`${field}.`) || plain.startsWith(`${field}[`);
}

function valueAt(value: JsonObject, path: string): JsonValue | undefined {
  const parsed = parseFieldPath(path);
  if (!parsed.ok) return undefined;
  return parsed.value.reduce<JsonValue | undefined>((at, step) => {
    if (typeof step === 'number') return Array.isArray(at) ? (at as readonly JsonValue[])[step] : undefined;
    return isJsonObject(at) ? at[step] : undefined;
  }, value);
}

function isEmpty(value: JsonValue): boolean {
  return isJsonObject(value) && Object.keys(value).length === 0;
}
