import { join } from 'node:path';
import { parseApiVersion } from '../../../model/objects/object-key.ts';
import type { JsonObject } from '../../../model/text/json.ts';
import { createCustomKinds } from '../../../validation/custom/custom-kinds.ts';
import type { KindName } from '../../../validation/custom/schema-template.ts';
import { newestKubernetesVersion, openKubernetesSchemas } from '../../../validation/kubernetes-schemas.ts';
import type { CheckedFile } from '../check-file.ts';
import { type InputFile, STDIN } from '../inputs.ts';
import type { ValidationRequest } from '../report.ts';
import type { CheckSettings, NamedSchema } from './object-checks.ts';
import { createSchemaLocator, type SchemaLocator } from './schema-locations.ts';
import { createSchemaRoots } from './schema-roots.ts';

type CustomSettings = Pick<CheckSettings, 'definitions' | 'located' | 'named'>;

/**
 * Finds the schemas of kinds that are not built in: by definitions in the files, then in the cluster of the request, then by its
 * schema locations, then by what the files themselves name. Rejects with a text for people if the cluster cannot be asked or a
 * location has an unknown variable.
 */
export async function findCustomSchemas(
  request: ValidationRequest,
  files: readonly InputFile[],
  checked: readonly CheckedFile[],
  settings: CheckSettings,
): Promise<CustomSettings> {
  const definitions = [...checked.flatMap((file) => file.definitions), ...(await definitionsOfCluster(request))];
  const { schemaLocations: locations = [], cwd } = request;
  // The folder that `schema export` writes has the same name.
  const { release } = await openKubernetesSchemas(settings.versions.at(-1) ?? newestKubernetesVersion);
  const locator = createSchemaLocator({
    locations,
    cwd,
    kubernetesVersion: release.replace(/^v/, ''),
  });
  const located = await locator.locate(unknownKinds(checked, definitions));
  return { definitions, located, named: await namedSchemas(request, files, checked, locator) };
}

async function definitionsOfCluster({ cluster, cwd, env = {} }: ValidationRequest): Promise<readonly JsonObject[]> {
  if (cluster === undefined) return [];
  const { readClusterDefinitions } = await import('./cluster-definitions.ts');
  return readClusterDefinitions(cluster, { cwd, env, version: 'validate' });
}

/** The kinds without schema that no definition has, each once. */
function unknownKinds(checked: readonly CheckedFile[], definitions: readonly JsonObject[]): readonly KindName[] {
  const custom = createCustomKinds(definitions);
  const kinds = new Map<string, KindName>();
  for (const { apiVersion, kind, state } of checked.flatMap(({ documents }) => documents)) {
    const parsed = state === 'noSchema' ? parseApiVersion(apiVersion) : undefined;
    if (parsed?.ok !== true || custom.versionsOf(parsed.value.group, kind).length > 0) continue;
    kinds.set(`${apiVersion} ${kind}`, { ...parsed.value, kind });
  }
  return [...kinds.values()];
}

async function namedSchemas(
  request: ValidationRequest,
  files: readonly InputFile[],
  checked: readonly CheckedFile[],
  locator: SchemaLocator,
): Promise<readonly NamedSchema[]> {
  const rootOf = createSchemaRoots(request);
  const named: NamedSchema[] = [];
  for (const [index, { schemas }] of checked.entries()) {
    const { name = '', location = '' } = files[index] ?? {};
    const place = name === STDIN ? join(request.cwd, STDIN) : location;
    for (const reference of new Set(schemas)) {
      named.push({
        file: name,
        reference,
        schema: await locator.read(reference, { location: place, root: rootOf(place) }),
      });
    }
  }
  return named;
}
