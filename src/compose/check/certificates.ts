import { X509Certificate } from 'node:crypto';
import { connect } from 'node:tls';
import { firstOf, type Row } from './finding.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
const SOON_MS = 30 * DAY_MS;
const DEADLINE_MS = 5_000;
const RENEW = 'renew it; the server renews the certificates that it has made, and logs the reason if it cannot';

/** The row that the dates of a certificate give at `now` (milliseconds since 1970). */
export function dateRows(certificate: X509Certificate, whose: string, now: number, fix = RENEW): readonly Row[] {
  const from = Date.parse(certificate.validFrom);
  const to = Date.parse(certificate.validTo);
  const until = new Date(to).toISOString().slice(0, 10);
  const what = `the certificate of ${whose}`;
  const early = `${what} is valid from ${new Date(from).toISOString()} on only`;
  return firstOf([
    [now > to, 'error', 'CertificateExpired', `${what} has expired on ${until}`, fix],
    [now < from, 'error', 'CertificateNotYetValid', early, 'set the clocks right'],
    [now > to - SOON_MS, 'warning', 'CertificateExpiresSoon', `${what} expires on ${until}`, fix],
    [true, 'ok', 'CertificateValid', `${what} is valid until ${until}`],
  ]);
}

/** Reads a certificate in PEM; undefined if there is none that can be read. */
export function certificateOf(pem: string): X509Certificate | undefined {
  try {
    return new X509Certificate(pem);
  } catch {
    return undefined;
  }
}

/** What a server answers to a TLS handshake. `distrust`: why its certificate does not lead to the authority, or names another host. */
export type ShownCertificate =
  | { readonly type: 'shown'; readonly certificate: X509Certificate; readonly distrust: string | undefined }
  | { readonly type: 'silent'; readonly message: string };

/** Dials a server and reads its certificate. Sends nothing but the handshake. */
export function shownCertificate(host: string, port: number, ca: string | undefined): Promise<ShownCertificate> {
  return new Promise((resolve) => {
    const socket = connect({
      host,
      port,
      servername: /^[\d.]+$|:/.test(host) ? '' : host,
      ALPNProtocols: ['h2', 'http/1.1'],
      // The certificate is read, not trusted: the check looks for one that has expired.
      rejectUnauthorized: false,
      ca,
    });
    const end = (result: ShownCertificate): void => {
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
