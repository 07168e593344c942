import { expect, test } from 'vitest';
import { mayNeedNewObject } from '../../../../../src/adapters/kubernetes/cluster/overwrite.ts';
import {
  conflictsOf,
  failureOf,
  isImmutable,
  isOtherSchema,
  isRefusedForGood,
  isStaleWrite,
  listConflicts,
} from '../../../../../src/adapters/kubernetes/cluster/refusals.ts';

const refusal = (
  reason: string,
  message: string,
  causes: { reason: string; message: string; field: string }[] = [],
) => ({
  reason,
  message,
  causes,
});
const refused = (
  status: number,
  message: string,
  causes: { reason: string; message: string; field: string }[] = [],
) => ({
  type: 'refused' as const,
  status,
  refusal: refusal(status === 422 ? 'Invalid' : '', message, causes),
});

test.each([
  [403, 'configmaps is forbidden: User "x" cannot patch', 'Forbidden'],
  [403, 'exceeded quota: objects', 'QuotaExceeded'],
  [400, 'admission webhook "policy.example.com" denied the request: no', 'DeniedByWebhook'],
  [422, "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no", 'DeniedByPolicy'],
  [500, 'failed calling webhook "w": connection refused', 'WebhookUnavailable'],
  [404, 'namespaces "web" not found', 'NamespaceNotFound'],
  [404, 'the server could not find the requested resource', 'NotFound'],
  [422, 'ConfigMap "a" is invalid: data: Too long: may not be more than 1048576 bytes', 'TooLarge'],
  [500, 'etcdserver: request is too large', 'TooLarge'],
  [413, 'Request entity too large: limit is 3145728', 'TooLarge'],
  [500, 'failed to create typed patch object: .spec.x: field not declared in schema', 'Invalid'],
  [422, 'spec.replicas: Invalid value', 'Invalid'],
  [429, 'too many requests', 'Throttled'],
  [503, 'the server is currently unable', 'ServerError'],
  [409, 'the object has been modified', 'ChangedMeanwhile'],
])('%i %s: %s', (status, message, reason) => {
  expect(failureOf(refused(status, message), false)).toEqual({ type: 'failed', reason, message });
});

test('a terminating namespace is recognized by its cause', () => {
  const cause = {
    reason: 'NamespaceTerminating',
    message: 'namespace web is being terminated',
    field: 'metadata.namespace',
  };
  expect(failureOf(refused(403, 'unable to create new content', [cause]), false).reason).toBe('NamespaceTerminating');
});

test('a failure of a Secret has only fields and reasons', () => {
  const cause = { reason: 'FieldValueInvalid', message: 'Invalid value: "topsecret"', field: 'data[password]' };
  const failure = failureOf(refused(422, 'data[password]: Invalid value: "topsecret"', [cause]), true);
  expect(failure.message).toContain('data[password]: FieldValueInvalid');
  expect(failure.message).not.toContain('topsecret');
});

test.each([
  'data: Forbidden: field is immutable when `immutable` is set',
  'spec.clusterIP: Invalid value: "x": may not change once set',
  "spec: Forbidden: updates to statefulset spec for fields other than 'replicas' are forbidden",
  'roleRef: Invalid value: cannot change roleRef',
])('an immutable field: %s', (message) => {
  expect(isImmutable(refusal('Invalid', message))).toBe(true);
  expect(isImmutable(refusal('Forbidden', message))).toBe(false);
});

test.each([
  [422, 'Service "a" is invalid: spec.clusterIP: may not change once set', true],
  [422, 'Service "a" is invalid: spec.clusterIPs[0]: may not be set to None', true],
  [422, 'admission webhook "w" denied the request: spec.size is immutable', true],
  [422, 'admission webhook "w" denied the request: not now', false],
  [422, "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: replicas only grow", false],
  [403, 'exceeded quota: objects', false],
  [500, 'failed calling webhook "w": connection refused', false],
])('%s %s: a new object can be asked for: %s', (status, message, isAsked) => {
  expect(mayNeedNewObject(refused(status, message))).toBe(isAsked);
});

test('conflicts name their manager, and whether it applies or updates', () => {
  const cause = (manager: string, field: string) => ({
    reason: 'FieldManagerConflict',
    message: `conflict with "${manager}" with subresource "scale" using apps/v1`,
    field,
  });
  const fields = { subresource: '', apiVersion: '', fields: {}, time: '' };
  const holders = [
    { manager: 'argocd', operation: 'Apply' as const, ...fields },
    { manager: 'kubectl-edit', operation: 'Update' as const, ...fields },
  ];
  const causes = [cause('argocd', '.spec.a'), cause('kubectl-edit', '.spec.b'), cause('odd \\"name\\"', '.spec.c')];
  const conflicts = conflictsOf(refusal('Conflict', '', causes), holders);
  expect(conflicts).toEqual([
    { manager: 'argocd', field: '.spec.a', operation: 'Apply' },
    { manager: 'kubectl-edit', field: '.spec.b', operation: 'Update' },
    { manager: 'odd "name"', field: '.spec.c', operation: 'Update' },
  ]);
  expect(listConflicts(conflicts.slice(0, 2))).toBe('"argocd" (.spec.a); "kubectl-edit" (.spec.b)');
  expect(isStaleWrite({ type: 'refused', status: 409, refusal: refusal('Conflict', '', causes) })).toBe(false);
});

test.each([
  ['failed to create typed patch object (a/b; e.com/v2, Kind=W): .spec.colour: field not declared in schema', false],
  ['failed to create typed patch object (a/b; e.com/v2, Kind=W): .spec.x: expected string, got 1', false],
  ['failed to prune fields: failed to convert merged object: .spec.x: field not declared in schema', true],
  ['.spec.x: field not declared in schema', true],
])('%s: a live object has fields of another version: %s', (message, isOther) => {
  expect(isOtherSchema(refusal('', message))).toBe(isOther);
});

test.each([
  [405, 'the server does not allow this method on the requested resource', ['get', 'list'], true],
  [405, 'the server does not allow this method on the requested resource', ['get', 'delete'], false],
  [405, 'admission webhook "w" denied the request: not now', ['get'], false],
  [403, 'this is a system priority class and cannot be deleted', ['get', 'delete'], true],
  [403, 'admission webhook "w" denied the request: a may not be deleted', ['get', 'delete'], false],
])('%s %s of a kind with the verbs %j is for good: %s', (status, message, verbs, isForGood) => {
  expect(isRefusedForGood(refused(status, message), { verbs })).toBe(isForGood);
});
