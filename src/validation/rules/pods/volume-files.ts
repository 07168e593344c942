import type { Field } from '../shared/field.ts';
import { reservedPathRule } from '../shared/names.ts';
import { checkFieldRef, checkResourceFieldRef, VOLUME_FIELDS } from './env.ts';

/** Checks the files that a volume takes from a ConfigMap or Secret. */
export function checkFiles(source: Field): void {
  checkMode(source.get('defaultMode'));
  for (const file of source.get('items').items()) checkKeyToPath(file);
}

/** Checks which key of a ConfigMap or Secret becomes which file. */
export function checkKeyToPath(file: Field): void {
  file.get('path').hasForm(reservedPathRule, 'BadPath');
  checkMode(file.get('mode'));
}

/** Checks a file with fields of the Pod or resources of a container. */
export function checkDownwardFile(file: Field): void {
  file.get('path').hasForm(reservedPathRule, 'BadPath');
  checkMode(file.get('mode'));
  const source = file.exactlyOne(['fieldRef', 'resourceFieldRef']);
  if (source?.step === 'fieldRef') checkFieldRef(source, VOLUME_FIELDS);
  if (source?.step !== 'resourceFieldRef') return;
  checkResourceFieldRef(source);
  source.get('containerName').needed();
}

/** Checks the permissions of a file. */
export function checkMode(mode: Field): void {
  const hint = typeof mode.value === 'number' && mode.value > 0o777 ? 'write it in octal: 0644' : undefined;
  mode.inRange(0, 0o777, hint);
}
