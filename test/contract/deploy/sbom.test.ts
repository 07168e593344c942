import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Ajv } from 'ajv';
import { build } from 'esbuild';
import { expect, test } from 'vitest';
import { type Lockfile, sbomOf } from '../../../scripts/sbom.ts';
import { PROJECT } from './rendering.ts';

const dist = join(dirname(process.env.FLEETRELAY_PROGRAM ?? join(PROJECT, 'bin', 'x')), '..', 'dist');
const text = readFileSync(join(dist, 'sbom.cdx.json'), 'utf8');
const bom = JSON.parse(text);

/** What CycloneDX 1.6 asks of the fields that are used. */
const license = {
  oneOf: [
    {
      type: 'object',
      additionalProperties: false,
      required: ['expression'],
      properties: { expression: { type: 'string' } },
    },
    {
      type: 'object',
      additionalProperties: false,
      required: ['license'],
      properties: {
        license: { type: 'object', required: ['id'], properties: { id: { type: 'string', minLength: 2 } } },
      },
    },
  ],
};
const component = {
  type: 'object',
  additionalProperties: false,
  required: ['type', 'name', 'version', 'purl', 'bom-ref', 'licenses'],
  properties: {
    type: { enum: ['application', 'library'] },
    'bom-ref': { type: 'string', minLength: 1 },
    group: { type: 'string', pattern: '^@[^/]+$' },
    name: { type: 'string', pattern: '^[^/@]+$' },
    version: { type: 'string', maxLength: 1024, pattern: '^\\d+\\.\\d+\\.\\d+' },
    purl: { type: 'string', pattern: '^pkg:npm/(%40[^/@]+/)?[^/@]+@[^/@]+$' },
    licenses: { type: 'array', minItems: 1, items: license },
    hashes: {
      type: 'array',
      minItems: 1,
      items: {
        type: 'object',
        additionalProperties: false,
        required: ['alg', 'content'],
        properties: { alg: { const: 'SHA-512' }, content: { type: 'string', pattern: '^[a-f0-9]{128}$' } },
      },
    },
  },
};
const schema = {
  type: 'object',
  additionalProperties: false,
  required: ['bomFormat', 'specVersion', 'version', 'metadata', 'components', 'dependencies'],
  properties: {
    bomFormat: { const: 'CycloneDX' },
    specVersion: { const: '1.6' },
    version: { type: 'integer', minimum: 1 },
    metadata: { type: 'object', required: ['component'], properties: { component } },
    components: {
      type: 'array',
      uniqueItems: true,
      items: { ...component, required: [...component.required, 'hashes'] },
    },
    dependencies: {
      type: 'array',
      items: {
        type: 'object',
        required: ['ref'],
        properties: {
          ref: { type: 'string' },
          dependsOn: { type: 'array', uniqueItems: true, items: { type: 'string' } },
        },
      },
    },
  },
};

test('the SBOM of the build has the fields of CycloneDX 1.6', () => {
  const validate = new Ajv({ strict: false }).compile(schema);
  validate(bom);
  expect(validate.errors).toBeNull();
  const purls = bom.components.map((each: { purl: string }) => each.purl);
  expect(bom.dependencies).toEqual([{ ref: bom.metadata.component['bom-ref'], dependsOn: purls }]);
});

test('its components are the packages in the bundle, with the versions that are installed', async () => {
  const { metafile } = await build({
    absWorkingDir: PROJECT,
    entryPoints: [
      'src/cli/process.ts',
      'src/compose/validate/threads/thread.ts',
      'src/compose/decoding/decode-thread.ts',
      'src/compose/plan/plan-process.ts',
      'src/adapters/git/isomorphic/thread.ts',
      'src/domains/health/cli/probe-proxy-process.ts',
    ],
    outdir: 'dist',
    write: false,
    metafile: true,
    bundle: true,
    platform: 'node',
    target: 'node24',
    format: 'esm',
    splitting: true,
    minifySyntax: true,
    minifyWhitespace: true,
  });
  const shipped = new Set<string>();
  for (const { inputs } of Object.values(metafile.outputs)) {
    for (const [file, { bytesInOutput }] of Object.entries(inputs)) {
      const at = file.lastIndexOf('node_modules/');
      if (at < 0 || bytesInOutput === 0) continue;
      const parts = file.slice(at + 'node_modules/'.length).split('/');
      const name = parts.slice(0, parts[0]?.startsWith('@') ? 2 : 1).join('/');
      const own = join(PROJECT, file.slice(0, at), 'node_modules', name, 'package.json');
      shipped.add(`${name}@${JSON.parse(readFileSync(own, 'utf8')).version}`);
    }
  }
  expect(shipped.size).toBeGreaterThan(20);
  const listed = bom.components.map(
    ({ group, name, version }: Record<string, string>) => `${group === undefined ? '' : `${group}/`}${name}@${version}`,
  );
  expect(listed.sort()).toEqual([...shipped].sort());
});

test('it names no address and no path of a machine', () => {
  expect(text).not.toMatch(/https?:|file:|node_modules|\/(home|root|tmp|work|build)\b/);
});

test('a package without a license or a checksum ends the build', () => {
  const metafile = { outputs: { 'dist/cli.js': { inputs: { 'node_modules/a/x.js': { bytesInOutput: 1 } } } } };
  const program = { name: 'fleetrelay', version: '0.1.0', license: 'Apache-2.0' };
  const sbom = (lockfile: Lockfile) => () => sbomOf(program, [metafile as never], lockfile);
  const whole = { version: '1.0.0', license: 'MIT', integrity: 'sha512-AAAA' };
  expect(sbom({ packages: { 'node_modules/a': whole } })).not.toThrow();
  for (const field of ['version', 'license', 'integrity'] as const) {
    const { [field]: _, ...rest } = whole;
    expect(sbom({ packages: { 'node_modules/a': rest } }), field).toThrow('node_modules/a');
  }
});
