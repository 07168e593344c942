import type { WaitingAgentView } from '../../api/agent-views.ts';
import type { Act } from '../../api/answer.ts';
import type { CertificateView, ClusterView, ServerApi } from '../../api/server-api.ts';
import { quote } from '../../model/fleet/ids.ts';
import { durableAlready } from '../../model/fleet/receipt.ts';
import { counted, errorText } from '../../model/text/messages.ts';
import { given } from '../../model/values/given.ts';
import { type CertificateExpiry, WARN_BEFORE_MS } from '../../ports/certificate-authority.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Log, LogData } from '../../ports/log.ts';
import type { Acceptances, Asker } from '../../relay/trust/acceptances.ts';
import { parseSerial, type RevokedCertificates } from '../../relay/trust/revoked-certificates.ts';
import type { TokenGenerations } from '../../relay/trust/tokens.ts';
import type { AcceptedAgentView, PeopleApi, RevokedView } from '../../server/people-api.ts';

/** Parts of a server's process that the API of its fleet does not know. */
export interface ProcessParts {
  /** URL of the listener for health and metrics; undefined: it is not open yet. */
  readonly metricsAddress: () => string | undefined;
  /** Why the server is not ready; empty: it is. */
  readonly notReady: () => readonly string[];
  readonly certificates: () => readonly CertificateExpiry[];
  readonly records: {
    readonly generations: Pick<TokenGenerations, 'current' | 'renew'>;
    readonly acceptances: Pick<Acceptances, 'waiting' | 'accept'>;
    readonly revoked: Pick<RevokedCertificates, 'revoke'>;
  };
  readonly clock: Clock;
  readonly log: Log;
}

/** The API of a fleet. Its status also shows the process, and it renews tokens. */
export function apiOfProcess(api: ServerApi, process: ProcessParts): PeopleApi {
  const { generations, acceptances } = process.records;
  return {
    ...api,
    status: () => {
      const metricsAddress = process.metricsAddress();
      const notReady = process.notReady();
      const endingCertificates = endingOf(process.certificates(), process.clock.now());
      return {
        ...api.status(),
        ...given({ metricsAddress }),
        ...(notReady.length === 0 ? {} : { notReady }),
        ...(endingCertificates.length === 0 ? {} : { endingCertificates }),
      };
    },
    clusters: () =>
      api.clusters().map((cluster) => {
        const tokenGeneration = generations.current(cluster.name);
        const waiting = acceptances.waiting(cluster.name).map(waitingView);
        return {
          ...cluster,
          ...(tokenGeneration === 0 ? {} : { tokenGeneration }),
          ...(waiting.length === 0 ? {} : { waiting, message: withWaiting(cluster, waiting.length) }),
        };
      }),
    renewToken: async (cluster, by) => {
      if (!api.clusters().some(({ name }) => name === cluster)) {
        return { ok: false, kind: 'notFound', message: `there is no cluster ${quote(cluster)}` };
      }
      const renewed = await renewToken({ ...process, generations }, cluster, { cluster, by });
      return renewed.ok ? { ...renewed, value: { cluster, ...renewed.value } } : renewed;
    },
    acceptCluster: (cluster, agent, by) => acceptCluster(api, process, cluster, agent, by),
    revokeCertificates: (cluster, serial, by) => revokeCertificates(api, process, cluster, serial, by),
  };
}

function waitingView({ clusterId, key, at }: Asker): WaitingAgentView {
  return { id: clusterId, key, askedAt: new Date(at).toISOString() };
}

function withWaiting({ name, message }: ClusterView, count: number): string {
  const waits = `${counted(count, 'agent')} with the shared token waits: fleetrelay cluster accept ${name}`;
  return message === '' ? waits : `${waits}; ${message}`;
}

/** Accepts the agent that waits, or the named one of several. */
async function acceptCluster(
  api: ServerApi,
  { records: { acceptances }, log }: ProcessParts,
  cluster: string,
  { id, key }: { readonly id?: string; readonly key?: string },
  by: string,
): Promise<Act<AcceptedAgentView>> {
  const view = api.clusters().find(({ name }) => name === cluster);
  if (view === undefined) return { ok: false, kind: 'notFound', message: `there is no cluster ${quote(cluster)}` };
  if (view.id !== null && !view.released) {
    const message = `the name ${cluster} belongs to cluster id ${view.id} already; for another one: fleetrelay cluster replace ${cluster}`;
    return { ok: false, kind: 'conflict', message };
  }
  const waiting = acceptances.waiting(cluster);
  const meant = waiting.filter((each) => (id ?? each.clusterId) === each.clusterId && (key ?? each.key) === each.key);
  const [agent] = id !== undefined && key !== undefined ? [{ clusterId: id, key }] : meant;
  if (agent === undefined) {
    const message = `no agent with the shared token waits for the name ${cluster}${waiting.length === 0 ? '' : ' with this id and key'}`;
    return { ok: false, kind: 'notFound', message };
  }
  if (meant.length > 1) {
    const list = meant.map((each) => `--id ${each.clusterId} --key ${each.key}`).join('; ');
    return { ok: false, kind: 'conflict', message: `several agents wait for the name ${cluster}, say which: ${list}` };
  }
  const { clusterId } = agent;
  return recorded(async () => {
    await acceptances.accept(cluster, { clusterId, key: agent.key });
    log.info('an agent with the shared token is accepted', { cluster, id: clusterId, key: agent.key, by });
    return { cluster, id: clusterId, key: agent.key };
  });
}

async function revokeCertificates(
  api: ServerApi,
  { records: { revoked }, log }: ProcessParts,
  cluster: string,
  written: string | undefined,
  by: string,
): Promise<Act<RevokedView>> {
  if (!api.clusters().some(({ name }) => name === cluster)) {
    return { ok: false, kind: 'notFound', message: `there is no cluster ${quote(cluster)}` };
  }
  const serial = written === undefined ? undefined : parseSerial(written);
  if (written !== undefined && serial === undefined) {
    return { ok: false, kind: 'invalid', message: `${quote(written)} is no serial number: it is written in hex` };
  }
  return recorded(async () => {
    await revoked.revoke(cluster, serial);
    log.info('client certificates are revoked', { cluster, serial: serial ?? 'all until now', by });
    return { cluster, serial: serial ?? null };
  });
}

/**
 * An act that is recorded in the trust folder and in the store that replicas share. After a failure the store may have it all the same:
 * then it is in force as soon as the store is read again.
 */
async function recorded<Value>(act: () => Promise<Value>): Promise<Act<Value>> {
  try {
    return { ok: true, value: await act(), receipt: durableAlready };
  } catch (error) {
    const message = `that could not be recorded, and whether it is in force is not known: ${errorText(error)}. Do it again, which does no harm`;
    return { ok: false, kind: 'unrecorded', message };
  }
}

/** Makes all earlier tokens of a subject invalid. `about`: who renews whose token, for the log. */
export function renewToken(
  { generations, log }: { readonly generations: Pick<TokenGenerations, 'renew'>; readonly log: Log },
  subject: string,
  about: LogData,
): Promise<Act<{ readonly generation: number }>> {
  return recorded(async () => {
    const generation = await generations.renew(subject);
    log.info('a token is renewed: earlier ones are not valid any more', { ...about, generation });
    return { generation };
  });
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
