import { isJsonObject, type JsonObject, type JsonValue } from '../../model/json.ts';
import { statusPath } from './status-documents.ts';

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
