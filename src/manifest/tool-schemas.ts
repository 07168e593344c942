import { isJsonObject, type JsonObject, type JsonValue } from '../model/text/json.ts';
import { didYouMean, type FieldProblem, fieldError, fieldWarning, typeWord } from './problem.ts';

/** The type of a field as its tool reads it. `texts`: a list of texts; `map`: a mapping of texts. */
type FieldType = 'text' | 'texts' | 'map' | 'object' | 'boolean' | 'number' | Items;

/** A list of mappings with these fields; `!` after a name: it is required. */
interface Items {
  readonly items: Readonly<Record<string, FieldType | 'any'>>;
}

type Fields = Readonly<Record<string, FieldType | 'any'>>;

/** Fields of one type, by the names that `names` lists. */
function fieldsOf(type: FieldType | 'any', names: string): Fields {
  return Object.fromEntries(names.split(' ').map((name) => [name, type]));
}

const GENERATOR: Fields = {
  ...fieldsOf('text', 'name namespace behavior type env'),
  ...fieldsOf('texts', 'files literals envs'),
  options: 'object',
};
const CHART_OF_KUSTOMIZE: Fields = {
  ...fieldsOf('text', 'name version repo releaseName namespace nameTemplate valuesFile valuesMerge values kubeVersion'),
  ...fieldsOf('text', 'chartName chartVersion chartRepoUrl chartHome configHome releaseNamespace helmBin helmHome'),
  chartRepoName: 'text',
  ...fieldsOf('texts', 'additionalValuesFiles apiVersions extraArgs'),
  valuesInline: 'any',
  ...fieldsOf('boolean', 'includeCRDs skipHooks skipTests debug devel'),
};
const PATCH: Fields = { path: 'text', patch: 'text', target: 'object', options: 'object' };

/** The fields of a Kustomization and a Component, as kustomize 5 reads them; the names of older versions too. */
const KUSTOMIZATION: Fields = {
  ...fieldsOf('text', 'apiVersion kind namespace namePrefix nameSuffix'),
  ...fieldsOf('map', 'openapi commonLabels commonAnnotations'),
  ...fieldsOf('object', 'metadata generatorOptions helmGlobals sortOptions inventory'),
  labels: { items: { pairs: 'map', includeSelectors: 'boolean', includeTemplates: 'boolean', fields: 'any' } },
  ...fieldsOf('texts', 'resources bases components crds configurations generators transformers validators'),
  ...fieldsOf('texts', 'buildMetadata patchesStrategicMerge'),
  ...fieldsOf({ items: PATCH }, 'patches patchesJson6902'),
  images: { items: { 'name!': 'text', newName: 'text', newTag: 'text', tagSuffix: 'text', digest: 'text' } },
  imageTags: { items: { name: 'text', newName: 'text', newTag: 'text', digest: 'text' } },
  replicas: { items: { 'name!': 'text', count: 'number' } },
  replacements: { items: { path: 'text', source: 'object', targets: 'any' } },
  vars: { items: { 'name!': 'text', objref: 'object', fieldref: 'object' } },
  ...fieldsOf({ items: GENERATOR }, 'configMapGenerator secretGenerator'),
  ...fieldsOf({ items: CHART_OF_KUSTOMIZE }, 'helmCharts helmChartInflationGenerator'),
};

/** The fields of Chart.yaml, as Helm 2, 3 and 4 read them. */
const CHART: Fields = {
  ...fieldsOf('text', 'apiVersion name! kubeVersion description type home icon engine tillerVersion condition tags'),
  ...fieldsOf('any', 'version! appVersion'),
  ...fieldsOf('texts', 'keywords sources'),
  deprecated: 'boolean',
  annotations: 'map',
  maintainers: { items: fieldsOf('text', 'name! email url') },
  dependencies: {
    items: {
      ...fieldsOf('text', 'name! version repository condition alias'),
      tags: 'texts',
      enabled: 'boolean',
      'import-values': 'any',
    },
  },
};

/** What kustomize would refuse in a kustomization: it reads no other fields, and none of another type. */
export function kustomizationProblems(value: JsonObject): readonly FieldProblem[] {
  return fieldsProblems(value, KUSTOMIZATION, [], fieldError);
}

/** Helm reads a version of two parts too, and one after a `v`. */
const VERSION = /^v?\d+(?:\.\d+){0,2}(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?$/;

/** What Helm would refuse in a Chart.yaml. It leaves fields out that it does not know. */
export function chartProblems(value: JsonObject): readonly FieldProblem[] {
  const { version, type } = value;
  const problems = [...fieldsProblems(value, CHART, [], fieldWarning)];
  if ((version ?? null) !== null && !VERSION.test(String(version))) {
    const message = `version must be a semantic version, not ${JSON.stringify(version)}`;
    problems.push(fieldError('WrongValue', ['version'], message, 'write it like 1.2.3'));
  }
  if (type !== undefined && type !== 'application' && type !== 'library') {
    problems.push(fieldError('WrongValue', ['type'], 'type must be application or library'));
  }
  return problems;
}

type Path = readonly (string | number)[];

/** @param unknown makes the problem of an unknown field */
function fieldsProblems(value: JsonObject, fields: Fields, path: Path, unknown: typeof fieldError): FieldProblem[] {
  const names = Object.keys(fields).map((name) => name.replace(/!$/, ''));
  const problems: FieldProblem[] = [];
  for (const [name, member] of Object.entries(value)) {
    const type = fields[name] ?? fields[`${name}!`];
    if (type === undefined) {
      const hint = didYouMean(name, names);
      const message = `the field ${JSON.stringify(name)} is not known here`;
      problems.push({ ...unknown('UnknownField', [...path, name], message, hint), atKey: true });
    } else if (member !== null && member !== undefined && type !== 'any') {
      problems.push(...typeProblems(member, type, [...path, name], unknown));
    }
  }
  for (const field of Object.keys(fields)) {
    const name = field.slice(0, -1);
    if (!field.endsWith('!') || (value[name] ?? null) !== null) continue;
    problems.push({ ...fieldError('MissingField', [...path, name], `${name} is missing`), missing: [...path, name] });
  }
  return problems;
}

const isScalar = (value: JsonValue): boolean => typeof value !== 'object';

function typeProblems(value: JsonValue, type: FieldType, path: Path, unknown: typeof fieldError): FieldProblem[] {
  const wrong = (what: string): FieldProblem[] => [
    fieldError('WrongType', path, `${path.at(-1)} must be ${what}, not ${typeWord(value)}`),
  ];
  switch (type) {
    case 'text':
      return typeof value === 'string' ? [] : wrong('a text');
    case 'boolean':
      return typeof value === 'boolean' ? [] : wrong('true or false');
    case 'number':
      return typeof value === 'number' ? [] : wrong('a number');
    case 'object':
      return isJsonObject(value) ? [] : wrong('a mapping');
    case 'map':
      if (!isJsonObject(value)) return wrong('a mapping');
      return Object.values(value).every((member) => member === undefined || isScalar(member))
        ? []
        : wrong('a mapping of texts');
    case 'texts':
      if (!Array.isArray(value)) return wrong('a list');
      return value.every((item) => typeof item === 'string') ? [] : wrong('a list of texts');
    default:
      if (!Array.isArray(value)) return wrong('a list');
      return value.flatMap((item, index) =>
        isJsonObject(item)
          ? fieldsProblems(item, type.items, [...path, index], unknown)
          : [
              fieldError(
                'WrongType',
                [...path, index],
                `an item of ${path.at(-1)} must be a mapping, not ${typeWord(item)}`,
              ),
            ],
      );
  }
}
