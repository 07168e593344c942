import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ValidationRequest } from '../../../../src/compose/validate/report.ts';
import { validatePaths } from '../../../../src/compose/validate/validate.ts';
import { displayDiagnostic } from '../../../../src/model/fleet/diagnostic.ts';
import { newestKubernetesVersion, openKubernetesSchemas } from '../../../../src/validation/kubernetes-schemas.ts';

const folder = mkdtempSync(join(tmpdir(), 'custom-schemas-'));
const SCHEMA = '{"properties": {"spec": {"properties": {"size": {"type": "integer"}}}}}';
const requests: string[] = [];
const server = createServer((request, response) => {
  requests.push(request.url ?? '');
  if (request.url === '/thing.json') response.end(SCHEMA);
  else response.writeHead(404).end();
});

function write(path: string, text: string): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), text);
}

function thing(name: string, size: string): string {
  return `apiVersion: example.com/v1\nkind: Thing\nmetadata:\n  name: ${name}\n  namespace: default\nspec:\n  size: ${size}\n`;
}

async function validate(path: string, more: Partial<ValidationRequest> = {}) {
  const readStdin = () => Promise.reject(new Error('there is no input'));
  const report = await validatePaths({ paths: [path], cwd: folder, readStdin, ...more });
  return {
    findings: report.diagnostics.map((diagnostic) => `${diagnostic.code} ${displayDiagnostic(diagnostic)}`),
    states: report.resources.map(({ state }) => state),
    notEvaluated: report.notEvaluated,
  };
}

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  // The root of a git repository.
  write('.git', 'gitdir: elsewhere');
  write('schemas/thing_v1.json', SCHEMA);
  write('plain/one.yaml', thing('one', 'large'));
  write(
    'named/one.yaml',
    `# yaml-language-server: $schema=../schemas/thing_v1.json\n${thing('one', 'large')}---\n${thing('two', 'x')}`,
  );
  write(
    'named/json.json',
    JSON.stringify({
      $schema: '../schemas/none.json',
      apiVersion: 'example.com/v1',
      kind: 'Thing',
      metadata: { name: 'j', namespace: 'default' },
    }),
  );
  write(
    'remote/one.yaml',
    `# yaml-language-server: $schema=URL/thing.json\n${thing('one', 'large')}`.replace('URL', serverUrl()),
  );
  write(
    'rules/definition.yaml',
    `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: things.example.com }
spec:
  group: example.com
  scope: Namespaced
  names: { kind: Thing, plural: things }
  versions:
    - name: v1
      served: true
      storage: true
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec:
              type: object
              properties: { size: { type: integer } }
              x-kubernetes-validations:
                - { rule: self.size < 5, message: size must be less than 5 }
                - { rule: "[1].transformMapEntry(i, v, {i: v}).size() == 1" }
`,
  );
  write('rules/one.yaml', thing('one', '7'));
});

afterAll(() => {
  server.close();
  rmSync(folder, { recursive: true });
});

