import { expect, test } from 'vitest';
import {
  namedInOtherVersion,
  ownershipRequest,
} from '../../../../../src/adapters/kubernetes/cluster/former-managers.ts';
import type { JsonObject } from '../../../../../src/model/text/json.ts';

const entry = (manager: string, apiVersion: string, field: string, more: JsonObject = {}): JsonObject => ({
  manager,
  operation: 'Update',
  apiVersion,
  fieldsType: 'FieldsV1',
  fieldsV1: { 'f:spec': { [`f:${field}`]: {} } },
  ...more,
});

test('the fields of others are named in another version: one manager keeps all of its fields, and a subresource its version', () => {
  const status = entry('operator', 'e.com/v1', 'c', { subresource: 'status' });
  const managedFields = [entry('operator', 'e.com/v1', 'a'), entry('operator', 'e.com/v2', 'b'), status];
  const live = { metadata: { uid: 'u', resourceVersion: '1', managedFields } };
  const { body } = ownershipRequest('/x', live, { fields: {}, apiVersion: 'e.com/v2', renamesOthers: true });
  expect(body).toMatchObject({
    metadata: {
      managedFields: [
        { ...entry('operator', 'e.com/v2', 'b'), fieldsV1: { 'f:spec': { 'f:a': {}, 'f:b': {} } } },
        status,
        { manager: 'fleetrelay', apiVersion: 'e.com/v2' },
      ],
    },
  });
  expect(namedInOtherVersion(live, 'e.com/v2')).toBe('others');
  expect(namedInOtherVersion({ metadata: { managedFields: [status] } }, 'e.com/v2')).toBeUndefined();
});
