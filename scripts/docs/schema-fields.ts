import { anchorOf } from '../../site/.vitepress/anchors.ts';
import { isJsonObject, type JsonObject, type JsonValue, objectOf, textOf } from '../../src/model/text/json.ts';
import { code, prose, table } from './markdown.ts';

/** A field of a kind, as its row in a table says it. The texts are Markdown. */
interface Field {
  readonly path: string;
  readonly type: string;
  readonly standard: string;
  readonly meaning: string;
  readonly limits: string;
  /** The fields below it; none where the page has described them already. */
  readonly below: readonly Field[];
}

/** A part of a page: an object with the fields below it. */
export interface FieldSection {
  /** The path of the object, or the title of the form. */
  readonly title: string;
  readonly lines: readonly string[];
}

/** An object with more fields than this has a section of its own. */
const MOST_IN_ROW = 8;
const LONGEST_EXAMPLE = 60;

/** Reads the fields of a schema. One reader serves one page: what it has described it does not describe again. */
export function createFieldReader(root: JsonObject) {
  /** Where the fields of a definition are described, by its `$ref`. */
  const described = new Map<string, string>();

  const fieldOf = (path: string, given: JsonObject, required: boolean): Field => {
    const schema = resolved(root, given);
    const { below, known } = fieldsOf(path, given);
    const deprecated = schema.deprecated === true ? 'Deprecated. ' : '';
    const pointer = known === undefined ? '' : ` It has the fields of ${code(known)}.`;
    return {
      ...{ path, type: typeOf(root, schema), standard: standardOf(schema), limits: limitsOf(root, schema, required) },
      meaning: `${deprecated}${prose(textOf(schema.description))}${pointer}${exampleOf(schema)}`,
      below,
    };
  };

  /** The fields below a value; where a definition is described already, only where (`known`). */
  const fieldsOf = (path: string, given: JsonObject): { readonly below: readonly Field[]; readonly known?: string } => {
    const ref = typeof given.$ref === 'string' ? given.$ref : undefined;
    const known = ref === undefined ? undefined : described.get(ref);
    if (known !== undefined) return { below: [], known };
    const schema = resolved(root, given);
    const below = propertiesOf(path, schema);
    if (ref !== undefined && below.length > 0) described.set(ref, path);
    if (below.length > 0) return { below };
    if (isJsonObject(schema.items)) return fieldsOf(`${path}[]`, schema.items);
    return isJsonObject(schema.additionalProperties) ? fieldsOf(`${path}.*`, schema.additionalProperties) : { below };
  };

  const propertiesOf = (path: string, schema: JsonObject): readonly Field[] => {
    const required = Array.isArray(schema.required) ? schema.required : [];
    return Object.entries(objectOf(schema.properties)).flatMap(([name, member]) => {
      const at = path === '' ? name : `${path}.${name}`;
      return isJsonObject(member) && !isUnread(path, resolved(root, member))
        ? [fieldOf(at, member, required.includes(name))]
        : [];
    });
  };

  const sectionsOf = (title: string, intro: string, fields: readonly Field[]): readonly FieldSection[] => {
    const apart = fields.filter((field) => isLarge(field));
    const rows = fields.flatMap((field) => (apart.includes(field) ? [withLink(field)] : [field, ...allBelow(field)]));
    const own = {
      title,
      lines: [
        ...(intro === '' ? [] : [intro, '']),
        ...table(['field', 'type', 'default', 'meaning', 'limits'], rows.map(cellsOf)),
      ],
    };
    return [own, ...apart.flatMap((field) => sectionsOf(field.path, field.meaning, field.below))];
  };

  return {
    /** The sections of a schema: its own fields first, then each object that has many. `intro`: what stands above the first table. */
    sections(title: string, intro: string, schema: JsonObject): readonly FieldSection[] {
      return sectionsOf(title, intro, propertiesOf('', schema));
    },
  };
}

/** The field with a link to the section of its fields. */
function withLink(field: Field): Field {
  return { ...field, meaning: `${field.meaning} Fields: [${field.path}](#${anchorOf(field.path)}).` };
}

function isLarge(field: Field): boolean {
  return allBelow(field).length > MOST_IN_ROW;
}

function allBelow({ below }: Field): readonly Field[] {
  return below.flatMap((field) => [field, ...allBelow(field)]);
}

