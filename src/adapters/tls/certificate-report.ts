import { X509Certificate } from 'node:crypto';
import { compareText, type JsonObject } from '../../model/text/json.ts';
import { cutText, errorText } from '../../model/text/messages.ts';
import { rfc3339 } from '../../model/text/time.ts';

/**
 * The ConfigMaps of `kube-system` with the authorities that every cluster publishes. Source: the root CA publisher and the
 * authentication options of Kubernetes.
 */
export const AUTHORITIES = ['kube-root-ca.crt', 'extension-apiserver-authentication'] as const;
export type Authority = (typeof AUTHORITIES)[number];

/** What was found of a ConfigMap: its data, why it cannot be read, or undefined: there is none. */
export type FoundAuthority = { readonly data: JsonObject } | { readonly problem: string } | undefined;

const MOST_CERTIFICATES = 100;
const MOST_PROBLEMS = 20;
const MOST_PROBLEM = 500;
/** `client-ca-file` and `requestheader-client-ca-file` beside `ca.crt`; other fields have lists of names. */
const FIELD = /^ca\.crt$|ca-file$/;
const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g;

interface Expiry {
  readonly name: Authority;
  readonly field: string;
  /** RFC 3339. */
  readonly notAfter: string;
}

/** The status of a CertificateReport: when each certificate of the authorities expires, and what cannot be read. */
export function certificateReportOf(found: Readonly<Record<Authority, FoundAuthority>>): JsonObject {
  const certificates: Expiry[] = [];
  const problems: string[] = [];
  for (const name of AUTHORITIES) {
    const authority = found[name];
    if (authority === undefined) continue;
    if ('problem' in authority) problems.push(`ConfigMap kube-system/${name}: ${authority.problem}`);
    else readFields(name, authority.data, certificates, problems);
  }
  const more = certificates.length - MOST_CERTIFICATES;
  if (more > 0) problems.unshift(`${more} more certificates are left out`);
  const shown = problems.slice(0, MOST_PROBLEMS).map((text) => cutText(text, MOST_PROBLEM));
  const hidden = problems.length - shown.length;
  return {
    certificates: certificates
      .slice(0, MOST_CERTIFICATES)
      .map(({ name, field, notAfter }) => ({ name, field, notAfter })),
    ...(shown.length === 0 ? {} : { problems: hidden === 0 ? shown : [...shown, `and ${hidden} more`] }),
  };
}

function readFields(name: Authority, data: JsonObject, certificates: Expiry[], problems: string[]): void {
  const fields = Object.keys(data).filter((field) => FIELD.test(field));
  for (const field of fields.sort(compareText)) {
    const where = `${field} of ConfigMap kube-system/${name}`;
    const text = data[field];
    const blocks = typeof text === 'string' ? (text.match(CERTIFICATE) ?? []) : [];
    if (blocks.length === 0) problems.push(`${where} has no certificate`);
    for (const [index, block] of blocks.entries()) {
      try {
        const { validToDate } = new X509Certificate(block);
        certificates.push({ name, field, notAfter: rfc3339(validToDate.getTime()) });
      } catch (error) {
        problems.push(`certificate ${index + 1} in ${where} cannot be read: ${errorText(error)}`);
      }
    }
  }
}
