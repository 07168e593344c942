import { resourcePath } from '../../../../adapters/kubernetes/api/paths.ts';
import type { NoticingClient } from '../../../../adapters/kubernetes/api/silence.ts';
import type { KubeClient } from '../../../../adapters/kubernetes/api/types.ts';
import {
  AUTHORITIES,
  type Authority,
  certificateReportOf,
  type FoundAuthority,
} from '../../../../adapters/tls/certificate-report.ts';
import { objectOf, textOf } from '../../../../model/text/json.ts';
import { type CareApi, type HealthAnswer, MOST_HEALTH_TEXT } from '../../ports/care-api.ts';
import { listLeases } from './leases.ts';
import { testTunnel } from './tunnel.ts';

/** What the care of Shoots asks an API server. Each request has a connection of its own: none waits for another. */
export function createKubernetesCare(client: KubeClient, onSilence: NoticingClient['onSilence']): CareApi {
  return {
    askHealth: (path, timeoutMs) => askHealth(client, path, timeoutMs),
    leases: (namespaces) => listLeases(client, namespaces),
    certificates: async () => {
      const [root, extension] = await Promise.all(AUTHORITIES.map((name) => readAuthority(client, name)));
      if (root === 'unanswered' || extension === 'unanswered') return undefined;
      return certificateReportOf({ 'kube-root-ca.crt': root, 'extension-apiserver-authentication': extension });
    },
    tunnel: (timeoutMs) => testTunnel(client, timeoutMs),
    watch: (hint) => onSilence(() => hint('apiServer')),
  };
}

const BROKEN = /(the connection was (reset|closed)|socket hang up)$/;

/** Asks once more if the first request found a connection that was closed while it was idle. */
async function askHealth(client: KubeClient, path: string, timeoutMs: number): Promise<HealthAnswer> {
  const [pathname = '', search] = path.split('?');
  const query = search === undefined ? {} : { [search]: '' };
  const ask = () =>
    client.request({ method: 'GET', path: pathname, query, timeoutMs, accept: '*/*', textOfBytes: MOST_HEALTH_TEXT });
  const first = await ask();
  const answer = first.type === 'unreachable' && BROKEN.test(first.message) ? await ask() : first;
  switch (answer.type) {
    case 'ok': {
      const { text, cut } = answer.body;
      return { type: 'answered', status: answer.status, text: textOf(text), cut: cut === true };
    }
    case 'refused':
      return { type: 'answered', status: answer.status, text: answer.refusal.message, cut: false };
    case 'unreachable':
      return { type: 'unanswered', error: answer.message };
  }
}

const CONFIG_MAPS = { group: '', version: 'v1', resource: 'configmaps' };

async function readAuthority(client: KubeClient, name: Authority): Promise<FoundAuthority | 'unanswered'> {
  const path = resourcePath({ resource: CONFIG_MAPS, namespace: 'kube-system', name });
  const answer = await client.request({ method: 'GET', path });
  switch (answer.type) {
    case 'ok':
      return { data: objectOf(answer.body.data) };
    case 'refused':
      return answer.status === 404 ? undefined : { problem: answer.refusal.message };
    case 'unreachable':
      return 'unanswered';
  }
}
