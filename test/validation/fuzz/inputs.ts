/** Inputs for the validator that no person writes on purpose: valid and refused manifests after random changes. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { dump } from 'js-yaml';
import { defaultDecodeLimits } from '../../../src/manifest/limits.ts';
import { readFile } from '../../../src/manifest/read-file.ts';
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  objectOf,
  objectsOf,
  textOf,
} from '../../../src/model/text/json.ts';
import type { KubernetesSchemas } from '../../../src/validation/kubernetes-schemas.ts';
import type { KindSchema, Schema } from '../../../src/validation/values/schema.ts';

/** Random numbers that a seed and an index determine. */
export interface Chance {
  /** A whole number below `limit`, which is at least 1. */
  below(limit: number): number;
  /** One of the items; there must be one. */
  of<Item>(items: readonly Item[]): Item;
}

/** One input. */
export interface FuzzInput {
  readonly name: 'input.yaml' | 'input.json';
  readonly bytes: Uint8Array;
  /** A CustomResourceDefinition that is known beside it. */
  readonly definition?: JsonObject;
}

/** Manifests to begin with. */
export interface FuzzCorpus {
  readonly texts: readonly string[];
  readonly values: readonly JsonObject[];
  readonly definitions: readonly JsonObject[];
  readonly kinds: readonly KindSchema[];
}

/** Mulberry32: https://gist.github.com/tommyettinger/46a874533244883189143505d203312c */
export function createChance(seed: number, index: number): Chance {
  let state = (Math.imul(seed, 0x9e3779b1) ^ Math.imul(index + 1, 0x85ebca6b)) | 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (limit: number): number => Math.floor(next() * limit);
  return { below, of: (items) => items[below(items.length)] as (typeof items)[number] };
}

/** Reads the manifests below folders. */
export function readCorpus(folders: readonly string[], schemas: KubernetesSchemas): FuzzCorpus {
  const texts: string[] = [];
  const values: JsonObject[] = [];
  for (const folder of folders) {
    for (const file of readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort()) {
      if (!/\.(ya?ml|json)$/.test(file)) continue;
      const bytes = readFileSync(join(folder, file));
      if (bytes.length > 20_000) continue;
      texts.push(bytes.toString('utf8'));
      for (const { value } of readFile(file, bytes, defaultDecodeLimits).documents)
        if (isJsonObject(value)) values.push(value);
    }
  }
  const definitions = values.filter(({ kind }) => kind === 'CustomResourceDefinition');
  const kinds = schemas.kinds.flatMap(({ group, version, kind }) => schemas.find(group, version, kind) ?? []);
  return { texts, values, definitions, kinds };
}

/** Makes the input of a seed and an index. */
export function makeInput(corpus: FuzzCorpus, chance: Chance): FuzzInput {
  switch (chance.below(5)) {
    case 0:
      return { name: 'input.yaml', bytes: changedBytes(corpus, chance) };
    case 1:
      return { name: 'input.yaml', bytes: encoded(changedTokens(chance.of(corpus.texts), chance)) };
    case 2:
      return inForm(changedValue(chance.of(corpus.values), chance), chance);
    case 3:
      return inForm(objectOfSchema(chance.of(corpus.kinds), chance), chance);
    default:
      return withDefinition(corpus, chance);
  }
}

const encoded = (text: string): Uint8Array => new TextEncoder().encode(text);

function inForm(value: JsonValue, chance: Chance): FuzzInput {
  if (chance.below(3) === 0)
    return { name: 'input.json', bytes: encoded(JSON.stringify(value, undefined, chance.below(3))) };
  const text = dump(value, { noRefs: true, flowLevel: chance.below(8) - 1, lineWidth: -1 });
  return { name: 'input.yaml', bytes: encoded(chance.below(4) === 0 ? changedTokens(text, chance) : text) };
}

const HOSTILE_BYTES = [
  0x00, 0x09, 0x0a, 0x0d, 0x20, 0x22, 0x23, 0x2d, 0x3a, 0x7f, 0x80, 0x85, 0xbf, 0xc0, 0xe2, 0xed, 0xef, 0xf5, 0xfe,
  0xff,
];

function changedBytes({ texts }: FuzzCorpus, chance: Chance): Uint8Array {
  let bytes = [...encoded(chance.of(texts))];
  for (let count = 1 + chance.below(6); count > 0; count -= 1) {
    const at = chance.below(bytes.length + 1);
    const length = chance.below(chance.of([2, 8, 64, 512]));
    switch (chance.below(5)) {
      case 0:
        bytes.splice(at, 1, chance.of(HOSTILE_BYTES));
        break;
      case 1:
        bytes.splice(at, 0, chance.of(HOSTILE_BYTES));
        break;
      case 2:
        bytes.splice(at, length);
        break;
      case 3:
        bytes.splice(at, 0, ...bytes.slice(chance.below(bytes.length + 1)).slice(0, length));
        break;
      default:
        bytes = [...bytes.slice(0, at), ...[...encoded(chance.of(texts))].slice(chance.below(200))];
    }
  }
  return Uint8Array.from(bytes);
}

