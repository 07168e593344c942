import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { printYaml } from '../../src/manifest/print-yaml.ts';
import { type EngineKind, engineKindIds, engineKindRow } from '../../src/model/fleet/engine-kinds.ts';
import { isJsonObject, type JsonObject, objectOf, objectsOf, textOf } from '../../src/model/text/json.ts';
import { block, code, generatedFrom, page, prose, section, table } from './markdown.ts';
import { createFieldReader, type FieldSection } from './schema-fields.ts';

const FOLDER = 'docs/reference/kinds';

/** What the name of a declaration is unique in. */
const KEYED_BY = {
  name: 'its name: of several with one name, one is in force',
  namespaceAndName: 'Namespace and name',
  fleet: 'nothing: a fleet has one',
} as const;

const SOURCES = {
  first: 'the first one; others if `allow.kinds` of the source names the kind',
  each: 'every one',
} as const;

const WITHIN = {
  clusterNames: '`allow.declares` and `allow.labelKeys` name its name and labels',
  meshes: '`allow.meshes` and `allow.services` name its mesh and services',
  ownClusters: 'the source declares its clusters itself',
} as const;

/** Path below the project → text: a page for each kind of a document, the page of RelayConfig, and the list of the kinds. */
export async function kindPages(root: string): Promise<ReadonlyMap<string, string>> {
  const schemaOf = async (file: string): Promise<JsonObject> =>
    JSON.parse(await readFile(join(root, 'schemas', file), 'utf8')) as JsonObject;
  const pages = await Promise.all(
    engineKindIds.map(async (id) => {
      const schema = await schemaOf(engineKindRow(id).schema);
      return [`${FOLDER}/${fileOf(id)}`, kindPage(id, schema)] as const;
    }),
  );
  return new Map([
    ...pages,
    [`${FOLDER}/README.md`, overview()],
    ...relayConfigPages(await schemaOf('relay-config.json')),
  ]);
}

function fileOf(id: EngineKind): string {
  return `${engineKindRow(id).kind.toLowerCase()}.md`;
}

function kindPage(id: EngineKind, schema: JsonObject): string {
  const { kind, schema: file } = engineKindRow(id);
  return page([
    generatedFrom(`schemas/${file} and src/model/fleet/engine-kinds.ts`),
    '',
    `# ${kind}`,
    '',
    `Write a manifest of kind ${kind}, and find what each field means, its default and its limits.`,
    '',
    prose(textOf(schema.description)),
    '',
    ...section(examplesOf(schema).length === 1 ? 'Example' : 'Examples', examplesOf(schema).flatMap(manifest)),
    ...section('At a glance', glance(id)),
    ...fieldsOf(schema),
    '[All kinds](README.md)',
  ]);
}

const SOURCES_PAGE = 'relay-config-sources.md';

/** The page of RelayConfig, and a second one for its sources: one alone would be too long. */
function relayConfigPages(schema: JsonObject): readonly (readonly [path: string, text: string])[] {
  const sections = createFieldReader(schema).sections('Fields', '', schema);
  const isOfSources = ({ title }: FieldSection): boolean => title.startsWith('sources');
  const mark = generatedFrom('schemas/relay-config.json');
  const settings = page([
    mark,
    '',
    '# RelayConfig',
    '',
    'Write the settings of a management server, and find the default and the limits of each of them.',
    `Its sources have [a page of their own](${SOURCES_PAGE}).`,
    '',
    prose(textOf(schema.description)),
    '[`fleetrelay serve --config FILE`](cli/serve.md) reads it, and `fleetrelay validate FILE` checks it.',
    '',
    ...section('Example', examplesOf(schema).flatMap(manifest)),
    ...shown(sections.filter((each) => !isOfSources(each))),
  ]);
  const sources = page([
    mark,
    '',
    '# RelayConfig: sources',
    '',
    'Name the repositories, folders and clusters that a management server follows, and say what each may declare.',
    '[RelayConfig](relay-config.md) has all other settings.',
    '',
    ...shown(sections.filter(isOfSources)),
  ]);
  return [
    ['docs/reference/relay-config.md', settings.replaceAll('](#sources', `](${SOURCES_PAGE}#sources`)],
    [`docs/reference/${SOURCES_PAGE}`, sources],
  ];
}

