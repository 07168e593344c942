import { expect, it } from 'vitest';
import { resourcePath } from '../../../../../src/adapters/kubernetes/api/paths.ts';

it('a path is the one that an API server uses', () => {
  const pods = { group: '', version: 'v1', resource: 'pods' };
  const deployments = { group: 'apps', version: 'v1', resource: 'deployments' };
  expect(resourcePath({ resource: pods })).toBe('/api/v1/pods');
  expect(resourcePath({ resource: pods, namespace: 'a', name: 'b', subresource: 'status' })).toBe(
    '/api/v1/namespaces/a/pods/b/status',
  );
  expect(resourcePath({ resource: deployments, namespace: 'a' })).toBe('/apis/apps/v1/namespaces/a/deployments');
  expect(resourcePath({ resource: deployments, name: 'x' })).toBe('/apis/apps/v1/deployments/x');
});

it('a name cannot lead to another path', () => {
  const roles = { group: 'rbac.authorization.k8s.io', version: 'v1', resource: 'roles' };
  const path = (name: string) => resourcePath({ resource: roles, namespace: 'a', name });
  expect(path('system:x')).toBe('/apis/rbac.authorization.k8s.io/v1/namespaces/a/roles/system%3Ax');
  expect(path('../secrets?x#y')).toBe('/apis/rbac.authorization.k8s.io/v1/namespaces/a/roles/..%2Fsecrets%3Fx%23y');
  expect(path('..')).toBe('/apis/rbac.authorization.k8s.io/v1/namespaces/a/roles/%2E%2E');
});
