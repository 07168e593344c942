import type { Field } from '../shared/field.ts';
import { descendingPathRule, dnsLabelRule } from '../shared/names.ts';

/** The checks of volume sources that are bound to one storage system, most of them deprecated. */
export const rareVolumeSources: Readonly<Record<string, (source: Field) => void>> = {
  nfs(source) {
    const path = source.get('path');
    if (path.word?.startsWith('/') === false) path.invalid('must be an absolute path', { reason: 'BadPath' });
  },
  iscsi(source) {
    source.get('iqn').hasForm(iqnRule);
    source.get('initiatorName').hasForm(iqnRule);
    source.get('lun').inRange(0, 255);
    const needsSecret = source.get('chapAuthDiscovery').isTrue || source.get('chapAuthSession').isTrue;
    if (needsSecret && !source.get('secretRef').isSet) source.get('secretRef').required();
  },
  fc(source) {
    const targets = source.get('targetWWNs');
    const ids = source.get('wwids');
    if (targets.isEmpty === ids.isEmpty) {
      source.report('WrongChoice', `${source.name} needs either targetWWNs or wwids`);
    }
    if (targets.isEmpty) return;
    if (source.get('lun').isSet) source.get('lun').inRange(0, 255);
    else source.get('lun').required();
  },
  gcePersistentDisk(source) {
    source.get('partition').inRange(0, 255);
  },
  awsElasticBlockStore(source) {
    source.get('partition').inRange(0, 255);
  },
  azureFile: nothingMore,
  azureDisk(source) {
    const kind = source.get('kind');
    source.get('cachingMode').notEmpty();
    const uri = source.get('diskURI');
    const start = kind.value === 'Managed' ? '/subscriptions/' : 'https://';
    if (uri.word?.startsWith(start) === false) uri.invalid(`must begin with ${start} for this kind of disk`);
  },
  cephfs: nothingMore,
  rbd: nothingMore,
  cinder(source) {
    checkSecretName(source.get('secretRef'));
  },
  flexVolume(source) {
    for (const option of source.get('options').members()) {
      const domain = `.${option.step.split('/')[0]?.toLowerCase()}`;
      if (domain.endsWith('.kubernetes.io') || domain.endsWith('.k8s.io')) {
        option.report('BadName', `the key of ${option.name} must not be of kubernetes.io or k8s.io`, {
          atKey: true,
        });
      }
    }
  },
  flocker(source) {
    const name = source.get('datasetName');
    if (name.isEmpty === source.get('datasetUUID').isEmpty) {
      source.report('WrongChoice', `${source.name} needs either datasetName or datasetUUID`);
    }
    if (name.text?.includes('/')) name.invalid('must not contain "/"');
  },
  gitRepo(source) {
    source.get('directory').hasForm(descendingPathRule, 'BadPath');
  },
  glusterfs: nothingMore,
  photonPersistentDisk: nothingMore,
  portworxVolume: nothingMore,
  quobyte(source) {
    if ((source.get('tenant').text?.length ?? 0) > 64) source.get('tenant').invalid('must have at most 64 characters');
    source
      .get('registry')
      .hasForm((registry) =>
        registry.split(',').every((pair) => /^(\[[^[\]]*\]|[^:[\]]*):[^:[\]]*$/.test(pair))
          ? undefined
          : 'must be HOST:PORT, or several with commas',
      );
  },
  scaleIO(source) {
    source.get('volumeName').needed();
  },
  storageos(source) {
    const name = source.get('volumeName');
    name.needed();
    name.hasForm(dnsLabelRule);
    source.get('volumeNamespace').hasForm(dnsLabelRule);
    checkSecretName(source.get('secretRef'));
  },
  vsphereVolume: nothingMore,
};

function checkSecretName(secret: Field): void {
  if (secret.isSet && secret.get('name').isEmpty) secret.get('name').required();
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
