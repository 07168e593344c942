import type { GuardLimits, Placement } from '../model/desired.ts';
import type { CommitReport, Contribution, Derived, Graph, Index } from './collections/types.ts';
import { type ClusterValue, deriveClusters, indexClusters } from './fleet/clusters.ts';
import type { Declared } from './fleet/declared.ts';
import { deriveGuardLimits, derivePolicy, type PolicyValue } from './fleet/policy.ts';
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
import { type Decision, deriveDecisions } from './output/decisions.ts';
import { deriveGuards } from './output/guards.ts';
import { deriveOutputs, type Output } from './output/outputs.ts';
import { derivePending, type PendingChange } from './output/pending.ts';
import { type Assignment, deriveAssignments } from './placement/assignments.ts';
import { type Candidate, deriveCandidates } from './placement/candidates.ts';
import { deriveKindScopes } from './placement/kind-scopes.ts';
import { derivePlacements, indexPlacements, type PlacementValue } from './placement/placements.ts';
import { deriveProgress, healthGroup, type Progress, progressStates } from './status/progress.ts';

/** The engine: inputs to stage, a commit, and everything that follows from them. outputs = f(inputs, ledger), pure. */
export interface Engine {
  readonly graph: Graph;
  readonly inputs: EngineInputs;
  readonly documents: Derived<DocumentValue>;
  readonly sourceProofs: Derived<SourceProof>;
  readonly clusters: Derived<ClusterValue>;
  readonly policy: Derived<PolicyValue>;
  readonly limits: Derived<GuardLimits>;
  readonly placementDeclarations: Derived<Declared<Placement>>;
  readonly placements: Derived<PlacementValue>;
  readonly placementsByFolder: Index<PlacementValue>;
  readonly assignments: Derived<Assignment>;
  readonly candidates: Derived<readonly Contribution<Candidate>[]>;
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
  /** By object key, across clusters. */
  readonly progressByObject: Index<Progress>;
}

/** Group of all progress of one state in one cluster; with a source, of what came from it. */
export function progressGroup(cluster: string, state: string, source = ''): string {
  return `${source}/${cluster}/${state}`;
}

/** Wires the whole graph: reading this function is reading the system. */
export function createEngine(graph: Graph): Engine {
  const inputs = declareInputs(graph);
  const { files, sources, fleet, agents, results, ledger, approvals, heldRemovals, recentRemovals } = inputs;

  // What the sources declare.
  const documents = deriveDocuments(graph, files);
  const fileProofs = deriveFileProofs(graph, sources, files);
  const declarations = { documents, sources, fileProofs, doubts: indexDoubts(graph, fileProofs) };
  const clusters = deriveClusters(graph, declarations, inputs.lastReadClusters);
  const policy = derivePolicy(graph, declarations, inputs.lastReadPolicy);
  const limits = deriveGuardLimits(graph, fleet, policy, inputs.lastReadPolicy);

  // Who gets what.
  const clustersByPosting = indexClusters(graph, clusters);
  const { placements, declared } = derivePlacements(graph, declarations, inputs.lastReadPlacements, clustersByPosting);
  const placementsByFolder = indexPlacements(graph, placements);
  const assignments = deriveAssignments(graph, documents, placementsByFolder, clustersByPosting);
  const kindScopes = deriveKindScopes(graph, { documents, kinds: inputs.kinds, ledger });
  const candidates = deriveCandidates(graph, { ...declarations, assignments, kindScopes, agents });

  // What each cluster should hold: removal needs proof, and passes the guards.
  const proofs = deriveSourceProofs(
    graph,
    fileProofs,
    [documents.failures, assignments.failures, candidates.failures],
    [declared.failures, placements.failures],
  );
  const decisions = deriveDecisions(graph, {
    candidates,
    ledger,
    clusters,
    sources,
    proofs,
    doubts: indexDoubts(graph, proofs),
    documentsByFile: indexDocumentsByFile(graph, documents),
  });
  const guards = deriveGuards(graph, { decisions, ledger, clusters, fleet, limits, approvals, recentRemovals });
  const outputs = deriveOutputs(graph, { decisions, guards, approvals, heldRemovals });
  const pending = derivePending(graph, outputs, ledger);

  // How far it got.
  const progress = deriveProgress(graph, outputs, results, agents, ledger);

  const collections = {
    documents,
    clusters,
    policy,
    placementDeclarations: declared,
    placements,
    assignments,
    candidates,
    decisions,
    outputs,
    pending,
    progress,
  };
  const indexes = declareIndexes(graph, collections);
  const derived = Object.values(collections);
  return {
    graph,
    inputs,
    ...collections,
    sourceProofs: proofs,
    limits,
    placementsByFolder,
    indexes,
    derived,
    commit: () => graph.commit(),
  };
}

function declareIndexes(
  graph: Graph,
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
