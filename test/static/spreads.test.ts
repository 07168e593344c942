import { readFileSync } from 'node:fs';
import { glob } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';

const project = join(import.meta.dirname, '../..');

/** An object with members, or a list that ends at once: a list with `.map` behind it is computed. Not a parameter: `(...[a]: T) =>`, `(...[a]) =>`. */
const LITERAL = /\.\.\.\{(?!\s*\})|\.\.\.\[[^[\]]*\](?![.:?[]|\) =>)/g;

/** An optional member, or an object with one, that `given` of src/model/values/given.ts makes too. */
const CONDITION = /([\w.?]+) === undefined \? \{\} : \{ (?:(\w+)|\w+: ([\w.]+)) \}/g;

/** They make or read many small objects, where a call for each has its price. */
const HOT = ['src/engine/', 'src/relay/wire/', 'src/agent/reconciler/', 'src/adapters/kubernetes/cluster/live/'];

function spreadLiterals(code: string): readonly string[] {
  return [...code.matchAll(LITERAL)].map(([found]) => found);
}

function conditions(code: string): readonly string[] {
  return [...code.matchAll(CONDITION)]
    .filter(([, tested = '', name, value]) => (name ?? value) === tested.replaceAll('?.', '.'))
    .map(([found]) => found);
}

async function found(
  find: (code: string) => readonly string[],
  except: readonly string[] = [],
): Promise<readonly string[]> {
  const all: string[] = [];
  for await (const path of glob('src/**/*.{ts,tsx}', { cwd: project })) {
    if (except.some((folder) => path.startsWith(folder))) continue;
    all.push(...find(readFileSync(join(project, path), 'utf8')).map((each) => `${path}: ${each}`));
  }
  return all;
}

describe('a literal inside a literal', () => {
  test('is found if it is spread', () => {
    expect(spreadLiterals('{ ...{ a, b }, c }')).toHaveLength(1);
    expect(spreadLiterals('[\n  ...[a, ...b],\n  c]')).toHaveLength(1);
    expect(spreadLiterals('f(...[a, b])')).toHaveLength(1);
    expect(spreadLiterals("[...['a', 'b'].map(f), ...(a ? [b] : [])]")).toEqual([]);
    expect(spreadLiterals('(name, ...[payload]) => payload')).toEqual([]);
    expect(spreadLiterals('(...[deps, options]: Parameters<typeof f>) => ({ ...deps })')).toEqual([]);
  });

  test('is not spread: its members are written plainly, or it gets a name', async () => {
    expect(await found(spreadLiterals)).toEqual([]);
  });
});

describe('an optional member', () => {
  test('is found if it is written as a condition', () => {
    expect(conditions('{ ...(mesh === undefined ? {} : { mesh }) }')).toHaveLength(1);
    expect(conditions('{ ...(a?.b === undefined ? {} : { c: a.b }) }')).toHaveLength(1);
    expect(conditions('{ ...(a === undefined ? {} : { a: f(a) }) }')).toEqual([]);
    expect(conditions('{ ...(a === undefined ? {} : { b }) }')).toEqual([]);
  });

  test('is written with given()', async () => {
    expect(await found(conditions, HOT)).toEqual([]);
  });
});
