import { atMostOne, type Field, get, hasForm, inRange, items, nameOf, needed, report, word } from '../shared/field.ts';
import { reservedPathRule } from '../shared/names.ts';
import { checkDownwardFile, checkKeyToPath, checkMode } from './volume-files.ts';

/** Sources of certificates are not among them: API servers drop them unless a feature is on. */
const SOURCES = ['secret', 'configMap', 'downwardAPI', 'serviceAccountToken'];

/** Checks a projected volume: the files of several sources in one folder. */
export function checkProjected(volume: Field): void {
  checkMode(get(volume, 'defaultMode'));
  const paths = new Set<string>();
  for (const entry of items(get(volume, 'sources'))) {
    const source = atMostOne(entry, SOURCES);
    if (source === undefined) continue;
    for (const path of pathsOf(source)) {
      const found = word(path);
      if (found === undefined) continue;
      if (paths.has(found)) {
        report(
          path,
          'DuplicateValue',
          `${nameOf(path)} is ${JSON.stringify(found)}, which another file of the volume has too`,
        );
      }
      paths.add(found);
    }
  }
}

/** Checks a source and returns the paths of its files that no other source may have. */
function pathsOf(source: Field): readonly Field[] {
  switch (source.step) {
    case 'secret':
    case 'configMap': {
      needed(get(source, 'name'));
      const files = items(get(source, 'items'));
      for (const file of files) checkKeyToPath(file);
      return files.map((file) => get(file, 'path'));
    }
    case 'downwardAPI': {
      const files = items(get(source, 'items'));
      for (const file of files) checkDownwardFile(file);
      return files.map((file) => get(file, 'path'));
    }
    case 'serviceAccountToken':
      inRange(get(source, 'expirationSeconds'), 600, 2 ** 32);
      hasForm(get(source, 'path'), reservedPathRule, 'BadPath');
      return [];
    default:
      return [];
  }
}
