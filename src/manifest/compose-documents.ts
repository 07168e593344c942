import * as yaml from 'js-yaml';
import type { FindingReason } from '../model/fleet/diagnostic.ts';
import { quote } from '../model/fleet/ids.ts';
import { isJsonObject, type JsonValue } from '../model/text/json.ts';
import { given } from '../model/values/given.ts';
import { type Anchored, charactersOf, heightOf } from './anchored-values.ts';
import { offsetOf, scalarText } from './event-offset.ts';
import { type DecodeLimits, MAX_FINDINGS } from './limits.ts';
import {
  keyOfNumber,
  resolveKey,
  resolvePlain,
  unquotedRefusal,
  unquotedSurprise,
  yamlSurprise,
} from './plain-scalars.ts';
import { duplicateKey, type RefusedScalar, refusedEscape, refusedKey } from './refused-scalars.ts';
import { mayHoldSecret } from './secret-text.ts';
import { readingOfTag, taggedValue } from './tags.ts';

/** The flat list of events of js-yaml's parser; events refer to the text by offsets. */
export type YamlEvents = ReturnType<typeof yaml.parseEvents>;
export type YamlEvent = YamlEvents[number];

/** A problem at an offset of the text. */
export interface TextProblem {
  readonly severity: 'error' | 'warning';
  readonly reason: FindingReason;
  readonly message: string;
  readonly hint?: string;
  readonly offset: number;
}

/** A document as a value. An alias shares the value of its anchor, so no code may change values. */
export interface YamlDocument {
  readonly value: JsonValue;
  /** The text that was parsed: the file, or a part of it. */
  readonly text: string;
  /** The offset of that text in the file. */
  readonly base: number;
  /** The offset in the text at which the document begins. */
  readonly start: number;
  /** All events of the parsed text. */
  readonly events: YamlEvents;
  /** Index of the event of the document's root node. */
  readonly root: number;
  /** By the index of the event of a list or mapping: its items or members, filled in when a place in it is looked for. */
  readonly children: Map<number, ReadonlyMap<string | number, YamlChild>>;
}

/** The events of an item of a list (`key` and `value` are the same), or of a member of a mapping. */
export interface YamlChild {
  readonly key: number;
  readonly value: number;
  /** The value has no text: it has the position of the key. */
  readonly empty: boolean;
}

/** The documents that can be judged, and all problems of the text. The last value of a repeated key counts. */
export interface YamlReading {
  readonly documents: readonly YamlDocument[];
  readonly problems: readonly TextProblem[];
}

/** What the parts of a file composed so far have used of the limits of the file. */
export interface Used {
  nodes: number;
  aliases: number;
  /** Characters of text that aliases repeat. */
  repeated: number;
}

/** The walk over the events of one text. */
interface Walk {
  readonly text: string;
  readonly events: YamlEvents;
  readonly limits: DecodeLimits;
  readonly problems: TextProblem[];
  readonly used: Used;
  /** Index of the next event. */
  cursor: number;
  /** The errors that leave a document without a value. */
  errors: number;
  hasError: boolean;
  /** The anchors of the current document; `open` while the content of the anchor is being composed. */
  anchors: Map<string, Anchored | 'open'>;
  /** Whether messages may quote scalars; undefined: not decided yet. */
  quotable: boolean | undefined;
}

type TaggedType = typeof yaml.EVENT_SCALAR | typeof yaml.EVENT_SEQUENCE | typeof yaml.EVENT_MAPPING;
type EventOf<Type extends YamlEvent['type']> = Extract<YamlEvent, { readonly type: Type }>;

/** Ends the recursion after its problem was reported. */
class BeyondLimit extends Error {}

/** For a file with `{{ ... }}`, as Helm has. */
export const TEMPLATE_HINT =
  'this looks like a template: commit what it renders to, or list the file in .fleetrelayignore';

/**
 * Composes values from parser events. Unlike the library's constructor it reports all errors and not only the first, warns
 * about plain scalars, and limits the expansion of aliases.
 */
