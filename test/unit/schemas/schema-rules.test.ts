import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { careDefaults } from '../../../src/domains/care/model/settings.ts';
import { healthDefaults } from '../../../src/domains/health/model/settings.ts';
import { decodeRelayConfig } from '../../../src/manifest/relay-config.ts';
import { defaultFleetPolicy, settingsOfPolicy } from '../../../src/model/fleet/fleet-policy.ts';
import { parseGoDuration } from '../../../src/model/text/go-duration.ts';
import { isJsonObject, type JsonObject, type JsonValue, objectOf } from '../../../src/model/text/json.ts';
import { ok } from '../../../src/model/values/result.ts';
import { decodeFile } from '../../support/decode-file.ts';

const names = readdirSync('schemas').sort();
const schemas = names.map(
  (name) => [name, JSON.parse(readFileSync(`schemas/${name}`, 'utf8'))] as [string, JsonObject],
);
const schemaOf = (name: string): JsonObject => new Map(schemas).get(name) as JsonObject;

/** Every schema inside a schema, with a path for messages. */
function* inside(schema: JsonValue, path: string): Generator<readonly [string, JsonObject]> {
  if (!isJsonObject(schema)) return;
  yield [path, schema];
  for (const keyword of ['properties', '$defs']) {
    const members = schema[keyword];
    if (!isJsonObject(members)) continue;
    for (const [name, member] of Object.entries(members)) yield* inside(member ?? null, `${path}/${keyword}/${name}`);
  }
  for (const keyword of ['items', 'additionalProperties', 'then', 'else']) {
    yield* inside(schema[keyword] ?? null, `${path}/${keyword}`);
  }
}

const all = schemas.flatMap(([name, schema]) => [...inside(schema, name)]);
const isReference = (schema: JsonObject) => schema.$ref !== undefined;

describe('schemas', () => {
  it('there is one for each kind', () => {
    expect(schemas.map(([, schema]) => schema.title).sort()).toEqual([
      'Dataplane',
      'FleetPolicy',
      'KubernetesCluster',
      'Placement',
      'RelayConfig',
      'RemovalApproval',
      'ServiceMirror',
      'Shoot',
    ]);
  });

  it('use no keyword that the type generator reads wrongly', () => {
    for (const [path, schema] of all) {
      for (const keyword of ['prefixItems', 'unevaluatedProperties', 'unevaluatedItems', 'allOf', 'anyOf', 'not']) {
        expect(schema, path).not.toHaveProperty(keyword);
      }
    }
  });

  it('use alternatives only to say which fields must be there', () => {
    for (const [path, schema] of all) {
      const branches = (schema.oneOf ?? []) as readonly JsonObject[];
      for (const branch of branches) expect(Object.keys(branch), path).toEqual(['required']);
    }
  });

  it('say of every object with fields whether it may have others', () => {
    for (const [path, schema] of all) {
      if (schema.properties !== undefined) expect(schema, path).toHaveProperty('additionalProperties');
    }
  });

  it('describe every field and title every object with fields', () => {
    for (const [path, schema] of all) {
      if (/\/properties\/[^/]+$/.test(path) && !isReference(schema)) expect(schema, path).toHaveProperty('description');
      if (schema.properties !== undefined) expect(schema, path).toHaveProperty('title');
    }
  });

  it('give an example for every pattern, because messages show it', () => {
    const silent = all.filter(
      ([path, schema]) => schema.pattern !== undefined && schema.type === 'string' && !/metadata/.test(path),
    );
    for (const [path, schema] of silent) {
      if (!path.endsWith('mesh')) expect(schema, path).toHaveProperty('examples');
    }
  });

  it('share one form of metadata and conditions', () => {
    const shapes = new Map<string, Set<string>>();
    for (const [, { $defs }] of schemas) {
      for (const name of ['metadata', 'condition']) {
        const definition = ($defs as JsonObject | undefined)?.[name];
        if (!isJsonObject(definition) || definition.title === 'ShootCondition') continue;
        const shape = shapes.get(name) ?? new Set();
        shapes.set(name, shape.add(Object.keys(definition.properties as object).join()));
      }
    }
    expect([...shapes.values()].map((shape) => shape.size)).toEqual([1, 1]);
  });

  it('state the defaults of a FleetPolicy as the code has them', () => {
    const defaultsOf = (schema: JsonObject): JsonValue | undefined =>
      isJsonObject(schema.properties)
        ? Object.fromEntries(
            Object.entries(schema.properties).map(([name, field]) => [name, defaultsOf(objectOf(field))]),
          )
        : schema.default;
    const spec = (schemaOf('fleet-policy.json').properties as JsonObject).spec as JsonObject;
    const { care, drift, health, ...others } = objectOf(defaultsOf(spec));
    const { drift: driftInCode, ...othersInCode } = defaultFleetPolicy;
    expect(others).toEqual(othersInCode);
    expect(health).toEqual(healthDefaults);
    // What a policy does not say of drift is not in its value; agents do then what the schema states.
    const stated = { ...defaultFleetPolicy, drift: drift as unknown as typeof driftInCode };
    expect(settingsOfPolicy(stated, {})).toEqual(settingsOfPolicy(defaultFleetPolicy, {}));
    expect(drift).toMatchObject(driftInCode);
    // The schema has durations in Go's form, and describes the list in words.
    expect(parseGoDuration(String(objectOf(care).monitorPeriod))).toEqual(ok(careDefaults.monitorPeriodMillis));
  });

  it.each(schemas)('%s: its own examples are valid', (name, schema) => {
    const examples = schema.examples as readonly JsonObject[];
    expect(examples.length).toBeGreaterThan(0);
    for (const example of examples) {
      const bytes = new TextEncoder().encode(JSON.stringify(example));
      const { diagnostics } =
        name === 'relay-config.json' ? decodeRelayConfig('x.json', bytes) : decodeFile('x.json', bytes, '');
      expect(diagnostics).toEqual([]);
    }
  });
});
