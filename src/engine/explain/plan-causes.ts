import type { Origin } from '../../model/fleet/output.ts';
import { type ObjectKey, objectRefOf } from '../../model/objects/object-key.ts';
import type { WrittenPath } from '../../model/text/field-path.ts';
import { compareText } from '../../model/text/json.ts';
import type { Change, EntryAddress } from '../collections/types.ts';
import type { ClusterValue } from '../fleet/clusters.ts';
import type { Declared } from '../fleet/declared.ts';
import { type DocumentRef, type DocumentValue, declaresName, documentRefOf, fileGroup } from '../fleet/sources.ts';
import type { Engine } from '../graph.ts';
import type { Output } from '../output/outputs.ts';
import { maySelect } from '../placement/assignments.ts';
import { selects } from '../placement/matching.ts';
import type { PlacementValue } from '../placement/placements.ts';

/** A document or a value of it, in the revision before the plan or in the planned one. */
export interface SidedRef extends DocumentRef {
  readonly side: 'before' | 'after';
  /** Absent: the document itself. */
  readonly field?: WrittenPath;
}

/** What has changed in the sources that an object of the plan follows from. */
export type PlanCause =
  | {
      readonly type: 'document';
      /** `unreadable`: its file cannot be read any more. */
      readonly change: 'added' | 'changed' | 'removed' | 'unreadable';
      readonly at: SidedRef;
      /** Why the file cannot be read. */
      readonly why?: string;
    }
  /** A Placement selects the file for the cluster, or does not any more. */
  | { readonly type: 'placement'; readonly name: string; readonly selects: boolean; readonly at: SidedRef }
  | {
      readonly type: 'label';
      /** The Placement that selects by the label. */
      readonly placement: string;
      readonly cluster: string;
      readonly label: string;
      /** Absent: the cluster has no such label. */
      readonly before?: string;
      readonly after?: string;
      readonly at: SidedRef;
    }
  | {
      readonly type: 'cluster';
      readonly cluster: string;
      readonly change: 'added' | 'removed';
      readonly at: SidedRef;
    }
  /** Another declaration that the object is computed from. */
  | { readonly type: 'rule'; readonly kind: string; readonly name: string; readonly at: SidedRef };

/** What a revision changes of the declarations. */
export interface ChangedDeclarations {
  readonly documents: readonly Change<DocumentValue>[];
  readonly placements: readonly Change<PlacementValue>[];
  readonly clusters: readonly Change<ClusterValue>[];
  readonly declarations: readonly Change<Declared>[];
}

/** Returns a function that finds what an output has changed for. */
export function createCauseFinder(engine: Engine, changed: ChangedDeclarations) {
  const documents = new Map(changed.documents.map((change) => [addressOf(change), change]));
  const byFile = Map.groupBy(changed.documents, (change) => fileGroup(documentRefOf(change)));
  const clusters = new Map(changed.clusters.map((change) => [change.key, change]));
  const rules = ruleChanges(changed.declarations);

  const ofDocuments = (cluster: string, key: ObjectKey, origins: readonly Origin[]) => {
    const declaring = (engine.candidates.get(cluster, key) ?? []).flatMap(({ from }) => {
      const ref = documentRefOf(from);
      const change = documents.get(addressOf({ partition: ref.source, key: `${ref.path}\u0000${ref.identity}` }));
      return change?.after === undefined ? [] : [documentCause(engine, change, ref)];
    });
    if (declaring.length > 0) return declaring;
    return origins.flatMap((origin) =>
      (byFile.get(fileGroup(origin)) ?? [])
        .filter(({ before, after }) => after === undefined && before !== undefined && isOf(before, key))
        .map((change) => documentCause(engine, change, documentRefOf(change))),
    );
  };
  const ofPlacements = (cluster: string, origins: readonly Origin[]): readonly PlanCause[] =>
    changed.placements.flatMap((change): readonly PlanCause[] => {
      const { key: name, before, after } = change;
      const is = gives(after, cluster, origins);
      if (is === gives(before, cluster, origins)) return [];
      const declared = (after ?? before)?.declared;
      if (declared === undefined) return [];
      if (before !== undefined && before.declared === after?.declared) return ofCluster(cluster, name, declared);
      return [{ type: 'placement', name, selects: is, at: refOf(declared, after === undefined ? 'before' : 'after') }];
    });
  /** `name`, `declared`: the Placement that reads the labels of the cluster. */
  const ofCluster = (cluster: string, name?: string, declared?: Declared<'Placement'>): readonly PlanCause[] => {
    const change = clusters.get(cluster);
    return change === undefined ? [] : clusterCauses(change, name, declared);
  };
  const ofRules = (origins: readonly Origin[]): readonly PlanCause[] =>
    origins.flatMap((origin) => rules.byFile.get(fileGroup(origin)) ?? []);

  return (cluster: string, key: ObjectKey, before: Output | undefined, after: Output | undefined) => {
    const origins = distinct([...originsIn(after), ...originsIn(before)]);
    const ofItsDocuments = ofDocuments(cluster, key, origins);
    // A manifest that was there before explains no object that comes or goes.
    const isSteady = before?.type === 'object' && after?.type === 'object';
    for (const causes of [
      isSteady ? ofItsDocuments : ofItsDocuments.filter(({ change }) => change !== 'changed'),
      ofPlacements(cluster, origins),
      ofCluster(cluster),
      ofItsDocuments,
      ofRules(origins),
    ]) {
      if (causes.length > 0) return causes;
    }
    return rules.policy;
  };
}

