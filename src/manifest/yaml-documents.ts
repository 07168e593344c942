import {
  EVENT_ALIAS,
  EVENT_DOCUMENT,
  EVENT_MAPPING,
  EVENT_POP,
  EVENT_SCALAR,
  EVENT_SEQUENCE,
  getScalarValue,
  type parseEvents,
  SCALAR_STYLE_DOUBLE_QUOTED,
  SCALAR_STYLE_PLAIN,
  SCALAR_STYLE_SINGLE_QUOTED,
} from 'js-yaml';
import { quote } from '../model/ids.ts';
import type { JsonValue } from '../model/json.ts';
import type { DecodeLimits } from './limits.ts';
import { resolvePlain, unquotedSurprise, yamlSurprise } from './plain-scalars.ts';

/** The flat events of js-yaml's parser; they refer to the text by offsets. */
export type YamlEvents = ReturnType<typeof parseEvents>;
export type YamlEvent = YamlEvents[number];

/** Something to say about a place of the text. */
export interface TextProblem {
  readonly severity: 'error' | 'warning';
  readonly reason: string;
  readonly message: string;
  readonly hint?: string;
  readonly offset: number;
}

/** One document as a value; aliases share what they stand for, so values are never to be changed. */
export interface YamlDocument {
  readonly value: JsonValue;
  /** Index of the event of the document's root node. */
  readonly root: number;
}

/** All documents of a text, and everything wrong with it; the documents mean nothing if there is an error. */
export interface YamlReading {
  readonly documents: readonly YamlDocument[];
  readonly problems: readonly TextProblem[];
}

interface Composed {
  readonly value: JsonValue;
  /** Values in it, aliases counted as what they stand for. */
  readonly nodes: number;
  /** Levels of lists and mappings in it. */
  readonly height: number;
}

type Anchors = Map<string, Composed | 'open'>;

/** Only to leave the recursion: what it stands for is already among the problems. */
class BeyondLimit extends Error {}

/**
 * Composes values from parser events. Own code and not the library's constructor, because one walk gives every error
 * instead of the first, the warnings about plain scalars, and bounds on what aliases expand to.
 */
export function composeDocuments(text: string, events: YamlEvents, limits: DecodeLimits): YamlReading {
  const problems: TextProblem[] = [];
  const documents: YamlDocument[] = [];
  const composer = createComposer(text, events, limits, problems);
  try {
    for (let at = 0; at < events.length; ) {
      const event = events[at];
      if (event?.type !== EVENT_DOCUMENT) break;
      if (documents.length >= limits.maxDocuments) {
        const message = `the file holds more than ${limits.maxDocuments} documents`;
        problems.push({ severity: 'error', reason: 'TooManyDocuments', message, offset: 0 });
        break;
      }
      warnOfVersion(event.directives, problems);
      const root = at + 1;
      const { composed, next } = composer.document(root);
      documents.push({ value: composed.value, root });
      // Past the event that closes the document.
      at = next + 1;
    }
  } catch (error) {
    if (!(error instanceof BeyondLimit)) throw error;
  }
  return { documents, problems };
}

function warnOfVersion(
  directives: readonly { readonly kind: string; readonly version?: string }[],
  problems: TextProblem[],
): void {
  if (directives.some((directive) => directive.kind === 'yaml' && directive.version !== '1.2')) {
    const message = 'the file says that it is not YAML 1.2; it is read as YAML 1.2 all the same';
    problems.push({ severity: 'warning', reason: 'YamlVersion', message, offset: 0 });
  }
}

