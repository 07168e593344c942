import { dataplaneSubject } from '../../model/dataplane.ts';
import { quote } from '../../model/ids.ts';
import { errorText } from '../../model/messages.ts';
import { type CertificateExpiry, WARN_BEFORE_MS } from '../../ports/certificate-authority.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Log, LogData } from '../../ports/log.ts';
import type { TokenGenerations } from '../../relay/trust/tokens.ts';
import type { Answer, CertificateView, PeopleApi, ServerApi } from '../../server/api.ts';

/** Parts of a server's process that the API of its fleet does not know. */
export interface ProcessParts {
  /** URL of the listener for health and metrics; undefined: it is not open yet. */
  readonly metricsAddress: () => string | undefined;
  /** Why the server is not ready; empty: it is. */
  readonly notReady: () => readonly string[];
  readonly certificates: () => readonly CertificateExpiry[];
  readonly generations: Pick<TokenGenerations, 'current' | 'renew'>;
  readonly clock: Clock;
  readonly log: Log;
}

/** The API of a fleet, whose status also has that of the process, and which renews tokens. */
export function apiOfProcess(api: ServerApi, process: ProcessParts): PeopleApi {
  const { generations } = process;
  return {
    ...api,
    status: () => {
      const metricsAddress = process.metricsAddress();
      const notReady = process.notReady();
      const endingCertificates = endingOf(process.certificates(), process.clock.now());
      return {
        ...api.status(),
        ...(metricsAddress === undefined ? {} : { metricsAddress }),
        ...(notReady.length === 0 ? {} : { notReady }),
        ...(endingCertificates.length === 0 ? {} : { endingCertificates }),
      };
    },
    clusters: () =>
      api.clusters().map((cluster) => {
        const tokenGeneration = generations.current(cluster.name);
        return tokenGeneration === 0 ? cluster : { ...cluster, tokenGeneration };
      }),
    renewToken: async (cluster, by) => {
      if (!api.clusters().some(({ name }) => name === cluster)) {
        return { ok: false, kind: 'notFound', message: `there is no cluster ${quote(cluster)}` };
      }
      const renewed = await renewToken(process, cluster, { cluster, by });
      return renewed.ok ? { ok: true, value: { cluster, ...renewed.value } } : renewed;
    },
    renewDataplaneToken: async (mesh, name, by) => {
      const declared = api.dataplane(mesh, name);
      if (!declared.ok) return declared;
      const renewed = await renewToken(process, dataplaneSubject(`${mesh}/${name}`), { mesh, dataplane: name, by });
      return renewed.ok ? { ok: true, value: { mesh, name, ...renewed.value } } : renewed;
    },
  };
}

/** `about`: who renews whose token, for the log. */
async function renewToken(
  { generations, log }: ProcessParts,
  subject: string,
  about: LogData,
): Promise<Answer<{ readonly generation: number }>> {
  try {
    const generation = await generations.renew(subject);
    log.info('a token is renewed: earlier ones are not valid any more', { ...about, generation });
    return { ok: true, value: { generation } };
  } catch (error) {
    const message = `the token cannot be renewed now, and nothing has changed: ${errorText(error)}`;
    return { ok: false, kind: 'conflict', message };
  }
}

const WHAT: Readonly<Record<CertificateExpiry['what'], string>> = {
  server: 'the certificate that this server shows to agents',
  root: "the authority of this server's certificate",
  clientRoot: "the authority of agents' certificates",
};

function endingOf(certificates: readonly CertificateExpiry[], now: number): readonly CertificateView[] {
  const ending = certificates.filter(({ expiresAt }) => expiresAt - now < WARN_BEFORE_MS);
  return ending.map(({ what, expiresAt }) => {
    const over = expiresAt <= now;
    const at = new Date(expiresAt).toISOString();
    const advice =
      'replace the files if you have given them; the server renews those that it has made, and its log has the reason if it cannot';
    return { what, expiresAt: at, over, message: `${WHAT[what]} ${over ? 'ended' : 'ends'} at ${at}: ${advice}` };
  });
}
