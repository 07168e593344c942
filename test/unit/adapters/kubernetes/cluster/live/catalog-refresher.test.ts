import { expect, test } from 'vitest';
import { createCatalog } from '../../../../../../src/adapters/kubernetes/api/catalog.ts';
import type { ApiResource, KubeClient, WatchEvent } from '../../../../../../src/adapters/kubernetes/api/types.ts';
import { createCatalogRefresher } from '../../../../../../src/adapters/kubernetes/cluster/live/catalog-refresher.ts';
import type { JsonObject } from '../../../../../../src/model/text/json.ts';
import { createRecordingLog } from '../../../../../support/agent-log.ts';
import { createVirtualClock } from '../../../../../support/virtual-clock.ts';

const DEFINITION: ApiResource = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  kind: 'CustomResourceDefinition',
  resource: 'customresourcedefinitions',
  namespaced: false,
  verbs: ['list', 'watch'],
  subresources: [],
};
const definition = (generation: number): JsonObject => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'widgets.example.com', uid: 'a', generation, resourceVersion: String(generation) },
  spec: { group: 'example.com', names: { kind: 'Widget' } },
});

const END_OF_LIST: JsonObject = {
  ...{ apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition' },
  metadata: { resourceVersion: '1', annotations: { 'k8s.io/initial-events-end': 'true' } },
};

test('while the kinds cannot be read after a change, they are asked for less and less often, and that is said once', async () => {
  let readings = 0;
  let tell: (event: WatchEvent) => void = () => {};
  const client: KubeClient = {
    server: 'https://test',
    request: async ({ path }) => {
      if (path === '/apis') readings += 1;
      return { type: 'unreachable', message: 'test' };
    },
    watch: ({ opened }, event) => {
      opened?.();
      tell = event;
      event({ type: 'ADDED', object: definition(1) });
      event({ type: 'BOOKMARK', object: END_OF_LIST });
      return new Promise(() => {});
    },
    close: async () => {},
  };
  const clock = createVirtualClock();
  const log = createRecordingLog();
  const random = { next: () => 0.5, id: () => 'id' };
  const refresher = createCatalogRefresher({ client, clock, random, log }, createCatalog([DEFINITION]), () => {});
  refresher.start();
  await clock.advance(1_000);
  tell({ type: 'MODIFIED', object: definition(2) });
  await clock.advance(300_000);
  // Two after the change, then after 6, 12, 24, 48 and each 60 seconds, at most once for each of the two.
  expect(readings).toBeGreaterThan(5);
  expect(readings).toBeLessThan(20);
  expect(log.lines.filter(({ text }) => text.startsWith('warn: the kinds'))).toHaveLength(1);
});
