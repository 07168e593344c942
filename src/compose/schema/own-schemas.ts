import { engineKindIds, engineKindRow } from '../../model/fleet/engine-kinds.ts';
import type { JsonObject } from '../../model/text/json.ts';

/** The JSON Schema of a kind that the engine reads. */
export interface OwnSchema {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly schema: JsonObject;
}

/** The schemas of all kinds that the engine reads, for each of their versions. */
export async function ownSchemas(): Promise<readonly OwnSchema[]> {
  const found = await Promise.all(
    engineKindIds.map(async (id) => {
      const { group, kind, versions, schema: file } = engineKindRow(id);
      const { default: schema } = (await import(`../../../schemas/${file}`, { with: { type: 'json' } })) as {
        readonly default: JsonObject;
      };
      return versions.map((version) => ({ group, version, kind, schema }));
    }),
  );
  return found.flat();
}
