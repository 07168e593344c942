import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { expect, test } from 'vitest';
import { isDiscovered } from '../../src/adapters/kubernetes/cluster/live/discovered-kinds.ts';
import { customKinds, engineKindIds, engineKindRow } from '../../src/model/fleet/engine-kinds.ts';

/** `src/model/fleet/engine-kinds.ts` is the only list of the kinds that the engine reads. */

const project = join(import.meta.dirname, '../..');
const REGISTRY = 'src/model/fleet/engine-kinds.ts';

/** Files that name several kinds all the same, and why that is no list of its own. */
const NAMED: Readonly<Record<string, string>> = {
  'scripts/crds/kinds.ts': 'the compiler demands a form for each custom kind of the registry',
  'src/compose/init/init.ts': 'the kinds of which a new repository has a file',
  'src/manifest/kinds/decoders.ts': 'the compiler demands a decoder for each kind of the registry',
  'src/model/fleet/desired.ts': 'the compiler demands a type of value for each kind of the registry',
};

/** Ids and plurals that a text names as a literal or as a name of a property, comments left out. */
function namedKinds(text: string): readonly string[] {
  const code = text.replaceAll(/\/\*[\s\S]*?\*\//g, '').replaceAll(/(^|\s)\/\/.*$/gm, '$1');
  return engineKindIds.filter((id) => {
    const { kind, plural } = engineKindRow(id);
    return new RegExp(`(['"\`])(${kind}|${plural})(/status)?\\1|\\b${kind}\\??:`).test(code);
  });
}

function filesBelow(folder: string, extension: string): readonly string[] {
  return readdirSync(join(project, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(extension))
    .map((entry) => relative(project, join(entry.parentPath, entry.name)).split(sep).join('/'));
}

test('no other file lists the kinds', () => {
  const lists = [...filesBelow('src', '.ts'), ...filesBelow('scripts', '.ts')].filter(
    (file) => namedKinds(readFileSync(join(project, file), 'utf8')).length >= 3,
  );
  expect(lists.sort()).toEqual([REGISTRY, ...Object.keys(NAMED)].sort());
});

test.each([
  "const KINDS = ['Placement', 'Shoot', 'Dataplane'];",
  'const readers = { Placement: readPlacement, Shoot: readShoot, Dataplane: readDataplane };',
  "const rights = ['placements', 'shoots/status', \"fleetpolicies\"];",
])('the test itself would find %s', (code) => {
  expect(namedKinds(code)).toHaveLength(3);
});

test('what is only named in a comment is no list', () => {
  expect(namedKinds("/** 'Placement', 'Shoot' */\n// 'Dataplane'\n")).toEqual([]);
});

test('every schema of a document belongs to a row, and says the same group, versions and kind', () => {
  const schemas = filesBelow('schemas', '.json').map((file) => file.replace('schemas/', ''));
  const rows = engineKindIds.map(engineKindRow);
  expect(schemas.sort()).toEqual([...rows.map(({ schema }) => schema), 'relay-config.json'].sort());
  for (const { schema, group, versions, kind } of rows) {
    const text = readFileSync(join(project, 'schemas', schema), 'utf8');
    for (const version of versions) expect(text).toContain(`"const": "${group}/${version}"`);
    expect(text).toContain(`"const": "${kind}"`);
  }
});

test('the schema of RelayConfig offers the kinds that can be custom resources', () => {
  const schema = JSON.parse(readFileSync(join(project, 'schemas/relay-config.json'), 'utf8'));
  expect(enumsIn(schema).filter((values) => values.includes(customKinds[0]))).toEqual([customKinds]);
});

function enumsIn(schema: unknown): readonly (readonly unknown[])[] {
  if (typeof schema !== 'object' || schema === null) return [];
  const own = 'enum' in schema && Array.isArray(schema.enum) ? [schema.enum] : [];
  return [...own, ...Object.values(schema).flatMap(enumsIn)];
}

test('agents discover every kind of a Kubernetes cluster that the engine reads of live state', () => {
  const isOfCluster = (kind: string): boolean => !kind.startsWith('internal.fleetrelay.dev/');
  const discoveredKinds = engineKindIds.flatMap((id) => engineKindRow(id).discovers).filter(isOfCluster);
  expect(discoveredKinds).not.toEqual([]);
  for (const kind of discoveredKinds) {
    const [group = '', name = ''] = kind.split('/');
    expect([kind, isDiscovered(group, name)]).toEqual([kind, true]);
  }
});
