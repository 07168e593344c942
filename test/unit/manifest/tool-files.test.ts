import { describe, expect, it } from 'vitest';
import { displayDiagnostic } from '../../../src/model/fleet/diagnostic.ts';
import { decodeFile } from '../../support/decode-file.ts';
import { bytesOf, complaints } from '../../support/decoding.ts';

const partsOf = (path: string, text: string) => decodeFile(path, bytesOf(text), '').parts;
const found = (path: string, text: string) =>
  decodeFile(path, bytesOf(text), '').diagnostics.map((each) => `${each.code} ${displayDiagnostic(each)}`);

describe('a Helm chart', () => {
  const CHART = 'apiVersion: v2\nname: redis\nversion: 1.0.0\n';
  it('is one finding, and its folder is no manifest', () => {
    expect(found('apps/redis/Chart.yaml', `# a comment\n${CHART}`)).toEqual([
      'FR1030 apps/redis/Chart.yaml:2:1: warning: the folder "apps/redis" is a Helm chart; what it renders to is not read (commit what `helm template` prints instead, and list the folder in .fleetrelayignore)',
    ]);
    expect(partsOf('apps/redis/Chart.yaml', CHART)).toEqual(['apps/redis']);
    expect(partsOf('Chart.yaml', CHART.replace('v2', 'v1'))).toEqual(['']);
  });
  it('is known by its name and its fields together', () => {
    const object = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n';
    expect(decodeFile('a/Chart.yaml', bytesOf(object), '')).toMatchObject({ reading: { readable: true }, parts: [] });
    expect(found('a/chart.yaml', CHART).join()).toMatch(/kind is missing/);
    expect(partsOf('a/b.yaml', object)).toBeUndefined();
  });
  it('needs a name and a version', () => {
    expect(found('a/Chart.yaml', 'apiVersion: v2\n').map((each) => each.slice(0, 6))).toEqual([
      ...['FR1030', 'FR2002', 'FR2002'],
    ]);
    expect(partsOf('a/Chart.yaml', 'apiVersion: v2\nname: a\n')).toEqual(['a']);
  });
  it('has unknown parts while its file cannot be parsed', () => {
    expect(decodeFile('a/Chart.yaml', bytesOf(`${CHART}]`), '')).not.toHaveProperty('parts');
    expect(decodeFile('a/Chart.yaml', bytesOf(`${CHART}name: b\n`), '')).not.toHaveProperty('parts');
  });
});

