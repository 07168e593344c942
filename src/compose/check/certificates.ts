import { X509Certificate } from 'node:crypto';
import { connect } from 'node:tls';
import type { Finding } from './finding.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
const SOON_MS = 30 * DAY_MS;
const DEADLINE_MS = 5_000;

/** What a certificate's dates say at `now` (milliseconds since 1970). */
export function dateFinding(certificate: X509Certificate, whose: string, where: string, now: number): Finding {
  const at = { area: 'kubernetes', where } as const;
  const from = Date.parse(certificate.validFrom);
  const to = Date.parse(certificate.validTo);
  const until = new Date(to).toISOString().slice(0, 10);
  if (now > to) {
    return {
      ...at,
      severity: 'error',
      reason: 'CertificateExpired',
      what: `the certificate of ${whose} has expired on ${until}`,
      fix: 'renew it; what the server has made it renews while it runs, and its log says what hinders it',
    };
  }
  if (now < from) {
    const since = new Date(from).toISOString();
    return {
      ...at,
      severity: 'error',
      reason: 'CertificateNotYetValid',
      what: `the certificate of ${whose} is valid from ${since} on only`,
      fix: 'set the clocks right',
    };
  }
  if (now > to - SOON_MS) {
    return {
      ...at,
      severity: 'warning',
      reason: 'CertificateExpiresSoon',
      what: `the certificate of ${whose} expires on ${until}`,
      fix: 'renew it; what the server has made it renews while it runs, and its log says what hinders it',
    };
  }
  return {
    ...at,
    severity: 'ok',
    reason: 'CertificateValid',
    what: `the certificate of ${whose} is valid until ${until}`,
  };
}

/** Certificates in PEM; undefined if there is none that can be read. */
export function certificateOf(pem: string): X509Certificate | undefined {
  try {
    return new X509Certificate(pem);
  } catch {
    return undefined;
  }
}

/**
 * Dials a server and looks at what it shows. `trusted`: whether that leads to `ca` and names the host. Nothing is sent but
 * the handshake.
 */
export function shownCertificate(
  host: string,
  port: number,
  ca: string | undefined,
): Promise<
  | { readonly type: 'shown'; readonly certificate: X509Certificate; readonly distrust: string | undefined }
  | { readonly type: 'silent'; readonly message: string }
> {
  return new Promise((resolve) => {
    const socket = connect({
      host,
      port,
      servername: /^[\d.]+$|:/.test(host) ? '' : host,
      ALPNProtocols: ['h2', 'http/1.1'],
      // Looked at, not trusted: an expired certificate is what is searched for.
      rejectUnauthorized: false,
      ...(ca === undefined ? {} : { ca }),
    });
    const end = (result: Awaited<ReturnType<typeof shownCertificate>>): void => {
      socket.destroy();
      resolve(result);
    };
    socket.setTimeout(DEADLINE_MS, () => end({ type: 'silent', message: `no answer within ${DEADLINE_MS / 1000} s` }));
    socket.once('error', (error) => end({ type: 'silent', message: error.message }));
    socket.once('secureConnect', () => {
      const certificate = socket.getPeerX509Certificate();
      if (certificate === undefined) return end({ type: 'silent', message: 'it shows no certificate' });
      const distrust = socket.authorized ? undefined : String(socket.authorizationError);
      end({ type: 'shown', certificate, distrust });
    });
  });
}
