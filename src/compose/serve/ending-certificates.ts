import { type CertificateExpiry, WARN_BEFORE_MS } from '../../ports/certificate-authority.ts';
import type { Clock } from '../../ports/clock.ts';
import type { CertificateView, ServerApi } from '../../server/api.ts';

const WHAT: Readonly<Record<CertificateExpiry['what'], string>> = {
  server: 'the certificate that this server shows to agents',
  root: "the authority of this server's certificate",
  clientRoot: "the authority of agents' certificates",
};

/** The API of a server, whose status also warns of the server's certificates. */
export function withEndingCertificates(
  api: ServerApi,
  clock: Clock,
  expiries: () => readonly CertificateExpiry[],
): ServerApi {
  return {
    ...api,
    status() {
      const now = clock.now();
      const ending = expiries().filter(({ expiresAt }) => expiresAt - now < WARN_BEFORE_MS);
      return { ...api.status(), ...(ending.length === 0 ? {} : { endingCertificates: ending.map(viewOf(now)) }) };
    },
  };
}

function viewOf(now: number): (expiry: CertificateExpiry) => CertificateView {
  return ({ what, expiresAt }) => {
    const over = expiresAt <= now;
    const at = new Date(expiresAt).toISOString();
    const advice =
      'replace the files if they are yours; what the server has made it renews while it runs, and its log says what hinders it';
    return { what, expiresAt: at, over, message: `${WHAT[what]} ${over ? 'ended' : 'ends'} at ${at}: ${advice}` };
  };
}
