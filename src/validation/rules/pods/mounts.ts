import { didYouMean } from '../../../manifest/problem.ts';
import type { Field } from '../shared/field.ts';
import { descendingPathRule, noBackstepsRule } from '../shared/names.ts';

/** The volumes of a Pod by name. */
export type Volumes = ReadonlyMap<string, Field>;

/** Checks where a container mounts volumes and block devices. */
export function checkMounts(container: Field, volumes: Volumes): void {
  const mounts = container.get('volumeMounts').items();
  const devices = container.get('volumeDevices').items();
  const paths = new Set<string>();
  for (const mount of mounts) {
    checkMount(mount, container, volumes);
    const path = mount.get('mountPath');
    checkDistinct(path, paths);
  }
  if (devices.length > 0) checkDevices(devices, mounts, volumes);
}

function checkMount(mount: Field, container: Field, volumes: Volumes): void {
  checkVolumeName(mount.get('name'), volumes);
  if (mount.has('subPath') || mount.has('subPathExpr')) checkSubPath(mount.get('subPath'), mount.get('subPathExpr'));
  if (!mount.has('mountPropagation') && !mount.has('recursiveReadOnly')) return;
  const propagation = mount.get('mountPropagation');
  propagation.notEmpty();
  if (propagation.value === 'Bidirectional' && !container.get('securityContext').get('privileged').isTrue) {
    propagation.invalid('must be HostToContainer or None in a container that is not privileged');
  }
  const recursive = mount.get('recursiveReadOnly');
  if (!recursive.isSet) return;
  recursive.isOneOf(['Disabled', 'IfPossible', 'Enabled']);
  if (recursive.value !== 'Enabled' && recursive.value !== 'IfPossible') return;
  if (!mount.get('readOnly').isTrue) recursive.forbidden('without readOnly: true');
  if (propagation.isSet && propagation.value !== 'None') recursive.forbidden('with mountPropagation');
}

function checkSubPath(subPath: Field, expression: Field): void {
  subPath.hasForm(descendingPathRule, 'BadPath');
  expression.hasForm(descendingPathRule, 'BadPath');
  if (subPath.word !== undefined && expression.word !== undefined) {
    const message = `${expression.name} is not allowed beside subPath: only one of them can be set`;
    expression.report('WrongChoice', message, { atKey: true });
  }
}

/** Checks that the Pod has the volume; returns it. */
function checkVolumeName(name: Field, volumes: Volumes): Field | undefined {
  const found = name.word;
  if (found === undefined) return undefined;
  const volume = volumes.get(found);
  if (volume === undefined) {
    const message = `${name.name} is ${JSON.stringify(found)}, but the Pod has no volume of this name`;
    const known = [...volumes.keys()];
    const list = known.length === 0 ? 'the Pod has no volumes' : `its volumes: ${known.slice(0, 12).join(', ')}`;
    name.report('UnknownVolume', message, { hint: didYouMean(found, known) ?? list });
  }
  return volume;
}

function checkDevices(devices: readonly Field[], mounts: readonly Field[], volumes: Volumes): void {
  const names = new Set<string>();
  const paths = new Set<string>();
  const mounted = new Set(mounts.map((mount) => mount.get('name').word));
  const mountPaths = new Set(mounts.map((mount) => mount.get('mountPath').word));
  for (const device of devices) {
    const name = device.get('name');
    const path = device.get('devicePath');
    const volume = checkVolumeName(name, volumes);
    if (volume !== undefined && !volume.get('persistentVolumeClaim').isSet && !volume.get('ephemeral').isSet) {
      name.invalid('must name a volume with persistentVolumeClaim or ephemeral');
    }
    path.hasForm(noBackstepsRule, 'BadPath');
    checkDistinct(name, names);
    checkDistinct(path, paths);
    if (mounted.has(name.word ?? '')) name.invalid('must not be in volumeMounts too', { reason: 'DuplicateValue' });
    if (mountPaths.has(path.word ?? '')) path.invalid('must not be in volumeMounts too', { reason: 'DuplicateValue' });
  }
}

function checkDistinct(field: Field, seen: Set<string>): void {
  const found = field.word;
  if (found === undefined) return;
  if (seen.has(found)) field.duplicate('DuplicateValue');
  seen.add(found);
}
