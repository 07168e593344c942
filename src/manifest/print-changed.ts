import {
  type Document,
  isAlias,
  isMap,
  isNode,
  isScalar,
  isSeq,
  type Node,
  Pair,
  parseDocument,
  Scalar,
  Schema,
  type ToStringOptions,
  visit,
  type YAMLMap,
  type YAMLSeq,
} from 'yaml';
import { isJsonObject, type JsonObject, type JsonValue, jsonEquals } from '../model/text/json.ts';
import { defaultDecodeLimits } from './limits.ts';
import { resolveKey } from './plain-scalars.ts';
import { readYaml } from './read-yaml.ts';

/**
 * Prints a YAML document with another value. Comments, quotes and the order of what stays the same are kept, and scalars that
 * do not change are as they were written: readers of YAML disagree about some. Throws if the text is no single document.
 *
 * @param before the value of the text
 */
export function printChanged(text: string, before: JsonValue, after: JsonValue): string {
  const document: Document = parseDocument(text, { customTags: tagsAsWritten });
  const [problem] = document.errors;
  if (problem !== undefined) throw problem;
  const contents = isNode(document.contents) ? withoutAliases(document, document.contents) : null;
  document.contents = contents === null ? newNode(document, after) : changed(document, contents, before, after);
  const printed = document.toString(styleOf(text));
  const read = readYaml(printed, defaultDecodeLimits).documents[0]?.value;
  if (!jsonEquals(read, after)) throw new TypeError('a changed document is not printed as it should be');
  return text.includes('\r\n') ? printed.replaceAll('\n', '\r\n') : printed;
}

/** Numbers, booleans and nulls are printed as they were written. */
function tagsAsWritten() {
  return new Schema({ schema: 'core' }).tags.map((tag) => {
    if (tag.collection !== undefined || tag.test === undefined) return tag;
    const { stringify } = tag;
    const written: typeof stringify = (node, ...context) =>
      node.source ?? stringify?.(node, ...context) ?? String(node.value);
    return { ...tag, stringify: written };
  });
}

