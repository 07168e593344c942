import { boundPolicy, defaultFleetPolicy } from '../model/fleet/fleet-policy.ts';
import type { DeclarationJudges } from '../model/fleet/source-rights.ts';
import type { JsonValue } from '../model/text/json.ts';
import { merged } from '../model/values/merged.ts';
import type { CommitReport, Derived, Graph } from './collections/types.ts';
import { joinDeadlines } from './deadlines.ts';
import type { AfterProgress, Domain, DomainInputs, DomainParts, DomainReport } from './domain.ts';
import { drift } from './drift/drift.ts';
import { deriveClusters, deriveTargets, indexClusters, indexUnknownClusters } from './fleet/clusters.ts';
import { type Declared, deriveDeclarations, joinAccepts } from './fleet/declared.ts';
import { deriveGuardLimits, derivePolicy, type PolicyValue } from './fleet/policy.ts';
import { deriveRights } from './fleet/rights.ts';
import { deriveSafeMode, joinLiveReads } from './fleet/safe-mode.ts';
import {
  deriveDocuments,
  deriveFileProofs,
  deriveSourceProofs,
  fileGroup,
  indexDocumentsByFile,
} from './fleet/sources.ts';
import { declareInputs, type EngineInputs, type FleetSettings } from './inputs.ts';
import { deriveDecisions } from './output/decisions.ts';
import { deriveGuards } from './output/guards.ts';
import { deriveLostWants } from './output/lost-wants.ts';
import { indexBarred, indexShared } from './output/not-allowed.ts';
import { deriveOutputs, derivePending, type Output } from './output/outputs.ts';
import { deriveAttempts, indexUnsettled } from './output/tries.ts';
import { deriveAssignments, indexPlacements } from './placement/assignments.ts';
import { indexByFolder } from './placement/matching.ts';
import { derivePlacements, deriveRefusedPlacements } from './placement/placements.ts';
import { indexRefusedDocuments } from './placement/refused-wants.ts';
import { deriveCandidates, deriveDocumentWants, type Want } from './placement/wants.ts';
import { deriveClusterStatuses } from './status/clusters.ts';
import { deriveStatuses } from './status/declared-status.ts';
import { createTallies, derivePlacementStatuses } from './status/placements.ts';
import { deriveProgress, indexProgress, type Tally } from './status/progress.ts';

/** The engine: inputs to stage, a commit, and all that is derived from them. outputs = f(inputs, ledger), pure. */
export type Engine = ReturnType<typeof createEngine>;

/**
 * Wires the complete graph: this function and those that it calls name every collection of the engine. `domains`: each can read what
 * the earlier ones derive.
 */