function serverUrl(): string {
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const WRONG = 'one.yaml:7:9: error: spec.size must be a whole number, not text';

describe('kinds that are not built in', () => {
  it('are a warning without a schema', async () => {
    expect(await validate('plain')).toMatchObject({
      findings: [expect.stringMatching(/^FR2030 .*warning/)],
      states: ['noSchema'],
    });
  });

  it('are judged by the definitions in the same folder, and by their rules', async () => {
    expect(await validate('rules')).toEqual({
      findings: ['FR2051 rules/one.yaml:7:3: error: spec breaks a rule of its definition: size must be less than 5'],
      states: ['valid', 'invalid'],
      notEvaluated: [
        'CustomResourceDefinition: the types and the estimated cost of rules in CEL are not checked',
        'Thing example.com/v1: a rule of spec cannot be evaluated: the function transformMapEntry is unknown: [1].transformMapEntry(i, v, {i: v}).size() == 1',
      ],
    });
  });

  it('are no policies, whose expressions are parsed; that they are not evaluated is reported once', async () => {
    const policy = (expression: string): string => `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: { name: a }
spec:
  matchConstraints: { resourceRules: [{ apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods] }] }
  validations: [{ expression: ${expression} }]
`;
    write('policies/right.yaml', policy('object.spec.hostNetwork'));
    write('policies/wrong.yaml', policy('"object.spec.hostNetwork &"').replace('name: a', 'name: b'));
    write('policies/one.yaml', thing('one', '1'));
    expect(await validate('policies')).toEqual({
      findings: [
        expect.stringMatching(/^FR2030 /),
        expect.stringMatching(
          /^FR2054 policies\/wrong\.yaml:6:31: error: spec\.validations\[0\]\.expression cannot be parsed: line 1, column /,
        ),
      ],
      states: ['noSchema', 'valid', 'invalid'],
      notEvaluated: [
        'ValidatingAdmissionPolicy: expressions in CEL are not evaluated, and their types are not checked',
      ],
    });
  });

  it('are judged by the first schema location that has them', async () => {
    mkdirSync(join(folder, 'none'));
    const schemaLocations = [
      'default',
      'none/{{ .ResourceKind }}.json',
      'schemas/{{ .ResourceKind }}_{{ .ResourceAPIVersion }}.json',
    ];
    expect(await validate('plain', { schemaLocations })).toMatchObject({
      findings: [`FR2004 plain/${WRONG}`],
      states: ['invalid'],
    });
  });

  it('are judged by a folder with the name that an export has', async () => {
    const { release } = await openKubernetesSchemas(newestKubernetesVersion);
    write(`exported/${release}-standalone-strict/thing-example-v1.json`, SCHEMA);
    expect(await validate('plain', { schemaLocations: ['exported'] })).toMatchObject({
      findings: [`FR2004 plain/${WRONG}`],
    });
  });

  it('have an error at their kind if their schema cannot be read', async () => {
    write('broken/thing.json', '{');
    const { findings } = await validate('plain', { schemaLocations: ['broken/{{ .ResourceKind }}.json'] });
    expect(findings).toEqual([
      expect.stringMatching(/^FR2052 plain\/one\.yaml:2:7: error: the schema .*thing\.json cannot be used/),
    ]);
  });

  it('are judged by the schema that the file names above them', async () => {
    expect(await validate('named/one.yaml')).toMatchObject({
      findings: [
        'FR2004 named/one.yaml:8:9: error: spec.size must be a whole number, not text',
        expect.stringMatching(/^FR2030 named\/one\.yaml:11:7/),
      ],
      states: ['invalid', 'noSchema'],
    });
  });

  it('are judged by a schema of the same repository, whatever the folder and the paths of the request are', async () => {
    for (const cwd of ['.', 'named', 'rules'].map((path) => join(folder, path))) {
      for (const path of [folder, join(folder, 'named'), join(folder, 'named/one.yaml')]) {
        expect((await validate(path, { cwd })).findings).toContainEqual(
          expect.stringMatching(/^FR2004 .*named\/one\.yaml:8:9.*spec\.size/),
        );
      }
    }
  });

  describe('outside of a git repository', () => {
    const outside = mkdtempSync(join(tmpdir(), 'custom-schemas-'));
    mkdirSync(join(outside, 'apps'));
    writeFileSync(join(outside, 'thing.json'), SCHEMA);
    const modeline = '# yaml-language-server: $schema=../thing.json\n';
    writeFileSync(join(outside, 'apps/one.yaml'), `${modeline}${thing('one', 'large')}`);
    afterAll(() => rmSync(outside, { recursive: true }));

    it.each([
      ['the outermost path of the request', { paths: [join(outside, 'apps'), outside] }, /^FR2004 /],
      ['the folder of --repository', { paths: [join(outside, 'apps')], repository: outside }, /^FR2004 /],
      ['not the current folder', { paths: ['apps'], cwd: outside }, /^FR2053 .*it is outside of the repository/],
      [
        'the folder of a file',
        { paths: [join(outside, 'apps/one.yaml')] },
        /^FR2053 .*it is outside of the repository/,
      ],
    ])('%s bounds the schemas', async (_, request, finding) => {
      const { findings } = await validate('', request);
      expect(findings[0]).toMatch(finding);
    });
  });

  it('are not judged by a schema that leads out of the repository through a link', async () => {
    write('linked/schema.json', '{"$ref": "link.json"}');
    const outside = mkdtempSync(join(tmpdir(), 'custom-schemas-'));
    writeFileSync(join(outside, 'thing.json'), SCHEMA);
    symlinkSync(join(outside, 'thing.json'), join(folder, 'linked/link.json'));
    write('linked/one.yaml', `# yaml-language-server: $schema=schema.json\n${thing('one', 'large')}`);
    const { findings } = await validate('one.yaml', { cwd: join(folder, 'linked') });
    rmSync(outside, { recursive: true });
    expect(findings).toEqual([
      expect.stringMatching(/^FR2053 .*its reference to .*link\.json is not read/),
      expect.stringMatching(/^FR2030 /),
    ]);
  });

  it('have a warning that says why a schema is not read', async () => {
    expect((await validate('named/json.json')).findings).toEqual(
      expect.arrayContaining([
        expect.stringMatching(
          /^FR2053 .*warning: the schema \.\.\/schemas\/none\.json is not read: there is no such file/,
        ),
      ]),
    );
    write('named/broken.json', '{');
    write('named/broken.yaml', `# yaml-language-server: $schema=./broken.json\n${thing('one', '1')}`);
    expect((await validate('named/broken.yaml')).findings[0]).toMatch(
      /the schema \.\/broken\.json cannot be used: it is not JSON/,
    );
    requests.length = 0;
    expect((await validate('remote')).findings).toEqual([
      expect.stringMatching(
        /^FR2053 remote\/one\.yaml:1:33: warning: the schema http.* is not read: no --schema-location covers it/,
      ),
      expect.stringMatching(/^FR2030 /),
    ]);
    expect(requests).toEqual([]);
  });

  it('are judged by a URL that the file names below a schema location', async () => {
    const schemaLocations = [`${serverUrl()}/{{ .Group }}/{{ .ResourceKind }}.json`];
    requests.length = 0;
    const { findings } = await validate('remote', { schemaLocations });
    expect(requests).toEqual(['/example.com/thing.json', '/thing.json']);
    expect(findings).toEqual(['FR2004 remote/one.yaml:8:9: error: spec.size must be a whole number, not text']);
  });

  it('reject the request if a folder or a context does not exist, also if no kind needs it', async () => {
    write('known/one.yaml', 'apiVersion: v1\nkind: Namespace\nmetadata: { name: a }\n');
    await expect(validate('known', { schemaLocations: ['nowhere'] })).rejects.toThrow(`no folder ${folder}/nowhere`);
    write('kubeconfig', 'apiVersion: v1\nkind: Config\ncontexts: []\n');
    const cluster = { kubeconfig: 'kubeconfig', context: 'wrong' };
    await expect(validate('known', { cluster })).rejects.toThrow('no context "wrong"');
  });

  it('reject the request if a location has an unknown variable, or the cluster is unknown', async () => {
    await expect(validate('plain', { schemaLocations: ['{{ .Nothing }}.json'] })).rejects.toThrow('{{ .Nothing }}');
    const cluster = { kubeconfig: 'none', context: 'none' };
    await expect(validate('plain', { cluster, env: {} })).rejects.toThrow();
  });
});
