import { compareText, type JsonObject } from '../../model/text/json.ts';
import { statusPath } from './status-documents.ts';

/** Files of revisions that are kept for each source. */
const KEPT = 50;

/** The files of the revisions of each source: the newest ones are kept. */
export function createRevisionFiles() {
  const files = new Map<string, JsonObject>();
  const admittedAt = (path: string): string => String(files.get(path)?.admittedAt ?? '');
  const byAdmission = (a: string, b: string): number => compareText(admittedAt(a), admittedAt(b)) || compareText(a, b);

  return {
    load: (path: string, value: JsonObject) => void files.set(path, value),
    /**
     * Puts the file of the current revision. Returns the changed files: the current one, the superseded one, and those that
     * are too old to keep (null).
     */
    put: (source: string, revision: string, document: JsonObject): ReadonlyMap<string, JsonObject | null> => {
      const changes = new Map<string, JsonObject | null>();
      const current = statusPath.revision(source, revision);
      const older = [...files.keys()]
        .filter((path) => path.startsWith(statusPath.revisionsOf(source)) && path !== current)
        .sort(byAdmission);
      for (const path of older) {
        const file = files.get(path);
        if (file !== undefined && file.supersededBy === undefined) {
          changes.set(path, { ...file, supersededBy: revision });
        }
      }
      for (const path of older.slice(0, -(KEPT - 1))) changes.set(path, null);
      changes.set(current, document);
      for (const [path, file] of changes) {
        if (file === null) files.delete(path);
        else files.set(path, file);
      }
      return changes;
    },
  };
}