/** The layout of a text, as far as the printer can follow it. */
function styleOf(text: string): ToStringOptions {
  const [, , indent = '  '] = /^( *)[^\s#-][^\n]*:[ \t]*\r?\n\1( +)[^\s#-]/m.exec(text) ?? [];
  const hasFlatLists = /^( *)[^\s#-][^\n]*:[ \t]*(?:#[^\n]*)?\r?\n(?:[ \t]*(?:#[^\n]*)?\r?\n)*\1- /m.test(text);
  return {
    lineWidth: 0,
    indent: indent.length,
    indentSeq: !hasFlatLists,
    flowCollectionPadding: !/[{[][^\s{}[\]]/.test(text),
  };
}

/** The node of another value. What is equal in both values keeps its node, and so its comments. */
function changed(document: Document, node: Node, before: JsonValue, after: JsonValue): Node {
  if (jsonEquals(before, after)) return node;
  if (isMap(node) && isJsonObject(before) && isJsonObject(after)) return changedMap(document, node, before, after);
  if (isSeq(node) && Array.isArray(before) && Array.isArray(after)) return changedList(document, node, before, after);
  const replaced = newNode(document, after);
  const { comment, commentBefore, spaceBefore } = node;
  return Object.assign(replaced, { comment, commentBefore, spaceBefore });
}

function changedMap(document: Document, map: YAMLMap, before: JsonObject, after: JsonObject): Node {
  const pairs = new Map(map.items.map((pair) => [keyOf(pair), pair]));
  map.items = Object.entries(after).flatMap(([key, value]) => {
    if (value === undefined) return [];
    const pair = pairs.get(key);
    if (pair === undefined) return [new Pair(newNode(document, key), newNode(document, value))];
    const old = before[key];
    pair.value = isNode(pair.value)
      ? changed(document, pair.value, old ?? null, value)
      : jsonEquals(old, value)
        ? pair.value
        : newNode(document, value);
    return [pair];
  });
  return map;
}

function changedList(
  document: Document,
  list: YAMLSeq,
  before: readonly JsonValue[],
  after: readonly JsonValue[],
): Node {
  const origins = originsOf(before, after);
  list.items = after.map((value, index) => {
    const origin = origins[index];
    const node = origin === undefined ? undefined : list.items[origin];
    return isNode(node) && origin !== undefined
      ? changed(document, node, before[origin] ?? null, value)
      : newNode(document, value);
  });
  return list;
}

/** The index before of each item after: by names if all items have one of their own, else by places. */
function originsOf(before: readonly JsonValue[], after: readonly JsonValue[]): readonly (number | undefined)[] {
  const names = namesOf(before);
  const wanted = namesOf(after);
  if (names !== undefined && wanted !== undefined) {
    const places = new Map(names.map((name, index) => [name, index]));
    return wanted.map((name) => places.get(name));
  }
  return after.map((_, index) => (before.length === after.length ? index : undefined));
}

function namesOf(items: readonly JsonValue[]): readonly string[] | undefined {
  const names = items.map((item) => (isJsonObject(item) && typeof item.name === 'string' ? item.name : undefined));
  const known = names.filter((name) => name !== undefined);
  return new Set(known).size === items.length ? known : undefined;
}

/** The key as the reader has it. */
function keyOf({ key }: Pair): string {
  if (!isScalar(key)) return String(key);
  const plain = key.type === Scalar.PLAIN ? resolveKey(key.source ?? '') : undefined;
  return plain?.ok === true && plain.value !== null ? plain.value : String(key.value);
}

/** Texts that no reader of YAML takes for another value. */
const PLAIN_TEXT = /^(?!(?:y|n|yes|no|on|off|true|false|null)$)[a-z/][\w/.:-]*(?<!:)$/i;

function newNode(document: Document, value: JsonValue): Node {
  const node: Node = document.createNode(value, { aliasDuplicateObjects: false });
  visit(node, {
    Scalar: (_, scalar) => {
      if (typeof scalar.value !== 'string' || PLAIN_TEXT.test(scalar.value)) return;
      scalar.type = scalar.value.includes('\n') ? Scalar.BLOCK_LITERAL : Scalar.QUOTE_DOUBLE;
    },
  });
  return node;
}

/**
 * Replaces aliases by what they stand for, and merge keys by what they merge: a change of one place must not change another.
 * The reader limits how much that is.
 */
function withoutAliases(document: Document, root: Node): Node {
  let found = false;
  visit(root, {
    Alias: () => {
      found = true;
      return visit.BREAK;
    },
  });
  return found ? withoutAnchors(expanded(document, root)) : root;
}

/** Goes through the document in its order, so that what an alias stands for has no aliases any more. */
function expanded(document: Document, node: Node): Node {
  if (isAlias(node)) {
    const target = node.resolve(document);
    if (target === undefined) throw new TypeError('an alias stands for nothing');
    const { comment, commentBefore, spaceBefore } = node;
    return Object.assign(withoutAnchors(target.clone() as Node), { comment, commentBefore, spaceBefore });
  }
  if (isSeq(node)) node.items = node.items.map((item) => (isNode(item) ? expanded(document, item) : item));
  if (isMap(node)) {
    for (const pair of node.items) if (isNode(pair.value)) pair.value = expanded(document, pair.value);
    node.items = merged(node.items);
  }
  return node;
}

function withoutAnchors(root: Node): Node {
  visit(root, {
    Node: (_, node) => {
      if ('anchor' in node) delete node.anchor;
    },
  });
  return root;
}

/** The members of a map and of its merge keys. Its own members override merged ones. */
function merged(items: readonly Pair[]): Pair[] {
  const own = new Set(items.filter((pair) => !isMergeKey(pair)).map(keyOf));
  return items.flatMap((pair) => {
    if (!isMergeKey(pair)) return [pair];
    const sources = isSeq(pair.value) ? pair.value.items : [pair.value];
    return sources.flatMap((source) =>
      (isMap(source) ? source.items : []).filter((each) => {
        const isNew = !own.has(keyOf(each));
        own.add(keyOf(each));
        return isNew;
      }),
    );
  });
}

function isMergeKey({ key }: Pair): boolean {
  return isScalar(key) && key.value === '<<' && key.type === Scalar.PLAIN;
}
