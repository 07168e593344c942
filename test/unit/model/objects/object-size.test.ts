import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { aboveRequest, objectLimits, REQUEST_BYTES, sizeOf } from '../../../../src/model/objects/object-size.ts';
import { canonicalJson, type JsonObject, type JsonValue } from '../../../../src/model/text/json.ts';
import { contentProblem, shapeOf } from '../../../../src/relay/wire/content.ts';
import { decodeFile } from '../../../support/decode-file.ts';
import { bytesOf } from '../../../support/decoding.ts';

const text = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({ maxLength: 400, unit: fc.constantFrom('x', '"', '\u0001', '\ud800', '\u6771', '\u{1f600}') }),
);
const { value } = fc.letrec<{ value: JsonValue; object: JsonObject }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.oneof(fc.constant(null), fc.boolean(), fc.double({ noNaN: true, noDefaultInfinity: true }), text),
    fc.array(tie('value'), { maxLength: 4 }),
    tie('object'),
  ),
  object: fc.dictionary(text, tie('value'), { maxKeys: 4 }).map((members) => ({ ...members, absent: undefined })),
}));

describe('the size of a value', () => {
  it('is what the relay counts of its canonical JSON', () => {
    fc.assert(
      fc.property(value, (generated) => {
        const { bytes, elements, depth } = sizeOf(generated);
        const content = bytesOf(canonicalJson(generated));
        expect(bytes).toBe(content.length);
        expect(shapeOf(content, { elements, depth })).toEqual({ elements });
        expect(shapeOf(content, { elements: elements - 1, depth })).toEqual(expect.any(String));
        if (depth > 0) expect(shapeOf(content, { elements, depth: depth - 1 })).toEqual(expect.any(String));
      }),
      { numRuns: 500 },
    );
  });

  it('is the same with aliases as without', () => {
    fc.assert(
      fc.property(value, (generated) => {
        const shared = [generated, { a: generated, b: [generated] }];
        expect(sizeOf(shared)).toEqual(sizeOf(JSON.parse(JSON.stringify(shared)) as JsonValue));
      }),
    );
  });

  it('of deep values ends at the limit', () => {
    const deep = JSON.parse(`${'['.repeat(10_000)}${']'.repeat(10_000)}`) as JsonValue;
    expect(sizeOf(deep).depth).toBe(objectLimits.depth + 1);
  });

  it('of a file is the sum of its documents', () => {
    fc.assert(
      fc.property(fc.array(value, { minLength: 1, maxLength: 3 }), (documents) => {
        const whole = documents.map((document) => JSON.parse(JSON.stringify(document ?? {})) as JsonValue);
        const { size } = decodeFile('a.json', bytesOf(whole.map((each) => JSON.stringify(each)).join('\n')), '');
        const sum = whole.reduce<number>((bytes, each) => bytes + bytesOf(canonicalJson(each)).length, 0);
        // A text that no manifest can hold makes the parser refuse its document.
        expect([0, sum]).toContain(size.expandedBytes);
      }),
    );
  });
});

describe('the verdict on an object', () => {
  const object = (items: number): JsonObject => ({ list: Array.from({ length: items }, () => 0) });

  it.each([objectLimits.elements - 2, objectLimits.elements - 1])(
    'is the same with its bytes and without: %i items',
    (items) => {
      const made = object(items);
      const [without, withBytes] = [{ value: made }, { value: made, content: bytesOf(canonicalJson(made)) }].map(
        (each) => contentProblem(each, objectLimits.bytes) !== undefined,
      );
      expect([without, withBytes]).toEqual(items === objectLimits.elements - 2 ? [false, false] : [true, true]);
    },
  );

  it('of an API server leaves room for the stamp, and counts the texts of a Secret in base64', () => {
    const half = { bytes: REQUEST_BYTES / 2 };
    expect(aboveRequest({}, half)).toBeUndefined();
    expect(aboveRequest({}, { bytes: REQUEST_BYTES })).toMatch(/at most 3145728 in a request/);
    const secret = { apiVersion: 'v1', kind: 'Secret', stringData: { a: 'x'.repeat(2.9 * 2 ** 20) } };
    expect(aboveRequest(secret, sizeOf(secret))).toBeDefined();
    expect(aboveRequest({ ...secret, kind: 'ConfigMap' }, sizeOf(secret))).toBeUndefined();
  });
});

describe('an object of more bytes than an API server takes in a request', () => {
  // No field of a ClusterRole has a limit of its own.
  const role = (resource: string) => ({
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    metadata: { name: 'a' },
    rules: [{ apiGroups: [''], resources: [resource], verbs: ['get'] }],
  });
  const rest = sizeOf(role('')).bytes;
  const LIMIT = REQUEST_BYTES - 16 * 1024;

  it.each([
    ['of one byte', 'x', 1],
    ['of several bytes', '\u6771', 3],
    ['with an escape', '"', 2],
  ])('is found, is not judged further, and one byte less is none: a text with characters %s', (_, character, bytes) => {
    const fits = Math.floor((LIMIT - rest) / bytes);
    const judged: number[] = [];
    const decoded = (count: number) => {
      const check = () => {
        judged.push(count);
        return [];
      };
      const { reading, diagnostics } = decodeFile(
        'a.json',
        bytesOf(JSON.stringify(role(character.repeat(count)))),
        '',
        { check },
      );
      return [reading.readable, ...diagnostics.map(({ code, severity, at }) => [code, severity, at])];
    };
    expect(decoded(fits)).toEqual([true]);
    expect(decoded(fits + 1)).toEqual([true, ['FR2040', 'warning', { path: 'a.json', line: 1, column: 1 }]]);
    expect(judged).toEqual([fits]);
  });
});
