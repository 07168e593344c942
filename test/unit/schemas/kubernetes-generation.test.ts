import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { problemsOfKubernetesSchemas } from '../../../scripts/generate-kubernetes-schemas.ts';
import { readDefinitions } from '../../../scripts/kubernetes-schemas/definitions.ts';
import { functionOf, readExtras } from '../../../scripts/kubernetes-schemas/enums.ts';
import { readKinds, type Swagger } from '../../../scripts/kubernetes-schemas/kinds.ts';

const POD = 'io.k8s.api.core.v1.Pod';
const META = 'io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta';
const post = (definition: string, kind: string) => ({
  post: {
    'x-kubernetes-group-version-kind': { group: '', version: 'v1', kind },
    parameters: [{ in: 'body', schema: { $ref: `#/definitions/${definition}` } }],
  },
});
const swagger: Swagger = {
  paths: {
    '/api/v1/namespaces/{namespace}/pods': post(POD, 'Pod'),
    '/api/v1/namespaces/{namespace}/pods/{name}/binding': post(POD, 'Binding'),
    '/api/v1/pods': {},
    '/api/v1/nodes': post(POD, 'Node'),
  },
  definitions: {
    [POD]: {
      type: 'object',
      description: 'text',
      required: ['metadata', 'policy'],
      properties: {
        description: { type: 'string', description: 'a field of this name' },
        metadata: { $ref: `#/definitions/${META}` },
        policy: { type: 'string' },
        modes: { type: 'array', items: { type: 'string' } },
      },
    },
    [META]: { type: 'object' },
    'io.k8s.api.core.v1.Unused': { type: 'object' },
  },
};
const go = (indentation: string) => `
func schema_k8sio_api_core_v1_Pod(ref common.ReferenceCallback) common.OpenAPIDefinition {
	return common.OpenAPIDefinition{
					"policy": {
							Default:     "Always",
							Enum:        []interface{}{"Always", "Never"},
					"modes": {
${indentation}Enum:        []interface{}{"A"},
}
`;

describe('the generator of the schemas of Kubernetes', () => {
  it('finds the kinds that can be created, with plural and scope', () => {
    expect(readKinds(swagger)).toEqual([
      ['', 'v1', 'Node', 'nodes', false, POD],
      ['', 'v1', 'Pod', 'pods', true, POD],
    ]);
  });

  it('keeps the definitions that kinds need, with enums and defaults and without descriptions', () => {
    const definitions = readDefinitions(swagger, [POD], readExtras(go('\t'.repeat(10))));
    expect(Object.fromEntries(definitions)).toEqual({
      [META]: { type: 'object' },
      [POD]: {
        type: 'object',
        required: ['metadata', 'policy'],
        properties: {
          description: { type: 'string' },
          metadata: { $ref: `#/definitions/${META}` },
          modes: { type: 'array', items: { type: 'string', enum: ['A'] } },
          policy: { type: 'string', enum: ['Always', 'Never'], default: 'Always' },
        },
      },
    });
  });

  it('fails where the Go sources have another form than it reads', () => {
    expect(() => readExtras(go('\t'.repeat(8)))).toThrow('unexpected place');
    const unknown = readExtras(go('\t'.repeat(10)).replace('"policy"', '"other"'));
    expect(() => readDefinitions(swagger, [POD], unknown)).toThrow('lacks: other');
    expect(() => readDefinitions(swagger, ['io.k8s.api.core.v1.None'], new Map())).toThrow('no definition');
  });

  it('knows the names of the Go functions', () => {
    expect(functionOf(POD)).toBe('k8sio_api_core_v1_Pod');
    expect(functionOf(META)).toBe('pkg_apis_meta_v1_ObjectMeta');
  });
});

describe('the check of the generated schemas of Kubernetes', () => {
  const generated = join(import.meta.dirname, '../../../generated/kubernetes');
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'fleetrelay-schemas-'));
    cpSync(generated, folder, { recursive: true });
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  it('finds nothing in what is committed', () => {
    expect(problemsOfKubernetesSchemas()).toEqual([]);
  });

  it('finds modules that are missing, changed, of another version, or of none', () => {
    rmSync(join(folder, 'v1.33.ts'));
    const written = readFileSync(join(folder, 'v1.34.ts'), 'utf8');
    const changed = `${written.slice(0, -104)}AAAA${written.slice(-100)}`;
    writeFileSync(join(folder, 'v1.34.ts'), changed);
    cpSync(join(folder, 'v1.36.ts'), join(folder, 'v1.35.ts'));
    writeFileSync(join(folder, 'v1.12.ts'), '');
    expect(problemsOfKubernetesSchemas(folder)).toEqual([
      'generated/kubernetes/v1.33.ts is missing',
      'generated/kubernetes/v1.34.ts is not as it was generated',
      expect.stringMatching(/^generated\/kubernetes\/v1.35.ts was made from another version than v1.35.\d+$/),
      'generated/kubernetes/v1.12.ts belongs to no version',
    ]);
  });
});
