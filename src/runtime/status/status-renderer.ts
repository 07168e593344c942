import type { Change } from '../../engine/collections/types.ts';
import type { Engine } from '../../engine/graph.ts';
import { clusterStatus } from '../../engine/status/clusters.ts';
import { objectStatus } from '../../engine/status/objects.ts';
import { revisionStatus } from '../../engine/status/revision.ts';
import { printYaml } from '../../manifest/print-yaml.ts';
import type { Diagnostic } from '../../model/diagnostic.ts';
import type { JsonObject, JsonValue } from '../../model/json.ts';
import type { SourceTable } from '../source-table.ts';
import { createRevisionFiles } from './revision-files.ts';
import {
  clusterDocument,
  nothingWritten,
  objectDocument,
  revisionDocument,
  statusPath,
  type WrittenBefore,
  writtenBefore,
} from './status-documents.ts';

/** Path to new text, or null: the file goes. */
export type StatusChanges = ReadonlyMap<string, string | null>;

/** Renders the status files whose subject has changed since they were rendered last. */
export interface StatusRenderer {
  /** Takes the files of the branch: conditions keep their times, revisions their files. */
  load(files: ReadonlyMap<string, JsonValue>): void;
  /** Notes what the last commit has changed. */
  note(): void;
  hasWork(): boolean;
  /** Renders everything noted; after `load` also every kept file, so that the first result is the full set. */
  render(now: number): Promise<StatusChanges>;
}

interface RendererDeps {
  readonly engine: Engine;
  readonly sources: SourceTable;
  /** What the engine has to say about a source, with lines. */
  readonly diagnosticsOf: (source: string) => Promise<readonly Diagnostic[]>;
}

export function createStatusRenderer(deps: RendererDeps): StatusRenderer {
  const { engine, sources, diagnosticsOf } = deps;
  const dirty = trackDirty(engine);
  const before = new Map<string, WrittenBefore>();
  const revisions = createRevisionFiles();
  let carryOver = false;

  const beforeAt = (path: string): WrittenBefore => before.get(path) ?? nothingWritten;
  const put = (changes: Map<string, string | null>, path: string, document: JsonObject | null | undefined): void => {
    if (document === undefined || document === null) before.delete(path);
    else before.set(path, writtenBefore(document));
    changes.set(path, document === undefined || document === null ? null : printYaml(document));
  };
  const putRevisions = async (changes: Map<string, string | null>, now: number): Promise<void> => {
    for (const { admitted } of sources.all()) {
      if (admitted === undefined) continue;
      const { source, revision } = admitted;
      const found = await diagnosticsOf(source);
      const written = beforeAt(statusPath.revision(source, revision));
      const document = revisionDocument(admitted, revisionStatus(engine, source), found, written, now);
      for (const [path, file] of revisions.put(source, revision, document)) put(changes, path, file);
    }
  };

  return {
    load: (files) => {
      for (const [path, value] of files) {
        before.set(path, writtenBefore(value));
        revisions.load(path, value);
      }
      carryOver = true;
      dirty.touch();
    },
    note: dirty.note,
    hasWork: dirty.any,
    render: async (now) => {
      const changes = new Map<string, string | null>();
      if (carryOver) for (const [path, file] of revisions.all()) put(changes, path, file);
      carryOver = false;
      const { objects, clusters } = dirty.drain();
      for (const key of objects) {
        const status = objectStatus(engine, key);
        const path = statusPath.object(key);
        put(changes, path, status && objectDocument(key, status, beforeAt(path), now));
      }
      for (const name of clusters) {
        const status = clusterStatus(engine, name);
        const path = statusPath.cluster(name);
        put(changes, path, status && clusterDocument(status, beforeAt(path), now));
      }
      await putRevisions(changes, now);
      return changes;
    },
  };
}

/** Collects, commit by commit, whose status may have changed. */
function trackDirty(engine: Engine) {
  const progress = engine.graph.watch(engine.progress);
  const agents = engine.graph.watch(engine.inputs.agents);
  const declared = engine.graph.watch(engine.clusters);
  const objects = new Set<string>();
  const clusters = new Set<string>();
  let anything = false;
  return {
    touch: () => {
      anything = true;
    },
    any: () => anything,
    note: () => {
      const moved: readonly Change<unknown>[] = progress.take();
      for (const { partition, key } of moved) {
        objects.add(key);
        clusters.add(partition);
      }
      const changed: readonly Change<unknown>[] = [...agents.take(), ...declared.take()];
      for (const { key } of changed) clusters.add(key);
      anything ||= moved.length + changed.length > 0;
    },
    drain: () => {
      const drained = { objects: [...objects], clusters: [...clusters] };
      objects.clear();
      clusters.clear();
      anything = false;
      return drained;
    },
  };
}
