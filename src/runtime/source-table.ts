import type { Engine } from '../engine/graph.ts';
import type { Diagnostic } from '../model/diagnostic.ts';
import type { RevisionRef } from '../model/output.ts';
import type { Clock } from '../ports/clock.ts';
import type { Log } from '../ports/log.ts';
import type { Source, SourceCondition, SourceListener } from '../ports/source.ts';
import type { LedgerRecords } from './ledger/records.ts';
import { rememberedPaths } from './ledger/remembered-paths.ts';
import type { Loop } from './loop.ts';
import type { AdmittedRevision, Intake } from './replica/intake.ts';

/** One source as the server knows it. */
export interface SourceState {
  readonly source: Source;
  readonly condition: SourceCondition;
  /** The revision that the outputs are computed from. */
  readonly admitted: AdmittedRevision | undefined;
}

/** The configured sources: starts them, hands on what they observe, and knows whether all have spoken. */
export interface SourceTable {
  /** `admitted`: the revision of a source that was admitted last, by whatever process. */
  start(admitted: (source: string) => string | undefined): void;
  get(name: string): SourceState | undefined;
  all(): readonly SourceState[];
  /** Every source has synced or failed once. */
  allHaveSpoken(): boolean;
  /** Every source has been read by this process, and does not wait for a person. */
  allWereRead(): boolean;
  /** Every source has been read and is whole. */
  allAreWhole(): boolean;
  revisions(): readonly RevisionRef[];
  diagnostics(): readonly Diagnostic[];
  stop(): Promise<void>;
}

/** How long the first commit waits for what the sources read, in milliseconds. */
const PATIENCE_MS = 1_000;

export function createSourceTable(deps: {
  readonly sources: readonly Source[];
  readonly intake: Intake;
  readonly engine: Engine;
  readonly loop: Loop;
  readonly records: LedgerRecords;
  readonly clock: Clock;
  readonly log: Log;
}): SourceTable {
  const { sources, engine, loop, log, intake, clock } = deps;
  const remembered = rememberedPaths(deps.records);
  const conditions = new Map<string, SourceCondition>(sources.map(({ name }) => [name, notReadYet(name)]));
  const observed = new Set<string>();
  let cancel = (): void => undefined;

  let hasBegun = false;
  const allHaveSpoken = (): boolean =>
    sources.every(({ name }) => observed.has(name) || conditions.get(name)?.state !== 'pending');
  // Even if nothing was staged: the start-up gate may open now, and from then on what is remembered is asked for.
  const lookAnew = (): void => {
    loop.transact(() => undefined);
    if (hasBegun || !allHaveSpoken()) return;
    hasBegun = true;
    loop.settle();
  };

  const listener: SourceListener = {
    observe: (observation) => {
      const { source, revision, state, changes } = observation;
      log.info('a revision was read', { source, revision, state, changedFiles: changes.length });
      observed.add(source);
      intake.observed(observation);
      lookAnew();
    },
    condition: (condition) => {
      conditions.set(condition.source, condition);
      logCondition(log, condition);
      intake.conditionChanged?.(condition.source);
      lookAnew();
    },
  };
  const stateOf = (source: Source): SourceState => ({
    source,
    condition: conditions.get(source.name) ?? notReadYet(source.name),
    admitted: intake.admitted(source.name),
  });
  const all = (): readonly SourceState[] => sources.map(stateOf);
  return {
    start: (admitted) => {
      // What the store remembers is computed together with what the sources read. If they take long, people see it before.
      cancel = clock.schedule(PATIENCE_MS, lookAnew);
      if (sources.length === 0) lookAnew();
      for (const source of sources) source.start(listener, admitted(source.name), remembered(source.name));
    },
    get: (name) => all().find(({ source }) => source.name === name),
    all,
    allHaveSpoken,
    allWereRead: () => sources.every(({ name }) => observed.has(name) && conditions.get(name)?.state !== 'refused'),
    allAreWhole: () => sources.every(({ name }) => engine.sourceProofs.get('', name) === 'whole'),
    revisions: () =>
      all().flatMap(({ source, admitted }) =>
        admitted === undefined ? [] : [{ source: source.name, revision: admitted.revision }],
      ),
    diagnostics: () => all().flatMap(({ admitted }) => admitted?.diagnostics ?? []),
    stop: async () => {
      cancel();
      await Promise.all(sources.map((source) => source.stop()));
    },
  };
}

/** It has synced or failed once. */
export function hasSpoken({ condition, admitted }: SourceState): boolean {
  return condition.state !== 'pending' || admitted !== undefined;
}

function notReadYet(source: SourceCondition['source']): SourceCondition {
  return { source, state: 'pending', reason: 'Starting', message: 'not read yet' };
}

function logCondition(log: Log, { source, state, reason, message, revision, refusedRevision }: SourceCondition): void {
  const data = { source, state, reason, detail: message, revision, refusedRevision };
  if (state === 'failing' || state === 'refused') log.warn('a source is in trouble', data);
  else log.debug('a source is fine', data);
}
