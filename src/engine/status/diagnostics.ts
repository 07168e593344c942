import type { FindingReason } from '../../model/fleet/diagnostic.ts';
import type { EngineKind } from '../../model/fleet/engine-kinds.ts';
import type { SourceName } from '../../model/fleet/ids.ts';
import type { ApprovalOutcome } from '../../model/fleet/ledger.ts';
import { outOfReach, type RightsRefusal } from '../../model/fleet/source-rights.ts';
import { displayKey, type ObjectKey } from '../../model/objects/object-key.ts';
import { selfAndAncestors } from '../../model/text/glob.ts';
import { compareText } from '../../model/text/json.ts';
import { counted } from '../../model/text/messages.ts';
import type { Contribution, Entry } from '../collections/types.ts';
import type { EngineDiagnostic, ValueRef } from '../domain.ts';
import { clusterHint, unknownClustersOf } from '../fleet/clusters.ts';
import type { Declared } from '../fleet/declared.ts';
import { isSameOrigin } from '../fleet/elect.ts';
import { type DocumentRef, documentRefOf, originOf } from '../fleet/sources.ts';
import type { Engine } from '../graph.ts';
import { type Assignment, placementsOf } from '../placement/assignments.ts';
import { createStepMeter, MOST_FOREIGN_STEPS, mostSteps } from '../placement/matching.ts';
import { readRefusedDocument } from '../placement/refused-wants.ts';
import { type Candidate, displayOriginal } from '../placement/wants.ts';
import { settingsOutOfBounds } from './bounds.ts';
import { firstMembers, inOrder, type Listed, withMore } from './listed.ts';
import { notReached } from './not-reached.ts';

const error = finding('error');
const warning = finding('warning');

/** Makes findings of a severity. */
function finding(severity: EngineDiagnostic['severity']) {
  return (reason: FindingReason, message: string, at: readonly ValueRef[], hint?: string): EngineDiagnostic => ({
    severity,
    reason,
    message,
    ...(hint === undefined ? {} : { hint }),
    at,
  });
}

/**
 * The findings of the engine, in canonical order. Cost follows their number.
 *
 * @param most of each source and reason; a further finding counts those that are left out
 */
export function engineDiagnostics(engine: Engine, most = Number.POSITIVE_INFINITY): readonly EngineDiagnostic[] {
  const findings = [
    ...refusedDocuments(engine, most),
    ...clustersOutOfReach(engine),
    ...unplaced(engine, most),
    ...leftOut(engine),
    ...contested(engine),
    ...declaredTwice(engine),
    ...unknownClusters(engine),
    ...emptySelectors(engine),
    ...heldAsLastKnownGood(engine),
    ...settingsOutOfBounds(engine),
    ...judgedApprovals(engine),
    ...engine.domains.flatMap(({ report: { shows } }) => shows?.diagnostics?.() ?? []),
    ...failures(engine),
  ];
  return inOrder(findings, most);
}

/** Documents that their source may not have, and objects that it may not ship as they are in their clusters. */
function refusedDocuments({ indexes, declarations }: Engine, most: number): readonly Listed[] {
  const documents = [...indexes.refused.groups()].flatMap((source) => {
    const { entries, more } = firstMembers(indexes.refused, source, most);
    const found = entries.flatMap(({ partition, key, value: { content, refusal } }) => {
      if (refusal === undefined) return [];
      const at = documentRefOf({ partition, key });
      const isDeclaration = content.type === 'declaration';
      const declared = isDeclaration ? declarations.get(content.kind, content.key) : undefined;
      const isHeld = declared?.refusal?.reason === refusal.reason && isSameOrigin(declared.origin, at);
      const title = isDeclaration ? titleOf(content.kind, content.key) : '';
      const hint = isHeld ? `until it is allowed or deleted, ${title} holds as last known good` : undefined;
      return notAllowed(refusal, at, hint);
    });
    return withMore(found, more);
  });
  const wants = [...indexes.refusedInClusters.groups()].flatMap((source) => {
    const { entries, more } = firstMembers(indexes.refusedInClusters, source, most);
    const found = entries.flatMap(({ key }) => {
      const { at, refusal } = readRefusedDocument(key);
      return notAllowed(refusal, at);
    });
    return withMore(found, more);
  });
  return [...documents, ...wants];
}

function notAllowed(
  { message, hint: remedy, field }: RightsRefusal,
  at: DocumentRef,
  held?: string,
): readonly [EngineDiagnostic] {
  const hints = [remedy, held].filter((each) => each !== undefined);
  const hint = hints.length === 0 ? undefined : hints.join('; ');
  return [error('NotAllowed', message, [field === undefined ? at : { ...at, field }], hint)];
}

