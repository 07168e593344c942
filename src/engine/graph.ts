import type { GuardLimits } from '../model/desired.ts';
import { defaultFleetPolicy } from '../model/fleet-policy.ts';
import type { JsonValue } from '../model/json.ts';
import type { LedgerEntry } from '../model/ledger.ts';
import type { CommitReport, Contribution, Derived, Graph, Index } from './collections/types.ts';
import { type Deadline, joinDeadlines } from './deadlines.ts';
import type { Domain, DomainParts } from './domain.ts';
import { joinAccepts } from './fleet/accepts.ts';
import { type ClusterValue, deriveClusters, indexClusters } from './fleet/clusters.ts';
import { type Declarations, type Declared, deriveDeclarations } from './fleet/declared.ts';
import { joinLiveReads } from './fleet/live-reads.ts';
import { deriveGuardLimits, derivePolicy, type PolicyValue } from './fleet/policy.ts';
import { deriveSafeMode, type SafeMode } from './fleet/safe-mode.ts';
import {
  type DocumentValue,
  deriveDocuments,
  deriveFileProofs,
  deriveSourceProofs,
  indexDocumentsByFile,
  indexDoubts,
  type SourceProof,
} from './fleet/sources.ts';
import { declareInputs, type EngineInputs, type FleetSettings } from './inputs.ts';
import type { CollisionsByDomain } from './output/collisions.ts';
import type { Decision } from './output/decision.ts';
import { deriveDecisions } from './output/decisions.ts';
import { deriveGuards } from './output/guards.ts';
import { deriveOutputs, type Output } from './output/outputs.ts';
import { derivePending, type PendingChange } from './output/pending.ts';
import { type Assignment, deriveAssignments } from './placement/assignments.ts';
import { type Candidate, deriveCandidates } from './placement/candidates.ts';
import { deriveDocumentWants } from './placement/document-wants.ts';
import { deriveKindScopes } from './placement/kind-scopes.ts';
import { derivePlacements, indexPlacements, type PlacementValue } from './placement/placements.ts';
import type { Want } from './placement/want.ts';
import { services } from './services/services.ts';
import { deriveClusterStatuses } from './status/clusters.ts';
import { type DeclaredStatus, deriveStatuses } from './status/declared-status.ts';
import { tally } from './status/lookups.ts';
import { derivePlacementStatuses } from './status/placements.ts';
import {
  derivedGroup,
  deriveProgress,
  healthGroup,
  type Progress,
  type ProgressState,
  progressGroup,
  progressStates,
} from './status/progress.ts';
import { readersOf } from './status/safe-mode-cause.ts';
import { createTallies, type Tally } from './status/tallies.ts';

/** What the engine does beside placing documents: each reads what the earlier ones derive. */
const domains: readonly Domain[] = [services];

/** A domain in a graph. */
interface WiredDomain {
  readonly domain: Domain;
  readonly parts: DomainParts;
}

/** The engine: inputs to stage, a commit, and everything that follows from them. outputs = f(inputs, ledger), pure. */
export interface Engine {
  readonly graph: Graph;
  readonly inputs: EngineInputs;
  readonly documents: Derived<DocumentValue>;
  readonly sourceProofs: Derived<SourceProof>;
  readonly declarations: Declarations;
  readonly clusters: Derived<ClusterValue>;
  readonly policy: Derived<PolicyValue>;
  readonly limits: Derived<GuardLimits>;
  readonly placements: Derived<PlacementValue>;
  readonly placementsByFolder: Index<PlacementValue>;
  readonly assignments: Derived<Assignment>;
  readonly domains: readonly WiredDomain[];
  readonly collisions: CollisionsByDomain;
  readonly candidates: Derived<readonly Contribution<Candidate>[]>;
  readonly safeMode: SafeMode;
  readonly deadlines: Derived<Deadline>;
  readonly decisions: Derived<Decision>;
  readonly outputs: Derived<Output>;
  readonly pending: Derived<PendingChange>;
  readonly progress: Derived<Progress>;
  /** Of every object of an engine kind. Partition: the id of its kind. Key: as of its declaration. */
  readonly statuses: Derived<DeclaredStatus>;
  readonly indexes: EngineIndexes;
  /** Everything derived, in the order of the graph; for diagnostics of failed functions. */
  readonly derived: readonly Derived<unknown>[];
  commit(): CommitReport;
}