const TOKENS = [
  ...[
    '- ',
    ': ',
    '? ',
    '&a ',
    '*a ',
    '!!str ',
    '!!binary ',
    '!x ',
    '| ',
    '|-\n',
    '> ',
    '{',
    '}',
    '[',
    ']',
    ',',
    '#',
    ' #',
  ],
  ...[
    '---\n',
    '...\n',
    '--- ',
    '%YAML 1.1\n',
    '%TAG ! x\n',
    '"',
    "'",
    '<<: *a\n',
    '\t',
    '\r\n',
    '\r',
    '  ',
    '\n',
    '\ufeff',
    '\u2028',
  ],
  ...[
    'yes',
    'off',
    '0o17',
    '017',
    '0x1f',
    '1e999',
    '-.inf',
    '.nan',
    '12345678901234567890',
    '2001-01-01',
    '~',
    'null',
    '1_000',
  ],
  ...[
    '__proto__: {}\n',
    'constructor: {}\n',
    'hasOwnProperty',
    'apiVersion: v1\n',
    'kind: List\n',
    'kind: Secret\n',
    'items:\n',
    '- '.repeat(90),
    '{a: '.repeat(120),
    '[['.repeat(60),
  ],
  ...[
    '# fleetrelay-ignore: FR2003 reason\n',
    ' # fleetrelay-ignore: FR1013, FR2004\n',
    '{{ .Values.a }}',
    '$schema',
    '# yaml-language-server: $schema=x.json\n',
    'sops:\n',
    '\ud83d\ude00',
    '\u0000',
  ],
];

function changedTokens(text: string, chance: Chance): string {
  let changed = text;
  for (let count = 1 + chance.below(5); count > 0; count -= 1) {
    const lines = changed.split('\n');
    const line = chance.below(lines.length);
    const at = chance.below(changed.length + 1);
    switch (chance.below(6)) {
      case 0:
        changed = `${changed.slice(0, at)}${chance.of(TOKENS)}${changed.slice(at)}`;
        break;
      case 1:
        lines.splice(line, 0, `${' '.repeat(chance.below(9))}${chance.of(TOKENS)}`);
        changed = lines.join('\n');
        break;
      case 2:
        lines.splice(line, 1 + chance.below(3));
        changed = lines.join('\n');
        break;
      case 3:
        lines.splice(line, 0, ...lines.slice(chance.below(lines.length)).slice(0, 1 + chance.below(9)));
        changed = lines.join('\n');
        break;
      case 4:
        lines[line] = `${' '.repeat(chance.below(9))}${(lines[line] ?? '').trimStart()}`;
        changed = lines.join('\n');
        break;
      default:
        changed = `${changed.slice(0, at)}${changed.slice(at + chance.below(12))}`;
    }
  }
  return changed;
}

/** Values that a program can take for something else. */
const HOSTILE: readonly JsonValue[] = [
  ...[null, true, false, 0, -0, -1, 1, 0.5, 65_536, 2 ** 31, 2 ** 53, -(2 ** 63), 1e21, 1e300, 5e-324],
  ...[
    '',
    ' ',
    '0',
    '-1',
    '1e3',
    'true',
    'a'.repeat(64),
    'a'.repeat(254),
    `${'9'.repeat(400)}Ki`,
    '1'.repeat(400),
    '\u0000',
    '\ud800',
    'É',
    '日本',
  ],
  ...[
    '../..',
    '/',
    '.',
    '..',
    'a/b',
    '%',
    '*',
    '*.example.com',
    '1.2.3.4',
    '::1',
    'fe80::1%eth0',
    '10.0.0.0/8',
    '* * * * *',
    '@every 1s',
    '25%',
    '100m',
    '-1Gi',
    '(a+)+$',
    '(?=a)',
    '[',
  ],
  ...[
    '__proto__',
    'constructor',
    'toString',
    'Secret',
    'List',
    'v1',
    'ConfigMap',
    'Always',
    'TCP',
    '2001-01-01T00:00:00Z',
    'self.all(x, x.all(y, y))',
    'aGVsbG8=',
  ],
  ...[
    [],
    {},
    [[]],
    [{}],
    [null],
    { name: null },
    { a: { b: { c: [] } } },
    Array.from({ length: 300 }, () => 'x'),
    Array.from({ length: 50 }, () => ({ name: 'same' })),
  ],
  Object.fromEntries(Array.from({ length: 200 }, (_none, index) => [`k${index}`, index])),
  Object.fromEntries([
    ['constructor', 1],
    ['toString', {}],
    ['hasOwnProperty', []],
    ['valueOf', null],
  ]),
];

