import { X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import { connect } from 'node:tls';
import { systemDeps } from '../kube.ts';
import { type AgentSubject, settingOf } from './agent.ts';
import type { ApiServerSubject } from './api-server.ts';
import { type Found, firstOf, foundAt, type Row } from './finding.ts';

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

export async function apiServerCertificate({ kube: { client } }: ApiServerSubject): Promise<readonly Found[]> {
  const url = URL.canParse(client.server) ? new URL(client.server) : undefined;
  if (url?.protocol !== 'https:') return [];
  const shown = await shownCertificate(url.hostname.replaceAll(/[[\]]/g, ''), Number(url.port || 443), undefined);
  if (shown.type === 'silent') return [];
  return foundAt(client.server, dateRows(shown.certificate, 'the API server', systemDeps().clock.now()));
}

/** The authority that the agent trusts, and the server's certificate as this machine sees it at the address that the agent has. */
export async function relayCertificate({ kube, now, agent, server }: AgentSubject): Promise<readonly Found[]> {
  if (server === undefined) return [];
  const ca = agent.authority && (await settingOf(kube, agent.authority.name, agent.authority.key));
  const authority = ca === undefined ? undefined : certificateOf(ca);
  const fix = "the server's CA certificate is trust/ca.crt in its data directory";
  const isUnreadable = ca !== undefined && authority === undefined;
  return [
    ...foundAt(`ConfigMap/${kube.namespace}/${agent.authority?.name}`, [
      [isUnreadable, 'error', 'AuthorityUnreadable', 'it holds no certificate', fix],
      ...(authority === undefined ? [] : dateRows(authority, "the server's authority", now)),
    ]),
    ...foundAt(server, await dialRows(server, ca, now)),
  ];
}

async function dialRows(server: string, ca: string | undefined, now: number): Promise<readonly Row[]> {
  const colon = server.lastIndexOf(':');
  const host = server.slice(0, colon).replaceAll(/[[\]]/g, '');
  const shown = await shownCertificate(host, Number(server.slice(colon + 1)), ca);
  if (shown.type === 'silent') {
    const what = `the server does not answer from here at the address that the agent uses: ${shown.message}`;
    const fix = `${isIP(host) === 0 ? 'from inside the cluster it may; ' : ''}see the log of the agent`;
    return [[true, 'unknown', 'RelayUnreachableFromHere', what, fix]];
  }
  const { certificate, distrust } = shown;
  const fix = `the server's authority is trust/ca.crt in its data directory; a name is added with: fleetrelay serve --tls-name ${host}`;
  return [
    ...dateRows(certificate, 'the server', now),
    [distrust !== undefined, 'error', 'RelayNotTrusted', `the agent will not trust the server: ${distrust}`, fix],
  ];
}

/** What a server answers to a TLS handshake. `distrust`: why its certificate does not lead to the authority, or names another host. */
type ShownCertificate =
  | { readonly type: 'shown'; readonly certificate: X509Certificate; readonly distrust: string | undefined }
  | { readonly type: 'silent'; readonly message: string };

/** Dials a server and reads its certificate. Sends nothing but the handshake. */
function shownCertificate(host: string, port: number, ca: string | undefined): Promise<ShownCertificate> {
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
