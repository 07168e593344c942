import { afterAll, beforeAll, describe } from 'vitest';
import { type OwnNamespaces, openOwnNamespaces } from '../../support/kubernetes/own-namespaces.ts';
import { noProgram } from '../../support/programs.ts';
import { kubernetesLeaseContract } from './kubernetes.ts';

describe.skipIf(noProgram('kube-apiserver'))('on a real API server', () => {
  let home: OwnNamespaces;

  beforeAll(async () => {
    home = await openOwnNamespaces();
  });

  afterAll(() => home?.stop());

  kubernetesLeaseContract('real API server', () => home.make());
});
