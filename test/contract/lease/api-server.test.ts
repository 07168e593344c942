import { afterAll, beforeAll, describe } from 'vitest';
import { noKubernetes } from '../../support/kubernetes/binaries.ts';
import { type OwnNamespaces, openOwnNamespaces } from '../../support/kubernetes/own-namespaces.ts';
import { kubernetesLeaseContract } from './kubernetes.ts';

describe.skipIf(noKubernetes)('on a real API server', () => {
  let home: OwnNamespaces;

  beforeAll(async () => {
    home = await openOwnNamespaces();
  });

  afterAll(() => home?.stop());

  kubernetesLeaseContract('real API server', () => home.make());
});
