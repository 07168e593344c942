import { distinct } from '../shared/field.ts';
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
    const spec = root.get('spec');
    const request = spec.get('request');
    const encoded = request.text ?? '';
    if (encoded !== '' && !REQUEST.test(Buffer.from(encoded, 'base64').toString('latin1'))) {
      request.report('WrongValue', `${request.name} must be a CERTIFICATE REQUEST in PEM, encoded as base64`);
    }
    const usages = spec.get('usages');
    usages.needed();
    distinct(usages.items(), 'DuplicateValue');
    const signer = spec.get('signerName');
    const broken = signer.word === undefined ? undefined : signerNameRule(signer.word ?? '');
    if (broken !== undefined) signer.invalid(broken, { reason: 'BadName' });
    else if (signer.value === 'kubernetes.io/legacy-unknown') signer.invalid('must be another signer');
    spec.get('expirationSeconds').inRange(SHORTEST_SECONDS);
  },
);