export function createEngine(graph: Graph, domains: readonly Domain[]) {
  const among = [...domains, drift];
  const inputs = declareInputs(graph);
  const base = { graph, inputs };
  const desired = wireDesired(base, among);
  const documentWants = deriveDocumentWants(graph, { ...inputs, ...desired });
  const wired = wireDomains(base, desired, documentWants, among);
  const wanted = wireWants(base, documentWants, wired);
  const { proofs, limits, safeMode, collisions, unproven, leaving, documentsByFile, lost, ...output } = wireOutputs(
    base,
    desired,
    wired,
    wanted,
  );
  const status = wireStatus(base, desired, wired, { ...output, safeMode, lost });
  const { clusters, declarations, documents, policy, placements, placementIndexes, assignments } = desired;
  const { stageTallies, progress, statuses, readers, deadlines, reported: reportedDomains } = status;
  const declared = { documents, declarations, clusters, policy, placements, assignments };
  const { candidates } = wanted;
  const collections = {
    ...declared,
    candidates,
    ...output,
    progress,
    deadlines,
    /** Of every object of an engine kind. Partition: the id of its kind. Key: its declaration's. */
    statuses,
  };
  return {
    graph,
    inputs,
    ...collections,
    limits,
    safeMode,
    placementIndexes,
    collisions,
    readers,
    sourceProofs: proofs.bySource,
    /** Removals that have passed the guards and are not judged again: see `leaving` of the guards. By cluster and object key. */
    leaving,
    /** Files that are not read, and that the ledger has something from: their sources are partial. Partition: the source. Key: the path. */
    doubtfulFiles: desired.doubtfulFiles,
    /** By source name, in the empty partition; no entry: the source may do everything. */
    rights: desired.rights,
    domains: reportedDomains,
    /** The parts and the report of a domain; undefined: the engine was made without it. */
    reported: <Parts extends DomainParts>(domain: Domain<Parts>) =>
      // The entry of a domain has that domain's own parts and report.
      reportedDomains.find((each) => each.domain === domain) as ReportedDomain<Parts> | undefined,
    /** The inputs of the domains, by the domain's name. The shell stages them as it stages `inputs`. */
    domainInputs: inputsOf(wired),
    indexes: {
      ...declareIndexes(graph, desired, wanted, output.outputs, status),
      /** The unproven entries of each cluster that it holds. */
      unproven,
      /** The documents of each file: see {@link fileGroup}. */
      documentsByFile,
    },
    /** All derived collections, in the order of the graph. */
    derived: [
      ...Object.values(collections),
      ...wired.flatMap(({ parts: { collections } }) => Object.values(collections).flat()),
      desired.rights,
      desired.doubtfulFiles,
      desired.refusedPlacements,
      ...status.parts,
      wanted.documentWants,
      safeMode.mode,
      safeMode.unseen,
      proofs.bySource,
      limits,
    ] as readonly Derived<unknown>[],
    ...createCommit(graph, stageTallies),
  };
}

/** A commit of the engine: one of the graph, and another one if its tallies have changed. */
function createCommit(graph: Graph, stageTallies: () => Generator<undefined, boolean>) {
  /** Of the first commit of the graph, after it has ended. */
  let first: CommitReport | undefined;
  let counting: Generator<undefined, boolean> | undefined;

  /** True: different tallies are staged; undefined: the slice is over. */
  const count = (isUp: () => boolean): boolean | undefined => {
    counting ??= stageTallies();
    graph.resume();
    for (let piece = counting.next(); ; piece = counting.next()) {
      if (piece.done === true) {
        counting = undefined;
        return piece.value;
      }
      if (!isUp()) continue;
      graph.pause();
      return undefined;
    }
  };
  const ended = ({ revision, computed }: CommitReport, more: number): CommitReport => {
    first = undefined;
    return { revision, computed: computed + more };
  };
  const advance = (isUp: () => boolean): CommitReport | undefined => {
    if (first === undefined || counting !== undefined) {
      first ??= graph.advance(isUp);
      if (first === undefined) return undefined;
      const isDifferent = count(isUp);
      if (isDifferent === undefined) return undefined;
      if (!isDifferent) return ended(first, 0);
    }
    const second = graph.advance(isUp);
    return second && ended(second, first.computed);
  };
  return {
    /** Begins or continues a commit, as `advance` of the graph does. The caller closes it with the graph's barrier. */
    advance,
    commit: (): CommitReport => {
      const report = advance(() => false) as CommitReport;
      graph.barrier();
      return report;
    },
  };
}

/** What all parts of the graph need. */
interface Base {
  readonly graph: Graph;
  readonly inputs: EngineInputs;
}

type Desired = ReturnType<typeof wireDesired>;