export function composeDocuments(
  text: string,
  events: YamlEvents,
  limits: DecodeLimits,
  used: Used = { nodes: 0, aliases: 0, repeated: 0 },
): YamlReading {
  const problems: TextProblem[] = [];
  const state = { cursor: 0, errors: 0, hasError: false, anchors: new Map(), quotable: undefined };
  const walk: Walk = { text, events, limits, problems, used, ...state };
  const documents: YamlDocument[] = [];
  try {
    for (let event = events[0]; event?.type === yaml.EVENT_DOCUMENT; event = events[walk.cursor]) {
      if (documents.length >= limits.maxDocuments) {
        fail(walk, 'TooManyDocuments', text.length, `the file holds more than ${limits.maxDocuments} documents`);
        break;
      }
      const { errors } = walk;
      if (event.directives.length > 0) {
        const offset = Math.max(0, text.search(/^%/m));
        fail(walk, 'YamlVersion', offset, 'kubectl reads no directive (a line that begins with %)', 'remove the line');
      }
      const root = walk.cursor + 1;
      walk.cursor = root;
      walk.anchors = new Map();
      const value = composeNode(walk, 0);
      // Skips the event that closes the document.
      walk.cursor += 1;
      if (walk.errors !== errors) continue;
      const first = events[root];
      const start = first === undefined ? 0 : offsetOf(text, first);
      documents.push({ value, text, base: 0, start, root, events, children: new Map() });
    }
  } catch (error) {
    if (!(error instanceof BeyondLimit)) throw error;
  }
  return { documents, problems };
}

function composeNode(walk: Walk, depth: number, isKey = false): JsonValue {
  const event = walk.events[walk.cursor];
  walk.cursor += 1;
  if (event === undefined || event.type === yaml.EVENT_POP || event.type === yaml.EVENT_DOCUMENT) {
    throw new Error('the parser gave events that do not nest');
  }
  const offset = offsetOf(walk.text, event);
  if (event.type === yaml.EVENT_ALIAS) return composeAlias(walk, event, offset, depth);
  const before = walk.used.nodes;
  count(walk, 1, offset);
  if (event.anchorStart < 0) return composeContent(walk, event, offset, depth, isKey);
  const anchor = walk.text.slice(event.anchorStart, event.anchorEnd);
  if (/[^\w-]/.test(anchor)) {
    const message = 'the name of an anchor may hold letters, digits, "-" and "_" only';
    fail(walk, 'BadAlias', event.anchorStart - 1, message, ALIAS_HINT);
  }
  walk.anchors.set(anchor, 'open');
  const value = composeContent(walk, event, offset, depth, isKey);
  walk.anchors.set(anchor, { value, nodes: walk.used.nodes - before });
  return value;
}

function composeContent(
  walk: Walk,
  event: EventOf<TaggedType>,
  offset: number,
  depth: number,
  isKey: boolean,
): JsonValue {
  if (event.type === yaml.EVENT_SCALAR) return composeScalar(walk, event, offset, isKey);
  checkDepth(walk, depth + 1, offset);
  if (event.tagStart >= 0) checkTag(walk, event);
  return event.type === yaml.EVENT_MAPPING ? composeMapping(walk, depth + 1) : composeSequence(walk, depth + 1);
}

/** An unquoted password can begin with an asterisk. */
const ALIAS_HINT = 'quote it if text is meant';
/** Keys of a Secret's data are names; those in its values may be secret. */
const DEEPEST_DATA_KEY = 2;

function composeAlias(walk: Walk, event: EventOf<typeof yaml.EVENT_ALIAS>, offset: number, depth: number): JsonValue {
  walk.used.aliases += 1;
  if (walk.used.aliases > walk.limits.maxAliases) {
    fail(walk, 'TooManyAliases', offset, `the file holds more than ${walk.limits.maxAliases} aliases`);
    throw new BeyondLimit();
  }
  const name = walk.text.slice(event.anchorStart, event.anchorEnd);
  const target = walk.anchors.get(name);
  if (target === undefined || target === 'open') {
    const what = target === undefined ? 'stands for nothing above it' : 'stands for something that holds it';
    fail(walk, 'BadAlias', offset, `the alias${quoted(walk, `*${name}`)} ${what}`, ALIAS_HINT);
    return null;
  }
  count(walk, target.nodes, offset);
  target.height ??= heightOf(target.value);
  checkDepth(walk, depth + target.height, offset);
  target.characters ??= charactersOf(target.value);
  walk.used.repeated += target.characters;
  if (walk.used.repeated > walk.limits.maxBytes) tooMany(walk, `${walk.limits.maxBytes} characters of text`, offset);
  return target.value;
}

