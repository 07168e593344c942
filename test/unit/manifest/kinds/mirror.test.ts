import { describe, expect, it } from 'vitest';
import { complaints, contentOf } from '../../../support/decoding.ts';

const mirror = (spec: string): string =>
  `apiVersion: fleetrelay.dev/v1alpha1\nkind: ServiceMirror\nmetadata: {name: m}\nspec:\n${spec.replaceAll(/^/gm, '  ')}\n`;

const decoded = (spec: string): unknown => {
  const content = contentOf(mirror(spec));
  return content.type === 'declaration' && content.value;
};

describe('ServiceMirror', () => {
  it('mirrors from clusters', () => {
    expect(decoded('from: {names: [west, east]}\nto: {names: [edge]}')).toMatchObject({
      from: { type: 'clusters', clusters: { names: ['east', 'west'] } },
      to: { names: ['edge'] },
    });
  });

  it('mirrors from meshes into a namespace', () => {
    expect(decoded('from: {meshes: [other, default, other], namespace: machines}\nto: {names: [edge]}')).toMatchObject({
      from: { type: 'meshes', meshes: ['default', 'other'], namespace: 'machines' },
    });
  });

  it.each([
    [
      'from: {meshes: [default]}',
      'a.yaml:5:9: error: spec.from.namespace is missing (the mirrored services of meshes lie in it)',
    ],
    [
      'from: {names: [east], namespace: machines}',
      'a.yaml:5:36: error: spec.from.namespace is for meshes only: mirrored Services of clusters keep their namespace (remove it)',
    ],
    [
      'from: {names: [east], meshes: [default], namespace: machines}',
      'a.yaml:5:9: error: spec.from has meshes and also clusters (names or selector) (write a ServiceMirror for each)',
    ],
    [
      'from: {selector: {}, meshes: [default], namespace: machines}',
      'a.yaml:5:9: error: spec.from has meshes and also clusters (names or selector) (write a ServiceMirror for each)',
    ],
    [
      'from: {meshes: [default], namespace: machines}\nserviceSelector: {}',
      'a.yaml:6:20: error: spec.serviceSelector is for Services of clusters only: services of meshes have no labels (remove it)',
    ],
    [
      'from: {meshes: [default], namespace: machines}\ncopy: {labels: [team]}',
      'a.yaml:6:9: error: spec.copy is for Services of clusters only: services of meshes have no labels and annotations (remove it)',
    ],
    [
      'from: {meshes: [Default], namespace: machines}',
      'a.yaml:5:19: error: spec.from.meshes[0] does not have the right form, which is for example "default"',
    ],
    [
      'from: {meshes: [default], namespace: a.b}',
      'a.yaml:5:40: error: spec.from.namespace does not have the right form, which is for example "machines"',
    ],
    ['from: {meshes: [], namespace: a}', 'a.yaml:5:18: error: spec.from.meshes must not be empty'],
  ])('refuses %s', (from, complaint) => {
    expect(complaints(mirror(`${from}\nto: {names: [edge]}`))).toEqual([complaint]);
  });
});