/** Groups that status, explanation and the sender look things up by. */
export interface EngineIndexes {
  /** Documents that go nowhere; group `all`. */
  readonly unplaced: Index<Assignment>;
  /** Declarations that a person should hear of: groups `declaredTwice` and `lastKnownGood`. */
  readonly troubledDeclarations: Index<Declared>;
  /** Keys that several documents want; group `all`. */
  readonly contested: Index<readonly Contribution<Candidate>[]>;
  /** Keeps by cluster. */
  readonly keeps: Index<Output>;
  /** Held removals; group `all`. */
  readonly held: Index<Output>;
  /** By {@link progressGroup}. */
  readonly progress: Index<Progress>;
  /** What is applied and whose health is known, by {@link healthGroup}. */
  readonly health: Index<Progress>;
  /** What was accepted, by the clusters that it could have read. */
  readonly ledgerByScope: Index<LedgerEntry>;
  /** By object key, across clusters. */
  readonly progressByObject: Index<Progress>;
}

/** Wires the whole graph: reading this function and those that it calls is reading the system. */
export function createEngine(graph: Graph, among: readonly Domain[] = domains): Engine {
  const inputs = declareInputs(graph);
  const accepts = joinAccepts(among.map((domain) => domain.accepts));
  const desired = wireDesired(graph, inputs, accepts);
  const wired = wireDomains(graph, inputs, desired, among);
  const wanted = wireWants(graph, inputs, desired, wired);
  const held = wireOutputs(graph, inputs, desired, wired, wanted);
  const { clusters, declarations, documents, policy, placements, placementsByFolder, assignments } = desired;
  const { decisions, outputs, pending, proofs, limits, safeMode, collisions } = held;

  // How far it got.
  const progress = deriveProgress(graph, outputs, inputs.results, inputs.agents, inputs.ledger);
  const derivedProgress = graph.index('derivedProgress', progress, ({ value }) => derivedGroupsOf(value));
  const deadlineParts = [safeMode.deadlines, ...wired.flatMap(({ parts }) => parts.deadlines ?? [])];
  const deadlines = joinDeadlines(graph, deadlineParts);
  const collections = {
    ...{ documents, declarations, clusters, policy, placements, assignments },
    ...{ candidates: wanted.candidates, decisions, outputs, pending, progress, deadlines },
  };
  const indexes = declareIndexes(graph, inputs, collections);
  const tallies = graph.input<Tally>('tallies');
  const statusParts = [
    deriveClusterStatuses(graph, {
      ...{ clusters, ...inputs, ...indexes, ...safeMode },
      ...{ progressByState: indexes.progress, readers: readersOf(wired) },
    }),
    derivePlacementStatuses(graph, placements, tallies),
    ...wired.flatMap(({ parts }) => parts.statuses?.({ progress, derivedProgress }) ?? []),
  ];
  const statuses = deriveStatuses(graph, declarations, inputs.files, statusParts);
  const progressByState = indexes.progress;
  const talliesOf = createTallies(graph, { placements, placementsByFolder, progress, progressByState, tallies });

  return {
    ...{ graph, inputs, ...collections, statuses, sourceProofs: proofs, limits, safeMode, placementsByFolder },
    domains: wired,
    collisions,
    indexes,
    derived: [
      ...[...Object.values(collections), statuses],
      ...wired.flatMap(({ parts }) => [...parts.collections.bySource, ...parts.collections.anywhere]),
      ...[...statusParts, ...deadlineParts, wanted.documentWants, safeMode.mode, safeMode.unseen, proofs, limits],
    ],
    commit: () => {
      const report = graph.commit();
      if (!talliesOf.stage()) return report;
      const { revision, computed } = graph.commit();
      return { revision, computed: report.computed + computed };
    },
  };
}

