import type { RightsRefusal } from '../../model/fleet/source-rights.ts';
import type { Collection, Graph, Index } from '../collections/types.ts';
import { type DocumentRef, documentRefOf } from '../fleet/sources.ts';
import type { Want } from './wants.ts';

/** Why a source may not ship a document as it is in some cluster. */
export interface RefusedDocument {
  readonly at: DocumentRef;
  readonly refusal: RightsRefusal;
}

/**
 * Indexes what is refused of documents by their source, each document and reason once: a document has several wants, one for each key
 * of its object in the clusters. {@link readRefusedDocument} reads the key of a member.
 */
export function indexRefusedDocuments(graph: Graph, wants: Collection<Want>): Index<number> {
  const wanted = graph.index('refusedWantsByDocument', wants, ({ partition, key, value: { refusal } }) => {
    if (refusal === undefined) return [];
    return [JSON.stringify({ at: documentRefOf({ partition, key }), refusal } satisfies RefusedDocument)];
  });
  return graph.index('documentsOfRefusedWants', graph.counts('refusedWantCounts', wanted), ({ key }) => [
    readRefusedDocument(key).at.source,
  ]);
}

/** What a key of {@link indexRefusedDocuments} says. */
export function readRefusedDocument(key: string): RefusedDocument {
  return JSON.parse(key) as RefusedDocument;
}
