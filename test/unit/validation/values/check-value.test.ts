import { describe, expect, it } from 'vitest';
import type { JsonObject, JsonValue } from '../../../../src/model/text/json.ts';
import { openKubernetesSchemas } from '../../../../src/validation/kubernetes-schemas.ts';
import { createValueCheck } from '../../../../src/validation/values/check-value.ts';
import type { Schema } from '../../../../src/validation/values/schema.ts';

const { definition, find } = await openKubernetesSchemas('1.36');
const check = createValueCheck({ definition, reader: 'built-in' });

function found(schema: Schema, value: JsonValue): readonly string[] {
  return check(schema, value).map(({ reason, path, message }) => `${reason} ${path.join('.')}: ${message}`);
}

const one = (schema: Schema, values: readonly JsonValue[]) => values.map((value) => check(schema, value).length === 0);

describe('values of built-in kinds', () => {
  it('are read as Go reads JSON: no text for a number, no number for a text', () => {
    expect(one({ type: 'string' }, ['', 'a', 1, true, {}, []])).toEqual([true, true, false, false, false, false]);
    expect(one({ type: 'boolean' }, [true, 'true', 0])).toEqual([true, false, false]);
    const int32: Schema = { type: 'integer', format: 'int32' };
    expect(one(int32, [0, 2 ** 31 - 1, 2 ** 31, -(2 ** 31) - 1, 1.5, '1'])).toEqual([
      true,
      true,
      false,
      false,
      false,
      false,
    ]);
    expect(one({ type: 'integer', format: 'int64' }, [2 ** 31, 2 ** 63])).toEqual([true, false]);
  });

  it('that are amounts may be numbers', () => {
    const quantity: Schema = { type: 'string', format: 'quantity' };
    expect(one(quantity, ['1', '500m', '1.5Gi', '1e3', '-1', '.5', ' 1 ', 1, 0.5])).not.toContain(false);
    expect(one(quantity, ['', '1x', '1 Gi', '1GI', '1e', 'Gi', true, {}])).not.toContain(true);
  });

  it('that are a number or a text are nothing else', () => {
    expect(one({ 'x-kubernetes-int-or-string': true }, [80, 'http', '50%', 1.5, true, 2 ** 31])).toEqual([
      ...[true, true, true],
      ...[false, false, false],
    ]);
  });

  it('that are times have a zone, and as many decimals as the field demands', () => {
    const time: Schema = { type: 'string', format: 'date-time' };
    expect(one(time, ['2024-02-29T00:00:00Z', '2024-01-01T00:00:00.1+01:00'])).toEqual([true, true]);
    expect(one(time, ['2023-02-29T00:00:00Z', '2024-01-01', '', '2024-01-01t00:00:00z'])).not.toContain(true);
    const micro: Schema = { type: 'string', format: 'micro-time' };
    expect(one(micro, ['2024-01-01T00:00:00.000000Z', '2024-01-01T00:00:00Z'])).toEqual([true, false]);
  });

  it('that are bytes are base64 with padding', () => {
    const bytes: Schema = { type: 'string', format: 'byte' };
    expect(one(bytes, ['', 'aGVsbG8=', 'aGVs\nbG8=', [104]])).not.toContain(false);
    expect(one(bytes, ['aGVsbG8', 'a', '====', 'aGVs bG8=', 5])).not.toContain(true);
    expect(check(bytes, 'A'.repeat(8_000_000))).toEqual([]);
  });

  it('may be null, which is the same as absent', () => {
    const schema: Schema = {
      type: 'object',
      required: ['a'],
      properties: { a: { type: 'string' }, b: { type: 'array' } },
    };
    expect(found(schema, { a: 'x', b: null })).toEqual([]);
    expect(found(schema, { a: null })).toEqual(['MissingField a: a must not be empty']);
    expect(found(schema, { a: '' })).toEqual(['MissingField a: a must not be empty']);
    expect(found(schema, {})).toEqual(['MissingField : a is missing']);
  });

  it('of an enum may be empty as a field, which then has its default, and not as an item', () => {
    const schema: Schema = { type: 'string', enum: ['A', 'B'] };
    expect(one(schema, ['A', '', 'a'])).toEqual([true, true, false]);
    expect(one({ type: 'array', items: schema }, [['A'], [''], [null]])).toEqual([true, false, false]);
  });

  it('of an enum with the empty text are told so', () => {
    const schema: Schema = { type: 'string', enum: ['', 'Directory'] };
    expect(found(schema, 'Dir')).toEqual([expect.stringContaining('must be one of "", Directory, not ')]);
  });

  it('that are required maps must not be empty', () => {
    const map: Schema = { type: 'object', additionalProperties: { type: 'string' } };
    const schema: Schema = { type: 'object', required: ['a'], properties: { a: map } };
    expect(one(schema, [{ a: { b: 'c' } }, { a: {} }])).toEqual([true, false]);
  });

  it('of a list are identified by their keys, with the defaults of those', () => {
    const ports = find('', 'v1', 'Service')?.definition('#/definitions/io.k8s.api.core.v1.ServiceSpec')?.properties
      ?.ports;
    expect(found(ports ?? {}, [{ port: 80 }, { port: 80, protocol: 'UDP' }])).toEqual([]);
    expect(found(ports ?? {}, [{ port: 80 }, { port: 80, protocol: 'TCP' }])).toEqual([
      'DuplicateValue 1.port: [1] has the same port and protocol as an item above it',
    ]);
  });

  it('give at most a hundred problems', () => {
    expect(check({ type: 'array', items: { type: 'string' } }, new Array(1_000).fill(1))).toHaveLength(100);
  });

  it('are not followed for ever', () => {
    let value: JsonObject = {};
    for (let depth = 0; depth < 2_000; depth += 1) value = { a: value };
    const schema: Schema = { type: 'object', additionalProperties: { $ref: '#/definitions/deep' } };
    const deep = createValueCheck({ definition: () => schema, reader: 'built-in' });
    expect(deep(schema, value).map(({ reason }) => reason)).toEqual(['TooDeep']);
  });
});
