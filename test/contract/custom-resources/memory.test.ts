import type { ObjectKey } from '../../../src/model/objects/object-key.ts';
import { createFakeCustomResources } from '../../support/fake-custom-resources.ts';
import { describeCustomResources } from './suite.ts';

describeCustomResources('memory', async () => {
  const fake = createFakeCustomResources();
  return {
    resources: fake.resources,
    status: fake.status,
    apply: async (object) => void fake.apply(object),
    remove: async (key) => fake.remove(key),
    otherStatus: async (key, status) => fake.putStatus(key, status),
    events: async (key) =>
      fake.events
        .filter((event) => event.key === (key as ObjectKey))
        .map(({ type, reason, message }) => ({ type, reason, message })),
    end: async () => undefined,
  };
});
