import type { DocumentContent } from '../../model/desired.ts';
import type { SourceName } from '../../model/ids.ts';
import type { Origin } from '../../model/output.ts';
import type { Collection, Derived, EntryAddress, Graph, Index, Reader } from '../collections/types.ts';
import type { FileValue, SourceValue } from '../inputs.ts';

/** A document with the path it stands in. Partition: its source. Key: {@link documentKey}. */
export interface DocumentValue {
  readonly path: string;
  readonly identity: string;
  readonly content: DocumentContent;
}

/**
 * What the absence of something from a source proves. Only from a `whole` source does it prove anything; one that is
 * not configured is whole and empty.
 */
export type SourceProof = 'whole' | 'partial' | 'unread';

/** A document, by which its line is found. */
export interface DocumentRef extends Origin {
  /** As in the file; empty stands for the file as a whole. */
  readonly identity: string;
}

/** Address of a document inside its source. */
export function documentKey(path: string, identity: string): string {
  return `${path}\u0000${identity}`;
}

/** The origin that a document's address stands for. */
export function originOf(document: EntryAddress): Origin {
  const end = document.key.indexOf('\u0000');
  return { source: document.partition as SourceName, path: document.key.slice(0, end) };
}

/** The reference to the document at an address, or to the one that what stands at the address was derived by. */
export function documentRefOf(document: EntryAddress): DocumentRef {
  const origin = originOf(document);
  const [identity = ''] = document.key.slice(origin.path.length + 1).split('\u0000');
  return { ...origin, identity };
}

/** Every document of every readable file. */
export function deriveDocuments(graph: Graph, files: Collection<FileValue>): Derived<DocumentValue> {
  return graph.derive<FileValue, DocumentValue>({
    name: 'documents',
    from: files,
    compute: ({ partition, key: path, value: file }, _read, emit) => {
      if (!file.readable) return;
      for (const { identity, content } of file.documents) {
        emit(partition, documentKey(path, identity), { path, identity, content });
      }
    },
  });
}

/** What each source proves, judged by its files alone. */
export function deriveFileProofs(
  graph: Graph,
  sources: Collection<SourceValue>,
  files: Collection<FileValue>,
): Derived<SourceProof> {
  const unreadable = graph.index('unreadableFiles', files, ({ partition, value }) =>
    value.readable ? [] : [partition],
  );
  return graph.derive<SourceValue, SourceProof>({
    name: 'fileProofs',
    from: sources,
    reads: [unreadable],
    compute: ({ key: source, value }, read, emit) => {
      const partial = read.count(unreadable, source) > 0;
      emit('', source, !value.read ? 'unread' : partial ? 'partial' : 'whole');
    },
  });
}

/**
 * What each source proves, counting also documents whose computation failed: what they would have given is unknown.
 * `failuresAnywhere`: of declarations and of what is computed from them, which may concern any source.
 */
export function deriveSourceProofs(
  graph: Graph,
  fileProofs: Collection<SourceProof>,
  documentFailures: readonly Collection<unknown>[],
  failuresAnywhere: readonly Collection<unknown>[],
): Derived<SourceProof> {
  const bySource = documentFailures.map((failures) =>
    graph.index(`${failures.name}BySource`, failures, ({ partition }) => [partition]),
  );
  const anywhere = failuresAnywhere.map((failures) => graph.index(`${failures.name}Anywhere`, failures, () => ['']));
  return graph.derive<SourceProof, SourceProof>({
    name: 'sourceProofs',
    from: fileProofs,
    reads: [...bySource, ...anywhere],
    // Also the failures of what is computed from live state count.
    seesAll: true,
    compute: ({ key: source, value }, read, emit) => {
      const failed = countAll(read, bySource, source) + countAll(read, anywhere, '') > 0;
      emit('', source, value === 'whole' && failed ? 'partial' : value);
    },
  });
}

function countAll(read: Reader, indexes: readonly Index<unknown>[], group: string): number {
  return indexes.reduce((sum, index) => sum + read.count(index, group), 0);
}

/** Sources whose silence proves nothing just now, by what they are: group `unread` or `partial`. */
export function indexDoubts(graph: Graph, proofs: Collection<SourceProof>): Index<SourceProof> {
  return graph.index(`${proofs.name}Doubts`, proofs, ({ value }) => (value === 'whole' ? [] : [value]));
}

/** True while any configured source is not whole: a Placement or CustomResourceDefinition may be what is missing. */
export function anyDoubt(read: Reader, doubts: Index<SourceProof>): boolean {
  return read.count(doubts, 'unread') + read.count(doubts, 'partial') > 0;
}

/** Documents by the file that they stand in; the groups are {@link fileGroup}. */
export function indexDocumentsByFile(graph: Graph, documents: Collection<DocumentValue>): Index<DocumentValue> {
  return graph.index('documentsByFile', documents, ({ partition, value }) => [
    fileGroup({ source: partition as SourceName, path: value.path }),
  ]);
}

/** The group of a file in {@link indexDocumentsByFile}. */
export function fileGroup({ source, path }: Origin): string {
  return `${source}\u0000${path}`;
}

/**
 * What a source proves. One that is not configured counts as read and empty, but not before every configured one has
 * been read: it may have been given another name.
 */
export function proofOf(
  read: Reader,
  proofs: Collection<SourceProof>,
  doubts: Index<SourceProof>,
  source: string,
): SourceProof {
  return read.get(proofs, '', source) ?? (read.count(doubts, 'unread') > 0 ? 'unread' : 'whole');
}

/** True when the source's silence about something proves that the source no longer declares it. */
export function provesAbsence(proof: SourceProof): boolean {
  return proof === 'whole';
}
