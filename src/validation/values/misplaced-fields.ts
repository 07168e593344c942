import { displayPath, type FieldPath } from '../../model/text/field-path.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../model/text/json.ts';
import { suggestion } from '../../model/text/messages.ts';
import { type CompileOptions, type Node, nodeOf, type Slot } from './compile-schema.ts';

/** A field that its mapping does not have. */
interface UnknownField {
  readonly key: string;
  readonly mapping: JsonObject;
  /** The schema of the mapping. */
  readonly node: Node;
  /** From the root of the object to the mapping. */
  readonly path: FieldPath;
  readonly root: { readonly node: Node; readonly value: JsonValue };
}

/** What the author may have meant. Without a hint: a similar name, or nothing that is likely. */
interface Meaning {
  readonly hint?: string;
  /** The path of the field that was meant; {@link ANY_ITEM} stands for the index in a list. */
  readonly meant?: FieldPath;
}

/** A step to an item of a list, whichever it is. */
export const ANY_ITEM = '[]';

/** Fields of former API versions that have another name or place now. */
const RENAMED: Readonly<Record<string, readonly string[]>> = {
  serviceName: ['service', 'name'],
  servicePort: ['service', 'port', 'number'],
  targetAverageUtilization: ['target', 'averageUtilization'],
  targetAverageValue: ['target', 'averageValue'],
  strategy: ['updateStrategy'],
  targetCPUUtilizationPercentage: ['metrics'],
  updateStrategy: ['strategy'],
  validation: ['versions', ANY_ITEM, 'schema'],
};

/** Fields of very many mappings: the same name elsewhere says nothing. */
const COMMON: ReadonlySet<string> = new Set(
  'apiVersion data key kind labels metadata name namespace path port selector spec status type value'.split(' '),
);

const DEEPEST_BELOW = 5;
const DEEPEST_BESIDE = 2;
/** The most schemas that the search for one field looks at. */
const MOST_NODES = 1_000;

/** Finds what was meant by a field: a similar name, or the same name in another place of the object. */
export function meaningOf(field: UnknownField, options: CompileOptions): Meaning {
  const { key, node, path } = field;
  const known = [...(node.fields?.keys() ?? [])];
  const near = suggestion(key, known);
  const similar = near === undefined ? undefined : { meant: [...path, near] };
  if (similar !== undefined && near !== undefined && Math.abs(near.length - key.length) <= 1) return similar;
  const former = Object.hasOwn(RENAMED, key) ? RENAMED[key] : undefined;
  if (former?.[0] !== undefined && known.includes(former[0])) return at([...path, ...former], path);
  const budget = { left: MOST_NODES };
  const below = search(node, field.mapping, key, DEEPEST_BELOW, options, budget);
  if (below !== undefined) return at([...path, ...below], path);
  const ancestors = ancestorsOf(field, options);
  const above = ancestors.find((each) => each.node.fields?.has(key) === true && !Object.hasOwn(each.mapping, key));
  if (above !== undefined) return at([...above.path, key], []);
  if (similar !== undefined) return similar;
  const maps = mapsFor(field, options);
  if (maps.length > 0) {
    const places = maps.map((name) => displayPath([name, key])).join(' or ');
    return { hint: `did you mean ${places}?`, ...(maps.length === 1 ? { meant: [...path, ...maps, key] } : {}) };
  }
  if (COMMON.has(key)) return {};
  for (const each of ancestors) {
    const beside = search(each.node, each.mapping, key, DEEPEST_BESIDE, options, budget);
    if (beside !== undefined) return at([...each.path, ...beside], []);
  }
  return {};
}

/** @param from the path that the hint leaves out */
function at(meant: FieldPath, from: FieldPath): Meaning {
  const shown = displayPath(meant.slice(from.length).map((step) => (typeof step === 'number' ? ANY_ITEM : step)));
  return { hint: `did you mean ${shown.replaceAll(`["${ANY_ITEM}"]`, ANY_ITEM)}?`, meant };
}

interface Ancestor {
  readonly node: Node;
  readonly mapping: JsonObject;
  readonly path: FieldPath;
}

/** The mappings around the field's own, the nearest first. */
function ancestorsOf({ path, root }: UnknownField, options: CompileOptions): readonly Ancestor[] {
  const found: Ancestor[] = [];
  let node: Node | undefined = root.node;
  let { value } = root;
  for (const [index, step] of path.entries()) {
    if (isJsonObject(value)) found.push({ node, mapping: value, path: path.slice(0, index) });
    const slot: Slot | undefined = typeof step === 'number' ? node.items : fieldSlot(node, step);
    value = (Array.isArray(value) ? value[Number(step)] : isJsonObject(value) ? value[step] : null) ?? null;
    if (slot === undefined) break;
    node = nodeOf(slot, options);
  }
  return found.reverse();
}

function fieldSlot({ fields, rest }: Node, step: string): Slot | undefined {
  return fields?.get(step) ?? (typeof rest === 'string' ? undefined : rest);
}

/** The way from a mapping to the nearest field of the name below it; undefined: there is none, or several are as likely. */
function search(
  from: Node,
  mapping: JsonObject,
  key: string,
  deepest: number,
  options: CompileOptions,
  budget: { left: number },
): FieldPath | undefined {
  let level: readonly { readonly node: Node; readonly path: FieldPath }[] = [{ node: from, path: [] }];
  for (let depth = 0; depth < deepest && level.length > 0; depth += 1) {
    const next: { readonly node: Node; readonly path: FieldPath }[] = [];
    for (const { node, path } of level) {
      for (const [name, slot] of node.fields ?? []) {
        if (path.length === 0 && name === 'status') continue;
        budget.left -= 1;
        if (budget.left < 0) return undefined;
        const inner = nodeOf(slot, options);
        if (inner.items === undefined) next.push({ node: inner, path: [...path, name] });
        else next.push({ node: nodeOf(inner.items, options), path: [...path, name, ANY_ITEM] });
      }
    }
    const found = next.filter(({ node }) => node.fields?.has(key) === true).map(({ path }) => [...path, key]);
    if (found.length > 0) return likeliest(found, from, mapping);
    level = next;
  }
  return undefined;
}

/** The only place in a required field, or else in a field that the mapping has; undefined: no place is the only one. */
function likeliest(found: readonly FieldPath[], { required }: Node, mapping: JsonObject): FieldPath | undefined {
  if (found.length === 1) return found[0];
  const inRequired = found.filter(([name = '']) => required.includes(String(name)));
  if (inRequired.length === 1) return inRequired[0];
  const inGiven = found.filter(([name = '']) => Object.hasOwn(mapping, name));
  return inGiven.length === 1 ? inGiven[0] : undefined;
}

const MOST_FIELDS_BESIDE_MAPS = 4;

/** The maps of a small mapping that take the value under its key: the labels of a selector, the amounts of resources. */
function mapsFor({ key, mapping, node }: UnknownField, options: CompileOptions): readonly string[] {
  const value = mapping[key];
  if (typeof value === 'object' || (node.fields?.size ?? 0) > MOST_FIELDS_BESIDE_MAPS) return [];
  return [...(node.fields ?? [])].flatMap(([name, slot]) => {
    const { fields, rest } = nodeOf(slot, options);
    return fields === undefined && typeof rest !== 'string' && nodeOf(rest, options).fields === undefined ? [name] : [];
  });
}
