import { expect, test } from 'vitest';
import { createCatalog } from '../../../../../../src/adapters/kubernetes/api/catalog.ts';
import type { ApiResource, KubeClient } from '../../../../../../src/adapters/kubernetes/api/types.ts';
import { createStatuses } from '../../../../../../src/adapters/kubernetes/cluster/live/statuses.ts';
import { objectKey, statusKey } from '../../../../../../src/model/objects/object-key.ts';
import { silentLog } from '../../../../../support/silent-log.ts';
import { createVirtualClock } from '../../../../../support/virtual-clock.ts';

const FLOWER: ApiResource = {
  ...{ group: 'example.com', version: 'v1', kind: 'Flower', resource: 'flowers', namespaced: true },
  ...{ verbs: ['list', 'watch'], subresources: ['status'] },
};
const ROSE = statusKey(objectKey({ group: 'example.com', kind: 'Flower', namespace: 'web', name: 'rose' }));

function world() {
  const asked: string[] = [];
  const noted = async ({ path }: { readonly path: string }) => {
    asked.push(path);
    return { type: 'unreachable', message: 'test' } as const;
  };
  const client = { server: 'https://test', request: noted, watch: noted, close: async () => {} };
  const clock = createVirtualClock();
  const random = { next: () => 0.5, id: () => 'id' };
  const deps = { client: client as unknown as KubeClient, clock, random, log: silentLog };
  const statuses = createStatuses(deps, () => {});
  return { asked, clock, statuses };
}

test('after the close neither the catalog nor the inventory makes a kind followed', async () => {
  const { asked, clock, statuses } = world();
  statuses.follow(createCatalog([FLOWER]));
  await statuses.close();
  statuses.add([ROSE]);
  statuses.follow(createCatalog([FLOWER]));
  await clock.advance(60_000);
  expect(asked).toEqual([]);
});

test('with the definition of a kind its objects are gone', async () => {
  const { statuses } = world();
  statuses.follow(createCatalog([FLOWER]));
  statuses.add([ROSE]);
  statuses.wrote(
    ROSE,
    { metadata: { name: 'rose', namespace: 'web', uid: 'a', resourceVersion: '1' } },
    FLOWER,
    undefined,
  );
  expect([...statuses.objects.keys()]).toEqual([ROSE]);
  statuses.takeChanged();
  statuses.follow(createCatalog([]));
  expect([[...statuses.objects.keys()], [...statuses.takeChanged()]]).toEqual([[], [ROSE]]);
  await statuses.close();
});
