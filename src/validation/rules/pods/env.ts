import { quantityOf } from '../../values/quantities.ts';
import type { Field } from '../shared/field.ts';
import {
  configKeyRule,
  dnsLabelRule,
  dnsSubdomainRule,
  envNameRule,
  noBackstepsRule,
  qualifiedNameRule,
} from '../shared/names.ts';

const ENV_SOURCES = ['fieldRef', 'resourceFieldRef', 'configMapKeyRef', 'secretKeyRef', 'fileKeyRef'] as const;

/** The fields of a Pod that its environment can refer to. */
const ENV_FIELDS: readonly string[] = [
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
  'spec.nodeName',
  'spec.serviceAccountName',
  'status.hostIP',
  'status.hostIPs',
  'status.podIP',
  'status.podIPs',
];

/** The fields of a Pod that files of a volume can refer to. */
export const VOLUME_FIELDS: readonly string[] = [
  'metadata.name',
  'metadata.namespace',
  'metadata.labels',
  'metadata.annotations',
  'metadata.uid',
];

const RESOURCES: readonly string[] = ['limits', 'requests'].flatMap((side) =>
  ['cpu', 'memory', 'ephemeral-storage'].map((resource) => `${side}.${resource}`),
);

/** Checks the environment of a container. */
export function checkEnv(container: Field): void {
  for (const variable of container.get('env').items()) {
    variable.get('name').hasForm(envNameRule);
    if (variable.has('valueFrom')) checkValueFrom(variable.get('valueFrom'), variable.get('value'));
  }
  for (const source of container.get('envFrom').items()) {
    source.get('prefix').hasForm(envNameRule);
    const chosen = source.exactlyOne(['configMapRef', 'secretRef']);
    if (chosen !== undefined) checkNamed(chosen.get('name'));
  }
}

function checkValueFrom(from: Field, value: Field): void {
  const source = from.exactlyOne(ENV_SOURCES);
  if (source === undefined) return;
  if (value.word !== undefined) {
    from.report('WrongChoice', `${from.name} is not allowed beside value: only one of them can be set`, {
      atKey: true,
    });
  }
  switch (source.step) {
    case 'fieldRef':
      checkFieldRef(source, ENV_FIELDS);
      break;
    case 'resourceFieldRef':
      checkResourceFieldRef(source);
      break;
    case 'fileKeyRef':
      checkFileKey(source);
      break;
    default:
      checkNamed(source.get('name'));
      source.get('key').hasForm(configKeyRule);
  }
}

/** The name of a ConfigMap or Secret, which the schema does not demand. */
function checkNamed(name: Field): void {
  if (name.word === undefined && (!name.isSet || name.value === '')) name.required();
  name.hasForm(dnsSubdomainRule);
}

function checkFileKey(source: Field): void {
  source.get('key').hasForm(envNameRule);
  source.get('volumeName').hasForm(dnsLabelRule);
  source.get('path').hasForm(noBackstepsRule, 'BadPath');
}

/** Checks a reference to a field of the Pod. */
export function checkFieldRef(ref: Field, allowed: readonly string[]): void {
  const version = ref.get('apiVersion');
  if (version.word !== undefined && version.value !== 'v1') version.notSupported(['v1']);
  const path = ref.get('fieldPath');
  const found = path.word;
  if (found === undefined || allowed.includes(found)) return;
  const key = /^metadata\.(labels|annotations)\['(.*)'\]$/s.exec(found);
  if (key === null) {
    // An old name that API servers still read.
    if (found !== 'spec.host' || allowed !== ENV_FIELDS) path.notSupported(allowed);
    return;
  }
  const [, map, name = ''] = key;
  const broken = qualifiedNameRule(map === 'annotations' ? name.toLowerCase() : name);
  if (broken !== undefined) path.invalid(`must have a key which ${broken}`, { reason: 'BadLabel' });
}

/** Checks a reference to a resource of a container. */
export function checkResourceFieldRef(ref: Field): void {
  const resource = ref.get('resource');
  const found = resource.word;
  if (found === undefined) return;
  const isHugePages = found.startsWith('limits.hugepages-') || found.startsWith('requests.hugepages-');
  if (!RESOURCES.includes(found) && !isHugePages) resource.notSupported(RESOURCES);
  else checkDivisor(ref.get('divisor'), found.endsWith('.cpu'));
}

const CPU_DIVISORS: readonly number[] = [0, 0.001, 1];
const BYTE_DIVISORS: readonly number[] = [
  0,
  1,
  ...[1, 2, 3, 4, 5, 6].flatMap((power) => [1000 ** power, 1024 ** power]),
];

function checkDivisor(divisor: Field, isCpu: boolean): void {
  const amount = quantityOf(divisor.value);
  if (amount === undefined || (isCpu ? CPU_DIVISORS : BYTE_DIVISORS).includes(amount)) return;
  divisor.invalid(
    isCpu ? 'must be 1m or 1' : 'must be 1 or a unit: 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei',
  );
}