type Changeable = Record<string | number, unknown>;

/** A copy in which some members at random places are other ones. */
export function changedValue(value: JsonObject, chance: Chance): JsonValue {
  const copy = structuredClone(value) as Changeable;
  for (let count = 1 + chance.below(6); count > 0; count -= 1) {
    let parent = copy;
    let keys = Object.keys(parent);
    for (;;) {
      const inner = parent[chance.of(keys.length === 0 ? [''] : keys)];
      if (typeof inner !== 'object' || inner === null || Object.keys(inner).length === 0 || chance.below(5) === 0)
        break;
      parent = inner as Changeable;
      keys = Object.keys(parent);
    }
    const key = chance.of(keys.length === 0 ? ['new'] : keys);
    const kept = parent[key];
    switch (chance.below(6)) {
      case 0:
        if (!Array.isArray(parent)) delete parent[key];
        break;
      case 1:
        if (!Array.isArray(parent))
          parent[chance.of([`${key}s`, key.toUpperCase(), key.slice(1), 'name', 'spec', ' '])] = kept;
        break;
      case 2:
        parent[key] = Array.isArray(kept) ? kept[0] : [kept, kept];
        break;
      case 3:
        if (Array.isArray(kept)) parent[key] = [...kept, ...kept, ...kept];
        break;
      default:
        parent[key] = structuredClone(chance.of(HOSTILE));
    }
  }
  return copy as JsonValue;
}

/** An object of the kind in which most members have the type that the schema wants. */
function objectOfSchema({ group, version, kind, schema, definition }: KindSchema, chance: Chance): JsonValue {
  let left = 150;
  const make = (at: Schema, depth: number): JsonValue => {
    left -= 1;
    const resolved = at.$ref === undefined ? at : (definition(at.$ref) ?? {});
    if (left < 0 || depth > 14 || chance.below(14) === 0) return chance.of(HOSTILE);
    if (resolved.allOf?.[0] !== undefined && resolved.properties === undefined)
      return make(resolved.allOf[0], depth + 1);
    if (resolved.enum !== undefined && resolved.enum.length > 0) return chance.of(resolved.enum);
    if (resolved.properties !== undefined || resolved.type === 'object') return makeObject(resolved, depth);
    switch (resolved.type) {
      case 'array':
        return Array.from({ length: chance.below(4) }, () => make(resolved.items ?? {}, depth + 1));
      case 'boolean':
        return chance.below(2) === 0;
      case 'integer':
      case 'number':
        return chance.of([0, 1, 2, 80, 443, 1000, -1, 30_000]);
      case 'string':
        return chance.of(['a', 'web', 'web-1', 'example.com', '/path', '10m', '1Gi', 'http', '', 'A_B', '10.0.0.1']);
      default:
        return chance.of(HOSTILE);
    }
  };
  const makeObject = ({ properties = {}, required = [], additionalProperties }: Schema, depth: number): JsonValue => {
    const made: Record<string, JsonValue> = {};
    const names = Object.keys(properties);
    for (const name of names) {
      const isTaken = required.includes(name) ? chance.below(8) > 0 : chance.below(Math.max(2, names.length / 5)) === 0;
      if (isTaken && properties[name] !== undefined) made[name] = make(properties[name], depth + 1);
    }
    if (typeof additionalProperties === 'object')
      made[chance.of(['a', 'b/c', 'A b', ''])] = make(additionalProperties, depth + 1);
    return made;
  };
  const made = make(schema, 0);
  if (!isJsonObject(made)) return made;
  const metadata = chance.below(9) === 0 ? (made.metadata ?? null) : { name: 'a', namespace: 'b', labels: { a: 'b' } };
  return { ...made, apiVersion: group === '' ? version : `${group}/${version}`, kind, metadata };
}

/** A changed definition, and an object of its kind as the changed schema has it. */
function withDefinition({ definitions }: FuzzCorpus, chance: Chance): FuzzInput {
  const changed = chance.below(3) === 0 ? chance.of(definitions) : changedValue(chance.of(definitions), chance);
  const definition = isJsonObject(changed) ? changed : {};
  const { group, names, versions } = objectOf(definition.spec);
  const served = objectsOf(versions);
  const version = served[chance.below(Math.max(1, served.length))] ?? {};
  const kind: KindSchema = {
    ...{ group: textOf(group), version: textOf(version.name), kind: textOf(objectOf(names).kind) },
    ...{ plural: '', namespaced: true, definition: () => undefined },
    schema: objectOf(objectOf(version.schema).openAPIV3Schema) as Schema,
  };
  const isSchema = chance.below(20) > 0;
  return { ...inForm(isSchema ? safely(() => objectOfSchema(kind, chance)) : definition, chance), definition };
}

/** A changed schema may be none. */
function safely(make: () => JsonValue): JsonValue {
  try {
    return make();
  } catch {
    return {};
  }
}