/** The declarations of the sources, and the clusters of each document. */
function wireDesired({ graph, inputs }: Base, among: readonly Domain[]) {
  const accepts = joinAccepts(among.map((domain) => domain.accepts));
  const judges = merged<unknown>(
    'judge of declarations',
    among.map(({ name, judges }) => [name, judges]),
  ) as DeclarationJudges;
  const rights = deriveRights(graph, inputs.sources);
  const documents = deriveDocuments(graph, inputs.files, rights, judges);
  const { fileProofs, doubtfulFiles } = deriveFileProofs(graph, inputs);
  const declarations = deriveDeclarations(graph, { ...inputs, documents, fileProofs, accepts });
  const clusters = deriveClusters(graph, declarations);
  const policy = derivePolicy(graph, declarations);
  const clusterIndex = indexClusters(graph, clusters);
  const placements = derivePlacements(graph, declarations, clusterIndex, rights);
  const placementIndexes = indexPlacements(graph, placements, rights, inputs.files);
  const refusedPlacements = deriveRefusedPlacements(graph, documents, clusterIndex);
  const assigning = { files: inputs.files, placementIndexes, clusterIndex, rights };
  const assignments = deriveAssignments(graph, assigning);
  const leftOut = graph.index('leftOut', assignments, ({ partition: source, value: { leftOut: by = [] } }) =>
    by.map((each) => `${each} ${source}`),
  );
  const declared = { rights, documents, fileProofs, doubtfulFiles, declarations, clusters, clusterIndex, policy };
  return { ...declared, placements, placementIndexes, refusedPlacements, assignments, leftOut };
}

/** A domain and its parts of the graph. */
interface WiredDomain {
  readonly domain: Domain;
  readonly parts: DomainParts;
}

/** A domain after its second phase. */
export interface ReportedDomain<Parts extends DomainParts = DomainParts> {
  readonly domain: Domain;
  readonly parts: Parts;
  readonly report: Parts extends { readonly report: (after: AfterProgress) => infer Report } ? Report : DomainReport;
}

/** The domains in their order. Their scopes depend on desired state alone. */
function wireDomains(base: Base, desired: Desired, documentWants: Derived<Want>, among: readonly Domain[]) {
  const { graph, inputs } = base;
  const earlier = new Map<Domain, DomainParts>();
  const partsOf = <Parts extends DomainParts>(domain: Domain<Parts>): Parts => {
    const parts = earlier.get(domain);
    if (parts === undefined) throw new Error(`the domain ${domain.name} is read and is not listed earlier`);
    // The entry of a domain has that domain's own parts.
    return parts as Parts;
  };
  return among.map((domain): WiredDomain => {
    const settings = deriveSettings(base, desired.policy, domain);
    const parts = domain.derive(graph, { ...desired, inputs, documentWants, settings, earlier: partsOf });
    earlier.set(domain, parts);
    return { domain, parts };
  });
}

function inputsOf(wired: readonly WiredDomain[]): Readonly<Record<string, DomainInputs>> {
  return Object.fromEntries(
    wired.flatMap(({ domain: { name }, parts: { inputs } }) => (inputs === undefined ? [] : [[name, inputs]])),
  );
}

function deriveSettings(
  { graph, inputs }: Base,
  policy: Derived<PolicyValue>,
  { name, section, settings = () => null }: Domain,
): Derived<JsonValue> {
  return graph.derive<FleetSettings, JsonValue>({
    name: `${name}Settings`,
    from: inputs.fleet,
    reads: [policy],
    compute: ({ value: { bounds } }, read, emit) => {
      const declared = read.get(policy, '', '')?.value ?? defaultFleetPolicy;
      emit('', '', settings(boundPolicy(declared, bounds, section === undefined ? [] : [section]).policy));
    },
  });
}

/** The wants of documents and domains, and the candidates of each cluster. */
function wireWants({ graph }: Base, documentWants: Derived<Want>, wired: readonly WiredDomain[]) {
  const wants: readonly Derived<Want>[] = [documentWants, ...wired.flatMap(({ parts }) => parts.makes?.wants ?? [])];
  return { documentWants, candidates: deriveCandidates(graph, wants) };
}

