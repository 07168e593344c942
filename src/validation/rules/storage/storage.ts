import { canonicalJson, compareText } from '../../../model/text/json.ts';
import { quantityOf } from '../../values/quantities.ts';
import { distinct, type Field, filledIfSet } from '../shared/field.ts';
import { kindRule } from '../shared/metadata.ts';
import { csiDriverRule, dnsLabelRule, dnsSubdomainRule, noBackstepsRule, qualifiedNameRule } from '../shared/names.ts';
import { checkNodeSelector } from '../shared/node-selectors.ts';
import { checkLabelSelector } from '../shared/selectors.ts';
import { checkClaimSpec } from './claims.ts';
import { rareVolumeSources } from './rare-volumes.ts';

const MOST_PARAMETERS = 512;
const MAX_PARAMETER_BYTES = 256 * 1024;

/** What an API server checks of a PersistentVolumeClaim. */
export const persistentVolumeClaimRule = kindRule(dnsSubdomainRule, (root) => checkClaimSpec(root.get('spec')));

const SOURCES: Readonly<Record<string, (source: Field) => void>> = {
  ...rareVolumeSources,
  azureFile(source) {
    for (const name of ['secretName', 'shareName']) source.get(name).notEmpty();
    const namespace = source.get('secretNamespace');
    if (namespace.text === '') namespace.required();
  },
  storageos(source) {
    const name = source.get('volumeName');
    name.needed();
    name.hasForm(dnsLabelRule);
    source.get('volumeNamespace').hasForm(dnsLabelRule);
  },
  hostPath(source) {
    source.get('path').hasForm(noBackstepsRule, 'BadPath');
  },
  local(source) {
    source.get('path').hasForm(noBackstepsRule, 'BadPath');
  },
  csi(source) {
    source.get('driver').hasForm(csiDriverRule);
    for (const name of ['controllerPublish', 'controllerExpand', 'nodePublish', 'nodeExpand']) {
      const secret = source.get(`${name}SecretRef`);
      if (!secret.isSet) continue;
      for (const part of ['name', 'namespace']) secret.get(part).needed();
      secret.get('name').hasForm(dnsSubdomainRule);
      secret.get('namespace').hasForm(dnsLabelRule);
    }
  },
};
const SOURCE_NAMES = Object.keys(SOURCES);

/** What an API server checks of a PersistentVolume. */
export const persistentVolumeRule = kindRule(dnsSubdomainRule, (root) => {
  const spec = root.get('spec');
  checkAccessModes(spec.get('accessModes'));
  checkCapacity(spec.get('capacity'));
  const policy = spec.get('persistentVolumeReclaimPolicy');
  filledIfSet(spec.get('volumeMode'));
  spec.get('storageClassName').hasForm(dnsSubdomainRule);
  const affinity = spec.get('nodeAffinity');
  const wanted = affinity.get('required');
  if (affinity.isSet) {
    if (wanted.isSet) checkNodeSelector(wanted);
    else wanted.required();
  }
  const source = spec.atMostOne(SOURCE_NAMES);
  if (source === undefined) spec.report('WrongChoice', `${spec.name} needs a source of the volume, like csi or nfs`);
  else SOURCES[source.step]?.(source);
  if (source?.step === 'local' && !affinity.isSet) affinity.required('a local volume is on one node');
  const path = spec.getIn('hostPath', 'path').text;
  if (path !== undefined && /^\/[/.]*$/.test(path) && policy.value === 'Recycle') {
    policy.invalid('must not be Recycle for the path "/"');
  }
  const attributes = spec.get('volumeAttributesClassName');
  if (attributes.text === '') attributes.required();
  attributes.hasForm(dnsSubdomainRule);
  if (attributes.isSet && source !== undefined && source.step !== 'csi') attributes.forbidden('without csi');
});

function checkAccessModes(modes: Field): void {
  modes.needed();
  const list = modes.textItems();
  filledIfSet(...list);
  const single = list.find(({ value }) => value === 'ReadWriteOncePod');
  if (single !== undefined && list.some(({ value }) => value !== single.value)) {
    single.report('WrongChoice', `${single.name} must be the only access mode if it is ReadWriteOncePod`);
  }
}

function checkCapacity(capacity: Field): void {
  const storage = capacity.get('storage');
  if (!storage.isSet) storage.required();
  for (const amount of capacity.members()) {
    if (amount.step !== 'storage') {
      amount.report('BadResource', `${amount.name} is not allowed: a volume has the resource storage only`, {
        atKey: true,
      });
    } else if ((quantityOf(amount.value) ?? 1) <= 0) amount.invalid('must be above 0', { reason: 'BadResource' });
  }
}

/** What an API server checks of a StorageClass. */
export const storageClassRule = kindRule(dnsSubdomainRule, (root) => {
  checkDriver(root.get('provisioner'));
  checkParameters(root.get('parameters'));
  root.get('reclaimPolicy').oneOf(['Delete', 'Retain']);
  filledIfSet(root.get('volumeBindingMode'));
  checkTopologies(root.get('allowedTopologies').items());
});

