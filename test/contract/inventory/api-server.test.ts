import { afterAll, beforeAll, describe } from 'vitest';
import { noKubernetes } from '../../support/kubernetes/binaries.ts';
import { type OwnNamespaces, openOwnNamespaces } from '../../support/kubernetes/own-namespaces.ts';
import { inventoryHistories } from './histories.ts';
import { inventoryContract } from './suite.ts';

describe.skipIf(noKubernetes)('on a real API server', () => {
  let home: OwnNamespaces;

  beforeAll(async () => {
    home = await openOwnNamespaces();
  });

  afterAll(() => home?.stop());

  inventoryContract('real API server', () => home.make());
  inventoryHistories('real API server', 8, () => home.make());
});
