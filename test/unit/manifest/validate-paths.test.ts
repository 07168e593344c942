import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { build } from 'esbuild';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { validatePaths } from '../../../src/compose/validate/validate.ts';
import { displayDiagnostic } from '../../../src/model/fleet/diagnostic.ts';
import { bytesOf } from '../../support/decoding.ts';

const GOOD = 'apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n';
const BAD = 'apiVersion: v1\nkind: Namespace\n';
let cwd: string;

beforeEach(async () => {
  cwd = await mkdtemp(join(tmpdir(), 'validate-'));
});
afterEach(() => rm(cwd, { recursive: true }));

async function files(contents: Readonly<Record<string, string>>): Promise<void> {
  for (const [path, text] of Object.entries(contents)) {
    await mkdir(dirname(join(cwd, path)), { recursive: true });
    await writeFile(join(cwd, path), text);
  }
}

async function validate(paths: readonly string[], stdin = '') {
  const report = await validatePaths({ paths, cwd, readStdin: async () => bytesOf(stdin) });
  return { files: report.files, documents: report.documents, said: report.diagnostics.map(displayDiagnostic) };
}

describe('validatePaths', () => {
  it('reads every manifest of a folder, in canonical order', async () => {
    await files({ 'b/x.yaml': BAD, 'a.yml': GOOD, 'a/z.json': '{}', 'README.md': 'no manifest', '.git/x.yaml': BAD });
    expect(await validate(['.'])).toEqual({
      files: 3,
      documents: 1,
      said: [
        'a/z.json:1:1: warning: the file is not read: it has neither apiVersion nor kind (list it in .fleetrelayignore to be told no more)',
        'b/x.yaml:1:1: error: metadata is missing',
      ],
    });
    expect((await validate(['b', 'b/x.yaml', './b'])).said).toEqual(['b/x.yaml:1:1: error: metadata is missing']);
  });

  it('leaves out the files that .fleetrelayignore excludes, but not named ones', async () => {
    await files({
      '.fleetrelayignore': '/charts/\n*.tmp.yaml\n!keep.tmp.yaml\n',
      'charts/a.yaml': BAD,
      'x.tmp.yaml': BAD,
      'keep.tmp.yaml': GOOD,
      'sub/charts/b.yaml': GOOD,
    });
    expect(await validate(['.'])).toEqual({ files: 2, documents: 2, said: [] });
    expect((await validate(['charts/a.yaml'])).said).toEqual(['charts/a.yaml:1:1: error: metadata is missing']);
  });

  it('reports a chart and a kustomization once, and checks the resources of a kustomization', async () => {
    await files({
      'chart/Chart.yaml': 'apiVersion: v2\nname: a\nversion: 1.0.0\n',
      'chart/templates/a.yaml': 'a: {{ .Values }}\n',
      'prod/Kustomization': 'resources: [../base]\n',
      'base/a.yaml': BAD,
      'a.yaml': GOOD,
    });
    expect(await validate(['.'])).toEqual({
      files: 4,
      documents: 2,
      said: [
        'base/a.yaml:1:1: error: metadata is missing',
        expect.stringMatching(/^chart\/Chart.yaml:1:1: warning: the folder "chart" is a Helm chart/),
        expect.stringMatching(/^prod\/Kustomization:1:1: warning: this is a kustomization/),
      ],
    });
  });

  it('reads standard input', async () => {
    expect(await validate(['-'], `${GOOD}---\n${BAD}`)).toEqual({
      files: 1,
      documents: 0,
      said: ['-:5:1: error: metadata is missing'],
    });
  });

  it('reports what it cannot read, and goes on', async () => {
    await files({ 'a.yaml': BAD, 'dir/b.yaml': GOOD });
    await symlink('b.yaml', join(cwd, 'dir', 'link.yaml'));
    await symlink('..', join(cwd, 'dir', 'up'));
    expect(await validate(['nothing.yaml', 'dir', 'a.yaml'])).toEqual({
      files: 3,
      documents: 1,
      said: [
        'a.yaml:1:1: error: metadata is missing',
        'dir/link.yaml: error: "link.yaml" is a symbolic link, which is not followed (put the file itself there, or list it in .fleetrelayignore)',
        'nothing.yaml: error: cannot be read: there is no such file or folder',
      ],
    });
  });

  it("takes a server's own file where it is named, and only there", async () => {
    const config =
      'apiVersion: fleetrelay.dev/v1alpha1\nkind: RelayConfig\nfleet: {name: a}\nsources: [{name: a, files: {path: x}}]\n';
    await files({ 'relay.yaml': config, 'broken.yaml': config.replace('path', 'pat') });
    expect((await validate(['relay.yaml'])).said).toEqual([]);
    expect((await validate(['broken.yaml'])).said).toEqual([
      'broken.yaml:4:28: error: sources[0].files.path is missing',
      'broken.yaml:4:29: error: sources[0].files.pat is not a field that is known here (did you mean path?)',
    ]);
    expect((await validate(['.'])).said.join('\n')).toMatch(
      /relay\.yaml:2:7: error: RelayConfig is the server's own file/,
    );
  });

  it('loads js-yaml, yaml for the places of syntax errors, and re2js unevaluated, and neither another package nor the engine until it is needed', async () => {
    const { metafile } = await build({
      entryPoints: ['src/compose/validate/validate.ts'],
      bundle: true,
      splitting: true,
      format: 'esm',
      platform: 'node',
      outdir: 'x',
      write: false,
      metafile: true,
    });
    const outputs = new Set<string>();
    const load = (output: string): void => {
      if (outputs.has(output)) return;
      outputs.add(output);
      for (const { path, kind } of metafile.outputs[output]?.imports ?? []) {
        // The decoders of domains are imported at once, though by a function.
        if (kind === 'import-statement' || path.startsWith('x/manifest-')) load(path);
      }
    };
    load('x/validate.js');
    const inputs = [...outputs].flatMap((output) => Object.keys(metafile.outputs[output]?.inputs ?? {}));
    expect(inputs).toContain('src/validation/check-object.ts');
    expect(inputs.filter((input) => input.startsWith('src/engine/'))).toEqual([]);
    expect(Object.values(metafile.outputs).some((each) => 'src/engine/graph.ts' in each.inputs)).toBe(true);
    const packages = inputs.flatMap((input) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(input)?.[1] ?? []);
    // The bundle has re2js as a function that the first regular expression of a Dataplane calls.
    expect([...new Set(packages)].sort()).toEqual(['js-yaml', 're2js', 'yaml']);
  });

  it('reports a bad ignore file, as a source would', async () => {
    await files({ '.fleetrelayignore': '*.txt\n[a-\n', 'a.yaml': GOOD });
    expect((await validate(['.'])).said).toEqual([
      '.fleetrelayignore:2: error: ".fleetrelayignore" has a rule that is no pattern',
    ]);
  });

  it('ends with rules and names that take a matcher that backtracks for ever', async () => {
    const names = Array.from({ length: 20 }, (_none, index) => `${'a'.repeat(230 + index)}.yaml`);
    await files({
      '.fleetrelayignore': `${'*a*a*ab\n'.repeat(999)}${'*a'.repeat(200)}b\n`,
      ...Object.fromEntries(names.map((name, index) => [name, GOOD.replace('name: a', `name: a-${index}`)])),
    });
    expect(await validate(['.'])).toEqual({ files: 20, documents: 20, said: [] });
  });
});
