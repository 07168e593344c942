import { createCertificateRequests } from '../../src/adapters/tls/certificate-requests.ts';
import { readCertificateRequest } from '../../src/adapters/tls/x509.ts';
import { must, ok } from '../../src/model/values/result.ts';
import type {
  CertificateAuthority,
  CertificateOrder,
  CertificateRequestFacts,
  ServerRoots,
} from '../../src/ports/certificate-authority.ts';
import type { Clock } from '../../src/ports/clock.ts';
import { BACKDATE_MS, identityUri } from '../../src/relay/trust/certificates.ts';
import type { Identity } from './enrolled.ts';
import { FLEET } from './relay-world.ts';
import { createTestAuthority, DAY_MS } from './test-authority.ts';

/** An authority with scripted answers that take no real time, and certificates that it could have issued. */
export interface ScriptedAuthority extends CertificateAuthority {
  /** Every order, in order. */
  readonly orders: CertificateOrder[];
  /** What every request says. */
  facts: CertificateRequestFacts;
  /** When what is issued next ends. */
  expiresAt: number;
  failure: Error | undefined;
  /** A real certificate, as issued at `from`. */
  certificate(options?: {
    cluster?: string;
    id?: string;
    fleet?: string;
    from?: number;
    to?: number;
  }): Promise<Identity>;
}

export async function createScriptedAuthority(clock: Clock): Promise<ScriptedAuthority> {
  const signer = await createTestAuthority(clock.now() - DAY_MS, clock.now() + 3650 * DAY_MS);
  const { key, request } = await createCertificateRequests().create();
  const scripted: ScriptedAuthority = {
    orders: [],
    facts: must(await readCertificateRequest(request)),
    expiresAt: clock.now() + 90 * DAY_MS,
    failure: undefined,
    inspect: async () => ok(scripted.facts),
    async issue(order) {
      if (scripted.failure !== undefined) throw scripted.failure;
      scripted.orders.push(order);
      return { certificate: `certificate of ${order.uri}`, expiresAt: scripted.expiresAt };
    },
    async certificate({ cluster = 'east', id = `${cluster}-id`, fleet = FLEET, from = clock.now(), to } = {}) {
      const uri = identityUri({ fleet, cluster, clusterId: id });
      const times = { from: from - BACKDATE_MS, to: to ?? from + 90 * DAY_MS };
      return { key, certificate: await signer.issue(request, { names: [cluster], uri, ...times }) };
    },
  };
  return scripted;
}

/** Roots that a test exchanges. */
export function createScriptedRoots(first: string): ServerRoots & { say(roots: string): void } {
  let roots = first;
  const listeners = new Set<() => void>();
  return {
    current: () => roots,
    watch(changed) {
      listeners.add(changed);
      return () => listeners.delete(changed);
    },
    say(next) {
      roots = next;
      for (const listener of listeners) listener();
    },
  };
}
