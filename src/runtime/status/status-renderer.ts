import type { Change, EntryAddress } from '../../engine/collections/types.ts';
import type { Engine } from '../../engine/graph.ts';
import type { DeclaredStatus } from '../../engine/status/declared-status.ts';
import { objectStatus } from '../../engine/status/objects.ts';
import { revisionStatus } from '../../engine/status/revision.ts';
import { printYaml } from '../../manifest/print-yaml.ts';
import type { Diagnostic } from '../../model/diagnostic.ts';
import { engineKindIds, isEngineKind } from '../../model/engine-kinds.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../model/json.ts';
import type { SourceTable } from '../source-table.ts';
import type { ObservedStatuses } from './observed-statuses.ts';
import {
  declaredDocument,
  nothingWritten,
  objectDocument,
  revisionDocument,
  sourceDocument,
  statusPath,
  trustedStatus,
  type WrittenBefore,
  writtenBefore,
} from './status-documents.ts';

/** Path to new text, or null: the file goes. */
export type StatusChanges = ReadonlyMap<string, string | null>;

/** Renders the status files whose subject has changed since they were rendered last. */
export interface StatusRenderer {
  /**
   * Takes the files of the branch: conditions keep their times, revisions their files. A text that is no YAML is as good
   * as none. Others may have written there: a time later than `now` (milliseconds since 1970) counts as now.
   */
  load(files: ReadonlyMap<string, string>, parse: (text: string) => JsonValue, now: number): void;
  /** Notes what the last commit has changed. */
  note(): void;
  hasWork(): boolean;
  /**
   * Renders everything noted. The first result is the full set: what the branch held goes on being held until `complete`
   * (every source has been read), and only then what nobody speaks of any more goes.
   */
  render(now: number, complete: boolean): Promise<StatusChanges>;
  /** The branch has these texts now. */
  published(changes: StatusChanges): void;
}

interface RendererDeps {
  readonly engine: Engine;
  readonly sources: SourceTable;
  /** Sources of custom resources whose status is written there: what they declare has no file. */
  readonly customSources: ReadonlySet<string>;
  /** Is told what the branch says of declared objects, and what was written there. */
  readonly observed: Pick<ObservedStatuses, 'found' | 'written'>;
  /** What the engine has to say about a source, with lines. */
  readonly diagnosticsOf: (source: string) => Promise<readonly Diagnostic[]>;
}

export function createStatusRenderer(deps: RendererDeps): StatusRenderer {
  const { engine, sources, customSources, diagnosticsOf } = deps;
  const dirty = trackDirty(engine, sources);
  const observed = observeBranch(deps);
  const carried = createCarriedFiles();
  const revisions = createRevisionFiles();
  const writer = createWriter(carried);

  const { beforeAt, put, putChanged } = writer;
  const putSources = async (changes: Map<string, string | null>, now: number): Promise<void> => {
    for (const state of sources.all()) {
      const { admitted } = state;
      const sourcePath = statusPath.source(state.source.name);
      if (state.condition.state !== 'pending')
        putChanged(changes, sourcePath, sourceDocument(state, beforeAt(sourcePath), now));
      if (admitted === undefined) continue;
      const { source, revision } = admitted;
      const found = await diagnosticsOf(source);
      const written = beforeAt(statusPath.revision(source, revision));
      const document = revisionDocument(admitted, revisionStatus(engine, source), found, written, now);
      for (const [path, file] of revisions.put(source, revision, document)) putChanged(changes, path, file);
    }
  };
  const isOnBranch = ({ origin }: DeclaredStatus): boolean => origin === undefined || !customSources.has(origin.source);
  const putNoted = (changes: Map<string, string | null>, { objects, declared }: Noted, now: number): void => {
    for (const key of objects) {
      const status = objectStatus(engine, key);
      const path = statusPath.object(key);
      put(changes, path, status === undefined ? null : objectDocument(key, status, beforeAt(path), now));
    }
    for (const [path, { partition, key }] of declared) {
      const status = engine.statuses.get(partition, key);
      const isThere = status?.path === path && isOnBranch(status);
      const document = isThere ? declaredDocument(status, beforeAt(path), now) : null;
      put(changes, path, document);
      observed.rendered(path, { partition, key }, changes.get(path) ?? null, document);
    }
  };

  return {
    load: (files, parse, now) => {
      // Somebody else may have written since this process did.
      writer.forget();
      dirty.noteAll();
      const parsed = new Map<string, JsonValue>();
      for (const [path, text] of files) {
        const value = parseOrNothing(text, parse);
        if (value === undefined) continue;
        writer.load(path, writtenBefore(value, now));
        parsed.set(path, value);
        if (!revisions.load(path, value)) carried.add(path, text);
      }
      observed.loaded(parsed, now);
      dirty.touch();
    },
    note: dirty.note,
    published: observed.published,
    hasWork: dirty.any,
    render: async (now, complete) => {
      const changes = new Map<string, string | null>();
      const noted = dirty.drain();
      try {
        for (const [path, file] of revisions.unstated()) put(changes, path, file);
        putNoted(changes, noted, now);
        await putSources(changes, now);
      } catch (error) {
        dirty.putBack(noted);
        throw error;
      }
      return new Map([...carried.changes(complete), ...changes]);
    },
  };
}

