import { exactlyOne, type Field, get, hasForm, inRange, items, needed } from '../shared/field.ts';
import { reservedPathRule } from '../shared/names.ts';
import { checkFieldRef, checkResourceFieldRef, VOLUME_FIELDS } from './env.ts';

/** Checks the files that a volume takes from a ConfigMap or Secret. */
export function checkFiles(source: Field): void {
  checkMode(get(source, 'defaultMode'));
  for (const file of items(get(source, 'items'))) checkKeyToPath(file);
}

/** Checks which key of a ConfigMap or Secret becomes which file. */
export function checkKeyToPath(file: Field): void {
  hasForm(get(file, 'path'), reservedPathRule, 'BadPath');
  checkMode(get(file, 'mode'));
}

/** Checks a file with fields of the Pod or resources of a container. */
export function checkDownwardFile(file: Field): void {
  hasForm(get(file, 'path'), reservedPathRule, 'BadPath');
  checkMode(get(file, 'mode'));
  const source = exactlyOne(file, ['fieldRef', 'resourceFieldRef']);
  if (source?.step === 'fieldRef') checkFieldRef(source, VOLUME_FIELDS);
  if (source?.step !== 'resourceFieldRef') return;
  checkResourceFieldRef(source);
  needed(get(source, 'containerName'));
}

/** Checks the permissions of a file. */
export function checkMode(mode: Field): void {
  const hint = typeof mode.value === 'number' && mode.value > 0o777 ? 'write it in octal: 0644' : undefined;
  inRange(mode, 0, 0o777, hint);
}