function createComposer(text: string, events: YamlEvents, limits: DecodeLimits, problems: TextProblem[]) {
  let cursor = 0;
  let nodes = 0;
  let aliases = 0;
  let anchors: Anchors = new Map();
  let quotable: boolean | undefined;

  /** The kind of a document may stand after its values, so one Secret silences the whole file. */
  function mayQuote(): boolean {
    quotable ??= !text.includes('Secret');
    return quotable;
  }

  function fail(reason: string, offset: number, message: string, hint?: string): void {
    problems.push({ severity: 'error', reason, message, offset, ...(hint === undefined ? {} : { hint }) });
  }

  function count(added: number, offset: number): void {
    nodes += added;
    if (nodes <= limits.maxNodes) return;
    fail('TooManyValues', offset, `the file holds more than ${limits.maxNodes} values, aliases counted in full`);
    throw new BeyondLimit();
  }

  function node(depth: number, path: 'key' | 'value'): Composed {
    const at = cursor;
    const event = events[at];
    cursor += 1;
    if (event === undefined || event.type === EVENT_POP || event.type === EVENT_DOCUMENT) {
      throw new Error('the parser gave events that do not nest');
    }
    const offset = offsetOf(text, event);
    if (event.type === EVENT_ALIAS) return alias(event, offset, depth);
    count(1, offset);
    const anchor = event.anchorStart < 0 ? undefined : text.slice(event.anchorStart, event.anchorEnd);
    if (anchor !== undefined) anchors.set(anchor, 'open');
    const composed =
      event.type === EVENT_SCALAR
        ? scalar(event, offset, path)
        : event.type === EVENT_SEQUENCE
          ? sequence(event, offset, depth + 1)
          : mapping(event, offset, depth + 1);
    if (anchor !== undefined) anchors.set(anchor, composed);
    return composed;
  }

  function alias(event: YamlEvent & { type: typeof EVENT_ALIAS }, offset: number, depth: number): Composed {
    aliases += 1;
    if (aliases > limits.maxAliases) {
      fail('TooManyAliases', offset, `the file holds more than ${limits.maxAliases} aliases`);
      throw new BeyondLimit();
    }
    const name = text.slice(event.anchorStart, event.anchorEnd);
    const target = anchors.get(name);
    if (target === undefined || target === 'open') {
      const what = target === undefined ? 'stands for nothing above it' : 'stands for something that holds it';
      fail('BadAlias', offset, `the alias *${name} ${what}`);
      return { value: null, nodes: 1, height: 0 };
    }
    count(target.nodes, offset);
    checkDepth(depth + target.height, offset);
    return target;
  }

  function checkDepth(depth: number, offset: number): void {
    if (depth <= limits.maxDepth) return;
    fail('TooDeep', offset, `lists and mappings are nested more than ${limits.maxDepth} deep`);
    throw new BeyondLimit();
  }

  function scalar(event: YamlEvent & { type: typeof EVENT_SCALAR }, offset: number, path: 'key' | 'value'): Composed {
    const source = event.valueStart < 0 ? '' : getScalarValue(text, event);
    const tag = tagOf(event);
    if (tag !== undefined || event.style !== SCALAR_STYLE_PLAIN) {
      if (tag !== undefined && !['!', '!!str'].includes(tag)) unknownTag(tag, offset);
      return { value: source, nodes: 1, height: 0 };
    }
    const surprise = yamlSurprise(source, path === 'key');
    if (surprise !== undefined) {
      const told = mayQuote() ? surprise : unquotedSurprise;
      problems.push({ severity: 'warning', reason: 'YamlVersionsDiffer', offset, ...told });
    }
    const plain = resolvePlain(source);
    if (plain.ok) return { value: plain.value, nodes: 1, height: 0 };
    const subject = mayQuote() ? source : 'this';
    fail(plain.reason, offset, `${subject} ${plain.message}`, 'quote it if text is meant');
    return { value: null, nodes: 1, height: 0 };
  }

  function tagOf(event: { readonly tagStart: number; readonly tagEnd: number }): string | undefined {
    return event.tagStart < 0 ? undefined : text.slice(event.tagStart, event.tagEnd);
  }

  function unknownTag(tag: string, offset: number): void {
    fail('UnknownTag', offset, `the tag ${quote(tag)} is not allowed in manifests`, 'remove it');
  }

  function sequence(event: YamlEvent & { type: typeof EVENT_SEQUENCE }, offset: number, depth: number): Composed {
    checkDepth(depth, offset);
    const tag = tagOf(event);
    if (tag !== undefined && tag !== '!!seq') unknownTag(tag, offset);
    const value: JsonValue[] = [];
    let size = 1;
    let height = 0;
    while (events[cursor]?.type !== EVENT_POP) {
      const item = node(depth, 'value');
      value.push(item.value);
      size += item.nodes;
      height = Math.max(height, item.height);
    }
    cursor += 1;
    return { value, nodes: size, height: height + 1 };
  }

  function mapping(event: YamlEvent & { type: typeof EVENT_MAPPING }, offset: number, depth: number): Composed {
    checkDepth(depth, offset);
    const tag = tagOf(event);
    if (tag !== undefined && tag !== '!!map') unknownTag(tag, offset);
    const value: Record<string, JsonValue> = {};
    let size = 1;
    let height = 0;
    while (events[cursor]?.type !== EVENT_POP) {
      const key = mappingKey(value, depth);
      const member = node(depth, 'value');
      if (key !== undefined) value[key] = member.value;
      size += member.nodes + 1;
      height = Math.max(height, member.height);
    }
    cursor += 1;
    return { value, nodes: size, height: height + 1 };
  }

  /** The next key as text; undefined if it is refused. */
  function mappingKey(siblings: Readonly<Record<string, JsonValue>>, depth: number): string | undefined {
    const event = events[cursor];
    const offset = event === undefined ? 0 : offsetOf(text, event);
    const plain = event?.type === EVENT_SCALAR && event.style === SCALAR_STYLE_PLAIN;
    const composed = node(depth, 'key').value;
    if (composed === null || typeof composed === 'object' || event?.type !== EVENT_SCALAR) {
      fail('KeyNotText', offset, 'a key must be text', 'quote it');
      return undefined;
    }
    const key = String(composed);
    if (plain && key === '<<') {
      fail('MergeKey', offset, 'merge keys (<<) are not supported', 'write the fields out');
      return undefined;
    }
    if (key === '__proto__') {
      fail('ForbiddenKey', offset, 'the key __proto__ is not allowed');
      return undefined;
    }
    if (Object.hasOwn(siblings, key)) {
      fail('DuplicateKey', offset, `the key ${quote(key)} is here twice`, 'remove one of the two');
    }
    return key;
  }

  return {
    document(root: number): { readonly composed: Composed; readonly next: number } {
      cursor = root;
      anchors = new Map();
      const composed = node(0, 'value');
      return { composed, next: cursor };
    },
  };
}

/** Where a node begins in the text, its quote included. For an empty node the place after what came before it is not known: 0. */
export function offsetOf(text: string, event: YamlEvent): number {
  switch (event.type) {
    case EVENT_SCALAR: {
      const quoted = event.style === SCALAR_STYLE_SINGLE_QUOTED || event.style === SCALAR_STYLE_DOUBLE_QUOTED;
      const start = quoted ? event.valueStart - 1 : event.valueStart;
      if (event.tagStart >= 0) return event.tagStart;
      return start >= 0 ? start : Math.max(0, event.anchorStart - 1);
    }
    case EVENT_SEQUENCE:
    case EVENT_MAPPING:
      return event.start;
    case EVENT_ALIAS:
      return text.lastIndexOf('*', event.anchorStart);
    default:
      return 0;
  }
}
