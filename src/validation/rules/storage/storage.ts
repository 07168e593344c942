import { canonicalJson, compareText } from '../../../model/text/json.ts';
import { quantityOf } from '../../values/quantities.ts';
import {
  atMostOne,
  distinct,
  eitherOf,
  type Field,
  filledIfSet,
  forbidden,
  get,
  getIn,
  hasForm,
  inRange,
  integer,
  invalid,
  isOneOf,
  isSet,
  items,
  members,
  nameOf,
  needed,
  notEmpty,
  oneOf,
  report,
  required,
  text,
  textItems,
  word,
} from '../shared/field.ts';
import { kindRule } from '../shared/metadata.ts';
import { csiDriverRule, dnsLabelRule, dnsSubdomainRule, noBackstepsRule, qualifiedNameRule } from '../shared/names.ts';
import { checkNodeSelector } from '../shared/node-selectors.ts';
import { checkLabelSelector } from '../shared/selectors.ts';
import { checkClaimSpec } from './claims.ts';
import { rareVolumeSources } from './rare-volumes.ts';

const MOST_PARAMETERS = 512;
const MAX_PARAMETER_BYTES = 256 * 1024;

/** What an API server checks of a PersistentVolumeClaim. */
export const persistentVolumeClaimRule = kindRule(dnsSubdomainRule, (root) => checkClaimSpec(get(root, 'spec')));

const SOURCES: Readonly<Record<string, (source: Field) => void>> = {
  ...rareVolumeSources,
  azureFile(source) {
    for (const name of ['secretName', 'shareName']) notEmpty(get(source, name));
    const namespace = get(source, 'secretNamespace');
    if (text(namespace) === '') required(namespace);
  },
  storageos(source) {
    const name = get(source, 'volumeName');
    needed(name);
    hasForm(name, dnsLabelRule);
    hasForm(get(source, 'volumeNamespace'), dnsLabelRule);
  },
  hostPath(source) {
    hasForm(get(source, 'path'), noBackstepsRule, 'BadPath');
  },
  local(source) {
    hasForm(get(source, 'path'), noBackstepsRule, 'BadPath');
  },
  csi(source) {
    hasForm(get(source, 'driver'), csiDriverRule);
    for (const name of ['controllerPublish', 'controllerExpand', 'nodePublish', 'nodeExpand']) {
      const secret = get(source, `${name}SecretRef`);
      if (!isSet(secret)) continue;
      for (const part of ['name', 'namespace']) needed(get(secret, part));
      hasForm(get(secret, 'name'), dnsSubdomainRule);
      hasForm(get(secret, 'namespace'), dnsLabelRule);
    }
  },
};
const SOURCE_NAMES = Object.keys(SOURCES);

/** What an API server checks of a PersistentVolume. */
export const persistentVolumeRule = kindRule(dnsSubdomainRule, (root) => {
  const spec = get(root, 'spec');
  checkAccessModes(get(spec, 'accessModes'));
  checkCapacity(get(spec, 'capacity'));
  const policy = get(spec, 'persistentVolumeReclaimPolicy');
  filledIfSet(get(spec, 'volumeMode'));
  hasForm(get(spec, 'storageClassName'), dnsSubdomainRule);
  const affinity = get(spec, 'nodeAffinity');
  const wanted = get(affinity, 'required');
  if (isSet(affinity)) {
    if (isSet(wanted)) checkNodeSelector(wanted);
    else required(wanted);
  }
  const source = atMostOne(spec, SOURCE_NAMES);
  if (source === undefined)
    report(spec, 'WrongChoice', `${nameOf(spec)} needs a source of the volume, like csi or nfs`);
  else SOURCES[source.step]?.(source);
  if (source?.step === 'local' && !isSet(affinity)) required(affinity, 'a local volume is on one node');
  const path = text(getIn(spec, 'hostPath', 'path'));
  if (path !== undefined && /^\/[/.]*$/.test(path) && policy.value === 'Recycle') {
    invalid(policy, 'must not be Recycle for the path "/"');
  }
  const attributes = get(spec, 'volumeAttributesClassName');
  if (text(attributes) === '') required(attributes);
  hasForm(attributes, dnsSubdomainRule);
  if (isSet(attributes) && source !== undefined && source.step !== 'csi') forbidden(attributes, 'without csi');
});

function checkAccessModes(modes: Field): void {
  needed(modes);
  const list = textItems(modes);
  filledIfSet(...list);
  const single = list.find(({ value }) => value === 'ReadWriteOncePod');
  if (single !== undefined && list.some(({ value }) => value !== single.value)) {
    report(single, 'WrongChoice', `${nameOf(single)} must be the only access mode if it is ReadWriteOncePod`);
  }
}

function checkCapacity(capacity: Field): void {
  const storage = get(capacity, 'storage');
  if (!isSet(storage)) required(storage);
  for (const amount of members(capacity)) {
    if (amount.step !== 'storage') {
      report(amount, 'BadResource', `${nameOf(amount)} is not allowed: a volume has the resource storage only`, {
        atKey: true,
      });
    } else if ((quantityOf(amount.value) ?? 1) <= 0) invalid(amount, 'must be above 0', { reason: 'BadResource' });
  }
}

/** What an API server checks of a StorageClass. */
export const storageClassRule = kindRule(dnsSubdomainRule, (root) => {
  checkDriver(get(root, 'provisioner'));
  checkParameters(get(root, 'parameters'));
  oneOf(get(root, 'reclaimPolicy'), ['Delete', 'Retain']);
  filledIfSet(get(root, 'volumeBindingMode'));
  checkTopologies(items(get(root, 'allowedTopologies')));
});

