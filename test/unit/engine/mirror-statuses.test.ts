import { expect, it } from 'vitest';
import { type ObjectKey, objectKey } from '../../../src/model/objects/object-key.ts';
import { objectDigest } from '../../../src/model/text/digest.ts';
import { createEngineWorld } from '../../support/engine-world.ts';
import { clusterYaml } from '../../support/manifests.ts';

const mirror = `apiVersion: fleetrelay.dev/v1alpha1
kind: ServiceMirror
metadata: {name: shared}
spec:
  from: {names: [east]}
  to: {names: [west]}
`;

it('an applied object that is not healthy counts once in the status of its ServiceMirror', () => {
  const { engine, file } = createEngineWorld();
  const { inputs, outputs, statuses } = engine;
  file('east.yaml', clusterYaml('east'));
  file('west.yaml', clusterYaml('west'));
  file('mirror.yaml', mirror);
  const key = objectKey({ group: '', kind: 'Service', namespace: 'web', name: 'shop' });
  const metadata = { name: 'shop', namespace: 'web', labels: { 'fleetrelay.dev/service-export': 'true' } };
  const value = { apiVersion: 'v1', kind: 'Service', metadata, spec: { ports: [{ port: 80 }] } };
  inputs.live.set('east', key, { key, value, digest: objectDigest(value) });
  inputs.snapshots.set('', 'east', { since: 1 });
  for (const kind of ['/Service', 'discovery.k8s.io/EndpointSlice']) {
    inputs.kinds.set('east', kind, { kind, state: 'complete', message: '' });
  }
  engine.commit();
  const [mirrored] = [...outputs.entries('west')];
  if (mirrored?.value.type !== 'object') throw new Error('the Service is not mirrored');
  const { digest, origins, scope } = mirrored.value;
  inputs.ledger.set('west', mirrored.key, { digest, origins, scope, phase: 'accepted' });
  const health = { state: 'failed', message: 'no address' } as const;
  const result = { key: mirrored.key as ObjectKey, digest, state: 'applied', reason: '', message: '', health } as const;
  inputs.results.set('west', mirrored.key, result);
  engine.commit();
  const status = statuses.get('ServiceMirror', 'shared');
  expect(status?.fields.counts).toMatchObject({ targeted: 1, applied: 1, failed: 0 });
  expect(status?.conditions.find(({ type }) => type === 'Stalled')).toMatchObject({
    status: 'True',
    reason: 'Unhealthy',
    message: '1 of 1 applied, 1 unhealthy',
  });
});
