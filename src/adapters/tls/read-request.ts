// As in `authority.ts`: loaded when the first request is read.
import 'reflect-metadata';
import {
  BasicConstraintsExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  Pkcs10CertificateRequest,
  SubjectAlternativeNameExtension,
} from '@peculiar/x509';
import { ok, problem, type Result } from '../../model/result.ts';
import type { CertificateRequestFacts } from '../../ports/certificate-authority.ts';

type Names = CertificateRequestFacts['names'][number];

/** What a certificate request (PKCS #10, DER) says. The problem: it is none. */
export async function readCertificateRequest(der: Uint8Array): Promise<Result<CertificateRequestFacts>> {
  try {
    const request = new Pkcs10CertificateRequest(Buffer.from(der));
    const { extensions } = request;
    return ok({
      publicKey: new Uint8Array(request.publicKey.rawData),
      proven: await request.verify().catch(() => false),
      names: [...subjectNames(request), ...extensions.flatMap(alternativeNames)],
      authority: extensions.some(asksToSign),
    });
  } catch {
    return problem('what was sent is no certificate request (PKCS #10, DER)');
  }
}

function subjectNames(request: Pkcs10CertificateRequest): Names[] {
  const parts = request.subjectName.toJSON().flatMap((part) => Object.entries(part));
  return parts.flatMap(([type, values]) =>
    values.map((value): Names => ({ type: type === 'CN' ? 'CN' : 'other', value: String(value) })),
  );
}

function alternativeNames(extension: unknown): Names[] {
  if (!(extension instanceof SubjectAlternativeNameExtension)) return [];
  return extension.names.items.map(({ type, value }): Names => {
    switch (type) {
      case 'dns':
        return { type: 'DNS', value };
      case 'url':
        return { type: 'URI', value };
      default:
        return { type: 'other', value };
    }
  });
}

function asksToSign(extension: unknown): boolean {
  if (extension instanceof BasicConstraintsExtension) return extension.ca;
  return extension instanceof KeyUsagesExtension && (extension.usages & KeyUsageFlags.keyCertSign) !== 0;
}
