import type { RevisionRef } from '../model/fleet/output.ts';
import { compareText } from '../model/text/json.ts';
import type { Log } from '../ports/log.ts';
import type { Source, SourceCondition, SourceListener } from '../ports/source.ts';
import type { ServerCore } from './core.ts';
import type { LedgerRecords } from './ledger/records.ts';
import type { AdmittedRevision } from './replica/admission.ts';
import type { Intake } from './replica/sources.ts';

/** One source as the server knows it. */
export interface SourceState {
  readonly source: Source;
  readonly condition: SourceCondition;
  /** The revision that the outputs are computed from. */
  readonly admitted: AdmittedRevision | undefined;
  /** Files that are not read any more and that entries of the ledger come from: the source removes nothing. In canonical order. */
  readonly doubtful: readonly string[];
}

export type SourceTable = ReturnType<typeof createSourceTable>;

/** Time for which the first commit waits for the first reads of the sources, in milliseconds: without them it would be computed twice. */
const FIRST_READS_MS = 5_000;

/** The configured sources: starts them, passes on their observations, and knows whether each was read. */
export function createSourceTable(deps: ServerCore & { readonly sources: readonly Source[]; readonly intake: Intake }) {
  const { sources, engine, loop, log, intake, clock } = deps;
  const conditions = new Map<string, SourceCondition>(sources.map(({ name }) => [name, notReadYet(name)]));
  const observed = new Set<string>();
  let cancel = (): void => undefined;
  let hasBegun = false;
  warnOfVanishedSources(deps);

  let spoken = false;
  // A later revision that is being committed does not close the gate again.
  const allHaveSpoken = (): boolean => {
    spoken ||=
      intake.isStaging?.() !== true &&
      sources.every(({ name }) => observed.has(name) || conditions.get(name)?.state !== 'pending');
    return spoken;
  };
  const firstReads = createFirstReads(loop, allHaveSpoken);
  /** Commits even if nothing was staged: the start-up gate may open now, and the first commit stages what the ledger has. */
  const commit = (): void => {
    firstReads.commit();
    if (hasBegun || !allHaveSpoken()) return;
    hasBegun = true;
    void loop.settled();
  };
  const listener: SourceListener = {
    observe: (observation) => {
      const { source, revision, state, changes } = observation;
      log.info('a revision was read', { source, revision, state, changedFiles: changes.length });
      observed.add(source);
      intake.observed(observation);
      commit();
    },
    condition: (condition) => {
      conditions.set(condition.source, condition);
      logCondition(log, condition);
      intake.conditionChanged?.(condition.source, condition.state === 'synced');
      commit();
    },
  };
  const all = (): readonly SourceState[] =>
    sources.map((source) => ({
      source,
      condition: conditions.get(source.name) ?? notReadYet(source.name),
      admitted: intake.admitted(source.name),
      doubtful: Array.from(engine.doubtfulFiles.entries(source.name), ({ key: path }) => path).sort(compareText),
    }));
  return {
    /** `admitted`: the revision of a source that was admitted last, by this process or another. */
    start: (admitted: (source: string) => string | undefined): void => {
      // The ledger's state is committed together with the first reads. If these take long, it is committed before.
      cancel = clock.schedule(FIRST_READS_MS, commit);
      if (sources.length === 0) commit();
      for (const source of sources) source.start(listener, admitted(source.name), declaredPaths(deps, source.name));
    },
    get: (name: string) => all().find(({ source }) => source.name === name),
    all,
    /** Every source has synced or failed once, and what they reported first is staged. Stays true. */
    allHaveSpoken,
    /** What they reported first is committed, so that all other code sees it. Stays true. */
    isCommitted: firstReads.areCommitted,
    /** Every source has been read by this process, and does not wait for a person. */
    allWereRead: () =>
      intake.isStaging?.() !== true &&
      sources.every(({ name }) => observed.has(name) && conditions.get(name)?.state !== 'refused'),
    revisions: (): readonly RevisionRef[] =>
      all().flatMap(({ source, admitted }) =>
        admitted === undefined ? [] : [{ source: source.name, revision: admitted.revision }],
      ),
    diagnostics: () => all().flatMap(({ admitted }) => admitted?.diagnostics ?? []),
    stop: async (): Promise<void> => {
      cancel();
      await Promise.all(sources.map((source) => source.stop()));
    },
  };
}

/** Knows when the commit has been that contains what the sources reported first. */
function createFirstReads(loop: ServerCore['loop'], allHaveSpoken: () => boolean) {
  let areCommitted = false;
  const published = (): void => {
    areCommitted = true;
  };
  const commit = (): void => loop.transact(() => undefined, allHaveSpoken() ? { published } : {});
  // A revision that is staged first is admitted without a call of the listener.
  loop.addSink('readers', () => {
    if (!areCommitted && allHaveSpoken()) commit();
  });
  return { commit, areCommitted: () => areCommitted };
}

/** Whether the admitted revision proves no absence, so that the source removes nothing. */
export function isPartial({ admitted, doubtful }: Pick<SourceState, 'admitted' | 'doubtful'>): boolean {
  return admitted?.state === 'partial' || doubtful.length > 0;
}

/** True if the source has synced or failed once. */
export function hasSpoken({ condition, admitted }: SourceState): boolean {
  return condition.state !== 'pending' || admitted !== undefined;
}

function notReadYet(source: SourceCondition['source']): SourceCondition {
  return { source, state: 'pending', reason: 'Starting', message: 'not read yet' };
}

function logCondition(log: Log, { source, state, reason, message, revision, refusedRevision }: SourceCondition): void {
  const data = { source, state, reason, detail: message, revision, refusedRevision };
  if (state === 'failing' || state === 'refused') log.warn('a source is failing or refused', data);
  else log.debug('a source is pending or synced', data);
}

type Declared = { readonly records: Pick<LedgerRecords, 'declared'> };

function declaredIn({ records: { declared } }: Declared, kinds: Iterable<string> = declared.keys()) {
  return [...kinds].flatMap((kind) => [...(declared.get(kind) ?? [])].map(([key, { origin }]) => ({ key, origin })));
}

/** The paths of a source's declarations in the ledger. */
function declaredPaths(deps: Declared, source: string): readonly string[] {
  const own = declaredIn(deps).filter(({ origin }) => origin.source === source);
  return [...new Set(own.map(({ origin }) => origin.path))];
}

/**
 * Warns if a source that has declared clusters is not configured any more. Its declarations count as removed when every
 * configured source was read, which ends the registrations; a user who mistyped a name can still correct it.
 */
function warnOfVanishedSources(deps: Declared & { readonly sources: readonly Source[]; readonly log: Log }): void {
  const configured = new Set<string>(deps.sources.map(({ name }) => name));
  const vanished = declaredIn(deps, ['KubernetesCluster']).filter(({ origin }) => !configured.has(origin.source));
  for (const [source, clusters] of Map.groupBy(vanished, ({ origin }) => origin.source)) {
    deps.log.warn(
      'a source that has declared clusters is not configured any more: unless another source declares them, they are deregistered when every source was read',
      { source, clusters: clusters.map(({ key }) => key) },
    );
  }
}