function composeScalar(
  walk: Walk,
  event: EventOf<typeof yaml.EVENT_SCALAR>,
  offset: number,
  isKey: boolean,
): JsonValue {
  const source = scalarText(walk.text, event);
  if (event.tagStart >= 0) return composeTagged(walk, event, source, offset);
  if (event.style !== yaml.SCALAR_STYLE_PLAIN) {
    refuse(
      walk,
      refusedEscape(walk.text, event, () => mayQuote(walk)),
    );
    return source;
  }
  const surprise = yamlSurprise(source, isKey);
  if (surprise !== undefined) {
    const { message, hint } = mayQuote(walk) ? surprise : unquotedSurprise;
    warn(walk, 'YamlVersionsDiffer', offset, message, hint);
  }
  const plain = isKey ? resolveKey(source) : resolvePlain(source);
  if (plain.ok) return plain.value;
  const { reason, message } = mayQuote(walk) ? { ...plain, message: `${source} ${plain.message}` } : unquotedRefusal;
  fail(walk, reason, offset, message, 'quote it if text is meant');
  return null;
}

function composeTagged(
  walk: Walk,
  event: EventOf<typeof yaml.EVENT_SCALAR>,
  source: string,
  offset: number,
): JsonValue {
  if (!checkTag(walk, event)) return null;
  const tag = walk.text.slice(event.tagStart, event.tagEnd);
  const value = taggedValue(tag, source);
  if (value !== undefined) return value;
  const message = mayQuote(walk) ? `the value is not what its tag ${tag} says` : 'the value is not what its tag says';
  fail(walk, 'UnknownTag', offset, message, 'remove the tag, or correct the value');
  return null;
}

function composeSequence(walk: Walk, depth: number): JsonValue {
  const items: JsonValue[] = [];
  while (walk.events[walk.cursor]?.type !== yaml.EVENT_POP) items.push(composeNode(walk, depth));
  walk.cursor += 1;
  return items;
}

function composeMapping(walk: Walk, depth: number): JsonValue {
  const members: Record<string, JsonValue> = {};
  /** The keys that come from a merge key: a key of the mapping itself replaces them. */
  let merged: Set<string> | undefined;
  while (walk.events[walk.cursor]?.type !== yaml.EVENT_POP) {
    const mergeOffset = offsetOfMergeKey(walk);
    if (mergeOffset === undefined) {
      const key = composeKey(walk, members, merged, depth);
      const value = composeNode(walk, depth);
      if (key !== undefined) members[key] = value;
    } else {
      merged ??= new Set();
      merge(walk, composeNode(walk, depth), mergeOffset, members, merged);
    }
  }
  walk.cursor += 1;
  return members;
}

/** The offset of the next key if it is a merge key, which is passed over. */
function offsetOfMergeKey(walk: Walk): number | undefined {
  const event = walk.events[walk.cursor];
  if (event?.type !== yaml.EVENT_SCALAR || event.style !== yaml.SCALAR_STYLE_PLAIN || event.tagStart >= 0)
    return undefined;
  if (event.valueEnd - event.valueStart !== 2 || !walk.text.startsWith('<<', event.valueStart)) return undefined;
  walk.cursor += 1;
  return event.valueStart;
}

/** Adds the members of a mapping, or of the mappings of a list. */
function merge(
  walk: Walk,
  value: JsonValue,
  offset: number,
  members: Record<string, JsonValue>,
  merged: Set<string>,
): void {
  // The first mapping of a list counts, and the last of several merge keys.
  const mappings = Array.isArray(value) ? value.toReversed() : [value];
  if (!mappings.every(isJsonObject)) {
    fail(walk, 'MergeKey', offset, 'the value of a merge key (<<) must be a mapping, or a list of them');
    return;
  }
  for (const [key, member] of mappings.flatMap((mapping) => Object.entries(mapping))) {
    if (!Object.hasOwn(members, key) || merged.has(key)) {
      members[key] = member ?? null;
      merged.add(key);
    } else {
      const message = `readers of YAML do not agree whether the key${quoted(walk, key)} or the merge key (<<) after it counts`;
      fail(walk, 'MergeKey', offset, message, 'write the merge key first');
    }
  }
}

