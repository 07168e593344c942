import { describe, expect, it } from 'vitest';
import { pathSegment } from '../../../../src/model/fleet/status-path.ts';
import { objectKey, parseObjectRef } from '../../../../src/model/objects/object-key.ts';
import { must } from '../../../../src/model/values/result.ts';
import { statusPath } from '../../../../src/runtime/status/status-documents.ts';

describe('a name as a segment of a path', () => {
  it('stays as it is if it is the name of a Kubernetes object', () => {
    expect(pathSegment('web-7.example_1')).toBe('web-7.example_1');
  });

  it.each([
    ['..', '%2e%2e'],
    ['.git', '%2egit'],
    ['a/b', 'a%2fb'],
    ['a\\b', 'a%5cb'],
    ['Web', '%57eb'],
    ['a%2fb', 'a%252fb'],
    ['a\nb', 'a%0ab'],
    ['é', '%c3%a9'],
    ['', '%'],
    ['con', '%63on'],
    ['aux.example.com', '%61ux.example.com'],
    ['lpt1', '%6cpt1'],
    ['_cluster', '%5fcluster'],
    ['system:node', 'system%3anode'],
    ['ends.', 'ends%2e'],
  ])('%j is encoded', (name, segment) => {
    expect(pathSegment(name)).toBe(segment);
  });

  it('is as short as a file name can be, and its own for each name', () => {
    const names = [
      'a'.repeat(200),
      'a'.repeat(201),
      `${'a'.repeat(200)}b`,
      '\ud800',
      '\ud801',
      '\ufffd',
      '/'.repeat(300),
    ];
    const segments = names.map(pathSegment);
    expect(new Set(segments).size).toBe(names.length);
    for (const segment of segments) expect(segment).toMatch(/^[a-z0-9._%~-]{1,200}$/);
  });
});

describe('the file of an object on the status branch', () => {
  const fileOf = (kind: string, name: string, { group = '', namespace = '' } = {}): string =>
    statusPath.object(objectKey(must(parseObjectRef({ group, kind, namespace, name }))));

  it('is named after kind, namespace and name', () => {
    expect(fileOf('ConfigMap', 'a', { namespace: 'web' })).toBe('objects/ConfigMap/web/a.yaml');
    expect(fileOf('Deployment', 'a', { group: 'apps', namespace: 'aux' })).toBe('objects/Deployment.apps/%61ux/a.yaml');
    expect(fileOf('ClusterRole', 'system:Node', { group: 'rbac.authorization.k8s.io' })).toBe(
      'objects/ClusterRole.rbac.authorization.k8s.io/_cluster/system%3a%4eode.yaml',
    );
    expect(fileOf('widget', 'a')).toBe('objects/%77idget/_cluster/a.yaml');
    expect(fileOf('Certificate', 'a', { group: 'cert-manager.io' })).toBe(
      'objects/Certificate.cert-manager.io/_cluster/a.yaml',
    );
    expect(fileOf('VPCPeering', 'a', { group: 'a.b' })).toBe('objects/V%50%43%50eering.a.b/_cluster/a.yaml');
  });

  it('can be checked out on every file system: no part is longer than 255 bytes, and case alone tells no two apart', () => {
    const long = Array.from({ length: 4 }, () => 'a'.repeat(62)).join('.');
    const group = `${'g'.repeat(60)}.${'h'.repeat(60)}.${'i'.repeat(60)}.${'j'.repeat(60)}`;
    const kind = `K${'k'.repeat(62)}`;
    const paths = [
      fileOf(kind, `${long}.a`, { group, namespace: 'n'.repeat(63) }),
      fileOf(kind, `${long}.b`, { group, namespace: 'n'.repeat(63) }),
      fileOf(kind, `${long}.a`, { group: `${group.slice(0, -1)}k`, namespace: 'n'.repeat(63) }),
      ...['Admin', 'admin', 'ADMIN', 'con', 'CON', 'con.x'].map((name) => fileOf('ClusterRole', name)),
      ...['Widget', 'widget', 'ConfigMap', 'Configmap', 'configMap', 'CON', 'Con'].map((each) => fileOf(each, 'a')),
      ...['VPCPeering', 'VpcPeering', 'vpcPeering', 'Vpcpeering'].map((each) => fileOf(each, 'a', { group: 'a.b' })),
      statusPath.revision('main', 'f'.repeat(300)),
    ];
    for (const part of paths.flatMap((path) => path.split('/')))
      expect(Buffer.byteLength(part)).toBeLessThanOrEqual(255);
    expect(new Set(paths.map((path) => path.toLowerCase())).size).toBe(paths.length);
  });
});
