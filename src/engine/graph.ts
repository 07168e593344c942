import type { GuardLimits } from '../model/desired.ts';
import type { LedgerEntry } from '../model/ledger.ts';
import type { CommitReport, Contribution, Derived, Graph, Index } from './collections/types.ts';
import { type ClusterValue, deriveClusters, indexClusters } from './fleet/clusters.ts';
import { type Declarations, deriveDeclarations } from './fleet/declared.ts';
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
import { declareInputs, type EngineInputs } from './inputs.ts';
import type { Decision } from './output/decision.ts';
import { deriveDecisions } from './output/decisions.ts';
import { deriveGuards } from './output/guards.ts';
import { deriveOutputs, type Output } from './output/outputs.ts';
import { derivePending, type PendingChange } from './output/pending.ts';
import { type Assignment, deriveAssignments } from './placement/assignments.ts';
import { type Candidate, deriveCandidates, deriveWants } from './placement/candidates.ts';
import { deriveKindScopes } from './placement/kind-scopes.ts';
import { derivePlacements, indexPlacements, type PlacementValue } from './placement/placements.ts';
import { indexLiveServices } from './services/live-services.ts';
import { deriveMirrors, type MirrorValue, type ServiceExport } from './services/mirrors.ts';
import { deriveProgress, healthGroup, type Progress, progressStates } from './status/progress.ts';

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
  readonly mirrors: Derived<MirrorValue>;
  readonly exports: Derived<ServiceExport>;
  readonly candidates: Derived<readonly Contribution<Candidate>[]>;
  readonly safeMode: SafeMode;
  readonly decisions: Derived<Decision>;
  readonly outputs: Derived<Output>;
  readonly pending: Derived<PendingChange>;
  readonly progress: Derived<Progress>;
  readonly indexes: EngineIndexes;
  /** Everything derived, in the order of the graph; for diagnostics of failed functions. */
  readonly derived: readonly Derived<unknown>[];
  commit(): CommitReport;
}

