import { type LabelSelector, matchesLabels } from '../../model/label-selector.ts';
import { objectRefOf } from '../../model/object-key.ts';
import { isCustom, type ObjectFacts } from './facts.ts';
import { CLUSTER_ROLE, makesPods, SERVICE } from './object-references.ts';

type Labels = Readonly<Record<string, string>>;

/** An object that at least one document declares. */
export interface DeclaredObject {
  /** A file that declares it: the first one by path. */
  readonly path: string;
  /** Undefined: it may have parts that no document names. */
  readonly parts: ReadonlySet<string> | undefined;
}

/** The objects that a set of files declares, and what their controllers may add. Built in one pass over the facts. */
export interface DeclaredObjects {
  /** `kind` as `group/Kind`. An empty namespace, of the object or of the reference, can be any. */
  find(kind: string, namespace: string, name: string): DeclaredObject | undefined;
  /** The names of the objects of a kind in a namespace, for suggestions. */
  namesOf(kind: string, namespace: string): readonly string[];
  /** Whether some document declares an object in the namespace. */
  hasNamespace(namespace: string): boolean;
  /** Whether a Role, or another object that a controller reads, lets expect objects of this kind and name. */
  mayBeMade(kind: string, namespace: string, name: string): boolean;
  /** Whether subjects of a Role may write objects of the kind in the namespace. */
  mayBeWritten(kind: string, namespace: string): boolean;
  /** Whether an object of a custom kind in the namespace has the word. */
  isMentioned(namespace: string, word: string): boolean;
  /** The label sets of the Pods, or of the Services, in the namespace that can match. Empty namespace: in any. */
  labelled(of: 'Pods' | 'Services', namespace: string): LabelIndex;
}

/** Sets of labels, found by one of their labels. */
export interface LabelIndex {
  readonly isEmpty: boolean;
  hasMatch(selector: LabelSelector): boolean;
  all(): readonly Labels[];
}

/** The namespace of everything that may be in every namespace. */
const ANY = '';
const EVERYWHERE = '*';

/** Indexes the facts. The order of the files changes nothing. */
export function indexDeclared(
  files: Iterable<{ readonly path: string; readonly facts: readonly ObjectFacts[] }>,
): DeclaredObjects {
  const objects = new Map<string, DeclaredObject>();
  const names = new Map<string, Set<string>>();
  const namespaces = new Set<string>();
  const words = new Map<string, Set<string>>();
  const owners = new Map<string, Set<string>>();
  const writes = new Map<string, Set<string>>();
  const labels = new Map<string, ReturnType<typeof createLabelIndex>>();
  for (const { path, facts } of files) {
    for (const each of facts) {
      const { group, kind: kindName, namespace, name } = objectRefOf(each.key);
      const kind = `${group}/${kindName}`;
      namespaces.add(kind === '/Namespace' ? name : namespace);
      const parts = each.parts && new Set(each.parts);
      for (const where of new Set([namespace, EVERYWHERE])) {
        merge(objects, `${kind}/${where}/${name}`, { path, parts });
        entry(names, `${kind}/${where}`, newSet).add(name);
        for (const word of each.mentions ?? []) entry(words, where, newSet).add(word);
        if (isCustom(kind)) entry(owners, where, newSet).add(name);
        if (each.labels !== undefined) {
          entry(labels, `${kind === SERVICE ? 'Services' : 'Pods'}/${where}`, createLabelIndex).add(each.labels);
        }
      }
      for (const written of each.writes ?? []) {
        entry(writes, kind === CLUSTER_ROLE ? ANY : namespace, newSet).add(written);
        entry(writes, EVERYWHERE, newSet).add(written);
      }
    }
  }
  /** In the namespace and in none; in all if it is not stated. */
  const in_ = (namespace: string): readonly string[] => (namespace === ANY ? [EVERYWHERE] : [namespace, ANY]);
  const isIn = (map: ReadonlyMap<string, ReadonlySet<string>>, namespace: string, word: string): boolean =>
    in_(namespace).some((where) => map.get(where)?.has(word) === true);
  const declared: DeclaredObjects = {
    find: (kind, namespace, name) => {
      const found = in_(namespace).flatMap((where) => objects.get(`${kind}/${where}/${name}`) ?? []);
      const [first, second] = found;
      if (first === undefined || second === undefined) return first;
      return { path: first.path, parts: joined(first.parts, second.parts) };
    },
    namesOf: (kind, namespace) => in_(namespace).flatMap((where) => [...(names.get(`${kind}/${where}`) ?? [])]),
    hasNamespace: (namespace) => namespaces.has(namespace) || namespaces.has(ANY),
    mayBeMade: (kind, namespace, name) =>
      declared.mayBeWritten(kind, namespace) ||
      isIn(words, namespace, name) ||
      beginningsOf(name).some((beginning) => isIn(owners, namespace, beginning)),
    mayBeWritten: (kind, namespace) => isIn(writes, namespace, makesPods(kind) ? 'Pods' : kind),
    isMentioned: (namespace, word) => isIn(words, namespace, word),
    labelled: (of, namespace) => joinLabels(in_(namespace).flatMap((where) => labels.get(`${of}/${where}`) ?? [])),
  };
  return declared;
}

const newSet = (): Set<string> => new Set();

function entry<Value>(map: Map<string, Value>, key: string, make: () => Value): Value {
  const known = map.get(key);
  if (known !== undefined) return known;
  const made = make();
  map.set(key, made);
  return made;
}

/** Any of several documents with one object may be the one that counts: the parts of all of them do. */
function merge(objects: Map<string, DeclaredObject>, key: string, added: DeclaredObject): void {
  const known = objects.get(key);
  const path = known === undefined || added.path < known.path ? added.path : known.path;
  objects.set(key, known === undefined ? added : { path, parts: joined(known.parts, added.parts) });
}

function joined(a: ReadonlySet<string> | undefined, b: ReadonlySet<string> | undefined) {
  return a === undefined || b === undefined ? undefined : new Set([...a, ...b]);
}

/** The parts of a name before each of its hyphens and dots: a controller derives names so. */
function beginningsOf(name: string): readonly string[] {
  return [...name.matchAll(/[-.]/g)].map(({ index }) => name.slice(0, index));
}

function createLabelIndex() {
  const all: Labels[] = [];
  const byLabel = new Map<string, Labels[]>();
  return {
    all,
    add(labels: Labels): void {
      all.push(labels);
      for (const [key, value] of Object.entries(labels))
        entry(byLabel, `${key}=${value}`, (): Labels[] => []).push(labels);
    },
    hasMatch(selector: LabelSelector): boolean {
      let smallest: readonly Labels[] = all;
      for (const [key, value] of Object.entries(selector.matchLabels)) {
        const group = byLabel.get(`${key}=${value}`) ?? [];
        if (group.length < smallest.length) smallest = group;
      }
      return smallest.some((labels) => matchesLabels(selector, labels));
    },
  };
}

function joinLabels(indexes: readonly ReturnType<typeof createLabelIndex>[]): LabelIndex {
  return {
    isEmpty: indexes.every(({ all }) => all.length === 0),
    hasMatch: (selector) => indexes.some((each) => each.hasMatch(selector)),
    all: () => indexes.flatMap(({ all }) => all),
  };
}
