import * as yaml from 'js-yaml';
import type { FieldPath } from '../model/text/field-path.ts';
import type { YamlChild, YamlDocument, YamlEvent, YamlEvents } from './compose-documents.ts';
import { offsetOf, scalarText } from './event-offset.ts';
import { keyOfNumber, resolveKey } from './plain-scalars.ts';
import { taggedValue } from './tags.ts';

/** The offsets of a field's key and value; for a list item both are the item. */
export interface FieldPosition {
  readonly key: number;
  readonly value: number;
  /** The number of steps of the path that exist. A missing field has the position of its nearest parent. */
  readonly depth: number;
}

/** Finds a field of a document in its file. A field inside an alias is at the alias. */
export function findField(document: YamlDocument, path: FieldPath): FieldPosition {
  const { key, value, depth } = findInPart(document, path);
  return { key: document.base + key, value: document.base + value, depth };
}

function findInPart(document: YamlDocument, path: FieldPath): FieldPosition {
  const { start } = document;
  let found: FieldPosition = { key: start, value: start, depth: 0 };
  if (path.length === 0) return found;
  const { text, events, root } = document;
  let at = root;
  for (const step of path) {
    const next = childrenOf(document, at).get(step);
    if (next === undefined) return found;
    // The parser gives no offset to an item without text: it has the position of its list.
    const key = next.empty && next.key === next.value ? found.value : offsetAt(text, events, next.key);
    found = { key, value: next.empty ? key : offsetAt(text, events, next.value), depth: found.depth + 1 };
    at = next.value;
  }
  return found;
}

/** The parser's events of a field's key and value. Undefined: the field is missing, or inside an alias. */
export function findEvents(document: YamlDocument, path: FieldPath) {
  const child = childAtPath(document, path);
  const value = child && document.events[child.value];
  return value && { key: child.key === child.value ? undefined : document.events[child.key], value };
}

function childAtPath(document: YamlDocument, path: FieldPath): YamlChild | undefined {
  const { events, root } = document;
  let child: YamlChild | undefined = { key: root, value: root, empty: isEmpty(events, root) };
  for (const step of path) child = child && childrenOf(document, child.value).get(step);
  return child;
}

/** A scalar in a field of a document. */
export interface ScalarAt {
  /** Of the value, or of the key. */
  readonly path: FieldPath;
  readonly event: Extract<YamlEvent, { readonly type: typeof yaml.EVENT_SCALAR }>;
  readonly isKey: boolean;
}

/** All scalars of a document, keys among them. */
export function scalarsIn(document: YamlDocument): Generator<ScalarAt> {
  return scalarsBelow(document, document.root, []);
}

function* scalarsBelow(document: YamlDocument, at: number, path: FieldPath): Generator<ScalarAt> {
  const { text, events } = document;
  const node = events[at];
  if (node?.type === yaml.EVENT_SCALAR) yield { path, event: node, isKey: false };
  if (node?.type !== yaml.EVENT_MAPPING && node?.type !== yaml.EVENT_SEQUENCE) return;
  let next = at + 1;
  for (let index = 0; events[next]?.type !== yaml.EVENT_POP && next < events.length; index += 1) {
    const key = node.type === yaml.EVENT_MAPPING ? events[next] : undefined;
    const step = node.type === yaml.EVENT_MAPPING ? (keyText(text, events, next) ?? '') : index;
    if (key?.type === yaml.EVENT_SCALAR) yield { path: [...path, step], event: key, isKey: true };
    const value = node.type === yaml.EVENT_MAPPING ? afterNode(events, next) : next;
    yield* scalarsBelow(document, value, [...path, step]);
    next = afterNode(events, value);
  }
}

/** The items of a list by their index, or the members of a mapping by their key; empty for anything else. */
function childrenOf(document: YamlDocument, parent: number): ReadonlyMap<string | number, YamlChild> {
  const { text, events, children } = document;
  const known = children.get(parent);
  if (known !== undefined) return known;
  const found = new Map<string | number, YamlChild>();
  const type = events[parent]?.type;
  const isMapping = type === yaml.EVENT_MAPPING;
  let at = isMapping || type === yaml.EVENT_SEQUENCE ? parent + 1 : events.length;
  for (let index = 0; at < events.length && events[at]?.type !== yaml.EVENT_POP; index += 1) {
    const value = isMapping ? afterNode(events, at) : at;
    const step = isMapping ? keyText(text, events, at) : index;
    // The last of equal keys counts.
    if (step !== undefined) found.set(step, { key: at, value, empty: isEmpty(events, value) });
    at = afterNode(events, value);
  }
  children.set(parent, found);
  return found;
}

function keyText(text: string, events: YamlEvents, at: number): string | undefined {
  const event = events[at];
  if (event?.type !== yaml.EVENT_SCALAR) return undefined;
  const source = scalarText(text, event);
  if (event.tagStart >= 0) {
    const value = taggedValue(text.slice(event.tagStart, event.tagEnd), source) ?? undefined;
    return typeof value === 'number' ? keyOfNumber(value) : value?.toString();
  }
  if (event.style !== yaml.SCALAR_STYLE_PLAIN) return source;
  const plain = resolveKey(source);
  return plain.ok ? (plain.value ?? undefined) : undefined;
}

function isEmpty(events: YamlEvents, at: number): boolean {
  const event = events[at];
  return event?.type === yaml.EVENT_SCALAR && event.valueStart < 0 && event.anchorStart < 0 && event.tagStart < 0;
}

function offsetAt(text: string, events: YamlEvents, at: number): number {
  const event = events[at];
  return event === undefined ? 0 : offsetOf(text, event);
}

/** The index of the event after a node. */
function afterNode(events: YamlEvents, at: number): number {
  let open = 0;
  for (let index = at; index < events.length; index += 1) {
    switch (events[index]?.type) {
      case yaml.EVENT_DOCUMENT:
      case yaml.EVENT_MAPPING:
      case yaml.EVENT_SEQUENCE:
        open += 1;
        break;
      case yaml.EVENT_POP:
        open -= 1;
        break;
      default:
    }
    if (open <= 0) return index + 1;
  }
  return events.length;
}

/** Indexes the lines of a text. Each look-up is a binary search. */
export function createLineIndex(text: string) {
  const starts = [0];
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) starts.push(at + 1);
  return {
    /** The line and column of an offset, from 1; columns count UTF-16 units. */
    position(offset: number): { readonly line: number; readonly column: number } {
      let low = 0;
      let high = starts.length - 1;
      while (low < high) {
        const middle = (low + high + 1) >> 1;
        if ((starts[middle] ?? 0) <= offset) low = middle;
        else high = middle - 1;
      }
      return { line: low + 1, column: offset - (starts[low] ?? 0) + 1 };
    },
  };
}