/** What the branch says of declared objects, for the engine. */
function observeBranch({
  engine,
  observed,
  customSources,
}: Pick<RendererDeps, 'engine' | 'observed' | 'customSources'>) {
  /** Rendered and not known to be on the branch, by path. */
  const waiting = new Map<string, EntryAddress & { readonly text: string; readonly status: JsonObject }>();
  return {
    loaded: (files: ReadonlyMap<string, JsonValue>, now: number) => {
      for (const kind of engineKindIds) {
        for (const { key, value } of engine.statuses.entries(kind)) {
          const file = files.get(value.path);
          const isElsewhere = value.origin !== undefined && customSources.has(value.origin.source);
          if (isElsewhere || file === undefined || !isJsonObject(file)) continue;
          observed.found('branch', kind, key, trustedStatus(file.status, now));
        }
      }
    },
    rendered: (path: string, address: EntryAddress, text: string | null, document: JsonObject | null) => {
      if (text === null || document === null || !isJsonObject(document.status)) waiting.delete(path);
      else waiting.set(path, { ...address, text, status: document.status });
    },
    published: (changes: StatusChanges) => {
      for (const [path, text] of changes) {
        const written = waiting.get(path);
        if (written === undefined || written.text !== text || !isEngineKind(written.partition)) continue;
        waiting.delete(path);
        observed.written(written.partition, written.key, written.status);
      }
    },
  };
}

/** Files as texts, and what the next version of each depends on. */
function createWriter(carried: CarriedFiles) {
  const before = new Map<string, WrittenBefore>();
  /** Of files that are rendered each time: as they were handed over last. */
  const last = new Map<string, string>();
  const textOf = (path: string, document: JsonObject | null): string | null => {
    carried.spokenOf(path);
    if (document === null) before.delete(path);
    else before.set(path, writtenBefore(document));
    return document === null ? null : printYaml(document);
  };
  return {
    load: (path: string, written: WrittenBefore) => void before.set(path, written),
    forget: () => {
      before.clear();
      last.clear();
    },
    beforeAt: (path: string): WrittenBefore => before.get(path) ?? nothingWritten,
    put: (changes: Map<string, string | null>, path: string, document: JsonObject | null) => {
      changes.set(path, textOf(path, document));
    },
    /** Only what differs from the last time. */
    putChanged: (changes: Map<string, string | null>, path: string, document: JsonObject | null) => {
      const text = textOf(path, document);
      if (text !== null && last.get(path) === text) return;
      if (text === null) last.delete(path);
      else last.set(path, text);
      changes.set(path, text);
    },
  };
}

function parseOrNothing(text: string, parse: (text: string) => JsonValue): JsonValue | undefined {
  try {
    return parse(text);
  } catch {
    return undefined;
  }
}

/** Whose status may have changed. */
interface Noted {
  readonly objects: readonly string[];
  /** Addresses in the engine's statuses by the path of the file. */
  readonly declared: ReadonlyMap<string, EntryAddress>;
}

