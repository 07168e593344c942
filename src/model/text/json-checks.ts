import { quote } from '../fleet/ids.ts';
import { isJsonObject, type JsonValue } from './json.ts';

/** Returns the first problem of a value, if there is one. */
export type Check = (value: JsonValue | undefined, name: string) => string | undefined;

/** The longest list. */
export const MOST_ITEMS = 1000;
export const TEXT = text();
export const NAMESPACE = text(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/);
export const BOOLEAN: Check = (value, name) =>
  typeof value === 'boolean' ? undefined : `${name} is neither true nor false`;
/** An object with these members, and no others. */
export function members(
  required: Readonly<Record<string, Check>>,
  optional: Readonly<Record<string, Check>> = {},
): Check {
  return (value, name) => {
    if (!isJsonObject(value)) return `${name} is not an object`;
    const known = { ...required, ...optional };
    const unknown = Object.keys(value).find((each) => !Object.hasOwn(known, each));
    if (unknown !== undefined) return `${name} has the unknown member ${quote(unknown)}`;
    const checked = Object.entries(known).filter(
      ([each]) => Object.hasOwn(required, each) || value[each] !== undefined,
    );
    return firstOf(checked.map(([each, check]) => check(value[each], each)));
  };
}

/** A list of at most {@link MOST_ITEMS} such items. */
export function list(item: Check): Check {
  return (value, name) => {
    if (!Array.isArray(value)) return `${name} is not a list`;
    if (value.length > MOST_ITEMS) return `${name} has more than ${MOST_ITEMS} items`;
    return firstOf(value.map((each) => item(each, name)));
  };
}

/** A text, of this pattern if there is one. */
export function text(pattern?: RegExp): Check {
  return (value, name) =>
    typeof value === 'string' && pattern?.test(value) !== false
      ? undefined
      : `${name} holds ${quote(String(value))}, which does not belong there`;
}

/** The first problem; undefined: there is none. */
export function firstOf(problems: readonly (string | undefined)[]): string | undefined {
  return problems.find((each) => each !== undefined);
}