function cellsOf({ path, type, standard, meaning, limits }: Field): readonly string[] {
  return [code(path), type, standard, meaning, limits];
}

/** Metadata that nothing reads has no row: the description of the metadata says it. */
function isUnread(path: string, schema: JsonObject): boolean {
  return path.endsWith('metadata') && /\bnot read\b/i.test(textOf(schema.description));
}

function resolved(root: JsonObject, schema: JsonObject): JsonObject {
  if (typeof schema.$ref !== 'string') return schema;
  const { $ref, ...own } = schema;
  const found = $ref
    .split('/')
    .slice(1)
    .reduce<JsonValue | undefined>((value, name) => objectOf(value)[name], root);
  if (!isJsonObject(found)) throw new Error(`the schema has no ${$ref}`);
  return { ...resolved(root, found), ...own };
}

function typeOf(root: JsonObject, schema: JsonObject): string {
  const types = Array.isArray(schema.type) ? schema.type : [schema.type ?? 'any'];
  if (types.length > 1) return types.map(String).join(' or ');
  const member = (value: JsonValue | undefined): string =>
    isJsonObject(value) ? typeOf(root, resolved(root, value)) : 'any';
  if (types[0] === 'array') return `list of ${member(schema.items)}`;
  const isMap = types[0] === 'object' && isJsonObject(schema.additionalProperties) && schema.properties === undefined;
  return isMap ? `map of ${member(schema.additionalProperties)}` : String(types[0]);
}

function standardOf(schema: JsonObject): string {
  return schema.default === undefined ? '' : code(shown(schema.default));
}

function exampleOf(schema: JsonObject): string {
  const [first] = Array.isArray(schema.examples) ? schema.examples : [];
  if (first === undefined || schema.const !== undefined || schema.enum !== undefined) return '';
  const text = shown(first);
  return text.length > LONGEST_EXAMPLE || first === schema.default ? '' : ` Example: ${code(text)}.`;
}

/** What a value must be, beside its type. */
function limitsOf(root: JsonObject, schema: JsonObject, required: boolean): string {
  const items = isJsonObject(schema.items) ? resolved(root, schema.items) : undefined;
  const each = items === undefined || items.properties !== undefined ? '' : valueLimits(items).join('; ');
  return [
    ...(required ? ['required'] : []),
    ...valueLimits(schema),
    ...range(schema.minItems, schema.maxItems, 'items', 'item'),
    ...(each === '' ? [] : [`each: ${each}`]),
    ...range(schema.minProperties, schema.maxProperties, 'fields', 'field'),
    ...choice(schema.oneOf),
  ].join('; ');
}

function valueLimits(schema: JsonObject): readonly string[] {
  const least = schema.minLength === 1 && schema.maxLength === undefined;
  return [
    ...(schema.const === undefined ? [] : [`always ${code(shown(schema.const))}`]),
    ...(Array.isArray(schema.enum) ? [schema.enum.map((value) => code(shown(value))).join(', ')] : []),
    ...(least ? ['not empty'] : range(schema.minLength, schema.maxLength, 'characters', 'character')),
    ...range(schema.minimum, schema.maximum, '', ''),
    ...(typeof schema.pattern === 'string' ? [`pattern ${code(schema.pattern)}`] : []),
  ];
}

function range(min: JsonValue | undefined, max: JsonValue | undefined, many: string, one: string): readonly string[] {
  const named = (count: JsonValue): string => `${shown(count)} ${count === 1 ? one : many}`.trim();
  if (min !== undefined && max !== undefined) return [`${shown(min)} to ${named(max)}`];
  if (min !== undefined) return [`at least ${named(min)}`];
  return max === undefined ? [] : [`at most ${named(max)}`];
}

/** Alternatives that only say which fields must be there. */
function choice(oneOf: JsonValue | undefined): readonly string[] {
  if (!Array.isArray(oneOf)) return [];
  const names = oneOf.flatMap((branch) => {
    const { required } = objectOf(branch);
    return Array.isArray(required) ? required.map(String) : [];
  });
  return [`exactly one of ${names.map(code).join(', ')}`];
}

function shown(value: JsonValue): string {
  return typeof value === 'string' && value !== '' ? value : JSON.stringify(value);
}