/** Clusters that a Placement selects and its source may not reach. */
function clustersOutOfReach({ indexes }: Engine): readonly EngineDiagnostic[] {
  return indexes.outOfReach.members('all').flatMap(({ key, value: { declared, outOfReach: clusters } }) =>
    clusters.map((name) => {
      const isNamed = declared.value.clusters.names.some((each) => each === name);
      const field = ['spec', 'clusters', 'names', { item: name }];
      const places = isNamed ? [{ ...refOfDeclared(declared), field }] : [];
      return notReached(`Placement ${key}`, declared, name, places);
    }),
  );
}

function unplaced(engine: Engine, most: number): readonly Listed[] {
  const { unplaced: index } = engine.indexes;
  return [...index.groups()].flatMap((group) => {
    const { entries, more } = firstMembers(index, group, most);
    return withMore(
      entries.map((entry) => unplacedAt(engine, entry)),
      more,
    );
  });
}

function unplacedAt(
  engine: Engine,
  { partition, key, value: { unknownCluster, outOfReach: folder } }: Entry<Assignment>,
): EngineDiagnostic {
  const at = [documentRefOf({ partition, key })];
  if (folder !== undefined) {
    return error('NotAllowed', `it lies under clusters/${folder}: ${outOfReach(partition, folder)}`, at);
  }
  const isKnown = unknownCluster === undefined;
  const why = isKnown
    ? 'no Placement selects it and it lies under no clusters/NAME folder'
    : `no KubernetesCluster ${unknownCluster} is declared`;
  return {
    severity: 'warning',
    reason: isKnown ? 'GoesNowhere' : 'UnknownCluster',
    message: `${why}: it goes to no cluster`,
    ...(isKnown ? {} : clusterHint(unknownCluster, engine.clusters)),
    at,
  };
}

/** Sources whose Placements take too many steps to match paths of other sources. */
function leftOut({ indexes, placements, placementIndexes }: Engine): readonly EngineDiagnostic[] {
  return [...indexes.leftOut.groups()].flatMap((group): readonly EngineDiagnostic[] => {
    const [by = ''] = group.split(' ');
    const { entries, more } = firstMembers(indexes.leftOut, group, 1);
    return entries.flatMap((entry): readonly EngineDiagnostic[] => {
      const { source, path } = documentRefOf(entry);
      const most = mostSteps({ source, path }, by, placementIndexes.shares.get('', source));
      const isShare = most < mostSteps({ source, path }, by);
      const ofAll = isShare ? `, which is its share of ${MOST_FOREIGN_STEPS} for all files of this source` : '';
      const costly = costliestOf(by, path, placements, most);
      if (costly === undefined) return [];
      const [documents, them] =
        more === 0 ? ['its document', 'it'] : [`its document and ${counted(more, 'other')}`, 'them'];
      const message = `the Placements of source ${by} need more than ${most} steps to match the path ${path} of source ${source}${ofAll}: they do not place ${documents}, and what they placed of ${them} stays as it is`;
      const hint = `Placement ${costly.name} needs the most of those that were matched: write its paths with fewer wildcards, or below a folder`;
      const at = [{ ...refOfDeclared(costly), field: ['spec', 'paths'] }];
      return [error('PlacementTooExpensive', message, at, hint)];
    });
  });
}

/** The Placement with the most steps among the Placements of a source that match a path in canonical order until the limit is exceeded. */
function costliestOf(
  source: string,
  path: string,
  placements: Engine['placements'],
  most: number,
): Declared<'Placement'> | undefined {
  const own = [...placements.entries('')].filter(({ value }) => value.declared.origin.source === source);
  const meter = createStepMeter(most);
  const folders = selfAndAncestors(path);
  let [steps, costliest]: [number, Declared<'Placement'> | undefined] = [-1, undefined];
  for (const { value } of own.sort((a, b) => compareText(a.key, b.key))) {
    const before = meter.spent();
    const isOver = folders.some((folder) => meter.matchesAny(value.globs.get(folder) ?? [], path) === undefined);
    if (meter.spent() - before > steps) [steps, costliest] = [meter.spent() - before, value.declared];
    if (isOver) break;
  }
  return costliest;
}