/** From candidates and ledger to the changes to send: a removal needs proof and visible clusters, and passes the guards. */
function wireOutputs(
  { graph, inputs }: Base,
  desired: Desired,
  wired: readonly WiredDomain[],
  { documentWants, candidates }: ReturnType<typeof wireWants>,
) {
  const { rights, documents, declarations, clusters, policy, placements, assignments, fileProofs } = desired;
  const { placementIndexes, refusedPlacements } = desired;
  const bySource = wired.flatMap(({ parts }) => parts.collections.bySource);
  const anywhere = wired.flatMap(({ parts }) => parts.collections.anywhere);
  const proofs = deriveSourceProofs(
    graph,
    fileProofs,
    [documents, refusedPlacements, assignments, documentWants, ...bySource, candidates].map(({ failures }) => failures),
    [rights, declarations, placements, ...anywhere].map(({ failures }) => failures),
  );
  const liveReads = joinLiveReads(new Map(wired.map(({ domain }) => [domain.name, domain.readsLive])));
  const collisions = new Map(
    wired.flatMap(({ domain, parts: { makes } }) =>
      makes?.collisions === undefined ? [] : [[domain.name, makes.collisions]],
    ),
  );
  const safeMode = deriveSafeMode(graph, { ...inputs, policy, clusters, liveReads });
  const refused = {
    rights,
    files: inputs.files,
    placementIndexes,
    documentsByFile: indexDocumentsByFile(graph, documents),
    sharedByKey: indexShared(graph, assignments),
    placementsByFile: graph.index('placementsByFile', placements, ({ value }) => [fileGroup(value.declared.origin)]),
    refusedPlacementsByFolder: indexByFolder(graph, refusedPlacements),
    barred: wired.flatMap(({ parts: { makes } }) => (makes?.barred ?? []).map((each) => indexBarred(graph, each))),
  };
  const targets = deriveTargets(graph, clusters, inputs.agents);
  const electorate = { ...inputs, candidates, proofs, domainOrder: wired.map(({ domain }) => domain.name) };
  const live = { safeMode, liveReads, collisions };
  const decisions = deriveDecisions(graph, { ...electorate, ...live, clusters, targets, refused });
  const limits = deriveGuardLimits(graph, inputs.fleet, policy, inputs.lastKnownGood);
  const guards = deriveGuards(graph, { ...inputs, candidates, decisions, clusters, limits });
  const attempts = deriveAttempts(graph, { ...inputs, unsettled: indexUnsettled(graph, inputs.results) });
  const tries = [attempts, ...wired.flatMap(({ parts }) => parts.makes?.tries?.of ?? [])];
  const outputs = deriveOutputs(graph, decisions, guards, tries);
  const pending = derivePending(graph, outputs, inputs.ledger);
  const lost = deriveLostWants(graph, electorate, outputs);
  const { documentsByFile } = refused;
  const { unproven, leaving } = guards;
  const judged = { limits, unproven, leaving };
  return { ...judged, proofs, safeMode, targets, decisions, outputs, pending, collisions, documentsByFile, lost };
}

/** The progress of the outputs, and the statuses of declarations. */
function wireStatus(
  { graph, inputs }: Base,
  { declarations, clusters, placements, placementIndexes }: Desired,
  wired: readonly WiredDomain[],
  { outputs, safeMode, lost }: Pick<ReturnType<typeof wireOutputs>, 'outputs' | 'safeMode' | 'lost'>,
) {
  const progress = deriveProgress(graph, outputs, inputs);
  const progressBySubject = indexProgress(graph, progress);
  const deadlineParts = [safeMode.deadlines, ...wired.flatMap(({ parts }) => parts.deadlines ?? [])];
  const deadlines = joinDeadlines(graph, deadlineParts);
  const readers = wired.flatMap(({ parts: { makes } }) => makes?.reading ?? []);
  const ledgerByScope = graph.index('ledgerByScope', inputs.ledger, ({ value }) => value.scope);
  const tallies = graph.input<Tally>('tallies');
  const after = { progress, progressBySubject };
  const reported = wired.map(
    ({ domain, parts }): ReportedDomain => ({ domain, parts, report: parts.report?.(after) ?? {} }),
  );
  const statusParts = [
    deriveClusterStatuses(graph, { ...inputs, ...safeMode, clusters, progressBySubject, ledgerByScope, readers }),
    derivePlacementStatuses(graph, placements, tallies),
    ...reported.flatMap(({ report }) => report.statuses ?? []),
  ];
  const statuses = deriveStatuses(graph, declarations, inputs.files, statusParts, lost.bySubject);
  const stageTallies = createTallies(graph, { placements, placementIndexes, progress, progressBySubject, tallies });
  const parts = [...statusParts, ...deadlineParts, lost.lost];
  return { ...after, deadlines, readers, ledgerByScope, reported, statuses, stageTallies, parts };
}

