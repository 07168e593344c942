import type { JsonObject } from '../../src/model/text/json.ts';

const CHART = 'deploy/helm/fleetrelay-crds';

/**
 * Path below the project → text, of what the chart of the definitions is made of. `definitions`: name of the
 * CustomResourceDefinition → text of its manifest, as `scripts/generate-crds.ts` has written it. What stands before `spec` is
 * written by the template, since labels and annotations depend on the values.
 */
export function crdsChartFiles(definitions: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
  const files = [...definitions].map(([name, text]) => [`${CHART}/files/${name}.yaml`, specOf(name, text)] as const);
  return new Map([
    ...files,
    [`${CHART}/values.schema.json`, `${JSON.stringify(valuesSchema([...definitions.keys()].sort()), null, 2)}\n`],
  ]);
}

function specOf(name: string, text: string): string {
  const at = text.indexOf('\nspec:\n');
  if (at < 0) throw new Error(`the definition ${name} has no spec`);
  return text.slice(at + 1);
}

function valuesSchema(names: readonly string[]): JsonObject {
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'Values of the chart fleetrelay-crds',
    description: 'Generated from scripts/deploy/crds-chart.ts; run "npm run generate".',
    type: 'object',
    additionalProperties: false,
    properties: {
      global: { type: 'object', description: 'Of a parent chart; not read.' },
      exclude: {
        type: 'array',
        description: 'Definitions that are left out, since the cluster has them from elsewhere.',
        uniqueItems: true,
        items: { type: 'string', enum: names },
      },
      keep: {
        type: 'boolean',
        description:
          'Whether the definitions stay when the release goes. Kubernetes deletes all objects of a kind together with its definition.',
      },
      commonLabels: {
        type: 'object',
        description: 'Further labels of every definition.',
        additionalProperties: { type: 'string' },
      },
    },
  };
}
