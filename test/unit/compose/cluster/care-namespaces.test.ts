import { expect, test } from 'vitest';
import { roleObjects } from '../../../../src/compose/manifests/agent-roles.ts';
import { metadataOf } from '../../../../src/model/objects/object-key.ts';

/** The Namespaces of the Roles, each with the kinds of core objects that it lets the agent read. */
function rolesOf(accessNamespaces?: Readonly<Record<string, readonly string[]>>) {
  const rights = roleObjects('care', {
    namespace: 'fleetrelay',
    writable: ['web'],
    ...(accessNamespaces && { accessNamespaces }),
  });
  return rights
    .filter(({ kind, rules }) => kind === 'Role' && JSON.stringify(rules).includes('secrets'))
    .map((role) => metadataOf(role).namespace);
}

test('the care of a Shoot reads Secrets in the Namespaces that a person names, and else in kube-system', () => {
  expect(rolesOf()).toEqual(['kube-system']);
  expect(rolesOf({ care: ['shoot--web--blue'] })).toEqual(['shoot--web--blue']);
});

test('an access that no table has gives no rights', () => {
  expect(() => roleObjects('everything', { namespace: 'fleetrelay', writable: 'all' })).toThrow(
    'an agent has no role everything',
  );
});
