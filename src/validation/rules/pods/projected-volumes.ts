import type { Field } from '../shared/field.ts';
import { reservedPathRule } from '../shared/names.ts';
import { checkDownwardFile, checkKeyToPath, checkMode } from './volume-files.ts';

/** Sources of certificates are not among them: API servers drop them unless a feature is on. */
const SOURCES = ['secret', 'configMap', 'downwardAPI', 'serviceAccountToken'];

/** Checks a projected volume: the files of several sources in one folder. */
export function checkProjected(volume: Field): void {
  checkMode(volume.get('defaultMode'));
  const paths = new Set<string>();
  for (const entry of volume.get('sources').items()) {
    const source = entry.atMostOne(SOURCES);
    if (source === undefined) continue;
    for (const path of pathsOf(source)) {
      const found = path.word;
      if (found === undefined) continue;
      if (paths.has(found)) {
        path.report(
          'DuplicateValue',
          `${path.name} is ${JSON.stringify(found)}, which another file of the volume has too`,
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
      source.get('name').needed();
      const files = source.get('items').items();
      for (const file of files) checkKeyToPath(file);
      return files.map((file) => file.get('path'));
    }
    case 'downwardAPI': {
      const files = source.get('items').items();
      for (const file of files) checkDownwardFile(file);
      return files.map((file) => file.get('path'));
    }
    case 'serviceAccountToken':
      source.get('expirationSeconds').inRange(600, 2 ** 32);
      source.get('path').hasForm(reservedPathRule, 'BadPath');
      return [];
    default:
      return [];
  }
}
