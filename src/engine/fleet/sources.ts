import type { DocumentContent } from '../../model/fleet/desired.ts';
import type { SourceName } from '../../model/fleet/ids.ts';
import type { Origin } from '../../model/fleet/output.ts';
import {
  type DeclarationJudges,
  type RightsRefusal,
  refusalOf,
  type SourceRights,
} from '../../model/fleet/source-rights.ts';
import { type ObjectKey, type ObjectRef, objectRefOf } from '../../model/objects/object-key.ts';
import type { Collection, Derived, Entry, EntryAddress, Graph, Index, Reader } from '../collections/types.ts';
import type { EngineInputs, FileValue, SourceValue } from '../inputs.ts';

/** A document of a readable file. Partition: its source. Key: {@link documentKey}. */
export interface DocumentValue {
  readonly path: string;
  readonly identity: string;
  readonly content: DocumentContent;
  /** Why its source may not have it: it has no effect. Absent: the source may. */
  readonly refusal?: RightsRefusal;
}

/** A reference to a document, by which its line is found. */
export interface DocumentRef extends Origin {
  /** As in the file; empty: the file itself. */
  readonly identity: string;
}

/** The key of a document in its source. */
export function documentKey(path: string, identity: string): string {
  return `${path}\u0000${identity}`;
}

/** The file of the document at an address. */
export function originOf({ partition, key }: EntryAddress): Origin {
  return { source: partition as SourceName, path: key.slice(0, key.indexOf('\u0000')) };
}

/** The document at an address; further parts of the key, after the identity, are ignored. */
export function documentRefOf(address: EntryAddress): DocumentRef {
  const origin = originOf(address);
  const [identity = ''] = address.key.slice(origin.path.length + 1).split('\u0000');
  return { ...origin, identity };
}

/** Derives the documents of all readable files, and judges each by the rights of its source. `judges`: of the domains. */
export function deriveDocuments(
  graph: Graph,
  files: Collection<FileValue>,
  rights: Collection<SourceRights>,
  judges: DeclarationJudges,
): Derived<DocumentValue> {
  return graph.derive<FileValue, DocumentValue>({
    name: 'documents',
    from: files,
    reads: [rights],
    compute: ({ partition, key: path, value: file }, read, emit) => {
      if (!file.readable) return;
      const own = read.get(rights, '', partition);
      for (const { identity, content } of file.documents) {
        const refusal = refusalOf(own, partition, content, judges);
        const value = { path, identity, content, ...(refusal === undefined ? {} : { refusal }) };
        emit(partition, documentKey(path, identity), value);
      }
    },
  });
}

/** Indexes documents by {@link fileGroup}. */
export function indexDocumentsByFile(graph: Graph, documents: Collection<DocumentValue>): Index<DocumentValue> {
  return graph.index('documentsByFile', documents, ({ partition, value }) => [
    fileGroup({ source: partition as SourceName, path: value.path }),
  ]);
}

/** The documents of a file that declare the object; its namespace may be a default. */
export function declares(
  read: Reader,
  byFile: Index<DocumentValue>,
  origin: Origin,
  key: ObjectKey,
): readonly DocumentValue[] {
  const documents = read.members(byFile, fileGroup(origin));
  if (documents.length <= FEW) return documents.flatMap(({ value }) => (declaresName(value, key) ? [value] : []));
  let byName = namesOfFiles.get(documents);
  if (byName === undefined) {
    byName = Map.groupBy(
      documents.map(({ value }) => value),
      ({ content }) => (content.type === 'object' ? nameOf(content.ref) : undefined),
    );
    namesOfFiles.set(documents, byName);
  }
  return byName.get(nameOf(objectRefOf(key))) ?? [];
}

/** A file with at most this number of documents is looked through for each object: the index returns a new list each time. */
const FEW = 8;

/**
 * The documents of larger files by {@link nameOf}. The index returns the same list for a file until that changes, so all objects of a file with
 * many documents are looked for with one pass over these.
 */
const namesOfFiles = new WeakMap<
  readonly Entry<DocumentValue>[],
  ReadonlyMap<string | undefined, readonly DocumentValue[]>
>();

function nameOf({ group, kind, name }: ObjectRef): string {
  return `${group}/${kind}/${name}`;
}

/** Whether a document declares an object of the group, kind and name of the key, in any namespace. */
export function declaresName({ content }: DocumentValue, key: ObjectKey): boolean {
  if (content.type !== 'object') return false;
  const { group, kind, name } = objectRefOf(key);
  return content.ref.group === group && content.ref.kind === kind && content.ref.name === name;
}

/** The group of a file in {@link indexDocumentsByFile}. */
export function fileGroup({ source, path }: Origin): string {
  return `${source}\u0000${path}`;
}

/** Remembers the answer for each file. */
export function cachedByFile(judge: (file: Origin) => boolean): (file: Origin) => boolean {
  const known = new Map<string, boolean>();
  return (file) => {
    const group = fileGroup(file);
    const answer = known.get(group) ?? judge(file);
    known.set(group, answer);
    return answer;
  };
}