/** Several wants with one key in a cluster; clusters with the same conflict share a finding. */
function contested(engine: Engine): readonly EngineDiagnostic[] {
  const conflicts = engine.indexes.contested.members('all').flatMap((entry) => conflictOf(engine, entry) ?? []);
  return [...Map.groupBy(conflicts, ({ key, at, meanings }) => JSON.stringify([key, at, meanings])).values()].flatMap(
    (same) => same.slice(0, 1).map((conflict) => describe(conflict, same.map(({ cluster }) => cluster).join(', '))),
  );
}

function conflictOf(engine: Engine, { partition: cluster, key, value }: Entry<readonly Contribution<Candidate>[]>) {
  const winner = engine.outputs.get(cluster, key)?.origins[0];
  /** The winner first. */
  const at = value
    .map((contribution) => documentRefOf(contribution.from))
    .sort((a, b) => Number(isSameOrigin(b, winner)) - Number(isSameOrigin(a, winner)));
  const derived = value.flatMap((contribution) => contribution.value.derived ?? []);
  /** What the wants stand for. */
  const meanings = [...new Set(derived.map(({ standsFor }) => displayOriginal(standsFor)))];
  // Two documents of one domain can want the same object, as several Placements can select one document.
  if (meanings.length === 1 && derived.length === value.length) return undefined;
  const advice = engine.collisions.get(derived[0]?.domain ?? '')?.advice ?? '';
  return { cluster, key: key as ObjectKey, at, meanings, isDeclared: derived.length < at.length, advice };
}

function describe(
  { key, at, meanings, isDeclared, advice }: NonNullable<ReturnType<typeof conflictOf>>,
  clusters: string,
): EngineDiagnostic {
  const object = displayKey(key);
  if (meanings.length === 0) {
    const message = `${object} is declared ${at.length} times for ${clusters}: the first one named here counts`;
    return error('DeclaredTwice', message, at.map(atName));
  }
  const declared = isDeclared ? ', and is declared as well' : '';
  const message = `${object} of ${clusters} would stand for ${meanings.join(' and for ')}${declared}: the first one stays, ${advice}`;
  const places = new Map(at.map((ref) => [JSON.stringify(ref), ref]));
  return error('NameCollision', message, [...places.values()]);
}

function declaredTwice(engine: Engine): readonly EngineDiagnostic[] {
  return engine.indexes.declarationProblems.members('declaredTwice').map(({ key, value }) => {
    const times = `${titleOf(value.kind, key)} is declared ${value.losers.length + 1} times`;
    const at = [refOfDeclared(value), ...value.losers].map(atName);
    return error('DeclaredTwice', `${times}: the first one named here counts`, at);
  });
}

function unknownClusters({ indexes, clusters }: Engine): readonly EngineDiagnostic[] {
  return unknownClustersOf(indexes.unknownClusters).map(({ name, entry: { key, value } }) => ({
    severity: 'warning',
    reason: 'UnknownCluster',
    message: `Placement ${key} names clusters that no KubernetesCluster declares: ${name}`,
    ...clusterHint(name, clusters),
    at: [{ ...refOfDeclared(value.declared), field: ['spec', 'clusters', 'names', { item: name }] }],
  }));
}

function emptySelectors({ indexes }: Engine): readonly EngineDiagnostic[] {
  return indexes.emptySelectors.members('all').map(({ key, value: { declared } }) => {
    const at = [{ ...refOfDeclared(declared), field: ['spec', 'clusters', 'selector'] }];
    return warning('SelectsNoCluster', `the selector of Placement ${key} matches no KubernetesCluster`, at);
  });
}

/**
 * The paths of Placements that select no document. For one-shot runs: the cost follows the number of documents, so it is no
 * part of {@link engineDiagnostics}, which a server computes for each question.
 */
export function unusedPaths(engine: Engine): readonly EngineDiagnostic[] {
  const used = new Set<string>();
  for (const source of engine.assignments.partitions()) {
    const paths = new Set([...engine.assignments.entries(source)].map((entry) => originOf(entry).path));
    for (const path of paths) {
      const file = { source: source as SourceName, path };
      for (const { key: name, value } of placementsOf(file, engine.placementIndexes).selecting) {
        const globs = selfAndAncestors(path).flatMap((folder) => value.globs.get(folder) ?? []);
        for (const glob of globs) if (glob.matches(path)) used.add(`${name} ${glob.text}`);
      }
    }
  }
  return [...engine.placements.entries('')].flatMap(({ key: name, value: { declared } }) =>
    declared.value.paths.flatMap((path): readonly EngineDiagnostic[] => {
      if (used.has(`${name} ${path}`)) return [];
      const field = ['spec', 'paths', { item: path }];
      const message = `no document for clusters lies under the path ${path} of Placement ${name}`;
      return [warning('PlacementSelectsNothing', message, [{ ...refOfDeclared(declared), field }])];
    }),
  );
}

