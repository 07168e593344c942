import { quantityOf } from '../../values/quantities.ts';
import {
  atMostOne,
  type Field,
  get,
  hasForm,
  invalid,
  isEmpty,
  isSet,
  items,
  members,
  needed,
  required,
  word,
} from '../shared/field.ts';
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
  const list = items(get(spec, 'volumes')).filter((volume) => !added.has(word(get(volume, 'name')) ?? ''));
  for (const volume of list) {
    const name = get(volume, 'name');
    hasForm(name, dnsLabelRule);
    const source = atMostOne(volume, SOURCE_NAMES);
    if (source !== undefined) SOURCES[source.step]?.(source, podName !== undefined);
    const found = word(name);
    if (found !== undefined && !volumes.has(found)) volumes.set(found, volume);
  }
  if (podName !== undefined) checkCreatedClaims(list, volumes, podName);
  return volumes;
}

/** Whether the volume is an empty folder, as it is without any source too. */
export function isEmptyDir(volume: Field): boolean {
  return (
    isSet(get(volume, 'emptyDir')) ||
    members(volume).every(({ step, value }) => value === undefined || !SOURCE_NAMES.includes(step))
  );
}

/** A volume cannot use the claim that the Pod creates for an ephemeral volume. */
function checkCreatedClaims(list: readonly Field[], volumes: Volumes, podName: string): void {
  for (const volume of list) {
    const claim = get(get(volume, 'persistentVolumeClaim'), 'claimName');
    const prefix = `${podName}-`;
    const other = word(claim)?.startsWith(prefix) ? volumes.get(String(claim.value).slice(prefix.length)) : undefined;
    if (other !== undefined && isSet(get(other, 'ephemeral'))) {
      invalid(claim, 'must not be the claim that is created for an ephemeral volume');
    }
  }
}

const SOURCES: Readonly<Record<string, (source: Field, isPod: boolean) => void>> = {
  ...rareVolumeSources,
  emptyDir(source) {
    const limit = get(source, 'sizeLimit');
    if ((quantityOf(limit.value) ?? 0) < 0) invalid(limit, 'must not be negative', { reason: 'BadResource' });
  },
  hostPath(source) {
    hasForm(get(source, 'path'), noBackstepsRule, 'BadPath');
  },
  secret(source) {
    const name = get(source, 'secretName');
    needed(name);
    checkFiles(source);
  },
  configMap(source) {
    const name = get(source, 'name');
    needed(name);
    checkFiles(source);
  },
  persistentVolumeClaim: nothingMore,
  downwardAPI(source) {
    checkMode(get(source, 'defaultMode'));
    for (const file of items(get(source, 'items'))) checkDownwardFile(file);
  },
  projected: checkProjected,
  csi(source) {
    hasForm(get(source, 'driver'), csiDriverRule);
    const secret = get(source, 'nodePublishSecretRef');
    if (!isSet(secret)) return;
    needed(get(secret, 'name'));
    hasForm(get(secret, 'name'), dnsSubdomainRule);
  },
  ephemeral(source) {
    const template = get(source, 'volumeClaimTemplate');
    if (isSet(template)) checkClaimTemplate(template);
    else required(template);
  },
  image(source, isPod) {
    if (isPod && isEmpty(get(source, 'reference'))) required(get(source, 'reference'));
  },
};

const SOURCE_NAMES = Object.keys(SOURCES);
