import { isBase64 } from '../../values/formats.ts';
import type { Field } from '../shared/field.ts';
import { kindRule } from '../shared/metadata.ts';
import { configKeyRule, dnsSubdomainRule } from '../shared/names.ts';

/** Of all values together, in bytes. */
const MAX_DATA_BYTES = 1024 * 1024;

/** What an API server checks of a ConfigMap. */
export const configMapRule = kindRule(dnsSubdomainRule, (root) => {
  const data = root.get('data');
  const binaryData = root.get('binaryData');
  let bytes = 0;
  for (const value of data.members()) {
    checkKey(value);
    if (binaryData.getIn(value.step).value !== undefined) {
      value.report('DuplicateName', `${value.name} is in binaryData too`, { atKey: true });
    }
    bytes += Buffer.byteLength(value.text ?? '');
  }
  for (const value of binaryData.members()) {
    checkKey(value);
    bytes += decodedBytes(value.text ?? '');
  }
  checkSize(root, bytes);
});

/** What an API server checks of a Secret. */
export const secretRule = kindRule(dnsSubdomainRule, (root) => {
  const data = root.get('data');
  const stringData = root.get('stringData');
  let bytes = 0;
  for (const value of stringData.members()) {
    checkKey(value);
    bytes += Buffer.byteLength(value.text ?? '');
  }
  for (const value of data.members()) {
    // stringData replaces it.
    if (stringData.getIn(value.step).value !== undefined) continue;
    checkKey(value);
    bytes += decodedBytes(value.text ?? '');
  }
  checkSize(root, bytes);
  checkType(root);
});

function checkKey(value: Field & { readonly step: string }): void {
  const broken = configKeyRule(value.step);
  if (broken !== undefined) value.report('BadName', `the key ${JSON.stringify(value.step)} ${broken}`, { atKey: true });
}

/** The decoder of an API server passes over line ends. */
function withoutLineEnds(encoded: string): string {
  return /[\r\n]/.test(encoded) ? encoded.replaceAll(/[\r\n]/g, '') : encoded;
}

function decodedBytes(encoded: string): number {
  const clean = withoutLineEnds(encoded);
  const padding = clean.endsWith('==') ? 2 : clean.endsWith('=') ? 1 : 0;
  return Math.floor(clean.length / 4) * 3 - padding;
}

function checkSize(root: Field, bytes: number): void {
  if (bytes <= MAX_DATA_BYTES) return;
  const message = `the data has more than ${MAX_DATA_BYTES} bytes, and no more are allowed`;
  root.get('data').report('WrongValue', message, { atKey: true });
}

/** The keys that a type of Secret needs. */
function checkType(root: Field): void {
  switch (root.get('type').word) {
    case 'kubernetes.io/service-account-token': {
      const account = root.getIn('metadata', 'annotations', 'kubernetes.io/service-account.name');
      account.needed('the name of the ServiceAccount that the token is for');
      return;
    }
    case 'kubernetes.io/dockercfg':
      checkJson(root, '.dockercfg');
      return;
    case 'kubernetes.io/dockerconfigjson':
      checkJson(root, '.dockerconfigjson');
      return;
    case 'kubernetes.io/basic-auth': {
      if (find(root, 'username') === undefined && find(root, 'password') === undefined) {
        needKey(root, 'username', 'a Secret of this type has username, password or both');
      }
      return;
    }
    case 'kubernetes.io/ssh-auth': {
      if ((find(root, 'ssh-privatekey') ?? root.get('')).isEmpty) needKey(root, 'ssh-privatekey');
      return;
    }
    case 'kubernetes.io/tls':
      for (const key of ['tls.crt', 'tls.key']) if (find(root, key) === undefined) needKey(root, key);
      return;
    default:
  }
}

/** The value of a key, wherever it is written; undefined if it is missing. */
function find(root: Field, key: string): Field | undefined {
  for (const name of ['stringData', 'data']) {
    const found = root
      .get(name)
      .members()
      .find(({ step }) => step === key);
    // An API server reads a key without value as one with an empty text.
    if (found !== undefined) return found.isSet ? found : found.withValue('');
  }
  return undefined;
}

function needKey(root: Field, key: string, hint?: string): void {
  const type = root.get('type').text ?? '';
  const data = root.get(root.get('data').value === undefined ? 'stringData' : 'data');
  const field = data.value === undefined ? root.get('data') : data;
  field.get(key).report('MissingField', `a Secret of type ${type} needs the key ${key}`, { hint });
}

function checkJson(root: Field, key: string): void {
  const found = find(root, key);
  if (found === undefined) needKey(root, key);
  const content = found?.text;
  if (found === undefined || content === undefined) return;
  const isPlain = found.parent?.step === 'stringData';
  if (!isPlain && !isBase64(content)) return;
  if (!isJsonMapping(isPlain ? content : Buffer.from(content, 'base64').toString('utf8'))) {
    found.invalid('must be a JSON object', { hint: 'kubectl create secret docker-registry writes one' });
  }
}

function isJsonMapping(content: string): boolean {
  try {
    const value: unknown = JSON.parse(content);
    return typeof value === 'object' && !Array.isArray(value);
  } catch {
    return false;
  }
}