/** Collects, commit by commit, whose status may have changed. */
function trackDirty(engine: Engine, sources: SourceTable) {
  const progress = engine.graph.watch(engine.progress);
  const statuses = engine.graph.watch(engine.statuses);
  const objects = new Set<string>();
  const declared = new Map<string, EntryAddress>();
  let revisions = '';
  let anything = false;
  return {
    touch: () => {
      anything = true;
    },
    noteAll: () => {
      for (const name of engine.progress.partitions()) {
        for (const { key } of engine.progress.entries(name)) objects.add(key);
      }
      for (const kind of engine.statuses.partitions()) {
        for (const { key, value } of engine.statuses.entries(kind)) declared.set(value.path, { partition: kind, key });
      }
    },
    any: () => anything,
    note: () => {
      const moved: readonly Change<unknown>[] = progress.take();
      for (const { key } of moved) objects.add(key);
      const changed = statuses.take();
      for (const { partition, key, before, after } of changed) {
        if (before !== undefined) declared.set(before.path, { partition, key });
        if (after !== undefined) declared.set(after.path, { partition, key });
      }
      // A revision that changes no output is told of all the same, and so is trouble with a source.
      const entered = JSON.stringify(sources.all().map(({ condition, admitted }) => [condition, admitted?.revision]));
      anything ||= moved.length + changed.length > 0 || entered !== revisions;
      revisions = entered;
    },
    drain: (): Noted => {
      const drained = { objects: [...objects], declared: new Map(declared) };
      objects.clear();
      declared.clear();
      anything = false;
      return drained;
    },
    putBack: (noted: Noted) => {
      for (const key of noted.objects) objects.add(key);
      for (const [path, address] of noted.declared) if (!declared.has(path)) declared.set(path, address);
      anything = true;
    },
  };
}

/**
 * Files that the branch held when this process began, and that nobody has spoken of since. They stay until it is sure
 * that nobody will: a server that has read nothing yet must not empty the branch.
 */
export interface CarriedFiles {
  add(path: string, text: string): void;
  /** The file has been rendered, or is known to go. */
  spokenOf(path: string): void;
  /** What to say of them: once that they stay, and once everything has been read that they go. */
  changes(complete: boolean): ReadonlyMap<string, string | null>;
}

export function createCarriedFiles(): CarriedFiles {
  const files = new Map<string, string>();
  let stated = false;
  return {
    add: (path, text) => void files.set(path, text),
    spokenOf: (path) => void files.delete(path),
    changes: (complete) => {
      const changes = new Map<string, string | null>();
      if (!complete && !stated) for (const [path, text] of files) changes.set(path, text);
      if (complete) {
        // Files that were never stated need no removal: the first statement is the full set.
        if (stated) for (const path of files.keys()) changes.set(path, null);
        files.clear();
      }
      stated = true;
      return changes;
    },
  };
}

/** The files of a source's revisions, newest last; older ones than the kept are let go. */
export interface RevisionFiles {
  /** Takes what the branch holds; false if it is no file of a revision. */
  load(path: string, value: JsonValue): boolean;
  /**
   * Puts the file of the current revision and returns what changes: it, the file that it supersedes, and files that are
   * too old to keep (null).
   */
  put(source: string, revision: string, document: JsonObject): ReadonlyMap<string, JsonObject | null>;
  /** Once: the files that were loaded, so that they are stated and stay. */
  unstated(): ReadonlyMap<string, JsonObject>;
}

const KEPT = 50;

export function createRevisionFiles(): RevisionFiles {
  const files = new Map<string, JsonObject>();
  const loaded = new Map<string, JsonObject>();

  return {
    load: (path, value) => {
      if (!path.startsWith('revisions/') || !isJsonObject(value)) return false;
      files.set(path, value);
      loaded.set(path, value);
      return true;
    },
    put: (source, revision, document) => {
      const changes = new Map<string, JsonObject | null>();
      const current = statusPath.revision(source, revision);
      const older = [...files.keys()].filter(
        (path) => path.startsWith(statusPath.revisionsOf(source)) && path !== current,
      );
      for (const path of older) {
        const file = files.get(path);
        if (file === undefined || file.supersededBy !== undefined) continue;
        const superseded = { ...file, supersededBy: revision };
        files.set(path, superseded);
        changes.set(path, superseded);
      }
      for (const path of older.sort((a, b) => byAdmission(files, a, b)).slice(0, -(KEPT - 1))) {
        files.delete(path);
        changes.set(path, null);
      }
      files.set(current, document);
      changes.set(current, document);
      return changes;
    },
    unstated: () => {
      const all = new Map(loaded);
      loaded.clear();
      return all;
    },
  };
}

function byAdmission(files: ReadonlyMap<string, JsonObject>, a: string, b: string): number {
  const [first, second] = [String(files.get(a)?.admittedAt ?? ''), String(files.get(b)?.admittedAt ?? '')];
  return first < second ? -1 : first > second ? 1 : a < b ? -1 : 1;
}