/** Groups that status, explanation and the sender look things up by. */
export interface EngineIndexes {
  /** Documents that go nowhere; group `all`. */
  readonly unplaced: Index<Assignment>;
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

/** Group of all progress of one state in one cluster; with a source, of what came from it. */
export function progressGroup(cluster: string, state: string, source = ''): string {
  return `${source}/${cluster}/${state}`;
}

/** Wires the whole graph: reading this function and the two that it calls is reading the system. */
export function createEngine(graph: Graph): Engine {
  const inputs = declareInputs(graph);
  const desired = wireDesired(graph, inputs);
  const held = wireOutputs(graph, inputs, desired);
  const { mirroring, ...wanted } = desired;

  // How far it got.
  const progress = deriveProgress(graph, held.outputs, inputs.results, inputs.agents, inputs.ledger);

  const collections = {
    documents: wanted.documents,
    declarations: wanted.declarations,
    clusters: wanted.clusters,
    policy: wanted.policy,
    placements: wanted.placements,
    assignments: wanted.assignments,
    mirrors: mirroring.mirrors,
    exports: mirroring.exports,
    candidates: wanted.candidates,
    decisions: held.decisions,
    outputs: held.outputs,
    pending: held.pending,
    progress,
  };
  const { safeMode, proofs, limits } = held;
  return {
    graph,
    inputs,
    ...collections,
    sourceProofs: proofs,
    limits,
    safeMode,
    placementsByFolder: wanted.placementsByFolder,
    indexes: declareIndexes(graph, inputs, collections),
    derived: [
      ...Object.values(collections),
      ...[mirroring.feeds, wanted.wants, safeMode.mode, safeMode.unseen, proofs, limits],
    ],
    commit: () => graph.commit(),
  };
}

/** From files and live state to what each cluster is wanted to hold. */
function wireDesired(graph: Graph, inputs: EngineInputs) {
  const { files, sources, agents, ledger, live, lastKnownGood } = inputs;

  // What the sources declare.
  const documents = deriveDocuments(graph, files);
  const fileProofs = deriveFileProofs(graph, sources, files);
  const doubts = indexDoubts(graph, fileProofs);
  const declarations = deriveDeclarations(graph, { documents, sources, fileProofs, doubts, lastKnownGood });
  const clusters = deriveClusters(graph, declarations);
  const policy = derivePolicy(graph, declarations);

  // Who gets what.
  const clustersByPosting = indexClusters(graph, clusters);
  const placements = derivePlacements(graph, declarations, clustersByPosting);
  const placementsByFolder = indexPlacements(graph, placements);
  const assignments = deriveAssignments(graph, documents, placementsByFolder, clustersByPosting);
  const kindScopes = deriveKindScopes(graph, { documents, kinds: inputs.kinds, ledger });

  // What is known of one cluster in others: scoped by desired state alone.
  const liveServices = indexLiveServices(graph, live);
  const mirroring = deriveMirrors(graph, declarations, clustersByPosting, liveServices);

  const wants = deriveWants(graph, assignments, mirroring.exports);
  const candidates = deriveCandidates(graph, { documents, doubts, wants, kindScopes, agents, live, liveServices });
  const placing = { placements, placementsByFolder, assignments };
  return { documents, fileProofs, declarations, clusters, policy, ...placing, mirroring, wants, candidates };
}

/** From what is wanted and what is held to what is sent: removal needs proof and sight, and passes the guards. */
function wireOutputs(graph: Graph, inputs: EngineInputs, desired: ReturnType<typeof wireDesired>) {
  const { fleet, ledger } = inputs;
  const { documents, declarations, clusters, policy, placements, assignments, mirroring, wants, candidates } = desired;
  const proofs = deriveSourceProofs(
    graph,
    desired.fileProofs,
    [documents, assignments, mirroring.feeds, mirroring.exports, wants, candidates].map(({ failures }) => failures),
    [declarations, placements, mirroring.mirrors].map(({ failures }) => failures),
  );
  const safeMode = deriveSafeMode(graph, { ...inputs, policy, clusters });
  const doubts = indexDoubts(graph, proofs);
  const documentsByFile = indexDocumentsByFile(graph, documents);
  const decisions = deriveDecisions(graph, {
    ...inputs,
    ...{ candidates, clusters, proofs, doubts, documentsByFile, safeMode },
  });
  const limits = deriveGuardLimits(graph, fleet, policy, inputs.lastKnownGood);
  const guards = deriveGuards(graph, { ...inputs, decisions, clusters, limits });
  const outputs = deriveOutputs(graph, { ...inputs, decisions, guards });
  const pending = derivePending(graph, outputs, ledger);
  return { proofs, safeMode, decisions, limits, outputs, pending };
}

function declareIndexes(
  graph: Graph,
  inputs: EngineInputs,
  from: Pick<Engine, 'assignments' | 'candidates' | 'outputs' | 'progress'>,
): EngineIndexes {
  return {
    unplaced: graph.index('unplaced', from.assignments, ({ value }) => (value.clusters.length === 0 ? ['all'] : [])),
    contested: graph.index('contested', from.candidates, ({ value }) => (value.length > 1 ? ['all'] : [])),
    keeps: graph.index('keeps', from.outputs, ({ partition, value }) =>
      value.type === 'keep' || value.type === 'held' ? [partition] : [],
    ),
    held: graph.index('held', from.outputs, ({ value }) => (value.type === 'held' ? ['all'] : [])),
    progress: graph.index('progressByState', from.progress, ({ partition, value }) => [
      progressGroup(partition, value.state),
      ...[...new Set(value.origins.map((origin) => origin.source))].map((source) =>
        progressGroup(partition, value.state, source),
      ),
    ]),
    health: graph.index('health', from.progress, ({ partition, value: { health, origins } }) =>
      health === undefined
        ? []
        : ['', ...new Set(origins.map(({ source }) => source))].map((source) =>
            healthGroup(partition, health.state, source),
          ),
    ),
    ledgerByScope: graph.index('ledgerByScope', inputs.ledger, ({ value }) => value.scope),
    progressByObject: graph.index('progressByObject', from.progress, ({ key }) => [key]),
  };
}

/** How many outputs of a cluster are in each state; of one source if given. */
export function countProgress(
  engine: Engine,
  cluster: string,
  source?: string,
): Readonly<Record<(typeof progressStates)[number], number>> {
  const counts = progressStates.map((state) => [
    state,
    engine.indexes.progress.count(progressGroup(cluster, state, source)),
  ]);
  return Object.fromEntries(counts) as Record<(typeof progressStates)[number], number>;
}
