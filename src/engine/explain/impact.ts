import { isEngineKind } from '../../model/fleet/engine-kinds.ts';
import type { Origin } from '../../model/fleet/output.ts';
import { displayKey, type ObjectKey, objectKey } from '../../model/objects/object-key.ts';
import { compareText } from '../../model/text/json.ts';
import { counted } from '../../model/text/messages.ts';
import { isSameOrigin } from '../fleet/elect.ts';
import {
  cachedByFile,
  type DocumentRef,
  type DocumentValue,
  documentKey,
  documentRefOf,
  fileGroup,
} from '../fleet/sources.ts';
import type { Engine } from '../graph.ts';
import { maySelect } from '../placement/assignments.ts';
import { selects } from '../placement/matching.ts';
import { notSelected } from './not-selected.ts';

/** An object of a cluster that a file reaches. */
export interface Reached {
  readonly cluster: string;
  readonly key: ObjectKey;
}

/** One document, and what it reaches. */
export interface DocumentImpact {
  readonly at: DocumentRef;
  readonly name: string;
  /** What it reaches, or why it reaches nothing: a sentence. */
  readonly message: string;
  /** Clusters that it reaches, also those without objects. */
  readonly clusters: readonly string[];
  readonly objects: readonly Reached[];
}

/** The documents of a file, in the order of their keys. */
export function documentsOf({ indexes }: Engine, origin: Origin): readonly DocumentRef[] {
  return indexes.documentsByFile.members(fileGroup(origin)).map(documentRefOf);
}

/** What each of these documents of one file reaches now. Looks at all outputs once. */
export function impactOf(engine: Engine, origin: Origin, documents: readonly DocumentRef[]): readonly DocumentImpact[] {
  const all = engine.indexes.documentsByFile.members(fileGroup(origin));
  const entries = all.filter((entry) => documents.some(({ identity }) => identity === documentRefOf(entry).identity));
  const fromFile = outputsOf(engine, (each) => isSameOrigin(each, origin));
  return entries.map(({ partition, key, value }): DocumentImpact => {
    const at = documentRefOf({ partition, key });
    const { content, refusal } = value;
    if (refusal !== undefined) {
      return { at, name: nameOf(value), message: `it has no effect: ${refusal.message}`, clusters: [], objects: [] };
    }
    return content.type === 'object'
      ? ofObject(engine, at, value, fromFile)
      : ofDeclaration(engine, at, content, all.length === 1 ? fromFile : derivedFrom(engine, fromFile, at));
  });
}

/** What lies in clusters of a file that cannot be read, or is not there any more. */
export function keptFrom(engine: Engine, origin: Origin): readonly Reached[] {
  return outputsOf(engine, (each) => isSameOrigin(each, origin));
}

/** The outputs with such an origin, in canonical order; `among`: of these clusters only. */
function outputsOf(
  { outputs }: Engine,
  isMeant: (origin: Origin) => boolean,
  among: Iterable<string> = outputs.partitions(),
): readonly Reached[] {
  return [...among].sort(compareText).flatMap((cluster) => {
    const keys: ObjectKey[] = [];
    for (const { key, value } of outputs.entries(cluster)) {
      if ('origins' in value && value.origins.some(isMeant)) keys.push(key as ObjectKey);
    }
    return keys.sort(compareText).map((key) => ({ cluster, key }));
  });
}

function nameOf({ content, identity }: DocumentValue): string {
  if (content.type === 'object') return displayKey(objectKey(content.ref));
  return [content.kind, content.namespace, content.name].filter((part) => part !== '').join('/') || identity;
}

function ofObject(engine: Engine, at: DocumentRef, value: DocumentValue, fromFile: readonly Reached[]): DocumentImpact {
  const objects = fromFile.filter(({ cluster, key }) => isFrom(engine, cluster, key, at));
  const clusters = clustersOf(objects);
  const name = nameOf(value);
  if (objects.length > 0)
    return { at, name, message: `it is placed in ${counted(clusters.length, 'cluster')}`, clusters, objects };
  return { at, name, message: whyNowhere(engine, at), clusters, objects };
}