function examplesOf(schema: JsonObject): readonly JsonObject[] {
  return objectsOf(schema.examples);
}

/** A manifest as a block of code. The status, which people do not write, is left out. */
function manifest({ status, ...written }: JsonObject): readonly string[] {
  return [...block('yaml', printYaml(written)), ''];
}

function glance(id: EngineKind): readonly string[] {
  const row = engineKindRow(id);
  const { group, versions, plural, shortNames, isCustomResource, keyedBy, sources, within, ownConditions } = row;
  const names = [plural, ...shortNames].map(code).join(', ');
  const rights = within === undefined ? '' : `, and ${WITHIN[within]}`;
  const paths = [
    row.statusPath ?? 'declared/KIND/NAMESPACE/NAME.yaml',
    row.universal?.statusPath.replace('PARENT', row.universal.parent.toUpperCase()) ?? '',
  ];
  return table(
    ['', ''],
    [
      ['apiVersion', versions.map((version) => code(`${group}/${version}`)).join(', ')],
      ['names', names],
      ['read from', isCustomResource ? 'git, files, custom resources' : 'git, files'],
      ['identified by', KEYED_BY[keyedBy]],
      ['sources that may have it', `${SOURCES[sources]}${rights}`],
      [
        'while its document cannot be read',
        row.holdsAsLastKnownGood ? 'its last good state stays in force' : 'it has no effect',
      ],
      ['conditions', ownConditions.map(code).join(', ')],
      [
        'file on the status branch',
        paths
          .filter((path) => path !== '')
          .map((path) => code(path.replace('KIND', row.kind)))
          .join(', '),
      ],
      ['schema', `[${row.schema}](../../../schemas/${row.schema})`],
    ],
  );
}

/** The fields of a schema, in both forms if it has two. */
function fieldsOf(schema: JsonObject): readonly string[] {
  const reader = createFieldReader(schema);
  if (schema.if === undefined) return shown(reader.sections('Fields', '', schema));
  const form = (branch: JsonObject[string]): JsonObject => {
    const name = textOf(objectOf(branch).$ref).split('/').at(-1) ?? '';
    const found = objectOf(schema.$defs)[name];
    if (!isJsonObject(found)) throw new Error(`${textOf(schema.title)}: a form is no definition`);
    return found;
  };
  const [universal, resource] = [form(schema.then), form(schema.else)];
  return [
    ...shown(reader.sections('Fields', prose(textOf(resource.description)), resource)),
    ...shown(reader.sections('Fields of the Universal form', prose(textOf(universal.description)), universal)),
  ];
}

function shown(sections: readonly FieldSection[]): readonly string[] {
  return sections.flatMap(({ title, lines }) => section(title, lines));
}

function overview(): string {
  const rows = engineKindIds.map((id) => {
    const { group, versions, kind, purpose, isCustomResource } = engineKindRow(id);
    const apiVersions = versions.map((version) => code(`${group}/${version}`)).join(', ');
    const from = isCustomResource ? 'git, files, custom resources' : 'git, files';
    return [`[${kind}](${fileOf(id)})`, apiVersions, prose(purpose), from];
  });
  return page([
    generatedFrom('src/model/fleet/engine-kinds.ts'),
    '',
    '# Kinds',
    '',
    'Find the kind for what you want to declare. fleetrelay reads these kinds and acts on them; it sends no object of them to a',
    'cluster. Objects of all other kinds go to the clusters that a Placement selects.',
    '',
    ...table(['kind', 'version', 'what it does', 'read from'], rows),
    '',
    'The settings of a server are a [RelayConfig](../relay-config.md).',
  ]);
}