function documentCause(
  { inputs }: Engine,
  { before, after }: Change<DocumentValue>,
  ref: DocumentRef,
): Extract<PlanCause, { readonly type: 'document' }> {
  if (after !== undefined) {
    return { type: 'document', change: before === undefined ? 'added' : 'changed', at: { ...ref, side: 'after' } };
  }
  const at: SidedRef = { ...ref, side: 'before' };
  const file = inputs.files.get(ref.source, ref.path);
  const why = file?.notRead;
  if (file === undefined || (file.readable && why === undefined)) return { type: 'document', change: 'removed', at };
  return { type: 'document', change: 'unreadable', at, ...(why === undefined ? {} : { why }) };
}

/** Changed declarations as causes, by file; and apart from them the FleetPolicy, which can concern every object. */
function ruleChanges(changes: readonly Change<Declared>[]) {
  const byFile = new Map<string, PlanCause[]>();
  const policy: PlanCause[] = [];
  for (const { before, after } of changes) {
    const declared = after ?? before;
    if (declared === undefined) continue;
    const { kind, name } = declared;
    const cause: PlanCause = {
      type: 'rule',
      kind,
      name,
      at: refOf(declared, after === undefined ? 'before' : 'after'),
    };
    if (kind === 'FleetPolicy') policy.push(cause);
    const file = fileGroup(declared.origin);
    byFile.set(file, [...(byFile.get(file) ?? []), cause]);
  }
  return { byFile, policy };
}

function clusterCauses(
  { key: cluster, before, after }: Change<ClusterValue>,
  placement = '',
  declared?: Declared<'Placement'>,
): readonly PlanCause[] {
  if (after === undefined) {
    return before === undefined ? [] : [{ type: 'cluster', cluster, change: 'removed', at: refOf(before, 'before') }];
  }
  const at = refOf(after, 'after');
  if (before === undefined) return [{ type: 'cluster', cluster, change: 'added', at }];
  const [older, newer] = [before.value.labels, after.value.labels];
  return labelsRead(declared).flatMap((label): readonly PlanCause[] => {
    const [was, is] = [older[label], newer[label]];
    if (was === is) return [];
    const values = { ...(was === undefined ? {} : { before: was }), ...(is === undefined ? {} : { after: is }) };
    const field = ['metadata', 'labels', ...(is === undefined ? [] : [label])];
    return [{ type: 'label', placement, cluster, label, ...values, at: { ...at, field } }];
  });
}

/** The labels that a Placement selects clusters by, in canonical order. */
function labelsRead(declared: Declared<'Placement'> | undefined): readonly string[] {
  const { matchLabels = {}, matchExpressions = [] } = declared?.value.clusters.selector ?? {};
  return [...new Set([...Object.keys(matchLabels), ...matchExpressions.map(({ key }) => key)])].sort(compareText);
}

/** Whether a Placement gives one of these files to the cluster. */
function gives(placement: PlacementValue | undefined, cluster: string, origins: readonly Origin[]): boolean {
  if (placement?.clusters.includes(cluster) !== true) return false;
  return origins.some((origin) => maySelect(placement, origin.source) && selects(placement, origin));
}

function isOf(document: DocumentValue, key: ObjectKey): boolean {
  if (document.content.type !== 'object' || !declaresName(document, key)) return false;
  const { namespace } = document.content.ref;
  return namespace === '' || namespace === objectRefOf(key).namespace;
}

function originsIn(output: Output | undefined): readonly Origin[] {
  return output?.origins ?? [];
}

function distinct(origins: readonly Origin[]): readonly Origin[] {
  return [...new Map(origins.map((origin) => [fileGroup(origin), origin])).values()];
}

function refOf({ origin, identity }: Declared, side: SidedRef['side']): SidedRef {
  return { source: origin.source, path: origin.path, identity, side };
}

function addressOf({ partition, key }: EntryAddress): string {
  return `${partition}\u0000${key}`;
}
