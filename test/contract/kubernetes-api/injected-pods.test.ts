import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { KubeClient } from '../../../src/adapters/kubernetes/api/types.ts';
import { rewritePod } from '../../../src/domains/health/probes/rewrite-pod.ts';
import type { JsonObject } from '../../../src/model/text/json.ts';
import { type OwnNamespaces, openOwnNamespaces } from '../../support/kubernetes/own-namespaces.ts';
import { noProgram } from '../../support/programs.ts';

const settings = { applicationProbeProxyPort: 9001, virtualProbesEnabled: false, virtualProbesPort: 9000 };

/** An application that satisfies the level `restricted`, with probes of every kind. */
const app = {
  name: 'app',
  image: 'app:1',
  ports: [{ name: 'web', containerPort: 8080 }],
  livenessProbe: {
    httpGet: { path: '/live', port: 'web', scheme: 'HTTPS', httpHeaders: [{ name: 'Host', value: 'a' }] },
  },
  readinessProbe: { tcpSocket: { port: 5432 }, timeoutSeconds: 3 },
  startupProbe: { grpc: { port: 9090, service: 'up' } },
  securityContext: {
    allowPrivilegeEscalation: false,
    capabilities: { drop: ['ALL'] },
    runAsNonRoot: true,
    seccompProfile: { type: 'RuntimeDefault' },
  },
};

function podNamed(name: string, annotations: Readonly<Record<string, string>> = {}): JsonObject {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, annotations },
    spec: {
      containers: [app],
      initContainers: [
        {
          ...app,
          name: 'side',
          ports: [{ name: 'other', containerPort: 8081 }],
          livenessProbe: { tcpSocket: { port: 1 } },
          restartPolicy: 'Always',
        },
      ],
    },
  };
}

describe.skipIf(noProgram('kube-apiserver'))(
  'rewritten Pods, judged by a real API server with Pod Security `restricted`',
  () => {
    let namespaces: OwnNamespaces;
    let client: KubeClient;
    let pods: string;

    beforeAll(async () => {
      namespaces = await openOwnNamespaces();
      const made = await namespaces.make();
      client = made.client;
      pods = `/api/v1/namespaces/${made.namespace}/pods`;
      const labels = {
        'pod-security.kubernetes.io/enforce': 'restricted',
        'pod-security.kubernetes.io/enforce-version': 'latest',
      };
      const patched = await client.request({
        method: 'PATCH',
        path: `/api/v1/namespaces/${made.namespace}`,
        body: { metadata: { labels } },
        contentType: 'application/merge-patch+json',
      });
      expect(patched.type).toBe('ok');
    });
    afterAll(() => namespaces?.stop());

    async function create(body: JsonObject) {
      return client.request({ method: 'POST', path: pods, query: { fieldValidation: 'Strict' }, body });
    }

    it('the level is enforced', async () => {
      const pod = podNamed('unsafe');
      const answer = await create({ ...pod, spec: { containers: [{ name: 'a', image: 'a' }] } });
      expect(answer).toMatchObject({ type: 'refused', refusal: { reason: 'Forbidden' } });
    });

    it.each([
      ['native', {}, true],
      ['normal', {}, false],
      ['virtual', { 'kuma.io/application-probe-proxy-port': '0' }, true],
    ])('%s: they are admitted as they are written', async (name, annotations, native) => {
      const rewriting = rewritePod(podNamed(name, annotations), {
        settings,
        container: { image: 'fleetrelay:1', native },
      });
      if (rewriting.type !== 'rewritten') throw new Error(JSON.stringify(rewriting));
      expect(rewriting.probes).not.toEqual([]);
      const answer = await create(rewriting.pod);
      if (answer.type !== 'ok') throw new Error(JSON.stringify(answer));
      expect(answer.body).toMatchObject(rewriting.pod);
      // As a webhook that is called again sees it: with the defaults of the API server.
      expect(rewritePod(answer.body as JsonObject, { settings, container: { image: 'other:2', native } }).type).toBe(
        'unchanged',
      );
    });
  },
);
