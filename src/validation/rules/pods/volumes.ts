import { quantityOf } from '../../values/quantities.ts';
import type { Field } from '../shared/field.ts';
import { csiDriverRule, dnsLabelRule, dnsSubdomainRule, noBackstepsRule } from '../shared/names.ts';
import { checkClaimTemplate } from '../storage/claims.ts';
import { nothingMore, rareVolumeSources } from '../storage/rare-volumes.ts';
import type { Volumes } from './mounts.ts';
import { checkProjected } from './projected-volumes.ts';
import { checkDownwardFile, checkFiles, checkMode } from './volume-files.ts';

/**
 * Checks the volumes of a Pod and returns them by name.
 *
 * @param podName of a Pod; undefined for a template
 * @param added volumes that a controller adds; they replace volumes of the same name
 */
export function checkVolumes(spec: Field, podName: string | undefined, added: Volumes = new Map()): Volumes {
  const volumes = new Map(added);
  const list = spec
    .get('volumes')
    .items()
    .filter((volume) => !added.has(volume.get('name').word ?? ''));
  for (const volume of list) {
    const name = volume.get('name');
    name.hasForm(dnsLabelRule);
    const source = volume.atMostOne(SOURCE_NAMES);
    if (source !== undefined) SOURCES[source.step]?.(source, podName !== undefined);
    const found = name.word;
    if (found !== undefined && !volumes.has(found)) volumes.set(found, volume);
  }
  if (podName !== undefined) checkCreatedClaims(list, volumes, podName);
  return volumes;
}

/** Whether the volume is an empty folder, as it is without any source too. */
export function isEmptyDir(volume: Field): boolean {
  return (
    volume.get('emptyDir').isSet ||
    volume.members().every(({ step, value }) => value === undefined || !SOURCE_NAMES.includes(step))
  );
}

/** A volume cannot use the claim that the Pod creates for an ephemeral volume. */
function checkCreatedClaims(list: readonly Field[], volumes: Volumes, podName: string): void {
  for (const volume of list) {
    const claim = volume.get('persistentVolumeClaim').get('claimName');
    const prefix = `${podName}-`;
    const other = claim.word?.startsWith(prefix) ? volumes.get(String(claim.value).slice(prefix.length)) : undefined;
    if (other?.get('ephemeral').isSet) {
      claim.invalid('must not be the claim that is created for an ephemeral volume');
    }
  }
}

const SOURCES: Readonly<Record<string, (source: Field, isPod: boolean) => void>> = {
  ...rareVolumeSources,
  emptyDir(source) {
    const limit = source.get('sizeLimit');
    if ((quantityOf(limit.value) ?? 0) < 0) limit.invalid('must not be negative', { reason: 'BadResource' });
  },
  hostPath(source) {
    source.get('path').hasForm(noBackstepsRule, 'BadPath');
  },
  secret(source) {
    const name = source.get('secretName');
    name.needed();
    checkFiles(source);
  },
  configMap(source) {
    const name = source.get('name');
    name.needed();
    checkFiles(source);
  },
  persistentVolumeClaim: nothingMore,
  downwardAPI(source) {
    checkMode(source.get('defaultMode'));
    for (const file of source.get('items').items()) checkDownwardFile(file);
  },
  projected: checkProjected,
  csi(source) {
    source.get('driver').hasForm(csiDriverRule);
    const secret = source.get('nodePublishSecretRef');
    if (!secret.isSet) return;
    secret.get('name').needed();
    secret.get('name').hasForm(dnsSubdomainRule);
  },
  ephemeral(source) {
    const template = source.get('volumeClaimTemplate');
    if (template.isSet) checkClaimTemplate(template);
    else template.required();
  },
  image(source, isPod) {
    if (isPod && source.get('reference').isEmpty) source.get('reference').required();
  },
};

const SOURCE_NAMES = Object.keys(SOURCES);
