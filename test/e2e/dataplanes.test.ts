import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startFleet, until } from '../support/fleet-processes.ts';
import { clusterYaml } from '../support/manifests.ts';

const PODS = join(import.meta.dirname, '../../examples/health/clusters/east/namespaces/shop/web.yaml');
const SLICE = `apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: web-1, namespace: shop, labels: {kubernetes.io/service-name: web}}
addressType: IPv4
ports: [{port: 8080}]
endpoints: [{addresses: [10.1.0.4], conditions: {ready: true, serving: true}}]
`;

test('a Pod whose readiness changes in the file of a directory cluster changes its data plane, its explanation and the mirrored slice', async () => {
  const fleet = await startFleet({
    'fleet/east.yaml': clusterYaml('east'),
    'fleet/edge.yaml': clusterYaml('edge'),
    'clusters/edge/namespace.yaml': 'apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n',
    'fleet/mirror.yaml': `apiVersion: fleetrelay.dev/v1alpha1
kind: ServiceMirror
metadata: {name: shared}
spec:
  from: {names: [east]}
  serviceSelector: {}
  to: {names: [edge]}
`,
  });
  try {
    const folder = join(fleet.sandbox.path, 'clusters', 'east', 'namespaces', 'shop');
    mkdirSync(folder, { recursive: true });
    const ready = readFileSync(PODS, 'utf8');
    const crashing = ready.replace(
      '{ name: app, ready: true, state: { running: { startedAt: 2026-01-05T08:00:00Z } } }',
      '{ name: app, ready: false, state: { waiting: { reason: ErrImagePull } } }',
    );
    expect(crashing).not.toBe(ready);
    writeFileSync(join(folder, 'web.yaml'), ready);
    writeFileSync(join(folder, 'slice.yaml'), SLICE);
    await fleet.agent('east').start();
    await fleet.agent('edge').start();

    const dataplane = (status: string) =>
      until(`web-0 is ${status}`, async () =>
        (await fleet.cli('get', 'dataplanes'))
          .split('\n')
          .some((line) => line.includes(`web-0.shop   east      ${status} `)),
      );
    const mirrored = (isReady: boolean) =>
      until(`the mirrored endpoint has ready: ${isReady}`, async () => {
        const slice = await fleet.live('edge', 'EndpointSlice.discovery.k8s.io/shop/east-web-1');
        return slice?.includes('10.1.0.4') === true && new RegExp(`\\bready: ${isReady}`).test(slice);
      });
    const explained = () => fleet.cli('explain', 'dataplane/web-0.shop');

    await dataplane('Online');
    await mirrored(true);
    expect(await explained()).toContain('is ready, in the load-balancing set');

    writeFileSync(join(folder, 'web.yaml'), crashing);
    await dataplane('Offline');
    await mirrored(false);
    expect(await explained()).toMatch(/container app +cluster east +is not ready: ErrImagePull/);

    writeFileSync(join(folder, 'web.yaml'), ready);
    await dataplane('Online');
    await mirrored(true);
  } finally {
    await fleet.stop();
  }
});
