import {
  type Field,
  get,
  hasForm,
  inRange,
  invalid,
  isEmpty,
  isSet,
  isTrue,
  members,
  nameOf,
  needed,
  notEmpty,
  report,
  required,
  text,
  word,
} from '../shared/field.ts';
import { descendingPathRule, dnsLabelRule } from '../shared/names.ts';

/** The checks of volume sources that are bound to one storage system, most of them deprecated. */
export const rareVolumeSources: Readonly<Record<string, (source: Field) => void>> = {
  nfs(source) {
    const path = get(source, 'path');
    if (word(path)?.startsWith('/') === false) invalid(path, 'must be an absolute path', { reason: 'BadPath' });
  },
  iscsi(source) {
    hasForm(get(source, 'iqn'), iqnRule);
    hasForm(get(source, 'initiatorName'), iqnRule);
    inRange(get(source, 'lun'), 0, 255);
    const needsSecret = isTrue(get(source, 'chapAuthDiscovery')) || isTrue(get(source, 'chapAuthSession'));
    if (needsSecret && !isSet(get(source, 'secretRef'))) required(get(source, 'secretRef'));
  },
  fc(source) {
    const targets = get(source, 'targetWWNs');
    const ids = get(source, 'wwids');
    if (isEmpty(targets) === isEmpty(ids)) {
      report(source, 'WrongChoice', `${nameOf(source)} needs either targetWWNs or wwids`);
    }
    if (isEmpty(targets)) return;
    if (isSet(get(source, 'lun'))) inRange(get(source, 'lun'), 0, 255);
    else required(get(source, 'lun'));
  },
  gcePersistentDisk(source) {
    inRange(get(source, 'partition'), 0, 255);
  },
  awsElasticBlockStore(source) {
    inRange(get(source, 'partition'), 0, 255);
  },
  azureFile: nothingMore,
  azureDisk(source) {
    const kind = get(source, 'kind');
    notEmpty(get(source, 'cachingMode'));
    const uri = get(source, 'diskURI');
    const start = kind.value === 'Managed' ? '/subscriptions/' : 'https://';
    if (word(uri)?.startsWith(start) === false) invalid(uri, `must begin with ${start} for this kind of disk`);
  },
  cephfs: nothingMore,
  rbd: nothingMore,
  cinder(source) {
    checkSecretName(get(source, 'secretRef'));
  },
  flexVolume(source) {
    for (const option of members(get(source, 'options'))) {
      const domain = `.${option.step.split('/')[0]?.toLowerCase()}`;
      if (domain.endsWith('.kubernetes.io') || domain.endsWith('.k8s.io')) {
        report(option, 'BadName', `the key of ${nameOf(option)} must not be of kubernetes.io or k8s.io`, {
          atKey: true,
        });
      }
    }
  },
  flocker(source) {
    const name = get(source, 'datasetName');
    if (isEmpty(name) === isEmpty(get(source, 'datasetUUID'))) {
      report(source, 'WrongChoice', `${nameOf(source)} needs either datasetName or datasetUUID`);
    }
    if (text(name)?.includes('/')) invalid(name, 'must not contain "/"');
  },
  gitRepo(source) {
    hasForm(get(source, 'directory'), descendingPathRule, 'BadPath');
  },
  glusterfs: nothingMore,
  photonPersistentDisk: nothingMore,
  portworxVolume: nothingMore,
  quobyte(source) {
    if ((text(get(source, 'tenant'))?.length ?? 0) > 64)
      invalid(get(source, 'tenant'), 'must have at most 64 characters');
    hasForm(get(source, 'registry'), (registry) =>
      registry.split(',').every((pair) => /^(\[[^[\]]*\]|[^:[\]]*):[^:[\]]*$/.test(pair))
        ? undefined
        : 'must be HOST:PORT, or several with commas',
    );
  },
  scaleIO(source) {
    needed(get(source, 'volumeName'));
  },
  storageos(source) {
    const name = get(source, 'volumeName');
    needed(name);
    hasForm(name, dnsLabelRule);
    hasForm(get(source, 'volumeNamespace'), dnsLabelRule);
    checkSecretName(get(source, 'secretRef'));
  },
  vsphereVolume: nothingMore,
};

function checkSecretName(secret: Field): void {
  if (isSet(secret) && isEmpty(get(secret, 'name'))) required(get(secret, 'name'));
}

/** The schema says all. */
export function nothingMore(): void {}

const IQN = /iqn\.\d{4}-\d{2}\.[A-Za-z0-9.-]+:[^,;*&$|\s]+$/;
const EUI = /^eui.[A-Za-z0-9]{16}$/;
const NAA = /^naa.[A-Za-z0-9]{32}$/;

/** Longer names are not read: no storage has one. */
const LONGEST_NAME = 1000;

function iqnRule(name: string): string | undefined {
  if (name.length > LONGEST_NAME) return undefined;
  return (name.startsWith('iqn') && IQN.test(name)) || EUI.test(name) || NAA.test(name)
    ? undefined
    : 'must be a name of iSCSI like iqn.2016-01.com.example:storage';
}
