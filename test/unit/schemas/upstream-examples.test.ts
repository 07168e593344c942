import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { decodeFile } from '../../support/decode-file.ts';

const folder = join(import.meta.dirname, 'fixtures');

describe('examples from the documentation of Gloo, Kuma and Gardener', () => {
  it.each(readdirSync(folder).sort())('%s is read as it is', (name) => {
    const { reading, diagnostics } = decodeFile(name, readFileSync(join(folder, name)), '');
    expect(diagnostics).toEqual([]);
    const read = reading.readable ? reading.documents : [];
    expect(
      read.map(({ identity, content }) => [identity, content.type === 'declaration' ? content.key : content.type]),
    ).toEqual(EXPECTED[name]);
  });

  it('a lenient Dataplane is handed on with the names that the schema knows', () => {
    const name = 'kuma-proto-leniency.yaml';
    const { reading } = decodeFile(name, readFileSync(join(folder, name)), '');
    expect(reading.readable && reading.documents[0]?.content).toMatchObject({
      value: {
        dataplane: { inbounds: [{ workload: { port: 11012 }, tags: { my_tag: 'kept_as_it_is' }, state: 'Ignored' }] },
        spec: { networking: { inbound: [{ servicePort: '11012', tags: { my_tag: 'kept_as_it_is' } }] } },
      },
    });
  });
});

const EXPECTED: Readonly<Record<string, readonly (readonly [identity: string, key: string])[]>> = {
  'gardener-mutating-webhook.yaml': [
    ['admissionregistration.k8s.io/MutatingWebhookConfiguration//my-webhook', 'object'],
  ],
  'gardener-shoot.yaml': [['core.gardener.cloud/Shoot/garden-dev/crazy-botany', 'garden-dev/crazy-botany']],
  'gloo-kubernetes-cluster-status.yaml': [['admin.gloo.solo.io/KubernetesCluster/gloo-mesh/cluster-1', 'cluster-1']],
  'gloo-kubernetes-cluster.yaml': [['admin.gloo.solo.io/KubernetesCluster/gloo-mesh/cluster-1', 'cluster-1']],
  'kuma-kubernetes.yaml': [['kuma.io/Dataplane/shop/web-7d4f', 'shop/web-7d4f']],
  'kuma-proto-leniency.yaml': [['kuma.io/Dataplane//lenient@default', 'lenient@default']],
  'kuma-universal-health.yaml': [['kuma.io/Dataplane//web-01@default', 'web-01@default']],
  'kuma-universal-service-probe.yaml': [['kuma.io/Dataplane//web-01@default', 'web-01@default']],
};