/** An empty term is refused, as a repetition. */
function checkTopologies(terms: readonly Field[]): void {
  const seen = new Set(['']);
  for (const term of terms) {
    const expressions = term.get('matchLabelExpressions').items();
    for (const expression of expressions) {
      expression.get('values').notEmpty();
      distinct(expression.get('values').items(), 'DuplicateValue');
      expression.get('key').hasForm(qualifiedNameRule, 'BadLabel');
    }
    distinct(
      expressions.map((expression) => expression.get('key')),
      'DuplicateValue',
    );
    const key = expressions
      .map(({ value }) => canonicalJson(value ?? null))
      .sort(compareText)
      .join('\n');
    if (seen.has(key)) term.report('DuplicateValue', `${term.name} must not be empty or the same as an entry above`);
    seen.add(key);
  }
}

/** What an API server checks of a VolumeAttributesClass. */
export const volumeAttributesClassRule = kindRule(dnsSubdomainRule, (root) => {
  checkDriver(root.get('driverName'));
  const parameters = root.get('parameters');
  checkParameters(parameters);
  parameters.needed();
});

function checkDriver(name: Field): void {
  name.hasForm((found) => qualifiedNameRule(found.toLowerCase()));
}

function checkParameters(parameters: Field): void {
  const all = parameters.members();
  let bytes = 0;
  for (const parameter of all) {
    if (parameter.step === '') parameter.report('BadName', 'the key of a parameter must not be empty', { atKey: true });
    bytes += Buffer.byteLength(parameter.step) + Buffer.byteLength(parameter.text ?? '');
  }
  if (all.length > MOST_PARAMETERS)
    parameters.report('WrongValue', `${parameters.name} must have at most ${MOST_PARAMETERS} keys`);
  else if (bytes > MAX_PARAMETER_BYTES) {
    parameters.report(
      'WrongValue',
      `${parameters.name} has ${bytes} bytes; at most ${MAX_PARAMETER_BYTES} are allowed`,
    );
  }
}

/** What an API server checks of a VolumeAttachment, apart from an inline volume. */
export const volumeAttachmentRule = kindRule(dnsSubdomainRule, (root) => {
  const spec = root.get('spec');
  spec.get('attacher').notEmpty();
  spec.get('attacher').hasForm(csiDriverRule);
  spec.get('nodeName').notEmpty();
  spec.get('nodeName').hasForm(dnsSubdomainRule);
  const source = spec.get('source');
  const name = source.get('persistentVolumeName');
  if (source.isSet) source.eitherOf(name, source.get('inlineVolumeSpec'));
  if (name.text === '') name.required();
  name.hasForm(dnsSubdomainRule);
});

const SHORTEST_TOKEN_SECONDS = 600;
const LONGEST_TOKEN_SECONDS = 2 ** 32;
const SHORTEST_UPDATE_SECONDS = 10;

/** What an API server checks of a CSIDriver. */
export const csiDriverKindRule = kindRule(dnsSubdomainRule, (root) => {
  const spec = root.get('spec');
  spec.get('fsGroupPolicy').isOneOf(['ReadWriteOnceWithFSType', 'File', 'None']);
  for (const mode of spec.get('volumeLifecycleModes').textItems()) mode.isOneOf(['Persistent', 'Ephemeral']);
  spec.get('nodeAllocatableUpdatePeriodSeconds').inRange(SHORTEST_UPDATE_SECONDS);
  const requests = spec.get('tokenRequests').items();
  for (const request of requests) {
    request.get('expirationSeconds').inRange(SHORTEST_TOKEN_SECONDS, LONGEST_TOKEN_SECONDS);
  }
  distinct(
    requests.map((request) => request.get('audience')),
    'DuplicateValue',
  );
});

const LONGEST_NODE_ID = 256;

/** What an API server checks of a CSINode. */
export const csiNodeRule = kindRule(dnsSubdomainRule, (root) => {
  const drivers = root.getIn('spec', 'drivers').items();
  distinct(drivers.map((driver) => driver.get('name')));
  for (const driver of drivers) {
    driver.get('name').notEmpty();
    driver.get('name').hasForm(csiDriverRule);
    const id = driver.get('nodeID');
    id.notEmpty();
    if ((id.word?.length ?? 0) > LONGEST_NODE_ID) id.invalid(`must have at most ${LONGEST_NODE_ID} characters`);
    if ((driver.getIn('allocatable', 'count').integer ?? 0) < 0) driver.getIn('allocatable', 'count').inRange(0);
    const keys = driver.get('topologyKeys').textItems();
    filledIfSet(...keys);
    for (const key of keys) key.hasForm(qualifiedNameRule, 'BadLabel');
    distinct(keys, 'DuplicateValue');
  }
});

/** What an API server checks of a CSIStorageCapacity. */
export const csiStorageCapacityRule = kindRule(dnsSubdomainRule, (root) => {
  checkLabelSelector(root.get('nodeTopology'));
  root.get('storageClassName').notEmpty();
  root.get('storageClassName').hasForm(dnsSubdomainRule);
  const capacity = root.get('capacity');
  if ((quantityOf(capacity.value) ?? 0) < 0) capacity.invalid('must not be negative', { reason: 'BadResource' });
});