describe('a kustomization', () => {
  it('is one finding, and the files that it names are its parts', () => {
    const text = `resources: [deployment.yaml, ../../base/, 'https://example.com/a.yaml', ., ../.., ../../../../outside]
bases: [old]
components: [../components/tls]
patchesStrategicMerge:
- patch.yaml
- |-
  kind: Deployment
  spec: {}
patches:
- {path: ./patches/a.yaml, target: {kind: Deployment}}
- {patch: '[]'}
patchesJson6902: [{path: b.json}]
replacements: [{path: r.yaml}, {source: {}}]
generators: [g.yaml]
transformers: [t.yaml]
crds: [crd.json]
configurations: [names.yaml]
openapi: {path: schema.json}
configMapGenerator: [{name: a, files: [app.yaml, key=sub/other.yaml], envs: [a.env]}]
secretGenerator: [{name: b, files: [secret.json]}]
helmCharts: [{name: c, valuesFile: values.yaml, additionalValuesFiles: [more.yaml]}]
namespace: prod
images: [{name: deployment, newTag: v1}]
`;
    const path = 'apps/overlays/prod/kustomization.yaml';
    expect(found(path, text)).toEqual([
      expect.stringMatching(/^FR1031 .*prod\/kustomization.yaml:1:1: warning: this is a /),
    ]);
    const here = (names: string) => names.split(' ').map((name) => `apps/overlays/prod/${name}`);
    expect([...(partsOf(path, text) ?? [])].sort()).toEqual(
      [
        'apps/base',
        'apps/overlays/components/tls',
        ...here('deployment.yaml https:/example.com/a.yaml old patch.yaml patches/a.yaml b.json r.yaml g.yaml t.yaml'),
        ...here(
          'crd.json names.yaml schema.json app.yaml sub/other.yaml a.env secret.json values.yaml more.yaml charts',
        ),
      ].sort(),
    );
  });
  it('is checked as kustomize checks it', () => {
    const text =
      'resource: [a.yaml]\npatches: {path: a}\nimages: [{newTag: 1}]\ncommonLabels: {a: b}\nhelmCharts: []\n';
    expect(found('kustomization.yaml', text)).toEqual([
      expect.stringMatching(/^FR1031/),
      expect.stringMatching(
        /^FR2003 .*1:1: warning: the field "resource" is not known here \(did you mean resources\?\)/,
      ),
      expect.stringMatching(/^FR2004 .*2:10: warning: patches must be a list/),
      expect.stringMatching(/^FR2002 .*3:10: warning: name is missing/),
      expect.stringMatching(/^FR2004 .*warning: newTag must be a text/),
    ]);
    const chart = 'apiVersion: v2\nname: a\nversion: one\ntype: other\nunknown: 1\n';
    expect(found('Chart.yaml', chart).map((each) => each.slice(0, 6))).toEqual([
      'FR1030',
      'FR2005',
      'FR2005',
      'FR2003',
    ]);
  });
  it('is known by its name or its API group, and is not the kind of Flux', () => {
    const bare = 'resources: [a.yaml]\n';
    for (const path of ['kustomization.yml', 'a/Kustomization', 'kustomization.yaml']) {
      expect(found(path, bare)).toHaveLength(1);
      expect(found(path, bare).join()).toMatch(/^FR1031/);
    }
    expect(found('a.yaml', `apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n${bare}`).join()).toMatch(
      /^FR1031/,
    );
    expect(
      partsOf('a.yaml', `apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n${bare}`),
    ).toBeUndefined();
    const flux = 'apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: a}\nspec: {}\n';
    expect(decodeFile('kustomization.yaml', bytesOf(flux), '')).toMatchObject({
      reading: { readable: true },
      parts: [],
    });
    expect(found('a.yaml', bare).join()).toMatch(/^FR1033/);
  });
});

describe('a document that SOPS has encrypted', () => {
  const VALUE = 'ENC[AES256_GCM,data:abc=,iv:abc=,tag:abc=,type:str]';
  const secret = `apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData:\n  password: ${VALUE}\n`;
  it('is one finding at the key, without its other problems', () => {
    expect(found('a.yaml', `${secret}sops:\n  mac: ${VALUE}\n  version: 3.9.0\n`)).toEqual([
      expect.stringMatching(/^FR1032 a\.yaml:6:1: warning: SOPS has encrypted this document/),
    ]);
    expect(found('a.json', `{"data": "${VALUE}", "sops": {"lastmodified": "2026-01-01T00:00:00Z"}}`)).toEqual([
      expect.stringMatching(/^FR1033 a\.json:1:/),
    ]);
    expect(found('a.yaml', secret)).toEqual([expect.stringMatching(/^FR1032 a\.yaml:5:3: warning: SOPS/)]);
    expect(found('a.yaml', `a: 1\n---\n${secret}`)).toHaveLength(2);
  });
  it('is not every document with such words', () => {
    const text = `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: "see ${VALUE}", sops: "mac"}\n`;
    expect(found('a.yaml', text)).toEqual([]);
    const custom = `apiVersion: isindir.github.com/v1alpha3\nkind: SopsSecret\nmetadata: {name: a}\nspec: {a: "${VALUE}"}\nsops: {mac: b}\n`;
    expect(found('a.yaml', custom)).toEqual([]);
    expect(found('a.yaml', 'apiVersion: a.b/v1\nkind: A\nmetadata: {name: a}\nsops: {enabled: true}\n')).toEqual([]);
  });
});

