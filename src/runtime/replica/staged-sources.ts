import type { Engine } from '../../engine/graph.ts';
import type { FileReading } from '../../model/desired.ts';
import type { Loop } from '../loop.ts';
import type { AdmissionCounter } from './admission-counter.ts';
import type { AdmissionRecord, AdmittedSource } from './admission-record.ts';
import { stageFile } from './intake.ts';

/** Changes of one source's files by path; null: it is gone. */
export type FileChanges = ReadonlyMap<string, FileReading | null>;

/** What of the sources is staged in this process: always one whole admission. */
export interface StagedSources {
  /** Undefined: nothing yet. */
  record(): AdmissionRecord | undefined;
  source(name: string): AdmittedSource | undefined;
  /** What is staged of a source, by path. */
  files(name: string): ReadonlyMap<string, FileReading>;
  /** What leads from what is staged of a source to these files. */
  difference(name: string, files: ReadonlyMap<string, FileReading>): FileChanges;
  /** Stages an admission with the changed files of its sources; `also` stages what belongs to the same moment. Commits. */
  enter(record: AdmissionRecord, changes: ReadonlyMap<string, FileChanges>, also?: () => void): void;
}

export function createStagedSources(deps: {
  readonly engine: Engine;
  readonly loop: Loop;
  readonly counter: AdmissionCounter;
}): StagedSources {
  const { engine, loop, counter } = deps;
  /** By source and path. */
  const staged = new Map<string, Map<string, FileReading>>();
  let current: AdmissionRecord | undefined;

  const stage = (name: string, changes: FileChanges): void => {
    const files = staged.get(name) ?? new Map<string, FileReading>();
    staged.set(name, files);
    for (const [path, file] of changes) {
      stageFile(engine, name, path, file);
      if (file === null) files.delete(path);
      else files.set(path, file);
    }
  };
  const forget = (name: string): void => {
    for (const path of staged.get(name)?.keys() ?? []) stageFile(engine, name, path, null);
    staged.delete(name);
    engine.inputs.sources.delete('', name);
  };

  return {
    record: () => current,
    source: (wanted) => current?.sources.find(({ name }) => name === wanted),
    files: (name) => staged.get(name) ?? new Map(),
    difference: (name, files) => {
      const before = staged.get(name);
      const changes = new Map<string, FileReading | null>();
      for (const path of before?.keys() ?? []) if (!files.has(path)) changes.set(path, null);
      for (const [path, file] of files) {
        const known = before?.get(path);
        if (known === undefined || !isSameReading(known, file)) changes.set(path, file);
      }
      return changes;
    },
    enter: (record, changes, also) => {
      const names = new Set(record.sources.map(({ name }) => name));
      loop.settle();
      loop.transact(() => {
        for (const { name } of current?.sources ?? []) if (!names.has(name)) forget(name);
        for (const [order, { name, revision }] of record.sources.entries()) {
          engine.inputs.sources.set('', name, { order, read: revision !== undefined });
        }
        for (const [name, files] of changes) stage(name, files);
        also?.();
      });
      current = record;
      counter.set(record.position);
      loop.settle();
    },
  };
}

/** Do two readings of one path say the same? */
export function isSameReading(a: FileReading, b: FileReading): boolean {
  return a.blob === b.blob && a.readable === b.readable;
}
