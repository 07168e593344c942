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
  /** Something may have changed that no commit shows (a source's diagnostics). */
  touch(): void;
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
  const watched = {
    progress: engine.graph.watch(engine.progress),
    agents: engine.graph.watch(engine.inputs.agents),
    clusters: engine.graph.watch(engine.clusters),
  };
  const dirtyObjects = new Set<string>();
  const dirtyClusters = new Set<string>();
  const before = new Map<string, WrittenBefore>();
  const revisions = createRevisionFiles();
  let dirty = false;
  let carryOver = false;

  const remember = (
    changes: Map<string, string | null>,
    path: string,
    document: JsonObject | null | undefined,
  ): void => {
    if (document === undefined || document === null) before.delete(path);
    else before.set(path, writtenBefore(document));
    changes.set(path, document === undefined || document === null ? null : printYaml(document));
  };
  const beforeAt = (path: string): WrittenBefore => before.get(path) ?? nothingWritten;
  const drain = (names: Set<string>): readonly string[] => {
    const drained = [...names];
    names.clear();
    return drained;
  };
  const renderRevisions = async (changes: Map<string, string | null>, now: number): Promise<void> => {
    for (const { admitted } of sources.all()) {
      if (admitted === undefined) continue;
      const { source, revision } = admitted;
      const found = await diagnosticsOf(source);
      const status = revisionStatus(engine, source);
      const document = revisionDocument(admitted, status, found, beforeAt(statusPath.revision(source, revision)), now);
      for (const [path, file] of revisions.put(source, revision, document)) remember(changes, path, file);
    }
  };

  return {
    load: (files) => {
      for (const [path, value] of files) {
        before.set(path, writtenBefore(value));
        revisions.load(path, value);
      }
      carryOver = true;
      dirty = true;
    },
    note: () => {
      for (const { partition, key } of watched.progress.take()) {
        dirtyObjects.add(key);
        dirtyClusters.add(partition);
        dirty = true;
      }
      for (const { key } of [...watched.agents.take(), ...watched.clusters.take()]) {
        dirtyClusters.add(key);
        dirty = true;
      }
    },
    touch: () => {
      dirty = true;
    },
    hasWork: () => dirty,
    render: async (now) => {
      const changes = new Map<string, string | null>();
      if (carryOver) for (const [path, file] of revisions.all()) remember(changes, path, file);
      carryOver = false;
      dirty = false;
      for (const key of drain(dirtyObjects)) {
        const status = objectStatus(engine, key);
        const path = statusPath.object(key);
        remember(changes, path, status && objectDocument(key, status, beforeAt(path), now));
      }
      for (const name of drain(dirtyClusters)) {
        const status = clusterStatus(engine, name);
        const path = statusPath.cluster(name);
        remember(changes, path, status && clusterDocument(status, beforeAt(path), now));
      }
      await renderRevisions(changes, now);
      return changes;
    },
  };
}