/**
 * Whether a source was read completely. Only a `complete` source proves that it does not declare something. `partial`: some
 * of its files cannot be read. `unread`: no revision of it has entered in this process.
 */
export type SourceProof = 'complete' | 'partial' | 'unread';

/** Whether the absence of a declaration in the source proves that the source does not declare it. */
export function provesAbsence(proof: SourceProof): boolean {
  return proof === 'complete';
}

/** The proofs of all sources. */
export type SourceProofs = ReturnType<typeof sourceProofs>;

/** What {@link deriveFileProofs} reads. */
type FileProofInputs = Pick<EngineInputs, 'sources' | 'files' | 'ledger' | 'contenders' | 'lastKnownGood'>;

/**
 * Derives the proof of each source from its files alone. A file of another tool, or one that such a tool claims, is no fault, unless
 * the ledger has an object or a declaration from it: then what it declares now is unknown, so its source is partial. The ledger
 * outlasts a restart, so every replica, a plan and a replay come to the same proof.
 */
export function deriveFileProofs(graph: Graph, inputs: FileProofInputs) {
  const { sources, files, ledger, contenders, lastKnownGood } = inputs;
  const known: readonly Index<unknown>[] = [
    graph.index('ledgerByFile', ledger, ({ value }) => value.origins.map(fileGroup)),
    graph.index('contendersByFile', contenders, ({ value }) => value.origins.map(fileGroup)),
    graph.index('lastKnownGoodByFile', lastKnownGood, ({ value }) => [fileGroup(value.origin)]),
  ];
  const unreadable = graph.index('unreadableFiles', files, ({ partition, value }) =>
    value.readable ? [] : [partition],
  );
  const notRead = graph.index('notReadFiles', files, ({ partition, value }) =>
    value.readable && value.notRead !== undefined ? [partition] : [],
  );
  const doubtfulFiles = graph.derive<SourceValue, true>({
    name: 'doubtfulFiles',
    from: sources,
    reads: [notRead, ...known],
    compute: ({ key }, read, emit) => {
      const source = key as SourceName;
      for (const { key: path } of read.members(notRead, source)) {
        if (known.some((index) => read.count(index, fileGroup({ source, path })) > 0)) emit(source, path, true);
      }
    },
  });
  const doubtful = graph.index('doubtfulFilesBySource', doubtfulFiles, ({ partition }) => [partition]);
  const proofs = graph.derive<SourceValue, SourceProof>({
    name: 'fileProofs',
    from: sources,
    reads: [unreadable, doubtful],
    compute: ({ key: source, value }, read, emit) => {
      const isPartial = read.count(unreadable, source) + read.count(doubtful, source) > 0;
      emit('', source, !value.read ? 'unread' : isPartial ? 'partial' : 'complete');
    },
  });
  return { fileProofs: sourceProofs(graph, proofs), doubtfulFiles };
}

/**
 * Derives the proof of each source from its files and from failed computations: what these would have emitted is unknown.
 * `failuresAnywhere`: of declarations and what is computed from them, which can concern any source.
 */
export function deriveSourceProofs(
  graph: Graph,
  fileProofs: SourceProofs,
  documentFailures: readonly Collection<unknown>[],
  failuresAnywhere: readonly Collection<unknown>[],
): SourceProofs {
  const ofSource = documentFailures.map((failures) =>
    graph.index(`${failures.name}BySource`, failures, ({ partition }) => [partition]),
  );
  const anywhere = failuresAnywhere.map((failures) => graph.index(`${failures.name}Anywhere`, failures, () => ['']));
  const bySource = graph.derive<SourceProof, SourceProof>({
    name: 'sourceProofs',
    from: fileProofs.bySource,
    reads: [...ofSource, ...anywhere],
    // Failures of what is computed from live state count too.
    seesAll: true,
    compute: ({ key: source, value }, read, emit) => {
      const hasFailed =
        ofSource.some((index) => read.count(index, source) > 0) || anywhere.some((index) => read.count(index, '') > 0);
      emit('', source, value === 'complete' && hasFailed ? 'partial' : value);
    },
  });
  return sourceProofs(graph, bySource);
}

function sourceProofs(graph: Graph, bySource: Derived<SourceProof>) {
  const doubts = graph.index(`${bySource.name}Doubts`, bySource, ({ value }) => (provesAbsence(value) ? [] : [value]));
  const isUnread = (read: Reader): boolean => read.count(doubts, 'unread') > 0;
  return {
    /** Of the configured sources. Partition empty, key the source. */
    bySource,
    /** The collections that the functions below read. */
    reads: [bySource, doubts],
    /**
     * The proof of a source. A source that is not configured is complete and empty, but only after every configured source
     * was read: the source may have been renamed.
     */
    of: (read: Reader, source: string): SourceProof =>
      read.get(bySource, '', source) ?? (isUnread(read) ? 'unread' : 'complete'),
    /** Whether any source is not complete: a Placement or CustomResourceDefinition may be in an unreadable file. */
    hasDoubt: (read: Reader): boolean => isUnread(read) || read.count(doubts, 'partial') > 0,
  } as const;
}