function heldAsLastKnownGood(engine: Engine): readonly EngineDiagnostic[] {
  return engine.indexes.declarationProblems
    .members('lastKnownGood')
    .flatMap(({ key, value }): readonly EngineDiagnostic[] => {
      const { refusal } = value;
      // The finding of the refused document says it.
      if (refusal?.reason === 'NotAllowed') return [];
      const at = refOfDeclared(value);
      const title = titleOf(value.kind, key);
      if (refusal === undefined)
        return [warning('LastKnownGood', `${title} cannot be read and holds as last known good`, [at])];
      const { message, field } = refusal;
      const hint = `until the change is accepted, ${title} holds as last known good`;
      return [warning('LastKnownGood', message, [field === undefined ? at : { ...at, field }], hint)];
    });
}

function titleOf(kind: EngineKind, key: string): string {
  return key === '' ? `the ${kind}` : `${kind} ${key}`;
}

/** RemovalApprovals without further effect. */
function judgedApprovals(engine: Engine): readonly EngineDiagnostic[] {
  return [...engine.declarations.entries('RemovalApproval')].flatMap(({ key: name, value }) => {
    const judged = engine.inputs.approvalOutcomes.get('', name);
    if (judged === undefined) return [];
    const { reason, field, message } =
      judged.outcome === 'waits' ? waitsFor(engine, value.origin.source) : OUTCOMES[judged.outcome];
    const at = [{ ...refOfDeclared(value), field }, ...value.losers];
    const text = typeof message === 'string' ? message : message(judged.problem ?? 'it is not signed');
    return [warning(reason, `RemovalApproval ${name} ${text}`, at)];
  });
}

type OutcomeText = Pick<EngineDiagnostic, 'reason'> &
  Required<Pick<ValueRef, 'field'>> & { readonly message: string | ((problem: string) => string) };

/** The text of an approval whose source was not read completely since outcomes were lost. */
function waitsFor({ sourceProofs }: Engine, source: string): OutcomeText {
  const why =
    sourceProofs.get('', source) === 'partial'
      ? 'its source has files that cannot be read. Mend these'
      : 'the server that leads has not read its source anew. It does that as soon as the source can be read and is not suspended';
  return {
    reason: 'ApprovalWaits',
    field: ['metadata', 'name'],
    message: `waits: the server has no record of which approvals were used, and ${why}. What the source declares by then may have been used and releases nothing, so approve the removals with another RemovalApproval in a later commit`,
  };
}

const OUTCOMES: Readonly<Record<Exclude<ApprovalOutcome['outcome'], 'waits'>, OutcomeText>> = {
  used: {
    reason: 'ApprovalUsed',
    field: ['metadata', 'name'],
    message: 'was used and does nothing more: delete it',
  },
  stale: {
    reason: 'ApprovalStale',
    field: ['spec', 'digest'],
    message:
      'releases nothing: no removals of its digest were held before it came, or the server has lost whether it was used. If they are held now, approve them with another RemovalApproval in a later commit',
  },
  notCounted: {
    reason: 'ApprovalNotCounted',
    field: ['kind'],
    message:
      'releases nothing: the RelayConfig lets no file approve removals (bounds.approvals). Approve them with "fleetrelay approve"',
  },
  unsigned: {
    reason: 'ApprovalNotSigned',
    field: ['kind'],
    message: (problem) =>
      `releases nothing: ${problem}. Delete the file, and let an approval signer of the RelayConfig add it with a signed commit`,
  },
  expired: {
    reason: 'ApprovalExpired',
    field: ['spec', 'expires'],
    message: 'was void already when it was read: delete it',
  },
};

/** Failed computations of the engine: each is a defect that concerns one key. */
function failures(engine: Engine): readonly EngineDiagnostic[] {
  return engine.derived.flatMap(({ name, failures: failed }) => {
    if (failed.size() === 0) return [];
    return [...failed.partitions()].flatMap((partition) =>
      [...failed.entries(partition)].map(({ key, value }): EngineDiagnostic => {
        const subject = [partition, key.replaceAll('\u0000', ' ')].filter((part) => part !== '').join(' ');
        return error('Failed', `${name} failed for ${subject}: ${value.message}`, []);
      }),
    );
  });
}

function atName(ref: DocumentRef): ValueRef {
  return { ...ref, field: ['metadata', 'name'] };
}

function refOfDeclared({ origin, identity }: Declared): DocumentRef {
  return { ...origin, identity };
}
