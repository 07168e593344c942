import type { FileReading } from '../../model/desired.ts';
import type { SnapshotStore } from '../../ports/snapshot-store.ts';
import { readMap } from '../stored/read-map.ts';
import type { MapReading, StoredMap, ValueCodec } from '../stored/stored-map.ts';
import { type AdmissionRecord, isSameAdmission, parseAdmissionRecord } from './admission-record.ts';
import { ADMISSION_KEY, readAdmission, readJson } from './records.ts';
import { type FileChanges, isSameReading, type StagedSources } from './staged-sources.ts';

/** A source's files as the leader has read them. */
export const treeName = (source: string): string => `trees/${source}`;

export const fileCodec: ValueCodec<FileReading> = {
  encode: (file) => file as never,
  decode: (json) => json as unknown as FileReading,
  equals: isSameReading,
};

/** An admission as read from the store, with what leads to it from what is staged. */
export interface FollowedAdmission {
  readonly record: AdmissionRecord;
  readonly changes: ReadonlyMap<string, FileChanges>;
}

/** Reads from the store what the leader has admitted. */
export interface FollowedTrees {
  /** The record alone; undefined: there is none. Rejects when the store cannot be asked. */
  peek(): Promise<AdmissionRecord | undefined>;
  /** The admission whole; undefined: its files are not all there just now. */
  read(record: AdmissionRecord): Promise<FollowedAdmission | undefined>;
  /** Reads what the store has of these sources' files, for whoever is going to write them. Rejects as above. */
  reread(sources: readonly string[]): Promise<void>;
  /** What the store had of a source's files then; undefined: it could not be asked. */
  last(source: string): MapReading<FileReading> | undefined;
}

export function createFollowedTrees(store: SnapshotStore, staged: StagedSources): FollowedTrees {
  const readings = new Map<string, MapReading<FileReading>>();
  const before = (source: string): StoredMap<FileReading> | undefined => {
    const reading = readings.get(source);
    return reading?.type === 'complete' ? reading.map : undefined;
  };
  return {
    last: (source) => readings.get(source),
    reread: async (sources) => {
      const known = new Map(sources.map((name) => [name, before(name)]));
      readings.clear();
      for (const [name, map] of known) readings.set(name, await readMap(store, treeName(name), fileCodec, map));
    },
    peek: async () => parseAdmissionRecord((await readJson(store, ADMISSION_KEY)).value),
    read: async (record) => {
      const changes = new Map<string, FileChanges>();
      for (const { name, at, engine } of record.sources) {
        const known = staged.source(name);
        if (at === undefined || isSameAdmission(known?.at, at)) continue;
        const reading = await readMap(store, treeName(name), fileCodec, before(name));
        readings.set(name, reading);
        // Another admission may be on its way into the store: its files come first.
        if (reading.type !== 'complete' || !isSameAdmission(readAdmission(reading.map.meta), at)) return undefined;
        // Another generation of the engine may have read the same files otherwise.
        const files = known?.engine === engine ? [] : reading.map.values;
        changes.set(name, new Map([...staged.difference(name, reading.map.values), ...files]));
      }
      return { record, changes };
    },
  };
}
