import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { countSteps } from '../../../../src/compose/validate/revision-limits.ts';
import { validatePaths } from '../../../../src/compose/validate/validate.ts';

let cwd = '';
beforeAll(async () => {
  cwd = await mkdtemp(join(tmpdir(), 'fleetrelay-steps-'));
});
afterAll(() => rm(cwd, { recursive: true }));

const DEFINITION = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
spec:
  group: example.com
  names: {kind: Thing, plural: things}
  scope: Cluster
  versions:
    - name: v1
      served: true
      storage: true
      schema:
        openAPIV3Schema:
          type: object
          properties:
            size: {type: integer}
            texts:
              type: array
              items:
                type: string
                x-kubernetes-validations:
                  - rule: self.replace('a', self) != ''
`;

describe('the steps of rules', () => {
  it('that one object takes are reported at its value, with the place of the rule', async () => {
    await writeFile(join(cwd, 'definition.yaml'), DEFINITION);
    const object = `apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: a}\ntexts:\n  - b\n  - ${'a'.repeat(100_000)}\n`;
    await writeFile(join(cwd, 'thing.yaml'), object);
    const readStdin = () => Promise.reject(new Error('no standard input'));
    const { diagnostics } = await validatePaths({ paths: ['.'], cwd, readStdin });
    expect(diagnostics).toMatchObject([
      {
        code: 'FR2055',
        at: { path: 'thing.yaml', line: 6, column: 5 },
        message: expect.stringMatching(
          /^texts\[1\] is not judged by the rule at definition\.yaml:22:27: it takes more than /,
        ),
      },
    ]);
  });

  it('that all files take are limited, and counted in the order of the files', () => {
    const file = { diagnostics: [], documents: [], waits: false, schemas: [], definitions: [], hasSuppressions: false };
    const size = { documents: 1, nodes: 1, expandedBytes: 1 };
    const count = countSteps(Array.from({ length: 200 }, (_, at) => ({ name: `${at}.yaml` })));
    const take = (at: number): void => count({ ...file, size, steps: 5_000_000 }, at);
    for (let at = 0; at < 100; at += 1) take(at);
    expect(() => take(100)).toThrow('with this file, the rules in CEL take more than 500000000 steps for all files');
  });
});
