import { describe, expect, it } from 'vitest';
import { labelValue, mirroredName } from '../../../src/engine/services/names.ts';

const S63 = 'the-really-long-kube-service-name-that-is-exactly-63-characters';
const C83 = 'a-really-long-cluster-name-that-does-not-really-make-sense-and-is-not-useful-at-all';

describe("names by Gimbal's rule", () => {
  it.each([
    ['cluster1', 'service1', 'cluster1-service1'],
    [C83, 'service1', 'a-really-long-cluster-namfb8867-service1'],
    [
      'name-that-is-exactly-at-d-limit',
      'name-that-is-exactly-at-d-limit',
      'name-that-is-exactly-at-d-limit-name-that-is-exactly-at-d-limit',
    ],
    ['us-east-cluster', S63, 'us-east-cluster-the-really-long-kube-serv1feeec'],
    [
      'cluster-name-that-is-definitely-too-long-to-be-useful',
      '5a5c3d9e-e679-43ec-b9fc-9bc51132541e',
      'cluster-name-that-is-defib224b3-5a5c3d9e-e679-43ec-b9fc-9f5b1ae',
    ],
  ])('%s, %s', (cluster, service, expected) => {
    expect(mirroredName(cluster, service)).toBe(expected);
  });

  it('are cut from 63 bytes on, although 63 would be a name', () => {
    expect(mirroredName('a'.repeat(8), 'b'.repeat(53))).toHaveLength(62);
    expect(mirroredName('a'.repeat(8), 'b'.repeat(54))).toHaveLength(40);
  });

  it('can be the same for different services: the engine makes a conflict of that', () => {
    expect(mirroredName('a-b', 'c')).toBe(mirroredName('a', 'b-c'));
  });

  it('as values of labels are cut when they are longer than 63', () => {
    expect(labelValue(S63)).toBe(S63);
    expect(labelValue('a-really-long-service-name-that-does-not-really-make-sense-and-is-not-useful-at-all')).toBe(
      'a-really-long-service-name-that-does-not-really-make-sens1c0b9b',
    );
  });
});
