import { expect, test } from 'vitest';
import { type MeshFigures, meshSamples } from '../../../../../src/domains/health/server/mesh-metrics.ts';

/** `online` data planes are online, and one service is partially degraded. */
function figures(mesh: string, online: number): MeshFigures {
  return {
    mesh,
    dataplanes: { online, partially_degraded: 0, offline: 0 },
    services: { online: 0, partially_degraded: 1, offline: 0 },
  };
}

test('a mesh has samples of every status, also those that are 0', () => {
  expect(meshSamples([figures('default', 4)], 'dataplanes')).toEqual([
    ['default', 'online', 4],
    ['default', 'partially_degraded', 0],
    ['default', 'offline', 0],
  ]);
  expect(meshSamples([], 'services')).toEqual([]);
});

test('the 100 meshes with the most data planes have a label value of their own, and nothing is lost of the others', () => {
  const small = Array.from({ length: 150 }, (_, index) => figures(`a${String(index).padStart(3, '0')}`, 1));
  const meshes = [...small, figures('large', 7)];
  const dataplanes = online(meshes, 'dataplanes');
  expect(dataplanes.size).toBe(101);
  expect(dataplanes.get('large')).toBe(7);
  expect([dataplanes.get('a098'), dataplanes.get('a099')]).toEqual([1, undefined]);
  expect(dataplanes.get('_other')).toBe(51);
  const degraded = meshSamples(meshes, 'services').find(([mesh, status]) => mesh === '_other' && status !== 'online');
  expect(degraded).toEqual(['_other', 'partially_degraded', 51]);
});

test('a mesh with the label value of the others, or with a name of any length, has no label value of its own', () => {
  const meshes = [figures('_other', 3), figures('m'.repeat(254), 5), figures('n'.repeat(253), 2)];
  expect(online(meshes, 'dataplanes')).toEqual(
    new Map([
      ['_other', 8],
      ['n'.repeat(253), 2],
    ]),
  );
});

function online(meshes: readonly MeshFigures[], what: 'dataplanes' | 'services'): ReadonlyMap<string, number> {
  const samples = meshSamples(meshes, what).filter(([, status]) => status === 'online');
  const counts = new Map(samples.map(([mesh, , count]) => [mesh, count]));
  expect(counts.size).toBe(samples.length);
  return counts;
}