/** Whether a candidate of the object comes from the document. */
function isFrom(
  { candidates }: Engine,
  cluster: string,
  key: ObjectKey,
  { identity, ...origin }: DocumentRef,
): boolean {
  const from = (candidates.get(cluster, key) ?? []).map((each) => documentRefOf(each.from));
  // Kept without a candidate: the file is all that is known.
  return from.length === 0 || from.some((each) => isSameOrigin(each, origin) && each.identity === identity);
}

function derivedFrom(engine: Engine, fromFile: readonly Reached[], at: DocumentRef): readonly Reached[] {
  return fromFile.filter(({ cluster, key }) => isFrom(engine, cluster, key, at));
}

function whyNowhere(engine: Engine, at: DocumentRef): string {
  const found = engine.assignments.get(at.source, documentKey(at.path, at.identity));
  const { outOfReach, unknownCluster } = found ?? {};
  const assigned = outOfReach === undefined && (found?.clusters.length ?? 1) > 0 ? undefined : found;
  if (unknownCluster !== undefined) return `it reaches nothing: no KubernetesCluster ${unknownCluster} is declared`;
  if (outOfReach !== undefined) return `it reaches nothing: its source may not reach cluster ${outOfReach}`;
  const [cluster] = [...engine.clusters.entries('')].map(({ key }) => key).sort(compareText);
  if (assigned === undefined || cluster === undefined)
    return 'it reaches nothing: another declaration of the same object counts, or no cluster is declared';
  const [why] = notSelected(engine, cluster, at);
  return `it reaches nothing: ${why?.reason === 'NotSelected' ? 'the Placements of its file select no cluster' : 'no Placement selects its file, and it does not lie under clusters/NAME'}`;
}

function ofDeclaration(
  engine: Engine,
  at: DocumentRef,
  content: Extract<DocumentValue['content'], { readonly type: 'declaration' }>,
  derived: readonly Reached[],
): DocumentImpact {
  const { kind, key } = content;
  const name = [kind, content.namespace, content.name].filter((part) => part !== '').join('/');
  const declared = isEngineKind(kind) ? engine.declarations.get(kind, key) : undefined;
  if (declared === undefined || !isSameOrigin(declared.origin, at)) {
    return {
      at,
      name,
      message: 'it is not in force: another declaration of the same name counts',
      clusters: [],
      objects: [],
    };
  }
  const placement = engine.placements.get('', key);
  if (placement !== undefined && placement.declared === declared) {
    const { clusters } = placement;
    const matches = cachedByFile((origin: Origin) => maySelect(placement, origin.source) && selects(placement, origin));
    const objects = outputsOf(engine, matches, clusters);
    const message =
      clusters.length === 0
        ? 'it reaches nothing: it selects no cluster'
        : `it selects ${counted(clusters.length, 'cluster')} and places ${counted(objects.length, 'object')} there`;
    return { at, name, message, clusters, objects };
  }
  if (engine.clusters.get('', key) === declared) {
    const objects = outputsOf(engine, () => true, [key]);
    const elsewhere = engine.indexes.ledgerByScope
      .members(key)
      .map((entry) => ({ cluster: entry.partition, key: entry.key as ObjectKey }))
      .filter(({ cluster }) => cluster !== key);
    const more =
      elsewhere.length === 0
        ? ''
        : `, and ${counted(elsewhere.length, 'object')} of other clusters depend on what lives there`;
    const message = `it declares the cluster, which is to have ${counted(objects.length, 'object')}${more}`;
    return {
      at,
      name,
      message,
      clusters: clustersOf([...objects, ...elsewhere, { cluster: key }]),
      objects: [...objects, ...elsewhere],
    };
  }
  if (engine.policy.get('', '') === declared) {
    const clusters = [...engine.clusters.entries('')].map((entry) => entry.key).sort(compareText);
    const message = `it sets guards, safe mode, discovery and status of the fleet: all ${counted(clusters.length, 'cluster')}`;
    return { at, name, message, clusters, objects: [] };
  }
  const clusters = clustersOf(derived);
  const message =
    derived.length === 0
      ? 'no object in a cluster is made from it now; its status says what it does'
      : `${counted(derived.length, 'object')} in ${counted(clusters.length, 'cluster')} are made from it`;
  return { at, name, message, clusters, objects: derived };
}

function clustersOf(objects: readonly { readonly cluster: string }[]): readonly string[] {
  return [...new Set(objects.map(({ cluster }) => cluster))].sort(compareText);
}