/** The next key as text; undefined if it is not allowed. */
function composeKey(
  walk: Walk,
  siblings: Readonly<Record<string, JsonValue>>,
  merged: Set<string> | undefined,
  depth: number,
): string | undefined {
  const event = walk.events[walk.cursor];
  const { errors } = walk;
  const value = composeNode(walk, depth, true);
  const offset = event === undefined ? 0 : offsetOf(walk.text, event);
  if (walk.errors > errors) return undefined;
  if (value === null || typeof value === 'object') {
    const isTemplate = walk.text.startsWith('{{', offset - 1);
    fail(walk, 'KeyNotText', offset, 'a key must be text', isTemplate ? TEMPLATE_HINT : 'quote it');
    return undefined;
  }
  if (event?.type === yaml.EVENT_SCALAR) refuse(walk, refusedKey(walk.text, event, offset));
  const key = typeof value === 'number' ? keyOfNumber(value) : String(value);
  if (key === '__proto__') {
    fail(walk, 'ForbiddenKey', offset, 'the key __proto__ is not allowed');
    return undefined;
  }
  if (Object.hasOwn(siblings, key) && merged?.delete(key) !== true) {
    const written = event?.type === yaml.EVENT_SCALAR ? scalarText(walk.text, event) : key;
    const isName = depth <= DEEPEST_DATA_KEY || mayQuote(walk);
    report(walk, 'DuplicateKey', offset, duplicateKey(isName ? key : undefined, written), 'remove one of the two');
  }
  return key;
}

/** Whether the tag is allowed. Warns of a tag that kubectl leaves out. */
function checkTag(walk: Walk, event: EventOf<TaggedType>): boolean {
  const { tagStart, tagEnd } = event;
  const tag = walk.text.slice(tagStart, tagEnd);
  const reading = readingOfTag(tag, event.type === yaml.EVENT_SCALAR, walk.text[tagEnd]);
  const hint = 'remove it, or quote the text if it begins with an exclamation mark';
  if (reading === 'refused')
    fail(walk, 'UnknownTag', tagStart, `the tag${quoted(walk, tag)} is not allowed in manifests`, hint);
  else if (reading === 'dropped') {
    warn(walk, 'UnknownTag', tagStart, `kubectl leaves out the tag${quoted(walk, tag)}`, hint);
  }
  return reading !== 'refused';
}

function checkDepth(walk: Walk, depth: number, offset: number): void {
  if (depth <= walk.limits.maxDepth) return;
  fail(walk, 'TooDeep', offset, `lists and mappings are nested more than ${walk.limits.maxDepth} deep`);
  throw new BeyondLimit();
}

function count(walk: Walk, added: number, offset: number): void {
  walk.used.nodes += added;
  if (walk.used.nodes > walk.limits.maxNodes) tooMany(walk, `${walk.limits.maxNodes} values`, offset);
}

function tooMany(walk: Walk, what: string, offset: number): never {
  fail(walk, 'TooManyValues', offset, `the file holds more than ${what}, aliases counted in full`);
  throw new BeyondLimit();
}

/** Messages quote no values of a text that may hold a Secret. */
function mayQuote(walk: Walk): boolean {
  walk.quotable ??= !mayHoldSecret(walk.text);
  return walk.quotable;
}

/** A piece of the text in quotes with a space before it; nothing if it may be a value of a Secret. */
function quoted(walk: Walk, piece: string): string {
  return mayQuote(walk) ? ` ${quote(piece)}` : '';
}

function fail(walk: Walk, reason: FindingReason, offset: number, message: string, hint?: string): void {
  walk.errors += 1;
  report(walk, reason, offset, message, hint);
}

/** Reports an error. The document has a value all the same. */
function report(walk: Walk, reason: FindingReason, offset: number, message: string, hint?: string): void {
  // One error must be there, as it makes the file unreadable.
  if (walk.hasError && walk.problems.length >= MAX_FINDINGS) return;
  walk.hasError = true;
  walk.problems.push({ severity: 'error', reason, message, offset, ...given({ hint }) });
}

function warn(walk: Walk, reason: FindingReason, offset: number, message: string, hint: string): void {
  if (walk.problems.length < MAX_FINDINGS) walk.problems.push({ severity: 'warning', reason, message, hint, offset });
}

function refuse(walk: Walk, refused: RefusedScalar | undefined): void {
  if (refused !== undefined) fail(walk, 'YamlSyntax', refused.offset, refused.message, refused.hint);
}