/** What the sources declare, and which documents go where. */
function wireDesired(graph: Graph, inputs: EngineInputs, accepts: ReturnType<typeof joinAccepts>) {
  const { files, sources, lastKnownGood, observed } = inputs;
  const documents = deriveDocuments(graph, files);
  const fileProofs = deriveFileProofs(graph, sources, files);
  const doubts = indexDoubts(graph, fileProofs);
  const declarations = deriveDeclarations(graph, {
    ...{ documents, sources, fileProofs, doubts, lastKnownGood, observed, accepts },
  });
  const clusters = deriveClusters(graph, declarations);
  const policy = derivePolicy(graph, declarations);
  const clusterIndex = indexClusters(graph, clusters);
  const placements = derivePlacements(graph, declarations, clusterIndex);
  const placementsByFolder = indexPlacements(graph, placements);
  const assignments = deriveAssignments(graph, documents, placementsByFolder, clusterIndex);
  return {
    ...{ documents, fileProofs, doubts, declarations, clusters, clusterIndex, policy },
    ...{ placements, placementsByFolder, assignments },
  };
}

/** The domains, in their order: what they derive from live state is scoped by desired state alone. */
function wireDomains(
  graph: Graph,
  inputs: EngineInputs,
  { declarations, clusters, clusterIndex, policy }: ReturnType<typeof wireDesired>,
  among: readonly Domain[],
) {
  const earlier = new Map<string, DomainParts>();
  return among.map((domain): WiredDomain => {
    const settings = deriveSettings(graph, inputs, policy, domain);
    const parts = domain.derive(graph, {
      inputs,
      declarations,
      clusters,
      clusterIndex,
      settings,
      earlier: new Map(earlier),
    });
    earlier.set(domain.name, parts);
    return { domain, parts };
  });
}

function deriveSettings(
  graph: Graph,
  { fleet }: EngineInputs,
  policy: Derived<PolicyValue>,
  { name, settings = () => null }: Domain,
): Derived<JsonValue> {
  return graph.derive<FleetSettings, JsonValue>({
    name: `${name}Settings`,
    from: fleet,
    reads: [policy],
    compute: (_entry, read, emit) => emit('', '', settings(read.get(policy, '', '')?.value ?? defaultFleetPolicy)),
  });
}

/** What documents and domains want in each cluster. */
function wireWants(
  graph: Graph,
  inputs: EngineInputs,
  { documents, assignments, doubts }: ReturnType<typeof wireDesired>,
  wired: readonly WiredDomain[],
) {
  const { agents, kinds, ledger } = inputs;
  const kindScopes = deriveKindScopes(graph, { documents, kinds, ledger });
  const documentWants = deriveDocumentWants(graph, { assignments, documents, kindScopes, agents, doubts });
  const wants: readonly Derived<Want>[] = [documentWants, ...wired.flatMap(({ parts }) => parts.wants ?? [])];
  return { documentWants, candidates: deriveCandidates(graph, wants) };
}