/** An empty term is refused, as a repetition. */
function checkTopologies(terms: readonly Field[]): void {
  const seen = new Set(['']);
  for (const term of terms) {
    const expressions = items(get(term, 'matchLabelExpressions'));
    for (const expression of expressions) {
      notEmpty(get(expression, 'values'));
      distinct(items(get(expression, 'values')), 'DuplicateValue');
      hasForm(get(expression, 'key'), qualifiedNameRule, 'BadLabel');
    }
    distinct(
      expressions.map((expression) => get(expression, 'key')),
      'DuplicateValue',
    );
    const key = expressions
      .map(({ value }) => canonicalJson(value ?? null))
      .sort(compareText)
      .join('\n');
    if (seen.has(key))
      report(term, 'DuplicateValue', `${nameOf(term)} must not be empty or the same as an entry above`);
    seen.add(key);
  }
}

/** What an API server checks of a VolumeAttributesClass. */
export const volumeAttributesClassRule = kindRule(dnsSubdomainRule, (root) => {
  checkDriver(get(root, 'driverName'));
  const parameters = get(root, 'parameters');
  checkParameters(parameters);
  needed(parameters);
});

function checkDriver(name: Field): void {
  hasForm(name, (found) => qualifiedNameRule(found.toLowerCase()));
}

function checkParameters(parameters: Field): void {
  const all = members(parameters);
  let bytes = 0;
  for (const parameter of all) {
    if (parameter.step === '')
      report(parameter, 'BadName', 'the key of a parameter must not be empty', { atKey: true });
    bytes += Buffer.byteLength(parameter.step) + Buffer.byteLength(text(parameter) ?? '');
  }
  if (all.length > MOST_PARAMETERS)
    report(parameters, 'WrongValue', `${nameOf(parameters)} must have at most ${MOST_PARAMETERS} keys`);
  else if (bytes > MAX_PARAMETER_BYTES) {
    report(
      parameters,
      'WrongValue',
      `${nameOf(parameters)} has ${bytes} bytes; at most ${MAX_PARAMETER_BYTES} are allowed`,
    );
  }
}

/** What an API server checks of a VolumeAttachment, apart from an inline volume. */
export const volumeAttachmentRule = kindRule(dnsSubdomainRule, (root) => {
  const spec = get(root, 'spec');
  notEmpty(get(spec, 'attacher'));
  hasForm(get(spec, 'attacher'), csiDriverRule);
  notEmpty(get(spec, 'nodeName'));
  hasForm(get(spec, 'nodeName'), dnsSubdomainRule);
  const source = get(spec, 'source');
  const name = get(source, 'persistentVolumeName');
  if (isSet(source)) eitherOf(source, name, get(source, 'inlineVolumeSpec'));
  if (text(name) === '') required(name);
  hasForm(name, dnsSubdomainRule);
});

const SHORTEST_TOKEN_SECONDS = 600;
const LONGEST_TOKEN_SECONDS = 2 ** 32;
const SHORTEST_UPDATE_SECONDS = 10;

/** What an API server checks of a CSIDriver. */
export const csiDriverKindRule = kindRule(dnsSubdomainRule, (root) => {
  const spec = get(root, 'spec');
  isOneOf(get(spec, 'fsGroupPolicy'), ['ReadWriteOnceWithFSType', 'File', 'None']);
  for (const mode of textItems(get(spec, 'volumeLifecycleModes'))) isOneOf(mode, ['Persistent', 'Ephemeral']);
  inRange(get(spec, 'nodeAllocatableUpdatePeriodSeconds'), SHORTEST_UPDATE_SECONDS);
  const requests = items(get(spec, 'tokenRequests'));
  for (const request of requests) {
    inRange(get(request, 'expirationSeconds'), SHORTEST_TOKEN_SECONDS, LONGEST_TOKEN_SECONDS);
  }
  distinct(
    requests.map((request) => get(request, 'audience')),
    'DuplicateValue',
  );
});

const LONGEST_NODE_ID = 256;

/** What an API server checks of a CSINode. */
export const csiNodeRule = kindRule(dnsSubdomainRule, (root) => {
  const drivers = items(getIn(root, 'spec', 'drivers'));
  distinct(drivers.map((driver) => get(driver, 'name')));
  for (const driver of drivers) {
    notEmpty(get(driver, 'name'));
    hasForm(get(driver, 'name'), csiDriverRule);
    const id = get(driver, 'nodeID');
    notEmpty(id);
    if ((word(id)?.length ?? 0) > LONGEST_NODE_ID) invalid(id, `must have at most ${LONGEST_NODE_ID} characters`);
    if ((integer(getIn(driver, 'allocatable', 'count')) ?? 0) < 0) inRange(getIn(driver, 'allocatable', 'count'), 0);
    const keys = textItems(get(driver, 'topologyKeys'));
    filledIfSet(...keys);
    for (const key of keys) hasForm(key, qualifiedNameRule, 'BadLabel');
    distinct(keys, 'DuplicateValue');
  }
});

/** What an API server checks of a CSIStorageCapacity. */
export const csiStorageCapacityRule = kindRule(dnsSubdomainRule, (root) => {
  checkLabelSelector(get(root, 'nodeTopology'));
  notEmpty(get(root, 'storageClassName'));
  hasForm(get(root, 'storageClassName'), dnsSubdomainRule);
  const capacity = get(root, 'capacity');
  if ((quantityOf(capacity.value) ?? 0) < 0) invalid(capacity, 'must not be negative', { reason: 'BadResource' });
});
