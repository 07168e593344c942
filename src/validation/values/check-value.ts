import type { FieldProblem } from '../../manifest/problem.ts';
import { isJsonObject, type JsonObject, type JsonValue, jsonEquals } from '../../model/text/json.ts';
import { type CompileOptions, type Node, nodeOf, type Slot, slotOf } from './compile-schema.ts';
import { createMeter, MOST_STEPS, TooMuchWork, tooMuchWork } from './meter.ts';
import { createPatterns } from './metered-patterns.ts';
import type { Schema } from './schema.ts';
import {
  type Run,
  report,
  reportDuplicate,
  reportEnum,
  reportFormat,
  reportMissing,
  reportRange,
  reportType,
  reportUnknownField,
} from './value-problems.ts';
import { checkValueRules, UnusablePattern } from './value-rules.ts';

/** How one value is checked. */
export interface ValueOptions {
  /** Messages do not quote values. */
  readonly isSecret?: boolean;
}

/** Returns the problems of a value; paths begin at it. The same list, empty, if there are none. */
export type ValueCheck = (schema: Schema, value: JsonValue, options?: ValueOptions) => readonly FieldProblem[];

const NONE: readonly FieldProblem[] = [];
/** Deeper than any file can be that is read. */
const DEEPEST = 500;

/**
 * Makes a check of values against schemas, which does what an API server does under strict field validation. It keeps what
 * it has compiled of a schema for as long as the schema lives, so one check serves many values.
 */
export function createValueCheck(options: CompileOptions): ValueCheck {
  const roots = new WeakMap<Schema, Slot>();
  const walker = { ...options, isBuiltIn: options.reader === 'built-in' };
  const meter = createMeter();
  const { patterns } = options;
  const matcherOf = patterns === undefined ? () => undefined : createPatterns(meter, patterns);
  return (schema, value, { isSecret = false } = {}) => {
    const slot = roots.get(schema) ?? slotOf(schema);
    roots.set(schema, slot);
    meter.reset(MOST_STEPS);
    const problems: Run['problems'] = [];
    try {
      const node = nodeOf(slot, walker);
      visit(node, value, { path: [], problems, isSecret, root: { node, value }, meter, matcherOf }, walker);
    } catch (error) {
      if (error instanceof UnusablePattern) return [...problems, error.problem];
      if (!(error instanceof TooMuchWork)) throw error;
      return [...problems, tooMuchWork()];
    }
    return problems.length === 0 ? NONE : problems;
  };
}

interface Walker extends CompileOptions {
  readonly isBuiltIn: boolean;
}

function visit(node: Node, value: JsonValue, run: Run, walker: Walker): void {
  run.meter.charge(1);
  if (run.path.length > DEEPEST) {
    report(run, 'TooDeep', 'is nested too deep');
    return;
  }
  if (!hasType(node, value, run, walker)) return;
  // An API server leaves out the status of what is created, after it has decoded it.
  const isStatus = walker.isBuiltIn && run.path[0] === 'status';
  if (node.enum !== undefined && !isStatus && !isInEnum(node.enum, value, run, walker))
    reportEnum(run, value, node.enum);
  if (node.hasValueRules) {
    checkValueRules(node, value, run, (slot, part, inner) => visit(nodeOf(slot, walker), part, inner, walker));
  }
}

/** Checks the type and what lies below the value; false if the type is wrong. */
function hasType(node: Node, value: JsonValue, run: Run, walker: Walker): boolean {
  switch (node.type) {
    case 'object':
      if (!isJsonObject(value)) break;
      visitObject(node, value, run, walker);
      return true;
    case 'array':
      if (!Array.isArray(value)) break;
      visitList(node, value, run, walker);
      return true;
    case 'string':
      return isText(node, value, run);
    case 'boolean':
      if (typeof value === 'boolean') return true;
      break;
    case 'integer':
      if (!Number.isInteger(value)) break;
      checkRange(node.schema.format, value as number, run);
      return true;
    case 'number':
      if (typeof value === 'number') return true;
      break;
    case 'int-or-string':
      if (typeof value === 'string') return true;
      if (!Number.isInteger(value)) break;
      checkRange(walker.isBuiltIn ? 'int32' : 'int64', value as number, run);
      return true;
    case undefined:
      if (isJsonObject(value)) visitObject(node, value, run, walker);
      else if (Array.isArray(value)) visitList(node, value, run, walker);
      else if (typeof value === 'string' && node.format !== undefined) isText(node, value, run);
      return true;
  }
  reportType(run, node.type, value, [...(node.fields?.keys() ?? [])]);
  return false;
}

function isText({ format }: Node, value: JsonValue, run: Run): boolean {
  if (typeof value !== 'string') {
    if (format?.alsoTakes === (Array.isArray(value) ? 'list' : typeof value)) return true;
    reportType(run, 'string', value);
    return false;
  }
  if (format !== undefined && !format.matches(value)) reportFormat(run, format, value);
  return true;
}