/** From what is wanted and what is held to what is sent: removal needs proof and sight, and passes the guards. */
function wireOutputs(
  graph: Graph,
  inputs: EngineInputs,
  desired: ReturnType<typeof wireDesired>,
  wired: readonly WiredDomain[],
  { documentWants, candidates }: ReturnType<typeof wireWants>,
) {
  const { fleet, ledger } = inputs;
  const { documents, declarations, clusters, policy, placements, assignments } = desired;
  const bySource = wired.flatMap(({ parts }) => parts.collections.bySource);
  const anywhere = wired.flatMap(({ parts }) => parts.collections.anywhere);
  const proofs = deriveSourceProofs(
    graph,
    desired.fileProofs,
    [documents, assignments, documentWants, ...bySource, candidates].map(({ failures }) => failures),
    [declarations, placements, ...anywhere].map(({ failures }) => failures),
  );
  const liveReads = joinLiveReads(wired.map(({ domain }) => domain.readsLive));
  const collisions = new Map(wired.flatMap(({ domain: { name }, parts }) => pairOf(name, parts.collisions)));
  const safeMode = deriveSafeMode(graph, { ...inputs, policy, clusters, liveReads });
  const doubts = indexDoubts(graph, proofs);
  const documentsByFile = indexDocumentsByFile(graph, documents);
  const decisions = deriveDecisions(graph, {
    ...inputs,
    ...{ candidates, clusters, proofs, doubts, documentsByFile, safeMode, liveReads, collisions },
  });
  const limits = deriveGuardLimits(graph, fleet, policy, inputs.lastKnownGood);
  const guards = deriveGuards(graph, { ...inputs, decisions, clusters, limits });
  const outputs = deriveOutputs(graph, { ...inputs, decisions, guards });
  const pending = derivePending(graph, outputs, ledger);
  return { proofs, safeMode, decisions, limits, outputs, pending, collisions };
}

function pairOf<Key, Value>(key: Key, value: Value | undefined): readonly (readonly [Key, Value])[] {
  return value === undefined ? [] : [[key, value]];
}

function derivedGroupsOf({ isDerived, origins, state, health }: Progress): readonly string[] {
  if (isDerived !== true) return [];
  const states = health === undefined ? [state] : [state, health.state];
  return origins.flatMap((origin) => states.map((each) => derivedGroup(origin, each)));
}

function declareIndexes(
  graph: Graph,
  inputs: EngineInputs,
  from: Pick<Engine, 'assignments' | 'declarations' | 'candidates' | 'outputs' | 'progress'>,
): EngineIndexes {
  return {
    unplaced: graph.index('unplaced', from.assignments, ({ value }) => (value.clusters.length === 0 ? ['all'] : [])),
    troubledDeclarations: graph.index<Declared>('troubledDeclarations', from.declarations, ({ value }) => [
      ...(value.losers.length > 0 ? ['declaredTwice'] : []),
      ...(value.isLastKnownGood ? ['lastKnownGood'] : []),
    ]),
    contested: graph.index('contested', from.candidates, ({ value }) => (value.length > 1 ? ['all'] : [])),
    keeps: graph.index('keeps', from.outputs, ({ partition, value }) =>
      value.type === 'keep' || value.type === 'held' ? [partition] : [],
    ),
    held: graph.index('held', from.outputs, ({ value }) => (value.type === 'held' ? ['all'] : [])),
    progress: graph.index('progressByState', from.progress, ({ partition, value }) => [
      progressGroup(partition, value.state),
      ...sourcesOf(value).map((source) => progressGroup(partition, value.state, source)),
    ]),
    health: graph.index('health', from.progress, ({ partition, value }) => {
      const { health } = value;
      return health === undefined
        ? []
        : ['', ...sourcesOf(value)].map((source) => healthGroup(partition, health.state, source));
    }),
    ledgerByScope: graph.index('ledgerByScope', inputs.ledger, ({ value }) => value.scope),
    progressByObject: graph.index('progressByObject', from.progress, ({ key }) => [key]),
  };
}

function sourcesOf({ origins }: Progress): readonly string[] {
  const [first, ...others] = origins;
  if (first === undefined || others.length === 0) return first === undefined ? [] : [first.source];
  return [...new Set(origins.map(({ source }) => source))];
}

/** How many outputs of a cluster are in each state; of one source if given. */
export function countProgress(
  engine: Engine,
  cluster: string,
  source?: string,
): Readonly<Record<ProgressState, number>> {
  return tally(progressStates, (state) => engine.indexes.progress.count(progressGroup(cluster, state, source)));
}
