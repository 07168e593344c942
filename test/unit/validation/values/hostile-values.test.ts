import { expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { parseApiVersion } from '../../../../src/model/objects/object-key.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../../../src/model/text/json.ts';
import { createObjectCheck } from '../../../../src/validation/check-object.ts';
import { createCustomKinds } from '../../../../src/validation/custom/custom-kinds.ts';
import { openKubernetesSchemas } from '../../../../src/validation/kubernetes-schemas.ts';
import { rules } from '../../../../src/validation/rules/rules.ts';
import { validationCases } from '../../../support/validation-corpus.ts';

/** Values that stand at places where no person expects them; some have the names of members that every object inherits. */
const HOSTILE: readonly JsonValue[] = [
  ...[null, true, -1.5, 1e308, '', 'é\u0000', '__proto__', 'constructor', '5constructor'],
  ...[[], [null], [[]], [1, 'a'], {}, { a: null }, { constructor: 1, toString: [] }],
];

type Path = readonly (string | number)[];

function* placesIn(value: JsonValue, path: Path = []): Generator<Path> {
  if (path.length > 0) yield path;
  if (Array.isArray(value)) for (const [index, item] of value.entries()) yield* placesIn(item, [...path, index]);
  else if (isJsonObject(value)) {
    for (const [key, member] of Object.entries(value)) yield* placesIn(member ?? null, [...path, key]);
  }
}

function withValue(root: JsonValue, [step, ...rest]: Path, value: JsonValue): JsonValue {
  if (step === undefined) return value;
  if (Array.isArray(root)) return root.map((item, index) => (index === step ? withValue(item, rest, value) : item));
  const object = isJsonObject(root) ? root : {};
  return { ...object, [step]: withValue(object[step] ?? null, rest, value) };
}

function ruleOf(object: JsonObject) {
  const version = parseApiVersion(String(object.apiVersion));
  return version.ok ? rules[`${version.value.group}/${String(object.kind)}`] : undefined;
}

it('no rule throws, whatever stands in the place of any value', () => {
  let count = 0;
  for (const { name, bytes } of validationCases('accepted')) {
    for (const document of parseAllDocuments(new TextDecoder().decode(bytes))) {
      const object: JsonObject = document.toJS();
      const rule = ruleOf(object);
      if (rule === undefined) continue;
      for (const path of placesIn(object)) {
        for (const value of HOSTILE) {
          count += 1;
          const problems = rule(withValue(object, path, value) as JsonObject);
          const bad = problems.filter(({ message, path: at }) => message === '' || at.includes(undefined as never));
          if (bad.length > 0) expect(bad, `${name} ${path.join('.')}`).toEqual([]);
        }
      }
    }
  }
  expect(count).toBeGreaterThan(10_000);
});

const kubernetes = await openKubernetesSchemas('1.36');
const check = createObjectCheck({ kubernetes });

const LONG = 300_000;

/** Texts that take minutes where an expression tries every way to divide them. */
const LONG_TEXTS: readonly JsonObject[] = [
  pod({ containers: [{ name: 'a', image: 'a', resources: { limits: { cpu: `${'1'.repeat(LONG)}x` } } }] }),
  {
    apiVersion: 'certificates.k8s.io/v1',
    kind: 'CertificateSigningRequest',
    metadata: { name: 'a' },
    spec: {
      signerName: 'example.com/a',
      usages: ['client auth'],
      request: Buffer.from('\n'.repeat(LONG)).toString('base64'),
    },
  },
  definition({ type: 'string', pattern: `(?=a)${'['.repeat(LONG)}` }),
];

it.each(LONG_TEXTS)('takes no longer than its length demands for a long text in a $kind', (object) => {
  expect(check(object)).not.toEqual([]);
});

it('takes no longer than its length demands for a long duration in a custom kind', () => {
  const custom = createObjectCheck({
    kubernetes,
    custom: [createCustomKinds([definition({ type: 'string', format: 'duration' })])],
  });
  const object = { apiVersion: 'example.com/v1', kind: 'Thing', metadata: { name: 'a' }, spec: '1'.repeat(LONG) };
  expect(custom(object).map(({ reason }) => reason)).toEqual(['WrongFormat']);
});

it('looks for similar words only for the findings that it reports', () => {
  const unknown = Object.fromEntries(Array.from({ length: 100_000 }, (_, index) => [`continers${index}`, 1]));
  expect(check(pod({ containers: [{ name: 'a', image: 'a' }], ...unknown }))).toHaveLength(100);
});

it('ends the check of an object that has enough problems', () => {
  const names = Array.from({ length: 4_000 }, (_, index) => `volume${index}`);
  const volumes = names.map((name) => ({ name, emptyDir: {} }));
  const volumeMounts = names.map((name) => ({ name: `${name}x`, mountPath: `/${name}` }));
  expect(check(pod({ containers: [{ name: 'a', image: 'a', volumeMounts }], volumes }))).toHaveLength(100);
});

function pod(spec: JsonObject): JsonObject {
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'a' }, spec };
}

function definition(spec: JsonObject): JsonObject {
  const schema = { type: 'object', properties: { spec } };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'things.example.com' },
    spec: {
      group: 'example.com',
      names: { kind: 'Thing', plural: 'things' },
      scope: 'Namespaced',
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: schema } }],
    },
  };
}
