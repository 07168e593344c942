import type { Engine } from '../engine/graph.ts';
import type { FileReading } from '../model/desired.ts';
import type { Diagnostic } from '../model/diagnostic.ts';
import type { RevisionRef } from '../model/output.ts';
import type { Log } from '../ports/log.ts';
import type { RevisionObservation, Source, SourceCondition, SourceListener } from '../ports/source.ts';
import type { Ledger } from './ledger/ledger.ts';
import type { Loop } from './loop.ts';

/** One source as the server knows it. */
export interface SourceState {
  readonly source: Source;
  readonly condition: SourceCondition;
  /** The revision that entered last, in this process. */
  readonly admitted: RevisionObservation | undefined;
}

/** The configured sources: starts them, stages what they observe, and knows whether all have spoken. */
export interface SourceTable {
  start(): void;
  get(name: string): SourceState | undefined;
  all(): readonly SourceState[];
  /** Every source has synced or failed once. */
  allHaveSpoken(): boolean;
  /** Every source has been read and is whole. */
  allAreWhole(): boolean;
  revisions(): readonly RevisionRef[];
  diagnostics(): readonly Diagnostic[];
  stop(): Promise<void>;
}

export function createSourceTable(deps: {
  readonly sources: readonly Source[];
  readonly engine: Engine;
  readonly loop: Loop;
  readonly ledger: Ledger;
  readonly log: Log;
}): SourceTable {
  const { sources, engine, loop, ledger, log } = deps;
  const states = new Map<string, SourceState>();
  for (const [order, source] of sources.entries()) {
    const condition: SourceCondition = {
      source: source.name,
      state: 'pending',
      reason: 'Starting',
      message: 'not read yet',
    };
    states.set(source.name, { source, condition, admitted: undefined });
    engine.inputs.sources.set('', source.name, { order, read: false });
  }

  const listenerFor = (source: Source, order: number): SourceListener => ({
    observe: (observation) => {
      const before = states.get(source.name);
      if (before === undefined) return;
      states.set(source.name, { ...before, admitted: observation });
      const { revision, state, changes } = observation;
      log.info('a revision has entered', { source: source.name, revision, state, changedFiles: changes.length });
      loop.transact(() => {
        engine.inputs.sources.set('', source.name, { order, read: true });
        for (const { path, file } of changes) stageFile(engine, source.name, path, file);
      });
      ledger.setAdmittedRevision(source.name, revision);
      loop.settle();
    },
    condition: (condition) => {
      const before = states.get(source.name);
      if (before === undefined) return;
      states.set(source.name, { ...before, condition });
      logCondition(log, condition);
      // Even if nothing was staged: the start-up gate may open now.
      loop.transact(() => undefined);
    },
  });

  const all = (): readonly SourceState[] => [...states.values()];
  return {
    start: () => {
      loop.transact(() => undefined);
      loop.settle();
      for (const [order, source] of sources.entries()) {
        const remembered = rememberedPaths(engine, source.name);
        source.start(listenerFor(source, order), ledger.admittedRevision(source.name), remembered);
      }
    },
    get: (name) => states.get(name),
    all,
    allHaveSpoken: () => all().every(hasSpoken),
    allAreWhole: () => all().every(({ source }) => engine.sourceProofs.get('', source.name) === 'whole'),
    revisions: () =>
      all().flatMap(({ source, admitted }) =>
        admitted === undefined ? [] : [{ source: source.name, revision: admitted.revision }],
      ),
    diagnostics: () => all().flatMap(({ admitted }) => admitted?.diagnostics ?? []),
    stop: async () => {
      await Promise.all(sources.map((source) => source.stop()));
    },
  };
}

/** It has synced or failed once. */
export function hasSpoken({ condition, admitted }: SourceState): boolean {
  return condition.state !== 'pending' || admitted !== undefined;
}

function rememberedPaths({ inputs }: Engine, source: string): readonly string[] {
  const all = [inputs.lastReadClusters, inputs.lastReadPlacements, inputs.lastReadPolicy];
  return all.flatMap((lastRead) =>
    [...lastRead.entries('')].flatMap(({ value: { origin } }) => (origin.source === source ? [origin.path] : [])),
  );
}

function stageFile(engine: Engine, source: string, path: string, file: FileReading | null): void {
  if (file === null) engine.inputs.files.delete(source, path);
  else if (!file.readable) engine.inputs.files.set(source, path, { readable: false }, { blob: file.blob });
  else {
    const documents = file.documents.map(({ identity, content }) => ({ identity, content }));
    engine.inputs.files.set(source, path, { readable: true, documents }, { blob: file.blob });
  }
}

function logCondition(log: Log, { source, state, reason, message, revision, refusedRevision }: SourceCondition): void {
  const data = { source, state, reason, detail: message, revision, refusedRevision };
  if (state === 'failing' || state === 'refused') log.warn('a source is in trouble', data);
  else log.debug('a source is fine', data);
}
