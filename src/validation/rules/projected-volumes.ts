import {
  atMostOne,
  exactlyOne,
  type Field,
  forbidden,
  get,
  hasForm,
  inRange,
  isEmpty,
  isSet,
  items,
  nameOf,
  notEmpty,
  oneOf,
  report,
  required,
  word,
} from './field.ts';
import { dnsLabelRule, dnsSubdomainRule, reservedPathRule } from './names.ts';
import { checkLabelSelector } from './selectors.ts';
import { checkDownwardFile, checkKeyToPath, checkMode } from './volume-files.ts';

const SOURCES = ['secret', 'configMap', 'downwardAPI', 'serviceAccountToken', 'clusterTrustBundle', 'podCertificate'];
const KEY_TYPES = ['RSA3072', 'RSA4096', 'ECDSAP256', 'ECDSAP384', 'ECDSAP521', 'ED25519'];

/** Checks a projected volume: the files of several sources in one folder. */
export function checkProjected(volume: Field): void {
  checkMode(get(volume, 'defaultMode'));
  const paths = new Set<string>();
  for (const entry of items(get(volume, 'sources'))) {
    const source = atMostOne(entry, SOURCES);
    if (source === undefined) continue;
    for (const path of pathsOf(source)) {
      const found = word(path);
      if (found === undefined) continue;
      if (paths.has(found)) {
        report(
          path,
          'DuplicateValue',
          `${nameOf(path)} is ${JSON.stringify(found)}, which another file of the volume has too`,
        );
      }
      paths.add(found);
    }
  }
}

/** Checks a source and returns the paths of its files that must differ from those of other sources. */
function pathsOf(source: Field): readonly Field[] {
  switch (source.step) {
    case 'secret':
    case 'configMap': {
      if (isEmpty(get(source, 'name'))) required(get(source, 'name'));
      const files = items(get(source, 'items'));
      for (const file of files) checkKeyToPath(file);
      return files.map((file) => get(file, 'path'));
    }
    case 'downwardAPI': {
      const files = items(get(source, 'items'));
      for (const file of files) checkDownwardFile(file);
      return files.map((file) => get(file, 'path'));
    }
    case 'serviceAccountToken':
      inRange(get(source, 'expirationSeconds'), 600, 2 ** 32);
      hasForm(get(source, 'path'), reservedPathRule, 'BadPath');
      return [];
    case 'clusterTrustBundle':
      return checkTrustBundle(source);
    default:
      return checkCertificate(source);
  }
}

function checkTrustBundle(source: Field): readonly Field[] {
  const chosen = exactlyOne(source, ['name', 'signerName']);
  const selector = get(source, 'labelSelector');
  if (chosen !== undefined) notEmpty(chosen);
  if (chosen?.step === 'signerName') {
    hasForm(chosen, signerNameRule);
    checkLabelSelector(selector);
  } else if (chosen?.step === 'name') {
    hasForm(chosen, trustBundleNameRule);
    if (isSet(selector)) forbidden(selector, 'beside name');
  }
  hasForm(get(source, 'path'), reservedPathRule, 'BadPath');
  return [get(source, 'path')];
}

function checkCertificate(source: Field): readonly Field[] {
  hasForm(get(source, 'signerName'), signerNameRule);
  oneOf(get(source, 'keyType'), KEY_TYPES);
  const host = word(get(source, 'signerName'))?.split('/')[0] ?? '';
  const isOfKubernetes = host === 'kubernetes.io' || host.endsWith('.kubernetes.io');
  inRange(get(source, 'maxExpirationSeconds'), 3600, isOfKubernetes ? 86_400 : 7_862_400);
  const paths = ['credentialBundlePath', 'keyPath', 'certificateChainPath'].map((step) => get(source, step));
  if (paths.every(isEmpty)) {
    const message = `${nameOf(source)} needs at least one of credentialBundlePath, keyPath, certificateChainPath`;
    report(source, 'WrongChoice', message);
  }
  for (const path of paths) hasForm(path, reservedPathRule, 'BadPath');
  return paths;
}

/** The name of a signer of certificates: `example.com/name`. */
export function signerNameRule(name: string): string | undefined {
  const [domain = '', path = '', ...rest] = name.split('/');
  const labels = domain.split('.');
  const isGood =
    rest.length === 0 &&
    labels.length >= 2 &&
    domain.length <= 253 &&
    labels.every((label) => dnsLabelRule(label) === undefined) &&
    dnsSubdomainRule(path) === undefined;
  return isGood ? undefined : 'must be a domain with a dot, "/" and a name, like example.com/signer';
}

function trustBundleNameRule(name: string): string | undefined {
  return dnsSubdomainRule(name.slice(name.lastIndexOf(':') + 1));
}
