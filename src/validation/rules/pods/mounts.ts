import { didYouMean } from '../../../manifest/problem.ts';
import {
  duplicate,
  type Field,
  forbidden,
  get,
  has,
  hasForm,
  invalid,
  isOneOf,
  isSet,
  isTrue,
  items,
  nameOf,
  notEmpty,
  report,
  word,
} from '../shared/field.ts';
import { descendingPathRule, noBackstepsRule } from '../shared/names.ts';

/** The volumes of a Pod by name. */
export type Volumes = ReadonlyMap<string, Field>;

/** Checks where a container mounts volumes and block devices. */
export function checkMounts(container: Field, volumes: Volumes): void {
  const mounts = items(get(container, 'volumeMounts'));
  const devices = items(get(container, 'volumeDevices'));
  const paths = new Set<string>();
  for (const mount of mounts) {
    checkMount(mount, container, volumes);
    const path = get(mount, 'mountPath');
    checkDistinct(path, paths);
  }
  if (devices.length > 0) checkDevices(devices, mounts, volumes);
}

function checkMount(mount: Field, container: Field, volumes: Volumes): void {
  checkVolumeName(get(mount, 'name'), volumes);
  if (has(mount, 'subPath') || has(mount, 'subPathExpr'))
    checkSubPath(get(mount, 'subPath'), get(mount, 'subPathExpr'));
  if (!has(mount, 'mountPropagation') && !has(mount, 'recursiveReadOnly')) return;
  const propagation = get(mount, 'mountPropagation');
  notEmpty(propagation);
  if (propagation.value === 'Bidirectional' && !isTrue(get(get(container, 'securityContext'), 'privileged'))) {
    invalid(propagation, 'must be HostToContainer or None in a container that is not privileged');
  }
  const recursive = get(mount, 'recursiveReadOnly');
  if (!isSet(recursive)) return;
  isOneOf(recursive, ['Disabled', 'IfPossible', 'Enabled']);
  if (recursive.value !== 'Enabled' && recursive.value !== 'IfPossible') return;
  if (!isTrue(get(mount, 'readOnly'))) forbidden(recursive, 'without readOnly: true');
  if (isSet(propagation) && propagation.value !== 'None') forbidden(recursive, 'with mountPropagation');
}

function checkSubPath(subPath: Field, expression: Field): void {
  hasForm(subPath, descendingPathRule, 'BadPath');
  hasForm(expression, descendingPathRule, 'BadPath');
  if (word(subPath) !== undefined && word(expression) !== undefined) {
    const message = `${nameOf(expression)} is not allowed beside subPath: only one of them can be set`;
    report(expression, 'WrongChoice', message, { atKey: true });
  }
}

/** Checks that the Pod has the volume; returns it. */
function checkVolumeName(name: Field, volumes: Volumes): Field | undefined {
  const found = word(name);
  if (found === undefined) return undefined;
  const volume = volumes.get(found);
  if (volume === undefined) {
    const message = `${nameOf(name)} is ${JSON.stringify(found)}, but the Pod has no volume of this name`;
    const known = [...volumes.keys()];
    const list = known.length === 0 ? 'the Pod has no volumes' : `its volumes: ${known.slice(0, 12).join(', ')}`;
    report(name, 'UnknownVolume', message, { hint: didYouMean(found, known) ?? list });
  }
  return volume;
}

function checkDevices(devices: readonly Field[], mounts: readonly Field[], volumes: Volumes): void {
  const names = new Set<string>();
  const paths = new Set<string>();
  const mounted = new Set(mounts.map((mount) => word(get(mount, 'name'))));
  const mountPaths = new Set(mounts.map((mount) => word(get(mount, 'mountPath'))));
  for (const device of devices) {
    const name = get(device, 'name');
    const path = get(device, 'devicePath');
    const volume = checkVolumeName(name, volumes);
    if (volume !== undefined && !isSet(get(volume, 'persistentVolumeClaim')) && !isSet(get(volume, 'ephemeral'))) {
      invalid(name, 'must name a volume with persistentVolumeClaim or ephemeral');
    }
    hasForm(path, noBackstepsRule, 'BadPath');
    checkDistinct(name, names);
    checkDistinct(path, paths);
    if (mounted.has(word(name) ?? '')) invalid(name, 'must not be in volumeMounts too', { reason: 'DuplicateValue' });
    if (mountPaths.has(word(path) ?? ''))
      invalid(path, 'must not be in volumeMounts too', { reason: 'DuplicateValue' });
  }
}

function checkDistinct(field: Field, seen: Set<string>): void {
  const found = word(field);
  if (found === undefined) return;
  if (seen.has(found)) duplicate(field, 'DuplicateValue');
  seen.add(found);
}
