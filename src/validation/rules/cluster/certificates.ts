import { distinct, get, inRange, invalid, items, nameOf, needed, report, text, word } from '../shared/field.ts';
import { kindRule } from '../shared/metadata.ts';
import { dnsSubdomainRule } from '../shared/names.ts';

const SHORTEST_SECONDS = 600;
const LONGEST_SIGNER = 571;
/** The spaces before it must not span lines: with that the search would take quadratic time. */
const REQUEST = /^[^\S\r\n\u2028\u2029]*-----BEGIN CERTIFICATE REQUEST-----\r?\n/m;

/** `DOMAIN/PATH`; the parts between the dots of the path are names of objects. */
function signerNameRule(name: string): string | undefined {
  const [domain = '', path, ...rest] = name.split('/');
  const isDomain = domain.includes('.') && dnsSubdomainRule(domain) === undefined;
  const isGood = isDomain && path !== undefined && rest.length === 0 && dnsSubdomainRule(path) === undefined;
  return isGood && name.length <= LONGEST_SIGNER ? undefined : 'must be DOMAIN/NAME, like example.com/signer';
}

/** What an API server checks of a CertificateSigningRequest. The request itself is not decoded. */
export const certificateSigningRequestRule = kindRule(
  () => undefined,
  (root) => {
    const spec = get(root, 'spec');
    const request = get(spec, 'request');
    const encoded = text(request) ?? '';
    if (encoded !== '' && !REQUEST.test(Buffer.from(encoded, 'base64').toString('latin1'))) {
      report(request, 'WrongValue', `${nameOf(request)} must be a CERTIFICATE REQUEST in PEM, encoded as base64`);
    }
    const usages = get(spec, 'usages');
    needed(usages);
    distinct(items(usages), 'DuplicateValue');
    const signer = get(spec, 'signerName');
    const broken = word(signer) === undefined ? undefined : signerNameRule(word(signer) ?? '');
    if (broken !== undefined) invalid(signer, broken, { reason: 'BadName' });
    else if (signer.value === 'kubernetes.io/legacy-unknown') invalid(signer, 'must be another signer');
    inRange(get(spec, 'expirationSeconds'), SHORTEST_SECONDS);
  },
);
