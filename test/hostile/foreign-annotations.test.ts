import { beforeEach, expect, it } from 'vitest';
import { metadataOf } from '../../src/model/objects/object-key.ts';
import type { JsonObject } from '../../src/model/text/json.ts';
import { createEngineWorld } from '../support/engine-world.ts';
import { clusterYaml } from '../support/manifests.ts';
import { service, stageLive } from '../unit/domains/health/engine/support.ts';

/** A Service of a hostile cluster whose labels and annotations would steer programs in the clusters that it is mirrored into. */

const HIJACKING = {
  'external-dns.alpha.kubernetes.io/hostname': 'pay.example.com',
  'prometheus.io/scrape': 'true',
  'fleetrelay.dev/adopt': 'true',
};

let world: ReturnType<typeof createEngineWorld>;
beforeEach(() => {
  world = createEngineWorld();
  for (const cluster of ['east', 'west']) world.file(`${cluster}.yaml`, clusterYaml(cluster));
  world.engine.inputs.snapshots.set('', 'east', { since: 1 });
  world.engine.inputs.kinds.set('east', '/Service', { kind: '/Service', state: 'complete', message: '' });
});

it('keeps labels and annotations of a Service out of the other cluster', () => {
  declare();
  exportIn('shop');
  expect(mirroredIn('shop')).toEqual({
    name: 'east-web',
    namespace: 'shop',
    labels: {
      'gimbal.projectcontour.io/backend': 'east',
      'gimbal.projectcontour.io/service': 'web',
    },
  });
});

it('copies what the ServiceMirror allows, and never what is of fleetrelay or marks a mirrored object', () => {
  declare('copy: {labels: [team, "app.kubernetes.io/*"], annotations: ["*"]}');
  exportIn('shop', { 'gimbal.projectcontour.io/backend-of': 'pay' });
  const { 'fleetrelay.dev/adopt': _, ...allowed } = HIJACKING;
  const { labels, annotations } = mirroredIn('shop') ?? {};
  expect(annotations).toEqual(allowed);
  expect(labels).toEqual({
    'app.kubernetes.io/name': 'web',
    'gimbal.projectcontour.io/backend': 'east',
    'gimbal.projectcontour.io/service': 'web',
    team: 'red',
  });
});

it.each([
  ['kube-public', undefined, false],
  ['kube-system', 'namespaces: {exclude: []}', false],
  ['kube-public', 'namespaces: {exclude: []}', true],
  ['payments', 'namespaces: {include: [team-*, shop]}', false],
  ['team-red', 'namespaces: {include: [team-*, shop]}', true],
  ['team-red', 'namespaces: {include: [team-*], exclude: ["*-red"]}', false],
])('a Service in %s, with %s: mirrored is %s', (namespace, rule, isMirrored) => {
  declare(rule);
  exportIn(namespace);
  expect(mirroredIn(namespace) !== undefined).toBe(isMirrored);
});

function declare(rule = ''): void {
  world.file(
    'mirror.yaml',
    `apiVersion: fleetrelay.dev/v1alpha1
kind: ServiceMirror
metadata: {name: shared}
spec:
  from: {names: [east]}
  to: {names: [west]}
  serviceSelector: {}
  ${rule}
`,
  );
}

function exportIn(namespace: string, more: JsonObject = {}): void {
  const { metadata, ...rest } = service('web', { ports: [{ port: 80 }] });
  const labels = { team: 'red', 'app.kubernetes.io/name': 'web', 'prometheus.io/scrape': 'true', ...more };
  stageLive(world.engine, 'east', {
    ...rest,
    metadata: { ...(metadata as JsonObject), namespace, labels, annotations: HIJACKING },
  });
}

function mirroredIn(namespace: string): JsonObject | undefined {
  world.engine.commit();
  const found = world.engine.outputs.get('west', `/Service/${namespace}/east-web`);
  return found?.type === 'object' ? metadataOf(found.value) : undefined;
}
