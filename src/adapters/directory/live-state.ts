import type { KindState } from '../../model/agent.ts';
import { type Diagnostic, diagnosticOf } from '../../model/diagnostic.ts';
import { compareText } from '../../model/json.ts';
import { displayKey, kindOf, nameOfKind, type ObjectKey } from '../../model/object-key.ts';
import type { LiveState, ObservedObject } from '../../ports/cluster-api.ts';
import { pathOfObject, placeOfPath } from './layout.ts';
import type { LiveFiles } from './live-files.ts';

/** Makes the live state of the files. Adds every kind of the files to `kinds`, by its name in lower case. */
export function composeLiveState(files: LiveFiles, kinds: Map<string, string>, paused: boolean): LiveState {
  const objects = new Map<ObjectKey, ObservedObject>();
  const diagnostics: Diagnostic[] = [];
  const unknown = new Map<string, string>();
  for (const path of [...files.files.keys()].sort(compareText)) {
    const file = files.files.get(path);
    for (const object of file?.objects ?? []) {
      rememberKind(kinds, object.key);
      const first = objects.get(object.key);
      if (first !== undefined) diagnostics.push(duplicate(object, first));
      if (first === undefined || isAtItsPath(object)) objects.set(object.key, object);
    }
    if (file?.problem !== undefined) {
      diagnostics.push(
        diagnosticOf({ severity: 'error', reason: 'UnreadableLiveFile', message: file.problem, at: { path } }),
      );
      markUnknown(unknown, kinds, path, file.objects);
    }
  }
  for (const { path, what } of files.skipped.values()) {
    diagnostics.push(
      diagnosticOf({ severity: 'warning', reason: 'SkippedLiveFile', message: `passed over: ${what}`, at: { path } }),
    );
    markUnknown(unknown, kinds, path, files.files.get(path)?.objects ?? []);
  }
  return { objects, kinds: kindStates(kinds, unknown), diagnostics, paused };
}

function isAtItsPath(object: ObservedObject): boolean {
  return object.stamp?.key === object.key && object.where === pathOfObject(object.key);
}

function duplicate(object: ObservedObject, first: ObservedObject): Diagnostic {
  return diagnosticOf({
    severity: 'warning',
    reason: 'DuplicateLiveObject',
    message: `${displayKey(object.key)} is in ${first.where} as well`,
    hint: 'delete one of the two',
    at: { path: object.where },
  });
}

function rememberKind(kinds: Map<string, string>, key: ObjectKey): void {
  const name = kindOf(key);
  kinds.set(name.toLowerCase(), name);
}

/** An unreadable path can hold any object of its folder's kind, and the objects of its last successful read. */
function markUnknown(
  unknown: Map<string, string>,
  kinds: Map<string, string>,
  path: string,
  lastSeen: readonly ObservedObject[],
): void {
  const message = `${path} cannot be read`;
  const place = placeOfPath(path) ?? placeOfPath(`${path}/any`);
  if (place !== undefined) {
    const name = nameOfKind(place);
    if (!kinds.has(name)) kinds.set(name, name);
    unknown.set(name, message);
  }
  for (const { key } of lastSeen) unknown.set(kindOf(key).toLowerCase(), message);
}

function kindStates(kinds: ReadonlyMap<string, string>, unknown: ReadonlyMap<string, string>): readonly KindState[] {
  return [...kinds]
    .map(([name, kind]): KindState => {
      const message = unknown.get(name);
      return message === undefined ? { kind, state: 'complete', message: '' } : { kind, state: 'unknown', message };
    })
    .sort((a, b) => compareText(a.kind, b.kind));
}
