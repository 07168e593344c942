import type { EntryAddress } from '../../engine/collections/types.ts';
import type { DomainReport } from '../../engine/domain.ts';
import type { Engine } from '../../engine/graph.ts';
import type { DeclaredStatus } from '../../engine/status/declared-status.ts';
import { objectStatus, revisionStatus } from '../../engine/status/rollout.ts';
import { printYaml } from '../../manifest/print-yaml.ts';
import type { Condition } from '../../model/fleet/conditions.ts';
import type { Diagnostic } from '../../model/fleet/diagnostic.ts';
import { isEngineKind } from '../../model/fleet/engine-kinds.ts';
import { isStatusKey } from '../../model/objects/object-key.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../model/text/json.ts';
import { inSlices } from '../../model/values/in-slices.ts';
import { createSharing } from '../../model/values/shared-values.ts';
import type { Clock } from '../../ports/clock.ts';
import type { SourceTable } from '../source-table.ts';
import type { ObservedStatuses } from './observed-statuses.ts';
import { createRevisionFiles } from './revision-files.ts';
import {
  declaredDocument,
  nothingWritten,
  objectDocument,
  revisionDocument,
  sourceDocument,
  statusPath,
  type WrittenBefore,
  writtenBefore,
} from './status-documents.ts';

/** The pause between two slices of rendering, so that commits and agents go first. */
const PAUSE_MS = 10;

/** The new text of each path; null: the file is removed. */
export type StatusChanges = ReadonlyMap<string, string | null>;

interface RendererDeps {
  readonly engine: Engine;
  readonly sources: SourceTable;
  /** Sources of custom resources whose status is written there: their declarations have no file. */
  readonly customSources: ReadonlySet<string>;
  /** Receives the texts of the branch, and the statuses that were written there. */
  readonly observed: Pick<ObservedStatuses, 'branchRead' | 'written'>;
  /** The engine's diagnostics of a source, with lines. */
  readonly diagnosticsOf: (source: string) => Promise<readonly Diagnostic[]>;
  readonly clock: Pick<Clock, 'monotonic' | 'sleep'>;
}

export type StatusRenderer = ReturnType<typeof createStatusRenderer>;

/**
 * Renders the status files whose subject has changed since they were rendered last, in slices. Each file says what the engine has when
 * it is rendered; what a commit changes after that is noted for the next rendering.
 */
export function createStatusRenderer(deps: RendererDeps) {
  const { engine, sources, diagnosticsOf, clock } = deps;
  const documents = engine.domains.flatMap(({ report }) => report.documents ?? []);
  const dirty = trackDirty(engine, sources, documents);
  const rendered = createRenderedStatuses(deps.observed);
  const revisions = createRevisionFiles();
  const writer = createWriter();
  const { beforeAt, putChanged } = writer;
  const parts: Parts = { ...deps, documents, rendered, revisions, writer };

  const putSources = async (changes: Map<string, string | null>, now: number): Promise<void> => {
    for (const state of sources.all()) {
      const { admitted } = state;
      const path = statusPath.source(state.source.name);
      if (state.condition.state !== 'pending') putChanged(changes, path, sourceDocument(state, beforeAt(path), now));
      if (admitted === undefined) continue;
      const { source, revision } = admitted;
      const found = await diagnosticsOf(source);
      const written = beforeAt(statusPath.revision(source, revision));
      const document = revisionDocument(admitted, revisionStatus(engine, source), found, written, now);
      for (const [path, file] of revisions.put(source, revision, document)) putChanged(changes, path, file);
    }
  };
  const isSeen = (): boolean =>
    [...engine.clusters.entries('')].every(({ key }) => engine.inputs.snapshots.get('', key) !== undefined);
  /** Whether a file of the branch that was not rendered has no subject any more. */
  const isOver = (path: string): boolean =>
    !isRevision(path) && (documents.every(({ folder }) => !path.startsWith(`${folder}/`)) || isSeen());

  return {
    /**
     * Takes the files of the branch: conditions keep their times, and files of revisions stay. A text that is not YAML is
     * ignored. Other writers may have changed files: a time later than `now` (milliseconds since 1970) counts as `now`.
     */
    load: async (
      files: ReadonlyMap<string, string>,
      parse: (text: string) => JsonValue,
      now: number,
    ): Promise<void> => {
      writer.forget();
      dirty.noteAll();
      await inSlices(clock, loadFiles(parts, files, parse, now));
      deps.observed.branchRead(files);
    },
    /** Notes the changes of the last commit. */
    note: dirty.note,
    hasWork: dirty.any,
    /**
     * Renders all noted changes. The first result after `load` is the complete set. Loaded files stay until `complete` (every
     * source has been read); then files without a subject are removed, except files of revisions, and documents of domains
     * while a registered cluster has sent no snapshot.
     */
    render: async (now: number, complete: boolean): Promise<StatusChanges> => {
      const changes = new Map<string, string | null>();
      const noted = dirty.drain();
      try {
        await inSlices(clock, putNoted(parts, changes, noted, now), PAUSE_MS);
        await putSources(changes, now);
      } catch (error) {
        dirty.putBack(noted);
        throw error;
      }
      return new Map([...writer.carried(complete ? isOver : () => false), ...changes]);
    },
    /** The branch has these texts now. */
    published: rendered.published,
  };
}

