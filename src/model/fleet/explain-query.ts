import { isKindWord } from '../objects/kinds.ts';
import { type ObjectRef, parseObjectRef } from '../objects/object-key.ts';
import { given } from '../values/given.ts';
import { ok, problem, type Result } from '../values/result.ts';
import { engineKindIds, engineKindRow } from './engine-kinds.ts';

/** An object as a person names it. */
export interface ObjectName {
  /** `KIND` or `KIND.GROUP`: see {@link isKindWord}. */
  readonly kind: string;
  /** Absent: an object of any namespace, or of none. */
  readonly namespace?: string;
  readonly name: string;
}

/** The subject of an explanation. */
export interface ExplainQuery {
  /** Absent: a declaration of a kind that the engine reads. */
  readonly cluster?: string;
  readonly object: ObjectName;
  /** A field, as `spec.replicas`, or the type of a condition, as `Ready`. */
  readonly part?: string;
}

/** The syntax of a query. */
export const EXPLAIN_GRAMMAR = '[CLUSTER] KIND/[NAMESPACE/]NAME [FIELD|CONDITION]';

const KIND_WORD = /^[A-Za-z][A-Za-z0-9]*(\.[A-Za-z0-9.-]+)?$/;

/** Parses `KIND/[NAMESPACE/]NAME`. */
export function parseObjectName(text: string): Result<ObjectName> {
  const [kind = '', ...rest] = text.split('/');
  const [namespace, name] = rest.length === 1 ? [undefined, rest[0]] : rest;
  const isComplete = rest.length <= 2 && name !== undefined && namespace !== '';
  // The kind is matched later, against the known objects.
  const checked = parseObjectRef({ group: '', kind: 'Object', namespace: namespace ?? '', name: name ?? '' });
  if (!isComplete || !KIND_WORD.test(kind) || !checked.ok) {
    return problem('names no object: an object is KIND/NAMESPACE/NAME or KIND/NAME, with KIND or KIND.GROUP');
  }
  return ok({ kind, ...given({ namespace }), name });
}

/** Words for the kinds whose objects are also named in two words. */
const TWO_WORDS: ReadonlySet<string> = new Set(
  engineKindIds
    .map(engineKindRow)
    .flatMap(({ isNamedInTwoWords, kind, plural, shortNames }) =>
      isNamedInTwoWords === true ? [kind.toLowerCase(), plural, ...shortNames] : [],
    ),
);

/** An object in two words becomes one word. In a cluster whose name is such a word, an object needs its namespace. */
function joined(words: readonly string[]): readonly string[] {
  const [first = '', second = '', ...rest] = words;
  const isObject = TWO_WORDS.has(first.toLowerCase()) && /^[^/]+(\/[^/]+)?$/.test(second);
  return isObject ? [`${first}/${second}`, ...rest] : words;
}

/** Parses the words of a query. The cluster is optional: only the word of an object contains a `/`. */
export function parseExplainQuery(words: readonly string[]): Result<ExplainQuery> {
  const all = joined(words);
  const [first = ''] = all;
  const [cluster, text, part, ...more] = first.includes('/') ? [undefined, ...all] : all;
  if (text === undefined || more.length > 0) return problem(`the question is ${EXPLAIN_GRAMMAR}`);
  const object = parseObjectName(text);
  if (!object.ok) return object;
  return ok({ ...given({ cluster }), object: object.value, ...given({ part }) });
}

/** An object as it is written in a query. */
export function displayObjectName({ kind, namespace, name }: ObjectName): string {
  return [kind, ...(namespace === undefined ? [] : [namespace]), name].join('/');
}

/** Whether the name matches the object. */
export function isNameOf(wanted: ObjectName, { group, kind, namespace, name }: ObjectRef): boolean {
  if (wanted.name !== name || !isKindWord(wanted.kind, { group, kind })) return false;
  return wanted.namespace === undefined || wanted.namespace === namespace;
}

/**
 * Resolves a name among the things that it matches: the one that is displayed exactly as the name, else all of them. So
 * `Service/web/a` is the core kind, as for kubectl.
 */
export function namedAmong<Thing>(
  things: readonly Thing[],
  displays: (thing: Thing) => string,
  wanted: ObjectName,
): readonly Thing[] {
  const exact = things.filter((thing) => displays(thing) === displayObjectName(wanted));
  return exact.length === 1 ? exact : things;
}
