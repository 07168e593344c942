import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { labelValue, meshLabelValue, meshName, mirroredName } from '../../../src/domains/services/engine/names.ts';

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

describe('names of services of meshes', () => {
  it.each([
    ['default', 'postgres', 'default-postgres'],
    ['default', 'Backend_kuma-demo_svc_3001', 'default-backend-kuma-demo-svc-3001'],
    ['default', '_a.b:c', 'default--a-b-c'],
    ['default', 'a_', 'default-a'],
    ['default', '___', 'default'],
    ['us.east_1', 'web', 'us-east-1-web'],
    ['2', 'web', 'mesh-2-web'],
    ['_2', 'web', 'mesh-2-web'],
    ['.', 'web', 'mesh--web'],
    ['-', '-', 'mesh'],
    ['default', S63.toUpperCase(), `default-${S63.slice(0, 25)}${'1feeec'}`],
  ])('%s, %s', (mesh, service, expected) => {
    expect(meshName(mesh, service)).toBe(expected);
  });

  it('end with the part', () => {
    expect(meshName('default', 'web', '80', 'ipv4')).toBe('default-web-80-ipv4');
    const long = [443, 80].map((port) => meshName('default', S63, String(port), 'ipv4'));
    expect(new Set(long).size).toBe(2);
  });

  const text = fc.oneof(fc.string({ maxLength: 90 }), fc.stringMatching(/^[0-9A-Za-z_.:-]{0,90}$/));
  it('are DNS labels that begin with a letter, whatever the names', () => {
    fc.assert(
      fc.property(text, text, (mesh, service) => {
        expect(meshName(mesh, service)).toMatch(/^[a-z]([a-z0-9-]{0,61}[a-z0-9])?$/);
        expect(meshName(mesh, service, '65535', 'ipv6', '8')).toMatch(/^[a-z]([a-z0-9-]{0,61}[a-z0-9])?$/);
      }),
    );
  });

  it('as values of labels are valid, whatever the name', () => {
    expect(meshLabelValue('Backend_demo_svc_80')).toBe('Backend_demo_svc_80');
    expect(meshLabelValue('_a:b_')).toBe('a-b');
    fc.assert(
      fc.property(text, (name) => {
        expect(meshLabelValue(name)).toMatch(/^([A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)?$/);
      }),
    );
  });
});
