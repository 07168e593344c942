import { type LabelSelector, matchesLabels } from '../../model/objects/label-selector.ts';
import { objectRefOf } from '../../model/objects/object-key.ts';
import { getOrInsert } from '../../model/values/maps.ts';
import { isCustom, type ObjectFacts } from './facts.ts';
import { CLUSTER_ROLE, makesPods, PRIORITY_CLASS, SERVICE } from './object-references.ts';

type Labels = Readonly<Record<string, string>>;

/** An object that at least one document declares. Any of several may be the one that counts. */
export interface DeclaredObject {
  /** A file that declares it: the first one by path. */
  readonly path: string;
  readonly parts: readonly Parts[];
}

/** The parts of all documents that declare an object in one namespace, or in none. */
interface Parts {
  readonly names: ReadonlySet<string>;
  /** It may have parts that no document names. */
  readonly isOpen: boolean;
}

/** The objects that a set of files declares, and what their controllers may add. Built in one pass over the facts. */
export interface DeclaredObjects {
  /** Whether a document declares exactly this key. */
  has(key: string): boolean;
  /** `kind` as `group/Kind`. An empty namespace, of the object or of the reference, can be any. */
  find(kind: string, namespace: string, name: string): DeclaredObject | undefined;
  /** The names of the objects of a kind in a namespace, for suggestions; none if there are more than `most`. */
  namesOf(kind: string, namespace: string, most: number): readonly string[];
  /** Whether some document declares an object in the namespace. */
  hasNamespace(namespace: string): boolean;
  /** Whether another program may create the object: a Role allows it, or a custom object contains its name. */
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
  /** The names of the ports of the Pods that match. */
  portsOf(selector: LabelSelector): ReadonlySet<string>;
  /** At most that number of sets. */
  first(most: number): readonly Labels[];
}

/** The namespace of an object if its manifest states none: it may be in any. */
const ANY = '';

/** The files of a set, with the facts about their documents. */
export type FilesWithFacts = readonly { readonly path: string; readonly facts: readonly ObjectFacts[] }[];

/** Indexes the facts. The order of the files changes nothing. */
export function indexDeclared(files: FilesWithFacts): DeclaredObjects {
  const byNamespace = createIndex(files, false);
  let ofAll: Index | undefined;
  /** Without namespaces: only references that state none need it. */
  const inAny = (): Index => {
    ofAll ??= createIndex(files, true);
    return ofAll;
  };
  /** What holds for a namespace: its own entries, and those that state none. */
  const collect = <Value>(
    namespace: string,
    of: (index: Index, where: string) => Value | undefined,
  ): readonly Value[] => {
    const found = namespace === ANY ? [of(inAny(), ANY)] : [of(byNamespace, namespace), of(byNamespace, ANY)];
    return found.filter((each) => each !== undefined);
  };
  const isIn = (member: 'words' | 'owners' | 'writes', namespace: string, word: string): boolean =>
    collect(namespace, (index, where) => index[member].get(where)).some((words) => words.has(word));
  const declared: DeclaredObjects = {
    has: (key) => byNamespace.objects.has(key),
    find: (kind, namespace, name) => {
      const isInNone = namespace === ANY && CLUSTER_SCOPED.has(kind);
      const found = isInNone
        ? [byNamespace.objects.get(`${kind}//${name}`)].filter((each) => each !== undefined)
        : collect(namespace, ({ objects }, where) => objects.get(`${kind}/${where}/${name}`));
      const [first, second] = found;
      return (
        first && { path: first.path, parts: second === undefined ? first.parts : [...first.parts, ...second.parts] }
      );
    },
    namesOf: (kind, namespace, most) => {
      const found = collect(namespace, ({ names }, where) => names.get(`${kind}/${where}`));
      return found.some(({ size }) => size > most) ? [] : found.flatMap((each) => [...each]);
    },
    hasNamespace: (namespace) => byNamespace.namespaces.has(namespace) || byNamespace.namespaces.has(ANY),
    mayBeMade: (kind, namespace, name) =>
      declared.mayBeWritten(kind, namespace) ||
      isIn('words', namespace, name) ||
      beginningsOf(name).some((beginning) => isIn('owners', namespace, beginning)),
    mayBeWritten: (kind, namespace) => isIn('writes', namespace, makesPods(kind) ? 'Pods' : kind),
    isMentioned: (namespace, word) => isIn('words', namespace, word),
    labelled: (of, namespace) => joinLabels(collect(namespace, ({ labels }, where) => labels.get(`${of}/${where}`))),
  };
  return declared;
}

