import { describe, expect, it } from 'vitest';
import { withDefaults } from '../../../../src/validation/values/defaults.ts';
import type { Schema } from '../../../../src/validation/values/schema.ts';

const item: Schema = {
  type: 'object',
  properties: { type: { type: 'string', default: 'A' }, name: { type: 'string' } },
};

describe('defaults of custom kinds', () => {
  it('are filled in at every depth, not below a field that is missing', () => {
    const schema: Schema = {
      type: 'object',
      properties: {
        size: { type: 'integer', default: 1 },
        inner: { type: 'object', default: {}, properties: { mode: { type: 'string', default: 'on' } } },
        outer: item,
        list: { type: 'array', items: item },
        map: { type: 'object', additionalProperties: item },
      },
    };
    expect(withDefaults(schema, { list: [{ name: 'a' }, { type: 'B' }], map: { x: {} } })).toEqual({
      ...{ size: 1, inner: { mode: 'on' } },
      list: [{ name: 'a', type: 'A' }, { type: 'B' }],
      map: { x: { type: 'A' } },
    });
  });

  it('replace a null that is not allowed; without a default it is left out', () => {
    const schema: Schema = {
      type: 'object',
      properties: { a: { type: 'integer', default: 1 }, b: { type: 'integer' }, c: { type: 'string', nullable: true } },
    };
    expect(withDefaults(schema, { a: null, b: null, c: null, unknown: null })).toEqual({
      a: 1,
      c: null,
      unknown: null,
    });
  });

  it('leave an object as it is if nothing is missing', () => {
    const object = { list: [{ type: 'B' }], other: { a: 1 } };
    expect(withDefaults({ type: 'object', properties: { list: { type: 'array', items: item } } }, object)).toBe(object);
  });
});
