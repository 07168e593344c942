import { afterAll, beforeAll, describe } from 'vitest';
import { type OwnNamespaces, openOwnNamespaces } from '../../support/kubernetes/own-namespaces.ts';
import { noProgram } from '../../support/programs.ts';
import { inventoryHistories } from './histories.ts';
import { inventoryContract } from './suite.ts';

describe.skipIf(noProgram('kube-apiserver'))('on a real API server', () => {
  let home: OwnNamespaces;

  beforeAll(async () => {
    home = await openOwnNamespaces();
  });

  afterAll(() => home?.stop());

  inventoryContract('real API server', () => home.make());
  inventoryHistories('real API server', 8, () => home.make());
});