/** The look-ups of status, explanations and the sender. */
function declareIndexes(
  graph: Graph,
  { documents, assignments, declarations, placements, leftOut }: Desired,
  { documentWants, candidates }: ReturnType<typeof wireWants>,
  outputs: Derived<Output>,
  { progress, progressBySubject, ledgerByScope }: ReturnType<typeof wireStatus>,
) {
  return {
    progressBySubject,
    /** Accepted objects by the clusters in their scope. */
    ledgerByScope,
    /** Documents that are assigned to no cluster, or lie in a folder of one that is out of reach, by source and reason. */
    unplaced: graph.index('unplaced', assignments, ({ partition: source, value: { clusters, ...value } }) => {
      if (clusters.length > 0 && value.outOfReach === undefined) return [];
      // Whether a Placement selects it is not known.
      if (value.leftOut !== undefined && value.outOfReach === undefined) return [];
      const reason = value.outOfReach !== undefined ? 'reach' : value.unknownCluster === undefined ? '' : 'unknown';
      return [`${source} ${reason}`];
    }),
    /** Documents that no Placement of another source places, because these take too many steps for their paths, by that and their source. */
    leftOut,
    /** Documents that their source may not have, by source. */
    refused: graph.index('refusedDocuments', documents, ({ partition, value }) =>
      value.refusal === undefined ? [] : [partition],
    ),
    /** Objects that their source may not ship as they are in clusters, by source. */
    refusedWants: graph.index('refusedWants', documentWants, ({ partition, value }) =>
      value.refusal === undefined ? [] : [partition],
    ),
    /** The same, each document and reason once. */
    refusedInClusters: indexRefusedDocuments(graph, documentWants),
    /** Placements that select a cluster that is out of reach; group `all`. */
    outOfReach: graph.index('placementsOutOfReach', placements, ({ value }) =>
      value.outOfReach.length > 0 ? ['all'] : [],
    ),
    /** Declarations with a finding: groups `declaredTwice` and `lastKnownGood`. */
    declarationProblems: graph.index<Declared>('declarationProblems', declarations, ({ value }) => [
      ...(value.losers.length > 0 ? ['declaredTwice'] : []),
      ...(value.isLastKnownGood ? ['lastKnownGood'] : []),
    ]),
    /** Placements by unknown names in their lists of clusters. */
    unknownClusters: indexUnknownClusters(graph, placements),
    /** Placements whose selector of clusters matches none; group `all`. */
    emptySelectors: graph.index('placementsWithEmptySelector', placements, ({ value }) =>
      value.selectsNone ? ['all'] : [],
    ),
    /** Keys with several wants; group `all`. */
    contested: graph.index('contested', candidates, ({ value }) => (value.length > 1 ? ['all'] : [])),
    /** Keeps and held removals by cluster. */
    keeps: graph.index('keeps', outputs, ({ partition, value }) =>
      value.type === 'keep' || value.type === 'held' ? [partition] : [],
    ),
    /** Held removals; group `all`. */
    held: graph.index('held', outputs, ({ value }) => (value.type === 'held' ? ['all'] : [])),
    /** By object key, across clusters. */
    progressByObject: graph.index('progressByObject', progress, ({ key }) => [key]),
  };
}