interface Parts extends Pick<RendererDeps, 'engine' | 'customSources'> {
  readonly documents: readonly NonNullable<DomainReport['documents']>[];
  readonly rendered: ReturnType<typeof createRenderedStatuses>;
  readonly revisions: ReturnType<typeof createRevisionFiles>;
  readonly writer: ReturnType<typeof createWriter>;
}

/** Renders the files of what was noted. Yields after each. */
function* putNoted(
  { engine, customSources, documents, rendered, writer: { beforeAt, put } }: Parts,
  changes: Map<string, string | null>,
  { objects, declared, paths }: Noted,
  now: number,
): Generator<undefined> {
  const isOnBranch = ({ origin }: DeclaredStatus): boolean => origin === undefined || !customSources.has(origin.source);
  for (const key of objects) {
    const status = objectStatus(engine, key);
    const path = statusPath.object(key);
    put(changes, path, status === undefined ? null : objectDocument(key, status, beforeAt(path), now));
    yield;
  }
  for (const [path, { partition, key }] of declared) {
    const status = engine.statuses.get(partition, key);
    const isThere = status?.path === path && isOnBranch(status) && status.isOfOthers !== true;
    const document = isThere ? declaredDocument(status, beforeAt(path), now) : null;
    put(changes, path, document);
    rendered.note(path, { partition, key }, changes.get(path) ?? null, document);
    yield;
  }
  for (const path of paths) {
    const found = documents.map(({ of }) => of.get('', path)).find((document) => document !== undefined);
    put(changes, path, found ?? null);
    yield;
  }
}

/** Takes the files of the branch. Yields after each. */
function* loadFiles(
  { writer, revisions }: Parts,
  files: ReadonlyMap<string, string>,
  parse: (text: string) => JsonValue,
  now: number,
): Generator<undefined> {
  for (const [path, text] of files) {
    const value = parseOrNothing(text, parse);
    if (value !== undefined) writer.load(path, text, writtenBefore(value, now));
    if (isRevision(path) && isJsonObject(value)) revisions.load(path, value);
    yield;
  }
}

/** The rendered statuses that may not be on the branch yet, by path. */
function createRenderedStatuses(observed: Pick<ObservedStatuses, 'written'>) {
  const waiting = new Map<string, EntryAddress & { readonly text: string; readonly status: JsonObject }>();
  return {
    /** Null: the file is removed. */
    note: (path: string, address: EntryAddress, text: string | null, document: JsonObject | null): void => {
      if (text === null || document === null || !isJsonObject(document.status)) waiting.delete(path);
      else waiting.set(path, { ...address, text, status: document.status });
    },
    published: (changes: StatusChanges): void => {
      for (const [path, text] of changes) {
        const written = waiting.get(path);
        if (written === undefined || written.text !== text || !isEngineKind(written.partition)) continue;
        waiting.delete(path);
        observed.written(written.partition, written.key, written.status);
      }
    },
  };
}

