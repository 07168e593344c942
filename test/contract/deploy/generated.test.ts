import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { generatedDeployFiles } from '../../../scripts/generate-deploy.ts';
import { objectsOf, PROJECT } from './rendering.ts';

const RIGHTS = readFileSync(join(PROJECT, 'docs/reference/rights.md'), 'utf8');

test('what is generated of deploy/ is what it is made of', async () => {
  for (const [path, text] of await generatedDeployFiles()) {
    expect(readFileSync(join(PROJECT, path), 'utf8'), `${path}: npm run generate`).toBe(text);
  }
});

test('the table of rights says every rule of the manifests, and none besides', () => {
  const components = [
    'agent-all-namespaces',
    'agent-secrets',
    'agent-rbac',
    'agent-crds',
    'agent-care',
    'agent-webhooks',
    'agent-webhook',
    'server-custom-resources',
    'server-kubernetes-lease',
  ];
  const bases = ['agent', 'agent-care-namespace', 'agent-tunnel-namespace'];
  const paths = [
    ...bases.map((name) => `${name}/rights.yaml`),
    ...components.map((name) => `components/${name}/rights.yaml`),
  ];
  const rules = paths
    .flatMap((path) => objectsOf(readFileSync(join(PROJECT, 'deploy', 'kustomize', path), 'utf8')))
    .flatMap(({ rules = [] }) => rules as readonly Rule[])
    .map(rowOf);
  const table = /<!-- rights:.*?<!-- end of rights -->/s.exec(RIGHTS)?.[0] ?? '';
  const rows = table
    .split('\n')
    .filter((line) => line.startsWith('| ') && !line.startsWith('| what'))
    .map((line) => line.split(' | ').slice(0, 2).join(' | '));
  expect(rows.sort()).toEqual(rules.sort());
  for (const line of table.split('\n').filter((text) => text.startsWith('| '))) {
    expect(line.split(' | ')[2]?.length, `${line} says why`).toBeGreaterThan(4);
  }
});

interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly verbs: readonly string[];
}

function rowOf({ apiGroups, resources, resourceNames, verbs }: Rule): string {
  const code = (words: readonly string[]): string => words.map((word) => `\`${word}\``).join(', ');
  const named = resourceNames === undefined ? '' : ` named ${code(resourceNames)}`;
  return `| ${apiGroups.map((group) => group || 'core').join(', ')}: ${code(resources)}${named} | ${verbs.join(', ')}`;
}