describe('a file of another tool', () => {
  it.each([
    ['helmfile.yaml', 'releases:\n{{ if eq .Environment.Name "prod" }}\n- name: a\n{{ end }}\n', 'a helmfile'],
    ['ci/helmfile.d/10-web.yml', 'releases:\n{{ range $a, $b := .Values }}\n', 'a helmfile'],
    ['web/tsconfig.build.json', '{\n  // a comment\n  "compilerOptions": {},\n}\n', 'a configuration of TypeScript'],
  ])('%s is known by its name, with any syntax', (path, text, what) => {
    expect(found(path, text)).toEqual([
      expect.stringContaining(`warning: the file is not read: it looks like ${what}`),
    ]);
    expect(decodeFile(path, bytesOf(text), '').reading).toMatchObject({ readable: true, documents: [] });
    expect(found(path.replace(/helmfile|tsconfig/g, 'other'), text).join()).toMatch(/error/);
  });
  it('is no list of manifests', () => {
    const list = '- apiVersion: v1\n  kind: Namespace\n  metadata: {name: shop}\n';
    expect(found('a.yaml', list)).toEqual([expect.stringMatching(/^FR2001 .*error: a manifest must be a mapping/)]);
    expect(found('a.yaml', '- op: remove\n  path: /a\n')).toEqual([expect.stringMatching(/^FR1033 /)]);
  });
  it('is read beside a hook with generateName, which is no object of a cluster', () => {
    const hook =
      'apiVersion: v1\nkind: ConfigMap\nmetadata: {generateName: a-, annotations: {argocd.argoproj.io/hook: Sync}}\n';
    const { reading } = decodeFile('a.yaml', bytesOf(`${hook}---\n${hook.replace('generateName: a-', 'name: a')}`), '');
    expect(reading).toMatchObject({ readable: true, documents: [{ index: 1 }] });
    expect(reading).not.toHaveProperty('notRead');
  });
  it.each([
    ['replicaCount: 1\nimage: {tag: v1}\n', 'it has neither apiVersion nor kind'],
    ['name: CI\non: [push]\njobs: {test: {}}\n', 'it looks like a GitHub workflow'],
    ['version: "3"\nservices: {web: {image: a}}\n', 'it looks like a Docker Compose file'],
    ['repos: [{repo: local}]\n', 'it looks like a configuration of pre-commit'],
    ['openapi: 3.0.0\npaths: {}\n', 'it looks like an OpenAPI document'],
    ['apiVersion: skaffold/v4beta6\nkind: Config\nbuild: {}\n', 'it looks like a configuration of Skaffold'],
    ['apiVersion: 1\ndatasources: []\n', 'it has neither apiVersion nor kind'],
    ['- op: replace\n  path: /spec\n', 'it has neither apiVersion nor kind'],
    ['a: 1\na: 2\nb: !reference [x, y]\n---\nc: .inf\n', 'it has neither apiVersion nor kind'],
  ])('is skipped with one note: %j', (text, what) => {
    const hint = 'list it in .fleetrelayignore to be told no more';
    expect(complaints(text)).toEqual([`a.yaml:1:1: warning: the file is not read: ${what} (${hint})`]);
  });
  it('is an error where manifests are beside it, and where it cannot be told from a broken manifest', () => {
    expect(complaints(`a: 1\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n`).join()).toMatch(
      /error: this is no/,
    );
    expect(complaints('ApiVersion: v1\nKind: ConfigMap\n').join()).toMatch(/error/);
    expect(complaints('type: Dataplane\n').join()).toMatch(/error/);
    expect(complaints('a: [\n').join()).toMatch(/error/);
    expect(complaints('text\n').join()).toMatch(/error: a manifest must be a mapping/);
  });
  it('is a finding at its line if it is a template', () => {
    for (const line of ['  name: {{ .Values.name }}', '  name: a{{- if .Values.b }}: {{ end -}}']) {
      expect(complaints(`apiVersion: v1\nkind: A\nmetadata:\n${line}\n`)).toEqual([
        expect.stringMatching(/^a\.yaml:4:\d+: error: .*\(this looks like a template: /),
      ]);
    }
  });
});

describe('a JSON Schema', () => {
  const SCHEMA = '{"$schema": "http://json-schema.org/draft-07/schema#", "type": "object"}';
  it('is no finding and no document', () => {
    expect(found('schemas/thing.json', SCHEMA)).toEqual([]);
    expect(decodeFile('thing.yaml', bytesOf(SCHEMA), '').reading).toMatchObject({ readable: true, documents: [] });
  });
  it('is known by the address of its own schema alone', () => {
    expect(found('a.json', '{"$schema": "./thing.json", "type": "object"}').join()).toMatch(/FR1033/);
    expect(found('a.json', '{"$schema": "../thing.json", "spec": {}}').join()).toMatch(/FR1033/);
    expect(found('a.json', SCHEMA.replace('"type"', '"kind"')).join()).not.toBe('');
  });
});