/** Makes texts of documents, and keeps what the next version of each file depends on. */
function createWriter() {
  const before = new Map<string, WrittenBefore>();
  /** The last texts of files that are rendered each time. */
  const last = new Map<string, string>();
  /** Files of the branch at the last load that were not rendered since. */
  const loaded = new Map<string, string>();
  let isFirst = true;
  const shared = createSharedParts();
  const textOf = (path: string, document: JsonObject | null): string | null => {
    loaded.delete(path);
    if (document === null) before.delete(path);
    else before.set(path, shared(writtenBefore(document)));
    return document === null ? null : printYaml(document);
  };
  return {
    forget: (): void => {
      for (const map of [before, last, loaded]) map.clear();
      isFirst = true;
    },
    load: (path: string, text: string, written: WrittenBefore): void => {
      before.set(path, shared(written));
      loaded.set(path, text);
    },
    beforeAt: (path: string): WrittenBefore => before.get(path) ?? nothingWritten,
    put: (changes: Map<string, string | null>, path: string, document: JsonObject | null): void => {
      changes.set(path, textOf(path, document));
    },
    /** As `put`, if the text differs from the last one. */
    putChanged: (changes: Map<string, string | null>, path: string, document: JsonObject | null): void => {
      const text = textOf(path, document);
      if (text !== null && last.get(path) === text) return;
      if (text === null) last.delete(path);
      else last.set(path, text);
      changes.set(path, text);
    },
    /** The loaded files that stay, once, and those that are removed. */
    carried: (isOver: (path: string) => boolean): StatusChanges => {
      const changes = new Map<string, string | null>();
      for (const [path, text] of loaded) {
        if (isOver(path)) changes.set(path, textOf(path, null));
        else if (isFirst) changes.set(path, text);
      }
      isFirst = false;
      return changes;
    },
  };
}

/** Makes equal parts of files the same object: most files are in the same state, and are written at the same time. */
function createSharedParts(): (written: WrittenBefore) => WrittenBefore {
  const shared = createSharing<WrittenBefore>();
  return (written) => shared({ ...written, conditions: written.conditions.map(neededLater) });
}

/** The time of a condition depends on its state alone, unless it has the time of its last update. */
function neededLater(condition: Condition): Condition {
  return condition.lastUpdateTime === undefined ? { ...condition, reason: '', message: '' } : condition;
}

function parseOrNothing(text: string, parse: (text: string) => JsonValue): JsonValue | undefined {
  try {
    return parse(text);
  } catch {
    return undefined;
  }
}

function isRevision(path: string): boolean {
  return path.startsWith('revisions/');
}

/** Subjects whose status may have changed. */
interface Noted {
  readonly objects: readonly string[];
  /** Addresses in the engine's statuses, by the path of the file. */
  readonly declared: ReadonlyMap<string, EntryAddress>;
  /** Of documents of the domains. */
  readonly paths: readonly string[];
}

/** Collects the subjects whose status may have changed, commit by commit. */
function trackDirty(
  engine: Engine,
  sources: SourceTable,
  documents: readonly NonNullable<DomainReport['documents']>[],
) {
  const progress = engine.graph.watch(engine.progress);
  const statuses = engine.graph.watch(engine.statuses);
  const watched = documents.map(({ of }) => engine.graph.watch(of));
  const objects = new Set<string>();
  const declared = new Map<string, EntryAddress>();
  const paths = new Set<string>();
  // Statuses are counted, and have no files.
  const noteObject = (key: string): void => {
    if (!isStatusKey(key)) objects.add(key);
  };
  let revisions = '';
  let anything = false;
  return {
    noteAll: (): void => {
      for (const name of engine.progress.partitions()) {
        for (const { key } of engine.progress.entries(name)) noteObject(key);
      }
      for (const kind of engine.statuses.partitions()) {
        for (const { key, value } of engine.statuses.entries(kind)) declared.set(value.path, { partition: kind, key });
      }
      for (const { of } of documents) for (const { key } of of.entries('')) paths.add(key);
      anything = true;
    },
    any: () => anything,
    note: (): void => {
      const moved = progress.take();
      for (const { key } of moved) noteObject(key);
      const changed = statuses.take();
      for (const { partition, key, before, after } of changed) {
        if (before !== undefined) declared.set(before.path, { partition, key });
        if (after !== undefined) declared.set(after.path, { partition, key });
      }
      const rewritten = watched.flatMap((watch) => watch.take());
      for (const { key } of rewritten) paths.add(key);
      // A revision that changes no output, and a failing source, have a status too.
      const entered = JSON.stringify(sources.all().map(({ condition, admitted }) => [condition, admitted?.revision]));
      anything ||= moved.length + changed.length + rewritten.length > 0 || entered !== revisions;
      revisions = entered;
    },
    drain: (): Noted => {
      const drained = { objects: [...objects], declared: new Map(declared), paths: [...paths] };
      objects.clear();
      declared.clear();
      paths.clear();
      anything = false;
      return drained;
    },
    putBack: (noted: Noted): void => {
      for (const key of noted.objects) objects.add(key);
      for (const path of noted.paths) paths.add(path);
      for (const [path, address] of noted.declared) if (!declared.has(path)) declared.set(path, address);
      anything = true;
    },
  };
}