const INT32 = 2 ** 31;
const INT64 = 2 ** 63;

function checkRange(format: string | undefined, value: number, run: Run): void {
  const limit = format === 'int32' ? INT32 : INT64;
  if (value >= limit || value < -limit) reportRange(run, limit === INT32 ? 'int32' : 'int64', value);
}

function isInEnum(allowed: ReadonlySet<JsonValue>, value: JsonValue, run: Run, { isBuiltIn }: Walker): boolean {
  if (allowed.has(value) || (isBuiltIn && value === '')) return true;
  if (typeof value !== 'object') return false;
  run.meter.charge(allowed.size * sizeOf(value));
  return [...allowed].some((each) => jsonEquals(each, value));
}

/** In steps: the values in a value, roughly. */
function sizeOf(value: JsonValue): number {
  return Math.ceil(JSON.stringify(value).length / 16);
}

function visitObject(node: Node, value: JsonObject, run: Run, walker: Walker): void {
  for (const key in value) {
    const member = value[key];
    if (member === undefined) continue;
    const slot = node.fields?.get(key) ?? node.rest;
    if (slot === 'refused') {
      reportUnknownField(run, key, node, value, walker);
    } else if (slot !== 'any' && member !== null) {
      run.path.push(key);
      visit(nodeOf(slot, walker), member, run, walker);
      run.path.pop();
    }
  }
  if (!walker.isBuiltIn) run.meter.charge(node.required.length);
  for (const name of node.required) {
    const member = Object.hasOwn(value, name) ? value[name] : undefined;
    // An API server leaves out the status of what is created.
    if (isMissing(member, node.fields?.get(name), walker) && run.path[0] !== 'status') reportMissing(run, name, member);
  }
}

/** Null is absent, but in a field of a custom kind that may be null. */
function isMissing(value: JsonValue | undefined, field: Slot | undefined, { isBuiltIn }: Walker): boolean {
  if (value === null) return isBuiltIn || field?.schema.nullable !== true;
  return value === undefined || (isBuiltIn && isEmpty(value, field));
}

/** What Go cannot tell from absent: where it demands text, a list or a map, it must not be empty. */
function isEmpty(value: JsonValue, field: Slot | undefined): boolean {
  if (typeof value !== 'object') return value === '';
  if (Array.isArray(value)) return value.length === 0;
  return field?.schema.additionalProperties !== undefined && isJsonObject(value) && Object.keys(value).length === 0;
}

function visitList(node: Node, list: readonly JsonValue[], run: Run, walker: Walker): void {
  if (node.items !== undefined && list.length > 0) {
    const items = nodeOf(node.items, walker);
    for (let index = 0; index < list.length; index += 1) {
      const written = list[index] ?? null;
      // A null item is the zero value of its Go type.
      const item = written === null && walker.isBuiltIn && items.type === 'object' ? {} : written;
      run.path.push(index);
      // An empty item is not replaced by a default, as an empty field is.
      if (walker.isBuiltIn && (item === null || item === '') && items.enum !== undefined) {
        reportEnum(run, item, items.enum);
      } else if (item !== null || !(walker.isBuiltIn || items.schema.nullable === true)) {
        visit(items, item, run, walker);
      }
      run.path.pop();
    }
  }
  if (node.itemKeys !== undefined && list.length > 1) checkDuplicates(node, node.itemKeys, list, run, walker);
}

function checkDuplicates(
  node: Node,
  keys: readonly string[],
  list: readonly JsonValue[],
  run: Run,
  walker: Walker,
): void {
  const fields = node.items && nodeOf(node.items, walker).fields;
  const initial = (key: string): JsonValue | undefined => fields?.get(key)?.schema.default;
  const isAccepted = node.schema['x-fleetrelay-items-may-repeat'] === true;
  const seen = new Set<string>();
  for (const [index, item] of list.entries()) {
    if (!walker.isBuiltIn) run.meter.charge(keys.length === 0 ? sizeOf(item) : sizeOfKeys(item, keys));
    const id = identityOf(item, keys, initial);
    if (id === undefined) continue;
    if (seen.has(id)) reportDuplicate(run, index, keys, item, isAccepted);
    seen.add(id);
  }
}

function sizeOfKeys(item: JsonValue, keys: readonly string[]): number {
  return isJsonObject(item) ? keys.reduce((sum, key) => sum + sizeOf(item[key] ?? null), 0) : 1;
}

/** Undefined: the item lacks a key, so it has no identity. */
function identityOf(
  item: JsonValue,
  keys: readonly string[],
  initial: (key: string) => JsonValue | undefined,
): string | undefined {
  if (keys.length === 0) return JSON.stringify(item);
  if (!isJsonObject(item)) return undefined;
  const values = keys.map((key) => item[key] ?? initial(key));
  return values.includes(undefined) ? undefined : JSON.stringify(values);
}