const CLUSTER_SCOPED: ReadonlySet<string> = new Set([CLUSTER_ROLE, PRIORITY_CLASS]);

type Index = ReturnType<typeof createIndex>;

interface IndexedObject {
  readonly path: string;
  readonly parts: readonly [{ readonly names: Set<string>; isOpen: boolean }];
}

/** @param isOfAll as if no document stated a namespace */
function createIndex(files: FilesWithFacts, isOfAll: boolean) {
  const objects = new Map<string, IndexedObject>();
  const names = new Map<string, Set<string>>();
  const namespaces = new Set<string>();
  const words = new Map<string, Set<string>>();
  const owners = new Map<string, Set<string>>();
  const writes = new Map<string, Set<string>>();
  const labels = new Map<string, ReturnType<typeof createLabelIndex>>();
  for (const { path, facts } of files) {
    for (const { key, parts, mentions = [], labels: own, ports = [], writes: written = [] } of facts) {
      const ref = objectRefOf(key);
      const { name } = ref;
      const kind = `${ref.group}/${ref.kind}`;
      const where = isOfAll ? ANY : ref.namespace;
      namespaces.add(kind === '/Namespace' ? name : where);
      const place = isOfAll ? `${kind}/${ANY}/${name}` : key;
      const known = objects.get(place);
      const ofObject = known?.parts[0] ?? { names: new Set(), isOpen: false };
      for (const part of parts ?? []) ofObject.names.add(part);
      if (parts === undefined) ofObject.isOpen = true;
      if (known === undefined || path < known.path) objects.set(place, { path, parts: [ofObject] });
      getOrInsert(names, `${kind}/${where}`, newSet).add(name);
      for (const word of mentions) getOrInsert(words, where, newSet).add(word);
      if (isCustom(kind)) getOrInsert(owners, where, newSet).add(name);
      if (own !== undefined) {
        getOrInsert(labels, `${kind === SERVICE ? 'Services' : 'Pods'}/${where}`, createLabelIndex).add(own, ports);
      }
      for (const each of written) getOrInsert(writes, kind === CLUSTER_ROLE ? ANY : where, newSet).add(each);
    }
  }
  return { objects, names, namespaces, words, owners, writes, labels };
}

const newSet = (): Set<string> => new Set();

/** The parts of a name before each of its hyphens and dots: a controller derives names so. */
function beginningsOf(name: string): readonly string[] {
  return [...name.matchAll(/[-.]/g)].map(({ index }) => name.slice(0, index));
}

function createLabelIndex() {
  const all: Labels[] = [];
  const byLabel = new Map<string, Labels[]>();
  const ports = new Map<Labels, readonly string[]>();
  return {
    all,
    portsOf: (selector: LabelSelector): readonly string[] =>
      [...ports].flatMap(([labels, names]) => (matchesLabels(selector, labels) ? names : [])),
    add(labels: Labels, names: readonly string[]): void {
      all.push(labels);
      if (names.length > 0) ports.set(labels, names);
      for (const [key, value] of Object.entries(labels))
        getOrInsert(byLabel, `${key}=${value}`, (): Labels[] => []).push(labels);
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
    portsOf: (selector) => new Set(indexes.flatMap((each) => each.portsOf(selector))),
    first: (most) => indexes.flatMap(({ all }) => all.slice(0, most)).slice(0, most),
  };
}
