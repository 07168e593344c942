/** Folders for the rules across files: manifests that are valid enough, and refer to each other by a few common names. */
import { dump } from 'js-yaml';
import { isJsonObject, type JsonObject, type JsonValue, objectOf, textOf } from '../../../src/model/text/json.ts';
import { type Chance, changedValue, type FuzzCorpus } from './inputs.ts';

/** A file of a folder. */
export interface FolderFile {
  /** Relative to the folder. */
  readonly path: string;
  readonly text: string;
}

const PATHS = ['a.yaml', 'b.yaml', 'app/a.yaml', 'app/c.yaml', 'other/a.yaml', 'other/deep/d.yaml'];
const NAMES = ['web', 'web-config', 'settings', 'db', 'team-a', 'default', '', 'web.example.com'];
const KEYS = ['http', 'password', 'config.yaml', 'web'];
/** Few kinds are referred to by others, or declare what the engine reads. */
const COMMON =
  /^(ConfigMap|Secret|Service|ServiceAccount|Role|ClusterRole|PersistentVolumeClaim|Deployment|Placement|KubernetesCluster|FleetPolicy|CustomResourceDefinition)$/;

/** Makes the folder of a seed and an index: two to six files with up to four documents each. */
export function makeFolder({ values }: FuzzCorpus, chance: Chance): readonly FolderFile[] {
  const common = values.filter(({ kind }) => COMMON.test(textOf(kind)));
  const made = (): JsonValue => {
    const value = withCommonNames(chance.of(chance.below(2) === 0 ? common : values), chance);
    return chance.below(5) === 0 && isJsonObject(value) ? changedValue(value, chance) : value;
  };
  const paths = PATHS.filter(() => chance.below(2) === 0);
  return [...new Set(['a.yaml', chance.of(PATHS.slice(1)), ...paths])].map((path) => {
    const documents = Array.from({ length: 1 + chance.below(4) }, made);
    return { path, text: documents.map((document) => `---\n${dump(document, { noRefs: true })}`).join('') };
  });
}

/** A copy in which every second name, namespace and key is one of a few. */
function withCommonNames(value: JsonObject, chance: Chance): JsonValue {
  const copy = (part: JsonValue | undefined, field: string): JsonValue => {
    if (Array.isArray(part)) return part.map((item) => copy(item, field));
    if (isJsonObject(part)) {
      return Object.fromEntries(Object.entries(part).map(([key, member]) => [key, copy(member, key)]));
    }
    if (typeof part !== 'string' || chance.below(2) === 0) return part ?? null;
    if (/^(name|.*Name|namespace)$/.test(field)) return chance.of(NAMES);
    return field === 'key' ? chance.of(KEYS) : part;
  };
  const { metadata } = value;
  const named = isJsonObject(metadata)
    ? { ...objectOf(copy(metadata, '')), name: chance.of(NAMES) || 'web' }
    : metadata;
  return { ...objectOf(copy(value, '')), ...(named === undefined ? {} : { metadata: named }) };
}
