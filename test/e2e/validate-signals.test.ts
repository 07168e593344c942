import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { PROGRAM } from '../support/fleet-processes.ts';

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
          properties: {spec: {type: object, properties: {text: {type: string}}}}
          x-kubernetes-validations:
            - rule: lists.range(60000).all(a, a < 60000)
`;
/** Enough for their rules to take some minutes. */
const THINGS = 3_000;
const things = Array.from(
  { length: THINGS },
  (_, at) => `---\napiVersion: example.com/v1\nkind: Thing\nmetadata: {name: t${at}}\nspec: {text: a}\n`,
);

describe('validate', () => {
  it.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)('ends at %s while it evaluates rules', async (signal) => {
    const child = spawn(process.execPath, [PROGRAM, 'validate', '-'], { stdio: ['pipe', 'ignore', 'ignore'] });
    const closed = once(child, 'close');
    await new Promise<void>((resolve) => child.stdin.end(DEFINITION + things.join(''), resolve));
    child.kill(signal);
    expect(await closed).toEqual([null, signal]);
  });
});
